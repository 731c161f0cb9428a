"""Cross-validation: shared rounds, parity with pooled fits on the same folds, folds of their own keys, bad input."""

import threading
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from limits_kit import predicting
from mock_kit import NO_DATA, run_mocked
from one_process import OneProcess

from fedbayes.federation import Public
from fedbayes.federation.embedded import EmbeddedFederation
from fedbayes.federation.errors import ArgumentError, ConvergenceError, MessageError, PolicyError, ThresholdError
from fedbayes.federation.node.policy import Policy
from fedbayes.federation.perimeter.channel import Channel
from fedbayes.federation.perimeter.manifest import Card, Manifest
from fedbayes.federation.vertical import folds as drawn
from fedbayes.mpc.relay import KeyPair
from v6_verticox.cox import likelihood, survival
from v6_verticox.messages.folds import FoldReply, FoldRequest, FoldsReply, SplitRequest
from v6_verticox.messages.private import Broadcast, PermuteReply, PermuteRequest
from v6_verticox.messages.setup import Plan
from v6_verticox.rounds.lockstep import FoldRounds, alone, in_lockstep
from v6_verticox.shares.sorting import OutcomeHolder
from v6_verticox.stations import folds as stations
from v6_verticox.stations.columns import Survival
from v6_verticox.stations.judging import slope
from v6_verticox.stations.outcome import describe
from v6_verticox.use import crossval

FEATURES = ["age", "dose"]
SPEC = {"time": "time", "event": "event", "features": FEATURES}
ROWS = 160
SECRET = bytes(range(32))


@pytest.fixture(scope="module")
def records():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"age": rng.normal(size=ROWS), "dose": rng.normal(size=ROWS)})
    death = rng.exponential(np.exp(-0.6 * frame["age"] + 0.4 * frame["dose"]))
    censored = rng.exponential(2.0, ROWS)
    frame["time"], frame["event"] = np.minimum(death, censored), (death <= censored).astype(int)
    return frame


@pytest.fixture(scope="module")
def parties(records):
    return {"a": records[["age"]], "b": records[["dose", "time", "event"]]}


@pytest.fixture(scope="module")
def federation(parties):
    with EmbeddedFederation(parties=parties, helpers=["helper"], policies=predicting(), record=True) as running:
        yield running


def by_hand(records, fold, count):
    """Fit without each fold on pooled records; predict it; measure."""
    time, event, x = records["time"].to_numpy(), records["event"].to_numpy(), records[FEATURES].to_numpy()
    predictor = np.empty(len(records))
    for number in range(count):
        training = fold != number
        found = likelihood.fit(likelihood.RiskSets.of(time[training], event[training]), x[training], FEATURES)
        predictor[~training] = (x @ found.coefficients)[~training]
    parts = [fold == number for number in range(count)]
    return {
        "concordance": [survival.concordance(time[own], event[own], predictor[own]) for own in parts],
        "calibration_slope": [slope(time[own], event[own], np.zeros(own.sum()), predictor[own]) for own in parts],
    }


@pytest.mark.usefixtures("fine_scores")
def test_parity_with_pooled_fits_on_the_same_folds(records, monkeypatch):
    """In one process, so that the outcome holder's secret can be known."""
    monkeypatch.setattr(drawn, "secret_bytes", lambda size: SECRET[:size])
    monkeypatch.setenv("FEDBAYES_ALLOW_PREDICTIONS", "true")
    frames = [records[["age"]], records[["dose", "time", "event"]], NO_DATA]
    found = run_mocked("verticox", "evaluate", frames, model=SPEC, folds=3, rows_aligned=True)["metrics"]
    expected = by_hand(records, stations.fold_of(SECRET, ROWS, 3), 3)
    for name, values in expected.items():
        assert [entry[name] for entry in found["folds"]] == pytest.approx(values, abs=1e-4)
        assert found[name] == pytest.approx(np.mean(values), abs=1e-4)
        assert found["spread"][name] == pytest.approx(np.std(values, ddof=1), abs=1e-4)
    assert 0.0 < found["integrated_brier_score"] < 0.25


def by_lifelines(records, fold, count, cases):
    """Fit without each fold with case weights and times of entry; measure what is predicted of it, each record once and from the start."""
    from lifelines import CoxPHFitter
    from lifelines.utils import concordance_index

    columns = {"duration_col": "time", "event_col": "event"}
    options = {"weights_col" if name == "weights" else "entry_col": column for name, column in cases.items()}
    used = records[[*FEATURES, "time", "event", *cases.values()]]
    found = {"concordance": [], "calibration_slope": []}
    for number in range(count):
        fitter = CoxPHFitter().fit(used[fold != number], **columns, **options, robust=bool(cases.get("weights")))
        held_out = used[fold == number]
        risk = held_out[FEATURES] @ fitter.params_[FEATURES]
        found["concordance"].append(concordance_index(held_out["time"], -risk, held_out["event"]))
        own = CoxPHFitter().fit(held_out[["time", "event"]].assign(risk=risk), **columns)
        found["calibration_slope"].append(own.params_["risk"])
    return found


