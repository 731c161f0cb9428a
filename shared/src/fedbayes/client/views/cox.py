"""A Cox model in a report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import html
from ..figures import forest, survival_curves
from ..figures.style import to_svg
from ..formats import is_plain, number, p_value
from ..models.survival import baselines_of
from ..text.cox import aic_of, coefficient_rows, fact_of, hypothesis_tests, ratio, references_of

HEADERS = ("Feature", "Coefficient", "Standard error", "Hazard ratio", "95 % interval", "z", "p")
NOT_FACTS = ("format", "kind", "offset")
SMALLEST_SHIFT, LARGEST_SHIFT = 0.15, 5.0  # of a linear predictor: curves that lie apart, and do not leave the figure


def pieces(model: Mapping[str, Any]) -> list[str]:
    """Return the summary a survival analyst expects, forest plot, survival curves and tests."""
    entries = model["coefficients"]
    ratios = ", ".join(f"{entry['feature']} {ratio(entry.get('hazard_ratio'))}" for entry in entries)
    rows, compared = coefficient_rows(entries), references_of(model)
    caption = "Coefficients; the interval is that of the hazard ratio" + f"; compared with {compared}" * bool(compared)
    return [
        html.table(caption, HEADERS, rows, numeric=(1, 2, 3, 4, 5, 6)),
        html.picture(
            to_svg(forest(model)), f"Forest plot of hazard ratios: {ratios}.", "Hazard ratios with 95 % intervals."
        ),
        *_survival(model),
        *_tests(model),
        *_facts(model),
    ]


def _survival(model: Mapping[str, Any]) -> list[str]:
    baselines = baselines_of(model)
    if not baselines:
        return []
    curves = _profiles(model["coefficients"]) if "" in baselines else {}
    who = "a record at the mean" if "" in baselines else "a record at the mean of every feature, by stratum"
    description = f"Survival over time of {who}" + (
        ", and with each of the strongest features changed as the legend says." if curves else "."
    )
    return [html.picture(to_svg(survival_curves(model, {"at the mean": 0.0, **curves})), description)]


def _tests(model: Mapping[str, Any]) -> list[str]:
    tests = hypothesis_tests({name: value for name, value in model.items() if name != "proportional_hazards"})
    pieces = [html.table("Tests", ("Test", "Result"), tests)] if tests else []
    check = model.get("proportional_hazards")
    if not isinstance(check, Mapping):
        return pieces
    if not check.get("features"):
        return [*pieces, html.paragraph(f"Proportional hazards were not checked: {check.get('reason')}.")]
    entries = [*check["features"], {"feature": "all together", **check["global"]}]
    rows = [
        [entry["feature"], f"{float(entry['statistic']):.2f}", number(entry["degrees_of_freedom"]), p_value(entry["p"])]
        for entry in entries
    ]
    caption = f"Does the effect change with time ({check.get('time_transform')})? A small p speaks against proportional hazards"
    return [
        *pieces,
        html.table(caption, ("Feature", "Chi-squared", "Degrees of freedom", "p"), rows, numeric=(1, 2, 3)),
    ]


def _facts(model: Mapping[str, Any]) -> list[str]:
    plain = [name for name, value in model.items() if is_plain(value) and value is not None]
    facts = [fact_of(model, name) for name in plain if name not in NOT_FACTS]
    aic = aic_of(model)
    facts += [("Partial AIC", f"{aic:.2f}")] if aic is not None else []
    return [html.table("", ("Name", "Value"), facts)] if facts else []


def _profiles(entries: list[Mapping[str, Any]], most: int = 3) -> dict[str, float]:
    """Return shifts of the linear predictor by the strongest features, by z where it is told; each raised by a power of ten that shows, a category as it is."""
    ranked = sorted(entries, key=lambda entry: -abs(float(entry.get("z") or entry["coefficient"])))
    curves: dict[str, float] = {}
    for entry in ranked[:most]:
        coefficient, step = float(entry["coefficient"]), 1.0
        if "=" in str(entry["feature"]):  # a category: there or not
            curves[str(entry["feature"])] = coefficient
            continue
        while 0.0 < abs(coefficient) * step < SMALLEST_SHIFT and step < 1e9:
            step *= 10.0
        while abs(coefficient) * step > LARGEST_SHIFT and step > 1e-9:
            step /= 10.0
        curves[f"{entry['feature']} + {step:g}"] = coefficient * step
    return curves
