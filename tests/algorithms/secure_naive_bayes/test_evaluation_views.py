"""Vertical evaluation: right to the last tally, and no organization ever holds a record's score."""

import importlib
from collections import defaultdict

import numpy as np
import pandas as pd
import pytest
from mock_kit import NO_DATA, mock_client

from fedbayes.bayes.evaluation import metrics
from fedbayes.bayes.evaluation.coarse import nested
from fedbayes.bayes.evaluation.tallies import scores_of, tally
from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.bayes.naive_bayes.counting import fit_model
from fedbayes.bayes.naive_bayes.features import Gaussian
from fedbayes.bayes.schema import Schema
from fedbayes.federation.errors import ArgumentError, DataProblem, PlacementError, PolicyError
from fedbayes.federation.perimeter.channel import Channel
from fedbayes.federation.station import Station
from v6_secure_naive_bayes import grading, lattice
from v6_secure_naive_bayes.grading_messages import Plan
from v6_secure_naive_bayes.lattice import Lattice

ROWS = 400


def people(classes, seed=5, values=4):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, ROWS)
    frame = pd.DataFrame({f"f{k}": np.clip(rng.poisson(1 + 0.7 * y), 0, values - 1).astype(str) for k in range(4)})
    frame["x"] = np.clip(rng.normal(3 + y, 1.5, ROWS), 0, 10).round(3)
    frame["y"] = np.array([f"c{code}" for code in y])
    frame.loc[::41, "f1"] = None
    frame.loc[5::50, "y"] = None
    return frame


def domain_of(classes, values=4):
    domain = {f"f{k}": {"categories": [str(v) for v in range(values)]} for k in range(4)}
    return {**domain, "x": {"bounds": [0, 10]}, "y": {"categories": [f"c{code}" for code in range(classes)]}}


OWNERS = {1: ["f0", "f3"], 2: ["f1", "f2"], 3: ["x"]}


def fitted(frame, classes, bins=6):
    schema = Schema.from_domain(domain_of(classes))
    return fit_model(schema, "y", schema.encode(frame), bins=bins)


def run(frame, model, helper=True, change=lambda table, member: table, **alignment):
    """Evaluate over three stations and perhaps a helper, in this process; central runs at station 1."""
    key = [alignment["id_column"]] if alignment else []
    tables = [change(frame[[*OWNERS[member], *(["y"] if member != 3 else []), *key]], member) for member in OWNERS]
    client = mock_client("secure_naive_bayes", [*tables, *([NO_DATA] if helper else [])])
    evaluate = importlib.import_module("v6_secure_naive_bayes").evaluate
    return evaluate(
        mock_client=client, model=model.to_dict(), split="vertical", **(alignment or {"rows_aligned": True})
    )


@pytest.fixture(autouse=True)
def allowed(monkeypatch):
    monkeypatch.setenv("FEDBAYES_ALLOW_PREDICTIONS", "true")


@pytest.mark.few(1)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("helper", [True, False])
def test_every_score_is_that_of_the_pooled_table(classes, helper, exact_scores):
    frame = people(classes)
    model = fitted(frame, classes)
    found = run(frame, model, helper)
    known = frame["y"].notna().to_numpy()
    logs = model.predict_log_proba(frame[known])
    truth = model.schema["y"].encode(frame["y"])[known].astype(np.int64)
    pooled = tally(truth, logs, grading.SCORE_BINS)
    expected = scores_of(pooled)
    assert found["diagnostics"]["step"] == 0.0
    told = np.array(found["diagnostics"]["confusion"], dtype=float)
    assert np.array_equal(told[~np.isnan(told)], pooled.confusion[~np.isnan(told)])
    assert np.isnan(told[pooled.confusion == 4.0]).all()
    assert np.isnan(told).sum() == (0 if classes == 2 else 9)
    for name in ("accuracy", "auc", "n"):
        assert found[name] == pytest.approx(expected[name], rel=1e-12)
    assert found["log_loss"] == pytest.approx(expected["log_loss"], abs=1e-3)
    rows = np.array(found["calibration"]["rows"], dtype=float)
    by_groups = scores_of(nested(pooled, 5.0))["calibration"]["rows"]
    assert np.array_equal(rows[~np.isnan(rows)], by_groups[~np.isnan(rows)])
    assert np.isnan(rows).sum() == 0
    assert found["federation"]["rounds"] == 4
    assert found["diagnostics"]["dealer"] != found["diagnostics"]["grader"]


