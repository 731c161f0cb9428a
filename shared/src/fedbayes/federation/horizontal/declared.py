"""Arguments that functions over horizontally split tables share; see :mod:`fedbayes.federation.declare`."""

from __future__ import annotations

from typing import Any

from fedbayes.bayes.naive_bayes.counting import DEFAULT_BINS
from fedbayes.bayes.values.missing import MISSING

from ...dp.neighbors import NEIGHBORS
from ...dp.shares import HONEST_FRACTION
from .. import arguments as checks
from ..declare import OWN, PARTIES, TARGET, UNIT, Arguments, When, argument, unless, when
from ..kinds import COLUMN, COLUMNS, EPSILON, MODEL, ORGANIZATIONS, choice, json_value, number, whole
from .columns import Columns
from .counts import check_bin_rules
from .noise import PLACEMENTS, CountNoise, check_noise
from .units import MOST_ROWS_OF_ONE, ROW, UNITS, Unit, check_unit

DOMAIN = json_value('{column: {"categories": [...]} or {"bounds": [low, high]}}', checks.check_mapping)
BINS = json_value('a number of bins, or {feature: number, edges or {"log": number}}', check_bin_rules)
OUTSIDE = choice(("clip", "refuse"))
DELTA = number(low=0, below=1)
NOISY_SCORES = (when("epsilon"), unless("noise", "none"))
EXACT = "the answer is exact and not private"
IDENTIFIED = when("unit", "identifier")


def neighbors(used_when: When | tuple[When, ...], why: str = "") -> Any:
    """Return the field of the neighbouring relation."""
    words = "The neighbouring relation: one row more or less, or the content of one row."
    return argument(choice(NEIGHBORS), words, NEIGHBORS[0], used_when=used_when, why=why)


def honest_fraction(used_when: When | tuple[When, ...], why: str = "") -> Any:
    """Return the field of the part of the stations that is trusted to keep its noise."""
    words = "Part of the stations whose shares of the noise alone must suffice; never all of several, since each knows its own."
    return argument(number(above=0, high=1), words, HONEST_FRACTION, used_when=used_when, why=why)


def protected_unit(used_when: When | tuple[When, ...] = ()) -> Any:
    """Return the field of whom the promise is for."""
    words = "Whom the promise is for: a row, or an identifier with all its rows."
    return argument(choice(UNITS), words, UNITS[0], used_when=used_when, rank=UNIT)


def most_rows(used_when: When | tuple[When, ...] = IDENTIFIED, rank: int = OWN) -> Any:
    """Return the field of the rows of one identifier that are used."""
    words = "Most rows of one identifier that a station uses: under noise chosen by a keyed hash, else the first."
    return argument(whole(1, MOST_ROWS_OF_ONE), words, 1, used_when=used_when, unit="rows", rank=rank)


class Target(Arguments):
    """What is learned: label, features and their public domains."""

    label: str = argument(COLUMN, "Class column to predict; its domain must have categories.", rank=TARGET)
    features: list[str] | None = argument(
        COLUMNS, "Columns to learn from; every other column of the domain when left out.", None, rank=TARGET
    )
    domain: dict[str, Any] | None = argument(
        DOMAIN,
        "Public domains, the label's included; the stations' own schema files when left out (they must agree).",
        None,
        rank=TARGET,
    )

    def foreseen_columns(self, unit: Unit = ROW, outside: str = "clip") -> Columns | None:
        """Return the columns of the task, where the domain is given; None where stations have to be asked."""
        domain = self.domain or {}
        names = self.features or [name for name in domain if name not in (self.label, MISSING, unit.id_column)]
        if not {*names, self.label} <= set(domain):
            return None
        return Columns(self.label, names, {name: domain[name] for name in (*names, self.label)}, outside, unit)


class Binned(Arguments):
    """How numeric features become tables."""

    bins: int | dict[str, Any] = argument(BINS, "Bins of numeric features.", DEFAULT_BINS)


