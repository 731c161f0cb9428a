"""Who may ask a station: nobody but the central function of the same job, under keys that the stations know."""

from __future__ import annotations

import base64
import importlib
import json
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from fedbayes.dp.ledger import Ledger
from fedbayes.federation import errors
from fedbayes.federation.embedded import EmbeddedFederation
from fedbayes.federation.embedded.server import from_text, to_text
from fedbayes.federation.messages.codec import decode, encode
from fedbayes.federation.messages.packing import pack
from fedbayes.federation.node import platform
from fedbayes.federation.node.memory import Memory
from fedbayes.federation.node.platform import Origin, Run
from fedbayes.federation.node.policy import LEDGER_FILE, Policy
from fedbayes.federation.perimeter.envelope import PROTOCOL, Request, question, seal_reply
from fedbayes.federation.perimeter.manifest import Card, Manifest
from fedbayes.federation.perimeter.peers import KnownPeers, believe, identity, marks_of
from fedbayes.mpc.relay import KeyPair, SigningPair, fingerprint
from fedbayes.randomness import secret_bytes

ROOT = Path(__file__).resolve().parents[3]
METHODS = sorted(path.parent.name for path in (ROOT / "algorithms").glob("*/pyproject.toml"))
PARTIALS = [
    (method, function)
    for method in METHODS
    for function in importlib.import_module(f"v6_{method}").__all__
    if function.startswith("partial_")
]
LEDGER = {"*": {"ledger": "ledger"}}


def request(session="ab" * 16, sender=1, participants=(1,), function="partial_open_channel", name="1:x", body=None):
    signer = SigningPair.from_bytes(secret_bytes(32))
    plain = Request(
        protocol=PROTOCOL,
        session=session,
        round_name=name,
        function=function,
        sender=sender,
        participants=tuple(participants),
        last=False,
        manifest_hash="",
        manifest=None,
        reply_key=KeyPair.generate().public_bytes,
        signer=signer.public_bytes,
        lasting=False,
        body={"members": 3, "preflight": None} if body is None else body,
    )
    return encode(plain.sign(signer))


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("alone")
    (folder / "a.csv").write_text("id,x\n" + "".join(f"p{i},{i % 3}\n" for i in range(40)))
    with EmbeddedFederation({"a": folder / "a.csv"}, helpers=["h"]) as federation:
        yield federation


@pytest.mark.parametrize(("method", "function"), PARTIALS)
def test_every_partial_of_every_image_refuses_a_researcher(alone, method, function):
    """With a message that is as good as a researcher can make it: the origin is wrong, before a table is read."""
    with pytest.raises(errors.PolicyError, match="answers only the central function"):
        alone.run(method, function, {"message": request(function=function)})
    left = [path for path in Path(alone._folder.name).glob("job-*/*/*") if path.name.startswith("fedbayes-")]
    assert left == []


@pytest.mark.few(2)
@pytest.mark.parametrize("session", ["/../../../x", "..", "a/b", "\x00", "ab" * 16])
def test_a_session_of_a_message_names_no_folder(files, session):
    """Central itself, run by the platform, with a session that it does not have."""

    def swap(organization, function, message):
        return {**message, "session": session}

    with EmbeddedFederation(files, tamper_request=swap) as federation:
        with pytest.raises(errors.AlgorithmError):
            federation.run("toy", "run_sum", {"column": "x"})
        names = {path.name for path in Path(federation._folder.name).rglob("*") if path.is_dir()}
    assert all(name.startswith(("fedbayes-", "job-", "run-")) or name in files for name in names)


def rogue(federation, organization, function, message, parent):
    """Make a sub-task as if central, which runs for the task `parent`, had asked for it."""
    content = {"method": function, "kwargs": {"message": message}}
    task = federation._server.create(
        {federation._ids[organization]: to_text(content)}, function, [{"label": "default"}], parent
    )
    while federation._server.wait(task, 0.5) == "active":
        pass
    return task.runs[0]


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "of another job"),
        ({"sender": 2}, "does not come from the organization that runs central"),
        ({"sender": 99}, "does not come from the organization that runs central"),
        ({"function": "partial_draw"}, "for another function"),
    ],
)
def test_sender_session_and_function_of_a_message_are_checked_against_the_platform(files, changes, text):
    with EmbeddedFederation(files, record=True) as federation:
        federation.run("toy", "run_sum", {"column": "x"})
        parent = federation._server.tasks[1]
        message = request(participants=(2,), **changes)
        run = rogue(federation, "south", "partial_open_channel", message, parent)
    assert text in run.log