@pytest.mark.usefixtures("fine_scores")
@pytest.mark.few(1)
@pytest.mark.parametrize(
    "cases",
    [{"weights": "w"}, {"entry": "since"}, {"weights": "w", "entry": "since"}],
    ids=lambda cases: "+".join(cases),
)
@pytest.mark.parametrize("ties", ["breslow", "efron"])
def test_folds_of_weighted_and_late_records_are_those_of_lifelines(records, monkeypatch, cases, ties):
    """Every fold's fit counts records by their weights and from their entry; without ties both treatments are lifelines'."""
    monkeypatch.setattr(drawn, "secret_bytes", lambda size: SECRET[:size])
    monkeypatch.setenv("FEDBAYES_ALLOW_PREDICTIONS", "true")
    draw = np.random.default_rng(11)
    weighed = records.assign(w=draw.choice([0.5, 1.0, 4.0], ROWS), since=records["time"] * draw.uniform(0.0, 0.9, ROWS))
    frames = [weighed[["age"]], weighed[["dose", "time", "event", *cases.values()]], NO_DATA]
    found = run_mocked(
        "verticox", "evaluate", frames, model={**SPEC, **cases, "ties": ties}, folds=3, rows_aligned=True
    )
    expected = by_lifelines(weighed, stations.fold_of(SECRET, ROWS, 3), 3, cases)
    for name, values in expected.items():
        assert [entry[name] for entry in found["metrics"]["folds"]] == pytest.approx(values, abs=1e-4)
    plain = by_hand(records, stations.fold_of(SECRET, ROWS, 3), 3)
    assert np.abs(np.subtract(plain["calibration_slope"], expected["calibration_slope"])).max() > 0.02
    named = " and ".join(cases)
    assert any(f"the folds are fitted with {named}; these metrics use neither" in text for text in found["warnings"])
    assert [entry["records"] for entry in found["metrics"]["folds"]] == [54, 53, 53]


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"weights": "w"}, "weights column 'w' weighs fewer records"),
        ({"entry": "since"}, "'since' has two values, one of them in fewer records"),
        ({"ties": "efron"}, "ties: fewer events are tied"),
        ({"ties": "efron", "entry": "early"}, "ties: fewer events are tied"),
        ({"features": [*FEATURES, "kind"]}, "'kind' has a category with fewer records"),
        ({"features": [*FEATURES, "two"]}, "'two' has two values, one of them in fewer records"),
        ({"formula": "age*kind + dose"}, "has a category with fewer records"),
    ],
)
def test_what_few_training_records_have_is_refused_as_a_fit_to_them_is(spec, text):
    """Ten records have it, as many as nodes reveal: a fit to all records is answered, one without half of them is not. Of sixty folds are fitted."""
    limits = predicting({"*": {"minimum_count": 10}})
    for unlike in (10, 60):
        rng = np.random.default_rng(3)
        frame = pd.DataFrame({"age": rng.normal(size=200), "dose": rng.normal(size=200)})
        chosen = np.arange(200) < unlike
        frame["time"] = np.where(chosen & ("ties" in spec), 0.5, rng.permutation(np.linspace(0.1, 5.0, 200)))
        frame["event"] = np.where(chosen, 1, rng.integers(0, 2, 200))
        frame["w"], frame["since"] = np.where(chosen, 4.0, 1.0), np.where(chosen, -1.0, -2.0)
        frame["early"] = -1.0 - np.arange(200) % 4
        frame["kind"], frame["two"] = np.where(chosen, "rare", rng.permutation(["one", "other"] * 100)), chosen * 1.0
        own = {"a": ["age", "kind", "two"], "b": ["dose", "time", "event", "w", "since", "early"]}
        parties = {name: frame[columns] for name, columns in own.items()}
        with OneProcess(parties, helpers=["helper"], policies=limits) as running:
            asked = {"model": {**SPEC, **spec}, "folds": 2, "rows_aligned": True}
            if unlike == 60:
                assert running.run("verticox", "evaluate", asked)["metrics"]["folds_judged"] == 2
                continue
            fitted = {name: value for name, value in SPEC.items() if name != "features" or "formula" not in spec}
            assert running.run("verticox", "fit", {**fitted, **spec, "rows_aligned": True})["model"]
            with pytest.raises(
                ThresholdError, match=f"folds: without one of them, .*{text}.*, or use more records, or"
            ):
                running.run("verticox", "evaluate", asked)


