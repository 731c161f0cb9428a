"""``fedbayes predict``: a model applied to records on this machine."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...bayes.values.encoding import composed, identifier_text
from ...bayes.values.names import nearest
from ...bayes.values.written import printable
from ..exits import UsageProblem
from ..inputs.csv_text import csv_of
from ..inputs.dictionaries import read_as_fitted
from ..inputs.files import check_output, unless_stdout, write_text
from ..inputs.tables import tell_reading
from ..kinds import arguments_of, as_written, read_result
from ..models.coverage import Gap, about_absent, domain_of, gaps
from ..models.predictions import predict_table
from ..models.survival import beyond_baseline
from .listing import say

if TYPE_CHECKING:
    import pandas as pd


def execute(
    result: Path,
    data: Path,
    out: Path | None,
    label: str | None,
    times: str | None,
    id_column: str | None = None,
    force: bool = False,
) -> None:
    """Write one line of CSV for every record, its identifier first as it is in the table; what the model does not understand in the table is told on stderr.

    Raises
    ------
    UsageProblem
        If the files, the label or the times do not fit the model, or nearly nothing in a column does.
    """
    out = unless_stdout(out)
    if out is not None:
        check_output("--out", out, (".csv",) if out.suffix else (), replace=force)
    _check_order(data)
    content = read_result(result)
    model = content.get("model")
    moments = _times(times)
    given = id_column if id_column is not None else _asked(content)
    names = None if given is None else composed(given)
    identifiers = (names,) if names is not None else ()
    tell_reading(data)
    with as_written(result):
        frame = read_as_fitted(data, arguments_of(content).get("dictionary"), domain_of(model), identifiers)
    if id_column is not None and names not in frame.columns:
        raise _no_column(id_column, list(frame.columns))
    with as_written(result):
        predictions = predict_table(model, frame, label, moments)
        column_gaps = _not_understood(model, frame, label)
        about_records = _about_records(model, predictions, moments or ())
    if names in frame.columns:
        predictions.insert(0, str(names), [identifier_text(value) for value in frame[names]], allow_duplicates=True)
    for text in about_records:
        say(f"warning: {text}", sys.stderr)
    summary = f"{len(frame)} records, {sum(gap.cells for gap in column_gaps)} cells not understood"
    text = csv_of(predictions)
    if out is None:
        sys.stdout.write(printable(text, lines=True) if sys.stdout.isatty() else text)
        if column_gaps:
            print(f"predictions: {summary}", file=sys.stderr)
        return
    write_text(out, text)
    print(f"predictions: {out} ({summary})", file=sys.stderr)


def _check_order(data: Path) -> None:
    """Refuse a result where the table is expected: the two files are swapped."""
    if data.suffix.lower() == ".json":
        raise UsageProblem(f"{data} is no table: name the result first, then the table with new records")


def _no_column(name: str, columns: list[str]) -> UsageProblem:
    hint = f"{nearest(name, columns)}; it has: {', '.join(columns)}"
    return UsageProblem(f"--id-column: the table has no column '{name[:60]}'{hint}"[:400])


def _not_understood(model: Any, frame: pd.DataFrame, label: str | None) -> list[Gap]:
    """Return the columns with cells that the model does not know, and warn of these and of columns that the table lacks; refuse what is nearly all unknown."""
    column_gaps = gaps(model, frame, label)
    for gap in column_gaps:
        if gap.is_fatal:
            raise gap.refusal()
    for text in [*(gap.sentence for gap in column_gaps), *about_absent(model, frame, label)]:
        say(f"warning: {text}", sys.stderr)
    return column_gaps


def _about_records(model: Any, predictions: pd.DataFrame, moments: Sequence[float]) -> list[str]:
    """Return what a Cox model cannot say of these records: survival beyond its baseline, anything where a feature is missing."""
    late, end = beyond_baseline(model, moments)
    texts = [
        f"{moment:g} is beyond the model's baseline, which ends at {end:g}; survival there is that at its end"
        for moment in late
    ]
    empty = int(predictions["linear_predictor"].isna().sum()) if "linear_predictor" in predictions else 0
    if empty:
        texts.append(f"records without a prediction, as a feature is missing there: {empty}")
    return texts


def _asked(result: Mapping[str, Any]) -> str | None:
    """Return the column of identifiers that the fit was given, or that its dictionary names."""
    from ...bayes.dictionaries.dictionary import Dictionary
    from ...bayes.values.encoding import SchemaError

    arguments = arguments_of(result)
    if isinstance(arguments.get("id_column"), str):
        return str(arguments["id_column"])
    try:
        return Dictionary.from_json(arguments.get("dictionary")).identifier
    except SchemaError:
        return None


def _times(text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        moments = [float(entry) for entry in text.split(",")]
    except ValueError:
        moments = [math.nan]
    if not all(math.isfinite(moment) and moment >= 0 for moment in moments):
        raise UsageProblem("--times must be numbers of at least 0, separated by commas")
    return moments
