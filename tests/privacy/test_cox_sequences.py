"""Cox models of linked records: tasks that differ in one argument, columns that differ in one record, and times far from all others."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from lin_wei import score_residuals
from one_process import OneProcess
from party_kit import by_columns, remembering

from fedbayes.federation.errors import ConvergenceError, DataProblem, ThresholdError
from v6_verticox.cox.survival import censoring_curve

ROWS, PAIR, AT = 200, (40, 90), 93.0
FIT = {"time": "time", "event": "event", "features": ["x", "y", "z"], "id_column": "id"}


def table() -> pd.DataFrame:
    """Return records of whom two have an event at one time, and one an event at 93."""
    draw = np.random.default_rng(2)
    frame = pd.DataFrame({"id": [f"p{row:03d}" for row in range(ROWS)]})
    for name in "xyz":
        frame[name] = draw.integers(0, 2, ROWS)
    frame["time"] = draw.permutation(np.arange(1, ROWS + 1)).astype(float)
    frame["event"] = (draw.random(ROWS) < 0.8).astype(int)
    frame.loc[(frame["time"] - AT).abs() < 4, "event"] = 1
    frame.loc[list(PAIR), "event"] = 1
    frame.loc[PAIR[0], "time"] = frame.loc[PAIR[1], "time"]
    frame["more"] = frame["x"].where(draw.random(ROWS) > 0.1)
    frame["family"] = [f"f{row // 4}" for row in range(ROWS)]
    return frame


PARTS = {"a": ["x", "y", "z", "more", "family"], "c": ["time", "event"]}


@pytest.fixture
def federation(tmp_path):
    """Nodes with folder databases, which let single records be predicted."""

    def running(differ: bool = False, frame: Any = None) -> OneProcess:
        tables = by_columns(table() if frame is None else frame, PARTS)
        return remembering(tables, tmp_path, allow_differences=differ, allow_predictions=True)

    return running


def coefficients(model: dict[str, Any]) -> np.ndarray[Any, Any]:
    return np.array([one["coefficient"] for one in model["coefficients"]])


@pytest.mark.few(1)
@pytest.mark.parametrize("solver", ["private_newton", "bfgs"])
def test_ties_of_few_events_are_not_told_by_how_they_are_treated(federation, solver):
    with federation() as running:
        assert running.run("verticox", "fit", {**FIT, "solver": solver}, "a")
        with pytest.raises(ThresholdError, match="fewer events are tied than this node reveals"):
            running.run("verticox", "fit", {**FIT, "solver": solver, "ties": "efron"}, "a")


def test_ties_of_many_events_or_none_are_treated_as_asked(federation):
    frame = table()
    frame.loc[frame["time"] <= 10, "time"] = 10.0
    frame.loc[frame["time"] <= 10, "event"] = 1
    for one in (frame, table().assign(time=np.arange(ROWS) + 1.0)):
        with federation(frame=one) as running:
            assert running.run("verticox", "fit", {**FIT, "ties": "efron"})["model"]["coefficients"]


@pytest.mark.audit
def test_control_unchecked_two_treatments_tell_what_the_tied_pair_has(federation):
    frame, names = table(), list("xyz")
    with federation() as running, mock.patch("v6_verticox.stations.setup.check_ties"):
        plain, efron = (
            running.run("verticox", "fit", {**FIT, "ties": ties, "tolerance": 1e-9})["model"]
            for ties in ("breslow", "efron")
        )
    score = np.linalg.solve(np.array(plain["covariance"]), coefficients(efron) - coefficients(plain))
    risk = np.exp(frame[names].to_numpy() @ coefficients(plain))
    at_risk = frame["time"] >= frame["time"][PAIR[0]]
    total, pair = risk[at_risk].sum(), risk[list(PAIR)].mean()
    mean = risk[at_risk] @ frame.loc[at_risk, names].to_numpy() / total
    found = mean + score * (total - pair) / pair
    truth = risk[list(PAIR)] @ frame.loc[list(PAIR), names].to_numpy() / (2 * pair)
    assert found == pytest.approx(truth, abs=0.01)


def scores(running: OneProcess, model: dict[str, Any], times: list[float] | None, **more: Any) -> list[float]:
    asked = {"model": model, "id_column": "id", "times": times, **more}
    found = running.run("verticox", "evaluate", asked)["metrics"]
    return list(found.get("pooled", found)["brier_scores"])


@pytest.mark.audit
@pytest.mark.parametrize("more", [{}, {"folds": 2}], ids=["model", "folds"])
def test_times_of_two_evaluations_that_one_event_lies_between(federation, more):
    with federation() as running:
        model = running.run("verticox", "fit", FIT)["model"]
        assert scores(running, model, [AT - 1, 150.0], **more)
        assert scores(running, model, [AT - 1, 150.0], **more), "the same again"
        with pytest.raises(ThresholdError, match="times"):
            scores(running, model, [AT, 150.0], **more)
        assert scores(running, model, [60.0, 150.0], **more), "far from them"


def test_default_times_and_chosen_ones_that_one_event_lies_between(federation):
    with federation() as running:
        model = running.run("verticox", "fit", FIT)["model"]
        told = running.run("verticox", "evaluate", {"model": model, "id_column": "id"})["metrics"]["times"]
        assert scores(running, model, [told[0], told[-1]])
        with pytest.raises(ThresholdError, match="times"):
            scores(running, model, [told[0], told[-1] + 1.0])
        assert scores(running, model, None)


@pytest.mark.audit
def test_default_times_do_not_hang_on_gaps_of_features(federation):
    """Else two honest models of other features would be judged at times that few events lie between."""
    with federation() as running:
        for features in (["y", "z"], ["more", "z"]):
            model = running.run("verticox", "fit", {**FIT, "features": features, "missing": "complete"})["model"]
            assert scores(running, model, None)


@pytest.mark.usefixtures("fine_scores")
def test_control_two_scores_tell_the_prediction_of_the_one_between(federation):
    frame = table()
    with federation(differ=True) as running:
        model = running.run("verticox", "fit", FIT)["model"]
        before, after = (scores(running, model, [time, 150.0])[0] for time in (AT - 1, AT))
    times, hazards = model["baseline"]["time"], model["baseline"]["cumulative_hazard"]
    steps = [hazards[np.searchsorted(times, time, side="right") - 1] for time in (AT - 1, AT)]
    assert steps[0] == steps[1], "no step of the model lies between"
    uncensored = float(censoring_curve(frame["time"].to_numpy(), frame["event"].to_numpy()).at(np.array([AT]))[0])
    survived = ((after - before) * ROWS * uncensored + 1.0) / 2.0
    found = np.log(-np.log(survived) / steps[0]) + model["offset"]
    row = int(frame.index[frame["time"] == AT][0])
    assert found == pytest.approx(frame.loc[row, list("xyz")].to_numpy(dtype=float) @ coefficients(model), abs=1e-6)


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["0 and 1", "text", "number"])
def test_two_columns_that_differ_in_one_record(federation, kind):
    """Their coefficients are that record's: without an event they have no finite value."""
    frame = table()
    frame["more"] = frame["x"].where(frame.index != 17, 1 - frame["x"])
    if kind == "text":
        frame["x"], frame["more"] = (np.array(["no", "yes"])[frame[one]] for one in ("x", "more"))
    if kind == "number":
        frame["x"] = np.random.default_rng(3).normal(size=ROWS)
        frame["more"] = frame["x"] + (frame.index == 17)
    with federation(frame=frame) as running:
        with pytest.raises(DataProblem, match="differ in fewer records than this node reveals"):
            running.run("verticox", "fit", {**FIT, "features": ["x", "more", "z"]})
        assert running.run("verticox", "fit", {**FIT, "features": ["x", "y", "z"]})