def test_control_unchecked_a_category_of_few_training_records_is_fitted(records, monkeypatch):
    """Twelve records have it, as many as nodes reveal, and each of two fits is without some of them."""
    monkeypatch.setattr(stations, "_check_features", lambda *_: None)
    kind = np.where(np.arange(ROWS) < 12, "rare", np.where(np.arange(ROWS) % 4 < 2, "one", "other"))
    parties = {"a": records[["age"]].assign(kind=kind), "b": records[["dose", "time", "event"]]}
    asked = {"model": {**SPEC, "features": [*FEATURES, "kind"]}, "folds": 2, "rows_aligned": True}
    with OneProcess(parties, helpers=["helper"], policies=predicting({"*": {"minimum_count": 12}})) as running:
        assert running.run("verticox", "evaluate", asked)["metrics"]["folds_judged"] == 2


def test_training_records_are_judged_by_the_question_of_the_fits(parties, monkeypatch):
    """A central that leaves the features out of the request that makes the folds would have none of them judged."""

    def without_features(question, *rest):
        return SplitRequest(replace(question, features=[]), *rest)

    monkeypatch.setattr(crossval, "SplitRequest", without_features)
    with (
        OneProcess(parties, helpers=["helper"], policies=predicting()) as running,
        pytest.raises(MessageError, match="asked for twice with other contents"),
    ):
        running.run("verticox", "evaluate", {"model": SPEC, "folds": 2, "rows_aligned": True})


@pytest.mark.audit
def test_the_folds_share_their_rounds(federation, records):
    found = federation.run("verticox", "evaluate", {"model": SPEC, "folds": 3, "rows_aligned": True})
    assert found["federation"]["rounds"] <= 60
    assert [entry["records"] for entry in found["metrics"]["folds"]] == [54, 53, 53]
    assert found["concordance"] == found["metrics"]["concordance"]
    assert sum(group["records"] for group in found["metrics"]["calibration"]["groups"]) == ROWS
    assert "not which record" in found["privacy"]["reveals"]["central"]
    assert found["diagnostics"]["folds"] == 3
    text = str(federation.transcript)
    assert all(str(value) not in text for value in records["age"].head(20))


@pytest.mark.parametrize("folds", [1, 51, 2.5, True, "ten"])
def test_a_wrong_number_of_folds_is_named(federation, folds):
    with pytest.raises(ArgumentError, match="folds"):
        federation.run("verticox", "evaluate", {"model": SPEC, "folds": folds, "rows_aligned": True})


def test_bad_input(federation, parties):
    with pytest.raises(ThresholdError, match="use fewer folds"):
        federation.run("verticox", "evaluate", {"model": SPEC, "folds": 40, "rows_aligned": True})
    with pytest.raises(ArgumentError, match="'features' is missing"):
        federation.run(
            "verticox", "evaluate", {"model": {"time": "time", "event": "event"}, "folds": 4, "rows_aligned": True}
        )
    policies = predicting({"a": {"allow_predictions": False}})
    with (
        EmbeddedFederation(parties=parties, helpers=["helper"], policies=policies) as strict,
        pytest.raises(PolicyError, match="a: "),
    ):
        strict.run("verticox", "evaluate", {"model": SPEC, "folds": 4, "rows_aligned": True})


def test_folds_are_balanced_and_depend_on_the_secret():
    first, second = stations.fold_of(SECRET, 43, 10), stations.fold_of(bytes(32), 43, 10)
    assert set(np.bincount(first)) == {4, 5}
    assert np.mean(first == second) < 0.5


def test_a_fold_has_keys_of_its_own():
    own, peer = KeyPair.generate(), KeyPair.generate()
    cards = {1: Card(1, own.public_bytes), 2: Card(2, peer.public_bytes)}
    roles, names = dict.fromkeys(cards, "station"), {1: "a", 2: "b"}
    job = Manifest("0" * 32, "image", "v6_verticox", "evaluate", "", 1, names, roles, cards, ())
    channel, other = Channel(1, own, job, "round", Policy()), Channel(2, peer, job, "round", Policy())
    assert channel.part("fold 1").key(2, "x") == other.part("fold 1").key(1, "x")
    assert len({channel.key(2, "x"), channel.part("fold 1").key(2, "x"), channel.part("fold 2").key(2, "x")}) == 3


