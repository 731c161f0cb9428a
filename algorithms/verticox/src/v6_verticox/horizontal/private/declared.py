"""What a private fit asks beside an exact one over whole records."""

from __future__ import annotations

from typing import Any

from fedbayes.federation.declare import TARGET, UNIT, Arguments, argument, when
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.horizontal import ROW, CountNoise, Unit, check_noise, check_unit
from fedbayes.federation.horizontal.declared import honest_fraction, most_rows, neighbors, protected_unit
from fedbayes.federation.kinds import EPSILON, number

NOISY, BY_ROWS = when("epsilon"), when("split", "horizontal")
DELTA = 1e-6
"""Below one in a million rows."""


class Promised(Arguments):
    """Noise of an answer, and whom its promise is for; who inherits says what `epsilon` pays."""

    epsilon: float | None = argument(EPSILON, "Privacy budget of the whole answer, for every row.", None, rank=TARGET)
    neighbors: str = neighbors(NOISY)
    honest_fraction: float = honest_fraction(NOISY)
    unit: str = protected_unit(NOISY)
    max_rows_per_identifier: int = most_rows((NOISY, when("unit", "identifier")), UNIT)

    @property
    def added(self) -> CountNoise:
        """The noise of a private answer; none without epsilon."""
        placement = "none" if self.epsilon is None else "distributed"
        delta: float = getattr(self, "delta", 0.0)
        relation = self.neighbors if self.of_rows else "replace_one"
        return check_noise(placement, self.epsilon, delta, relation, self.honest_fraction, self.whom)

    @property
    def of_rows(self) -> bool:
        """Whether stations hold whole records; of columns of the same records the promise is for the values of one of them."""
        return bool(getattr(self, "by_rows", True))

    @property
    def whom(self) -> Unit:
        """Whom the promise is for."""
        if not self.of_rows:
            return ROW
        column: Any = getattr(self, "id_column", None)
        return check_unit(self.unit, column, self.max_rows_per_identifier)

    def check_budget(self) -> None:
        """Refuse a unit without a budget, or one that no promise is for; check the noise.

        Raises
        ------
        ArgumentError
            Naming the argument and the remedy.
        """
        if self.epsilon is None:
            if self.unit != "row":
                raise ArgumentError("unit='identifier' is for a private answer; give epsilon too, or leave unit out")
            return
        if not self.of_rows and self.unit != "row":
            raise ArgumentError(
                "unit='identifier' is for split='horizontal': columns of the same records have one row an identifier; leave unit out"
            )
        _ = self.added


class Private(Promised):
    """Of a fit with noise."""

    epsilon: float | None = argument(
        EPSILON,
        "Privacy budget of the whole fit, for every row: coefficients, standard errors and baseline carry noise; above 20 no result is called private. "
        "Of columns of the same records for the values of one, as with neighbors='replace_one': which are common, and how many, is public.",
        None,
        rank=TARGET,
    )
    neighbors: str = neighbors((NOISY, BY_ROWS))
    unit: str = protected_unit((NOISY, BY_ROWS))
    delta: float = argument(
        number(low=0, below=1),
        "Of the budget; must be above 0, as the noise is Gaussian; above 0.001 no result is called private.",
        DELTA,
        used_when=NOISY,
    )

    def check_private(self, times: list[float] | None, exact: list[str]) -> None:
        """Refuse noise where there is none to add, or that promises less than it looks.

        Parameters
        ----------
        times : list of float or None
            The grid.
        exact : list of str
            Arguments that were given and are for exact fits.

        Raises
        ------
        ArgumentError
            Naming the argument and the remedy.
        """
        self.check_budget()
        if self.epsilon is None:
            return
        if exact:
            raise ArgumentError(f"{exact[0]} is for exact fits: no noise covers it; leave it out, or epsilon")
        if self.delta == 0.0:
            raise ArgumentError("delta must be above 0 with epsilon: the noise is Gaussian; give one, such as 1e-6")
        if times is not None and times[0] <= 0.0:
            raise ArgumentError("times must begin above 0 with epsilon: its first cell begins at 0")