@pytest.mark.audit
def test_control_unchecked_two_columns_tell_whether_a_record_has_an_event(federation):
    found = []
    for event in (0, 1):
        frame = table()
        frame["more"] = frame["x"].where(frame.index != 17, 1 - frame["x"])
        frame.loc[17, ["time", "event"]] = [60.5, event]
        with federation(True, frame) as running, mock.patch("v6_verticox.stations.setup.check_rewritten"):
            asked = {**FIT, "features": ["x", "more", "z"]}
            try:
                found.append(bool(running.run("verticox", "fit", asked)))
            except ConvergenceError:
                found.append(False)
    assert found == [False, True]


def late(of: int, far: float = 20000.0) -> pd.DataFrame:
    """Return records of which one has an event far beyond all others, with few observed as long: its x is as given."""
    frame = table().drop(columns="more").assign(more=0)
    rows = range(5, 12)
    frame.loc[list(rows), "time"] = far + np.arange(7) / 10
    frame.loc[list(rows), "event"] = [1, 0, 0, 0, 0, 0, 0]
    frame.loc[list(rows), "x"] = [of, 0, 0, 0, 0, 0, 0]
    return frame


@pytest.mark.audit
@pytest.mark.parametrize("transform", ["identity", "log"])
def test_no_event_far_in_time_is_all_of_the_check_of_proportional_hazards(federation, transform):
    with federation(frame=late(1, 20000.0 if transform == "identity" else 1e90)) as running:
        with pytest.raises(ThresholdError, match="time_transform: few events are far in time"):
            running.run("verticox", "fit", {**FIT, "time_transform": transform})
        for other in ("rank", "km", None):
            assert running.run("verticox", "fit", {**FIT, "time_transform": other})
    with federation() as running:
        assert running.run("verticox", "fit", {**FIT, "time_transform": transform})


