"""Nodes that have nowhere to remember exact answers: what two tasks could tell apart is refused; embedded federations remember while they live."""

import numpy as np
import pandas as pd
import pytest
from mock_kit import NO_DATA, run_mocked

from fedbayes.federation.answered.history import History
from fedbayes.federation.embedded import EmbeddedFederation
from fedbayes.federation.errors import ThresholdError

ROWS = 120
REFUSED = "no folder database"


def frames():
    """Two stations; ages of which 60 and 61 differ in one row, a code that one row has, and a diagnosis."""
    ids = [f"p{number:03d}" for number in range(ROWS)]
    age = np.r_[np.arange(59) % 30 + 30, 60.0, np.arange(60) % 30 + 61]
    code = np.where(np.arange(ROWS) == 3, "9", np.array(["1", "2"])[np.arange(ROWS) % 2])
    ill = np.array(["no", "yes"])[np.arange(ROWS) // 2 % 2]
    return pd.DataFrame({"id": ids, "age": age, "code": code}), pd.DataFrame({"id": ids, "ill": ill})


ILL = {"column": "ill", "op": "==", "value": "yes"}


def below(age):
    return [{"column": "age", "op": "<", "value": age}, ILL]


@pytest.fixture
def forgetful(monkeypatch):
    """Organizations of a mock client, which have no folder, with the limits that nodes have by default."""
    monkeypatch.delenv("FEDBAYES_ALLOW_DIFFERENCES")

    def run(function, **arguments):
        return run_mocked("scalar_product", function, [*frames(), NO_DATA], **{"id_column": "id", **arguments})

    return run


@pytest.mark.parametrize(
    "conditions",
    [
        below(60),
        [{"column": "age", "op": "between", "value": [0, 60]}, ILL],
        [{"column": "code", "op": "in", "value": ["1", "9"]}, ILL],
        [{"column": "code", "op": "!=", "value": "1"}, ILL],
        [{"column": "code", "op": "==", "value": "1"}, {"column": "age", "op": "==", "value": 61}, ILL],
    ],
)
def test_ranges_and_several_conditions_on_one_stations_rows(forgetful, conditions):
    with pytest.raises(ThresholdError, match=REFUSED):
        forgetful("count", conditions=conditions)
    assert forgetful("count", conditions=conditions, epsilon=1.0)["privacy"]["differentially_private"]


AGES = (31, 32, 60, 61, 90, 200)
"""Below 31 are two rows, below 200 all."""


def said(forgetful, age, **question):
    """Return by which words a question about an age is refused."""
    with pytest.raises(ThresholdError) as refused:
        forgetful(**{name: make(age) for name, make in question.items()})
    return str(refused.value)


@pytest.mark.parametrize(
    "question",
    [
        {"function": lambda _: "count", "conditions": below},
        {
            "function": lambda _: "contingency",
            "columns": lambda _: ["age", "ill"],
            "bins": lambda age: {"age": [float(age)]},
        },
    ],
)
def test_the_words_of_a_refusal_tell_nothing(forgetful, question, monkeypatch):
    """By whether a range was refused for its few rows, or for want of a record, any value was found, as often as anybody asked."""
    assert len({said(forgetful, age, **question) for age in AGES}) == 1
    monkeypatch.setattr(History, "check_remembers", lambda *_, **__: None)
    assert "few" in said(forgetful, AGES[0], **question)  # the control


def test_one_value_each_is_answered(forgetful):
    assert forgetful("count", conditions=[{"column": "code", "op": "==", "value": "2"}, ILL])["count"] > 0


@pytest.mark.parametrize(
    "given", [{"bins": {"age": [60.0]}}, {"domain": {"age": {"bounds": [0, 120]}}, "bins": {"age": 2}}]
)
def test_borders_of_the_tasks_choice(forgetful, given):
    with pytest.raises(ThresholdError, match=REFUSED):
        forgetful("contingency", columns=["age", "ill"], **given)
    assert forgetful("contingency", columns=["age", "ill"], bins={"age": "quantile"})["records"] == ROWS


def test_a_code_that_few_rows_have_is_not_left_out(forgetful):
    without = {"code": {"categories": ["1", "2"], "missing": ["9"]}}
    with pytest.raises(ThresholdError, match=REFUSED):
        forgetful("contingency", columns=["code", "ill"], domain=without)
    everything = {"code": {"categories": ["1", "2", "9"]}}
    assert forgetful("contingency", columns=["code", "ill"], domain=everything)["records"] == ROWS


def test_an_embedded_federation_remembers_while_it_lives():
    a, b = frames()
    with EmbeddedFederation({"a": a, "b": b}, helpers=["h"]) as federation:

        def count(**arguments):
            return federation.run("scalar_product", "count", {"id_column": "id", **arguments})["count"]

        assert count(conditions=below(61)) > count(conditions=below(50))
        with pytest.raises(ThresholdError, match="would set apart"):
            count(conditions=below(60))
        assert count(conditions=below(61)) > 0
        count(conditions=below(60), epsilon=1.0)
    with EmbeddedFederation({"a": a, "b": b}, ["h"], {"*": {"allow_differences": True}}) as federation:
        for age in (60, 61):
            federation.run("scalar_product", "count", {"id_column": "id", "conditions": below(age)})
