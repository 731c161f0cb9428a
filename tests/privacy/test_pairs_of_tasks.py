"""Random pairs and triples of exact tasks at nodes that remember: no several of them tell of few records where none does alone.

Federations, tasks and changes of tasks are drawn (`pairs_federations`, `pairs_drawn`, `pairs_changed`); what answers tell is measured in other worlds
(`pairs_judged`), by no rule of the program's own. The controls take one guard out each, and the machine thinks of the attack that it stops.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from pairs_federations import federation
from pairs_judged import Asking, Find

from fedbayes.federation.answered import entered, linked, organizations

SEED, FEDERATIONS, TASKS = (
    int(os.environ.get(f"PAIRS_{name}", default)) for name, default in (("SEED", 0), ("FEDERATIONS", 4), ("TASKS", 12))
)
"""The first federation, how many, and tasks of each; by environment variables for longer runs."""
TRIED = 40
"""Federations of a control at most."""
LINKED = ("contingency", "count", "product", "gain", "network", "ensemble", "own tables", "describe")
ROWS = ("counts", "network", "ensemble", "describe", "weighted")
SLOW = {False: "cox", True: "encrypted"}
"""Of linked and of whole records: what takes seconds a task, asked in every eighth federation."""


def found(
    seed: int, by_rows: bool, folder: Path, only: Sequence[str], tasks: int, columns: Sequence[str] = (), **asked: Any
) -> list[Find]:
    """Return what a sequence of tasks tells of the odd records of one federation; `columns`: what a station is asked about, if not all of its."""
    random = np.random.default_rng(seed)
    drawn = federation(random, by_rows)
    if columns:
        drawn.holders["a"] = list(columns)
    asking = Asking(drawn, random, folder, only, **asked)
    asking.run(tasks)
    return asking.by_construction(["verticox"]) or asking.judge(bool(random.random() < 0.5))


@pytest.mark.audit
@pytest.mark.parametrize("seed", range(SEED, SEED + FEDERATIONS))
def test_no_tasks_together_tell_of_few(tmp_path: Path, seed: int) -> None:
    by_rows = seed % 3 == 2
    only = (*(ROWS if by_rows else LINKED), *([SLOW[by_rows]] if seed % 8 == 7 else []))
    assert not found(seed, by_rows, tmp_path, only, TASKS)


COLUMNS = mock.patch.object(entered.Entered, "_columns", return_value=[])
LINKS = mock.patch.object(linked.Linked, "admit", return_value=True)
CONTROLS: dict[str, tuple[Any, str, str, tuple[str, ...]]] = {
    "an organization less": (mock.patch.object(organizations, "tells_of_few", return_value=False), "network", "other_organizations", ()),
    "two columns that are one": (COLUMNS, "contingency", "other_column", ("x", "g")),
    "two columns of identifiers": (LINKS, "contingency", "other_link", ("x", "y")),
    "a station that lacks one": (LINKS, "contingency", "other_organizations", ("x", "y")),
    "one station alone": (mock.patch.object(entered.Entered, "note_alone"), "own tables", "other_column", ("x",)),
}  # fmt: skip
"""Guards that are taken out: the guard, the function, the change, and the columns of a station, of linked records, that tasks are about."""


@pytest.mark.audit
@pytest.mark.parametrize("name", CONTROLS)
def test_control_without_a_guard_the_machine_thinks_of_the_attack(tmp_path: Path, name: str) -> None:
    unguarded, only, change, columns = CONTROLS[name]
    with unguarded:
        assert any(
            found(seed, not columns, tmp_path / str(seed), [only], 8, columns, changes=[change])
            for seed in range(TRIED)
        )