def test_a_last_round_that_the_platform_runs_again_gets_the_same_reply(files):
    """The node died after the reply was written and the keys were wiped, before it was collected."""
    with EmbeddedFederation(files, record=True) as federation:
        federation.run("toy", "run_score", {"column": "x", "model": {"mean": 9}})
        last = next(entry for entry in federation.transcript if entry["function"] == "partial_score")
        parent = federation._server.tasks[1]
        message = last["input"]["kwargs"]["message"]
        again = rogue(federation, last["organization"], "partial_score", message, parent)
        assert again.status == "completed"
        assert from_text(again.result) == last["result"]


def facts(job=1, parent=1, created="2026-01-01", organization=1):
    return Origin(job, parent, "image", organization, created)


def test_each_job_has_a_folder_of_its_own_and_stale_ones_go(tmp_path, monkeypatch):
    run = Run(1, 5, tmp_path, False)
    running = {1, 2}
    monkeypatch.setattr(platform, "is_running", lambda task: task in running)
    first, second = Memory(run, facts()), Memory(run, facts(parent=2))
    first.keep("x")
    second.keep("x")
    assert first.path != second.path
    assert first.path.parent == second.path.parent == tmp_path
    third = Memory(run, facts(parent=3))
    assert first.path.exists()
    assert second.path.exists()
    assert third.path.exists()
    running.discard(1)
    Memory(run, facts(parent=4))
    assert not first.path.exists()
    assert second.path.exists()


def test_a_folder_of_the_same_numbers_of_another_day_is_wiped(tmp_path):
    """A server that was set up anew counts its jobs from 1 again."""
    run = Run(1, 5, tmp_path, False)
    old = Memory(run, facts())
    old.once("secret", b"old")
    new = Memory(run, facts(created="2026-02-02"))
    assert new.path == old.path
    assert new.session != old.session
    assert new.read("secret") is None


def test_a_run_reads_a_fact_once_and_forgets_it_with_the_job(tmp_path):
    memory = Memory(Run(1, 5, tmp_path, False), facts())
    assert memory.read("asked") is None
    memory.once("asked", b"one")
    assert memory.read("asked") == b"one"
    memory.once("asked", b"two")
    with mock.patch.object(Path, "read_bytes") as reading:
        assert memory.read("asked") == b"one"
    assert not reading.called
    memory.wipe()
    assert memory.read("asked") is None


def test_names_of_facts_become_no_path(tmp_path):
    memory = Memory(Run(1, 5, tmp_path, False), facts())
    memory.once("../../outside", b"x")
    memory.keep("../../outside")
    assert {path.parent for path in tmp_path.rglob("*") if path.is_file()} == {memory.path}


# -- identities ----------------------------------------------------------------------------------------------------------


def manifest(**changes):
    fields = {
        "session": "s",
        "image": "i",
        "algorithm": "v6_toy",
        "function": "f",
        "arguments": "d",
        "aggregator": 1,
        "names": {1: "a", 2: "b"},
        "roles": {1: "station", 2: "helper"},
        "cards": {member: Card(member, secret_bytes(32)) for member in (1, 2)},
    }
    return Manifest(**{**fields, **changes})


def test_an_organization_takes_part_once():
    key, lasting = secret_bytes(32), SigningPair.from_bytes(secret_bytes(32))
    with pytest.raises(ValueError, match="once"):
        manifest(cards={member: Card(member, key) for member in (1, 2)})
    with pytest.raises(ValueError, match="once"):
        manifest(cards={member: Card.make(member, secret_bytes(32), lasting, "s") for member in (1, 2)})
    with pytest.raises(ValueError, match="once"):
        manifest(names={1: "a", 2: "a"})


def test_a_card_is_signed_for_one_session_organization_and_key():
    lasting = SigningPair.from_bytes(secret_bytes(32))
    card = Card.make(1, secret_bytes(32), lasting, "s")
    card.check("s")
    other = secret_bytes(32)
    for forged, session in (
        (card, "t"),
        (Card(2, card.exchange, card.identity, card.signature), "s"),
        (Card(1, other, card.identity, card.signature), "s"),
    ):
        with pytest.raises(errors.MessageError, match="not signed"):
            forged.check(session)


