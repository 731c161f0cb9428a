"""Codes in the data that the domain lacks do not pass without a word: an error where answers are exact, the first warning where they are noisy."""

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess

from fedbayes.federation import errors

DOMAIN = {
    "sex": {"categories": ["female", "male"]},
    "stage": {"categories": ["I", "II"]},
    "age": {"bounds": [0, 100]},
    "class": {"categories": ["ill", "well"]},
}
CODES = {"sex": {"female": "F", "male": "M"}, "class": {"ill": "i", "well": "w"}}


def make(rows, seed):
    random = np.random.default_rng(seed)
    label = random.integers(0, 2, rows)
    return pd.DataFrame(
        {
            "sex": np.array(["female", "male"])[random.integers(0, 2, rows)],
            "stage": np.array(["I", "II"])[(label + (random.random(rows) < 0.2)) % 2],
            "age": random.uniform(20, 80, rows).round(),
            "class": np.array(["ill", "well"])[label],
        }
    )


@pytest.fixture
def federations():
    """Return ``open(changed columns)``: a federation of three stations that write these columns in other ways."""

    def opened(*changed):
        parties = {}
        for number, name in enumerate("abc"):
            frame = make(300, number)
            for column in changed:
                frame[column] = "many" if column == "age" else frame[column].map(CODES[column])
            parties[name] = frame
        return OneProcess(parties)

    return opened


METHODS = ["dp_naive_bayes", "smooth_naive_bayes"]


@pytest.mark.parametrize("method", METHODS)
def test_a_column_in_other_codes_is_the_first_warning(federations, method):
    with federations("sex") as running:
        result = running.run(method, "fit", {"label": "class", "domain": DOMAIN, "epsilon": 2.0})
    assert result["warnings"][0].startswith("COLUMN 'sex' WAS NOT UNDERSTOOD")
    assert "'female', 'male'" in result["warnings"][0]
    assert not any("'stage' WAS" in text or "'age' WAS" in text for text in result["warnings"])
    shares = result["diagnostics"]["missing_share"]
    assert shares["sex"] > 0.9
    assert shares["stage"] < 0.1


WAYS = [
    ("dp_naive_bayes", {"epsilon": 3.0}),
    ("dp_naive_bayes", {"noise": "none"}),
    ("smooth_naive_bayes", {"epsilon": 20.0}),
    ("secure_naive_bayes", {"epsilon": 3.0}),
    ("discriminative_naive_bayes", {"epsilon": 8.0}),
    ("discriminative_naive_bayes", {"tables": "dp", "epsilon": 8.0}),
]


@pytest.mark.parametrize(("method", "noise"), WAYS)
def test_a_common_category_in_capitals_is_warned_of(method, noise):
    frames = {name: make(400, number) for number, name in enumerate("abc")}
    for frame in frames.values():
        frame["rare"] = np.where(np.arange(len(frame)) % 10 < 6, "Yes", "no")
    domain = {**DOMAIN, "rare": {"categories": ["yes", "no"]}}
    with OneProcess(frames) as running:
        result = running.run(method, "fit", {"label": "class", "domain": domain, **noise})
    told = [text for text in result["warnings"] if "capitals count" in text]
    assert len(told) == 1
    assert told[0].startswith("column 'rare'")
    assert "'yes', 'no'" in told[0]


@pytest.mark.parametrize("method", METHODS)
def test_a_label_in_other_codes_is_the_first_warning(federations, method):
    with federations("class") as running:
        result = running.run(method, "fit", {"label": "class", "domain": DOMAIN, "epsilon": 2.0})
    assert result["warnings"][0].startswith("HARDLY ANY ROW HAS A LABEL")


@pytest.mark.parametrize("statistics", ["histogram", "gaussian"])
def test_text_in_a_column_of_numbers_is_missing_and_warned_of_first(federations, statistics):
    arguments = {"label": "class", "domain": DOMAIN, "epsilon": 10.0, "statistics": statistics}
    with federations("age") as running:
        result = running.run("dp_naive_bayes", "fit", arguments)
    assert result["warnings"][0].startswith("COLUMN 'age' WAS NOT UNDERSTOOD")


def test_where_all_is_understood_nothing_is_said(federations):
    with federations() as running:
        for method in METHODS:
            result = running.run(method, "fit", {"label": "class", "domain": DOMAIN, "epsilon": 10.0})
            assert not any("UNDERSTOOD" in text or "HARDLY" in text for text in result["warnings"])


@pytest.mark.parametrize("changed", ["sex", "class"])
def test_in_an_exact_task_other_codes_are_an_error(federations, changed):
    with federations(changed) as running:
        with pytest.raises(
            errors.DataProblem, match=f"column '{changed}' holds hardly any of the categories"
        ) as caught:
            running.run("dp_naive_bayes", "fit", {"label": "class", "domain": DOMAIN, "noise": "none"})
        assert not any(code in str(caught.value) for code in ("'M'", "'i'"))
    with federations() as running:
        model = running.run("dp_naive_bayes", "fit", {"label": "class", "domain": DOMAIN, "noise": "none"})["model"]
    with (
        federations(changed) as running,
        pytest.raises(errors.DataProblem, match=f"column '{changed}' holds hardly any of the categories"),
    ):
        running.run("dp_naive_bayes", "evaluate", {"model": model})
