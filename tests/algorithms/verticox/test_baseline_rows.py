"""The baseline of a model of whole records on other records: the pooled one of the rounded records, few records refused, the model held to the manifest."""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from cox_rows_kit import CLINIC, ask, rossi, table
from lifelines import CoxPHFitter
from lifelines.datasets import load_rossi
from one_process import OneProcess
from party_kit import by_rows, with_folders

from fedbayes.federation.errors import (
    ArgumentError,
    ConvergenceError,
    DataProblem,
    MessageError,
    PlacementError,
    PolicyError,
    ThresholdError,
)
from fedbayes.federation.perimeter.manifest import outline_of
from v6_verticox.horizontal.grid import Masses
from v6_verticox.horizontal.judging import hazard, partials
from v6_verticox.horizontal.slots import Slots

ROSSI, _ = rossi()


def based(frame: pd.DataFrame, model: Mapping[str, Any], stations: int = 3, **limits: Any) -> dict[str, Any]:
    return ask(frame, {"model": dict(model)}, stations, limits, "baseline")


def clinic(seed: int, rows: int = 900, slower: float = 1.0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.normal(60, 9, rows).round(1), "stage": rng.choice(["I", "II", "III"], rows)})
    risk = 0.05 * (frame["age"] - 60) + frame["stage"].map({"I": 0.0, "II": 0.5, "III": 1.0})
    died, left = slower * 15 * rng.exponential(np.exp(-risk)), rng.exponential(40, rows)
    months = np.minimum(died, left).round(2)
    return frame.assign(
        months=months,
        died=(died <= left).astype(int),
        site=rng.choice(["n", "s"], rows),
        w=rng.choice([0.5, 1.0, 2.0], rows),
        since=(months * rng.choice([0.0, 0.3, 0.8], rows) - 0.01).round(3),
    )


@cache
def fitted(*cases: tuple[str, str], ties: str = "efron") -> dict[str, Any]:
    domain = {**CLINIC["domain"], "site": {"categories": ["n", "s"]}}
    task = {**CLINIC, "domain": domain, "ties": ties, **dict(cases)}
    return dict(ask(clinic(1), task)["model"])


def pooled(frame: pd.DataFrame, model: Mapping[str, Any], told: Mapping[str, Any], stratum: str) -> list[float]:
    """Return the cumulative hazard at the told times from its definition: times up to the grid, entry down to it, ties as the model has them."""
    grid = np.array([time for time, own in zip(told["time"], told["strata"], strict=True) if own == stratum])
    own = frame[frame["site"] == stratum] if stratum != "all" else frame
    coefficients = table(model)["coefficient"]
    risk = coefficients["age"] * own["age"].clip(30, 90) - model["offset"]
    risk = np.exp(risk + own["stage"].map({"I": 0.0, "II": coefficients["stage=II"], "III": coefficients["stage=III"]}))
    weight = own["w"].to_numpy() if model["weights"] else np.ones(len(own))
    time, risk = own["months"].to_numpy(), risk.to_numpy() * weight
    entry = own["since"].to_numpy() if model["entry"] else np.full(len(own), -1.0)
    total, hazards = 0.0, []
    for place, moment in enumerate(grid):
        before = grid[place - 1] if place else -np.inf
        dead = (own["died"] == 1).to_numpy() & (before < time) & (time <= moment)
        at_risk = (time > before) & (entry < moment)
        for number in range(dead.sum()):
            share = number / dead.sum() if model["ties"] == "efron" else 0.0
            total += weight[dead].mean() / (risk[at_risk].sum() - share * risk[dead].sum())
        hazards.append(total)
    return hazards


