"""A station's own columns, checked and put in the common order: design matrix and outcome."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbayes.federation.errors import DataProblem, ThresholdError

Matrix = npt.NDArray[np.float64]
MOST_CATEGORIES = 50  # one column each: more is an identifier or free text
LARGEST_STANDARDISED = 2.0**12
"""Deviations: sums of squares over 65,536 such records are the most that central takes for a number (`newton.FINITE`)."""
SMALLEST_SPREAD, LARGEST_SPREAD = 1e-60, 1e60  # products of two scales, in the covariance, stay numbers


@dataclass(frozen=True)
class Design:
    """A station's features as numbers.

    Parameters
    ----------
    columns : dict of str to list of str
        Feature -> names of its design columns (one, or one a category but the first).
    values : ndarray, (rows, columns)
        Centred and divided by `scales`.
    means : ndarray, (columns,)
        Of the raw design columns; they stay at the station.
    scales : ndarray, (columns,)
        Powers of two near the standard deviations.
    references : dict of str to str
        Text feature -> the category that is left out.
    paired : ndarray of bool, (columns,)
        Which design columns have two values.
    """

    columns: dict[str, list[str]]
    values: Matrix
    means: Matrix
    scales: Matrix
    references: dict[str, str]
    paired: npt.NDArray[np.bool_]


def design(frame: Any, features: list[str], minimum_count: int) -> Design:
    """Return the design columns of a station's features; text becomes one indicator a category, the first left out.

    Raises
    ------
    DataProblem
        Naming the column: missing or infinite values, a constant column, a rare category, too many categories.
    """
    names: dict[str, list[str]] = {}
    references: dict[str, str] = {}
    blocks: list[Matrix] = []
    for feature in features:
        block, labels, reference = _encoded(frame[feature], feature, minimum_count)
        names[feature] = labels
        blocks.append(block)
        if reference is not None:
            references[feature] = reference
    raw = np.concatenate(blocks, axis=1) if blocks else np.zeros((len(frame), 0))
    with np.errstate(over="ignore", invalid="ignore"):
        means, spread = raw.mean(axis=0), np.nan_to_num(raw.std(axis=0), nan=np.inf)
    flat = [label for labels in names.values() for label in labels]
    for label, deviation, mean in zip(flat, spread, means, strict=True):
        if deviation <= 1e-12 * abs(mean) or deviation == 0.0:
            raise DataProblem(
                f"feature '{label}' is constant, or varies too little beside its mean; leave it out, or subtract a constant"
            )
        if not SMALLEST_SPREAD < deviation < LARGEST_SPREAD:
            raise DataProblem(f"feature '{label}' has values of an extreme size; give it in other units")
    scales = 2.0 ** np.round(np.log2(spread)) if raw.shape[1] else spread
    values = (raw - means) / scales
    if values.size and np.max(np.abs(values)) > LARGEST_STANDARDISED:
        far = flat[int(np.argmax(np.max(np.abs(values), axis=0)))]
        raise DataProblem(
            f"feature '{far}' has values thousands of standard deviations away; transform it, e.g. by its log"
        )
    paired = np.array([len(np.unique(column)) == 2 for column in raw.T], dtype=np.bool_)
    return Design(names, values, means, scales, references, paired)


def booleans_as_such(column: Any) -> Any:
    """Return a column without gaps in these rows; as booleans if it holds nothing else (gaps in other rows made it a column of objects)."""
    known = column.dtype.kind == "O" and len(column) and all(isinstance(value, bool | np.bool_) for value in column)
    return column.astype(bool) if known else column


def _encoded(column: Any, feature: str, minimum_count: int) -> tuple[Matrix, list[str], str | None]:
    if column.isna().any():
        raise DataProblem(
            f"feature '{feature}' has missing values; fill them in, drop the rows at every station, or set missing='complete'"
        )
    column = booleans_as_such(column)
    if column.dtype.kind in "biuf":
        values = column.to_numpy(dtype=np.float64)[:, None]
        if not np.all(np.isfinite(values)):
            raise DataProblem(f"feature '{feature}' has values that are not finite; correct the station's file")
        kinds = np.unique(values, return_counts=True)[1]
        if len(kinds) == 2 and kinds.min() < minimum_count:
            raise DataProblem(
                f"feature '{feature}' has two values, one of them in fewer records than this node reveals; leave it out or merge it"
            )
        return values, [feature], None
    texts = column.astype(str).str.strip()
    labels, codes = np.unique(texts.to_numpy(dtype=str), return_inverse=True)
    if len(labels) > MOST_CATEGORIES:
        raise DataProblem(f"feature '{feature}' is text with too many categories; recode it")
    if len(labels) < 2:
        raise DataProblem(f"feature '{feature}' is constant; leave it out")
    if np.min(np.bincount(codes)) < minimum_count:
        raise DataProblem(
            f"feature '{feature}' has a category with fewer records than this node reveals; merge categories"
        )
    indicators = (codes[:, None] == np.arange(1, len(labels))[None, :]).astype(np.float64)
    return indicators, [f"{feature}={label}" for label in labels[1:]], str(labels[0])


@dataclass(frozen=True)
class Survival:
    """The outcome holder's columns.

    Parameters
    ----------
    time : ndarray of float, (rows,)
    event : ndarray of int, (rows,)
    stratum : ndarray of int, (rows,)
    strata_names : list of str
    """

    time: Matrix
    event: npt.NDArray[np.int_]
    stratum: npt.NDArray[np.int_]
    strata_names: list[str]


def survival(frame: Any, time: str, event: str, strata: str | None, minimum_events: int) -> Survival:
    """Return the outcome, checked.

    Raises
    ------
    DataProblem
        Naming the column.
    ThresholdError
        When there are fewer events, or records in a stratum, than the node demands.
    """
    for name in (time, event):
        if frame[name].isna().any():
            raise DataProblem(
                f"outcome column '{name}' has missing values; drop these rows at every station, or set missing='complete'"
            )
        if booleans_as_such(frame[name]).dtype.kind not in "biuf":
            wanted = "numbers" if name == time else "1 for an event and 0 for a censored record"
            raise DataProblem(f"outcome column '{name}' holds text; give {wanted}")
    times = frame[time].to_numpy(dtype=np.float64)
    if not np.all(np.isfinite(times)) or np.any(times < 0.0):
        raise DataProblem(f"time column '{time}' has negative or infinite times; correct the station's file")
    if np.ptp(times) == 0.0:
        raise DataProblem(f"time column '{time}' is the same for every record; a Cox model needs an order of the times")
    events = frame[event].to_numpy(dtype=np.float64)
    if not np.all(np.isin(events, (0.0, 1.0))):
        raise DataProblem(f"event column '{event}' must hold 1 for an event and 0 for a censored record, nothing else")
    if events.sum() == 0:
        raise DataProblem(f"event column '{event}' has no event; a Cox model needs events")
    if events.sum() < minimum_events:
        raise ThresholdError(f"event column '{event}' has fewer events than this node demands; use more records")
    stratum, names = _strata(frame, strata)
    if np.min(np.bincount(stratum)) < minimum_events:
        raise ThresholdError(
            f"strata column '{strata}' has a stratum with fewer records than this node demands; merge strata"
        )
    return Survival(times, events.astype(np.int_), stratum, names)


def _strata(frame: Any, strata: str | None) -> tuple[npt.NDArray[np.int_], list[str]]:
    if strata is None:
        return np.zeros(len(frame), dtype=np.int_), ["all"]
    if frame[strata].isna().any():
        raise DataProblem(f"strata column '{strata}' has missing values; fill them in")
    labels, codes = np.unique(frame[strata].astype(str).to_numpy(dtype=str), return_inverse=True)
    if len(labels) > MOST_CATEGORIES:
        raise DataProblem(f"strata column '{strata}' has too many strata; bin it")
    return codes.astype(np.int_), [str(label) for label in labels]
