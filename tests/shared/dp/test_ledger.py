"""The node's ledger under concurrency, kills, repeats and periods."""

import contextlib
import math
import multiprocessing
import os
import shutil
import signal
import sqlite3
import time
from pathlib import Path
from random import Random
from unittest import mock

import pytest

from fedbayes.dp import ledger as module
from fedbayes.dp.ledger import Ledger, LedgerExhausted, LedgerOlder, LedgerUnusable
from fedbayes.dp.witness import Witness

FORK = multiprocessing.get_context("fork")


def run(target, *arguments) -> int:
    process = FORK.Process(target=target, args=arguments)
    process.start()
    process.join(60)
    return process.exitcode


def charge_many(path, worker, start):
    start.wait()
    ledger = Ledger(path, epsilon=1.0)
    for number in range(2):
        try:
            ledger.charge((f"job{worker}", "round", str(number)), 0.05, 0.0, "race")
        except LedgerExhausted:
            os._exit(3)


def charge_and_die(path):
    Ledger(path, epsilon=1.0).charge(("job", "round", "request"), 0.4, 0.0, "before a kill")
    os.kill(os.getpid(), signal.SIGKILL)


def die_inside(path):
    ledger = Ledger(path, epsilon=1.0)
    with ledger._file.transaction() as connection:
        connection.execute("INSERT INTO debits VALUES ('a', 'b', 'c', 0.9, 0, 0, 'x', 0)")
        os.kill(os.getpid(), signal.SIGKILL)


def test_fifty_concurrent_charges_never_overspend(tmp_path):
    path, start = tmp_path / "ledger.sqlite", FORK.Event()
    workers = [FORK.Process(target=charge_many, args=(path, worker, start)) for worker in range(50)]
    for worker in workers:
        worker.start()
    start.set()
    for worker in workers:
        worker.join(120)
    assert {worker.exitcode for worker in workers} == {0, 3}
    ledger = Ledger(path, epsilon=1.0)
    assert len(ledger.entries()) == 20
    assert ledger.spent().epsilon == pytest.approx(1.0)


def test_a_kill_after_the_charge_keeps_the_debit_and_a_repeat_is_free(tmp_path):
    path = tmp_path / "ledger.sqlite"
    assert run(charge_and_die, path) == -signal.SIGKILL
    ledger = Ledger(path, epsilon=1.0)
    assert ledger.spent().epsilon == 0.4
    assert ledger.charge(("job", "round", "request"), 0.4, 0.0, "repeat") is False
    assert ledger.spent().epsilon == 0.4
    assert ledger.charge(("job", "round", "other"), 0.4, 0.0, "new") is True


def test_a_kill_inside_the_transaction_debits_nothing_and_blocks_nobody(tmp_path):
    path = tmp_path / "ledger.sqlite"
    assert run(die_inside, path) == -signal.SIGKILL
    ledger = Ledger(path, epsilon=1.0)
    assert ledger.charge(("job", "round", "request"), 1.0, 0.0, "all of it")
    assert len(ledger.entries()) == 1


def test_no_side_files_are_left_but_the_witness_and_a_copy_is_whole(tmp_path):
    path = tmp_path / "ledger.sqlite"
    Ledger(path).charge(("job", "round", "request"), 0.25, 1e-6, "counts", queries=3)
    assert sorted(os.listdir(tmp_path)) == ["ledger.debits", "ledger.sqlite"]
    assert not any(file.stat().st_mode & 0o077 for file in tmp_path.iterdir())
    shutil.copy(path, tmp_path / "copy.sqlite")
    assert Ledger(tmp_path / "copy.sqlite").entries() == Ledger(path).entries()


