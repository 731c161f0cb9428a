"""Reading a Cox model of a result: summary frame, linear predictor, baseline hazard, survival curves."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...bayes.values.encoding import canonical_text, categories_meant
from ...typing import Floats

if TYPE_CHECKING:
    import pandas as pd

LIFELINES_COLUMNS = (
    "coef",
    "exp(coef)",
    "se(coef)",
    "coef lower 95%",
    "coef upper 95%",
    "exp(coef) lower 95%",
    "exp(coef) upper 95%",
    "cmp to",
    "z",
    "p",
    "-log2(p)",
)


def summary_frame(result: Mapping[str, Any]) -> pd.DataFrame:
    """Return the coefficients as `lifelines.CoxPHFitter.summary` has them.

    Parameters
    ----------
    result : dict
        A result of ``verticox.fit``, or its ``model``.

    Returns
    -------
    pandas.DataFrame
        Index ``covariate``; columns ``coef``, ``exp(coef)``, ``se(coef)``, ``coef lower 95%``, ``coef upper 95%``, ``exp(coef) lower 95%``,
        ``exp(coef) upper 95%``, ``cmp to``, ``z``, ``p``, ``-log2(p)``.

    Raises
    ------
    ValueError
        If the result holds no Cox model with standard errors.
    """
    import pandas as pd

    model = result["model"] if isinstance(result.get("model"), dict) else result
    needed = ("feature", "coefficient", "standard_error", "lower_95", "upper_95", "z", "p")
    entries = model.get("coefficients")
    if not isinstance(entries, list) or any(entry.get(name) is None for entry in entries for name in needed):
        raise ValueError("the result holds no Cox model with standard errors; give a result of verticox.fit")
    table = pd.DataFrame(entries)
    columns = {"coef": "coefficient", "se(coef)": "standard_error", "z": "z", "p": "p"}
    frame = pd.DataFrame({name: table[field].astype(float) for name, field in columns.items()})
    frame["coef lower 95%"], frame["coef upper 95%"] = table["lower_95"].astype(float), table["upper_95"].astype(float)
    with np.errstate(over="ignore"):  # infinite, as lifelines has it, for a feature in tiny units
        for name in ("coef", "coef lower 95%", "coef upper 95%"):
            frame[name.replace("coef", "exp(coef)")] = np.exp(frame[name])
    frame["cmp to"] = 0.0
    frame["-log2(p)"] = -np.log2(np.maximum(frame["p"], np.finfo(float).tiny))
    frame.index = pd.Index(table["feature"].astype(str), name="covariate")
    summary: pd.DataFrame = frame.reindex(columns=list(LIFELINES_COLUMNS))
    return summary


@dataclass(frozen=True)
class Baseline:
    """Cumulative baseline hazard as a step function: `times` ascending and `cumulative` of the same shape (k,)."""

    times: Floats
    cumulative: Floats

    def at(self, moments: Floats) -> Floats:
        """Return the cumulative hazard at times, shape of `moments`; 0 before the first event."""
        padded = np.concatenate([[0.0], self.cumulative])
        return np.asarray(padded[np.searchsorted(self.times, moments, side="right")])


def baselines_of(model: Mapping[str, Any]) -> dict[str, Baseline]:
    """Return stratum -> baseline of a Cox model, or of a result of ``verticox.baseline``; one without strata has the name ""; empty if there is none."""
    stored = model.get("baseline")
    if not isinstance(stored, Mapping):
        return {}
    parts = stored.get("strata")
    if isinstance(parts, list) and all(isinstance(part, str) for part in parts):
        entries = _by_stratum(stored, parts)
    else:
        entries = {str(part.get("stratum")): part for part in parts} if isinstance(parts, list) else {"": stored}
    baselines = {name: _read(part) for name, part in entries.items()}
    return {name: baseline for name, baseline in baselines.items() if baseline is not None}


def _by_stratum(stored: Mapping[str, Any], strata: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    """Return the rows of a baseline that names the stratum of every row, by stratum; "" for the only one."""
    names = list(dict.fromkeys(strata))
    fields = [name for name in ("time", "cumulative_hazard") if isinstance(stored.get(name), list)]
    return {
        "" if len(names) == 1 else name: {
            field: [value for value, at in zip(stored[field], strata, strict=True) if at == name] for field in fields
        }
        for name in names
    }


def _read(part: Mapping[str, Any]) -> Baseline | None:
    times = next((part[key] for key in ("time", "times") if isinstance(part.get(key), list)), None)
    cumulative = part.get("cumulative_hazard")
    if not times or not isinstance(cumulative, list) or len(times) != len(cumulative):
        return None
    return Baseline(np.asarray(times, dtype=np.float64), np.asarray(cumulative, dtype=np.float64))


def indicators(model: Mapping[str, Any], columns: Collection[str]) -> dict[str, tuple[str, str]]:
    """Return the design columns that are 1 where a text column has a category: name -> (column, category).

    Parameters
    ----------
    model : dict
        A Cox model.
    columns : collection of str
        Of a table; a design column that it has by its own name is no indicator.
    """
    references = model.get("references")
    sources = [*references] if isinstance(references, Mapping) and references else list(columns)
    source_of = {}
    for name in (str(entry["feature"]) for entry in model["coefficients"]):
        if name in columns or "=" not in name:
            continue
        # A column's own name may hold "=".
        source = max((own for own in sources if name.startswith(f"{own}=")), key=len, default=name.partition("=")[0])
        source_of[name] = (source, name[len(source) + 1 :])
    return source_of


def as_categories(values: Any, names: Iterable[str]) -> pd.Series[Any]:
    """Return a column as the categories that a model knows: as they are written, or else the one that means the same (``1.0`` for ``1``, true for 1).

    Other cells are their text, and gaps stay gaps.
    """
    categories = list(names)
    same = categories_meant(categories)
    meant = {}
    for value in values.dropna().unique():
        text = str(value).strip()
        meant[value] = text if text in categories else same.get(canonical_text(value) or "", text)
    translated: pd.Series[Any] = values.astype(object).map(meant)
    return translated


def beyond_baseline(model: Any, moments: Sequence[float]) -> tuple[list[float], float]:
    """Return those times that lie beyond the end of every baseline, where the model knows no hazard, and that end."""
    baselines = baselines_of(model) if isinstance(model, Mapping) else {}
    last = max((float(baseline.times[-1]) for baseline in baselines.values()), default=np.inf)
    return [moment for moment in moments if moment > last], last


def linear_predictor(model: Mapping[str, Any], frame: pd.DataFrame) -> Floats:
    """Return the linear predictor less that of a record at the mean (the model's `offset`), shape (n,).

    Raises
    ------
    ValueError, TypeError
        If a column is not numeric.
    """
    total = np.full(len(frame), -float(model.get("offset") or 0.0))
    for entry in model["coefficients"]:
        total += float(entry["coefficient"]) * np.asarray(frame[str(entry["feature"])], dtype=np.float64)
    return total