@pytest.mark.audit
def test_control_unchecked_the_check_tells_what_that_event_has(federation):
    """The residual of its x is that less the mean of the seven, of whom six are known."""
    told = []
    for value in (0, 1):
        with federation(frame=late(value)) as running, mock.patch("v6_verticox.stations.setup.check_trend"):
            fitted = running.run("verticox", "fit", {**FIT, "time_transform": "identity"})["model"]
        told.append(fitted["proportional_hazards"]["features"][0]["statistic"])
    assert told[1] > 4 * told[0]


def squares(model: dict[str, Any]) -> np.ndarray[Any, Any]:
    """Return the sum of products of score residuals that robust errors tell."""
    information = np.linalg.inv(model["naive_covariance"])
    return np.asarray(information @ np.array(model["covariance"]) @ information)


def paired() -> pd.DataFrame:
    """Return records of which two are one family, every other one a family of its own."""
    frame = table()
    frame["family"] = [f"f{row - (row == PAIR[1])}" for row in range(ROWS)]
    return frame


def test_clusters_of_few_records_are_not_told_by_what_they_change(federation):
    with federation(frame=paired()) as running:
        assert running.run("verticox", "fit", {**FIT, "robust": True})
        with pytest.raises(DataProblem, match="cluster column 'family' has fewer records than this node reveals"):
            running.run("verticox", "fit", {**FIT, "cluster": "family"})


@pytest.mark.audit
def test_control_unchecked_a_pair_is_told_by_robust_errors_with_and_without_it(federation):
    frame = paired()
    with federation(frame=frame) as running, mock.patch("v6_verticox.stations.clusters.few", return_value=False):
        asked = ({"robust": True}, {"cluster": "family"})
        models = [running.run("verticox", "fit", {**FIT, **one, "tolerance": 1e-9})["model"] for one in asked]
    names = [row["feature"] for row in models[0]["coefficients"]]
    told = squares(models[1]) - squares(models[0])
    residuals = score_residuals(frame, names, coefficients(models[0]), "time", "event")
    pair = [residuals[row] for row in (PAIR[1] - 1, PAIR[1])]
    np.testing.assert_allclose(told, np.outer(*pair) + np.outer(*pair[::-1]), atol=2e-4)


def weighed(members: int) -> pd.DataFrame:
    """Return records of which twenty weigh 3,600 times as much; of these so many are one family each two, of the others ten."""
    frame, order = table(), np.r_[list(PAIR), np.setdiff1d(np.arange(ROWS), PAIR)]
    place = np.argsort(order)
    frame["weight"] = np.where(place < 20, 60.0, 1 / 60)
    together = (place < members) | ((place >= 20) & (place < 30))
    frame["family"] = [f"f{one // 2 if both else 1000 + one}" for one, both in zip(place, together, strict=True)]
    return frame


@pytest.mark.audit
def test_weights_do_not_make_one_pair_all_that_clusters_add(federation, monkeypatch):
    monkeypatch.setitem(PARTS, "c", [*PARTS["c"], "weight", "family"])
    monkeypatch.setitem(PARTS, "a", [name for name in PARTS["a"] if name != "family"])
    with federation(frame=weighed(2)) as running:
        assert running.run("verticox", "fit", {**FIT, "cluster": "family"})
        assert running.run("verticox", "fit", {**FIT, "weights": "weight", "robust": True})
        with pytest.raises(DataProblem, match="cluster column 'family' and the weights: fewer records"):
            running.run("verticox", "fit", {**FIT, "weights": "weight", "cluster": "family"})
    with federation(frame=weighed(20)) as running:
        assert running.run("verticox", "fit", {**FIT, "weights": "weight", "cluster": "family"})


