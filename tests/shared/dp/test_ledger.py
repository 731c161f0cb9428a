"""The node's ledger under concurrency, kills, repeats and periods."""

import math
import multiprocessing
import os
import shutil
import signal
import sqlite3
import time

import pytest

from fedbayes.dp import ledger as module
from fedbayes.dp.ledger import Ledger, LedgerExhausted

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
    with ledger._transaction() as connection:
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
    assert ledger.remaining().epsilon == pytest.approx(0.0, abs=1e-9)


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


def test_no_side_files_are_left_and_a_copy_is_whole(tmp_path):
    path = tmp_path / "ledger.sqlite"
    Ledger(path).charge(("job", "round", "request"), 0.25, 1e-6, "counts", queries=3)
    assert os.listdir(tmp_path) == ["ledger.sqlite"]
    assert path.stat().st_mode & 0o077 == 0
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


def test_the_period_slides(tmp_path, monkeypatch):
    ledger = Ledger(tmp_path / "ledger.sqlite", epsilon=1.0, days=30)
    now = time.time()
    monkeypatch.setattr(module.time, "time", lambda: now - 31 * 86_400)
    ledger.charge(("old", "round", "request"), 1.0, 0.0, "last month")
    monkeypatch.setattr(module.time, "time", lambda: now)
    assert ledger.spent().epsilon == 0.0
    assert ledger.charge(("new", "round", "request"), 1.0, 0.0, "this month")
    assert [entry.note for entry in ledger.entries()] == ["last month", "this month"]
    assert Ledger(ledger.path).spent().epsilon == 2.0


def test_without_a_budget_everything_is_written_down(tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ledger.charge(("job", "round", "request"), 50.0, 0.5, "no limit", queries=1)
    assert ledger.remaining().epsilon == math.inf
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
    assert Ledger(path, epsilon=1.0).remaining().epsilon == 1.0
    assert Ledger(path).entries() == []
    assert not path.exists()
    Ledger(path).charge(("a", "b", "c"), 0.5, 0.0, "note")
    before = path.read_bytes()
    assert Ledger(path, epsilon=1.0).remaining().epsilon == 0.5
    assert path.read_bytes() == before
