"""What central opens of the replies of a job, whoever's it adds up; and what of it differs between neighbouring tables beyond the noise it was told under.

A sum is open where runs on one table, with noise of zero, give the same numbers, or the same low bits of all of them: other sums are of masks that do not
cancel. What differs of a neighbour must then be noisy, with shares of as many parties as the noise was made for, in every number; and costs its part of
the width of the noise.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from changed_cases import Task
from changed_kit import Asked, Kept, Noise, Run
from neighbours_kit import Loss
from views_kit import Entry, leaves

import v6_verticox.noisy.fit as cox
from fedbayes.dp.gaussian import mu_of
from fedbayes.dp.laws import DiscreteGaussian
from fedbayes.federation.gate import Exact, Masked, Public, Released, Share
from fedbayes.typing import Floats

TOLD = (Exact, Masked, Public, Released, Share)
"""Reasons for which numbers leave for central, in clear or under masks."""
WIDE = "partial_products"
"""The round whose words of 128 bits are read as a Cox fit reads them."""
CHANCE = 30
"""Bits that must be alike before they are no chance: one of 2^30, of some thousand sums of a run."""
WORD = 64  # bits of the widest numbers of a reply
STEP = 4.0
"""Units in the last place by which rounding of shares moves the wide sums of a Cox fit."""
MASKED = 2.0**20
"""Wide sums that differ by more between two runs are of masks that do not cancel."""
NEAR = 8
"""Leading bits of a word in which a masked number differs between runs."""
ROUNDING = 1e-9
Place = tuple[int, str, tuple[str, ...]]
Sums = dict[Place, dict[int, np.ndarray]]


@dataclass
class Opened:
    """What is found of some runs: `finds` in words, and what each neighbour loses."""

    finds: list[str] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)

    def add(self, neighbour: int, change: np.ndarray, noise: Sequence[Noise]) -> None:
        """Add what numbers change by, under the least of the noise."""
        width = min(one.draw.width for one in noise)
        if isinstance(noise[0].draw.law, DiscreteGaussian):
            self.losses[neighbour].squares += float(((change / width) ** 2).sum())
        else:
            self.losses[neighbour].epsilon += float((change / width).sum())

    def part(self, task: Task, debited: float) -> float:
        """Return the largest part of what was debited, an epsilon, that a neighbour lost."""
        delta = task.budget[1]
        squares = task.steps * (mu_of(debited, delta) ** 2 if delta else 1.0) if debited else 0.0
        parts = [(loss.epsilon, debited * task.steps, loss.squares, squares) for loss in self.losses]
        return max(
            (lost / paid if paid else np.inf) if lost else 0.0 for one in parts for lost, paid in (one[:2], one[2:])
        )


def numbers(run: Run) -> Sums:
    """Return the numbers of all replies: (round, function, place) -> organization -> numbers; of a question asked again also what its answers differ by."""
    found: Sums = defaultdict(dict)
    for number, entry in run.entries:
        for leaf in leaves(entry):
            value = np.atleast_1d(leaf.value) if isinstance(leaf.value, int | float | np.ndarray) else None
            if leaf.reason in TOLD and value is not None and value.size and value.dtype.kind in "iufb":
                found[number, entry.function, leaf.place[2:]][entry.organization] = _words(value)
    for letter in run.letters:
        for name, words in letter.numbers.items():
            function = run.asked[letter.round - 1].function
            found[letter.round, function, ("letter", letter.topic, name)][letter.organization] = words
    for again, one in enumerate(run.asked, 1):
        for before in range(1, again):
            if run.asked[before - 1].function == one.function and not (one.counts and run.asked[before - 1].counts):
                found |= _differences(found, before, again)
    return found


def _words(value: np.ndarray) -> np.ndarray:
    """Return numbers in one row; of whole numbers in bytes, as Cox fits open them, the lowest eight."""
    if value.dtype != np.uint8 or value.ndim < 2:
        return value.reshape(-1)
    low = np.zeros((*value.shape[:-1], WORD // 8), dtype=np.uint8)
    low[..., : value.shape[-1]] = value[..., : WORD // 8]
    return low.view("<u8").astype(np.uint64).reshape(-1)


def _differences(found: Sums, before: int, again: int) -> Sums:
    """Return, of organizations that gave two answers, what these differ by: under one mask that is what is behind it."""
    made: Sums = {}
    for (number, function, place), each in found.items():
        other = found.get((before, function, place), {})
        if number == again and place[0] != "less":
            alike = {at: one for at, one in each.items() if at in other and other[at].shape == one.shape}
            differences = {at: one - other[at] for at, one in alike.items() if one.dtype.kind in "iu"}
            if differences:
                made[again, function, ("less", str(before), *place)] = differences
    return made


def total(each: Mapping[int, np.ndarray], members: Sequence[int]) -> np.ndarray | None:
    """Return the sum of some members' numbers in the smallest of their rings, of as many as all have; None where there is none."""
    parts = [each[at] for at in members]
    if any(part.dtype.kind in "fb" for part in parts):
        return None if len({part.size for part in parts}) > 1 else np.sum(parts, axis=0, dtype=np.float64)
    length, word = min(part.size for part in parts), min(part.dtype.itemsize for part in parts)
    return sum(part[:length].astype(np.uint64) for part in parts).astype(f"u{word}")


