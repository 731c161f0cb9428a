"""Cox models that are used on this machine: fits that an answer can be expected of, and what predictions of pooled fits say of the same records."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from . import cox, cox_fit
from .cases import Case, close, same
from .cox_curve import compare_curve, steps_of
from .cox_names import ALGORITHM, ENTRY, STRATA, WEIGHTS
from .cox_private_columns import with_noise
from .cox_rows import crossed, is_of, rows_cases
from .cox_rows import design as design_of_rows
from .records import is_numeric
from .rows import encoded
from .tables import joined

Records = dict[str, list[str | None]]


@st.composite
def fits(draw: Any) -> Case:
    """A fit to linked records of which two stations have informative features; now and then to whole records, or with noise."""
    kind = draw(st.sampled_from(["columns", "columns", "columns", "rows", "noise"]))
    if kind == "rows":
        return _of_rows(draw)
    people, place, features = draw(cox_fit.survival(most=4, placed=True, apart=True))
    kept = _informative(people, features)
    arguments = draw(cox_fit.fit_arguments(people, place, kept, whole=True))
    for entry in place["organizations"]:
        entry["policy"] = {**entry["policy"], "minimum_count": draw(st.sampled_from([0, 0, 0, 3]))}
    if kind == "noise":
        arguments = with_noise(draw, people, {**arguments, "features": kept}, kept)
    else:
        for name, column in (("weights", WEIGHTS), ("entry", ENTRY)):
            arguments |= {name: column} if draw(st.integers(0, 5)) == 5 else {}
    steps = [["fit", arguments]]
    return Case(ALGORITHM, "fit", place["organizations"], place["central"], steps)


def _of_rows(draw: Any) -> Case:
    """Return a fit to whole records of nodes that demand little; gaps are left out."""
    case: Case = draw(rows_cases())
    for entry in case.organizations:
        entry["policy"] = {**entry["policy"], "minimum_count": 0, "minimum_organizations": 1}
    fit = {name: value for name, value in case.arguments.items() if name != "organizations"}
    fit |= {} if fit.get("epsilon") else {"missing": "complete"}
    return Case(ALGORITHM, "fit", case.organizations, case.central, [["fit", fit]])


def _informative(people: dict[str, Any], features: list[str]) -> list[str]:
    """Return the features without those that are constant, as good as constant, or another one again; at least the first."""
    kept: list[str] = []
    for name in features:
        cells = people["columns"][name]
        flat = len(set(cells)) < 2 or (is_numeric(cells) and cox_fit.hardly_varies(cells))
        if not flat and all(cells != people["columns"][other] for other in kept):
            kept.append(name)
    return kept or features[:1]


def use_cox(case: Case, result: Any, meant: Records, frame: Any) -> None:
    """Hold what a model says here against what a pooled fit says."""
    from .here import predicted

    model, arguments = result["model"], case.arguments
    found = predicted(result, frame)
    rows = len(next(iter(meant.values()), []))
    same("rows", len(found), rows)
    public = arguments.get("split") == "horizontal" or arguments.get("epsilon") is not None
    there, x, columns = _by_domain(arguments, model, meant) if public else _by_records(case, model, meant)
    gaps = [row for row in range(rows) if row not in there]
    same("gaps", bool(found["linear_predictor"].iloc[gaps].notna().any()), False)
    if rows < 2 or not there:
        return
    table = {row["feature"]: row["coefficient"] for row in model["coefficients"]}
    same("columns", sorted(columns), sorted(table))
    weights = np.array([table[name] for name in columns])
    wanted, scale = x @ weights - model["offset"], 1.0 + float(np.abs(x * weights).max(initial=0.0))
    close("linear predictors", found["linear_predictor"].iloc[there].tolist(), wanted.tolist(), 1e-9, 1e-9 * scale)
    _survival(case, result, frame, found, there)
    if public:
        return
    _pooled(case, result, found.iloc[there], x)
    if not arguments.get("strata") and model.get("baseline"):
        _lifelines(result, x, columns, found.iloc[there])


def _by_records(case: Case, model: Any, meant: Records) -> tuple[list[int], Any, list[str]]:
    """Return the places of complete records, their design, and its columns; of linked records."""
    used = cox_fit.cox_formula.used(case.arguments)
    whole = [dict(zip(meant, row, strict=True)) for row in zip(*meant.values(), strict=True)]
    there = [row for row, record in enumerate(whole) if all(record[name] is not None for name in used)]
    if len(whole) < 2 or not there:
        return there, np.zeros((0, 0)), []
    x, columns = cox_fit.design(case, case.arguments, [whole[row] for row in there])
    return there, x, columns


def _by_domain(arguments: dict[str, Any], model: Any, meant: Records) -> tuple[list[int], Any, list[str]]:
    """As `_by_records`, of a model whose domain says what each cell is."""
    domain = model["domain"]
    features = [name for name in domain if name != STRATA]
    data = encoded({"all": meant}, domain, features)
    absent = [np.isnan(data[name]) if "bounds" in domain[name] else data[name] < 0 for name in features]
    there = np.flatnonzero(~np.any(absent, axis=0))
    x, names, _ = design_of_rows({name: data[name][there] for name in features}, domain, model["references"])
    if arguments.get("formula"):
        x, names = crossed(x, names, [[one for one in names if is_of(one, name, domain)] for name in features[:2]])
    return there.tolist(), x, names


def _survival(case: Case, result: Any, frame: Any, found: Any, there: list[int]) -> None:
    """Hold survival at some times against the model's curve."""
    from .here import predicted

    curves = {name: list(zip(times, hazards, strict=True)) for name, times, hazards in steps_of(result["model"])}
    last = max([point[0] for points in curves.values() for point in points], default=None)
    if last is None:
        return
    times = [0.0, last / 3, last]
    shown = predicted(result, frame, times=times)
    strata = frame[case.arguments["strata"]].tolist() if case.arguments.get("strata") else ["all"] * len(frame)
    for row in there:
        hazards = [max([h for t, h in curves[strata[row]] if t <= moment], default=0.0) for moment in times]
        wanted = [float(np.exp(-hazard * found["partial_hazard"].iloc[row])) for hazard in hazards]
        close("survival", shown.iloc[row, 2:].tolist(), wanted, 1e-9, 1e-12)