@pytest.mark.few(3)
@pytest.mark.parametrize("ties", ["breslow", "efron"])
@pytest.mark.parametrize(
    "cases",
    [
        (),
        (("weights", "w"),),
        (("entry", "since"),),
        (("strata", "site"),),
        (("weights", "w"), ("entry", "since"), ("strata", "site")),
    ],
    ids=str,
)
def test_it_is_that_of_the_pooled_records(cases: Any, ties: str) -> None:
    model, frame = fitted(*cases, ties=ties), clinic(2, 700, slower=2.0)
    result = based(frame, model)
    told = result["baseline"]
    strata = ["n", "s"] if model["strata"] else ["all"]
    assert list(dict.fromkeys(told["strata"])) == strata
    wanted = [value for stratum in strata for value in pooled(frame, model, told, stratum)]
    np.testing.assert_allclose(told["cumulative_hazard"], wanted, rtol=1e-7)
    np.testing.assert_allclose(told["survival"], np.exp(-np.array(wanted)), rtol=1e-7)
    assert set(told["time"]) <= set(CLINIC["times"])
    assert result["federation"]["rounds"] == 3
    assert [entry["queries"] for entry in result["federation"]["debits"].values()] == [1, 1, 1]
    assert result["privacy"]["differentially_private"] is False


def test_on_the_records_of_the_fit_it_is_the_models_own_and_that_of_lifelines() -> None:
    frame = load_rossi()
    frame[["age", "prio"]] = frame[["age", "prio"]].clip([15, 0], [40, 18], axis=1)  # as the domain does
    model = ask(frame, {**ROSSI, "ties": "efron"})["model"]
    told = based(frame, model, 2)["baseline"]
    assert told["time"] == model["times"]
    np.testing.assert_allclose(told["cumulative_hazard"], model["baseline"]["cumulative_hazard"], rtol=1e-7)
    grid = np.array(told["time"])
    cell = np.searchsorted(grid, frame["week"])
    seen = frame.drop(columns=["week", "arrest"]).assign(t=grid[np.minimum(cell, len(grid) - 1)], e=frame["arrest"])
    peer = CoxPHFitter().fit(seen, "t", "e", fit_options={"precision": 1e-12})
    as_breslow = based(frame, {**model, "ties": "breslow"}, 2)["baseline"][
        "cumulative_hazard"
    ]  # as lifelines' baseline is, whatever its ties
    np.testing.assert_allclose(as_breslow, peer.baseline_cumulative_hazard_.loc[grid].to_numpy()[:, 0], rtol=1e-6)


def test_the_split_over_stations_changes_nothing() -> None:
    model, frame = fitted(), clinic(3)
    found = [based(frame, model, stations)["baseline"]["cumulative_hazard"] for stations in (2, 5)]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-8)


def test_sums_at_risk_follow_from_who_leaves_and_who_enters() -> None:
    rng = np.random.default_rng(4)
    slots = Slots([4, 3])
    stratum = rng.integers(0, 2, 60)
    sizes, starts = np.array([4, 3])[stratum], slots.starts[:-1][stratum]
    last = rng.integers(0, sizes + 1)
    first = rng.integers(0, last + 1)
    died, weight = (rng.random(60) < 0.5) & (last < sizes), rng.random(60)
    by = [
        np.bincount(place, part, minlength=slots.count)[None]
        for place, part in ((starts + last, weight * died), (starts + last, weight * ~died), (starts + first, weight))
    ]
    found = Masses(*by).at_risk(slots)
    np.testing.assert_allclose(found, slots.at_risk(weight[:, None], starts + first, starts + last)[:, 0])


# -- what is refused -----------------------------------------------------------------------------------------------


def steep(model: Mapping[str, Any], factor: float) -> dict[str, Any]:
    """Return a model with crafted coefficients, for nodes without a folder database, which know no seals."""
    rows = [{**row, "coefficient": row["coefficient"] * factor} for row in model["coefficients"]]
    return {**model, "coefficients": rows, "offset": model["offset"] * factor}


@pytest.mark.parametrize("factor", [12.0, 200.0, -200.0])
def test_risks_that_few_records_carry_are_refused(factor: float) -> None:
    """Between two times a sum of relative risks would be that of the record far above the others."""
    with pytest.raises((ThresholdError, ConvergenceError), match=r"^(times: too few|model: the risks)"):
        based(clinic(5), steep(fitted(), factor))


def test_control_the_same_model_with_moderate_effects_is_answered() -> None:
    frame, model = clinic(5), steep(fitted(), 1.5)
    told = based(frame, model)["baseline"]
    np.testing.assert_allclose(told["cumulative_hazard"], pooled(frame, model, told, "all"), rtol=1e-6)