class Units(Arguments):
    """Whom the promise is for."""

    unit: str = protected_unit()
    id_column: str | None = argument(
        COLUMN,
        "The column of identifiers; a row without one is not used.",
        None,
        used_when=IDENTIFIED,
        rank=UNIT,
    )
    max_rows_per_identifier: int = most_rows(rank=UNIT)

    def check_together(self) -> None:
        """Refuse identifiers without the unit that protects them, and the reverse."""
        super().check_together()
        check_unit(self.unit, self.id_column, self.max_rows_per_identifier)

    @property
    def whom(self) -> Unit:
        """The unit of the promise."""
        return check_unit(self.unit, self.id_column, self.max_rows_per_identifier)


class Budget(Arguments):
    """The budget of an answer; a function that lets the researcher place its noise adds `Placed`, one with other units `Units`."""

    epsilon: float | None = argument(
        EPSILON,
        "Privacy budget of the whole answer, for every row; above 20 no result is called private.",
        None,
        used_when=unless("noise", "none"),
        why=EXACT,
        rank=TARGET,
    )
    delta: float = argument(
        DELTA,
        "Above 0 the noise is Gaussian, far smaller for many features; above 0.001 no result is called private.",
        0.0,
        used_when=unless("noise", "none"),
        why=EXACT,
        rank=TARGET,
    )
    neighbors: str = neighbors(unless("noise", "none"), EXACT)
    honest_fraction: float = honest_fraction(
        unless("noise", "local", "none"), "local noise is whole at every station, and an exact answer has none"
    )

    def check_together(self) -> None:
        """Refuse noise without a budget."""
        super().check_together()
        _ = self.added

    @property
    def placement(self) -> str:
        """Where noise is added."""
        return getattr(self, "noise", None) or ("none" if self.epsilon is None else "distributed")

    @property
    def added(self) -> CountNoise:
        """The noise, for the units of the promise."""
        return check_noise(self.placement, self.epsilon, self.delta, self.neighbors, self.honest_fraction, self.whom)

    @property
    def whom(self) -> Unit:
        """Whom the promise is for: what `Units` says wherever it stands among the bases, else a row."""
        unit: Unit = getattr(super(), "whom", ROW)
        return unit


class Placed(Arguments):
    """Where noise is added, by default inside the secure sum."""

    noise: str = argument(
        choice(PLACEMENTS),
        "Where noise is added: in shares inside the secure sum, whole at each station, or nowhere, which is not private and says so.",
        "distributed",
    )


class Members(Arguments):
    """Who takes part."""

    organizations: list[int | str] | None = argument(
        ORGANIZATIONS, "Stations and helpers; the whole collaboration when left out.", None, rank=PARTIES
    )


class Scoring(Budget, Members):
    """Of every `evaluate` over horizontally split tables."""

    model: dict[str, Any] = argument(MODEL, "What is scored.", rank=TARGET)
    label: str | None = argument(
        COLUMN, "Column of the true classes; the model's own when left out.", None, rank=TARGET
    )
    epsilon: float | None = argument(
        EPSILON,
        "Privacy budget of all scores, for every row; without it they are exact and not private.",
        None,
        used_when=unless("noise", "none"),
        why=EXACT,
        rank=TARGET,
    )
    delta: float = argument(
        DELTA,
        "Above 0 the noise is Gaussian where that is narrower, with many classes; else no delta is spent.",
        0.0,
        used_when=NOISY_SCORES,
        rank=TARGET,
    )
    neighbors: str = neighbors(NOISY_SCORES)
    honest_fraction: float = honest_fraction((when("epsilon"), unless("noise", "local", "none")))


class PlacedScores(Arguments):
    """Where the noise of scores is added."""

    noise: str | None = argument(
        choice(PLACEMENTS),
        "Where noise is added, as in a fit; distributed if epsilon is given, else none.",
        None,
    )