def _pooled(case: Case, result: Any, found: Any, x: Any) -> None:
    """Hold predictors, relative risks, concordance and baseline against those of a pooled fit, which knows nothing of the model."""
    from lifelines.utils import concordance_index

    arguments = case.arguments
    whole = list(joined(case.stations(), case.id_column).values())
    records = cox_fit.counted(arguments, whole)
    everything, _ = cox_fit.design(case, arguments, records)
    time, event, strata = cox_fit.arrays(arguments, records)
    ties, penalty = arguments.get("ties", "breslow"), arguments.get("penalty", 0.0)
    weight, entry = cox_fit.cases(arguments, records)
    fit = cox.fit(time, event, strata, everything, ties, penalty, weight, entry)
    centre = everything - everything.mean(axis=0)
    predictor = centre @ fit.coefficients
    spread = float(np.abs(predictor).max())
    if not fit.converged or spread > 5.0 or np.abs(centre / everything.std(axis=0)).max() > 8:
        return
    compare_curve(result["model"], time, event, strata, np.exp(predictor), weight, entry, len(case.stations()))
    if len(found) < len(records):
        return
    shown = found["linear_predictor"].to_numpy(float)
    wanted = (x - everything.mean(axis=0)) @ fit.coefficients
    close("predictors of a pooled fit", shown.tolist(), wanted.tolist(), 0.0, 1e-3 * (1.0 + spread))
    close(
        "relative risks of a pooled fit",
        found["partial_hazard"].tolist(),
        np.exp(wanted).tolist(),
        2e-3 * (1.0 + spread),
    )
    if arguments.get("strata") or not event.any():
        return
    near = np.abs(wanted[:, None] - wanted[None, :]) < 2e-3 * (1.0 + spread)
    mine = cox.concordance(time, event, wanted, strata)
    if mine is not None:
        pairs = float(np.mean(near & ~np.eye(len(wanted), dtype=bool)))
        doubt = pairs * len(wanted) ** 2 / max(_comparable(time, event), 1)
        close("concordance of predictions", float(concordance_index(time, -shown, event)), mine, 0.0, 1e-9 + doubt)


def _comparable(time: Any, event: Any) -> int:
    """Return how many ordered pairs of records can be compared."""
    before = time[:, None] < time[None, :]
    tied = (time[:, None] == time[None, :]) & (event[None, :] == 0)
    return int(((before | tied) & (event[:, None] == 1)).sum())


def _lifelines(result: Any, x: Any, columns: list[str], found: Any) -> None:
    fitter = result.to_lifelines()
    design = pd.DataFrame(x, columns=columns)
    close(
        "lifelines' predictors",
        fitter.predict_log_partial_hazard(design).tolist(),
        found["linear_predictor"].tolist(),
        1e-6,
        1e-6,
    )
    summary, own = fitter.summary, result.to_frame()
    for name in ("coef", "se(coef)", "z", "p", "coef lower 95%", "coef upper 95%"):
        close(f"lifelines' {name}", summary[name].tolist(), own[name].tolist(), 1e-5, 1e-7)
