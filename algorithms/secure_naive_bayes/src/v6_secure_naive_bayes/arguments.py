"""The arguments of the central functions."""

from __future__ import annotations

from typing import Any, ClassVar

from fedbayes.dp import promise
from fedbayes.federation.declare import TARGET, Arguments, argument, when
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.horizontal import ROW, Binned, Members, PlacedScores, Scoring, Target, Unit, check_unit
from fedbayes.federation.horizontal.declared import DOMAIN, honest_fraction, most_rows
from fedbayes.federation.kinds import (
    COLUMN,
    EPSILON,
    FLAG,
    ONCE_PUBLISHED,
    ORGANIZATION,
    choice,
    json_value,
    number,
    whole,
)
from fedbayes.federation.signatures import Store
from fedbayes.federation.vertical import check_alignment

from .keying import KEYS, check_keys
from .membership import Membership
from .messages import KINDS, TABLES, UNITS, Noise
from .records import check_list

LEAST_DELTA = 1e-100  # below it the diluted law's quantile is no float
DILUTED = ("diluted_geometric", "published")
SPLITS = ("horizontal", "vertical")
OF_NOISY_SCORES = ("epsilon", "delta", "noise", "neighbors", "honest_fraction", "unit", "max_rows_per_identifier")
"""Arguments of `evaluate` without a meaning where scores are exact."""
WHOLE = "vertically split tables have their whole noise each, and none is encrypted"

EVIDENCE = (("statements against debits, and what the noise really hides", "tests/privacy/test_secure_naive_bayes.py"),)
"""What shows that private statements hold, for dossiers: what, and where in the project."""

STORE = Store(
    "Secure naive Bayes",
    "Naive Bayes from encrypted noisy counts (Huai et al. 2015, repaired): horizontally and vertically split records, joins and leaves.",
    "horizontal",
)


def _check_membership(name: str, value: Any) -> Any:
    """Return a membership as it was given, if it can be read."""
    try:
        Membership.from_dict(value)
    except ValueError as problem:
        raise ArgumentError(f"{name} is not usable: {problem}; give that of a result as it is") from None
    return value


MEMBERSHIP = json_value("the `membership` of a result", _check_membership)


class Keys(Arguments):
    """How counts are encrypted."""

    keys: str = argument(
        choice(KEYS),
        "Whether exponents come from pairwise keys, or from one organization without data.",
        KEYS[0],
        used_when=when("split", "horizontal"),
        why=WHOLE,
    )
    modulus_bits: int = argument(
        whole(2048, 8192), "2048 or 3072; other multiples of 8 with a dealer.", 3072, unit="bits"
    )

    def check_together(self) -> None:
        """Refuse a modulus of which nobody is known to lack the factors."""
        super().check_together()
        check_keys(self.keys, self.modulus_bits)


class Split(Arguments):
    """How the records are split."""

    split: str = argument(
        choice(SPLITS),
        "Whether stations hold different records, or columns of the same ones.",
        "horizontal",
        formerly=("partitioning",),
    )