def test_peers_are_believed_at_first_and_a_changed_key_stops_the_job(files):
    with EmbeddedFederation(files, policies=LEDGER) as federation:
        federation.run("toy", "run_sum", {"column": "x"})
        known = {peer.name: peer.fingerprint for peer in KnownPeers(files["east"]["ledger"]).list()}
        assert set(known) == {"south", "west"}
        (files["west"]["ledger"] / "fedbayes-identity").unlink()
        paid = Ledger(files["east"]["ledger"] / LEDGER_FILE).entries()
        with pytest.raises(
            errors.PolicyError, match=r"east, south: the lasting key of west has changed.* \(nothing was spent\)"
        ):
            federation.run("toy", "run_sum", {"column": "x"})
        asked = {"function": "run_sum", "arguments": {"column": "x"}}
        told = federation.run("toy", "preflight", asked)["stations"]
        assert all("of west has changed" in told[name] for name in ("east", "south"))
        assert told["west"] is None
        assert Ledger(files["east"]["ledger"] / LEDGER_FILE).entries() == paid
        for name in ("east", "south"):
            mark = fingerprint(identity(files["west"]["ledger"]).public_bytes)
            KnownPeers(files[name]["ledger"]).accept("west", mark)
        federation.run("toy", "run_sum", {"column": "x"})


def test_a_changed_key_of_central_too_is_told_before_anything_is_spent(files):
    parties = {**files, "away": {"ledger": files["east"]["ledger"].parent / "away-ledger"}}
    parties["away"]["ledger"].mkdir()
    asked = {"column": "x", "organizations": list(files)}
    with EmbeddedFederation(parties, policies=LEDGER) as federation:
        federation.run("toy", "run_sum", asked, organization="away")
        (parties["away"]["ledger"] / "fedbayes-identity").unlink()
        with pytest.raises(errors.PolicyError, match=r"the lasting key of away has changed.* \(nothing was spent\)"):
            federation.run("toy", "run_sum", asked, organization="away")
        told = federation.run("toy", "preflight", {"function": "run_sum", "arguments": asked}, organization="away")
        assert all("of away has changed" in reason for reason in told["stations"].values())
        for name in files:
            mark = fingerprint(identity(parties["away"]["ledger"]).public_bytes)
            KnownPeers(files[name]["ledger"]).accept("away", mark)
        federation.run("toy", "run_sum", asked, organization="away")
        (files["west"]["ledger"] / "fedbayes-identity").unlink()
        with pytest.raises(errors.PolicyError, match=r"the lasting key of west has changed.* \(nothing was spent\)"):
            federation.run("toy", "preflight", {"function": "run_sum", "arguments": asked}, organization="away")


def test_a_key_that_is_pinned_is_believed_whatever_was_known(files):
    with EmbeddedFederation(files, policies=LEDGER) as federation:
        federation.run("toy", "run_sum", {"column": "x"})
    (files["west"]["ledger"] / "fedbayes-identity").unlink()
    marks = {name: fingerprint(identity(files[name]["ledger"]).public_bytes) for name in files}
    with EmbeddedFederation(files, policies={"*": {"ledger": "ledger", "pinned_keys": marks}}) as federation:
        federation.run("toy", "run_sum", {"column": "x"})
    known = {peer.name: peer.fingerprint for peer in KnownPeers(files["east"]["ledger"]).list()}
    assert known["west"] == marks["west"]
    with EmbeddedFederation(files, policies=LEDGER) as federation:
        federation.run("toy", "run_sum", {"column": "x"})


def test_a_key_that_is_pinned_under_a_new_name_is_believed(tmp_path):
    peers = KnownPeers(tmp_path)
    peers.meet({"a": "aa" * 32, "b": "bb" * 32})
    with pytest.raises(errors.PolicyError, match="of another organization"):
        peers.meet({"renamed": "aa" * 32})
    peers.meet({"renamed": "aa" * 32}, pinned=True)
    assert {peer.name: peer.fingerprint for peer in peers.list()} == {"b": "bb" * 32, "renamed": "aa" * 32}
    with pytest.raises(errors.PolicyError, match="of another organization"):
        peers.meet({"c": "cc" * 32, "d": "cc" * 32}, pinned=True)


def test_a_known_peer_without_its_key_stops_the_job(files):
    with EmbeddedFederation(files, policies=LEDGER) as federation:
        federation.run("toy", "run_sum", {"column": "x"})
    without = {**LEDGER, "west": {"long_term_key": False}}
    with (
        EmbeddedFederation(files, policies=without) as federation,
        pytest.raises(errors.PolicyError, match="the lasting key of west is missing"),
    ):
        federation.run("toy", "run_sum", {"column": "x"})


