"""A Cox model of a result as a fitted `lifelines.CoxPHFitter`, which is optional: it is imported only when asked for."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

import numpy as np

from ..kinds import ConversionError
from .survival import baselines_of

INTERCEPT = "Intercept"  # a column of that name lifelines drops without a word
ROWS = 40  # of made-up records, of which nothing stays in the model


def convert(model: Mapping[str, Any], fitted: str) -> Any:
    """Return a `CoxPHFitter` with the coefficients, their covariance, the baseline and the likelihood of a model.

    Parameters
    ----------
    model : dict
        A Cox model with a baseline and without strata. Features of text are columns ``column=category`` of zeros and ones, as the model has them.
    fitted : str
        When the fit was, as the summary prints it.

    Returns
    -------
    lifelines.CoxPHFitter
        ``summary``, ``print_summary``, ``predict_partial_hazard``, ``predict_cumulative_hazard``, ``predict_survival_function``, ``plot`` and ``score`` (of a
        frame with the outcome) work as after a fit. What needs the records of the fit (residuals, ``check_assumptions``) does not: nobody holds them;
        ``concordance_index_`` is the model's, and no number where it tells none.

    Raises
    ------
    ImportError
        Without lifelines.
    ConversionError
        If the model has strata, no standard errors or no baseline, or a feature with a name that lifelines keeps for itself.
    """
    baseline = baselines_of(model).get("")
    names = [str(entry["feature"]) for entry in model["coefficients"]]
    errors = [entry.get("standard_error") for entry in model["coefficients"]]
    if baseline is None or any(error is None for error in errors) or not names:
        raise ConversionError(
            "to_lifelines() needs a Cox model without strata, with standard errors and a baseline; it has to_frame() and predict()"
        )
    if INTERCEPT in names:
        raise ConversionError(
            f"to_lifelines(): lifelines leaves a column named '{INTERCEPT}' out; fit with another name, or take predict()"
        )
    fitter, inner = _skeleton(names)
    import pandas as pd

    beta = np.array([float(entry["coefficient"]) for entry in model["coefficients"]])
    index = pd.Index(names, name="covariate")
    offset = float(model.get("offset") or 0.0)
    # lifelines centres by means, of which the model tells the sum over features of coefficient times mean only: any such means will do.
    means = beta * (offset / float(beta @ beta)) if beta.any() else np.zeros(len(names))
    covariance = model.get("covariance")
    matrix = np.asarray(covariance if covariance is not None else np.diag(np.square(errors)), dtype=np.float64)
    inner.params_ = pd.Series(beta, index=index, name="coef")
    inner.standard_errors_ = pd.Series(np.asarray(errors, dtype=np.float64), index=index, name="se")
    inner.variance_matrix_ = pd.DataFrame(matrix, index=index, columns=index)
    inner.confidence_intervals_ = inner._compute_confidence_intervals()
    inner._norm_mean = pd.Series(means, index=names)
    _set_baseline(inner, baseline)
    _set_likelihood(inner, model)
    _set_records(fitter, inner, model)
    fitter._time_fit_was_called = inner._time_fit_was_called = fitted
    return fitter


def _skeleton(names: list[str]) -> tuple[Any, Any]:
    """Return a fitter of made-up records with these columns, and what it hands its work to."""
    import pandas as pd

    try:
        from lifelines import CoxPHFitter
    except ImportError:
        raise ImportError("to_lifelines() needs the package lifelines: pip install lifelines") from None
    rows = max(ROWS, 3 * len(names))
    waves = np.cos(np.outer(np.arange(rows), np.arange(1, len(names) + 1)) * np.sqrt(2.0))
    time, event = (next(name for name in _longer(word) if name not in names) for word in ("__time__", "__event__"))
    frame = pd.DataFrame(waves, columns=names).assign(**{time: np.arange(1.0, rows + 1), event: 1})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitter = CoxPHFitter(penalizer=1.0).fit(frame, time, event)
    fitter.penalizer = fitter._model.penalizer = 0.0
    return fitter, fitter._model


def _longer(word: str) -> Iterator[str]:
    """Return a word, and the same with ever more underscores."""
    return (word + "_" * more for more in count())


def _set_baseline(inner: Any, baseline: Any) -> None:
    import pandas as pd

    times = np.concatenate([[0.0], baseline.times])
    cumulative = np.concatenate([[0.0], baseline.cumulative])
    column = {"baseline cumulative hazard": cumulative}
    inner.baseline_cumulative_hazard_ = pd.DataFrame(column, index=times)
    inner.baseline_hazard_ = pd.DataFrame({"baseline hazard": np.diff(cumulative, prepend=0.0)}, index=times)
    inner.baseline_survival_ = pd.DataFrame({"baseline survival": np.exp(-cumulative)}, index=times)
    inner.timeline = times


def _set_likelihood(inner: Any, model: Mapping[str, Any]) -> None:
    for name, field in (("log_likelihood_", "log_likelihood"), ("_ll_null_", "null_log_likelihood")):
        if model.get(field) is not None:
            setattr(inner, name, float(model[field]))


def _set_records(fitter: Any, inner: Any, model: Mapping[str, Any]) -> None:
    """Take the made-up records away, and tell of the fit's what its summary prints: how many, of which columns, and the concordance."""
    for name in ("durations", "_predicted_partial_hazards_"):
        if hasattr(inner, name):
            delattr(inner, name)
    records, events = (np.nan if model.get(name) is None else float(model[name]) for name in ("records", "events"))
    inner.event_observed, inner.weights = np.array([1, 0]), np.array([events, records - events])
    concordance = model.get("concordance")
    inner._concordance_index_ = np.nan if concordance is None else float(concordance)
    for role, column in (("time", "duration_col"), ("event", "event_col")):
        if isinstance(model.get(role), str):
            setattr(fitter, column, model[role])
            setattr(inner, column, model[role])
