"""Whole records at every station: the pooled answer, the united grid, and what is refused."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cox_rows_kit import CLINIC, ask, rossi, table
from lifelines import CoxPHFitter
from lifelines.datasets import load_rossi
from one_process import OneProcess
from party_kit import by_rows, with_folders

from fedbayes.federation.errors import (
    AlgorithmError,
    ArgumentError,
    BudgetError,
    ConvergenceError,
    DataProblem,
    MessageError,
    PlacementError,
    PolicyError,
    ThresholdError,
)
from v6_verticox.cox import likelihood, proportional
from v6_verticox.horizontal import grid
from v6_verticox.horizontal.messages import MOST_EVALUATIONS
from v6_verticox.horizontal.slots import Slots

ROSSI, FEATURES = rossi()
DOMAIN, WEEKS = ROSSI["domain"], ROSSI["times"]


def rounded(frame: pd.DataFrame, model: Mapping[str, Any]) -> pd.DataFrame:
    """Return the pooled records as the fit saw them: times up to the united grid, values within their bounds, one indicator a category."""
    times = np.array(model["times"])
    cell = np.searchsorted(times, frame[model["time"]].to_numpy(float))
    found = pd.DataFrame({"time": times[np.minimum(cell, len(times) - 1)]})
    found["event"] = np.where(cell < len(times), frame[model["event"]].to_numpy(int), 0)
    for name, entry in model["domain"].items():
        if "bounds" in entry:
            found[name] = frame[name].to_numpy(float).clip(*entry["bounds"])
            continue
        for category in sorted(set(entry["categories"]) - {model["references"][name]}):
            found[f"{name}={category}"] = (frame[name].to_numpy() == category).astype(float)
    return found


def pooled(frame: pd.DataFrame, model: Mapping[str, Any]) -> tuple[Any, likelihood.RiskSets, Any]:
    """Return the records as the fit saw them, their risk sets, and the pooled fit."""
    seen = rounded(frame, model)
    names = list(table(model).index)
    risk = likelihood.RiskSets.of(seen["time"].to_numpy(), seen["event"].to_numpy(), ties=model["ties"])
    return seen, risk, likelihood.fit(risk, seen[names].to_numpy(float), names, model["penalty"])


def test_it_is_lifelines_on_the_pooled_records() -> None:
    frame = load_rossi()
    result = ask(frame, {**ROSSI, "ties": "efron"})
    model, found = result["model"], table(result["model"])
    peer = CoxPHFitter().fit(rounded(frame, model), "time", "event", fit_options={"precision": 1e-12})
    wanted = peer.summary.loc[found.index]
    for ours, theirs in {
        "coefficient": "coef",
        "hazard_ratio": "exp(coef)",
        "standard_error": "se(coef)",
        "z": "z",
        "p": "p",
        "lower_95": "coef lower 95%",
        "upper_95": "coef upper 95%",
    }.items():
        np.testing.assert_allclose(found[ours], wanted[theirs], rtol=1e-6, atol=1e-6)
    assert model["log_likelihood"] == pytest.approx(peer.log_likelihood_, abs=1e-6)
    assert model["likelihood_ratio_test"]["statistic"] == pytest.approx(
        peer.log_likelihood_ratio_test().test_statistic, abs=1e-6
    )
    np.testing.assert_allclose(model["covariance"], peer.variance_matrix_.loc[found.index, found.index], rtol=1e-5)
    assert result["federation"]["rounds"] == 12
    assert not result["privacy"]["differentially_private"]
    assert (model["records"], model["events"]) == (432, 114)


@pytest.mark.parametrize(("ties", "penalty"), [("breslow", 0.0), ("breslow", 3.0), ("efron", 3.0)])
def test_it_is_the_pooled_fit_with_baseline_and_check(ties: str, penalty: float) -> None:
    frame = load_rossi()
    model = ask(frame, {**ROSSI, "ties": ties, "penalty": penalty, "time_transform": "km"})["model"]
    seen, risk, fit = pooled(frame, model)
    names = list(table(model).index)
    np.testing.assert_allclose(table(model)["coefficient"], fit.coefficients, atol=1e-8)
    assert model["log_likelihood"] == pytest.approx(fit.log_likelihood, abs=1e-8)
    assert model["null_log_likelihood"] == pytest.approx(fit.null_log_likelihood, abs=1e-8)
    x = seen[names].to_numpy(float)
    assert model["offset"] == pytest.approx(float(x.mean(axis=0) @ fit.coefficients), abs=1e-8)
    _, residuals, _ = likelihood.evaluate_predictor(risk, (x - x.mean(axis=0)) @ fit.coefficients)
    own = np.exp((x - x.mean(axis=0)) @ fit.coefficients)
    last = (seen["time"] == model["times"][-1]) & (seen["event"] == 0)
    hazard = (seen["event"] - residuals)[last] / own[last]
    np.testing.assert_allclose(hazard, model["baseline"]["cumulative_hazard"][-1], rtol=1e-7)
    g = proportional.trend(seen["time"].to_numpy(), seen["event"].to_numpy(), "km")
    mean = (
        risk.sums(np.log(own[risk.order]), x[risk.order])[0]
        / risk.sums(np.log(own[risk.order]), np.ones((len(x), 1)))[0]
    )
    score = ((risk.event * g[risk.order])[:, None] * (x[risk.order] - mean)).sum(axis=0)
    wanted = proportional.check(names, score, np.array(model["covariance"]), "km")
    assert model["proportional_hazards"]["global"]["statistic"] == pytest.approx(
        wanted["global"]["statistic"], rel=1e-6
    )


@pytest.fixture(scope="module")
def clinic() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    rows = 600
    frame = pd.DataFrame({"age": rng.normal(60, 9, rows).round(1), "stage": rng.choice(["I", "II", "III"], rows)})
    risk = 0.04 * (frame["age"] - 60) + frame["stage"].map({"I": 0.0, "II": 0.4, "III": 0.9})
    frame["months"] = (12 * rng.exponential(np.exp(-risk))).round(2)
    frame["died"] = (rng.random(rows) < 0.7).astype(int)
    frame["twin"], frame["same"] = 2 * frame["age"] + 3, 5
    frame["odd"] = (np.arange(rows) == 11).astype(int)
    frame["spared"] = ((frame["died"] == 0) & (rng.random(rows) < 0.5)).astype(int)
    frame["cost"] = np.exp(rng.normal(0, 2.0, rows)).round(3)
    return frame


def with_feature(name: str, **entry: Any) -> dict[str, Any]:
    return {**CLINIC, "features": ["age", name], "domain": {"age": {"bounds": [30, 90]}, name: entry}}


def test_categories_bounds_gaps_and_times_beyond_the_grid(clinic: pd.DataFrame) -> None:
    frame = clinic.copy()
    frame.loc[::17, "age"], frame.loc[5::40, "stage"] = np.nan, "unknown"
    task = {**CLINIC, "missing": "complete", "domain": {**CLINIC["domain"], "age": {"bounds": [45, 75]}}}
    model = ask(frame, task)["model"]
    complete = frame[frame["age"].notna() & (frame["stage"] != "unknown")].reset_index(drop=True)
    assert (complete["months"] > 36).sum() > 5
    assert model["records"] == len(complete)
    assert list(table(model).index) == ["age", "stage=II", "stage=III"]
    _, _, fit = pooled(complete, model)
    np.testing.assert_allclose(table(model)["coefficient"], fit.coefficients, atol=1e-8)
    with pytest.raises(DataProblem, match="'age' has missing values"):
        ask(frame, CLINIC)


def test_a_dictionary_gives_domain_and_reference(clinic: pd.DataFrame) -> None:
    columns = {
        "age": {"type": "number", "bounds": [30, 90]},
        "stage": {"type": "category", "categories": ["I", "II", "III"], "reference": "II"},
    }
    task = {name: value for name, value in CLINIC.items() if name != "domain"}
    model = ask(clinic, {**task, "dictionary": {"columns": columns}})["model"]
    assert model["references"] == {"stage": "II"}
    _, _, fit = pooled(clinic, model)
    np.testing.assert_allclose(table(model)["coefficient"], fit.coefficients, atol=1e-8)


def test_a_heavy_tail_is_reached_in_shorter_steps(clinic: pd.DataFrame) -> None:
    """Newton's first step overshoots, and the sums say so."""
    frame = clinic.copy()
    frame["months"] = (12 * np.random.default_rng(1).exponential(np.exp(-0.1 * frame["cost"].clip(upper=60)))).round(2)
    result = ask(frame, with_feature("cost", bounds=[0, 400]))
    _, _, fit = pooled(frame, result["model"])
    np.testing.assert_allclose(table(result["model"])["coefficient"], fit.coefficients, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("seed", range(40))
def test_no_sum_over_a_cell_of_the_united_grid_is_about_few_records(seed: int) -> None:
    rng = np.random.default_rng(seed)
    times, least = int(rng.integers(1, 30)), int(rng.integers(1, 20))
    events, censored = rng.poisson(rng.choice([0.3, 3.0]), times), rng.poisson(rng.choice([0.0, 0.3, 3.0]), times + 1)
    masses = grid.Masses.of(np.append(events, 0), censored, None, Slots([times]))
    kept = grid.united(masses, least)
    died, left = grid.merged(np.append(events, 0), kept), grid.merged(censored, kept)
    assert died.sum() == events.sum()
    assert left.sum() == censored.sum()
    if not kept:
        assert events.sum() < least or 0 < censored.sum() < least or not _some_prefix(events, censored, least)
        return
    assert np.all(np.diff(kept) > 0)
    assert died[-1] == 0
    assert np.all(died[:-1] >= least)
    groups = np.append(left[:-2], left[-2] + left[-1])
    assert np.all((groups == 0) | (groups >= least))


def _some_prefix(events: Any, censored: Any, least: int) -> bool:
    """Whether up to some time there are enough events, and no censored records or enough."""
    died, left = np.cumsum(events), np.cumsum(censored[:-1])
    return bool(np.any((died >= least) & ((left == 0) | (left >= least))))


@pytest.mark.parametrize("columns", [1, 2, 7, 40])
def test_fewer_numbers_are_opened_about_a_cell_than_its_records_have_values(columns: int) -> None:
    least = grid.fewest_between(columns, 5)
    assert MOST_EVALUATIONS * (1 + columns) <= least * columns
    assert grid.fewest_between(columns, 1000) == 1000


@pytest.mark.parametrize(
    ("changes", "kind", "text"),
    [
        ({"times": None}, ArgumentError, "^times is needed with split='horizontal'"),
        ({"domain": None}, ArgumentError, "^domain is needed with split='horizontal'"),
        ({"domain": {"age": {"bounds": [30, 90]}}}, ArgumentError, "'stage' is not in the domain"),
        ({"times": [3.0, 1.0]}, ArgumentError, "^times must increase"),
        ({"times": [0.5, 0.6]}, ThresholdError, "too few events lie between the times"),
        ({"time": "stage", "features": ["age"]}, DataProblem, "'stage' holds text"),
        ({"event": "months", "time": "died"}, DataProblem, "must hold 1 for an event"),
        ({"max_rounds": 12, "tolerance": 1e-9, "ties": "breslow", "penalty": 1e-3}, None, ""),
    ],
)
def test_what_is_asked_wrongly_is_named(clinic: pd.DataFrame, changes: dict[str, Any], kind: Any, text: str) -> None:
    if kind is None:
        assert ask(clinic, {**CLINIC, **changes})["federation"]["rounds"] <= 12
        return
    with pytest.raises(kind, match=text):
        ask(clinic, {**CLINIC, **changes})


@pytest.mark.parametrize(
    ("name", "entry", "kind", "text"),
    [
        ("twin", {"bounds": [60, 190]}, ArgumentError, "age, twin are collinear"),
        ("same", {"bounds": [0, 10]}, ArgumentError, "'same' is constant within"),
        ("odd", {"bounds": [0, 1]}, ThresholdError, "'odd' sets fewer records apart"),
        ("odd", {"categories": [0, 1]}, ThresholdError, "'odd' sets fewer records apart"),
        ("cost", {"bounds": [300, 1e9]}, (ThresholdError, ArgumentError), "'cost'"),
        ("cost", {"bounds": [0, 1e9]}, ArgumentError, "bounds of 'cost' are far wider"),
        (
            "stage",
            {"categories": ["I", "II", "III", "IV"]},
            ArgumentError,
            "'stage' is constant within its bounds, or has a category",
        ),
        ("spared", {"bounds": [0, 1]}, ConvergenceError, "."),
    ],
)
def test_columns_that_say_nothing_or_too_much_are_named(
    clinic: pd.DataFrame, name: str, entry: Any, kind: Any, text: str
) -> None:
    with pytest.raises(kind, match=text):
        ask(clinic, with_feature(name, **entry))


@pytest.mark.parametrize("side", ["below", "above"])
def test_bounds_around_few_records(clinic: pd.DataFrame, side: str) -> None:
    """All but one record or few are moved to one bound."""
    cost = np.unique(clinic["cost"])
    bounds = [0.0, cost[:2].mean()] if side == "below" else [cost[-2:].mean(), 1e4]
    with pytest.raises(ThresholdError, match="'cost' sets fewer records apart"):
        ask(clinic, with_feature("cost", bounds=bounds))


def test_bounds_with_few_records_between(clinic: pd.DataFrame) -> None:
    """The mean would tell the value of the only record that is at neither bound; of twenty it tells a sum."""
    cost = np.sort(np.unique(clinic["cost"]))
    middle = len(cost) // 2
    around = [[(cost[middle - reach] + cost[middle - reach - 1]) / 2, cost[middle + reach]] for reach in (0, 20)]
    narrow = with_feature("cost", bounds=[around[0][0], (cost[middle] + cost[middle + 1]) / 2])
    written = {name: value for name, value in narrow.items() if name != "features"} | {"formula": "~ age + cost"}
    written["domain"] = {name: written["domain"][name] for name in ("age", "cost")}
    for task in (narrow, written):
        with pytest.raises(ThresholdError, match="'cost' sets fewer records apart"):
            ask(clinic, task)
    assert ask(clinic, with_feature("cost", bounds=around[1]))["model"]["records"] == len(clinic)


def test_limits_of_the_nodes(clinic: pd.DataFrame) -> None:
    with pytest.raises(PolicyError, match="differentially private answers only"):
        ask(clinic, CLINIC, limits={"allow_non_private": False})
    with pytest.raises(ThresholdError, match="organizations"):
        ask(clinic, CLINIC, limits={"minimum_organizations": 4})
    with pytest.raises(AlgorithmError):
        ask(clinic, CLINIC, limits={"allowed_columns": "age,months"})
    with pytest.raises(ThresholdError, match="too few events"):
        ask(clinic, {**CLINIC, "features": ["age"]}, limits={"minimum_count": 300})
    with pytest.raises((PlacementError, ThresholdError)):
        ask(clinic, CLINIC, stations=1, limits={"minimum_organizations": 1})


def test_a_fit_is_one_query(clinic: pd.DataFrame, tmp_path: Any) -> None:
    parties = with_folders(by_rows(clinic, "ab"), tmp_path, "ledger")
    policies = {"*": {"ledger": "ledger", "maximum_queries": 1, "minimum_organizations": 2}}
    with OneProcess(parties=parties, policies=policies) as running:
        debits = running.run("verticox", "fit", CLINIC)["federation"]["debits"]
        assert [entry["queries"] for entry in debits.values()] == [1, 1]
        with pytest.raises(BudgetError):
            running.run("verticox", "fit", CLINIC)


def test_sums_are_for_a_fit_that_was_tallied_and_each_number_for_one_point(clinic: pd.DataFrame) -> None:
    from v6_verticox import central
    from v6_verticox.horizontal.fitting import Sums

    def again(federation: Any, stations: Any, known: Any, limit: int) -> Any:
        sums = Sums(federation, stations, known, limit)
        sums.at(np.zeros(3))
        sums.number = 0
        sums.at(np.ones(3))
        return sums

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(central, "Sums", again)
        with pytest.raises(MessageError, match="with other coefficients"):
            ask(clinic, CLINIC)
        patch.setattr(central, "tally", _untallied)
        patch.setattr(central, "Sums", Sums)
        with pytest.raises(MessageError):
            ask(clinic, CLINIC)


@pytest.mark.parametrize("what", ["domain", "features", "times", "centre"])
def test_points_are_for_the_question_that_was_tallied(clinic: pd.DataFrame, what: str) -> None:
    """Central judged bounds and grid by the tally: other ones, and another centre, are refused by stations."""
    from v6_verticox import central
    from v6_verticox.horizontal.fitting import Sums

    class Deviating(Sums):
        def information(self, sums: Any) -> Any:
            found = super().information(sums)
            question = self.tallied.question
            changed_ = {
                "domain": replace(question, domain={**question.domain, "age": {"bounds": [60, 60.1]}}),
                "features": replace(question, domain=dict(reversed(question.domain.items()))),
                "times": replace(question, times=question.times[:-1], sizes=[len(question.times) - 1]),
            }
            self.tallied = replace(self.tallied, question=changed_.get(what, question))
            if what == "centre":
                self.tallied = replace(self.tallied, centre=self.tallied.centre + 0.5)
            return found

    other = "{} has been asked for with"
    texts = {
        "domain": other.format("this fit"),
        "features": other.format("this fit"),
        "times": "a sum is asked for on another grid",
        "centre": "columns are to be centred or scaled otherwise",
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(central, "Sums", Deviating)
        with pytest.raises(MessageError, match=texts[what]):
            ask(clinic, CLINIC)


def _untallied(federation: Any, stations: Any, question: Any) -> Any:
    from v6_verticox.horizontal.tallies import Tallied

    width = len(question.labels)
    counts = np.zeros(len(question.times) + 1, dtype=np.int64)
    return Tallied(question, counts[1:], counts, np.ones(len(question.times)), None, np.zeros(width), np.ones(width))


def test_a_penalty_that_is_nothing_beside_equal_columns_is_refused(clinic: pd.DataFrame) -> None:
    with pytest.raises(ArgumentError, match=r"age, twin are collinear.*a larger penalty"):
        ask(clinic, {**with_feature("twin", bounds=[60, 190]), "penalty": 1e-300})


def test_a_feature_that_separates_the_events_is_named(clinic: pd.DataFrame) -> None:
    frame = clinic.assign(stage=np.where(clinic["died"] == 1, "II", "I"))
    domain = {**CLINIC["domain"], "stage": {"categories": ["I", "II"]}}
    with pytest.raises(ConvergenceError, match=r"stage=II(:| grow)"):
        ask(frame, {**CLINIC, "domain": domain})
    with pytest.raises(ArgumentError, match="feature 'stage' needs two categories or more"):
        ask(frame, {**CLINIC, "domain": {**domain, "stage": {"categories": ["I"]}}})
