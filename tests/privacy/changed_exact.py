"""Exact tasks over linked and united records of which central changes requests, and what it opens: the same numbers under other masks.

What is the same in two runs on one table, or nearly so, is not masked. Such a number must be of a kind that honest jobs open (a round, a part of its reply,
and how many members' answers are added up); and tables must be those of the pooled records.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import add
from typing import Any
from unittest import mock

import numpy as np
from changed_cases import ALONE, CATEGORIES, COLUMNS, COX, DOMAIN, NETWORK, ROWS, Spread, Task, table
from changed_kit import Changing, Run, run
from changed_opened import Place, Sums, alike, near, numbers, subsets, total

from fedbayes.mpc.wide import Wide
from v6_verticox.rounds import stages

APART: Spread = {
    "a": (["x", "z"], slice(0, 25)),
    "b": (["x", "w"], slice(25, ROWS)),
    "c": (["w", "y"], slice(0, 25)),
    "h": None,
}
"""United records of which two stations have no column in common."""
EXACT = {name: COX[name] for name in ("time", "event", "features", "id_column")}
NOT_PRIVATE = {name: value for name, value in NETWORK.items() if name != "epsilon"}
GIVEN = {**NOT_PRIVATE, "structure": [["z", "x"], ["x", "y"]]}
TABLE = {"columns": ["x", "z", "w"], "domain": {name: DOMAIN[name] for name in "xzw"}, "id_column": "id"}
TASKS = {
    "newton": Task("verticox", "fit", EXACT),
    "robust": Task("verticox", "fit", {**EXACT, "robust": True}, central="b"),
    "efron": Task("verticox", "fit", {**EXACT, "features": ["x", "v", "w"], "ties": "efron"}, central="b"),
    "complete": Task("verticox", "fit", {**EXACT, "missing": "complete"}, central="c"),
    "bfgs": Task("verticox", "fit", {**EXACT, "solver": "bfgs"}, central="b"),
    "admm": Task("verticox", "fit", {**EXACT, "solver": "admm", "tolerance": 0.05, "max_rounds": 60}, central="b"),
    "table": Task("scalar_product", "contingency", TABLE),
    "table alone": Task("scalar_product", "contingency", {**TABLE, "helper": "none"}, ALONE),
    "given": Task("vertibayes", "fit", GIVEN, COLUMNS),
    "union given": Task("vertibayes", "fit", {**GIVEN, "split": "hybrid"}, APART),
    "union k2": Task(
        "vertibayes",
        "fit",
        {**NOT_PRIVATE, "structure": "k2", "label": "y", "max_parents": 2, "split": "hybrid"},
        APART,
    ),
}
"""Exact tasks, by name."""
PUBLIC = ("tau", "length")
"""Parts of replies that are small numbers, and tell nothing: a permutation that is drawn, lengths of lists."""
DESCRIBED = "described"
"""What a station tells of its own columns by itself, whichever are asked for: of ties where there are any, of categories."""
REVEALED = "revealed"
"""Sums of a Cox fit, in words of 128 bits."""
CLOSE = 1e-4
"""By which numbers of two runs differ: rounding of shares is a hundredth of it, and uniform words are as close once in 2^34."""
Opening = tuple[Place, tuple[int, ...]]
Kind = tuple[str, tuple[str, ...], int]
OF_A_FIT = (
    *("observed", "gradient", "residual", "residual|#", "slope|#", "information", "baseline", "trend", "squares"),
    *("level|#", "expected level", "check"),
)
"""What stages of Cox fits reveal (`shares.program`), each by the sum over all three share holders; some fits not all of it, and hazards in steps at random."""
USUAL: frozenset[Kind] = frozenset(
    ("partial_stage", (part, name), members) for name in OF_A_FIT for part, members in ((REVEALED, 3), ("frac_bits", 1))
)


def told(task: Task, change: Changing | None = None) -> Run:
    """Run a task whose central goes on where masks do not cancel."""
    with mock.patch.object(stages, "check_bound", return_value=None):
        return run(task, 0, change)


def openings(one: Run, other: Run) -> dict[Opening, np.ndarray]:
    """Return what central opens of two runs on one table: sums over members that are not masked, and not all zero."""
    first, second = numbers(one), numbers(other)
    found: dict[Opening, np.ndarray] = {}
    for place, each in first.items():
        if place[2][-1] in PUBLIC or place[2][0] == DESCRIBED or second.get(place, {}).keys() != each.keys():
            continue
        known = list[set[int]]()
        for members in subsets(list(each)):
            sums = [_sum(place, numbers_of, members) for numbers_of in (first, second)]
            pair = [one for one in sums if one is not None]
            if len(pair) == 2 and not any(part <= set(members) for part in known) and _same(*pair):
                known.append(set(members))
                found[place, members] = pair[0]
    return {key: values for key, values in found.items() if values.any() and not _implied(key, found)}


def _sum(place: Place, found: Sums, members: Sequence[int]) -> np.ndarray | None:
    """Return the sum of some members' numbers, of what a Cox fit reveals as real numbers; None where there is none."""
    number, function, (part, *names) = place
    bits = found.get((number, function, ("frac_bits", *names)), {})
    if part != REVEALED or not bits:
        return total(found[place], members)
    words = [found[place][one].reshape(-1, 2) for one in members]
    if len({len(one) for one in words}) > 1:
        return None
    return reduce(add, map(Wide.from_words, words)).decode(int(bits[members[0]][0]))


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether numbers of two runs are the same but for rounding, or some of their bits are."""
    if one.shape != other.shape:
        return False
    if one.dtype.kind == "f":
        return bool(np.allclose(one, other, rtol=CLOSE, atol=CLOSE))
    return bool(alike([one, other])[1]) or near([one, other])


def _implied(key: Opening, found: Mapping[Opening, np.ndarray]) -> bool:
    """Whether a sum is the difference of two that are open."""
    (number, function, rest), members = key
    both = [(number, function, rest[2:]), (int(rest[1]), function, rest[2:])] if rest[0] == "less" else []
    return bool(both) and all((place, members) in found for place in both)


def kind(key: Opening) -> Kind:
    """Return what kind of a number an opening is, whichever round and step it is of."""
    (_, function, rest), members = key
    return function, tuple(re.sub(r"[0-9a-f]{16,}|\d+", "#", part) for part in rest), len(members)


def other_tables(task: Task, run: Run, opened: Mapping[Opening, np.ndarray]) -> list[str]:
    """Return the tables of what is opened that are not, but for their order and states that are left out, those of the pooled records."""
    found = []
    for ((number, function, rest), _), values in opened.items():
        if function != "partial_tables" or rest[0] != "shares":
            continue
        request = next(iter(run.asked[number - 1].each.values()))
        columns = {info.name: info.columns for info in request.delivery.factors}
        start, sizes = 0, request.tables.cells(request.states)
        for names, size in zip(request.tables.joined(columns), map(int, sizes), strict=True):
            there = Counter(values[start : start + size].tolist())
            del there[0]
            if there - counts(task, list(dict.fromkeys(names)), request.delivery.setup.domain):
                found.append(f"a table over {names} that is not that of the records")
            start += size
    return found


def counts(task: Task, names: list[str], domain: Mapping[str, Mapping[str, Any]]) -> Counter[int]:
    """Return the cells of a table of the pooled records, a record without a state having one more."""
    whole, codes = table(0, False), []
    for name in names:
        states = [str(one) for one in domain.get(name, {}).get("categories", CATEGORIES.get(name, []))]
        there = np.zeros(ROWS, dtype=bool)
        for rows in (part[1] for part in task.spread.values() if part and name in part[0]):
            there[rows] = True
        own = zip(whole[name], there, strict=True)
        codes.append([states.index(str(one)) if known and str(one) in states else len(states) for one, known in own])
    return Counter(np.unique(np.array(codes), axis=1, return_counts=True)[1].tolist())
