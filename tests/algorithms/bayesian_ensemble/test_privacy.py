"""What leaves a station: uniform votes, sealed tallies, messages whose sizes do not depend on the data; secret members stay."""

import base64
import json
from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess
from party_kit import remembering, with_folders

from fedbayes.federation.embedded import EmbeddedFederation
from fedbayes.federation.errors import DataProblem, MessageError, PolicyError, ThresholdError
from fedbayes.federation.rounds import Federation
from v6_bayesian_ensemble import local, scoring

NAME = "bayesian_ensemble"
DOMAIN = {
    "smoke": {"categories": ["no", "yes"]},
    "cough": {"categories": ["often", "rare"]},
    "xray": {"categories": [0, 1]},
    "fever": {"categories": ["high", "none"]},
    "ill": {"categories": ["no", "yes"]},
}
GIVEN = {"label": "ill", "id_column": "id", "structure": "naive", "domain": DOMAIN, "bins": {"age": [40.0, 60.0]}}


def recorded(kit, seed: int) -> tuple[list[dict], list[dict]]:
    """Return the transcript and the results of fit, evaluate and classify."""
    parties = kit.vertical(kit.population(seed))
    with EmbeddedFederation(parties=parties, helpers=["helper"], policies=kit.limits, record=True) as embedded:
        fitted = embedded.run(NAME, "fit", GIVEN)
        asked = {"model": fitted["model"], "id_column": "id"}
        results = [fitted, embedded.run(NAME, "evaluate", asked), embedded.run(NAME, "classify", asked)]
        return list(embedded.transcript), results


@pytest.fixture(scope="module")
def runs(kit):
    """What is recorded of a seed: ``runs(seed)``, once."""
    return cache(lambda seed: recorded(kit, seed))


CENTRAL = ("fit", "evaluate", "classify")


