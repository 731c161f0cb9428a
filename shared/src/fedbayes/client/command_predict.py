"""``fedbayes predict``: a model applied to records on this machine."""

from __future__ import annotations

import math
import sys
from pathlib import Path

from .exits import UsageProblem
from .files import check_output, write_text
from .kinds import read_result
from .predictions import predict_table
from .tables import read_table


def execute(result: Path, data: Path, out: Path | None, target: str | None, times: str | None) -> None:
    """Write one line of CSV for every record.

    Raises
    ------
    UsageProblem
        If the files, the target or the times do not fit the model.
    """
    if out is not None:
        check_output("--out", out)
    model = read_result(result).get("model")
    moments = _times(times)
    predictions = predict_table(model, read_table(data), target, moments)
    text = predictions.to_csv(index=False, lineterminator="\n")
    if out is None:
        sys.stdout.write(text)
        return
    write_text(out, text)
    print(f"predictions: {out}", file=sys.stderr)


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
