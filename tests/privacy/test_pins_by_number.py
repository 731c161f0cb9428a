"""Keys that are pinned by id, where a server calls two organizations alike: one that is pinned, at which central runs, takes part in the place of another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from first_scripts_kit import unlooked
from harness.inprocess import InProcess
from one_process import OneProcess
from party_kit import with_folders
from test_first_scripts import FIT, labelled, table_of

from fedbayes.federation.errors import AlgorithmError
from fedbayes.federation.gate import Masked
from fedbayes.federation.jobs.job import Job
from fedbayes.federation.jobs.transport import Transport
from fedbayes.federation.messages.codec import decode, encode
from fedbayes.federation.node.policy import Policy
from fedbayes.federation.perimeter import peers
from fedbayes.federation.perimeter.channel import Channel
from fedbayes.federation.perimeter.manifest import Card, Manifest
from fedbayes.mpc.relay import KeyPair, fingerprint
from v6_dp_naive_bayes.messages import StatisticsReply


@contextmanager
def called(names: Mapping[int, str]) -> Iterator[None]:
    """Have the server call organizations otherwise."""
    honest = InProcess.run

    def run(self: InProcess, *asked: Any) -> Any:
        self.names = {**self.names, **names}
        return honest(self, *asked)

    with mock.patch.object(InProcess, "run", run):
        yield


@contextmanager
def third_played() -> Iterator[None]:
    """Have central, which is no member, put a key of its own in the third card, signed by its own lasting key, and add nothing in its place."""
    fake = KeyPair.generate()
    make, prepare, collect = Job._make_manifest, Transport.prepare, Transport.collect

    def made(self: Job, parties: Any, cards: dict[int, Card], preflight: Any) -> Manifest:
        card = Card.make(3, fake.public_bytes, self._transport.lasting, self.session)
        with unlooked():
            return make(self, parties, {**cards, 3: card}, preflight)

    def prepared(self: Transport, function: str, name: str, request: Any, members: Any, last: bool) -> Any:
        if function != "partial_statistics":
            return prepare(self, function, name, request, members, last)
        return [self.seal(function, name, members, request, (1, 2), last)]

    def collected(self: Transport, task: int, sent: Any, *how: Any) -> Any:
        answers = collect(self, task, sent, *how)
        one = next(iter(answers.values()))
        if sent.request.function != "partial_statistics" or "reply" not in one:
            return answers
        channel = Channel(3, fake, self.manifest, sent.request.round_name, Policy(minimum_organizations=1))
        zeros, asked = np.zeros_like(decode(StatisticsReply, one["reply"]).vector.value), sent.request.participants
        topic = f"|partial_statistics|{sent.question_digest}"
        played = StatisticsReply(Masked(channel.mask(zeros, asked, topic), channel.check_word(asked, topic)))
        return {**answers, 3: {**one, "reply": encode(played, raw=True)}}

    with (
        mock.patch.object(Job, "_make_manifest", made),
        mock.patch.object(Transport, "prepare", prepared),
        mock.patch.object(Transport, "collect", collected),
    ):
        yield


def taken(folder: Path, names: Mapping[int, str], pins: Mapping[str, str] | None = None) -> Any:
    """Return the table of an exact fit in which central plays the third organization; `pins`: how the four are pinned, by default by id."""
    parties: dict[str, Any] = with_folders(labelled(), folder)
    parties["x"] = {"vault": folder / "x"}
    parties["x"]["vault"].mkdir()
    marks = {name: fingerprint(peers.identity(parties[name]["vault"]).public_bytes) for name in "abcx"}
    pinned = {key: marks[name] for key, name in (pins or dict(zip("1234", "abcx", strict=True))).items()}
    limits = {name: {"ledger": "vault", "pinned_keys": pinned} for name in "abcx"}
    limits["x"].pop("pinned_keys")
    asked = {**FIT, "noise": "none", "organizations": [1, 2, 3]}
    with OneProcess(parties, policies=limits, aggregator="x") as running, called(names), third_played():
        return running.run("dp_naive_bayes", "fit", asked)["model"]["features"]["f"]["counts"]


ALIKE = [{4: "c"}, {3: "x"}, {3: "4"}, {3: "4", 4: "c"}, {3: "4", 4: "3"}, {}]


@pytest.mark.parametrize("names", ALIKE, ids=str)
def test_a_pin_is_one_organizations_whatever_it_is_called(names: Mapping[int, str], tmp_path: Path) -> None:
    with pytest.raises(AlgorithmError, match=r"did not pin|calls two organizations"):
        taken(tmp_path, names)


@pytest.mark.parametrize("names", ALIKE, ids=str)
def test_nor_by_name_and_number(names: Mapping[int, str], tmp_path: Path) -> None:
    with pytest.raises(AlgorithmError, match=r"did not pin|calls two organizations"):
        taken(tmp_path, names, {"a": "a", "b": "b", "3": "c", "c": "c", "x": "x", "4": "x"})


def test_control_by_name_alone_the_other_one_is_believed(tmp_path: Path) -> None:
    """Less an honest task's table it is the third one's, of which two stations believe that it is in both."""
    believed = mock.patch.object(
        peers, "ids_of", lambda names: {name: max(n for n in names if names[n] == name) for name in names.values()}
    )
    with believed:
        told = taken(tmp_path, {4: "c"})
    assert told == table_of(*(labelled()[name] for name in "ab"))


def test_a_name_and_an_id_that_are_pinned_are_of_one_key() -> None:
    pinned = {"north": "aa", "1": "aa", "2": "bb", "south": "cc"}
    assert peers.pinned_for(pinned, "north", 1) == "aa"
    assert peers.pinned_for(pinned, "2", 7) == "bb"
    assert (
        peers.pinned_for(pinned, "2", 1)
        == peers.pinned_for(pinned, "south", 1)
        == peers.pinned_for(pinned, "", 9)
        == ""
    )
