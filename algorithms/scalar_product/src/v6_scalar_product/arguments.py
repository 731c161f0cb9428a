"""The arguments of the central functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from fedbayes.dp.promise import LEAST_EPSILON
from fedbayes.dp.shares import HONEST_FRACTION
from fedbayes.federation.declare import TARGET, Arguments, argument, when
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.kinds import COLUMN, COLUMNS, FLAG, choice, json_value, number
from fedbayes.federation.questions.factor_info import Condition
from fedbayes.federation.signatures import Store
from fedbayes.federation.vertical.declared import BINS, BINS_WORDS, DOMAIN, DOMAIN_WORDS, Matched, neighbors
from fedbayes.federation.vertical.states import check_binned
from fedbayes.federation.vertical.traffic import answer_bytes, states_of, tables_bytes

from .messages import PROTOCOLS
from .questions import check_conditions

CONDITIONS = json_value('a list of {"column", "op", "value"}', check_conditions)

EVIDENCE = (("the ledger counts questions and epsilon", "tests/algorithms/scalar_product/test_refusals.py"),)
"""What shows that private statements hold, for dossiers: what, and where in the project."""

STORE = Store(
    "Private counts of vertically split records",
    "Counts, contingency tables, scalar products and information gain over columns that different stations hold on the same people; nobody sees a record.",
    "vertical",
)


class Private(Arguments):
    """The budget of an answer."""

    epsilon: float | None = argument(
        number(low=LEAST_EPSILON, high=1000.0),
        "Budget of all counts together, by discrete Laplace noise, one term for the federation; without it they are exact, small ones "
        "hidden or refused, as they are above an epsilon of 20.",
        None,
    )
    honest_fraction: float = argument(
        number(above=0.0, high=1.0),
        "Part of the stations whose noise alone must suffice.",
        HONEST_FRACTION,
        used_when=when("epsilon"),
    )
    neighbors: str = neighbors(when("epsilon"))


class Tables(Matched, Private):
    """Of functions that ask for tables."""

    columns: list[str] = argument(COLUMNS, "One axis each.", rank=TARGET)
    bins: Any = argument(BINS, BINS_WORDS, "quantile")
    domain: dict[str, Any] | None = argument(DOMAIN, DOMAIN_WORDS, None)
    missing_state: bool = argument(FLAG, "Whether missing is a state of every column.", True)

    def check_together(self) -> None:
        """Refuse bins of other columns."""
        super().check_together()
        check_binned([*self.columns, getattr(self, "label", "")], self.bins, self.domain)

    @classmethod
    def questions(cls, given: Mapping[str, Any]) -> Sequence[tuple[str, ...]]:
        """Return the columns of every table that is asked for."""
        return [tuple(given["columns"])]

    @classmethod
    def usual_bytes(cls, given: Mapping[str, Any], stations: int, rows: int) -> int | None:
        """Return about the bytes of the tables."""
        if given.get("helper") == "none":
            return None
        asked = cls.questions(given)
        names = dict.fromkeys(name for columns in asked for name in columns)
        sizes = {name: states_of(name, given.get("domain"), given.get("bins")) for name in names}
        return tables_bytes(asked, sizes, stations, rows)


class Count(Matched, Private):
    """Of `count`."""

    rounds_usually: ClassVar[int] = 5

    conditions: tuple[Condition, ...] = argument(
        CONDITIONS, "All must hold; op is ==, !=, in, <, <=, >, >=, between or missing.", rank=TARGET
    )
    protocol: str = argument(choice(PROTOCOLS), "Ours, or the published one in task rounds.", "masked_tables")

    @classmethod
    def usual_bytes(cls, given: Mapping[str, Any], stations: int, rows: int) -> int | None:
        """Return about the bytes of masked tables: of every condition one state, and one product for each beyond two."""
        if not rows or given.get("helper") == "none" or given.get("protocol") == "thesis":
            return None
        return answer_bytes(stations, rows, len(given["conditions"]), max(len(given["conditions"]) - 2, 0))

    def check_together(self) -> None:
        """Refuse questions about one person, and noise where there is none."""
        super().check_together()
        if any(test.column == self.id_column for test in self.conditions):
            raise ArgumentError("conditions must not be about the id_column: that would ask about one person")
        if self.protocol == "thesis" and self.epsilon is not None:
            raise ArgumentError("epsilon: noise is part of protocol masked_tables only")


class Contingency(Tables):
    """Of `contingency`."""

    rounds_usually: ClassVar[int] = 4


class InformationGain(Tables):
    """Of `information_gain`."""

    rounds_usually: ClassVar[int] = 4

    label: str = argument(COLUMN, "The column to know about.", rank=TARGET, formerly=("target",))
    columns: list[str] = argument(COLUMNS, "Columns whose information about the label is asked for.", rank=TARGET)

    @classmethod
    def questions(cls, given: Mapping[str, Any]) -> Sequence[tuple[str, ...]]:
        """Return a table of every column by the label."""
        return [(name, given["label"]) for name in given["columns"]]

    def check_together(self) -> None:
        """Refuse a label among the columns."""
        super().check_together()
        if self.label in self.columns:
            raise ArgumentError("columns must not hold the label")


class ScalarProduct(Matched):
    """Of `scalar_product`."""

    rounds_usually: ClassVar[int] = 4

    columns: list[str] = argument(
        COLUMNS, "Numeric columns of any stations; several of one station are multiplied there.", rank=TARGET
    )
