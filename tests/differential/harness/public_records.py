"""Networks that are validated on records which the researcher gives: drawn, and the scores that the published tables give them."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from . import networks
from .cases import Difference, close, same
from .records import place_of


@st.composite
def drawn(draw: Any, people: dict[str, Any], label: str) -> dict[str, Any]:
    """Draw folds of synthetic records, or `public_records` of some columns, the label among them, some values missing."""
    kind = draw(st.sampled_from(["public", "public", "scv", "svdg"]))
    if kind != "public":
        return {"validation": kind, "folds": draw(st.sampled_from([2, 5])), "synthetic_rows": 200, "label": label}
    names = draw(st.lists(st.sampled_from(list(people["columns"])), unique=True))
    rows = draw(st.lists(st.integers(0, people["people"] - 1), min_size=1, max_size=30))
    gaps, random = draw(st.sampled_from([0.0, 0.2])), np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    found: dict[str, list[Any]] = {}
    for name in dict.fromkeys([*names, label]):
        cells = [people["columns"][name][row] for row in rows]
        cells = [None if cell is None or random.random() < gaps else cell for cell in cells]
        number = people["kinds"][name] == "number"
        found[name] = [float(cell) if number and cell is not None else cell for cell in cells]
    return {"validation": "public", "public_records": found, "label": label}


def compare(arguments: dict[str, Any], result: Any, records: list[dict[str, Any]]) -> None:
    """Hold accuracy, loss, confusion and area under the curve against those of the published network, summed over what is missing; `records`: those fitted."""
    shown, model = result["diagnostics"]["validation"], result["model"]
    if arguments.get("validation", "none") == "none":
        same("validation", shown, None)
        return
    if arguments["validation"] != "public":
        _compare_synthetic(arguments, shown, any(record[arguments["label"]] is None for record in records))
        return
    given, label = arguments["public_records"], arguments["label"]
    rows = len(given[label])
    codes = {
        name: np.array([_code(value, node) for value in given.get(name, [None] * rows)])
        for name, node in model["nodes"].items()
    }
    labelled = codes[label] >= 0
    truth = codes[label][labelled]
    same("validated rows", shown["rows"], len(truth))
    if not networks.is_small(model):
        return
    beliefs = networks.belief(model, codes, label)[labelled]
    if not len(truth) or not np.isfinite(beliefs).all():
        return
    ordered = np.sort(beliefs, axis=1)
    tied = int((ordered[:, -1] - ordered[:, -2] < 1e-9).sum()) if beliefs.shape[1] > 1 else 0
    own = beliefs[np.arange(len(truth)), truth]
    close(
        "accuracy", shown["accuracy"], float((beliefs.argmax(axis=1) == truth).mean()), 1e-9, tied / len(truth) + 1e-9
    )
    if (own > 1e-9).all():
        close("log loss", shown["log_loss"], float(-np.log(own).mean()), 1e-6)
    sizes = np.bincount(truth, minlength=beliefs.shape[1])
    same("labels of the confusion", [sum(line) for line in shown["confusion"]], sizes.tolist())
    known = [place for place, size in enumerate(sizes) if 0 < size < len(truth)]
    if known:
        areas = [roc_auc_score(truth == place, np.round(beliefs[:, place], 10)) for place in known]
        close("auc", shown["auc"], float(np.average(areas, weights=sizes[known])), 1e-6)


def _compare_synthetic(arguments: dict[str, Any], shown: Any, gaps: bool) -> None:
    """Hold what is known of scores on synthetic records: their number, and the ranges of scores. Where labels have gaps some are drawn without one."""
    folds, rows = arguments["folds"], arguments["synthetic_rows"]
    same("validation", shown["method"], arguments["validation"])
    same("areas by fold", len(shown["folds"]), folds)
    wanted = rows if arguments["validation"] == "scv" else rows * folds
    if not gaps or shown["rows"] > wanted:
        same("synthetic rows", shown["rows"], wanted)
    same("rows of the confusion", float(np.sum(shown["confusion"])), shown["rows"])
    for name in ("auc", "accuracy"):
        if shown[name] is not None and not 0.0 <= shown[name] <= 1.0:
            raise Difference(f"{name}: {shown[name]}")


def _code(value: Any, node: dict[str, Any]) -> int:
    if value is None:
        return -1
    labels = [state for state in node["states"] if state != "?"]
    place = place_of(repr(value) if isinstance(value, float) else value, labels, node.get("cuts"))
    if place is None:
        raise Difference(f"a public value has no state among {labels!r:.200}, and was taken")
    return place