def test_one_key_under_two_names_is_refused(tmp_path):
    peers = KnownPeers(tmp_path)
    peers.meet({"a": "1" * 64})
    with pytest.raises(errors.PolicyError, match="b shows the lasting key of another organization"):
        peers.meet({"b": "1" * 64, "c": "2" * 64})
    assert [peer.name for peer in peers.list()] == ["a"]
    assert peers.forget("a")
    assert not peers.forget("a")
    peers.meet({"b": "1" * 64})
    with pytest.raises(errors.PolicyError, match="d shows the lasting key of another organization"):
        peers.meet({"c": "3" * 64, "d": "3" * 64})
    assert [peer.name for peer in peers.list()] == ["b"]


@pytest.mark.parametrize("pins", [False, True])
def test_an_organization_that_plays_the_others_under_its_own_lasting_key_is_refused(tmp_path, pins):
    """Central, itself well known, signs keys of the job that it made for every other member with its own lasting key."""
    lasting = {number: SigningPair.from_bytes(secret_bytes(32)) for number in (1, 2, 3)}
    names = {1: "north", 2: "east", 3: "south"}

    def manifest(signers):
        cards = {n: Card.make(n, KeyPair.generate().public_bytes, lasting[signers[n]], "session") for n in names}
        roles = dict.fromkeys(names, "station")
        return Manifest("session", "image", "toy", "run", "digest", 1, names, roles, cards)

    honest = manifest({1: 1, 2: 2, 3: 3})
    honest.check_cards()
    with pytest.raises(ValueError, match="one key: an organization takes part once"):
        manifest({1: 1, 2: 2, 3: 1})
    marks = {name: fingerprint(lasting[n].public_bytes) for n, name in names.items()}
    limits = {"FEDBAYES_LEDGER": "vault"} | ({"FEDBAYES_PINNED_KEYS": json.dumps(marks)} if pins else {})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VAULT_DATABASE_URI", str(tmp_path))
        policy, ids = Policy.from_environment(limits), {name: n for n, name in names.items()}
        believe(policy, marks_of(honest, 2), ids)
        for evil in ({1: 1, 2: 2, 3: 2}, {1: 2, 2: 1, 3: 3}):
            forged = {names[n]: marks[names[signer]] for n, signer in evil.items() if n != 2}
            with pytest.raises(errors.PolicyError):
                believe(policy, forged, ids)


def test_a_result_names_who_has_no_lasting_key(files):
    policies = {"east": {"ledger": "ledger"}, "south": {"ledger": "ledger"}}
    with EmbeddedFederation(files, policies=policies) as federation:
        result = federation.run("toy", "run_sum", {"column": "x"})
        told = federation.run("toy", "disclosure_settings", organization="west")
    assert result["federation"]["without_lasting_key"] == ["west"]
    assert told["fingerprint"] is None
    assert not told["peers_are_known"]
    assert not told["models_are_checked"]


def test_the_manifest_is_kept_beside_the_ledger(files):
    with EmbeddedFederation(files, policies=LEDGER) as federation:
        federation.run("toy", "run_sum", {"column": "x"})
    lines = (files["south"]["ledger"] / "fedbayes-manifests.jsonl").read_text().splitlines()
    assert len(lines) == 1
    kept = json.loads(lines[0])
    assert kept["function"] == "v6_toy.run_sum"
    assert kept["participants"] == {"east": "station", "south": "station", "west": "station"}
    others = [path.name for path in files["south"]["ledger"].iterdir() if path.stat().st_mode & 0o077]
    assert others == [], "nobody else reads what a node keeps"


# -- an active server ----------------------------------------------------------------------------------------------------


def resigned(message, **changes):
    """Return a request as a server would forge it: changed, and signed with a key of its own."""
    forged: Request = decode(Request, message)
    pair = SigningPair.from_bytes(secret_bytes(32))
    return encode(replace(forged, signer=pair.public_bytes, **changes).sign(pair))