class Echo:
    """A federation that answers every fold at once."""

    def __init__(self):
        self.rounds, self.sizes = 0, []

    def round(self, function, request, organizations, reply_type):
        assert function == "partial_folds"
        assert reply_type is FoldsReply
        self.rounds += 1
        self.sizes.append(len(request[organizations[0]].parts))
        answer = PermuteReply(Broadcast(b"answer", {}))
        return {
            member: FoldsReply([FoldReply(Public(part.fold), partial_permute=answer) for part in request[member].parts])
            for member in organizations
        }


PLAN = Plan([1, 2], [1, 1], 3, 10, [10], 10, [], 0, True)
ASK = PermuteRequest(PLAN, 0, {}, None)


def asking(times):
    async def task(rounds):
        for _ in range(times):
            replies = await rounds.round("partial_permute", ASK, [1, 2], PermuteReply)
            assert replies[2].published.content == b"answer"
        return rounds.rounds

    return task


def test_rounds_are_those_of_the_longest_computation():
    echo = Echo()
    assert in_lockstep(echo, [(0, asking(2)), (1, asking(5)), (7, asking(3))]) == [2, 5, 3]
    assert echo.sizes == [3, 3, 2, 1, 1]


def test_one_failure_ends_all():
    ended = []

    async def failing(rounds):
        await rounds.round("partial_permute", ASK, [1, 2], PermuteReply)
        raise ConvergenceError("no")

    async def long(rounds):
        try:
            await asking(500)(rounds)
        finally:
            ended.append(rounds.rounds)

    echo = Echo()
    with pytest.raises(ConvergenceError, match="no"):
        in_lockstep(echo, [(0, long), (1, failing)])
    assert (ended, echo.rounds) == ([1], 1)
    with pytest.raises(ValueError, match="one thing"):
        FoldRequest(0)


def test_nothing_runs_beside_anything_else():
    """All computations are of the thread that sends, each from one of its rounds to the next, in order of the folds."""
    seen, started = [], threading.active_count()

    def noting(name, times):
        async def task(rounds):
            for place in range(times):
                seen.append((name, place, threading.active_count(), threading.current_thread()))
                await rounds.round("partial_permute", ASK, [1, 2], PermuteReply)

        return task

    in_lockstep(Echo(), [(3, noting("a", 2)), (1, noting("b", 3))])
    own = (started, threading.current_thread())
    assert seen == [(*entry, *own) for entry in (("a", 0), ("b", 0), ("a", 1), ("b", 1), ("b", 2))]


def test_a_computation_without_rounds_takes_none():
    async def nothing(rounds):
        return rounds.rounds

    echo = Echo()
    assert in_lockstep(echo, [(0, nothing), (1, asking(1))]) == [0, 1]
    assert in_lockstep(echo, []) == []
    assert echo.sizes == [1]


def test_rounds_that_are_shared_are_not_taken_alone():
    with pytest.raises(RuntimeError, match="in_lockstep"):
        alone(asking(1)(FoldRounds(0, Echo(), 0)))


def test_records_of_different_strata_are_not_compared(paper_data):
    from lifelines import CoxPHFitter

    frame = paper_data("rossi")
    fitter = CoxPHFitter().fit(frame, "time", "event", strata="race")
    values = [frame[name].to_numpy() for name in ("time", "event")]
    found = survival.concordance(*values, fitter.predict_log_partial_hazard(frame).to_numpy(), frame["race"].to_numpy())
    assert found == pytest.approx(fitter.concordance_index_, abs=1e-9)


def test_folds_tell_no_times_that_are_not_known():
    """Nearly all event times would follow from grids that are a little different in every fold."""
    rng = np.random.default_rng(4)
    time, event, stratum = np.ceil(rng.exponential(20.0, 80)), rng.integers(0, 2, 80), np.arange(80) % 2
    known = describe(Survival(time, event, stratum, ["x", "y"]), 5)
    for limit in (0, 5):
        chosen = rng.permutation(80)[:60]
        kept = Survival(time[chosen], event[chosen], stratum[chosen], ["x", "y"])
        told = stations.at_known_edges(describe(kept, 5, "efron" if limit else "breslow"), known, kept, limit)
        assert set(told.edges) <= set(known.edges)
        holder = OutcomeHolder(bytes(32), kept.time, kept.event, kept.stratum, limit)
        at = holder.when
        for edge, code, row in zip(told.edges, told.edge_strata, told.edge_rows, strict=True):
            own = (kept.stratum == code) & (kept.event == 1) & (kept.time <= edge)
            start = 0 if code == 0 else int(holder.sizes[0])
            assert at[row] <= edge
            assert holder.tied[start : row + 1].sum() == own.sum()
