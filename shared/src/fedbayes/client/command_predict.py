"""``fedbayes predict``: a model applied to records on this machine."""

from __future__ import annotations

import math
import sys
from pathlib import Path

from .coverage import domain_of, gaps
from .exits import UsageProblem
from .files import check_output, write_text
from .kinds import read_result
from .predictions import predict_table
from .tables import read_table


def execute(result: Path, data: Path, out: Path | None, target: str | None, times: str | None) -> None:
    """Write one line of CSV for every record; what the model does not understand in the table is told on stderr.

    Raises
    ------
    UsageProblem
        If the files, the target or the times do not fit the model, or nearly nothing in a column does.
    """
    if out is not None:
        check_output("--out", out)
    model = read_result(result).get("model")
    moments = _times(times)
    frame = read_table(data, domain_of(model))
    predictions = predict_table(model, frame, target, moments)
    found = gaps(model, frame, target)
    for gap in found:
        if gap.is_fatal:
            raise gap.refusal()
    for gap in found:
        print(f"warning: {gap.told}", file=sys.stderr)
    summary = f"{len(frame)} records, {sum(gap.cells for gap in found)} cells not understood"
    text = predictions.to_csv(index=False, lineterminator="\n")
    if out is None:
        sys.stdout.write(text)
        if found:
            print(f"predictions: {summary}", file=sys.stderr)
        return
    write_text(out, text)
    print(f"predictions: {out} ({summary})", file=sys.stderr)


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
