"""Weights, times of entry, strata and robust errors of fits to whole records: the pooled answers of lifelines, statsmodels and the definitions."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from cox_rows_kit import CLINIC, ask, table
from lifelines import CoxPHFitter
from statsmodels.duration.hazard_regression import PHReg

from fedbayes.federation.errors import ArgumentError, DataProblem, MessageError, ThresholdError
from fedbayes.federation.rounds import Federation
from v6_verticox import central
from v6_verticox.horizontal import partials

NAMES = ["age", "stage=II", "stage=III"]


@pytest.fixture(scope="module")
def ward() -> pd.DataFrame:
    """600 patients with weights, times of entry, sites and families of four, which are at one station each."""
    rng = np.random.default_rng(8)
    rows = 600
    frame = pd.DataFrame({"age": rng.normal(60, 9, rows).round(1), "stage": rng.choice(["I", "II", "III"], rows)})
    frame["family"] = np.repeat(np.arange(rows // 4), 4)
    shared = np.repeat(rng.normal(0, 0.7, rows // 4), 4)
    risk = 0.04 * (frame["age"] - 60) + frame["stage"].map({"I": 0.0, "II": 0.4, "III": 0.9}) + shared
    frame["months"] = (12 * rng.exponential(np.exp(-risk))).round(2) + 0.01
    frame["died"] = (rng.random(rows) < 0.7).astype(int)
    frame["since"] = (frame["months"] * rng.choice([0.0, 0.0, 0.3, 0.7], rows)).round(3) - 0.005
    frame["weight"] = rng.choice([0.5, 1.0, 2.5, 4.0], rows)
    frame["site"] = rng.choice(["north", "south"], rows)
    return frame


def dealt(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the records so that `ask` deals out whole families to three stations."""
    home = frame["family"] % 3
    return pd.concat(
        [frame[home == place].reset_index(drop=True).assign(_place=place) for place in range(3)]
    ).sort_index(kind="stable")


def rounded(frame: pd.DataFrame, model: Mapping[str, Any]) -> pd.DataFrame:
    """Return the pooled records as the fit saw them: exits up to the grid of their stratum, entries down."""
    found = pd.DataFrame({"weight": frame["weight"], "family": frame["family"], "site": frame["site"]})
    grids = model["times"] if isinstance(model["times"], dict) else dict.fromkeys(["north", "south"], model["times"])
    for site, times in grids.items():
        own, grid = frame["site"] == site, np.array(times)
        cell = np.searchsorted(grid, frame.loc[own, "months"])
        found.loc[own, "time"] = grid[np.minimum(cell, len(grid) - 1)]
        found.loc[own, "event"] = np.where(cell < len(grid), frame.loc[own, "died"], 0)
        before = np.searchsorted(grid, frame.loc[own, "since"], side="right")
        found.loc[own, "since"] = np.append(0.0, grid)[before]
    found["age"] = frame["age"]
    for stage in ("II", "III"):
        found[f"stage={stage}"] = (frame["stage"] == stage).astype(float)
    return found


def score_residuals(seen: pd.DataFrame, beta: Any, ties: str, strata: Any) -> Any:
    """Return the slopes of the weighted score in the case weights, times these, from the definition, (records, columns)."""
    x, weight = seen[NAMES].to_numpy(), seen["weight"].to_numpy()
    time, since, event = (seen[name].to_numpy() for name in ("time", "since", "event"))
    risk = np.exp(x @ beta)
    found = np.zeros_like(x)
    for code, moment in sorted(set(zip(strata[event == 1], time[event == 1], strict=True))):
        own = (strata == code) & (since < moment) & (moment <= time)
        dead = own & (time == moment) & (event == 1)
        count = dead.sum()
        for place in range(count):
            part = place / count if ties == "efron" else 0.0
            share = own - part * dead
            total = (share * weight * risk).sum()
            mean = (share * weight * risk) @ x / total
            found += (dead / count)[:, None] * (x - mean)
            found -= (weight[dead].mean() * share * risk / total)[:, None] * (x - mean)
    return weight[:, None] * found


def lifelines_fit(seen: pd.DataFrame, asked: Mapping[str, Any]) -> CoxPHFitter:
    columns = {"weights": "weight", "entry": "since", "strata": "site"}
    used = [columns[name] for name in asked if name in columns]
    names = {f"{name}_col" if name != "strata" else name: columns[name] for name in asked if name in columns}
    if "entry" in asked:
        seen = seen[seen["since"] < seen["time"]]
    return CoxPHFitter().fit(
        seen[["time", "event", *NAMES, *used]], "time", "event", fit_options={"precision": 1e-12}, robust=False, **names
    )