def test_refusal_says_what_is_left_and_debits_nothing(tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite", epsilon=1.0, delta=1e-5, queries=5)
    ledger.charge(("job", "round", "1"), 0.75, 0.0, "counts", queries=4)
    with pytest.raises(LedgerExhausted, match=r"epsilon 0\.5 was asked for, 0\.25 is left"):
        ledger.charge(("job", "round", "2"), 0.5, 0.0, "counts")
    with pytest.raises(LedgerExhausted, match="delta"):
        ledger.charge(("job", "round", "2"), 0.1, 1e-4, "counts")
    with pytest.raises(LedgerExhausted, match="queries 2 was asked for, 1 is left"):
        ledger.charge(("job", "round", "2"), 0.1, 0.0, "counts", queries=2)
    assert issubclass(LedgerExhausted, ValueError)
    assert len(ledger.entries()) == 1


def test_ten_tenths_fit_into_one(tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite", epsilon=1.0)
    assert all(ledger.charge(("job", "round", str(i)), 0.1, 0.0, "tenth") for i in range(10))
    with pytest.raises(LedgerExhausted):
        ledger.charge(("job", "round", "last"), 1e-6, 0.0, "more")


class Clocks:
    """What a machine's clocks say; `tick` lets time pass, `turn` sets the wall clock alone, `restart` starts the machine anew."""

    def __init__(self, monkeypatch):
        self.wall, self.boot, self.uptime = time.time(), "first", 1000.0
        monkeypatch.setattr(module.clock, "read", lambda: module.clock.Reading(self.wall, self.boot, self.uptime))

    def tick(self, days):
        self.wall += days * 86_400
        self.uptime += days * 86_400

    def turn(self, days):
        self.wall += days * 86_400

    def restart(self):
        self.boot, self.uptime = "second", 5.0


def refused(ledger, name, cost=0.6):
    try:
        return not ledger.charge(("job", "round", name), cost, 0.0, name)
    except LedgerExhausted:
        return True


def test_the_period_slides(tmp_path, monkeypatch):
    clocks = Clocks(monkeypatch)
    ledger = Ledger(tmp_path / "ledger.sqlite", epsilon=1.0, days=30)
    ledger.charge(("old", "round", "request"), 1.0, 0.0, "last month")
    clocks.tick(29.9)
    assert refused(ledger, "too early")
    clocks.tick(1.1)
    assert ledger.spent().epsilon == 0.0
    assert ledger.charge(("new", "round", "request"), 1.0, 0.0, "this month")
    assert [entry.note for entry in ledger.entries()] == ["last month", "this month"]
    assert Ledger(ledger.path).spent().epsilon == 2.0


@pytest.mark.parametrize("days", [-3650, -31, -1, 1 + 1e-5, 31, 3650])
def test_a_clock_that_is_set_gives_nothing_back(tmp_path, monkeypatch, days):
    clocks = Clocks(monkeypatch)
    ledger = Ledger(tmp_path / "ledger.sqlite", epsilon=1.0, days=1)
    assert not refused(ledger, "first")
    clocks.turn(days)
    assert refused(ledger, "under the wrong clock")
    assert ledger.spent().epsilon == 0.6
    clocks.turn(-days)
    assert refused(ledger, "under the right one")
    clocks.tick(1.01)
    assert not refused(ledger, "a day later")


def test_across_a_restart_a_clock_that_runs_back_gives_nothing_back(tmp_path, monkeypatch):
    clocks = Clocks(monkeypatch)
    ledger = Ledger(tmp_path / "ledger.sqlite", epsilon=1.0, days=1)
    assert not refused(ledger, "first")
    clocks.restart()
    clocks.turn(-10_000)
    assert refused(ledger, "with an empty battery")
    clocks.turn(10_000)
    clocks.tick(1.01)
    assert not refused(ledger, "a day later")


def test_without_the_machines_own_time_the_clock_never_runs_back(tmp_path, monkeypatch):
    clocks = Clocks(monkeypatch)
    clocks.boot = ""
    ledger = Ledger(tmp_path / "ledger.sqlite", epsilon=1.0, days=1)
    assert not refused(ledger, "first")
    clocks.turn(-10)
    assert refused(ledger, "ten days back")


def test_a_period_of_no_length_is_refused(tmp_path):
    for days in (0.0, -1.0, math.inf):
        with pytest.raises(ValueError, match="days"):
            Ledger(tmp_path / "ledger.sqlite", epsilon=1.0, days=days)


def test_tiny_charges_end_with_the_budget(tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite", epsilon=1.0, delta=1e-5)
    ledger.charge(("job", "round", "all"), 1.0, 0.0, "all of it")
    for number, cost in enumerate((1e-9, 1e-12, 1e-300)):
        assert refused(ledger, str(number), cost)
    other = Ledger(tmp_path / "other.sqlite", epsilon=1.0)
    other.charge(("job", "round", "nearly"), 1.0 - 5e-9, 0.0, "nearly all")
    taken = sum(not refused(other, str(number), 1e-9) for number in range(30))
    assert taken <= 5
    assert other.spent().epsilon <= 1.0 + 1e-15


def test_parts_written_as_decimals_fit_into_their_sum(tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite", epsilon=0.3)
    assert not refused(ledger, "a", 0.1)
    assert not refused(ledger, "b", 0.2)  # 0.1 + 0.2 > 0.3 in binary
    assert refused(ledger, "c", 1e-15)


def test_a_budget_of_epsilon_implies_one_of_delta(tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite", epsilon=1.0)
    with pytest.raises(LedgerExhausted, match="delta"):
        ledger.charge(("job", "round", "1"), 1e-6, 0.999999, "all in the open")
    assert ledger.charge(("job", "round", "1"), 1e-6, 9e-5, "a small one")
    with pytest.raises(LedgerExhausted, match="delta"):
        ledger.charge(("job", "round", "2"), 1e-6, 9e-5, "once more")
    assert Ledger(tmp_path / "own.sqlite", epsilon=1.0, delta=0.5).charge(
        ("j", "r", "1"), 0.1, 0.4, "as the node wants"
    )


def test_what_can_be_afforded_is_told_without_a_debit(tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite", epsilon=1.0)
    assert ledger.affords(1.0) is None
    assert "epsilon 2 was asked for" in (ledger.affords(2.0) or "")
    ledger.charge(("job", "round", "1"), 0.6, 0.0, "most")
    assert ledger.affords(0.4) is None
    assert "0.4 is left" in (ledger.affords(0.5) or "")
    assert len(ledger.entries()) == 1
    with pytest.raises(LedgerUnusable):
        Ledger(tmp_path / "gone" / "ledger.sqlite", epsilon=1.0).affords(0.1)


def ruin(path, how):
    if how == "emptied":
        path.write_bytes(b"")
    elif how == "foreign":
        path.write_bytes(b"not a database at all" * 100)
    elif how == "cut":
        path.write_bytes(path.read_bytes()[:5000])
    else:
        with sqlite3.connect(path) as connection:
            connection.execute(how)


@pytest.mark.parametrize(
    "how",
    ["emptied", "foreign", "cut", "DELETE FROM debits", "DROP TABLE debits", "UPDATE debits SET epsilon = -5"],
)
def test_a_damaged_ledger_is_refused_with_the_remedy(tmp_path, how):
    ledger = Ledger(tmp_path / "ledger.sqlite", epsilon=1.0)
    ledger.charge(("job", "round", "1"), 0.6, 0.0, "most")
    ruin(ledger.path, how)
    for call in (lambda: ledger.charge(("job", "round", "2"), 0.1, 0.0, "more"), ledger.spent):
        with pytest.raises(LedgerUnusable, match=r"nothing is released; ask the node's administrator") as caught:
            call()
        assert str(tmp_path) not in str(caught.value)


def damaged(content, random):
    """Return a file of which parts were not written: some bytes are others, a block is of zeros, or its end is missing."""
    found, place = bytearray(content), random.randrange(len(content))
    kind = random.randrange(3)
    if kind == 0:
        return bytes(found[:place])
    if kind == 1:
        found[place // 512 * 512 : place // 512 * 512 + 512] = bytes(512)
    for _ in range(4):
        found[random.randrange(len(found))] = random.randrange(256)
    return bytes(found)


def test_a_ledger_that_was_written_in_part_gives_no_more_than_is_left_and_no_other_error(tmp_path):
    ledger, random = Ledger(tmp_path / "ledger.sqlite", epsilon=1.0), Random(1)
    for number in range(9):
        ledger.charge(("job", "round", f"{number}"), 0.1, 0.0, "most")
    whole, refused = ledger.path.read_bytes(), 0
    for trial in range(200):
        ledger.path.write_bytes(damaged(whole, random))
        with contextlib.suppress(LedgerExhausted):
            ledger.charge(("job", "round", f"{trial} first"), 0.1, 0.0, "the rest")
        with pytest.raises(LedgerExhausted) as caught:
            ledger.charge(("job", "round", f"{trial} second"), 0.1, 0.0, "more")
        refused += isinstance(caught.value, LedgerUnusable)
        Path(f"{ledger.path}-journal").unlink(missing_ok=True)
        ledger.path.with_suffix(".debits").write_text("9\n")
    assert 20 < refused < 200


def is_older(ledger, number):
    """Say whether a ledger is refused as one that lacks debits, to be read and to be charged."""
    told = []
    for call in (lambda: ledger.charge(("job", "round", f"{number}"), 0.01, 0.0, "more"), ledger.spent):
        try:
            call()
        except LedgerOlder as refusal:
            told.append("newest copy of the ledger" in str(refusal))
    return told == [True, True]


@pytest.mark.parametrize("how", ["deleted", "put back"])
def test_a_ledger_that_lost_debits_is_refused_until_the_administrator_decides(tmp_path, how):
    ledger, copy = Ledger(tmp_path / "ledger.sqlite", epsilon=1.0), tmp_path / "copy"
    for number in range(3):
        assert not is_older(ledger, number)
        if number == 1:
            shutil.copy(ledger.path, copy)
    newest = ledger.path.read_bytes()
    ledger.path.unlink()
    if how == "put back":
        shutil.copy(copy, ledger.path)
    assert is_older(ledger, 3)
    assert ledger.entries() == [] if how == "deleted" else len(ledger.entries()) == 2, "what there is can be read"
    ledger.path.write_bytes(newest)
    assert not is_older(ledger, 4)
    shutil.copy(copy, ledger.path)
    (tmp_path / "ledger.debits").unlink()
    assert not is_older(ledger, 5), "the administrator's leave"
    (tmp_path / "ledger.debits").write_text("no number")
    assert is_older(ledger, 6)


def test_a_kill_between_debit_and_witness_refuses_nothing(tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite", epsilon=1.0)
    with mock.patch.object(Witness, "note", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        ledger.charge(("job", "round", "0"), 0.1, 0.0, "killed")
    assert ledger.spent().epsilon == 0.1
    assert not is_older(ledger, 1)


def test_a_ledger_that_cannot_be_written_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "ledger.sqlite"
    Ledger(path, epsilon=1.0).charge(("job", "round", "1"), 0.1, 0.0, "before")
    real = sqlite3.connect
    monkeypatch.setattr(module.sqlite3, "connect", lambda file, **rest: real(f"file:{file}?mode=ro", uri=True, **rest))
    with pytest.raises(LedgerUnusable, match="cannot be written"):
        Ledger(path, epsilon=1.0).charge(("job", "round", "2"), 0.1, 0.0, "after")
    assert Ledger(path).spent().epsilon == 0.1
    with pytest.raises(LedgerUnusable, match="cannot be written"):
        Ledger(tmp_path / "no" / "such" / "folder", epsilon=1.0).charge(("job", "round", "1"), 0.1, 0.0, "nowhere")


def test_a_ledger_of_an_earlier_version_goes_on(tmp_path):
    path = tmp_path / "ledger.sqlite"
    Ledger(path, epsilon=1.0).charge(("job", "round", "1"), 0.6, 0.0, "before")
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE state")
    assert refused(Ledger(path, epsilon=1.0), "too much")
    assert not refused(Ledger(path, epsilon=1.0), "the rest", 0.4)


def test_without_a_budget_everything_is_written_down(tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ledger.charge(("job", "round", "request"), 50.0, 0.5, "no limit", queries=1)
    assert ledger.affords(1e6, 0.9) is None
    assert (ledger.spent().epsilon, ledger.spent().delta, ledger.spent().queries) == (50.0, 0.5, 1)


@pytest.mark.parametrize("cost", [(-0.1, 0.0), (math.nan, 0.0), (math.inf, 0.0), (0.1, -1.0), (0.1, math.nan)])
def test_nonsense_costs_are_refused(tmp_path, cost):
    with pytest.raises(ValueError, match="epsilon"):
        Ledger(tmp_path / "ledger.sqlite", epsilon=1.0).charge(("a", "b", "c"), *cost, "nonsense")


def test_nonsense_budgets_and_a_foreign_file_are_refused(tmp_path):
    with pytest.raises(ValueError, match="epsilon"):
        Ledger(tmp_path / "ledger.sqlite", epsilon=-1.0)
    with pytest.raises(ValueError, match="days"):
        Ledger(tmp_path / "ledger.sqlite", days=math.nan)
    (tmp_path / "foreign").write_text("this is no database, and long enough to be read as one " * 4)
    with pytest.raises(sqlite3.DatabaseError):
        Ledger(tmp_path / "foreign").charge(("a", "b", "c"), 0.1, 0.0, "note")


def test_reading_makes_no_file_and_changes_nothing(tmp_path):
    path = tmp_path / "ledger.sqlite"
    assert Ledger(path, epsilon=1.0).spent().epsilon == 0.0
    assert Ledger(path).entries() == []
    assert not path.exists()
    Ledger(path).charge(("a", "b", "c"), 0.5, 0.0, "note")
    before = path.read_bytes()
    assert Ledger(path, epsilon=1.0).spent().epsilon == 0.5
    assert path.read_bytes() == before