def sizes(transcript: list[dict]) -> Counter:
    return Counter(
        (message["organization"], message["function"], len(json.dumps(message["result"])) // 256)
        for message in transcript
        if message["function"] not in CENTRAL
    )


@pytest.mark.audit
def test_other_data_give_messages_of_the_same_number_and_size(runs) -> None:
    (first, one), (second, other) = runs(1), runs(2)
    assert sizes(first) == sizes(second)
    assert one[0]["model"]["members"] != other[0]["model"]["members"]


def test_only_declared_rounds_are_run_and_nothing_readable_travels(runs) -> None:
    transcript, results = runs(1)
    declared = {"partial_columns", "partial_open_channel", "partial_submit", "partial_match", "partial_tables"}
    declared |= {"partial_extend", "partial_votes", "partial_tally"}
    for result in results:
        assert {entry["function"] for entry in result["federation"]["per_round"]} <= declared
    for message in transcript:
        if message["function"] not in CENTRAL:
            text = json.dumps(message["result"])
            assert "p0007" not in text
            assert "often" not in text


def test_no_station_gets_the_network_of_another(runs) -> None:
    transcript, _ = runs(1)
    for message in transcript:
        if message["function"] == "partial_votes":
            text = json.dumps(message["input"])
            for name, home in {"smoke": 0, "xray": 1, "fever": 2}.items():
                mine = message["organization"] == f"station{home}"
                assert (f'\\"{name}\\": {{\\"states\\"' in text or f'"{name}": {{"states"' in text) <= mine


def test_votes_are_masked_uniformly() -> None:
    from fedbayes.mpc.secure_sum import pairwise_mask, reconstruct
    from fedbayes.randomness import secret_bytes
    from v6_bayesian_ensemble import votes

    beliefs = np.tile([0.25, 0.75], (2000, 1))
    ballot = votes.encode(*votes.ballot(beliefs, np.ones(2, dtype=bool), "mean", 0.5, False))
    keys = {pair: secret_bytes(32) for pair in ((1, 2), (1, 3), (2, 3))}
    masked = []
    for own in (1, 2, 3):
        peers = {peer: keys[min(own, peer), max(own, peer)] for peer in (1, 2, 3) if peer != own}
        masked.append(ballot + pairwise_mask(own, peers, "votes", ballot.shape))
    added, behind = votes.decode(reconstruct(masked), 2000, 2)
    assert added / behind == pytest.approx(beliefs, abs=1e-8)
    tops = np.bincount((masked[0] >> np.uint64(60)).astype(np.int64), minlength=16)
    assert ((tops - 500.0) ** 2 / 500.0).sum() < 80.0  # chi-squared with 15 degrees: beyond 80 once in 1e10


def test_results_say_that_they_are_not_private_and_who_learns_what(runs) -> None:
    _, results = runs(1)
    for result in results:
        assert result["privacy"]["differentially_private"] is False
        assert result["privacy"]["reason"]
        assert "central" in result["privacy"]["reveals"]
    assert "helper" in results[0]["privacy"]["reveals"]
    assert "label_holder" in results[1]["privacy"]["reveals"]


def test_secret_members_stay_and_vote(table, kit, tmp_path) -> None:
    parties = with_folders(kit.horizontal(table), tmp_path)
    limits = {"*": {**kit.limits["*"], "ledger": "vault"}}
    given = {**GIVEN, "split": "horizontal"}
    records = {name: table[name].tolist()[:40] for name in ("smoke", "age", "cough", "xray", "fever")}
    with EmbeddedFederation(parties=parties, policies=limits, record=True) as federation:
        plain = federation.run(NAME, "fit", given)
        hidden = federation.run(NAME, "fit", {**given, "secret": True})
        votes = [
            federation.run(NAME, "classify", {"model": result["model"], "records": records})["model"]["probabilities"]
            for result in (plain, hidden)
        ]
        texts = [json.dumps(m["result"]) for m in federation.transcript if m["function"] == "partial_outside"]
    assert all(member["network"] is None and member["secret"] for member in hidden["model"]["members"])
    assert "probabilities" not in json.dumps(hidden["model"])
    assert np.asarray(votes[1]) == pytest.approx(np.asarray(votes[0]), abs=2e-6)
    assert len(texts) == 3
    assert all(len(list((tmp_path / name).glob("fedbayes-member-*.json"))) == 1 for name in parties)
    assert base64.b64encode(b"probabilities").decode() not in "".join(texts)


@pytest.mark.parametrize("held", [True, False])
def test_secret_members_vote_on_the_researchers_records_alone(table, kit, tmp_path, held) -> None:
    """By enough records of its own choice a central that deviates would know the networks that stay."""
    limits = {"*": {**kit.limits["*"], "ledger": "vault"}}
    asked = {"records": {name: table[name].tolist()[:4] for name in ("smoke", "age", "cough", "xray", "fever")}}
    asking, answers = Federation._ask, []

    def twice(self, function, request, organizations, timeout, last):
        if function == "partial_outside":
            asking(self, function, request, organizations, timeout, False)
            others = {name: cells[::-1] for name, cells in request.records.items()}
            answers.extend(
                asking(self, function, replace(request, records=others), organizations, timeout, last).values()
            )
            raise MessageError("central has what it wants")
        return asking(self, function, request, organizations, timeout, last)

    unheld = nullcontext() if held else mock.patch.object(local, "scored_once")
    with OneProcess(with_folders(kit.horizontal(table), tmp_path), policies=limits) as federation:
        asked["model"] = federation.run(NAME, "fit", {**GIVEN, "split": "horizontal", "secret": True})["model"]
        with unheld, mock.patch.object(Federation, "_ask", twice), pytest.raises(MessageError):
            federation.run(NAME, "classify", asked)
    assert len(answers) == 3
    assert all(("records are scored once" in str(answer.get("error"))) is held for answer in answers)


def four(split: str) -> dict[str, pd.DataFrame]:
    """Return four stations with rows and the label of their own, and of united records a feature."""
    draw, parties = np.random.default_rng(1), {}
    for place, name in enumerate("abcd"):
        x, z = draw.integers(0, 2, (2, 80))
        columns = {"x": x, "z": z} if split == "horizontal" else {"xzxz"[place]: x}
        ill = np.where(x ^ (draw.random(80) < 0.2), "yes", "no")
        parties[name] = pd.DataFrame({"id": [f"{name}{row}" for row in range(80)], **columns, "ill": ill})
    return parties


@pytest.mark.few(2)
@pytest.mark.parametrize("split", ["horizontal", "hybrid"])
@pytest.mark.parametrize("differing", [False, True])
def test_votes_of_members_that_stay_are_not_told_one_by_one(tmp_path, split, differing) -> None:
    """Of four organizations and of three: the difference is the vote of one, on any record, and so its network."""
    domain = {"x": {"categories": [0, 1]}, "z": {"categories": [0, 1]}, "ill": {"categories": ["no", "yes"]}}
    fit = {"label": "ill", "features": ["x", "z"], "domain": domain, "split": split, "secret": True}
    asked = {"records": {"x": [0, 1], "z": [1, 0]}}
    if split == "hybrid":
        fit, asked = {**fit, "features": None, "hybrid": "local", "id_column": "id"}, {"id_column": "id"}
    limits = {"allow_predictions": True, "allow_differences": differing}
    with remembering(four(split), tmp_path, **limits) as running:
        asked["model"] = running.run(NAME, "fit", fit)["model"]
        assert running.run(NAME, "classify", asked)
        fewer = {**asked, "organizations": ["a", "b", "c", *(["helper"] if split == "hybrid" else [])]}
        if differing:
            assert running.run(NAME, "classify", fewer), "control"
            return
        with pytest.raises(ThresholdError, match="fewer organizations than this node demands"):
            running.run(NAME, "classify", fewer)
        assert running.run(NAME, "classify", asked)


def test_predictions_of_whole_records_are_named_by_identifiers_alone(table, kit) -> None:
    """Any column, the label too, would be shown record by record where a node lets records be predicted."""
    parties = kit.horizontal(table)
    for listed in ({}, {"id_columns": ["id", "smoke"]}):
        with OneProcess(parties, policies={"*": {**kit.limits["*"], **listed}}) as federation:
            asked = {"model": federation.run(NAME, "fit", {**GIVEN, "split": "horizontal"})["model"]}
            assert len(federation.run(NAME, "classify", {**asked, "id_column": "id"})["model"]["identifiers"])
            for column in ("ill", "smoke", "age"):
                if column in listed.get("id_columns", ()):
                    told = federation.run(NAME, "classify", {**asked, "id_column": column})["model"]["identifiers"]
                    assert {"no", "yes"} <= set(told), "control"
                    continue
                with pytest.raises((DataProblem, PolicyError), match=r"values twice|may not be linked"):
                    federation.run(NAME, "classify", {**asked, "id_column": column})


def of_every_age(folder, rows=120, remembering=True):
    """Return three stations with whole records, one of every age, that remember what they answered, or have no place for it."""
    draw = np.random.default_rng(4)
    parties = {}
    for name in "abc":
        ill, sex = draw.choice(["no", "yes"], rows), draw.choice(["m", "f"], rows)
        parties[name] = pd.DataFrame({"age": np.arange(20, 20 + rows), "sex": sex, "ill": ill})
    if remembering:
        parties = with_folders(parties, folder)
    limits = {"allow_differences": False, **({"ledger": "vault"} if remembering else {})}
    return OneProcess(parties, policies=dict.fromkeys(parties, limits))


def ensemble_of(**more):
    return {"label": "ill", "split": "horizontal", "features": ["age", "sex"], **more}


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("second", "answered"),
    [
        ({"bins": {"age": [60.0]}}, True),
        ({"bins": {"age": [60.0, 80.0]}}, True),
        ({"bins": {"age": [61.0]}}, False),
        ({"bins": {"age": 2}, "domain": {"age": {"bounds": [0.0, 122.0]}}}, False),
        ({"bins": "quantile"}, True),
    ],
)
def test_two_members_of_one_station_are_held_against_each_other(tmp_path, second, answered):
    with of_every_age(tmp_path) as federation:
        federation.run("bayesian_ensemble", "fit", ensemble_of(bins={"age": [60.0]}))
        if answered:
            federation.run("bayesian_ensemble", "fit", ensemble_of(**second))
        else:
            with pytest.raises(ThresholdError, match="set apart"):
                federation.run("bayesian_ensemble", "fit", ensemble_of(**second))


