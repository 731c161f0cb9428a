"""Learning and scoring without a federation."""

import numpy as np
import pytest

from fedbayes.bayes.network import BayesianNetwork
from v6_vertibayes.arguments import Fit, fine_rules
from v6_vertibayes.budget import Budget
from v6_vertibayes.gaps import ObservedStates
from v6_vertibayes.merging import MergedTables
from v6_vertibayes.model import Variable, learn
from v6_vertibayes.sources import Source
from v6_vertibayes.validation import assess, assess_counts, average

VARIABLES = [Variable("a", ("x", "y"), True), Variable("b", ("0", "1"), True)]


def oracle_of(joint: np.ndarray):
    def oracle(tables):
        return [
            joint if t == ("a", "b") else joint.T if t == ("b", "a") else joint.sum(axis=1 - "ab".index(t[0]))
            for t in tables
        ]

    return oracle


def options(kit, **arguments) -> Fit:
    return Fit.read("fit", {**kit.defaults, "columns": ["a", "b"], **arguments})


def test_empty_missing_states_vanish_and_full_ones_stay(kit) -> None:
    joint = np.array([[40, 10, 0], [5, 45, 0], [3, 2, 0]])
    observed = ObservedStates(oracle_of(joint), {v.name: v for v in VARIABLES})
    assert observed([("a", "b")])[0].shape == (3, 2)
    assert observed.has_gaps("a")
    assert not observed.has_gaps("b")
    assert observed.missing["b"] == (0.0, 105.0)


def test_missing_states_that_are_noise_vanish() -> None:
    joint = np.array([[40, 10, 1], [5, 45, -2], [30, 30, 0]])
    observed = ObservedStates(oracle_of(joint), {v.name: v for v in VARIABLES}, epsilon=1.0)
    assert observed([("a", "b")])[0].shape == (3, 2)


@pytest.mark.parametrize("missing", ["em", "em_on_counts", "drop"])
def test_values_missing_at_random_do_not_bias(kit, missing) -> None:
    whole = np.array([[4000, 1000], [500, 4500]])
    joint = np.zeros((3, 3), dtype=np.int64)
    joint[:2, :2] = whole * 0.8 * 0.8
    joint[2, :2] = whole.sum(axis=0) * 0.2 * 0.8
    joint[:2, 2] = whole.sum(axis=1) * 0.8 * 0.2
    joint[2, 2] = whole.sum() * 0.04
    arguments = {"structure": [["a", "b"]], "missing": missing, "synthetic_rows": 50_000, "restarts": 1}
    found = learn(options(kit, **arguments), VARIABLES, oracle_of(joint))
    np.testing.assert_allclose(found.network.tables["b"], [[0.8, 0.2], [0.1, 0.9]], atol=0.03)
    assert found.network.states == {"a": ("x", "y"), "b": ("0", "1")}


def test_published_scoring_counts_rows_without_label_as_negatives() -> None:
    network = BayesianNetwork(
        {"a": ("x", "y"), "b": ("0", "1")},
        {"a": (), "b": ("a",)},
        {"a": np.full(2, 0.5), "b": np.array([[0.9, 0.1], [0.2, 0.8]])},
    )
    rows = np.array([[0, 0]] * 9 + [[1, 1]] * 9 + [[0, -1]] * 2)
    scores = assess(network, rows, "b")
    assert scores["auc"] == 1.0
    assert scores["auc_published"] == pytest.approx((9 * (9 + 2 * 0.5) / 11 + 9 * 1.0) / 20)
    assert scores["rows"] == 18
    table = np.zeros((2, 3), dtype=np.int64)
    np.add.at(table, (rows[:, 0], rows[:, 1] % 3), 1)
    counted, errors = assess_counts(network, ("a", "b"), table, "b")
    assert errors == {}
    assert {k: counted[k] for k in ("auc", "auc_published", "accuracy")} == {
        k: scores[k] for k in ("auc", "auc_published", "accuracy")
    }


def test_averages_skip_folds_without_a_score() -> None:
    part = {
        "auc": 0.5,
        "auc_published": 0.5,
        "accuracy": 1.0,
        "log_loss": 0.1,
        "confusion": np.eye(2),
        "states": ["n", "y"],
        "rows": 2.0,
    }
    mean = average([part, {**part, "auc": float("nan")}])
    assert mean["auc"] == 0.5
    assert mean["confusion"].tolist() == [[2, 0], [0, 2]]


class Fine(Source):
    def answer(self, tables, noise, contrasts=None):
        return [np.arange(10).reshape(5, 2) for _ in tables]

    def reveals(self):
        return {"central": "tables"}


def test_fine_bins_are_merged_and_missing_stays_apart() -> None:
    variables = {"age": Variable("age", tuple("abcd"), True, (1.0, 2.0, 3.0)), "b": Variable("b", ("0", "1"))}
    merged = MergedTables(Fine(Budget(), variables), {"age": (2.0,)})
    assert merged.variables["age"].states == ("(-inf, 2)", "[2, inf)")
    assert merged([("age", "b")])[0].tolist() == [[2, 4], [10, 12], [8, 9]]
    assert "finer" in merged.reveals()["central"]
    assert fine_rules({"a": "mdl", "b": [1.0]}) == {"a": 10, "b": [1.0]}
    assert fine_rules("published") == "published"


def test_epsilon_is_shared_by_the_most_batches_there_can_be(kit) -> None:
    assert options(kit, structure=[["a", "b"]]).batches == 1
    assert options(kit, structure="k2", max_parents=3, columns=list("abcd")).batches == 3
    assert options(kit, structure="k2", max_parents=3).batches == 1
    assert options(kit, structure="k2", max_parents=0, order="information").batches == 1
    assert options(kit, structure="hill_climb").batches is None
    assert options(kit, structure="naive", label="a", validation="svdg").batches == 2
