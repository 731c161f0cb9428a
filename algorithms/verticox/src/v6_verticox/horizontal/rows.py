"""A station's own records, for a fit over horizontally split ones: cells of the grid and design columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbayes.bayes.schema import Column
from fedbayes.federation import Station
from fedbayes.federation.errors import DataProblem, ThresholdError
from fedbayes.federation.horizontal import schema_errors

from ..cox.outcome import checked
from .messages import Question

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Rows:
    """Records of one station.

    Parameters
    ----------
    cell : ndarray of int, (records,)
        Place in the grid of the time that the record's own is rounded up to; the number of times for one beyond the last.
    event : ndarray of bool, (records,)
        Whether it has the event, at a time of the grid.
    columns : ndarray of float, (records, columns)
        Numbers in units of half of their bounds' width around their middle, indicators 0 or 1: all from -1 to 1.
    """

    cell: npt.NDArray[np.intp]
    event: npt.NDArray[np.bool_]
    columns: Vector


def read(station: Station, question: Question) -> Rows:
    """Return the records that count.

    Raises
    ------
    DataProblem
        Naming the column.
    PolicyError, ThresholdError
        If the node does not let these columns be used, or there are too few rows.
    """
    frame = station.data(question.columns, domain=question.domain)
    gap = frame[[question.time, question.event]].isna().any(axis=1).to_numpy(dtype=bool)
    with schema_errors(DataProblem):
        question.schema.refuse_unknown(frame)
        encoded = question.schema.encode(frame, "clip")
    for name, values in encoded.items():
        absent = values < 0 if question.schema[name].is_categorical else np.isnan(values)
        if question.missing == "refuse" and np.any(absent):
            raise DataProblem(
                f"feature '{name}' has missing values, or categories that are not in the domain; fill them in, correct the domain, or set "
                "missing='complete'"
            )
        gap = gap | absent
    kept = ~gap if question.missing == "complete" else np.ones(len(frame), dtype=bool)
    if kept.sum() < max(station.policy.minimum_rows, 1):
        raise ThresholdError(
            "the station has fewer records without a gap than the node demands; leave this station out"
        )
    times, events = checked(frame[kept], question.time, question.event)
    grid = np.asarray(question.times)
    cell = np.searchsorted(grid, times, side="left")
    event = (events == 1.0) & (cell < len(grid))
    blocks = [block(question, column, encoded[column.name][kept]) for column in question.schema]
    return Rows(cell.astype(np.intp), event, np.concatenate(blocks, axis=1))


def block(question: Question, column: Column, values: npt.NDArray[Any]) -> Vector:
    """Return the design columns of one feature, (records, columns)."""
    if not column.is_categorical:
        low, high = column.bounds or (-1.0, 1.0)
        return np.asarray(np.clip((values - (low + high) / 2.0) / ((high - low) / 2.0), -1.0, 1.0)[:, None])
    codes = [code for code, key in enumerate(column.keys) if key != question.references[column.name]]
    return np.asarray(values[:, None] == np.array(codes, dtype=np.int_)[None, :], dtype=np.float64)
