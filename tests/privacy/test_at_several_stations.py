"""What a promise for identifiers says of one that several stations have: each spends the epsilon on it, and none can know."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess

from fedbayes.federation.horizontal.units import AT_SEVERAL

DOMAIN = {"age": {"bounds": [20, 80]}, "ill": {"categories": ["no", "yes"]}}
PEOPLE = {"epsilon": 1.0, "unit": "identifier", "id_column": "person", "max_rows_per_identifier": 2}
LABELLED = {"label": "ill", "domain": DOMAIN, **PEOPLE}
OUTCOME = {"time": "time", "event": "event", "domain": {"age": DOMAIN["age"]}, "times": [2, 5]}
ASKED: list[tuple[str, str, dict[str, Any]]] = [
    ("dp_naive_bayes", "fit", LABELLED),
    ("dp_naive_bayes", "describe", {"domain": DOMAIN, **PEOPLE}),
    ("smooth_naive_bayes", "fit", LABELLED),
    ("discriminative_naive_bayes", "fit", {**LABELLED, "delta": 1e-6}),
    ("secure_naive_bayes", "fit", LABELLED),
    ("verticox", "fit", {"split": "horizontal", "features": ["age"], **OUTCOME, **PEOPLE}),
]
"""Every method over rows that takes identifiers as the unit."""


def patients(seed: int) -> pd.DataFrame:
    """Return records of people whom all stations have."""
    draw = np.random.default_rng(seed)
    people = pd.DataFrame({"person": np.arange(200) // 2, "age": draw.uniform(20, 80, 200)})
    outcome = {"time": draw.exponential(4, 200).round(2), "event": draw.integers(0, 2, 200)}
    return people.assign(ill=draw.choice(["no", "yes"], 200), **outcome)


@pytest.mark.parametrize(("method", "function", "asked"), ASKED, ids=[f"{one[0]}.{one[1]}" for one in ASKED])
def test_a_promise_for_identifiers_says_what_it_is_at_several_stations(
    method: str, function: str, asked: dict[str, Any]
) -> None:
    with OneProcess({name: patients(seed) for seed, name in enumerate("abc")}) as running:
        result = running.run(method, function, asked)
    assert result["privacy"]["unit"] == "identifier"
    assert AT_SEVERAL in result["privacy"]["sensitivity"]


def test_so_does_that_of_an_evaluation() -> None:
    with OneProcess({name: patients(seed) for seed, name in enumerate("abc")}) as running:
        model = running.run("dp_naive_bayes", "fit", LABELLED)["model"]
        scores = running.run("dp_naive_bayes", "evaluate", {"model": model, "noise": "distributed", **PEOPLE})
    assert AT_SEVERAL in scores["privacy"]["sensitivity"]
