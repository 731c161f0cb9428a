"""How much of a table a model did not understand, read from the statistics that it has anyway: nothing more is asked of the data.

A category that the domain lacks becomes missing, so a column that stations write in other ways (``M`` for ``male``) shows as one that is nearly always
missing. The cells that count missing values are part of every table, noise included, and were paid for with it.
"""

from __future__ import annotations

import math

import numpy as np

from ..schema import NEARLY_ALL, Schema
from .features import CategoricalTables, Feature, Gaussian, Histogram
from .model import NaiveBayes

_CERTAIN = 4.0  # deviations of the noise
_HALF = 0.5  # of the rows: so many gaps are told, as the spelling of a common category may be another
_SHOWN = 6  # categories that a warning lists


def missing_shares(model: NaiveBayes) -> dict[str, float]:
    """Return for every feature the share of the rows that have no value that the model understood, within [0, 1], as the (noisy) statistics say."""
    return {name: _share(model, feature)[0] for name, feature in model.features.items()}


def loud_warnings(model: NaiveBayes) -> list[str]:
    """Return a warning for every column of which nearly all values, of categories half, were missing or not in the domain, the label included."""
    warnings = []
    total = float(model.class_counts.sum())
    if total <= max(1.0, _CERTAIN * model.class_noise * math.sqrt(len(model.class_counts))):
        warnings.append(
            f"HARDLY ANY ROW HAS A LABEL: the rows of all classes together do not stand out of the noise. If the stations hold rows enough for this "
            f"epsilon, label {model.label!r} is written in other ways than its categories {_listed(model.schema, model.label)}; correct the domain"
        )
    for name, feature in model.features.items():
        share, certain = _share(model, feature)
        if share >= NEARLY_ALL and certain:
            warnings.append(_not_understood(model.schema, name, share))
        elif share >= _HALF and certain and model.schema[name].is_categorical:
            warnings.append(_half_understood(model.schema, name, share))
    return warnings


def without_values(schema: Schema, name: str, present: float, rows: float, noise: float) -> list[str]:
    """Return a warning if nearly no row, of categories half, has a value of a feature, for models that count no missing values.

    Parameters
    ----------
    schema : Schema
        Of the columns.
    name : str
        The feature.
    present, rows : float
        How many rows have a value that is understood, and how many there are: sums that may be noisy.
    noise : float
        Deviation of the difference of the two; 0 if they are exact.
    """
    missing = rows - present
    if rows <= _CERTAIN * noise or missing <= _CERTAIN * noise:
        return []
    share = min(missing / rows, 1.0)
    if share > NEARLY_ALL:
        return [_not_understood(schema, name, share)]
    return [_half_understood(schema, name, share)] if share >= _HALF and schema[name].is_categorical else []


def _not_understood(schema: Schema, name: str, share: float) -> str:
    expected = (
        f"the categories {_listed(schema, name)}"
        if schema[name].is_categorical
        else "numbers, and dates are none, nor is what has a unit or a percent sign"
    )
    return (
        f"COLUMN {name!r} WAS NOT UNDERSTOOD: {share:.0%} of the rows have no value in its domain, so the model learns nothing from it. "
        f"The domain expects {expected}; write it as the tables do, or leave the column out"
    )


def _half_understood(schema: Schema, name: str, share: float) -> str:
    return (
        f"column {name!r}: {share:.0%} of the rows have none of the categories {_listed(schema, name)} and count as missing; if the tables are not as "
        "empty, write the categories as they do: capitals count"
    )


def _share(model: NaiveBayes, feature: Feature) -> tuple[float, bool]:
    """Return (share without a value, whether it stands out of the noise)."""
    if isinstance(feature, (CategoricalTables, Histogram)):
        missing, noise = float(feature.missing.sum()), feature.noise
        total, cells = missing + float(feature.counts.sum()), feature.counts.size + feature.missing.size
    elif isinstance(feature, Gaussian):
        total, noise, cells = float(model.class_counts.sum()), max(feature.noise, model.class_noise), feature.count.size
        missing = total - float(feature.count.sum())
    else:
        return 0.0, False
    certain = missing > _CERTAIN * noise * math.sqrt(len(model.class_counts)) and total > _CERTAIN * noise * math.sqrt(
        cells
    )
    return float(np.clip(missing / total, 0.0, 1.0)) if total > 0 else 0.0, bool(certain and missing > 0)


def _listed(schema: Schema, name: str) -> str:
    categories = schema[name].categories or ()
    shown = ", ".join(repr(category) for category in categories[:_SHOWN])
    return shown + (", ..." if len(categories) > _SHOWN else "")