def test_weights_and_clusters_at_two_stations_are_not_taken_together(federation, monkeypatch):
    """Neither of these can see what pair weighs most."""
    monkeypatch.setitem(PARTS, "c", [*PARTS["c"], "weight"])
    refused = pytest.raises(DataProblem, match="cluster column 'family' must be at the station with the outcome")
    with federation(frame=weighed(20)) as running, refused:
        running.run("verticox", "fit", {**FIT, "weights": "weight", "cluster": "family"})


@pytest.mark.audit
def test_control_unchecked_the_heavy_pair_is_told(federation, monkeypatch):
    monkeypatch.setitem(PARTS, "c", [*PARTS["c"], "weight", "family"])
    monkeypatch.setitem(PARTS, "a", [name for name in PARTS["a"] if name != "family"])
    frame = weighed(2)
    with federation(frame=frame) as running, mock.patch("v6_verticox.stations.setup.check_weighed"):
        asked = ({"robust": True}, {"cluster": "family"})
        task = {**FIT, "weights": "weight", "tolerance": 1e-9}
        models = [running.run("verticox", "fit", {**task, **one})["model"] for one in asked]
    names = [row["feature"] for row in models[0]["coefficients"]]
    told = squares(models[1]) - squares(models[0])
    residuals = score_residuals(frame, names, coefficients(models[0]), "time", "event", weights="weight")
    pair = residuals[list(PAIR)]
    np.testing.assert_allclose(told, np.outer(*pair) + np.outer(*pair[::-1]), atol=0.01 * np.abs(told).max())