@pytest.mark.few(4)
@pytest.mark.parametrize("policies", [{}, LEDGER])
@pytest.mark.parametrize("manner", ["flip", "last", "participants", "reply_key", "resign", "body", "replay"])
def test_a_changed_request_stops_the_job(files, policies, manner):
    seen = {}

    def change(organization, function, message):
        first = seen.setdefault(organization, message)
        if function != "partial_sum" or organization != "west":
            return message
        if manner == "flip":
            raw = bytearray(base64.b64decode(message["sealed"]))
            raw[len(raw) // 2] ^= 1
            return {**message, "sealed": base64.b64encode(bytes(raw)).decode()}
        if manner == "last":
            return {**message, "last": True}
        if manner == "participants":
            return {**message, "participants": message["participants"][1:]}
        if manner == "reply_key":
            return {**message, "reply_key": base64.b64encode(KeyPair.generate().public_bytes).decode()}
        if manner == "resign":
            return resigned(message, reply_key=KeyPair.generate().public_bytes)
        if manner == "body":
            return resigned(message, body={"text": "y"}, sealed=b"", keys=None)
        return first

    with (
        EmbeddedFederation(files, policies=policies, tamper_request=change) as federation,
        pytest.raises(errors.AlgorithmError),
    ):
        federation.run("toy", "run_sum", {"column": "x"})


def test_no_request_is_readable_once_the_channel_is_open(files):
    with EmbeddedFederation(files, record=True) as federation:
        federation.run("toy", "run_sum", {"column": "x"})
        messages = [entry for entry in federation.transcript if entry["function"] == "partial_sum"]
    assert len(messages) == 3
    for entry in messages:
        assert entry["input"]["kwargs"]["message"]["body"] is None
        assert entry["body"] == {"text": "x"}


@pytest.mark.parametrize("function", ["partial_open_channel", "partial_sum"])
def test_a_server_that_seals_a_reply_anew_is_found_out_by_lasting_keys(files, function):
    """In the last round too, where it could once pass off another answer."""
    requests, mine = {}, KeyPair.generate()

    def keep(organization, name, message):
        if name != function:
            return message
        requests[organization] = decode(Request, message)
        return message

    def forge(organization, name, payload):
        if name != function or organization != "west":
            return payload
        asked = requests[organization]
        content = {"reply": {}, "spent": {}, "token": ""}
        return seal_reply(asked, question(asked, pack(asked.body or {})), 3, content, mine)

    with (
        EmbeddedFederation(files, policies=LEDGER, tamper=forge, tamper_request=keep) as federation,
        pytest.raises(errors.MessageError),
    ):
        federation.run("toy", "run_sum", {"column": "x"})


def test_a_server_that_guesses_the_question_cannot_answer_it_for_a_station(files, tmp_path):
    """A well-formed answer to the very question, under another key than the one that the station's lasting key has signed."""
    requests, mine = {}, KeyPair.generate()

    def keep(organization, name, message):
        requests[name] = decode(Request, message)
        return message

    def forge(organization, name, payload):
        if name != "partial_draw" or organization != "west":
            return payload
        asked = requests[name]
        drawn = {"values": encode(np.arange(2, dtype=np.uint64), raw=True)}
        content = {"reply": drawn, "spent": {"epsilon": 1.0, "delta": 0.0, "queries": 0.0}, "token": ""}
        return seal_reply(asked, question(asked, pack({"text": str(tmp_path)})), 3, content, mine)

    with (
        EmbeddedFederation(files, policies=LEDGER, tamper=forge, tamper_request=keep) as federation,
        pytest.raises(errors.MessageError, match="not sealed with the station's key"),
    ):
        federation.run("toy", "run_draw", {"folder": str(tmp_path)})


def test_a_server_in_the_middle_of_a_known_station_is_found_out(files):
    """It answers the first round with keys of its own, under a lasting key of its own."""
    requests, mine, lasting = {}, KeyPair.generate(), SigningPair.from_bytes(secret_bytes(32))

    def keep(organization, name, message):
        requests[(organization, name)] = decode(Request, message)
        return message

    def forge(organization, name, payload):
        if name != "partial_open_channel" or organization != "west":
            return payload
        asked = requests[(organization, name)]
        card = Card.make(3, mine.public_bytes, lasting, asked.session)
        reply = {"card": encode(card), "has_data": True, "columns": [], "alike": []}
        reply |= {"policy": {}, "believed": {}}
        return seal_reply(asked, question(asked, pack(asked.body)), 3, {"reply": reply, "spent": {}, "token": ""}, mine)

    with EmbeddedFederation(files, policies=LEDGER) as federation:
        federation.run("toy", "run_sum", {"column": "x"})
    told = pytest.raises(errors.PolicyError, match="the lasting key of west has changed")
    with EmbeddedFederation(files, policies=LEDGER, tamper=forge, tamper_request=keep) as federation, told:
        federation.run("toy", "run_sum", {"column": "x"})
