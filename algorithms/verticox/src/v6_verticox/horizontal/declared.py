"""What a fit over horizontally split records asks beside a vertical one."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from fedbayes.federation.arguments import check_number
from fedbayes.federation.declare import TARGET, Arguments, argument
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.kinds import COLUMN, FLAG, Kind, choice
from fedbayes.federation.vertical.declared import DOMAIN

from .messages import MOST_TIMES

SPLITS = ("vertical", "horizontal")
CASES = ("weights", "entry", "robust", "cluster")
HOW_TO_GIVE = (
    'give {"feature": {"bounds": [low, high]} or {"categories": [...]}, ...}, from public knowledge, or a dictionary'
)


def checked_times(times: Any, least: int) -> list[float] | None:
    """Return increasing times, or None; raise `ArgumentError` otherwise."""
    if times is None:
        return None
    if not isinstance(times, list | tuple) or len(times) < least or len(times) > MOST_TIMES:
        raise ArgumentError(f"times must be a list of {least} to {MOST_TIMES} increasing times, such as [6, 12, 24]")
    numbers = [float(check_number(f"times[{index}]", value, low=0.0)) for index, value in enumerate(times)]
    if any(later <= earlier for earlier, later in pairwise(numbers)):
        raise ArgumentError("times must increase")
    return numbers


def times(least: int) -> Kind:
    """Return a list of so many times or more."""
    return Kind(
        "float_list", f"a list of {least} or more increasing numbers", lambda _, value: checked_times(value, least)
    )


class Split(Arguments):
    """How the records are split, and what is public where stations hold whole records."""

    split: str = argument(
        choice(SPLITS),
        "Stations hold columns of the same records, or whole records of different people.",
        "vertical",
    )
    times: list[float] | None = argument(
        times(2),
        "Public grid: a record's time is rounded up to it, and who is observed beyond its end is censored there. Neighbouring times are "
        "united until enough events lie between them. Needed, and used, with split='horizontal' or epsilon.",
        None,
        rank=TARGET,
    )
    domain: dict[str, Any] | None = argument(
        DOMAIN,
        "Public domains of the features: numbers outside the bounds are moved to the nearer one, other categories are gaps. Needed, and "
        "used, with split='horizontal' or epsilon.",
        None,
        rank=TARGET,
    )

    @property
    def by_rows(self) -> bool:
        """Whether stations hold whole records."""
        return self.split == "horizontal"

    @property
    def on_grid(self) -> str:
        """Why a public grid and public domains are needed; "" where they are not."""
        return "split='horizontal'" if self.by_rows else "epsilon" if getattr(self, "epsilon", None) is not None else ""

    def check_together(self) -> None:
        """Refuse whole records, or noise, without a public grid or public domains."""
        super().check_together()
        if self.on_grid and self.times is None:
            raise ArgumentError(
                f"times is needed with {self.on_grid}: give a public grid, such as the ends of months or years, to which times are rounded up"
            )
        if self.on_grid and self.domain is None:
            raise ArgumentError(f"domain is needed with {self.on_grid}: {HOW_TO_GIVE}")

    def unused(self) -> list[str]:
        """Return also that times are not used by an exact fit of columns of the same records."""
        idle = not self.on_grid and self.times is not None
        return super().unused() + ["times has no effect without split='horizontal' and without epsilon"] * idle


class Cases(Split):
    """How much each record counts, from when it is observed, and which records belong together."""

    weights: str | None = argument(
        COLUMN,
        "Column of case weights, 1/1024 to 1024: a record counts as so many, in events and in risk sets. Of a vertical fit a column of the outcome "
        "holder, 1/64 to 64 (private_newton, no gaps).",
        None,
    )
    entry: str | None = argument(
        COLUMN,
        "Column of the times from which records are observed (left truncation; also start of an interval): at risk after entry, up to time. "
        "Of a vertical fit a column of the outcome holder (private_newton, no gaps).",
        None,
    )
    robust: bool = argument(
        FLAG,
        "Whether standard errors are those of the sandwich, which holds where records depend on one another or are weighted. Of a "
        "vertical fit with private_newton.",
        False,
    )
    cluster: str | None = argument(
        COLUMN,
        "Column of clusters, within each of which records may depend on one another: robust errors by cluster. With split='horizontal' a "
        "cluster's records are at one station; of a vertical fit a column of any one station, with weights of the outcome holder "
        "(private_newton, no gaps).",
        None,
    )

    @property
    def sandwich(self) -> bool:
        """Whether the covariance is robust."""
        return self.robust or self.cluster is not None

    @property
    def grouped(self) -> bool:
        """Whether rows of a vertical fit are summed before their products are: by cluster, or by record where each has two."""
        return self.cluster is not None or (self.sandwich and self.entry is not None)
