"""A private task of whole records over fewer stations than a node demands is refused before it is debited; organizations without data are none."""

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess

from fedbayes.federation.errors import ThresholdError

DOMAIN = {"age": {"bounds": [0, 100]}, "sex": {"categories": ["f", "m"]}, "ill": {"categories": ["yes", "no"]}}
LABELLED = {"label": "ill", "domain": DOMAIN}
BY_ROWS = {"domain": DOMAIN, "split": "horizontal"}
TASKS = {
    "dp_naive_bayes": LABELLED,
    "discriminative_naive_bayes": LABELLED,
    "secure_naive_bayes": LABELLED,
    "vertibayes": {**BY_ROWS, "columns": ["age", "sex", "ill"], "bins": 4},
    "verticox": {**BY_ROWS, "time": "time", "event": "event", "features": ["age", "sex"], "times": [2, 5, 10, 20]},
}


@pytest.fixture(scope="module")
def two():
    draw = np.random.default_rng(3)
    table = pd.DataFrame({"age": draw.integers(20, 90, 120), "sex": draw.choice(["f", "m"], 120)})
    table = table.assign(ill=draw.choice(["yes", "no"], 120), time=draw.exponential(9.0, 120), event=1)
    return OneProcess({"north": table.iloc[::2], "south": table.iloc[1::2]}, helpers=["helper"])


@pytest.mark.parametrize("method", TASKS)
def test_a_private_sum_of_too_few_stations_is_refused_before_it_is_debited(two, method):
    """Two stations and a helper were debited the whole epsilon, and then refused to mask; a preflight said that all take part."""
    asked = {**TASKS[method], "epsilon": 1.0}
    for function, arguments in (("fit", asked), ("preflight", {"function": "fit", "arguments": asked})):
        with pytest.raises(ThresholdError, match=r"needs 3 or more with data") as refused:
            two.run(method, function, arguments)
        assert "debited" not in str(refused.value)


def test_noise_of_each_station_needs_no_third_one(two):
    told = two.run("dp_naive_bayes", "fit", {**LABELLED, "epsilon": 1.0, "noise": "local"})
    assert {name: costs["epsilon"] for name, costs in told["federation"]["debits"].items()} == {
        "north": 1.0,
        "south": 1.0,
    }