def test_records_are_matched_by_their_identifiers_whatever_their_order(exact_scores):
    frame = people(2)
    model = fitted(frame, 2)
    keyed = frame.assign(key=[f"{number:05d}" for number in range(len(frame))])

    def shuffled(table, member):
        return table.sample(frac=1.0, random_state=member)

    scores = ("accuracy", "auc", "log_loss", "n")
    found, aligned = run(keyed, model, True, shuffled, id_column="key"), run(frame, model)
    assert [found[name] for name in scores] == pytest.approx([aligned[name] for name in scores], abs=1e-10)

    def other(table, member):
        return table.assign(key=table["key"].replace("00007", "99999")) if member == 2 else table

    with pytest.raises(DataProblem, match="do not hold the same identifiers"):
        run(keyed, model, True, other, id_column="key")


@pytest.mark.audit
def test_without_patterns_scores_are_near_on_a_stated_grid(exact_scores):
    frame = people(2)
    plain = fitted(frame, 2, bins=6)
    normal = Gaussian.from_parameters(np.array([200.0, 200.0]), np.array([3.0, 4.0]), np.array([2.0, 2.0]), (0.0, 10.0))
    model = NaiveBayes(plain.schema, "y", plain.class_counts, {**plain.features, "x": normal})
    found = run(frame, model)
    known = frame["y"].notna()
    truth = (frame["y"][known] == "c1").to_numpy().astype(int)
    logs = model.predict_log_proba(frame[known])
    assert 0 < found["diagnostics"]["step"] < 0.01
    assert found["accuracy"] == pytest.approx(np.mean(logs.argmax(axis=1) == truth), abs=0.02)
    assert found["auc"] == pytest.approx(metrics.auc(truth == 1, logs[:, 1]), abs=0.01)
    assert found["log_loss"] == pytest.approx(metrics.row_losses(truth, logs).mean(), abs=0.01)


class Views:
    """What every organization holds: letters it opened, arrays it kept, sums that central made."""

    def __init__(self, monkeypatch):
        self.seen = defaultdict(list)
        unseal, keep = Channel.unseal, Station.keep

        def opened(channel, sender, sealed, topic):
            payload = unseal(channel, sender, sealed, topic)
            self.seen[channel.organization].append(np.frombuffer(payload, dtype=np.uint8))
            return payload

        def kept(station, name, **arrays):
            keep(station, name, **arrays)
            self.seen[station.organization] += [np.ascontiguousarray(a).view(np.uint8).ravel() for a in arrays.values()]

        monkeypatch.setattr(Channel, "unseal", opened)
        monkeypatch.setattr(Station, "keep", kept)

    def vectors(self, organization):
        """Yield everything of the view, and every sum of parts of one size, that has as many numbers as there are records."""
        for dtype in (np.uint32, np.uint64):
            whole = [
                part.view(dtype).reshape(ROWS, -1).astype(np.uint64)
                for part in self.seen[organization]
                if part.size % (ROWS * np.dtype(dtype).itemsize) == 0 and part.size
            ]
            yield from whole
        whole = [
            part.view(np.uint32).astype(np.uint64) if part.size == 4 * ROWS else part.view(np.uint64)
            for part in self.seen[organization]
            if part.size in (4 * ROWS, 8 * ROWS)
        ]
        for modulus in (2**12, 2**16, 2**32):
            if whole:
                yield (sum(whole) % modulus).reshape(ROWS, -1)
        large = [part.view(np.uint64) for part in self.seen[organization] if part.size == 16 * ROWS]
        if large:
            yield sum(large).reshape(ROWS, -1)


def tells(vector, groups):
    """Return whether records that are alike in all columns have equal numbers: then these follow from the columns."""
    for column in vector.T:
        pairs = pd.DataFrame({"group": groups, "value": column}).groupby("group")["value"].nunique()
        if len(np.unique(column)) > 1 and (pairs == 1).all():
            return True
    return False


