"""Random changes of the requests of a job: a field or two, of one station, all, or two groups; a question again, before or early; what other jobs ask."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from changed_kit import Asked, Run
from changed_parts import (
    AGAIN,
    BEFORE,
    EARLY,
    FEWER,
    INSTEAD,
    REFUSED,
    Change,
    Edit,
    Keys,
    Swap,
    Taken,
    get,
    named,
    parts,
    taken,
)
from test_plans_mutated import built, changed

TRIES = 20
"""Values that are drawn for a field until there is one that its message takes."""
OPENING = "partial_open_channel"
"""The first round, whose announcement the manifest has: seldom changed."""
SELDOM = 0.03
MANNERS = {INSTEAD: 0.69, AGAIN: 0.12, BEFORE: 0.06, EARLY: 0.08, FEWER: 0.05}
"""What is done, and how often."""
SOURCES = {"mutated": 0.4, "here": 0.35, "elsewhere": 0.25}
"""Where a value is from: changed, of another field of this job with the same name, or of another job's."""
SCOPES = {"all": 0.5, "one": 0.25, "others": 0.1, "groups": 0.15}
"""Who is asked otherwise: everybody, one, all but one, or all, in two groups of which each is told something of its own."""
FIELDS = {1: 0.55, 2: 0.25, 3: 0.05, 0: 0.15}
"""How many fields; none: one value is another one wherever it stands, from that round on."""
SAME = 0.3
"""Part of the questions that are asked again as they are."""
HERE = 0.5
"""Part of the questions in rounds of their own that this job has asked before."""
APART = 0.4
"""Part of further fields that are of a later round."""
Pool = Mapping[str, Sequence[Any]]
"""Name of a field, or the name of a function -> what stands there in the requests of honest jobs."""


def pool(runs: Sequence[Run]) -> Pool:
    """Return what honest jobs ask: by field, whole requests by function."""
    found: dict[str, list[Any]] = defaultdict(list)
    for one in (asked for run in runs for asked in run.asked if asked.function != OPENING):
        found[one.function].append(one)
        for request in one.each.values():
            for keys in parts(request):
                found[named(request, keys)[-1]].append(get(request, keys))
    return found


class Drawer:
    """Draws changes of a job.

    Parameters
    ----------
    honest : Run
        The job as it is.
    elsewhere : mapping
        What other jobs, or other runs of this one, ask.
    random : Generator
    """

    def __init__(self, honest: Run, elsewhere: Pool, random: np.random.Generator) -> None:
        self.honest, self._elsewhere, self._random = honest, elsewhere, random
        self._functions = list(dict.fromkeys(one.function for one in honest.asked))

    def _of(self, chances: Mapping[Any, float]) -> Any:
        keys = list(chances)
        return keys[self._random.choice(len(keys), p=list(chances.values()))]

    def _one(self, items: Sequence[Any]) -> Any:
        return items[int(self._random.integers(len(items)))]

    def change(self) -> Change:
        """Return a change that the messages' classes take."""
        for _ in range(TRIES):
            found = self._drawn()
            past = self.honest.asked
            if any(
                made[at] is not one.each[at]
                for place, one in enumerate(past, 1)
                for made in [found.made(place, one.each, past[:place])]
                for at in made
            ):
                return found
            if found.manner != INSTEAD:
                return found
        return found

    def _drawn(self) -> Change:
        manner, number = self._of(MANNERS), self._round()
        if manner == EARLY:
            return Change(number, manner, early=self._early(number))
        if manner == AGAIN and self._random.random() < SAME:
            return Change(number, manner)
        count, edits = self._of(FIELDS), defaultdict[int, list[Edit | Swap]](list)
        if not count:
            edits[number].append(self._swap(number))
        for place in range(count):
            apart = place and self._random.random() < APART
            at = int(self._random.integers(number, len(self.honest.asked) + 1)) if apart else number
            edits[at] += self._edits(at)
        everybody = sorted(self.honest.asked[number - 1].each)
        fewer = frozenset([self._one(everybody)]) if manner == FEWER else frozenset[int]()
        return Change(number, manner, dict(edits), members=fewer)

    def _round(self) -> int:
        """Return a round: of a function drawn first, as a fit has many rounds of one and one of others."""
        rest = [name for name in self._functions if name != OPENING]
        function = OPENING if self._random.random() < SELDOM else self._one(rest)
        return int(self._one([at for at, one in enumerate(self.honest.asked, 1) if one.function == function]))

    def _early(self, number: int) -> Asked | int:
        """Return a question of any round of this method's jobs, or an earlier round of this one."""
        if number > 1 and self._random.random() < HERE:
            return int(self._random.integers(1, number))
        own = [one for name in self._functions for one in self._elsewhere.get(name, [])]
        return self._one(own)  # type: ignore[no-any-return]

    def _place(self, number: int) -> tuple[int, Keys]:
        """Return a member and a place in what it is asked: of a field drawn first, as some are in long lists."""
        each = self.honest.asked[number - 1].each
        member = self._one(sorted(each))
        by_name: dict[tuple[str, ...], list[Keys]] = defaultdict(list)
        for keys in parts(each[member]):
            by_name[named(each[member], keys)].append(keys)
        return member, self._one(self._one(list(by_name.values())))

    def _value(self, number: int, member: int, keys: Keys) -> Any:
        """Return another value for a place, or where it is taken from; None where none is found."""
        request = self.honest.asked[number - 1].each[member]
        value, name = get(request, keys), named(request, keys)[-1]
        for _ in range(TRIES):
            source, found = self._of(SOURCES), value
            if source == "here":
                found = self._taken(number, keys) or value
            elif source == "elsewhere":
                found = self._one(self._elsewhere.get(name, [value]))
            else:
                ways = [one for _, one in changed(value)]
                with contextlib.suppress(*REFUSED):
                    found = built(value, self._one(ways)) if ways else value
            if repr(taken(found, self.honest.asked)) != repr(value):
                return found
        return None

    def _taken(self, number: int, keys: Keys) -> Taken | None:
        """Return a place of this round, or one before, that has the same name."""
        at = int(self._random.integers(1, number + 1))
        member = self._one(sorted(self.honest.asked[at - 1].each))
        places = [one for one in parts(self.honest.asked[at - 1].each[member]) if one[-1] == keys[-1]]
        return Taken(at, member, self._one(places)) if places else None

    def _edits(self, number: int) -> list[Edit | Swap]:
        """Return one change of a round's requests, or two of two groups."""
        member, keys = self._place(number)
        everybody, scope = frozenset(self.honest.asked[number - 1].each), self._of(SCOPES)
        if scope == "groups" and len(everybody) > 1:
            group = frozenset(at for at in everybody if self._random.random() < 0.5) or frozenset([member])
            chosen = [one for one in (group, everybody - group) if one]
        else:
            chosen = [{"one": frozenset([member]), "others": everybody - {member}}.get(scope, everybody)]
        return [Edit(members, keys, self._value(number, member, keys)) for members in chosen if members]

    def _swap(self, number: int) -> Swap:
        """Return another value of all fields of a name, or of a text wherever it stands."""
        member, keys = self._place(number)
        request = self.honest.asked[number - 1].each[member]
        other = taken(self._value(number, member, keys), self.honest.asked)
        return Swap(named(request, keys)[-1], get(request, keys), other)
