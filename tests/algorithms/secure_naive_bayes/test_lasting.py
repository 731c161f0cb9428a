"""Noisy tables that stations keep from one job to the next: paid for once, the same whatever happens to the data."""

import sqlite3
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from limits_kit import predicting
from party_kit import with_folders

from fedbayes.federation.embedded import EmbeddedFederation
from fedbayes.federation.errors import BudgetError, DataProblem
from fedbayes.federation.horizontal import Columns
from v6_secure_naive_bayes import lasting
from v6_secure_naive_bayes.drawing import drawn_tables
from v6_secure_naive_bayes.messages import TablesRequest

from .conftest import DOMAIN

FEATURES = ("color", "size", "shape")
TASK = {
    "label": "kind",
    "domain": DOMAIN,
    "bins": 4,
    "epsilon": 0.4,
    "modulus_bits": 2048,
    "records": [{"color": "red", "size": 2.0}, {"shape": "round"}],
    "tables": "kept",
}


@pytest.fixture
def hospitals(table, tmp_path):
    """Three stations with ledgers, each with one feature; yields the federation and the folder."""
    parties = with_folders({name: table[[name, "kind"]] for name in FEATURES}, tmp_path, "ledger")
    policies = predicting({"*": {"ledger": "ledger", "budget_epsilon": 0.45}})
    with EmbeddedFederation(parties=parties, policies=policies) as federation:
        yield federation, tmp_path


def spent(folder, name):
    path = folder / name / "fedbayes-ledger.sqlite3"
    with sqlite3.connect(path) as ledger:
        return ledger.execute("SELECT SUM(epsilon) FROM debits").fetchone()[0]


def told(result):
    return {name: entry["reused"] for name, entry in result["diagnostics"]["tables"].items()}


def test_a_second_job_answers_from_the_same_tables_and_pays_nothing(hospitals, table):
    federation, folder = hospitals
    first = federation.run("secure_naive_bayes", "classify", TASK)
    assert told(first) == dict.fromkeys(FEATURES, False)
    assert [spent(folder, name) for name in FEATURES] == pytest.approx([0.2, 0.1, 0.1])
    table[["color", "kind"]].iloc[:50].to_csv(folder / "color.csv", index=False)
    again = federation.run("secure_naive_bayes", "classify", {**TASK, "records": [*TASK["records"], {}]})
    assert told(again) == dict.fromkeys(FEATURES, True)
    assert again["model"]["probabilities"][:2] == first["model"]["probabilities"]
    assert [spent(folder, name) for name in FEATURES] == pytest.approx([0.2, 0.1, 0.1])
    assert again["privacy"]["epsilon"] == 0.4
    assert "spent once" in again["privacy"]["composition"]
    made = {entry["made"] for entry in again["diagnostics"]["tables"].values()}
    assert all(len(day) == 10 for day in made)


def test_another_dictionary_gets_tables_of_its_own(hospitals):
    federation, _ = hospitals
    domain = {name: DOMAIN[name] for name in ("kind", "color", "shape")} | {"scaled": {"bounds": [0, 100]}}
    features = ["color", "scaled", "shape"]
    task = {**TASK, "epsilon": 0.2, "features": features, "domain": domain, "records": [{"color": "red", "scaled": 2}]}

    def reused(formula):
        columns = {"scaled": {"type": "number", "derive": formula, "bounds": [0, 100]}}
        return told(federation.run("secure_naive_bayes", "classify", {**task, "dictionary": {"columns": columns}}))[
            "size"
        ]

    assert [reused(formula) for formula in ("size * 2", "size * 2", "size * 3")] == [False, True, False]


@pytest.mark.audit
def test_new_tables_are_paid_for(hospitals):
    federation, folder = hospitals
    first = federation.run("secure_naive_bayes", "classify", TASK)
    renewed = federation.run("secure_naive_bayes", "classify", {**TASK, "tables": "renewed"})
    assert told(renewed) == dict.fromkeys(FEATURES, False)
    assert [spent(folder, name) for name in FEATURES] == pytest.approx([0.4, 0.2, 0.2])
    assert renewed["model"]["probabilities"] != first["model"]["probabilities"]
    again = federation.run("secure_naive_bayes", "classify", TASK)
    assert again["model"]["probabilities"] == renewed["model"]["probabilities"]
    with pytest.raises(BudgetError, match="is left"):
        federation.run("secure_naive_bayes", "classify", {**TASK, "tables": "fresh"})