def alike(sums: Sequence[np.ndarray]) -> tuple[np.ndarray, int]:
    """Return which numbers, and how many of their low bits, are the same in all runs on one table: 0 bits where none are."""
    same = np.all([one == sums[0] for one in sums[1:]], axis=0)
    bits = sums[0].dtype.itemsize * 8
    if same.any() and (sums[0].dtype.kind == "f" or same.sum() * bits * (len(sums) - 1) >= CHANCE):
        return same, bits
    if sums[0].dtype.kind == "f":
        return same, 0
    other = int(np.bitwise_or.reduce([np.bitwise_or.reduce(one ^ sums[0]) for one in sums[1:]]))
    low = (other & -other).bit_length() - 1 if other else bits
    return np.ones(len(same), dtype=bool), low if low * len(same) * (len(sums) - 1) >= CHANCE else 0


def near(sums: Sequence[np.ndarray]) -> bool:
    """Whether numbers differ between runs on one table, and all by less than uniform ones do."""
    word = sums[0].dtype.itemsize * 8
    if sums[0].dtype.kind == "f" or (NEAR - 1) * len(sums[0]) * (len(sums) - 1) < CHANCE:
        return False
    most = max(float(changes(sums[0], one, word).max()) for one in sums[1:])
    return STEP < most < 2.0 ** (word - NEAR)


def changes(one: np.ndarray, other: np.ndarray, bits: int) -> np.ndarray:
    """Return by how much numbers differ, in a ring of so many bits."""
    if one.dtype.kind == "f":
        return np.abs(other - one)
    shift = WORD - bits
    difference = (other.astype(np.uint64) - one.astype(np.uint64)) << np.uint64(shift)
    return np.abs((difference.view(np.int64) >> shift).astype(np.float64))


