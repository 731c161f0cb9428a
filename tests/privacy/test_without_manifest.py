"""A central, or a server in its place, that asks before it has named who takes part: no station answers about its table then, nor spends anything.

Without a manifest nobody has looked whose key signs the requests, how many organizations there are, or which functions the job announced.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any
from unittest import mock

import pytest
from harness.inprocess import InProcess
from test_variants import EACH
from views_cases import LABELLED, SMOOTH_FIT, Question, arguments_of, question_files

from fedbayes.federation.errors import MessageError, ThresholdError
from fedbayes.federation.guards import arrival
from fedbayes.federation.jobs import job
from fedbayes.federation.jobs.job import Job
from fedbayes.federation.jobs.nodes import Nodes
from fedbayes.federation.jobs.transport import Transport
from fedbayes.federation.node.memory import Memory
from fedbayes.federation.perimeter.opening import OpenRequest
from fedbayes.federation.station import Station

LOCAL = Question("dp_naive_bayes", "fit", {**LABELLED, "epsilon": 1.0, "noise": "local"}, "horizontal")
NOISY = [SMOOTH_FIT, LOCAL]
"""Where noise of each station alone hides its table: no mask needs the manifest."""


@contextmanager
def without_manifest() -> Iterator[list[dict[str, Any]]]:
    """Central makes none; yields what stations answer after the first round."""
    told, honest = list[dict[str, Any]](), Transport._open

    def opened(self: Transport, sent: Any, payload: Any) -> tuple[int, dict[str, Any]]:
        member, content = honest(self, sent, payload)
        if sent.request.function != "partial_open_channel":
            told.append(content)
        return member, content

    with (
        mock.patch.object(Job, "_make_manifest", return_value=None),
        mock.patch.object(Transport, "_open", opened),
    ):
        yield told


def asked(question: Question, limits: dict[str, Any], **more: Any) -> Any:
    files = question_files(question, False)
    with InProcess(f"v6_{question.method}", files, dict.fromkeys(files, limits), question.central) as running:
        return running.run(question.function, {**arguments_of(question), **more})


@pytest.mark.parametrize("question", [*EACH, LOCAL], ids=lambda question: question.name)
def test_nobody_answers_before_there_is_a_manifest(question: Question) -> None:
    if question.function == "sample":
        return  # asks nobody
    with without_manifest() as told, pytest.raises(MessageError, match="the channel is not open"):
        asked(question, dict(question.limits))
    assert told
    assert all("reply" not in content and not any(content["spent"].values()) for content in told)


@contextmanager
def unchecked() -> Iterator[None]:
    """Stations look neither at the function of a request without a manifest, nor at the members of the job when they debit."""
    with ExitStack() as stack:
        stack.enter_context(
            mock.patch.object(arrival, "WITHOUT_MANIFEST", mock.MagicMock(__contains__=lambda *_: True))
        )
        stack.enter_context(mock.patch.object(Station, "require_members", lambda station: station.manifest))
        yield


@pytest.mark.parametrize("question", NOISY, ids=lambda question: question.name)
def test_control_unchecked_every_station_tells_its_own_table(question: Question) -> None:
    with without_manifest() as told, unchecked():
        asked(question, dict(question.limits))
    assert [content["spent"]["epsilon"] for content in told if "reply" in content] == [1.0] * 3


def alone(members: int, question: Question) -> Any:
    """Ask one station of nodes that demand three organizations, and say in the first round that so many are asked."""
    crowd = mock.patch.object(job, "OpenRequest", lambda _, *rest: OpenRequest(members, *rest))
    unaware = mock.patch.object(Nodes, "check_enough")  # central is not stopped by what nodes demand
    with crowd, unaware:
        return asked(question, {**question.limits, "minimum_organizations": 3}, organizations=["a"])


@pytest.mark.parametrize("members", [0, 3, 99])
@pytest.mark.parametrize("question", NOISY, ids=lambda question: question.name)
def test_noise_of_one_station_alone_needs_as_many_members_as_its_node_demands(question: Question, members: int) -> None:
    with pytest.raises(ThresholdError, match="minimum_organizations"):
        alone(members, question)


def test_control_uncounted_one_station_alone_tells_its_table() -> None:
    with unchecked():
        assert alone(99, SMOOTH_FIT)["federation"]["debits"]["a"]["epsilon"] == 1.0


def test_control_with_a_manifest_they_answer() -> None:
    assert asked(LOCAL, dict(LOCAL.limits))["model"]


def looking_at_once(self: Memory, name: str) -> bytes | None:
    """As two containers do that are started at the same time: neither finds what the other one is about to write."""
    return None if name == "manifest" else READ(self, name)


DESCENT = next(one for one in EACH if (one.method, one.function) == ("discriminative_naive_bayes", "fit"))
READ, ONCE = Memory.read, Memory.once


def with_two_manifests() -> Any:
    """Return the model of a job whose steps have a manifest of their own, as if all rounds were asked at the same time."""
    prepare = Transport.prepare

    def prepared(self: Transport, function: str, *asked: Any) -> Any:
        if function == "partial_step" and self.manifest is not None:
            self.start(replace(self.manifest, arguments="0" * 64))
        self._has_manifest.clear()
        return prepare(self, function, *asked)

    with (
        mock.patch.object(Transport, "prepare", prepared),
        mock.patch.object(Memory, "read", looking_at_once),
    ):
        return asked(DESCENT, dict(DESCENT.limits))["model"]


def test_a_job_has_one_manifest_however_many_are_shown_at_once() -> None:
    with pytest.raises(MessageError, match="the manifest of the job has changed"):
        with_two_manifests()


def test_control_where_the_last_one_is_believed_both_are_answered() -> None:
    def written(self: Memory, name: str, content: bytes) -> bytes:
        return content if name == "manifest" else ONCE(self, name, content)

    with mock.patch.object(Memory, "once", written):
        assert with_two_manifests()