def test_a_family_that_is_read_as_another_one_is_not_told(federation):
    """Two tasks with the clusters as they are, and with one family in another: the difference is those few records'."""
    with federation() as running:
        assert running.run("verticox", "fit", {**FIT, "cluster": "family"})
        names = [f"f{place}" for place in range(ROWS // 4) if place != 3]
        read = {"columns": {"family": {"type": "category", "categories": names, "recode": {"f3": "f4"}}}}
        with pytest.raises(ThresholdError, match="would set apart fewer rows"):
            running.run("verticox", "fit", {**FIT, "cluster": "family", "dictionary": read})


def cut_at(rank: int, frame: pd.DataFrame) -> dict[str, Any]:
    """Return a dictionary that cuts age below so many records."""
    at = float(np.sort(frame["age"])[rank - 1 : rank + 1].mean())
    old = {"type": "category", "categories": ["no", "yes"], "cut": {"column": "age", "at": [at]}}
    return {"dictionary": {"columns": {"old": old}}}


def aged() -> pd.DataFrame:
    """Return records of whom the one of median age dies first of all."""
    draw = np.random.default_rng(6)
    frame = table().assign(age=draw.normal(60, 9, ROWS).round(4))
    first = frame["age"].sort_values().index[ROWS // 2]
    frame.loc[first, ["time", "event"]] = (0.5, 1)
    return frame


@pytest.mark.audit
@pytest.mark.parametrize("given", [{"features": ["old", "y"]}, {"strata": "old"}], ids=["feature", "strata"])
def test_cuts_of_two_fits_that_one_record_lies_between(tmp_path, given):
    frame, asked = aged(), {**FIT, **given}
    parts = {"a": ["x", "y", "z"], "c": ["time", "event", "age"]}
    with remembering(by_columns(frame, parts), tmp_path) as running:
        assert running.run("verticox", "fit", {**asked, **cut_at(100, frame)})
        assert running.run("verticox", "fit", {**asked, **cut_at(100, frame)}), "the same again"
        with pytest.raises(ThresholdError, match="would set apart"):
            running.run("verticox", "fit", {**asked, **cut_at(101, frame)})
        assert running.run("verticox", "fit", {**asked, **cut_at(130, frame)}), "far from it"


def test_a_node_that_remembers_nothing_fits_no_cuts(tmp_path, monkeypatch):
    frame = aged()
    monkeypatch.setattr("fedbayes.federation.tables.node_databases.embedded_record", lambda: None)
    with (
        remembering(by_columns(frame, {"a": ["y", "age"], "c": ["time", "event"]}), tmp_path, ledger=None) as running,
        pytest.raises(ThresholdError, match="no folder database"),
    ):
        running.run("verticox", "fit", {**FIT, "features": ["old", "y"], **cut_at(100, frame)})


@pytest.mark.audit
def test_control_unheld_two_fits_tell_when_the_record_between_has_its_event(tmp_path):
    """The gradient that moves from one fit to the other is that record's martingale residual: next to 1, of an event before all others."""
    frame, asked = aged(), {**FIT, "features": ["old", "y"], "tolerance": 1e-9}
    parts = {"a": ["y", "age"], "c": ["time", "event"]}
    with remembering(by_columns(frame, parts), tmp_path, allow_differences=True) as running:
        one, other = (running.run("verticox", "fit", {**asked, **cut_at(rank, frame)})["model"] for rank in (100, 101))
    moved = np.linalg.solve(np.array(one["covariance"]), coefficients(one) - coefficients(other))
    assert moved[0] == pytest.approx(1.0, abs=0.05)


def kinked(low: float, **more: Any) -> dict[str, Any]:
    """Return a fit by age that is the same for all below `low`."""
    spline = f"bs(age, df=1, degree=1, lower_bound={low!r}, upper_bound=75.0)"
    return {**FIT, "features": None, "formula": f"~ {spline} + y", "tolerance": 1e-9, **more}


def beside_one(frame: pd.DataFrame) -> tuple[float, float]:
    """Return the age of who is farthest from the next ones, in the lower quarter, and how far; who dies first of all."""
    ages = np.sort(frame["age"])[20:50]
    room = np.minimum(np.diff(ages)[:-1], np.diff(ages)[1:])
    found = float(ages[1 + np.argmax(room)])
    frame.loc[frame["age"] == found, ["time", "event"]] = (0.25, 1)
    return found, 0.95 * float(room.max())


@pytest.mark.audit
def test_bounds_of_splines_of_several_fits_that_one_record_lies_between(tmp_path):
    frame = aged()
    age, room = beside_one(frame)
    with remembering(by_columns(frame, {"a": ["y", "age"], "c": ["time", "event"]}), tmp_path) as running:
        assert running.run("verticox", "fit", kinked(age - room))
        assert running.run("verticox", "fit", kinked(age - room, penalty=0.5)), "the same bounds again"
        with pytest.raises(ThresholdError, match="would set apart"):
            running.run("verticox", "fit", kinked(age + room))
        assert running.run("verticox", "fit", kinked(age + 6.0)), "far from them"


def knotted(knot: float, degree: int) -> dict[str, Any]:
    spline = f"bs(age, df={degree + 1}, degree={degree}, knots=[{knot!r}], lower_bound=0.0, upper_bound=120.0)"
    return {**FIT, "features": None, "formula": f"~ {spline} + y"}


@pytest.mark.audit
@pytest.mark.parametrize("degree", [1, 2])
def test_knots_of_splines_of_several_fits_that_one_record_lies_between(tmp_path, degree):
    frame = aged()
    age, room = beside_one(frame)
    with remembering(by_columns(frame, {"a": ["y", "age"], "c": ["time", "event"]}), tmp_path) as running:
        assert running.run("verticox", "fit", knotted(age - room, degree))
        with pytest.raises(ThresholdError, match="would set apart"):
            running.run("verticox", "fit", knotted(age + room, degree))
        assert running.run("verticox", "fit", knotted(age + 6.0, degree)), "far from it"
        assert running.run("verticox", "fit", knotted(age + 6.0 + room, 3)), "smooth"


def test_a_node_that_remembers_nothing_fits_no_kinks(tmp_path, monkeypatch):
    frame = aged()
    age, _ = beside_one(frame)
    monkeypatch.setattr("fedbayes.federation.tables.node_databases.embedded_record", lambda: None)
    tables = by_columns(frame, {"a": ["y", "age"], "c": ["time", "event"]})
    with remembering(tables, tmp_path, ledger=None) as running:
        for asked in (kinked(age), knotted(age, 1), knotted(age, 2)):
            with pytest.raises(ThresholdError, match="no folder database"):
                running.run("verticox", "fit", asked)
        assert running.run("verticox", "fit", knotted(age, 3)), "smooth, with bounds beyond all ages"


@pytest.mark.audit
def test_control_unheld_three_fits_by_splines_tell_of_the_record_between(tmp_path):
    """The second difference of their gradients is a tent over that record alone, times its martingale residual."""
    frame, found = aged(), []
    age, room = beside_one(frame)
    tables = by_columns(frame, {"a": ["y", "age"], "c": ["time", "event"]})
    with remembering(tables, tmp_path, allow_differences=True) as running:
        for low in (age - room, age, age + room):
            model = running.run("verticox", "fit", kinked(low))["model"]
            units = np.array([75.0 - low, 1.0])
            found.append(coefficients(model) / units)
            covariance = np.array(model["covariance"]) / np.outer(units, units)
    moved = np.linalg.solve(covariance, found[0] - 2.0 * found[1] + found[2])
    assert moved[0] / room == pytest.approx(1.0, abs=0.25)
