"""One file under two labels of a node: vantage6 hands it to containers as two files, each with its label's name, and what was answered of one is remembered."""

import shutil
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess

from fedbayes.federation import errors
from fedbayes.federation.answered import sources
from fedbayes.federation.answered.sources import name_of

ROWS = 60
DOMAIN = {"age": {"bounds": [20, 80]}, "ill": {"categories": ["no", "yes"]}}


def parties(folder: Path, label: str) -> dict[str, dict[str, Path]]:
    """Return what containers of a node get: the file under its label's name, made from the one that all labels stand for."""
    found = {}
    for name in "abcd":
        vault, source = folder / f"{name}-vault", folder / f"{name}.csv"
        vault.mkdir(exist_ok=True)
        if not source.exists():
            rng = np.random.default_rng(ord(name))
            ill = rng.choice(["no", "yes"], ROWS)
            pd.DataFrame({"age": rng.integers(20, 80, ROWS), "ill": ill}).to_csv(source, index=False)
        handed = folder / f"{name}-{label}.csv"
        shutil.copy(source, handed)
        found[name] = {"default": handed, "vault": vault}
    return found


def ask(folder: Path, label: str, organizations: str) -> int:
    """Return of how many records a task tells that asks for a label."""
    policies = {name: {"ledger": "vault", "allow_differences": False} for name in "abcd"}
    with OneProcess(parties(folder, label), policies=policies) as federation:
        asked = {"domain": DOMAIN, "organizations": list(organizations)}
        return federation.run("dp_naive_bayes", "describe", asked)["model"]["columns"]["age"]["records"]


def test_what_was_answered_under_one_label_is_held_against_the_other(tmp_path: Path) -> None:
    assert ask(tmp_path, "all", "abcd") == 4 * ROWS
    with pytest.raises(errors.ThresholdError, match="fewer organizations"):
        ask(tmp_path, "study", "abc")


def test_control_by_its_path_alone_the_file_is_another(tmp_path: Path) -> None:
    with mock.patch.object(sources, "content_of", str):
        assert ask(tmp_path, "all", "abcd") - ask(tmp_path, "study", "abc") == ROWS


def test_a_table_keeps_its_name(tmp_path: Path) -> None:
    one, other = tmp_path / "one.csv", tmp_path / "other.csv"
    one.write_text("a\n1\n")
    name = name_of(tmp_path, str(one), None)
    other.write_text("a\n2\n")
    assert name_of(tmp_path, str(other), None) != name
    one.write_text("a\n3\n")
    assert name_of(tmp_path, str(one), None) == name, "the table of a place stays that when it is brought up to date"
    third = tmp_path / "third.csv"
    for content in ("a\n1\n", "a\n3\n"):
        third.write_text(content)
        assert name_of(tmp_path, str(third), None) == name, "also what it held before"
    assert name_of(tmp_path, str(one), "view") != name
    assert name_of(tmp_path, "postgresql://host/base", None) == name_of(tmp_path, "postgresql://host/base", None)


def test_large_files_that_differ_in_a_cell_at_an_end_are_told_apart(tmp_path: Path) -> None:
    path, content = tmp_path / "t.csv", bytearray(b"0" * 5_000_000)
    seen = set()
    for place in (None, 0, 2_500_000, len(content) - 1):
        changed = bytearray(content)
        if place is not None:
            changed[place] = ord("1")
        path.write_bytes(changed)
        seen.add(sources.content_of(path))
    assert len(seen) >= 3
