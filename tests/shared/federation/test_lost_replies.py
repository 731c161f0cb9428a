"""What the platform loses is asked for once more, and nothing is debited twice; no Docker: the embedded federation and made-up clients."""

from __future__ import annotations

import socket
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fedbayes.dp.ledger import Ledger
from fedbayes.federation import errors
from fedbayes.federation.embedded import EmbeddedFederation
from fedbayes.federation.jobs import waiting
from fedbayes.federation.node import patience, secrets
from fedbayes.federation.node.memory import Memory
from fedbayes.federation.node.patience import NO_PROXY, OUTAGE, Patience
from fedbayes.federation.node.platform import Origin, Run

LEDGER = {"*": {"ledger": "ledger", "budget_epsilon": 3}}
SOUTH = 2


def losing(federation, manner, times=1, organization=SOUTH):
    """Have the platform lose the first replies of a station in every round: as a node that repeats a run, or one whose container is killed."""
    server, lost = federation._server, {}
    finish = server.finish

    def lossy(run, status, result, log):
        task = server.tasks[run.task]
        key = task.name
        if task.parent and run.organization == organization and lost.get(key, 0) < times:
            lost[key] = lost.get(key, 0) + 1
            status, result = ("completed", None) if manner == "lost" else (manner, None)
        finish(run, status, result, log)

    server.finish = lossy
    return lost


def debits(files):
    return [len(Ledger(party["ledger"] / "fedbayes-ledger.sqlite3").entries()) for party in files.values()]


@pytest.mark.parametrize("manner", ["lost", "crashed"])
def test_a_reply_that_the_platform_loses_in_every_round_is_asked_for_again(files, tmp_path, manner):
    with EmbeddedFederation(files, policies=LEDGER) as federation:
        lost = losing(federation, manner)
        result = federation.run("toy", "run_draw", {"folder": str(tmp_path)})
    assert len(lost) >= 2
    assert set(result["model"]) - {"seal"} == {"1", "2", "3"}
    assert debits(files) == [1, 1, 1]
    assert any("south was asked again" in warning for warning in result["warnings"])
    assert result["federation"]["rounds"] == 2


