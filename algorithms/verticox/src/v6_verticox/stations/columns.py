"""A station's own columns, checked and put in the common order: design matrix and outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbayes.bayes.formulae.model_matrix import Codes, indicators
from fedbayes.bayes.values.column_codes import distinct_values
from fedbayes.bayes.values.encoding import canonical_text, categories_meant
from fedbayes.federation.errors import DataProblem, ThresholdError
from fedbayes.typing import Booleans, Floats

from ..cox.outcome import booleans_as_such, checked

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
    levels : dict of str to tuple of str
        Factor of a formula -> its categories, the reference first.
    """

    columns: dict[str, list[str]]
    values: Floats
    means: Floats
    scales: Floats
    references: dict[str, str]
    paired: Booleans
    levels: dict[str, tuple[str, ...]] = field(default_factory=dict)


def design(
    frame: Any, features: list[str], minimum_count: int, wanted: Mapping[str, str | None] | None = None
) -> Design:
    """Return the design columns of a station's features; text becomes one indicator a category, the first left out, or that of `wanted`.

    Raises
    ------
    DataProblem
        Naming the column: missing or infinite values, a constant column, a rare category, too many categories.
    """
    names: dict[str, list[str]] = {}
    references: dict[str, str] = {}
    blocks: list[Floats] = []
    for feature in features:
        column = known(frame[feature], feature)
        if column.dtype.kind in "biuf":
            blocks.append(numbers(column, feature, minimum_count)[:, None])
            names[feature] = [feature]
            continue
        texts = column.astype(str).str.strip().to_numpy(dtype=str)
        codes = categories(texts, feature, minimum_count, (wanted or {}).get(feature))
        indicated = indicators(feature, codes, False)
        blocks.append(indicated.values)
        names[feature], references[feature] = list(indicated.labels), codes.levels[0]
    return standardised(len(frame), names, blocks, references)


def standardised(rows: int, names: dict[str, list[str]], blocks: list[Floats], references: dict[str, str]) -> Design:
    """Return design columns centred and scaled.

    Raises
    ------
    DataProblem
        Naming a column that is constant, or has values of an extreme size or thousands of deviations away.
    """
    raw = np.concatenate(blocks, axis=1) if blocks else np.zeros((rows, 0))
    with np.errstate(over="ignore", invalid="ignore"):
        means, spread = raw.mean(axis=0), np.nan_to_num(raw.std(axis=0), nan=np.inf)
    flat = [label for labels in names.values() for label in labels]
    for label, deviation, mean in zip(flat, spread, means, strict=True):
        if (np.isfinite(mean) and deviation <= 1e-12 * abs(mean)) or deviation == 0.0:
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


def known(column: Any, feature: str) -> Any:
    """Return a feature's column, booleans as such; `DataProblem` where it has gaps."""
    if column.isna().any():
        raise DataProblem(
            f"feature '{feature}' has missing values; fill them in, drop the rows at every station, or set missing='complete'"
        )
    return booleans_as_such(column)


def numbers(column: Any, feature: str, minimum_count: int) -> Floats:
    """Return a column of numbers, (rows,); `DataProblem` where one is infinite, or few records have one of two values."""
    values = np.asarray(column.to_numpy(dtype=np.float64))
    if not np.all(np.isfinite(values)):
        raise DataProblem(f"feature '{feature}' has values that are not finite; correct the station's file")
    check_two_values(values, feature, minimum_count)
    return values


def check_two_values(values: Floats, feature: str, minimum_count: int) -> None:
    """Raise `DataProblem` if a column, (rows,), has two values of which one is that of few records."""
    kinds = np.unique(values, return_counts=True)[1]
    if len(kinds) == 2 and kinds.min() < minimum_count:
        raise DataProblem(
            f"feature '{feature}' has two values, one of them in fewer records than this node reveals; leave it out or merge it"
        )


def categories(texts: npt.NDArray[np.str_], feature: str, minimum_count: int, reference: str | None = None) -> Codes:
    """Return the categories of a column's texts, in the order of the alphabet but the reference first.

    Raises
    ------
    DataProblem
        Naming the column: constant, a rare category, too many categories, or none that is the reference.
    """
    labels, codes = np.unique(texts, return_inverse=True)
    if len(labels) > MOST_CATEGORIES:
        raise DataProblem(f"feature '{feature}' is text with too many categories; recode it")
    if len(labels) < 2:
        raise DataProblem(f"feature '{feature}' is constant; leave it out")
    if np.min(np.bincount(codes)) < minimum_count:
        raise DataProblem(
            f"feature '{feature}' has a category with fewer records than this node reveals; merge categories"
        )
    places = [place for place, label in enumerate(labels) if reference in (None, canonical_text(str(label)))]
    if not places:
        raise DataProblem(f"feature '{feature}' has no record of the reference category; choose another reference")
    order = [places[0], *(place for place in range(len(labels)) if place != places[0])]
    return Codes(np.argsort(order)[codes].astype(np.int_), tuple(str(labels[place]) for place in order))


def known_categories(values: Any, feature: str, levels: Sequence[str]) -> npt.NDArray[np.str_]:
    """Return a column without gaps as the categories that a model knows, (rows,): as they are written, or else as what means the same (2.0 for 2).

    Raises
    ------
    DataProblem
        Naming the column, where a cell is none of them: it would be taken for the reference.
    """
    same = categories_meant(levels)
    codes, distinct = distinct_values(values)
    texts = []
    for value in distinct:
        text = str(value).strip()
        meant = text if text in levels else same.get(canonical_text(value) or "")
        if meant is None:
            raise DataProblem(
                f"feature '{feature}' has categories that the model does not know; correct them or leave these records out, "
                "or fit with these categories"
            )
        texts.append(meant)
    return np.array([*texts, ""], dtype=str)[codes]


@dataclass(frozen=True)
class Survival:
    """The outcome holder's columns.

    Parameters
    ----------
    time : ndarray of float, (rows,)
    event : ndarray of int, (rows,)
    stratum : ndarray of int, (rows,)
    strata_names : list of str
    weights : ndarray of float, (rows,), or None
        Case weights.
    """

    time: Floats
    event: npt.NDArray[np.int_]
    stratum: npt.NDArray[np.int_]
    strata_names: list[str]
    weights: Floats | None = None


def survival(frame: Any, time: str, event: str, strata: str | None, minimum_events: int) -> Survival:
    """Return the outcome, checked.

    Raises
    ------
    DataProblem
        Naming the column.
    ThresholdError
        When there are fewer events, or records in a stratum, than the node demands.
    """
    times, events = checked(frame, time, event)
    if np.ptp(times) == 0.0:
        raise DataProblem(f"time column '{time}' is the same for every record; a Cox model needs an order of the times")
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
    """Return the stratum of every record, and the strata's names: canonical texts, so that 1 in one file is 1.0 in another."""
    if strata is None:
        return np.zeros(len(frame), dtype=np.int_), ["all"]
    texts = frame[strata].astype(object).map(canonical_text)
    if texts.isna().any():
        raise DataProblem(f"strata column '{strata}' has missing values; fill them in")
    labels, codes = np.unique(texts.to_numpy(dtype=str), return_inverse=True)
    if len(labels) > MOST_CATEGORIES:
        raise DataProblem(f"strata column '{strata}' has too many strata; bin it")
    return codes.astype(np.int_), [str(label) for label in labels]