def test_a_station_that_remembers_nothing_has_no_member_with_chosen_borders(tmp_path):
    with of_every_age(tmp_path, remembering=False) as federation:
        with pytest.raises(ThresholdError, match="folder database"):
            federation.run("bayesian_ensemble", "fit", ensemble_of(bins={"age": [60.0]}))
        federation.run("bayesian_ensemble", "fit", ensemble_of(bins="quantile"))


def test_of_united_records_central_cannot_leave_a_holder_of_the_label_out(kit) -> None:
    """It would see the sums of one station alone, which the record of sums takes for those of all."""
    table = kit.population(1)
    half, asked = len(table) // 2, {"label": "ill", "id_column": "id", "structure": "naive", "domain": DOMAIN}
    own = ["id", "smoke", "ill"]
    parties = {"a": table[own].iloc[:half], "b": table[["id", "cough"]], "c": table[own].iloc[half:]}
    honest = scoring.TallyRequest

    def told(setup, sealed, *more):
        return honest(setup, {} if 1 in sealed else sealed, *more)  # "a" is the first

    with OneProcess(parties, ["helper"], {name: {"allow_predictions": True} for name in parties}) as running:
        model = running.run(NAME, "fit", {**asked, "split": "hybrid"})["model"]
        assert running.run(NAME, "evaluate", {"model": model, "id_column": "id"})["n"] == len(table)
        with (
            mock.patch.object(scoring, "TallyRequest", told),
            pytest.raises(MessageError, match="the vector of a station is missing"),
        ):
            running.run(NAME, "evaluate", {"model": model, "id_column": "id"})