def test_no_sum_is_carried_by_few_records() -> None:
    """Between two told times the risks of who has the event, and of who has not, are as those of so many records that are alike."""
    frame, model = clinic(6), steep(fitted(), 1.5)
    told = based(frame, model, minimum_count=25)["baseline"]
    coefficients = table(model)["coefficient"]
    risk = coefficients["age"] * frame["age"].clip(30, 90)
    risk = np.exp(
        risk + frame["stage"].map({"I": 0.0, "II": coefficients["stage=II"], "III": coefficients["stage=III"]})
    )
    place = np.searchsorted(told["time"], frame["months"])
    seen = pd.DataFrame({"risk": risk, "died": (frame["died"] == 1) & (place < len(told["time"]))})
    seen["place"] = np.minimum(
        place, len(told["time"]) - 1
    )  # who is observed beyond the last time counts with who is censored before it
    for _, own in seen.groupby(["place", "died"]):
        assert own["risk"].sum() ** 2 / (own["risk"] ** 2).sum() >= 25


@pytest.mark.parametrize(
    ("frame", "change", "error", "text"),
    [
        (lambda: clinic(7, 60), {}, ThresholdError, "^times: too few"),
        (lambda: clinic(7).assign(stage="IV"), {}, DataProblem, "stage"),
        (lambda: clinic(7).assign(months=np.nan), {}, DataProblem, "months"),
        (lambda: clinic(7), {"domain": None}, ArgumentError, "^model: it has no domain"),
        (lambda: clinic(7), {"ties": "exact"}, ArgumentError, "^model: its domain, references"),
        (lambda: clinic(7), {"strata": "site"}, ArgumentError, "^model: strata and baseline"),
        (lambda: clinic(7), {"entry": "nothing"}, Exception, "nothing"),
        (lambda: clinic(7), {"weights": 3}, ArgumentError, "^model: weights"),
    ],
)
def test_records_and_models_that_do_not_fit_are_refused(frame: Any, change: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        based(frame(), {**fitted(), **change})


def test_arguments_of_linked_records_are_named() -> None:
    with pytest.raises(ArgumentError, match=r"^rows_aligned is for columns of the same records"):
        ask(clinic(8), {"model": fitted(), "rows_aligned": True}, function="baseline")


def test_nodes_without_exact_answers_and_one_station_alone_refuse() -> None:
    with pytest.raises(PolicyError):
        based(clinic(8), fitted(), allow_non_private=False)
    with pytest.raises(PlacementError):
        based(clinic(8), fitted(), stations=1, minimum_organizations=1)


def test_nodes_with_a_folder_database_answer_about_fits_of_their_own_alone(tmp_path: Any) -> None:
    frame = clinic(9)
    parties = with_folders(by_rows(frame, ["a", "b", "c"]), tmp_path)
    with OneProcess(parties, policies={"*": {"ledger": "vault", "minimum_organizations": 2}}) as running:
        result = running.run("verticox", "fit", CLINIC)
        own = running.run("verticox", "baseline", {"model": result["model"]})["baseline"]
        np.testing.assert_allclose(
            own["cumulative_hazard"], result["model"]["baseline"]["cumulative_hazard"], rtol=1e-7
        )
        with pytest.raises(PolicyError, match="only about models that a fit"):
            running.run("verticox", "baseline", {"model": steep(result["model"], 1.01)})


@pytest.mark.parametrize("unclaimed", [False, True], ids=["held", "control"])
def test_a_baseline_is_that_of_the_model_that_the_manifest_names(unclaimed: bool) -> None:
    """Central asks for the risks under coefficients of its choice; the control is a station that does not look."""
    frame, model = clinic(10), fitted()
    crafted = steep(model, 1.2)
    honest, read = based(frame, model)["baseline"], hazard.risks_of

    def other(federation: Any, stations: Any, request: Any, counts: Any) -> Any:
        return read(federation, stations, replace(request, model=outline_of(crafted)), counts)

    with ExitStack() as open_:
        open_.enter_context(mock.patch.object(hazard, "risks_of", other))
        if unclaimed:
            open_.enter_context(mock.patch.object(partials, "check_claimed"))
            assert based(frame, model)["baseline"]["cumulative_hazard"] != honest["cumulative_hazard"]
            return
        with pytest.raises(MessageError, match="none that the job's manifest names"):
            based(frame, model)