ASKED = {"weights": "weight", "entry": "since", "strata": "site"}
SITES = {"domain": {**CLINIC["domain"], "site": {"categories": ["north", "south"]}}}


def asked_with(*names: str, **more: Any) -> dict[str, Any]:
    return {**CLINIC, **{name: ASKED[name] for name in names}, **(SITES if "strata" in names else {}), **more}


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "names", [("weights",), ("entry",), ("strata",), ("weights", "entry", "strata")], ids=lambda names: "-".join(names)
)
def test_it_is_lifelines_on_the_pooled_records(ward: pd.DataFrame, names: tuple[str, ...]) -> None:
    result = ask(dealt(ward), asked_with(*names, ties="efron"))
    model = result["model"]
    seen = rounded(ward, model)
    peer = lifelines_fit(seen, dict.fromkeys(names))
    found = table(model)
    np.testing.assert_allclose(found["coefficient"], peer.params_[NAMES], rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(model["naive_covariance"], peer.variance_matrix_.loc[NAMES, NAMES], rtol=1e-5)
    assert model["log_likelihood"] == pytest.approx(peer.log_likelihood_, abs=1e-5)
    assert result["federation"]["rounds"] <= 14
    assert (model["weights"], model["entry"], model["strata"]) == tuple(
        ASKED[name] if name in names else None for name in ASKED
    )


def test_the_warning_tells_how_many_times_are_left_in_each_stratum(ward: pd.DataFrame) -> None:
    result = ask(dealt(ward), asked_with("strata"))
    left = sorted({len(grid) for grid in result["model"]["times"].values()})
    told = f"{len(CLINIC['times'])} times were merged into {' to '.join(map(str, left))} in each stratum, so that"
    assert next(text for text in result["warnings"] if "merged into" in text).startswith(told)


@pytest.mark.parametrize("ties", ["breslow", "efron"])
def test_entry_and_strata_are_those_of_statsmodels(ward: pd.DataFrame, ties: str) -> None:
    model = ask(dealt(ward), asked_with("entry", "strata", ties=ties))["model"]
    seen = rounded(ward, model)
    seen = seen[seen["since"] < seen["time"]]
    after = seen["since"] + 1e-6  # it counts who enters at a time as at risk there
    peer = PHReg(seen["time"], seen[NAMES], status=seen["event"], entry=after, strata=seen["site"], ties=ties).fit()
    np.testing.assert_allclose(table(model)["coefficient"], peer.params, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(table(model)["standard_error"], peer.bse, rtol=1e-5)


@pytest.mark.few(3)
@pytest.mark.parametrize("ties", ["breslow", "efron"])
@pytest.mark.parametrize(
    ("names", "more"),
    [((), {"robust": True}), ((), {"cluster": "family"}), (("weights", "entry", "strata"), {"cluster": "family"})],
)
def test_robust_errors_are_the_sandwich(
    ward: pd.DataFrame, ties: str, names: tuple[str, ...], more: dict[str, Any]
) -> None:
    result = ask(dealt(ward), asked_with(*names, ties=ties, penalty=0.5, **more))
    model = result["model"]
    seen = rounded(ward, model)
    if "weights" not in names:
        seen["weight"] = 1.0
    if "entry" not in names:
        seen["since"] = -1.0
    strata = seen["site"].to_numpy() if "strata" in names else np.zeros(len(seen))
    residuals = score_residuals(seen, table(model)["coefficient"].to_numpy(), ties, strata)
    if "cluster" in more:
        residuals = pd.DataFrame(residuals).groupby(seen["family"].to_numpy()).sum().to_numpy()
        assert model["clusters"] == ward["family"].nunique()
    naive = np.array(model["naive_covariance"])
    wanted = naive @ (residuals.T @ residuals) @ naive
    np.testing.assert_allclose(model["covariance"], wanted, rtol=1e-6)
    np.testing.assert_allclose(table(model)["standard_error"], np.sqrt(np.diag(wanted)), rtol=1e-6)
    assert model["robust"]


@pytest.mark.audit
def test_control_unchecked_robust_errors_with_and_without_one_pair_tell_of_it(ward: pd.DataFrame) -> None:
    place = np.arange(len(ward))
    frame = ward.assign(pair=np.where(place == 7, 4, place))
    with mock.patch("v6_verticox.horizontal.settling.carried_by_few", return_value=False):
        models = [ask(frame, {**CLINIC, **one})["model"] for one in ({"robust": True}, {"cluster": "pair"})]
    naive = np.linalg.inv(models[0]["naive_covariance"])
    told = naive @ (np.array(models[1]["covariance"]) - models[0]["covariance"]) @ naive
    seen = rounded(ward, models[0]).assign(weight=1.0, since=-1.0)
    residuals = score_residuals(seen, table(models[0])["coefficient"].to_numpy(), "breslow", np.zeros(len(seen)))
    pair = np.outer(residuals[4], residuals[7])
    np.testing.assert_allclose(told, pair + pair.T, atol=1e-6)


def test_the_definition_of_score_residuals_is_that_of_lifelines(ward: pd.DataFrame) -> None:
    """Its score residuals take no heed of ties, so every record has a time of its own here."""
    seen = rounded(ward, {"times": [1000.0]}).assign(
        time=np.argsort(np.argsort(ward["months"])) + 1.0, event=ward["died"], since=0.0
    )
    fits = [
        CoxPHFitter().fit(
            seen[["time", "event", "weight", "family", *NAMES]]
            if cluster
            else seen[["time", "event", "weight", *NAMES]],
            "time",
            "event",
            weights_col="weight",
            cluster_col=cluster,
            robust=bool(cluster),
            fit_options={"precision": 1e-12},
        )
        for cluster in (None, "family")
    ]
    beta, naive = fits[0].params_[NAMES].to_numpy(), fits[0].variance_matrix_.loc[NAMES, NAMES].to_numpy()
    residuals = pd.DataFrame(score_residuals(seen, beta, "breslow", np.zeros(len(seen))))
    sums = residuals.groupby(seen["family"].to_numpy()).sum().to_numpy()
    errors = np.sqrt(np.diag(naive @ (sums.T @ sums) @ naive))
    np.testing.assert_allclose(errors, fits[1].standard_errors_[NAMES], rtol=1e-6)


def lone(rows: int) -> Any:
    """Return weights of which that of one record is one of many, and its square is most of all squares."""
    return np.where(np.arange(rows) == 7, 30.0, np.random.default_rng(3).uniform(1.0, 2.0, rows))


def test_lone_weights_are_let_through_without_squares(ward: pd.DataFrame) -> None:
    """The control."""
    assert ask(ward.assign(weight=lone(len(ward))), asked_with("weights"))["model"]["coefficients"]


def test_score_residuals_are_added_up_for_one_hazard(ward: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    """A central that deviates would have them by as many means as the records of an interval have values; hazards follow from the sums at the point."""
    honest, again = Federation._ask, list[dict[int, Any]]()

    def ask_twice(self: Federation, asked: str, request: Any, *rest: Any) -> Any:
        replies = honest(self, asked, request, *rest)
        if asked == "partial_scores":
            again.append(honest(self, asked, replace(request, mean=request.mean * 0.0), *rest))
        return replies

    monkeypatch.setattr(Federation, "_ask", ask_twice)
    ask(dealt(ward), asked_with(robust=True))
    assert all("asked for with other told" in str(one["error"]) for one in again.pop().values())
    kept = partials.once
    monkeypatch.setattr(
        partials, "once", lambda station, name, *of, **told: name == "scored" or kept(station, name, *of, **told)
    )
    ask(dealt(ward), asked_with(robust=True))
    assert not any("error" in one for one in again.pop().values()), "control"


def test_residuals_that_nobody_asked_for_are_not_added_up(ward: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    """A central that deviates would pass by what is checked of weights for robust errors."""
    honest = central.asked_by_rows
    monkeypatch.setattr(central, "asked_by_rows", lambda *args: replace(honest(*args), robust=False))
    with pytest.raises(MessageError, match="score residuals are no part of this question"):
        ask(dealt(ward), asked_with("weights", robust=True))


@pytest.mark.parametrize(
    ("changes", "kind", "text"),
    [
        ({"weights": "one"}, DataProblem, "weights column 'one' weighs fewer records"),
        ({"weights": "rare"}, DataProblem, "weights column 'rare' weighs fewer records"),
        ({"weights": "lone", "robust": True}, DataProblem, "weights column 'lone' weighs fewer records"),
        ({"weights": "zero"}, DataProblem, "weights column 'zero' has weights outside"),
        ({"weights": "stage", "features": ["age"]}, DataProblem, "weights column 'stage' must hold numbers"),
        ({"weights": "gaps"}, DataProblem, "'gaps' has missing values"),
        ({"weights": "nowhere"}, DataProblem, "'nowhere'"),
        ({"entry": "late"}, DataProblem, "entry column 'late' has records that enter at or after"),
        ({"entry": "gaps"}, DataProblem, "'gaps' has missing values"),
        ({"entry": "stage", "features": ["age"]}, DataProblem, "entry column 'stage' must hold numbers"),
        ({"entry": "few"}, ThresholdError, "entry column 'few' has fewer records than a node reveals"),
        ({"cluster": "same"}, ThresholdError, "cluster column 'same' has too few clusters"),
        ({"cluster": "alone"}, ThresholdError, "cluster column 'alone' has too few clusters"),
        (
            {"cluster": "pair"},
            ThresholdError,
            "cluster column 'pair' has fewer records than a node reveals, or fewer that weigh",
        ),
        ({"cluster": "heavy", "weights": "light"}, ThresholdError, "cluster column 'heavy' has fewer records than a"),
        ({"strata": "site"}, ArgumentError, "'site' is not in the domain"),
        ({"strata": "age", "features": ["stage"]}, ArgumentError, "^strata: the domain must list the categories"),
        (
            {"strata": "lonely", "domain": {**CLINIC["domain"], "lonely": {"categories": [0, 1]}}},
            ThresholdError,
            "of a stratum",
        ),
        ({"weights": "since", "entry": "since"}, ArgumentError, "must be different columns"),
        ({"entry": "age"}, ArgumentError, "'age' is named for another role"),
        ({"split": "vertical", "robust": True, "solver": "bfgs"}, ArgumentError, "^robust of a vertical fit is for"),
        ({"split": "vertical", "cluster": "family"}, ArgumentError, "^cluster and id_column must be different columns"),
    ],
)
def test_what_is_asked_wrongly_or_singles_out_records_is_named(
    ward: pd.DataFrame, changes: dict[str, Any], kind: Any, text: str
) -> None:
    frame, place = ward.copy(), np.arange(len(ward))
    frame["one"] = np.where(place == 7, 900.0, 1.0)
    frame["lone"] = lone(len(frame))
    frame["rare"] = np.where(place % 200 == 7, 2.0, 1.0)
    frame["zero"] = np.where(place % 2 == 0, 0.0, 1.0)
    frame["gaps"] = np.where(place == 3, np.nan, 0.0)
    frame["late"] = frame["months"]
    frame["few"] = np.where((place < 6) & (frame["months"] > 3), 2.0, -1.0)
    frame["alone"] = (place == 5).astype(int)
    frame["same"] = 1
    frame["pair"] = np.where(place == 7, 4, place)
    frame["light"] = np.where((place >= 100) & (place < 220), 0.001, 1.0)
    frame["heavy"] = np.where(frame["light"] < 1, place - place % 6 + place % 3, frame["pair"])
    frame["lonely"] = (place < 20).astype(int)
    task = {**CLINIC, **changes}
    if task["split"] == "vertical":
        task |= {"id_column": "family", "times": None, "domain": None}
    with pytest.raises(kind, match=text):
        ask(frame, task)


def test_who_enters_and_who_is_censored_are_never_few_between_two_times(ward: pd.DataFrame) -> None:
    model = ask(dealt(ward), asked_with("entry"))["model"]
    times = np.array(model["times"])
    cell, first = np.searchsorted(times, ward["months"]), np.searchsorted(times, ward["since"], side="right")
    assert len(times) >= 8
    for place in range(len(times) - 1):
        assert ((cell == place) & (ward["died"] == 1)).sum() >= 14
        others = ((cell == place) & (ward["died"] == 0)) | (first == place + 1)
        assert others.sum() == 0 or others.sum() >= 14


def test_weights_of_one_are_none(ward: pd.DataFrame) -> None:
    frame = ward.assign(weight=1.0)
    plain, weighted = (ask(dealt(frame), asked_with(*names))["model"] for names in ((), ("weights",)))
    np.testing.assert_allclose(table(plain)["coefficient"], table(weighted)["coefficient"], atol=1e-8)
    assert plain["log_likelihood"] == pytest.approx(weighted["log_likelihood"], abs=1e-7)


def test_a_record_of_weight_two_is_two_records(ward: pd.DataFrame) -> None:
    """With Breslow's ties; the baseline hazard and the likelihood too."""
    frame = ward.assign(weight=np.where(np.arange(len(ward)) % 2, 2.0, 1.0))
    twice = pd.concat([frame, frame[frame["weight"] == 2.0]])
    weighted = ask(frame, asked_with("weights", times=[3.0, 9.0, 24.0]))["model"]
    doubled = ask(twice, asked_with(times=[3.0, 9.0, 24.0]))["model"]
    assert weighted["times"] == doubled["times"]
    np.testing.assert_allclose(table(weighted)["coefficient"], table(doubled)["coefficient"], atol=1e-7)
    np.testing.assert_allclose(weighted["naive_covariance"], doubled["covariance"], rtol=1e-6)
    assert weighted["log_likelihood"] == pytest.approx(doubled["log_likelihood"], abs=1e-6)
    shift = np.exp(weighted["offset"] - doubled["offset"])
    np.testing.assert_allclose(
        np.array(weighted["baseline"]["cumulative_hazard"]),
        shift * np.array(doubled["baseline"]["cumulative_hazard"]),
        rtol=1e-6,
    )