class Fit(Target, Binned, Split, Keys, Members):
    """Of `fit`."""

    rounds_usually: ClassVar[int] = 2
    releases_tables: ClassVar[bool] = True

    epsilon: float | None = argument(
        EPSILON,
        "Budget of all tables together; needed unless noise is none. Above 20 no result is called private.",
        None,
        rank=TARGET,
    )
    delta: float = argument(
        number(low=0, below=1),
        f"At least {LEAST_DELTA:g} for the noises that need one.",
        0.0,
        used_when=when("noise", *DILUTED),
        rank=TARGET,
    )
    noise: str = argument(
        choice(KINDS, ONCE_PUBLISHED),
        "How the shares of the noise are drawn; none is not private and says so.",
        "polya",
    )
    honest_fraction: float = honest_fraction(when("split", "horizontal"), WHOLE)
    unit: str = argument(
        choice(UNITS),
        "What a neighbouring table has more or less: a record, all that one party holds, or an identifier with all its rows.",
        "record",
    )
    maximum_records: int | None = argument(
        whole(1, 2**31),
        "Public bound of one party's records; a party that has more uses a random subset.",
        None,
        used_when=when("unit", "party"),
        unit="records",
    )
    id_column: str | None = argument(
        COLUMN,
        "The column of identifiers; a row without one is not used.",
        None,
        used_when=when("unit", "identifier"),
    )
    max_rows_per_identifier: int = most_rows()
    membership: dict[str, Any] | None = argument(
        MEMBERSHIP,
        "Of an earlier result, after joins and leaves.",
        None,
        used_when=when("split", "horizontal"),
        why=WHOLE,
    )

    def check_together(self) -> None:
        """Refuse noise that lacks what it needs, or has what it cannot use."""
        super().check_together()
        if self.split == "vertical" and self.unit == "record" and self.id_column is not None:
            raise ArgumentError(
                "id_column is not used with split='vertical': no records are linked, since every station has the label beside its features; leave it out"
            )
        _ = self.whom
        if (self.unit == "party") != (self.maximum_records is not None):
            raise ArgumentError('maximum_records is a public bound of one party\'s records; it belongs to unit="party"')
        if self.noise in DILUTED and self.delta < LEAST_DELTA:
            raise ArgumentError(
                f'noise="{self.noise}" needs a delta of at least {LEAST_DELTA:g}; noise="polya" needs none'
            )
        if self.noise == "none" and self.epsilon is not None:
            raise ArgumentError('epsilon has no meaning with noise="none"; leave one of them out')
        if self.noise != "none" and self.epsilon is None:
            raise ArgumentError("epsilon is needed: give a number greater than 0")
        if self.unit == "party" and not (self.epsilon and promise.holds(self.epsilon, self.settings.delta)):
            raise ArgumentError(
                'unit="party" uses rows that are drawn anew in every task, so that two answers differ by single rows unless noise hides them; give an '
                f"epsilon of at most {promise.MOST_EPSILON:g} (delta {promise.MOST_DELTA:g}), or another unit"
            )

    @property
    def whom(self) -> Unit:
        """Whose rows are bounded: everybody's with an identifier, or each for itself (also where a whole party is the unit)."""
        kind = "identifier" if self.unit == "identifier" else "row"
        return check_unit(kind, self.id_column, self.max_rows_per_identifier)

    @property
    def settings(self) -> Noise:
        """The noise."""
        delta = self.delta if self.noise in DILUTED else 0.0
        bound = self.whom.rows if self.unit == "identifier" else self.maximum_records or 0
        return Noise(self.noise, self.epsilon or 0.0, delta, self.honest_fraction, self.unit, bound)


class Classify(Target, Binned, Keys, Members):
    """Of `classify`."""

    rounds_usually: ClassVar[int] = 4

    domain: dict[str, Any] = argument(DOMAIN, "Public domains, the label's included.", rank=TARGET)
    records: list[dict[str, Any]] = argument(
        json_value("a list of {feature: value}", check_list),
        "What is classified; what is missing says nothing of the class.",
        rank=TARGET,
    )
    epsilon: float = argument(EPSILON, "Budget of all tables together.", rank=TARGET)
    tables: str = argument(
        choice(TABLES),
        "Noisy tables of this job alone, those that the stations keep from an earlier one (made where there are none), or new ones that they keep.",
        "fresh",
    )


class Evaluate(Scoring, PlacedScores, Split):
    """Of `evaluate`."""

    rounds_usually: ClassVar[int] = 2

    unit: str = argument(
        choice(("row", "identifier")), "Whom noisy scores are for: a row, or an identifier with all its rows.", "row"
    )
    id_column: str | None = argument(
        COLUMN,
        "The column of identifiers, with unit identifier; or by which vertically split records are matched.",
        None,
    )
    max_rows_per_identifier: int = most_rows()
    rows_aligned: bool = argument(
        FLAG,
        "The caller's word that vertically split files hold the same records in the same order, instead of an id_column.",
        False,
        used_when=when("split", "vertical"),
    )

    @property
    def whom(self) -> Unit:
        """Whom noisy scores are for; scores of vertically split records are exact."""
        if self.split == "vertical":
            return ROW
        return check_unit(self.unit, self.id_column, self.max_rows_per_identifier)

    @property
    def identifier(self) -> str:
        """The column by which vertically split records are matched; empty where the files are aligned."""
        return check_alignment(self.id_column, self.rows_aligned)

    def check_together(self) -> None:
        """Refuse noise in scores that have none, and records that nothing matches."""
        super().check_together()
        if self.split == "vertical":
            _ = self.identifier
            defaults = {one.name: one.default for one in self.declared()}
            given = [name for name in OF_NOISY_SCORES if getattr(self, name) not in (None, "none", defaults[name])]
            if given:
                raise ArgumentError(
                    f"{given[0]} has no meaning here: scores of vertically split records are exact; leave it out"
                )


class Change(Keys):
    """Of `join` and `leave`."""

    rounds_usually: ClassVar[int] = 2

    membership: dict[str, Any] = argument(MEMBERSHIP, "Of an earlier result.", rank=TARGET)
    organization: int | str = argument(ORGANIZATION, "Who joins or leaves.", rank=TARGET)
