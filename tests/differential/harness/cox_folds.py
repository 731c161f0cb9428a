"""Pooled answers to cross-validations of Cox models on linked records."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import cox
from .cases import POSITION, Case, close, same
from .cox_fit import arrays, cases, design
from .tables import joined


def check_folds(case: Case, metrics: Any) -> None:
    """Hold the folds of aligned files against pooled fits to the other records; there the harness knows the folds (`inprocess.in_turn`)."""
    fit, count = case.steps[0][1], case.arguments["folds"]
    if case.id_column != POSITION:
        return
    records = list(joined(case.stations(), case.id_column).values())
    x, _ = design(case, fit, records)
    x = x - x.mean(axis=0)  # predictors of several fits are compared at the mean of all records
    time, event, strata = arrays(fit, records)
    weight, entry = cases(fit, records)
    fold = np.arange(len(records)) % count
    same("records of the folds", [part["records"] for part in metrics["folds"]], np.bincount(fold).tolist())
    predictor = np.zeros(len(records))
    for number, part in enumerate(metrics["folds"]):
        kept, out = fold != number, fold == number
        own = (part[kept] for part in (weight, entry))
        options = (fit.get("ties", "breslow"), fit.get("penalty", 0.0))
        found = cox.fit(time[kept], event[kept], strata[kept], x[kept], *options, *own)
        if not found.converged:
            return
        predictor[out] = (x @ found.coefficients)[out]
        if part["concordance"] is not None:
            value = cox.concordance(time[out], event[out], predictor[out], strata[out])
            step = cox.step_of(part["records"])
            close(f"concordance of fold {number + 1}", part["concordance"], value, 0.0, 1e-2 + step / 2.0)
        _slope(f"slope of fold {number + 1}", part["calibration_slope"], time, event, strata, predictor, out)
    _slope("pooled slope", metrics["pooled"]["calibration_slope"], time, event, strata, predictor, fold >= 0)


def _slope(what: str, shown: Any, time: Any, event: Any, strata: Any, predictor: Any, rows: Any) -> None:
    """Compare the coefficient of the linear predictor on held-out records, each once and from the start."""
    own = cox.fit(time[rows], event[rows], strata[rows], predictor[rows, None])
    if shown is not None and own.converged and abs(own.coefficients[0]) < 20:
        close(what, shown, float(own.coefficients[0]), 1e-2, 1e-2 + cox.step_of(np.sum(rows)) / 2.0)
