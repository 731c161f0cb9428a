"""Two exact answers about the same linked records, put together by two columns of identifiers, or by their places: the difference is whom one has otherwise.

All rows count in both, so that what stations remember of their rows is the same. No station sees how its rows and another one's belong together.
"""

import numpy as np
import pandas as pd
import pytest
from party_kit import remembering

from fedbayes.federation import errors

ROWS = 60
FIRST, SECOND = 10, 11
"""The people whose numbers are exchanged in a column of the second station, and whose rows are in its file."""
BY_ID, BY_NUMBER, BY_PLACE = {"id_column": "id"}, {"id_column": "number"}, {"rows_aligned": True}
CELLS = {"columns": ["sex", "ill"], "missing_state": False}
QUESTIONS = {
    "table": ("scalar_product", "contingency", CELLS),
    "count": ("scalar_product", "count", {"conditions": [{"column": name, "op": "==", "value": "1"} for name in ("sex", "ill")]}),
    "network": ("vertibayes", "fit", {"columns": ["sex", "ill"], "structure": [["sex", "ill"]]}),
    "ensemble": ("bayesian_ensemble", "fit", {"label": "ill", "features": ["sex"], "members": "party"}),
    "survival": ("verticox", "fit", {"time": "time", "event": "event", "features": ["age"]}),
}  # fmt: skip


def tables():
    """Return columns of two organizations of the same people, of whom two have each other's number, and place, at the second one."""
    draw = np.random.default_rng(4)
    ids, numbers = [[f"{letter}{row:02d}" for row in range(ROWS)] for letter in "pn"]
    sex, ill = draw.choice(["1", "2"], ROWS), draw.choice(["1", "2"], ROWS)
    sex[[FIRST, SECOND]], ill[[FIRST, SECOND]] = ["1", "2"], ["1", "2"]
    here = pd.DataFrame({"id": ids, "number": numbers, "sex": sex, "age": draw.normal(size=ROWS)})
    there = pd.DataFrame({"id": ids, "number": numbers, "ill": ill, "time": draw.exponential(size=ROWS), "event": 1})
    rows = np.arange(ROWS)
    rows[[FIRST, SECOND]] = SECOND, FIRST
    there["number"] = there["number"].to_numpy()[rows]
    return {"a": here, "b": there.iloc[rows]}


def asked(running, question, by):
    method, function, arguments = QUESTIONS[question]
    return running.run(method, function, {**arguments, **by})


@pytest.mark.few(2)
@pytest.mark.parametrize("question", QUESTIONS)
def test_records_of_a_column_are_linked_by_one_thing(tmp_path, question):
    with remembering(tables(), tmp_path) as running:
        assert asked(running, question, BY_ID)
        assert asked(running, question, BY_ID), "the same again"
        for by in (BY_NUMBER, BY_PLACE):
            with pytest.raises(errors.ThresholdError, match="linked by something else"):
                asked(running, question, by)
        other = "table" if question == "survival" else "survival"
        assert asked(running, other, BY_NUMBER), "columns that no answer was about"


@pytest.mark.parametrize("first", [BY_NUMBER, BY_PLACE], ids=["number", "place"])
def test_whatever_came_first(tmp_path, first):
    with remembering(tables(), tmp_path) as running:
        assert asked(running, "network", first)
        with pytest.raises(errors.ThresholdError, match="linked by something else"):
            asked(running, "table", BY_ID)


@pytest.mark.parametrize("second", [BY_NUMBER, BY_PLACE], ids=["number", "place"])
def test_control_the_difference_is_two_people(tmp_path, second):
    with remembering(tables(), tmp_path, allow_differences=True) as running:
        one, other = (np.array(asked(running, "table", by)["counts"]) for by in (BY_ID, second))
    assert (one - other).tolist() == [[1, -1], [-1, 1]]


def test_scores_of_records_too(tmp_path):
    """Whoever evaluates a model over columns needs the same people at all stations, and so the same rows."""
    draw = np.random.default_rng(5)
    frames, label = tables(), draw.choice(["n", "p"], ROWS)
    domain = {name: {"categories": ["1", "2"]} for name in ("sex", "ill")} | {"label": {"categories": ["n", "p"]}}
    parties = {name: frame.assign(label=label) for name, frame in frames.items()}
    parties["c"] = frames["a"][["id", "number"]].assign(label=label, sure=draw.choice(["1", "2"], ROWS))
    domain["sure"] = domain["sex"]
    with remembering(parties, tmp_path, allow_predictions=True) as running:
        task = {"label": "label", "domain": domain, "split": "vertical", "epsilon": 5.0}
        judged = {"model": running.run("secure_naive_bayes", "fit", task)["model"], "split": "vertical"}
        assert running.run("secure_naive_bayes", "evaluate", {**judged, **BY_ID})
        for by in (BY_NUMBER, BY_PLACE):
            with pytest.raises(errors.ThresholdError, match="linked by something else"):
                running.run("secure_naive_bayes", "evaluate", {**judged, **by})
