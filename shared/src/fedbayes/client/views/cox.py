"""A Cox model in a report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import html
from ..figures import forest, survival_curves
from ..figures.style import to_svg
from ..formats import is_plain, number, title
from ..survival import baselines_of

COLUMNS = (
    ("feature", "Feature"),
    ("coefficient", "Coefficient"),
    ("hazard_ratio", "Hazard ratio"),
    ("standard_error", "Standard error"),
    ("z", "z"),
    ("p", "p"),
    ("lower_95", "Lower 95 %"),
    ("upper_95", "Upper 95 %"),
)


def pieces(model: Mapping[str, Any]) -> list[str]:
    """Return the summary a survival analyst expects, forest plot and survival curves."""
    entries = model["coefficients"]
    rows = [[_cell(name, entry.get(name)) for name, _ in COLUMNS] for entry in entries]
    ratios = ", ".join(f"{entry['feature']} {float(entry['hazard_ratio']):.2f}" for entry in entries)
    headers = [name for _, name in COLUMNS]
    return [
        html.table("Coefficients; interval of the coefficient", headers, rows, numeric=tuple(range(1, len(COLUMNS)))),
        html.picture(
            to_svg(forest(model)), f"Forest plot of hazard ratios: {ratios}.", "Hazard ratios with 95 % intervals."
        ),
        *_survival(model),
        *_facts(model),
    ]


def _survival(model: Mapping[str, Any]) -> list[str]:
    baselines = baselines_of(model)
    if not baselines:
        return []
    curves = _profiles(model["coefficients"]) if "" in baselines else {}
    who = "a record at the mean" if "" in baselines else "a record at the mean of every feature, by stratum"
    told = f"Survival over time of {who}" + (
        ", and with each of the strongest features raised by one unit." if curves else "."
    )
    return [html.picture(to_svg(survival_curves(model, {"baseline": 0.0, **curves})), told)]


def _facts(model: Mapping[str, Any]) -> list[str]:
    test = model.get("likelihood_ratio_test")
    tests = []
    if isinstance(test, Mapping):
        values = [number(value) for value in test.values()]
        tests = [html.table("Likelihood-ratio test against no effect", [title(name) for name in test], [values])]
    plain = {name: value for name, value in model.items() if is_plain(value) and value is not None}
    facts = [(title(name), number(value, 6)) for name, value in plain.items() if name not in ("format", "kind")]
    return [*tests, html.table("", ("Name", "Value"), facts)] if facts else tests


def _cell(name: str, value: Any) -> str:
    if name == "p" and isinstance(value, float) and value < 1e-4:
        return "< 0.0001"
    return number(value)


def _profiles(entries: list[Mapping[str, Any]], most: int = 3) -> dict[str, float]:
    """Return the coefficients of the strongest features, by z where it is told."""
    ranked = sorted(entries, key=lambda entry: -abs(float(entry.get("z") or entry["coefficient"])))
    return {f"{entry['feature']} + 1": float(entry["coefficient"]) for entry in ranked[:most]}
