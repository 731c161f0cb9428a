"""Who has all values that a column may hold as its own identifiers sees, where records are linked by it, which ones another station has."""

import json

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess

from fedbayes.bayes.values.encoding import identifier_text
from fedbayes.federation.errors import ArgumentError, PolicyError
from fedbayes.federation.guards.table_reader import TableReader
from fedbayes.federation.vertical.workspace import Workspace

ROWS, VALUES = 60, np.arange(1000, 1400)
RANDOM = np.random.default_rng(2)
INCOMES = RANDOM.choice(VALUES, ROWS, replace=False)
TABLES = {
    "a": pd.DataFrame({"id": np.arange(ROWS), "income": INCOMES, "ill": RANDOM.integers(0, 2, ROWS)}),
    "b": pd.DataFrame({"id": np.arange(len(VALUES)), "income": VALUES, "z": np.arange(len(VALUES)) % 2}),
}


def linked(folder, monkeypatch, limits, schema=None, **question):
    """Return the incomes that station b sees to be at station a too."""
    (folder / "schema.json").write_text(json.dumps(schema or {}))
    seen = {}
    order = Workspace.common_order
    monkeypatch.setattr(
        Workspace, "common_order", lambda own, *size: seen.setdefault(own.own, np.array(order(own, *size)))
    )
    parties = {"a": {"default": TABLES["a"], "vault": folder}, "b": TABLES["b"]}
    asked = {"conditions": [{"column": name, "op": "==", "value": 1} for name in ("ill", "z")], **question}
    with OneProcess(parties, helpers=["h"], policies={"a": limits}) as federation:
        federation.run("scalar_product", "count", asked)
    return sorted(VALUES[seen[2]])


@pytest.mark.parametrize(
    ("limits", "schema"),
    [
        ({"id_columns": "id"}, None),
        ({"ledger": "vault", "schema": "schema.json"}, {"income": {"bounds": [0, 10_000]}}),
    ],
)
@pytest.mark.parametrize("question", [{}, {"epsilon": 0.1}])
def test_records_are_linked_by_identifiers_alone(tmp_path, monkeypatch, limits, schema, question):
    with pytest.raises(PolicyError, match="id_columns"):
        linked(tmp_path, monkeypatch, limits, schema, id_column="income", **question)
    assert len(linked(tmp_path, monkeypatch, limits, schema, id_column="id", **question)) == ROWS


WORDS = {
    "derive": {"key": {"type": "number", "derive": "income + 0", "bounds": [0, 10_000]}},
    "missing": {"id": {"type": "identifier", "missing": ["0"]}},
    "recode": {"id": {"type": "category", "recode": {"0": "nobody"}}},
    "cut": {"key": {"type": "category", "cut": {"column": "income", "at": [1200]}, "categories": ["low", "high"]}},
}


@pytest.mark.parametrize("kind", WORDS)
@pytest.mark.parametrize("question", [{}, {"epsilon": 0.1}])
def test_no_word_of_a_task_is_about_identifiers(tmp_path, monkeypatch, kind, question):
    """By declaring one to be missing anybody could try, in a task each and with an epsilon too, whether it is in a station's file."""
    (name,) = WORDS[kind]
    with pytest.raises((PolicyError, ArgumentError), match="dictionary"):
        linked(tmp_path, monkeypatch, {}, id_column=name, dictionary={"columns": WORDS[kind]}, **question)


@pytest.mark.parametrize("question", [{}, {"epsilon": 0.1}])
def test_what_is_missing_everywhere_is_no_identifier(tmp_path, monkeypatch, question):
    for code in ("0", "nobody"):
        found = linked(
            tmp_path,
            monkeypatch,
            {},
            id_column="id",
            dictionary={"columns": {"ill": {"type": "category", "categories": [0, 1]}}, "missing": [code]},
            **question,
        )
        assert len(found) == ROWS
        monkeypatch.undo()


STEP = {"function": "filter_range", "parameters": {"column": "income", "min_": 1000, "max_": 1200, "include_min": True}}
FILES = [{"id_column": "id"}, {"rows_aligned": True}]


@pytest.mark.parametrize("question", FILES, ids=["linked", "aligned"])
@pytest.mark.parametrize("noise", [{}, {"epsilon": 0.1}])
def test_no_preprocessing_chooses_the_records_that_are_linked(tmp_path, monkeypatch, question, noise):
    """How many records are common is told whatever the noise, so it was how many have an income in any range."""
    monkeypatch.setenv("DEFAULT_PREPROCESSING", json.dumps([STEP]))
    with pytest.raises(PolicyError, match="preprocessing"):
        linked(tmp_path, monkeypatch, {"allow_formulas": True}, **question, **noise)


def test_control_unchecked_the_number_in_a_range_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("DEFAULT_PREPROCESSING", json.dumps([STEP]))
    monkeypatch.setattr(TableReader, "check_all_rows", lambda _: None)
    found = linked(tmp_path, monkeypatch, {}, id_column="income", epsilon=0.1)
    assert found == sorted(income for income in INCOMES if income < 1200)


def test_control_an_identifier_that_is_taken_for_missing_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(TableReader, "check_linked_by", lambda *_: None)
    monkeypatch.setattr(TableReader, "identifiers", unchecked)
    dictionary = {"columns": WORDS["missing"]}
    found = linked(tmp_path, monkeypatch, {}, id_column="id", dictionary=dictionary, epsilon=0.1)
    assert len(found) == ROWS - 1


def unchecked(station, column, minimum=True):
    """Return identifiers as they were read before."""
    return [identifier_text(cell) for cell in station.data([column], minimum, identifiers=(column,))[column].tolist()]


def test_control_unlisted_all_incomes_are_told(tmp_path, monkeypatch):
    assert linked(tmp_path, monkeypatch, {}, id_column="income", epsilon=0.1) == sorted(INCOMES)
