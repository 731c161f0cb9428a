"""Columns of a station: what is refused, by name and without a value, and what the outcome holder tells."""

import numpy as np
import pandas as pd
import pytest

from fedbayes.federation.errors import DataProblem, ThresholdError
from v6_verticox import model
from v6_verticox.columns import design, survival
from v6_verticox.outcome import describe
from v6_verticox.roles import OutcomeHolder, as_places

ROWS = 60


def table(**columns):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"time": rng.integers(1, 15, ROWS).astype(float), "event": (np.arange(ROWS) % 2)})
    return frame.assign(age=rng.normal(size=ROWS), **columns)


REFUSED = [
    ("missing", np.where(np.arange(ROWS) == 7, np.nan, 1.5 + np.arange(ROWS)), "missing"),
    ("endless", np.where(np.arange(ROWS) == 7, np.inf, 1.5), "finite"),
    ("flat", np.full(ROWS, 3.25), "constant"),
    ("rare", np.where(np.arange(ROWS) == 7, "secret-a", "secret-b"), "category"),
    ("names", np.array([f"secret-{i}" for i in range(ROWS)]), "too many"),
    ("one", np.array(["secret"] * ROWS), "constant"),
]


@pytest.mark.parametrize(("name", "values", "text"), REFUSED, ids=[entry[0] for entry in REFUSED])
def test_bad_features_are_named(name, values, text):
    with pytest.raises(DataProblem, match=text) as refusal:
        design(table(**{name: values}), ["age", name], 5)
    assert f"'{name}'" in str(refusal.value)
    assert "secret" not in str(refusal.value)


def test_scales_do_not_matter():
    frame = table()
    small, large = design(frame, ["age"], 5), design(frame.assign(age=frame["age"] * 1e12 + 5e12), ["age"], 5)
    ratio = large.values / small.values
    assert np.allclose(ratio, ratio[0], rtol=1e-3)
    assert np.log2(large.scales[0]) == int(np.log2(large.scales[0]))


def test_text_becomes_indicators():
    frame = table(stage=np.array(["I", "II ", "III"])[np.arange(ROWS) % 3])
    found = design(frame, ["stage", "age"], 5)
    assert found.columns == {"stage": ["stage=II", "stage=III"], "age": ["age"]}
    assert found.values.shape == (ROWS, 3)


BAD_OUTCOMES = [
    ("time", np.where(np.arange(ROWS) == 3, -1.0, 2.0), DataProblem, "negative"),
    ("time", np.where(np.arange(ROWS) == 3, np.nan, 2.0), DataProblem, "missing"),
    ("time", np.array(["soon"] * ROWS), DataProblem, "text"),
    ("event", np.arange(ROWS) % 3, DataProblem, "nothing else"),
    ("event", np.zeros(ROWS), DataProblem, "no event"),
    ("event", (np.arange(ROWS) < 2).astype(int), ThresholdError, "fewer events"),
]


@pytest.mark.parametrize(("name", "values", "kind", "text"), BAD_OUTCOMES)
def test_bad_outcomes_are_named(name, values, kind, text):
    with pytest.raises(kind, match=text):
        survival(table(**{name: values}), "time", "event", None, 5)


def test_small_strata_are_refused():
    with pytest.raises(ThresholdError, match="stratum"):
        survival(table(site=(np.arange(ROWS) < 2).astype(int)), "time", "event", "site", 5)


@pytest.mark.parametrize(("ties", "expanded"), [("breslow", False), ("efron", True)])
def test_the_outcome_holder_tells_groups_of_events(ties, expanded):
    frame = table(site=np.arange(ROWS) // 2 % 2)
    outcome = survival(frame, "time", "event", "site", 5)
    told = describe(outcome, 5, ties, expanded)
    risk = model.RiskSets.of(outcome.time, outcome.event, outcome.stratum, ties)
    assert told.log_likelihood == pytest.approx(model.evaluate_predictor(risk, np.zeros(ROWS))[0])
    assert told.events == int(frame["event"].sum())
    for stratum in (0, 1):
        edges = np.array([t for t, s in zip(told.edges, told.edge_strata, strict=True) if s == stratum])
        own = frame[(frame["site"] == stratum) & (frame["event"] == 1)]["time"].to_numpy()
        counts = np.diff(np.concatenate([[0], [np.sum(own <= edge) for edge in edges]]))
        assert len(edges) > 0
        assert np.all(counts >= 5)


def test_expanded_rows_have_the_weights_of_efron():
    time, event = np.array([2.0, 2.0, 2.0, 1.0, 3.0]), np.array([1, 1, 0, 1, 0])
    holder = OutcomeHolder(bytes(32), time, event, np.zeros(5, dtype=int), True)
    assert holder.copies == 2
    assert len(holder.order) == 5 + 2
    np.testing.assert_allclose(holder.at_risk()[holder.tied > 0], [5.0, 4.0, 3.0])
    assert holder.indicator.sum() == 3
    assert len(np.unique(holder.order)) == len(holder.order)


def test_damaged_places_are_refused():
    np.testing.assert_array_equal(as_places(np.array([2, 0], dtype=np.uint64), 3), [2, 0])
    for bad in ([0, 0], [0, 3], []):
        with pytest.raises(ValueError, match="permutation"):
            as_places(np.array(bad, dtype=np.uint64), 3)