def test_a_node_that_restarts_in_mid_round_pays_once_and_keeps_one_table(hospitals):
    federation, folder = hospitals
    restarted = []

    def again(event):
        if event["event"] == "start" and "partial_tables" in event["name"] and not restarted:
            restarted.append(threading.Timer(0.2, federation.restart, args=["size"]))
            restarted[0].start()

    task = {**TASK, "epsilon": 0.44, "tables": "renewed"}
    first = federation.run("secure_naive_bayes", "classify", task, on_progress=again)
    restarted[0].join()
    second = federation.run("secure_naive_bayes", "classify", {**task, "tables": "kept"})
    assert second["model"]["probabilities"] == first["model"]["probabilities"]
    assert [spent(folder, name) for name in FEATURES] == pytest.approx([0.22, 0.11, 0.11])


def test_damaged_tables_are_refused(hospitals):
    federation, folder = hospitals
    federation.run("secure_naive_bayes", "classify", TASK)
    (kept,) = (folder / "size").glob("fedbayes-tables-*")
    assert kept.stat().st_mode & 0o777 == 0o600
    kept.write_bytes(b"nonsense")
    with pytest.raises(DataProblem, match=r"size.*renewed"):
        federation.run("secure_naive_bayes", "classify", TASK)


def test_without_a_ledger_every_job_has_its_own_tables(vertical):
    task = {**TASK, "organizations": ["has color", "has size", "has shape"]}
    results = [vertical.run("secure_naive_bayes", "classify", task) for _ in range(2)]
    assert set(told(results[1]).values()) == {False}
    assert results[0]["model"]["probabilities"] != results[1]["model"]["probabilities"]


def test_of_two_jobs_at_once_the_first_writer_wins_unless_tables_are_renewed(tmp_path):
    path, ours, theirs = tmp_path / "tables", {"made": np.array(1)}, {"made": np.array(2)}
    assert lasting.read(path) is None
    assert lasting.write(None, ours, False) is ours
    assert lasting.write(path, theirs, False)["made"] == 2
    assert lasting.write(path, ours, False)["made"] == 2
    assert lasting.write(path, ours, True)["made"] == 1
    assert lasting.read(path)["made"] == 1
    assert [file.name for file in tmp_path.iterdir()] == ["tables"]


def request(**changes):
    columns = Columns("kind", ["shape"], {name: DOMAIN[name] for name in ("shape", "kind")})
    fields = {
        "columns": columns,
        "bins": {},
        "epsilon": 0.5,
        "classes": False,
        "release": False,
        "tables": "kept",
        "whole": 2.0,
    }
    return TablesRequest(**{**fields, **changes})


def test_a_file_is_named_after_the_whole_request(tmp_path, monkeypatch):
    members = SimpleNamespace(dictionary="")
    station = SimpleNamespace(policy=SimpleNamespace(ledger="ledger"), require_members=lambda: members)
    monkeypatch.setenv("LEDGER_DATABASE_URI", str(tmp_path))
    first = lasting.path_of(station, request())
    assert first.parent == tmp_path
    assert lasting.path_of(station, request(tables="renewed")) == first
    for changes in ({"epsilon": 0.25}, {"whole": 3.0}, {"classes": True}):
        assert lasting.path_of(station, request(**changes)) != first
    sized = Columns("kind", ["size"], {"size": {"bounds": [0, 1]}, "kind": DOMAIN["kind"]})
    files = {lasting.path_of(station, request(columns=sized, bins={"size": bins})) for bins in (3, 4)}
    assert len(files) == 2
    members.dictionary = "another dictionary"
    assert lasting.path_of(station, request()) != first
    assert lasting.path_of(SimpleNamespace(policy=SimpleNamespace(ledger=None)), request()) is None


def test_a_round_that_runs_again_in_a_job_draws_no_second_noise(table):
    memory, charges = {}, []
    station = SimpleNamespace(
        round_name="3:partial_tables",
        policy=SimpleNamespace(minimum_count=5),
        arrays=lambda names, *texts: table[names],
        charge=lambda epsilon, note, summed, relation: charges.append(epsilon),
        keep=lambda name, **arrays: memory.setdefault(name, arrays),
        kept=lambda name: memory[name],
    )
    first, again = (drawn_tables(station, request(epsilon=1e-3)) for _ in range(2))
    assert np.array_equal(first["released"], again["released"])
    assert charges == [1e-3, 1e-3], "the ledger itself knows a repeat by its key"
