"""What a model does not understand in a table: counted for each column and told, before predictions are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...bayes.network.variable import MISSING_STATE
from ...bayes.schema import LARGEST_BOUND, NEARLY_ALL, Column
from ...bayes.values.column_codes import floats_of
from ...bayes.values.encoding import SchemaError, canonical_text
from ...bayes.values.missing import MISSING
from ...bayes.values.written import printable
from ..exits import UsageProblem
from ..view import view_of

if TYPE_CHECKING:
    import pandas as pd

NAMED = 5  # columns that a warning names
FEW_CELLS = 10
"""Numbers outside the bounds are an error only in this many cells: one record may lie outside."""


@dataclass(frozen=True)
class Gap:
    """Cells of a column that a model does not understand.

    Attributes
    ----------
    column : str
        Its name.
    cells, present : int
        Cells that are not understood, of all that are not empty.
    outside : bool
        Whether they are numbers outside the bounds (else categories that the model has never seen).
    taken_as : str
        What the model takes them for.
    """

    column: str
    cells: int
    present: int
    outside: bool
    taken_as: str

    @property
    def sentence(self) -> str:
        """One sentence: which column, how many cells, what became of them."""
        fault = "outside the model's bounds" if self.outside else "unknown to the model"
        return printable(f"column '{self.column}': {self.cells} of {self.present} cells are {fault}; {self.taken_as}")

    @property
    def is_fatal(self) -> bool:
        """Whether the column is nearly all unknown, so that predictions would not be about it."""
        enough = self.present >= FEW_CELLS or not self.outside
        return enough and self.cells >= NEARLY_ALL * self.present

    def refusal(self) -> UsageProblem:
        """Return the error that names the remedy."""
        remedy = "give it in the units" if self.outside else "write its categories in the way"
        fault = self.sentence.partition(";")[0]
        return UsageProblem(f"{fault}; {remedy} of the records that the model was fitted on, or empty the cells")


def domain_of(model: Any) -> dict[str, Any]:
    """Return the domain that a model was fitted with, as far as it tells: categories or bounds by column."""
    if not isinstance(model, Mapping):
        return {}
    if isinstance(model.get("domain"), Mapping):
        return {str(name): entry for name, entry in model["domain"].items() if isinstance(entry, Mapping)}
    view = view_of(model)
    networks = view.part("networks")(model) if view.networks else []
    domain: dict[str, Any] = {}
    for network in networks:
        for name, node in network["nodes"].items():
            if not isinstance(node, Mapping) or not isinstance(node.get("states"), list | tuple):
                continue
            if node.get("cuts") is not None:
                domain[str(name)] = {"bounds": [-LARGEST_BOUND, LARGEST_BOUND]}
                continue
            categories = domain.setdefault(str(name), {"categories": []}).get("categories", [])
            categories.extend(state for state in node["states"] if state not in (*categories, MISSING_STATE))
    return domain


def gaps(model: Any, frame: pd.DataFrame, label: str | None = None) -> list[Gap]:
    """Return the columns of a table with cells that a model does not understand.

    Parameters
    ----------
    model : dict
        The `model` of a result.
    frame : DataFrame of shape (n, columns)
        New records.
    label : str, optional
        What is predicted: its own column is not looked at.
    """
    view = view_of(model)
    if view.gaps:
        return [gap for gap in view.part("gaps")(model, frame) if gap.cells]
    domain = domain_of(model)
    skipped = {label} if label is not None else {model.get("label")} if domain else set()
    column_gaps = [
        _gap(name, entry, frame[name]) for name, entry in domain.items() if name in frame and name not in skipped
    ]
    return [gap for gap in column_gaps if gap is not None and gap.cells]


def about_absent(model: Any, frame: pd.DataFrame, label: str | None = None) -> list[str]:
    """Return a sentence about the columns of a model that a table does not have, if there are any: networks and ensembles predict from the others."""
    predicted = label or (model.get("label") if isinstance(model, Mapping) else None)
    absent = [f"'{name[:60]}'" for name in domain_of(model) if name not in frame and name != predicted]
    if not absent:
        return []
    more = f" and {len(absent) - NAMED} more" if len(absent) > NAMED else ""
    columns = f"columns {', '.join(absent[:NAMED])}{more}" if len(absent) > 1 else f"column {absent[0]}"
    return [printable(f"the table lacks the {columns} of the model; missing in every record")]


def _gap(name: str, entry: Mapping[str, Any], values: Any) -> Gap | None:
    try:
        column = Column.from_json(name, {key: value for key, value in entry.items() if key != MISSING})
    except SchemaError:
        return None
    present = int(values.notna().sum())
    if column.is_categorical:
        cells = int(sum(count for text, count in _texts(values).items() if text not in column.codes))
        return Gap(name, cells, present, False, "they count as missing")
    low, high = column.bounds or (0.0, 0.0)
    numbers = floats_of(values)
    if int(np.count_nonzero(~np.isnan(numbers))) < present:
        return Gap(name, present - int(np.count_nonzero(~np.isnan(numbers))), present, False, "they are no numbers")
    outside = int(np.count_nonzero((numbers < low) | (numbers > high)))
    return Gap(name, outside, present, True, "they are moved to the nearer bound")


def cox_gaps(model: Mapping[str, Any], frame: pd.DataFrame) -> list[Gap]:
    """Return gaps of text features, and of the strata.

    A model tells the categories that have a coefficient. The reference, which has none, is the first category in the order of the alphabet: what comes
    later is unknown, and of several that come earlier only one can be it.
    """
    from .survival import as_categories, indicators

    if model.get("formula"):  # a category that its fit did not know is refused
        return _strata(model, frame)
    references = model.get("references") if isinstance(model.get("references"), Mapping) else {}
    coded: dict[str, list[str]] = {}
    for source, category in indicators(model, frame.columns).values():
        if source in frame.columns:
            coded.setdefault(source, []).append(category)
    result = []
    for source, categories in coded.items():
        stated = (references or {}).get(source)
        texts = _counted(as_categories(frame[source], categories if stated is None else [*categories, str(stated)]))
        rest = {text: count for text, count in texts.items() if text not in categories}
        early = {text: count for text, count in rest.items() if text < min(categories)}
        reference = stated if stated is not None else max(early, key=lambda text: early[text]) if early else None
        cells = sum(count for text, count in rest.items() if text != reference)
        result.append(Gap(source, cells, sum(texts.values()), False, "they count as the reference category"))
    return [*result, *_strata(model, frame)]


def _strata(model: Mapping[str, Any], frame: pd.DataFrame) -> list[Gap]:
    from .survival import as_categories, baselines_of

    column, names = model.get("strata"), set(baselines_of(model)) - {""}
    if not isinstance(column, str) or column not in frame.columns or not names:
        return []
    texts = _counted(as_categories(frame[column], names))
    cells = sum(count for text, count in texts.items() if text not in names)
    return [Gap(column, cells, sum(texts.values()), False, "their survival is not told")]


def _texts(values: Any) -> dict[str, int]:
    """Return how often each canonical text occurs in a column."""
    counted: dict[str, int] = {}
    for value, count in values.value_counts(dropna=True).items():
        text = canonical_text(value)
        if text is not None:
            counted[text] = counted.get(text, 0) + int(count)
    return counted


def _counted(texts: Any) -> dict[str, int]:
    """Return how often each text occurs in a column of texts."""
    return {str(text): int(count) for text, count in texts.value_counts(dropna=True).items()}