@pytest.mark.parametrize("helper", [True, False])
def test_no_organization_ever_holds_a_number_that_follows_from_a_record(monkeypatch, helper):
    frame = people(2, values=2)
    frame["x"] = (frame["x"] > 4) * 5.0
    model = fitted(frame, 2)
    groups = frame.fillna("?").astype(str).sum(axis=1).to_numpy()
    assert len(np.unique(groups)) < ROWS / 3
    views = Views(monkeypatch)
    run(frame, model, helper)
    assert len(views.seen[1]) >= 3, "the grader counts, so its view is not empty"
    for organization in list(views.seen):
        for vector in views.vectors(organization):
            assert not tells(vector, groups), organization
    whole = model.joint_log_likelihood(frame)
    assert tells(np.rint(whole * 2**24).astype(np.int64).astype(np.uint64), groups), "the test can fail"


@pytest.mark.audit
def test_what_the_counters_are_shown_is_uniform(monkeypatch):
    frame = people(2)
    model = fitted(frame, 2)
    bits = Lattice(model, OWNERS, ROWS).bits
    views = Views(monkeypatch)
    for _ in range(3):
        run(frame, model)
    shown = np.concatenate([part.view("<u4") for part in views.seen[1] if part.size == 4 * ROWS]).astype(np.float64)
    assert len(shown) == 3 * 2 * ROWS
    unit = shown / 2**bits
    assert unit.max() < 1
    assert abs(unit.mean() - 0.5) < 6 * np.sqrt(1 / 12 / len(unit))
    counts = np.bincount((unit * 16).astype(int), minlength=16)
    assert ((counts - len(unit) / 16) ** 2 / (len(unit) / 16)).sum() < 60


def test_a_helper_deals_and_sees_nothing(monkeypatch):
    frame = people(2)
    views = Views(monkeypatch)
    found = run(frame, fitted(frame, 2))
    assert found["diagnostics"]["dealer"] == "4" or "4" in found["diagnostics"]["dealer"]
    assert views.seen[4] == []
    assert "two of them could rebuild" in found["privacy"]["reveals"]["assumption"]


def test_a_node_that_lets_no_record_be_predicted_answers_nothing(monkeypatch):
    monkeypatch.setenv("FEDBAYES_ALLOW_PREDICTIONS", "false")
    frame = people(2)
    with pytest.raises(PolicyError, match="single records"):
        run(frame, fitted(frame, 2))


@pytest.mark.parametrize(
    "changes",
    [
        {"counters": (1, 1)},
        {"counters": (1, 9)},
        {"dealer": 1},
        {"holder": 9},
        {"rows": 0},
        {"bits": 25},
        {"owners": {1: ["f0"], 2: [], 3: ["x"]}},
    ],
)
def test_a_plan_that_gives_two_parts_to_one_organization_cannot_be_made(changes):
    fields = {"owners": OWNERS, "holder": 1, "counters": (1, 2), "dealer": 4, "rows": 10, "bits": 8, "label": "y"}
    Plan(**fields)
    with pytest.raises(ValueError, match=r"counters|range"):
        Plan(**{**fields, **changes})


def test_a_helper_that_runs_central_may_not_deal():
    from types import SimpleNamespace

    station = SimpleNamespace(
        require_predictions=lambda: None,
        require_private=lambda private: None,
        policy=SimpleNamespace(minimum_organizations=3),
        aggregator=4,
    )
    plan = Plan(OWNERS, 1, (1, 2), 4, 10, 8, "y")
    with pytest.raises(PlacementError, match="dealer"):
        grading._check_plan(station, plan)


def test_too_many_combinations_are_refused_by_name():
    classes = 12
    rng = np.random.default_rng(1)
    domain = {f"f{k}": {"categories": [str(v) for v in range(40)]} for k in range(6)}
    schema = Schema.from_domain({**domain, "y": {"categories": [str(c) for c in range(classes)]}})
    frame = pd.DataFrame({name: rng.integers(0, 40, 500).astype(str) for name in domain})
    frame["y"] = rng.integers(0, classes, 500).astype(str)
    model = fit_model(schema, "y", schema.encode(frame))
    with pytest.raises(ArgumentError, match=r"model: .*fewer features"):
        Lattice(model, {1: ["f0", "f1"], 2: ["f2", "f3"], 3: ["f4", "f5"]}, 500)


@pytest.mark.parametrize("rows", [1, 100, 10_000, 10_000_000])
def test_the_summed_loss_never_wraps(rows):
    assert metrics.LARGEST_LOSS * rows * 2.0 ** grading.loss_bits(rows) < 2**31
    assert lattice.LEAST_BITS <= lattice.most_bits(rows) <= lattice.MOST_BITS
