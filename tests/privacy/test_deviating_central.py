"""A central that deviates: folds of records, batches of private networks, predictions by networks and by ensembles."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from harness.inprocess import InProcess

from fedbayes.federation.errors import AlgorithmError, MessageError, ThresholdError
from fedbayes.federation.guards import arrival
from fedbayes.federation.guards.installments import Installment
from fedbayes.federation.questions.asked_tables import AskedTables
from fedbayes.federation.rounds import Federation
from fedbayes.federation.vertical import opening
from v6_bayesian_ensemble import claimed
from v6_bayesian_ensemble import partial as voting
from v6_vertibayes import partial as scoring
from v6_vertibayes import sources

ROWS = 120
NAMES = ("a", "b", "c")
LIMITS = {"minimum_rows": 5, "minimum_count": 5, "allow_predictions": "true"}


def people() -> dict[str, str | None]:
    """Records split by columns over three stations and a helper; `secret` is what central is after."""
    draw = np.random.default_rng(4)
    sex, secret = draw.integers(0, 2, (2, ROWS))
    ill = sex ^ (draw.random(ROWS) < 0.2)
    old = ill ^ (draw.random(ROWS) < 0.3)
    columns = {
        "a": {"sex": sex, "weight": draw.integers(0, 2, ROWS)},
        "b": {"secret": secret, "old": old.astype(int)},
        "c": {"ill": ill.astype(int)},
    }
    return {
        **{
            name: str(
                pd.DataFrame({"id": [f"p{row:03d}" for row in range(ROWS)], **part})
                .replace({0: "no", 1: "yes"})
                .to_csv(index=False)
            )
            for name, part in columns.items()
        },
        "h": None,
    }


@contextmanager
def asking(function: str, change: Callable[[Any, int, int], Any]) -> Iterator[list[int]]:
    """Central sends `change(request, member, which round of this function)` where it would send the request."""
    honest, rounds = Federation._ask, list[int]()

    def ask(self: Federation, asked: str, request: Any, organizations: Any, *rest: Any) -> Any:
        if asked == function:
            rounds.append(len(rounds))
            each = request if isinstance(request, dict) else dict.fromkeys(organizations, request)
            request = {member: change(each[member], member, len(rounds)) for member in organizations}
        return honest(self, asked, request, organizations, *rest)

    with mock.patch.object(Federation, "_ask", ask):
        yield rounds


def inside(method: str, central: str = "c") -> InProcess:
    return InProcess(f"v6_{method}", people(), {name: dict(LIMITS) for name in NAMES}, central)


# -- folds --------------------------------------------------------------------------------------------------------------------

NETWORK = {"columns": ["sex", "secret", "old", "ill"], "label": "ill", "structure": "naive", "id_column": "id"}
FOLDED = {**NETWORK, "validation": "svdg", "folds": 4}


@pytest.mark.parametrize("number", ["99999", "101", "1", "0", "04x", "1e2", "٣"])
def test_records_are_not_cut_into_folds_of_one(number: str) -> None:
    """A table by such folds is the table of records."""
    column = mock.patch.object(sources, "fold_domain", return_value={f"~folds:{number}": {"categories": [0, 1]}})
    refused = pytest.raises(MessageError, match="number of folds in a request is malformed")
    with inside("vertibayes") as running, column, refused:
        running.run("fit", FOLDED)


def test_folds_have_as_many_records_as_the_node_demands() -> None:
    with inside("vertibayes") as running, pytest.raises(ThresholdError, match="a fold has fewer records"):
        running.run("fit", {**FOLDED, "folds": 40})


class Kept:
    """What of a station a fold needs."""

    def __init__(self, session: str) -> None:
        self.session, self.policy, self._kept = session, type("Policy", (), {"minimum_rows": 5})(), dict[str, Any]()

    def keep(self, name: str, **arrays: Any) -> bool:
        return self._kept.setdefault(name, arrays) is arrays

    def kept(self, name: str) -> dict[str, Any]:
        return dict(self._kept[name])

    def once(self, name: str, content: bytes) -> bytes:
        return bytes(self._kept.setdefault(name, content))


def cut(station: Kept, number: int) -> list[int]:
    encoder = object.__new__(opening.Encoder)
    encoder._station, encoder._frame = station, pd.DataFrame({"id": range(ROWS)})  # type: ignore[assignment]
    return encoder._folds(f"~folds:{number}")


def test_records_are_cut_once_in_a_job() -> None:
    """By the folds of two numbers that have no common divisor records fall into as many cells as the product says."""
    station = Kept("session")
    first = cut(station, 7)
    assert cut(station, 7) == first
    with pytest.raises(MessageError, match="once in a job"):
        cut(station, 11)


def test_nobody_computes_a_fold_from_an_identifier() -> None:
    """As central could when the fold was a hash of the session, which it knows, and the identifier."""
    one, other = cut(Kept("session"), 4), cut(Kept("session"), 4)
    assert sum(a == b for a, b in zip(one, other, strict=True)) < ROWS / 2
    assert sorted(np.bincount(one)) == [ROWS // 4] * 4

    def hashed(row: int) -> int:
        return int.from_bytes(hashlib.sha256(f"session|{row}".encode()).digest()[:8], "big") % 4

    assert sum(fold == hashed(row) for row, fold in enumerate(one)) < ROWS / 2


# -- batches of private networks -----------------------------------------------------------------------------------------------

PRIVATE = {
    **{key: NETWORK[key] for key in ("columns", "label", "id_column")},
    "structure": "k2",
    "max_parents": 2,
    "epsilon": 1.0,
    "delta": 1e-6,
    "domain": {name: {"categories": ["no", "yes"]} for name in NETWORK["columns"]},
}


def heavier(noise: Installment) -> Installment:
    """Return an installment that would have nearly all of the budget."""
    weights = list(noise.weights)
    weights[noise.places[0]] *= 1000.0
    return replace(noise, weights=weights)


BATCHES: dict[str, tuple[Callable[[Any, int, int], Any], str]] = {
    "the first part again": (
        lambda one, _, turn: one if turn == 1 else replace(one, noise=replace(one.noise, places=[0])),
        "part of the budget is spent",
    ),
    "another division": (
        lambda one, _, turn: one if turn == 1 else replace(one, noise=heavier(one.noise)),
        "part of the budget is spent",
    ),
    "parts of later batches too, at one station": (
        lambda one, member, _: (
            replace(one, noise=replace(one.noise, places=list(range(len(one.noise.weights) - 1))))
            if member == 1
            else one
        ),
        "do not fit|not sent the same|part of the budget is spent",
    ),
    "other tables at one station": (
        lambda one, member, _: (
            replace(one, tables=AskedTables.of(one.tables.tables[:1] * len(one.tables.axes))) if member == 1 else one
        ),
        "do not fit|not sent the same|malformed|functions",
    ),
    "without noise": (lambda one, *_: replace(one, noise=None), "not opened for tables of this kind"),
}


@pytest.mark.parametrize("name", BATCHES)
def test_a_batch_has_its_part_of_the_budget_once(name: str) -> None:
    change, words = BATCHES[name]
    with inside("vertibayes") as running, asking("partial_tables", change), pytest.raises(AlgorithmError, match=words):
        running.run("fit", PRIVATE)


def test_control_batches_as_they_are_are_answered() -> None:
    with inside("vertibayes") as running, asking("partial_tables", lambda one, *_: one) as rounds:
        assert running.run("fit", PRIVATE)["privacy"]["epsilon"] == pytest.approx(1.0)
    assert len(rounds) > 1


# -- predictions by a network --------------------------------------------------------------------------------------------------


def fitted(running: InProcess) -> dict[str, Any]:
    return dict(running.run("fit", NETWORK)["model"])


def tells(model: dict[str, Any]) -> dict[str, Any]:
    """Return a network whose label shows `secret`, record by record, and nothing else."""
    tables = {name: dict(table) for name, table in model["tables"].items()}
    for name in ("sex", "old", "secret"):
        high = 0.999 if name == "secret" else 0.5
        tables[name]["probabilities"] = [[high, 1.0 - high], [1.0 - high, high]]
    return {**model, "tables": tables}


SCORES: dict[str, tuple[Callable[[Any, int, int], Any], str]] = {
    "another network": (lambda one, *_: replace(one, model=tells(one.model)), "none that the job's manifest names"),
    "factors of another column": (
        lambda one, *_: replace(one, names=one.names[:1] * len(one.names)),
        "factors of a request",
    ),
    "states in another order": (
        lambda one, *_: replace(
            one,
            delivery=replace(
                one.delivery,
                setup=replace(
                    one.delivery.setup,
                    domain={**one.delivery.setup.domain, "secret": {"categories": ["yes", "no"]}},
                ),
            ),
        ),
        "states of the columns|setup|job",
    ),
    "another label at one station": (
        lambda one, member, _: replace(one, label="sex") if member == 1 else one,
        "do not fit|factors of a request",
    ),
}


@pytest.mark.parametrize("name", SCORES)
def test_records_are_scored_by_the_model_of_the_manifest(name: str) -> None:
    change, words = SCORES[name]
    with inside("vertibayes") as running:
        asked = {"model": fitted(running), "id_column": "id"}
        with asking("partial_scores", change), pytest.raises(MessageError, match=words):
            running.run("classify", asked)


def test_control_unclaimed_a_crafted_network_tells_a_column_record_by_record() -> None:
    """Of a fit in which the label has next to nothing to do with it."""
    files = people()["b"] or ""
    secret = dict(pd.read_csv(io.StringIO(files))[["id", "secret"]].to_numpy())
    with inside("vertibayes") as running:
        asked = {"model": fitted(running), "id_column": "id"}
        crafted = asking("partial_scores", lambda one, *_: replace(one, model=tells(one.model)))
        with crafted, mock.patch.object(scoring, "check_claimed"):
            told = running.run("classify", asked)["model"]
    ill = np.array(told["probabilities"])[:, 1] > 0.5
    assert {one: bool(shown) for one, shown in zip(told["identifiers"], ill, strict=True)} == {
        one: value == "yes" for one, value in secret.items()
    }


@contextmanager
def twice(function: str, change: Callable[[Any], Any]) -> Iterator[list[Any]]:
    """Central asks everybody once more, in a round of its own, before it goes on; yields what they answer."""
    honest, answers = Federation._ask, list[Any]()

    def ask(
        self: Federation, asked: str, request: Any, organizations: Any, timeout: Any, last: bool, *rest: Any
    ) -> Any:
        if asked == function and not answers:
            each = request if isinstance(request, dict) else dict.fromkeys(organizations, request)
            replies = honest(self, asked, each, organizations, timeout, False, *rest)
            again = {member: change(each[member]) for member in organizations}
            answers.extend(honest(self, asked, again, organizations, timeout, last, *rest).values())
            return replies
        return honest(self, asked, request, organizations, timeout, last, *rest)

    with mock.patch.object(Federation, "_ask", ask):
        yield answers


def test_records_are_scored_once_in_a_job() -> None:
    """By another node of the network as the label, or again: of one question to the researcher central would have several answers."""
    with inside("vertibayes") as running:
        asked = {"model": fitted(running), "id_column": "id"}
        with twice("partial_scores", lambda one: replace(one, identify=2)) as answers:
            running.run("classify", asked)
        assert sum("scored once in a job" in str(answer.get("error")) for answer in answers) == len(answers)
        with (
            twice("partial_scores", lambda one: replace(one, identify=2)) as answers,
            mock.patch.object(scoring, "scored_once"),
        ):
            running.run("classify", asked)
        assert not any("error" in answer for answer in answers), "control"


# -- votes of ensembles ---------------------------------------------------------------------------------------------------------

ENSEMBLE = {"label": "ill", "features": ["sex", "weight", "secret", "old"], "id_column": "id"}


def ensemble(running: InProcess, members: Any) -> dict[str, Any]:
    return dict(running.run("fit", {**ENSEMBLE, "members": members})["model"])


def heavy(request: Any) -> Any:
    """One member with all the weight, alike for all: its vote alone would be the sum."""
    members = [{**one, "weight": 1.0 if place == 1 else 1e-9} for place, one in enumerate(request.model["members"])]
    return replace(request, model={**request.model, "members": members})


def louder(request: Any) -> Any:
    """The same, with an outline that says so too."""
    changed = heavy(request)
    return replace(changed, outline=claimed_outline({**changed.model}))


def claimed_outline(model: dict[str, Any]) -> dict[str, Any]:
    from fedbayes.federation.perimeter.manifest import outline_of

    return outline_of(model)


VOTES: dict[str, tuple[Callable[[Any, int, int], Any], str]] = {
    "weights alike for all": (lambda one, *_: heavy(one), "not one of the ensemble"),
    "weights, and an outline with them": (lambda one, *_: louder(one), "none that the job's manifest names"),
    "another way to vote": (
        lambda one, *_: replace(one, model={**one.model, "vote": "mean"}),
        "not those of the ensemble",
    ),
    "another way at one station": (
        lambda one, member, _: replace(one, model={**one.model, "bound": 0.4}) if member == 1 else one,
        "not those of the ensemble",
    ),
    "no outline": (lambda one, *_: replace(one, outline={}), "none that the job's manifest names"),
    "a member of one station left out for it": (
        lambda one, member, _: (
            replace(one, model={**one.model, "members": one.model["members"][1:]}) if member == 1 else one
        ),
        "not by all members of the ensemble",
    ),
    "a member left out alike for all": (
        lambda one, *_: replace(one, model={**one.model, "members": one.model["members"][1:]}),
        "not by all members of the ensemble",
    ),
    "a member twice": (
        lambda one, *_: replace(one, model={**one.model, "members": [*one.model["members"], one.model["members"][0]]}),
        "not by all members of the ensemble",
    ),
}


@pytest.mark.few(4)
@pytest.mark.parametrize("name", VOTES)
def test_votes_are_those_of_the_ensemble_of_the_manifest(name: str) -> None:
    change, words = VOTES[name]
    with inside("bayesian_ensemble") as running:
        asked = {"model": ensemble(running, "party"), "id_column": "id"}
        assert running.run("classify", asked)
        with asking("partial_votes", change), pytest.raises(MessageError, match=words):
            running.run("classify", asked)


def test_control_unclaimed_weights_bare_one_members_votes() -> None:
    with inside("bayesian_ensemble") as running:
        asked = {"model": ensemble(running, "party"), "id_column": "id"}
        honest = running.run("classify", asked)["model"]["probabilities"]
        with asking("partial_votes", lambda one, *_: heavy(one)), mock.patch.object(voting, "check_votes"):
            told = running.run("classify", asked)["model"]["probabilities"]
    distinct = [len({tuple(np.round(row, 6)) for row in answer}) for answer in (told, honest)]
    assert distinct == [2, 4], "of one column of one station, where honest votes have two of two"


def test_votes_are_cast_once_in_a_job() -> None:
    with inside("bayesian_ensemble") as running:
        asked = {"model": ensemble(running, "party"), "id_column": "id"}
        with twice("partial_votes", lambda one: replace(one, identify=2)) as answers:
            running.run("classify", asked)
        assert all("scored once in a job" in str(answer.get("error")) for answer in answers)
        with (
            twice("partial_votes", lambda one: replace(one, identify=2)) as answers,
            mock.patch.object(voting, "scored_once"),
        ):
            running.run("classify", asked)
        assert not any("error" in answer for answer in answers), "control"


def scored(request: Any, **changes: Any) -> Any:
    return replace(request, groups=[replace(group, **changes) for group in request.groups])


def other_weights(request: Any) -> Any:
    """Weights of a power of ten for every factor: the score of a record says all of its columns."""
    groups = [
        replace(
            group,
            weights=[10**place * np.indices(one.shape)[0].astype(np.int64) for place, one in enumerate(group.weights)],
        )
        for group in request.groups
    ]
    return replace(request, groups=groups)


GROUPS: dict[str, tuple[Callable[[Any, int, int], Any], str]] = {
    "other weights": (lambda one, *_: other_weights(one), "weights of a group's scores are not those"),
    "another leader": (lambda one, *_: scored(one, leader=3), "for somebody else"),
    "no network for anybody": (lambda one, *_: replace(one, members={}), "not told its network"),
    "another network": (
        lambda one, *_: replace(
            one, members={number: {**entry, "weight": 2.0} for number, entry in one.members.items()}
        ),
        "not one of the ensemble",
    ),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("name", GROUPS)
def test_scores_of_groups_have_the_weights_of_their_networks(name: str) -> None:
    change, words = GROUPS[name]
    with inside("bayesian_ensemble") as running:
        asked = {"model": ensemble(running, [["a", "b"]]), "id_column": "id"}
        with asking("partial_evidence", change), pytest.raises(MessageError, match=words):
            running.run("classify", asked)


def test_control_unchecked_weights_are_whatever_central_says() -> None:
    with inside("bayesian_ensemble") as running:
        asked = {"model": ensemble(running, [["a", "b"]]), "id_column": "id"}
        with asking("partial_evidence", lambda one, *_: other_weights(one)), mock.patch.object(voting, "check_groups"):
            assert running.run("classify", asked)


def test_control_everything_as_it_is_is_answered() -> None:
    with inside("bayesian_ensemble") as running, nullcontext():
        asked = {"model": ensemble(running, [["a", "b"]]), "id_column": "id"}
        assert running.run("classify", asked)
        assert running.run("evaluate", asked)


# -- predictions on stations' own rows -------------------------------------------------------------------------------------------


def whole() -> dict[str, str]:
    """Whole records at three stations."""
    draw = np.random.default_rng(6)
    files = {}
    for name in NAMES:
        sex, old = draw.integers(0, 2, (2, 60))
        frame = pd.DataFrame({"id": [f"{name}{row}" for row in range(60)], "sex": sex, "old": old, "ill": sex})
        files[name] = str(frame.replace({0: "no", 1: "yes"}).to_csv(index=False))
    return files


@pytest.mark.parametrize(("function", "partial"), [("classify", "partial_predict"), ("evaluate", "partial_local")])
def test_own_rows_are_predicted_by_the_ensemble_of_the_manifest(function: str, partial: str) -> None:
    def crafted(one: Any, *_: Any) -> Any:
        return replace(
            one, model={**one.model, "members": [{**member, "weight": 2.0} for member in one.model["members"]]}
        )

    with InProcess("v6_bayesian_ensemble", whole(), {name: dict(LIMITS) for name in NAMES}, "a") as running:
        asked = {
            "label": "ill",
            "features": ["sex", "old"],
            "split": "horizontal",
            "domain": {name: {"categories": ["no", "yes"]} for name in ("sex", "old", "ill")},
        }
        model = running.run("fit", asked)["model"]
        with asking(partial, crafted), pytest.raises(MessageError, match="none that the job's manifest names"):
            running.run(function, {"model": model})
        with asking(partial, crafted), mock.patch("v6_bayesian_ensemble.local.check_claimed"):
            assert running.run(function, {"model": model}), "control"


def test_a_claim_is_of_the_outline_and_of_the_whole() -> None:
    from fedbayes.federation.perimeter.manifest import model_digest, outline_of

    model = {"label": "y", "members": [{"name": "a", "weight": 1.0}, {"name": "b", "weight": 2.0}]}
    assert model_digest(model) == model_digest(outline_of(model))
    assert model_digest({"model": model}) == model_digest(outline_of({"model": model}))
    assert model_digest(model) != model_digest({**model, "members": model["members"][::-1]})
    assert model_digest(model) != model_digest({**model, "label": "z"})
    assert "weight" not in str(outline_of(model))
    assert arrival.model_digest is model_digest
    assert claimed.check_claimed is arrival.check_claimed
