"""Central asks what stations of linked records add up, or show under one mask, in a second round of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pytest
from one_process import OneProcess
from test_deviating_central import twice
from test_linked_alike import COX, SICK, federation, tables

from fedbayes.federation.errors import MessageError
from fedbayes.federation.rounds import Federation
from v6_scalar_product import partial as chained
from v6_scalar_product.messages import ChainSumReply

COUNT = {"conditions": SICK, "protocol": "thesis", "id_column": "id"}


def read_by_two_sums(running: OneProcess, monkeypatch: pytest.MonkeyPatch, placed: int) -> int:
    """Return the difference of two sums, of which the second is with the other letter."""
    honest, letter, told = Federation.secure_sum, chained.Chain.letter, list[int]()
    made: dict[int, Any] = {}

    def lettered(self: Any, receiver: int) -> bytes:
        plain = letter(self, receiver)
        if self.own == 2 and receiver == 1:
            words = np.frombuffer(plain, dtype="<u4").copy()
            words[placed] += 1
            made[1] = self.station.seal(1, words.tobytes(), chained.PURPOSE)
        return plain

    def secure_sum(self: Any, function: str, requests: Any, members: Any, reply: Any, **more: Any) -> Any:
        if reply is not ChainSumReply:
            return honest(self, function, requests, members, reply, **more)
        told.append(int(honest(self, function, requests, members, reply)[0]))
        changed = {**requests, 1: replace(requests[1], sealed={**requests[1].sealed, 2: made[1]})}
        total = honest(self, function, changed, members, reply, **more)
        told.append(int(total[0]))
        return total

    monkeypatch.setattr(chained.Chain, "letter", lettered)
    monkeypatch.setattr(Federation, "secure_sum", secure_sum)
    running.run("scalar_product", "count", COUNT)
    return (told[1] - told[0]) % 2**32


def test_terms_of_a_published_count_are_added_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a station that sends other openings the second time reads whether one record of the first station satisfies the condition."""
    with federation("b") as running, pytest.raises(MessageError, match="added up once"):
        read_by_two_sums(running, monkeypatch, 0)


@pytest.mark.audit
def test_control_twice_they_tell_a_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chained, "added_once", lambda *_: None)
    found = []
    with federation("b") as running:
        for placed in range(12):
            with monkeypatch.context() as patch:
                found.append(read_by_two_sums(running, patch, placed))
    assert set(found) == {0, 1}
    assert (tables()["a"]["sex"] == "1").any()


def test_a_published_count_is_of_those_who_opened() -> None:
    with federation("b") as running:
        honest = Federation.secure_sum

        def secure_sum(self: Any, function: str, requests: Any, *rest: Any, **more: Any) -> Any:
            fewer = {member: replace(one, owners=[1, 3]) for member, one in requests.items()}
            return honest(self, function, fewer, *rest, **more)

        with (
            mock.patch.object(Federation, "secure_sum", secure_sum),
            pytest.raises(MessageError, match="with other contents"),
        ):
            running.run("scalar_product", "count", COUNT)


def test_residuals_of_a_step_are_shown_once() -> None:
    """Under one mask: with the other treatment of ties the difference is what tied events add, record by record."""
    with federation("a") as running:
        asked = {**COX, "solver": "bfgs", "id_column": "id"}
        with twice("partial_residuals", lambda one: replace(one, ties="efron")) as answers:
            running.run("verticox", "fit", asked)
        assert answers
        assert all("asked for twice" in str(answer.get("error")) for answer in answers)
        unbound = mock.patch("v6_verticox.stations.seen.asked_once")
        with twice("partial_residuals", lambda one: replace(one, ties="efron")) as answers, unbound:
            running.run("verticox", "fit", asked)
        assert not any("error" in answer for answer in answers), "control"


def test_the_predictor_at_the_mean_is_told_once() -> None:
    """By other coefficients it is the exact mean of any column."""
    with federation("a") as running:
        asked = {**COX, "id_column": "id"}
        with twice("partial_finish", lambda one: replace(one, coefficients=[1.0] * len(one.coefficients))) as answers:
            running.run("verticox", "fit", asked)
        assert answers
        assert all("asked for twice" in str(answer.get("error")) for answer in answers)
        unbound = mock.patch("v6_verticox.stations.private.asked_once")
        with twice("partial_finish", lambda one: one) as answers, unbound:
            running.run("verticox", "fit", asked)
        assert not any("error" in answer for answer in answers), "control"
