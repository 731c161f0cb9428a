"""A warning where noise dominates, which says what would help: with the noise and the counts of a model, and in a real fit."""

import re

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess

from fedbayes.federation.jobs.loudness import noise_warnings

PRIVACY = {"epsilon": 1.0, "delta": 0.0}


def model(noise, cell, features=3, bins=20):
    """A model of two classes whose cells all hold `cell`."""
    feature = {"kind": "histogram", "counts": [[cell] * bins] * 2, "noise": noise}
    return {
        "format": "fedbayes.naive_bayes/1",
        "class_counts": [cell * bins] * 2,
        "features": {f"f{k}": feature for k in range(features)},
    }


@pytest.mark.parametrize(
    ("noise", "cell", "warns"), [(5.0, 4.0, True), (4.0, 5.0, False), (0.0, 5.0, False), (5.0, -1.0, True)]
)
def test_it_warns_where_the_noise_is_larger_than_the_mean_count(noise, cell, warns):
    assert bool(noise_warnings("v6_dp_naive_bayes", model(noise, cell), PRIVACY)) == warns


def test_it_says_what_would_help_and_only_what_the_method_takes():
    many = model(40.0, 9.0, features=28)
    (text,) = noise_warnings("v6_dp_naive_bayes", many, PRIVACY)
    for part in (
        "epsilon 5 (now 1)",
        "fewer bins (now 20)",
        "fewer features (now 28)",
        'statistics="gaussian"',
        "delta=1e-06",
    ):
        assert part in text
    (other,) = noise_warnings("v6_smooth_naive_bayes", many, PRIVACY)
    assert "delta" not in other
    assert "statistics" not in other
    assert "delta=" not in noise_warnings("v6_dp_naive_bayes", many, {**PRIVACY, "delta": 1e-6})[0]


@pytest.mark.parametrize("other", [None, {"nodes": {}}, {"format": "fedbayes-weighted-naive-bayes-1"}])
def test_other_models_are_left_alone(other):
    assert noise_warnings("v6_vertibayes", other, PRIVACY) == []


def test_without_a_promise_there_is_no_noise_to_speak_of():
    assert noise_warnings("v6_dp_naive_bayes", model(40.0, 1.0), {"epsilon": None}) == []


def test_a_fit_with_little_epsilon_says_so_and_one_with_much_does_not():
    rng = np.random.default_rng(3)
    frames = {
        name: pd.DataFrame({"y": rng.choice(["p", "q"], 200), **{f"x{k}": rng.random(200) for k in range(6)}})
        for name in "abc"
    }
    domain = {"y": {"categories": ["p", "q"]}, **{f"x{k}": {"bounds": [0, 1]} for k in range(6)}}
    with OneProcess(frames) as federation:
        told = {
            epsilon: federation.fit("dp_naive_bayes", label="y", domain=domain, epsilon=epsilon).warnings
            for epsilon in (0.1, 20)
        }
    assert len([text for text in told[0.1] if re.search("noise dominates.*what would help: epsilon", text)]) == 1
    assert not any("noise dominates" in text for text in told[20])


def test_a_method_that_says_it_itself_is_not_repeated():
    from v6_secure_naive_bayes.model import DROWNED

    assert noise_warnings("v6_secure_naive_bayes", model(40.0, 1.0), PRIVACY, [DROWNED]) == []
    assert len(noise_warnings("v6_secure_naive_bayes", model(40.0, 1.0), PRIVACY, ["another"])) == 1
