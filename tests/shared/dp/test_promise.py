"""What may be called private: the largest epsilon and delta, and that no statement goes beyond them."""

import math

import pytest

from fedbayes.client import formats
from fedbayes.dp import promise
from fedbayes.federation import errors, results
from fedbayes.federation.node.policy import Policy


@pytest.mark.parametrize("loss", [(20.0, 0.0), (1e-9, 1e-3), (None, None), (0.0, 0.0), (1.0, 1e-6)])
def test_what_may_be_called_private(loss):
    assert promise.holds(*loss)
    assert results.privacy(True, epsilon=loss[0], delta=loss[1])["differentially_private"] is True


@pytest.mark.parametrize(
    ("loss", "named"),
    [
        ((20.001, 0.0), "epsilon"),
        ((1e9, 0.0), "epsilon"),
        ((math.inf, 0.0), "epsilon"),
        ((math.nan, 0.0), "epsilon"),
        ((-1.0, 0.0), "epsilon"),
        ((1e-6, 1.1e-3), "delta"),
        ((1e-6, 0.999999), "delta"),
        ((1e-6, math.nan), "delta"),
    ],
)
def test_what_may_not_whatever_a_method_says(loss, named):
    told = results.privacy(True, epsilon=loss[0], delta=loss[1], mechanism="noise")
    assert told["differentially_private"] is False
    assert named in told["reason"]
    assert promise.excess(*loss) == told["reason"]


def test_a_nodes_budget_of_epsilon_implies_one_of_delta():
    def read(**limits):
        variables = {f"FEDBAYES_{name}": value for name, value in {"LEDGER": "ledger", **limits}.items()}
        return Policy.from_environment(variables)

    assert read(BUDGET_EPSILON="1").budget_delta == promise.IMPLIED_DELTA
    assert read(BUDGET_EPSILON="1", BUDGET_DELTA="0.01").budget_delta == 0.01
    assert read().budget_delta is None
    with pytest.raises(errors.PolicyError, match="FEDBAYES_BUDGET_DAYS"):
        read(BUDGET_EPSILON="1", BUDGET_DAYS="0")


@pytest.mark.parametrize(("epsilon", "sure"), [(0.0, "0.5"), (1.0, "0.731"), (5.0, "0.993"), (10.0, "1")])
def test_how_sure_an_answer_can_make_somebody(epsilon, sure):
    assert f"{promise.certainty(epsilon):.3g}" == sure


def test_a_weak_promise_says_so():
    told = {"differentially_private": True, "neighbors": "add_remove", "unit": "row", "delta": 0.0}
    assert formats.promise({**told, "epsilon": promise.WEAK_EPSILON}).endswith("one row.")
    assert "be sure of one row and wrong once in 2,982 times" in formats.promise({**told, "epsilon": 8.0})