def subsets(members: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield whose answers central may add up, the fewest first."""
    for size in range(1, len(members) + 1):
        yield from combinations(sorted(members), size)


def opened(table: Sequence[Run], neighbours: Sequence[Run], noisy: Run | None = None) -> Opened:
    """Return what runs on a table, on neighbours, and maybe one with noise of one on the table show."""
    found = Opened(losses=[Loss() for _ in neighbours])
    sums, others, ones = (
        [numbers(run) for run in table],
        [numbers(run) for run in neighbours],
        numbers(noisy) if noisy else {},
    )
    kept, bare = {number.round for number in table[0].kept}, dict[Place, list[set[int]]]()
    for place, each in sums[0].items():
        if (place[1] == WIDE and place[2][0] != "letter") or (
            place[0] in kept and place[2][0] in ("tables", "classes")
        ):
            continue
        if any(one.get(place, {}).keys() != each.keys() for one in (*sums, *others)):
            found.finds.append(f"{place}: answered otherwise by other organizations")
            continue
        noise = [one for one in table[0].noise if one.round == place[0] or place[2][:2] == ("less", str(one.round))]
        known = list[set[int]]()
        if place[2][0] == "less":  # of two that are open the difference tells nothing more
            before, again = (bare.get((at, place[1], place[2][2:]), []) for at in (int(place[2][1]), place[0]))
            known = [members for members in before if members in again]
        parts = [one[place] for one in sums], [one[place] for one in others], ones.get(place, {})
        bare[place] = _place(found, place, *parts, noise, known)
    _kept(found, table[0].kept, [run.kept for run in neighbours])
    _wide(found, table, neighbours)
    return found


def _place(
    found: Opened, place: Place, each: Any, others: Any, ones: Any, noise: Sequence[Noise], known: list[set[int]]
) -> list[set[int]]:
    """Add what is found in one place beyond sums of some members that are known; return the sums of which all numbers are open, by members."""
    whole = list[set[int]]()
    for members in subsets(each[0]):
        if any(one <= set(members) for one in known):
            continue
        sums = [total(one, members) for one in (*each, *others)]
        if any(one is None or one.shape != sums[0].shape for one in sums):  # type: ignore[union-attr]
            found.finds.append(f"{place}, {members}: of another size")
            continue
        own = [one for one in sums if one is not None]
        same, bits = alike(own[: len(each)])
        if near(own[: len(each)]):
            found.finds.append(f"{place}, {members}: numbers that differ between runs, and are not masked")
        if bits:
            known.append(set(members))
            whole += [set(members)] * bool(same.all() and bits == own[0].dtype.itemsize * WORD // 8)
            drawn = [one for one in noise if one.organization in members]
            with_ones = total(ones, members) if ones.keys() >= set(members) else None
            for neighbour, other in enumerate(own[len(each) :]):
                change = np.where(same, changes(own[0], other, bits), 0.0)
                if change.any():
                    _told(found, f"{place}, {members}, {bits} bits", neighbour, change, drawn)
                    if drawn and with_ones is not None and with_ones.shape == change.shape:
                        bare = (change > 0) & (changes(own[0], with_ones, bits) == 0)
                        found.finds += [f"{place}, {members}: {bare.sum()} numbers have no noise"] * bool(bare.any())
    return whole


def _told(found: Opened, where: str, neighbour: int, change: np.ndarray, noise: Sequence[Noise]) -> None:
    """Add what is lost by numbers that differ, or find that noise lacks."""
    if not noise:
        found.finds.append(f"{where}: {np.count_nonzero(change)} numbers differ by up to {change.max():g}, no noise")
        return
    if len({one.organization for one in noise}) < max(one.draw.parties for one in noise):
        found.finds.append(f"{where}: noise of fewer parties than it was made for")
    if len({round(one.draw.width, 9) for one in noise}) > 1:
        found.finds.append(f"{where}: noise of several widths")
    found.add(neighbour, change, noise)


def _kept(found: Opened, table: Sequence[Kept], neighbours: Sequence[Sequence[Kept]]) -> None:
    """Add what tables lose that stay at their stations with all of their noise."""
    for place, one in enumerate(table):
        for neighbour, others in enumerate(neighbours):
            other = others[place].values if place < len(others) else np.zeros(0)
            if other.shape != one.values.shape:
                found.finds.append(f"round {one.round}: kept numbers of another size")
            else:
                found.losses[neighbour].epsilon += float(np.abs(other - one.values).sum() / one.width)


def wide(run: Run) -> dict[tuple[int, tuple[int, ...]], Floats]:
    """Return, by round and by whose answers are added up, the sums that are revealed of a Cox fit of columns, in units of noise."""
    found: dict[int, dict[int, Entry]] = defaultdict(dict)
    for number, entry in run.entries:
        if entry.function == WIDE and entry.reply.revealed:
            found[number][entry.organization] = entry
    return {
        (number, members): _revealed(run.asked[number - 1], [entries[one] for one in members])
        for number, entries in found.items()
        for members in subsets(entries)
    }


def _revealed(asked: Asked, entries: Sequence[Entry]) -> Floats:
    request = asked.each[entries[0].organization]
    reveals = cox.Step.shape(request.plan, request.sizes).reveals()
    replies = [entry.reply.revealed for entry in entries]
    parts = [
        cox.units(cox.total_of(reply[name] for reply in replies), bits - cox.BITS)
        for name, bits in reveals.items()
        if all(name in reply and len(reply[name].value) == len(replies[0][name].value) for reply in replies)
    ]
    return np.concatenate([np.zeros(0), *parts])


def _wide(found: Opened, table: Sequence[Run], neighbours: Sequence[Run]) -> None:
    """Add what the wide sums of a Cox fit lose, where masks cancel."""
    sums, others = [wide(run) for run in table], [wide(run) for run in neighbours]
    for place, values in sums[0].items():
        if any(one.get(place, values[:0]).shape != values.shape for one in (*sums, *others)):
            found.finds.append(f"round {place[0]}: wide sums of another size")
        elif values.size and max(np.ptp([one[place], values], axis=0).min() for one in sums[1:]) <= MASKED:
            same = np.max([np.ptp([one[place], values], axis=0) for one in sums[1:]], axis=0) <= MASKED
            noise = [one for one in table[0].noise if one.round == place[0] and one.organization in place[1]]
            for neighbour, other in enumerate(others):
                change = np.where(same, np.maximum(0.0, np.abs(other[place] - values) - STEP), 0.0)
                if change.any():
                    _told(found, f"wide sums of round {place[0]}, {place[1]}", neighbour, change, noise)