def test_what_stays_beside_central_in_the_last_round_is_not_missed_once_the_folder_is_wiped():
    """Its own station gets the columns of the others by the folder in that round too; asked again, it gives the reply that it has recorded."""
    rows = np.arange(20_000)
    tables = {name: pd.DataFrame({"id": rows, name: rows // 7 % n}) for n, name in enumerate("abc", start=2)}
    domain = {name: {"categories": [*range(n)]} for n, name in enumerate("abc", start=2)}
    asked = {"columns": list(tables), "id_column": "id", "domain": domain}
    exact = {"*": {"minimum_count": 0}}
    with EmbeddedFederation(tables, helpers=["helper"], policies=exact, record=True) as federation:
        lost = losing(federation, "lost", organization=1)
        result = federation.run("scalar_product", "contingency", asked)
        sent = [
            (entry["organization"], entry["input"]["kwargs"]["message"])
            for entry in federation.transcript
            if entry["input"]["kwargs"].get("message", {}).get("last")
        ]
    assert any("partial_tables" in name for name in lost)
    assert {bool(message["filed"]) for name, message in sent if name == "a"} == {True}
    assert {bool(message["filed"]) for name, message in sent if name in ("b", "c")} == {False}
    assert any("a was asked again" in warning for warning in result["warnings"])
    expected = pd.concat([tables[name][name] for name in "abc"], axis=1).value_counts(sort=False)
    counts = np.array(result["model"]["counts"])
    assert counts[counts > 0].tolist() == expected.tolist()


def test_an_undisturbed_job_asks_nobody_again(files, tmp_path):
    with EmbeddedFederation(files, policies=LEDGER) as federation:
        result = federation.run("toy", "run_draw", {"folder": str(tmp_path)})
        names = [task.name for task in federation._server.tasks.values()]
    assert result["warnings"] == []
    assert len(names) == len(set(names))


@pytest.mark.parametrize(("manner", "words"), [("lost", "lost the reply"), ("crashed", "ended as 'crashed'")])
def test_a_reply_that_is_lost_twice_ends_the_job_and_the_cause_is_told(files, tmp_path, manner, words):
    with EmbeddedFederation(files, policies=LEDGER) as federation:
        losing(federation, manner, times=2)
        with pytest.raises(errors.StationError, match="no answer from south") as caught:
            federation.run("toy", "run_draw", {"folder": str(tmp_path)})
    assert words in str(caught.value) or "killed" in str(caught.value)


def test_a_killed_container_was_stopped_by_somebody_and_is_not_asked_again(files, tmp_path):
    with EmbeddedFederation(files, policies=LEDGER) as federation:
        lost = losing(federation, "killed by user")
        with pytest.raises(errors.StationError, match="killed by user"):
            federation.run("toy", "run_draw", {"folder": str(tmp_path)})
    assert sum(lost.values()) <= 2  # the round, and the closing that nobody waits for


class FakeClient:
    """A task at stations 1 and 2; the second run never ends, or is never taken up."""

    def __init__(self, status: str, log: str = "") -> None:
        self._status, self._log = status, log
        self.run = self.result = self

    def request(self, endpoint: str) -> dict[str, str]:
        return {"status": self._status}

    def from_task(self, task: int) -> list[object]:
        runs = [{"organization": {"id": 1}, "status": "completed", "log": ""}]
        return [*runs, {"organization": {"id": 2}, "status": self._status, "log": self._log}]


def ticking(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Replace the clock of `waiting` by one that sleeping moves."""
    clock = [0.0]
    monkeypatch.delenv("FEDBAYES_EMBEDDED", raising=False)
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(time, "sleep", lambda seconds: clock.__setitem__(0, clock[0] + max(seconds, 0.01)))
    return clock


def test_a_silent_station_is_given_up_for_now_before_the_round_is_over(monkeypatch):
    clock, client = ticking(monkeypatch), FakeClient("active")
    got = waiting.results_of(client, 1, (1, 2), 0.0, 600.0, str, patience=150.0)
    assert len(got) == 2
    assert 150.0 <= clock[0] < 160.0
    assert waiting.may_be_asked_again(client, 1, (2,))


def test_a_silent_station_ends_the_round_in_time(monkeypatch):
    clock = ticking(monkeypatch)
    with pytest.raises(errors.StationError, match="no answer in time"):
        waiting.results_of(FakeClient("active"), 1, (1, 2), 0.0, 600.0, str)
    assert clock[0] < 605.0


def test_a_node_that_is_off_for_a_minute_is_waited_for_and_then_named(monkeypatch):
    clock = ticking(monkeypatch)
    with pytest.raises(errors.StationError, match="the node of 2 has not taken up the task"):
        waiting.results_of(FakeClient("pending"), 1, (1, 2), 0.0, 600.0, str)
    assert 100.0 < clock[0] < 125.0


@pytest.mark.parametrize(
    ("status", "log", "again"),
    [
        ("crashed", "", True),
        ("completed", "", True),
        ("failed", "fedbayes-error: StationError: no space", True),
        ("crashed", "fedbayes-error: PolicyError: not here", False),
        ("not allowed", "", False),
        ("pending", "", False),
    ],
)
def test_only_what_the_platform_may_have_lost_is_asked_again(status, log, again):
    client = FakeClient(status, log)
    assert waiting.may_be_asked_again(client, 1, (2,)) is again
    told = waiting.cause(client, 1, (2,), {1: "east", SOUTH: "south"}.__getitem__)
    assert told.startswith("south: ")
    assert log.rpartition(": ")[2] in told


def answers(*listed):
    """Return a request that gives one answer after the other, the last one for ever."""
    left = list(listed)
    return lambda: left.pop(0) if len(left) > 1 else left[0]


def test_a_server_that_is_started_again_is_waited_for(monkeypatch):
    clock = ticking(monkeypatch)
    outage = {"msg": OUTAGE}
    assert Patience().answer_of(answers(outage, outage, outage, {"status": "active"})) == {"status": "active"}
    assert clock[0] < patience.READY_SECONDS
    with pytest.raises(errors.StationError, match="server does not answer"):
        Patience().answer_of(answers(outage))
    assert clock[0] < 2.0 * patience.READY_SECONDS + 5.0


def test_an_answer_that_is_no_json_counts_as_an_outage(monkeypatch):
    ticking(monkeypatch)
    broken = [ValueError("<html>"), {"data": []}]

    def ask():
        answer = broken.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    assert Patience().answer_of(ask) == {"data": []}


def test_a_refusal_is_told_at_once(monkeypatch):
    clock = ticking(monkeypatch)
    assert Patience().answer_of(answers({"msg": "not found"})) == {"msg": "not found"}
    assert clock[0] == 0.0


def test_central_ends_when_its_node_goes_away_and_says_nothing_to_anybody_then(monkeypatch):
    ticking(monkeypatch)
    waiter, gone = Patience(), {"msg": NO_PROXY}
    waiter.answer_of(answers(gone, gone, gone, {"id": 1}))  # a node that is late to start
    waiter.answer_of(answers(gone, {"id": 1}))  # one connection that was lost
    with pytest.raises(SystemExit):
        waiter.answer_of(answers(gone, gone, {"id": 1}))
    asked = []
    with pytest.raises(SystemExit):
        waiter.answer_of(lambda: asked.append(1))
    assert asked == []


def test_one_lost_connection_is_enough_where_nobody_listens_any_more(monkeypatch):
    """A name that is gone is looked up for ten seconds and more, and a node may be back after thirty."""
    ticking(monkeypatch)
    with socket.create_server(("127.0.0.1", 0)) as server:
        waiter = Patience("localhost", server.getsockname()[1])
        waiter.answer_of(answers({"msg": NO_PROXY}, {"id": 1}))
        assert waiter.answer_of(answers({"msg": NO_PROXY}, {"id": 2})) == {"id": 2}
    with pytest.raises(SystemExit):
        waiter.answer_of(answers({"msg": NO_PROXY}, {"id": 3}))


def test_of_two_runs_at_the_same_time_the_second_waits(tmp_path):
    origin = Origin(1, 1, "image", 1, "now")
    one, two = (Memory(Run(1, 1, tmp_path, True), origin) for _ in range(2))
    order, inside = [], threading.Event()

    def first():
        with one.alone("question"):
            inside.set()
            time.sleep(0.2)
            order.append("first")

    thread = threading.Thread(target=first)
    thread.start()
    inside.wait(5)
    with two.alone("question"):
        order.append("second")
    thread.join()
    assert order == ["first", "second"]


def test_a_folder_that_cannot_be_written_is_an_error_that_names_the_remedy(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(secrets.os, "fsync", full)
    with pytest.raises(errors.StationError, match="a folder of the node cannot be written; ask"):
        secrets.once(tmp_path / "reply", b"content")


def test_two_containers_whose_processes_have_the_same_number_write_one_whole_file(tmp_path, monkeypatch):
    monkeypatch.setattr(secrets.os, "getpid", lambda: 1)
    place, contents = Path(tmp_path / "reply"), [bytes([number]) * 200_000 for number in range(8)]
    threads = [threading.Thread(target=secrets.once, args=(place, content)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert place.read_bytes() in contents
    assert [path.name for path in tmp_path.iterdir()] == ["reply"]
