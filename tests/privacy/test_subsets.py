"""Under an epsilon a subset that the caller aims at one record decides nothing: not whether a node has enough rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess

from fedbayes.federation.errors import PolicyError, ThresholdError

STATES = {"dx": ["hiv", "flu"], "sex": ["m", "f"]}
COLUMNS: dict[str, Any] = {
    "id": {"type": "identifier"},
    "age": {"type": "number", "bounds": [0, 100]},
    "time": {"type": "number", "bounds": [0, 20]},
    "event": {"type": "number", "bounds": [0, 1]},
    **{name: {"type": "category", "categories": states} for name, states in STATES.items()},
}
NINE = " or ".join(f"id == 'a{row}'" for row in range(9))
AIMED = f"{NINE} or (id == 'a20' and dx == 'hiv')"
"""Ten rows of one station, as many as a node demands, if the record has the disease, else nine; none of the other stations."""
LABELLED = {"label": "sex", "features": ["age"]}
ASKED = [
    ("dp_naive_bayes", "describe", {"columns": ["age", "sex"]}),
    ("dp_naive_bayes", "fit", LABELLED),
    ("dp_naive_bayes", "fit", {**LABELLED, "statistics": "gaussian", "unit": "identifier", "id_column": "id"}),
    ("smooth_naive_bayes", "fit", LABELLED),
    ("secure_naive_bayes", "fit", {**LABELLED, "modulus_bits": 2048}),
    ("discriminative_naive_bayes", "fit", {**LABELLED, "delta": 1e-6}),
    ("vertibayes", "fit", {"split": "horizontal", "columns": ["age", "sex"]}),
    (
        "verticox",
        "fit",
        {
            "split": "horizontal",
            "features": ["age"],
            "time": "time",
            "event": "event",
            "times": [5, 10, 15, 20],
            "delta": 1e-6,
        },
    ),
]


def table(name: str, disease: str) -> pd.DataFrame:
    draw = np.random.default_rng(len(name))
    frame = pd.DataFrame({"id": [f"{name}{row}" for row in range(30)], "age": draw.integers(20, 90, 30)})
    frame["time"], frame["event"] = draw.integers(1, 20, 30), draw.integers(0, 2, 30)
    frame["sex"], frame["dx"] = draw.choice(["m", "f"], 30), "flu"
    frame.loc[20, "dx"] = disease
    return frame


def asked(disease: str, method: str, function: str, arguments: dict[str, Any], **limits: str) -> Any:
    parties = {name: table(name, disease if name == "a" else "flu") for name in "abc"}
    dictionary = {"columns": COLUMNS, "subset": AIMED}
    with OneProcess(parties, policies={name: limits for name in parties}) as federation:
        return federation.run(method, function, {**arguments, "dictionary": dictionary})


@pytest.mark.few(8)
@pytest.mark.parametrize(("method", "function", "arguments"), ASKED)
@pytest.mark.parametrize("disease", ["hiv", "flu"])
def test_an_aimed_subset_is_answered_whatever_the_record_holds(
    method: str, function: str, arguments: dict[str, Any], disease: str
) -> None:
    result = asked(disease, method, function, {**arguments, "epsilon": 0.5}, allow_non_private="false")
    assert result["privacy"]["differentially_private"]


@pytest.mark.parametrize("disease", ["hiv", "flu"])
def test_control_exact_answers_keep_the_limit(disease: str) -> None:
    exact = ("dp_naive_bayes", "describe", {"columns": ["age"]})
    with pytest.raises(PolicyError, match="subset"):
        asked(disease, *exact)
    with pytest.raises(ThresholdError, match="minimum_rows"):
        asked(disease, *exact, allow_formulas="true")
    with pytest.raises(PolicyError, match="subset"):
        asked(disease, exact[0], exact[1], {**exact[2], "epsilon": 50.0})
