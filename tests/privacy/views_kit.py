"""What every role receives in every round of a task, and whether two tasks on neighbouring data look alike but for uniform values.

A task runs inside this process (`harness.inprocess`); what a station is asked and what it answers are noted where messages are opened, before any seal.
Central sees every reply, a station every request that it gets, a helper likewise: so all views are parts of one list of `Entry`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
from harness.inprocess import InProcess
from scipy.stats import chi2

from fedbayes.federation import decorators, gate
from fedbayes.federation.gate import Broadcast, Masked, Released, Sealed, Share
from fedbayes.federation.messages.codec import Message, encode

FALSE_ALARM = 1e-9
"""Of one comparison; a whole run makes a few thousand."""
CLOSE = 1e-6
KEYS = ("exchange", "public_key")
"""Fields that hold a fresh public key, a point of a curve."""
KEY_BYTES = 32
CUT = frozenset(["partial_group"])
"""Rounds whose openings go to a station that gets them cut; of others one station gets whole sums."""
MATCHED = ("partial_match", "request", "hashes")
"""All that a helper receives of stations: keyed hashes of identifiers, whose key it does not have."""


@dataclass(frozen=True)
class Entry:
    """What one organization was asked in one round, and what it answered."""

    function: str
    organization: int
    body: Any
    reply: Any


@dataclass(frozen=True)
class Leaf:
    """One number, array, text or run of bytes of a message; `reason` is why it left a station, None in a request."""

    place: tuple[str, ...]
    reason: type | None
    value: Any

    @property
    def shape(self) -> Any:
        """Size and type: all that may be equal of what is drawn at random."""
        if isinstance(self.value, np.ndarray):
            return self.value.dtype.name, self.value.shape
        return ("bytes", len(self.value)) if isinstance(self.value, bytes) else type(self.value).__name__

    @property
    def kind(self) -> tuple[Any, ...]:
        """Where it is, whatever the organization and the position in a list."""
        return (self.reason, *(part for part in self.place if not part.isdigit()))


class Different(AssertionError):
    """Views of neighbouring data differ in something that is not uniform."""


@contextlib.contextmanager
def recording() -> Iterator[list[Entry]]:
    """Note every request and reply of the tasks that run in this process."""
    entries: list[Entry] = []
    asked: list[tuple[str, Any]] = []
    answer, check = decorators._answer, gate.Gate.check

    def noted(function: Any, kind: Any, visit: Any, mock_data: Any) -> Any:
        asked.append((function.__name__, visit))
        return answer(function, kind, visit, mock_data)

    def passed(self: Any, reply: Any) -> None:
        check(self, reply)
        name, visit = asked[-1]
        entries.append(Entry(name, visit.run.organization, visit.body, reply))

    with mock.patch.object(decorators, "_answer", noted), mock.patch.object(gate.Gate, "check", passed):
        yield entries


def record(
    method: str,
    files: Mapping[str, str | None],
    central: str,
    function: str,
    arguments: Mapping[str, Any],
    limits: Mapping[str, Any],
) -> tuple[list[Entry], Any]:
    """Run one task and return its entries and its result."""
    policies = {name: dict(limits) for name in files}
    with InProcess(f"v6_{method}", files, policies, central) as platform, recording() as entries:
        return entries, platform.run(function, arguments)


def leaves(entry: Entry) -> list[Leaf]:
    """Return every leaf of a request and its reply."""
    asked = _plain(entry.body, (entry.function, "request"), None)
    return [*asked, *_typed(entry.reply, (entry.function, "reply"))]


def _typed(reply: Any, place: tuple[str, ...]) -> Iterator[Leaf]:
    if isinstance(reply, gate.REASONS):
        yield from _plain(encode(reply, raw=True), place, type(reply))
    elif isinstance(reply, Message):
        for field in dataclasses.fields(reply):  # type: ignore[arg-type]
            yield from _typed(getattr(reply, field.name), (*place, field.name))
    elif isinstance(reply, Mapping):
        for key, part in reply.items():
            yield from _typed(part, (*place, str(key)))
    elif isinstance(reply, list | tuple):
        for position, part in enumerate(reply):
            yield from _typed(part, (*place, str(position)))


def _plain(value: Any, place: tuple[str, ...], reason: type | None) -> Iterator[Leaf]:
    if isinstance(value, dict) and set(value) == {"dtype", "shape", "data"} and isinstance(value["data"], bytes):
        array = np.frombuffer(value["data"], dtype=np.dtype(value["dtype"]).newbyteorder("<"))
        yield Leaf(place, reason, array.reshape(value["shape"]))
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _plain(part, (*place, str(key)), reason)
    elif isinstance(value, list | tuple):
        yield Leaf((*place, "length"), reason, len(value))
        for position, part in enumerate(value):
            yield from _plain(part, (*place, str(position)), reason)
    else:
        yield Leaf(place, reason, value)


def compare(first: list[list[Entry]], second: list[list[Entry]], helpers: tuple[int, ...] = ()) -> None:
    """Hold runs on one table against runs on its neighbour.

    Parameters
    ----------
    first, second : list of list of Entry
        At least two runs of each: what differs between runs on equal data is random, everything else must be equal.
    helpers : tuple of int
        Organizations without data.

    Raises
    ------
    Different
        Naming the place.
    """
    order = [[(entry.function, entry.organization) for entry in run] for run in (*first, *second)]
    if any(found != order[0] for found in order):
        raise Different(f"rounds or their order differ: {_first_difference(order)}")
    pools: tuple[dict[Any, list[Any]], ...] = (defaultdict(list), defaultdict(list))
    for number, (function, organization) in enumerate(order[0]):
        found = [[leaves(run[number]) for run in runs] for runs in (first, second)]
        _compare_entry(f"{function} at {organization}", found, organization in helpers, pools)
    for kind in pools[0]:
        for pool in pools:
            if not looks_uniform(pool[kind], whole_sums="sums" in kind and not CUT.intersection(kind)):
                raise Different(f"{_named(kind)}: not uniform")


def _compare_entry(name: str, found: list[list[list[Leaf]]], helper: bool, pools: Any) -> None:
    every = [run for runs in found for run in runs]
    shapes = [[(leaf.place, leaf.shape) for leaf in run] for run in every]
    for shape in shapes[1:]:
        if shape != shapes[0]:
            raise Different(f"{name}: fields, types or sizes differ: {_first_difference([shapes[0], shape])}")
    for position, leaf in enumerate(every[0]):
        values = [[run[position].value for run in runs] for runs in found]
        if leaf.reason is Released or all(_equal(values[0][0], value) for value in values[0][1:] + values[1]):
            continue
        where = f"{name}: {'/'.join(leaf.place)}"
        if (leaf.place[-1] in KEYS and leaf.shape == ("bytes", KEY_BYTES)) or _reordered(leaf, every):
            continue
        if all(_equal(values[0][0], value) for value in values[0][1:]):
            raise Different(f"{where}: the same in every run on one table, and another on its neighbour")
        _check_random(where, leaf, helper)
        for pool, drawn in zip(pools, values, strict=True):
            pool[leaf.kind].extend(drawn)


def _reordered(leaf: Leaf, every: list[list[Leaf]]) -> bool:
    """Whether texts of one place are the same ones in every run, in a random order."""
    if not isinstance(leaf.value, str):
        return False
    return len({tuple(sorted(str(each.value) for each in run if each.kind == leaf.kind)) for run in every}) == 1


def _check_random(where: str, leaf: Leaf, helper: bool) -> None:
    if not _may_be_random(leaf):
        raise Different(f"{where}: random, but neither a share, masked nor sealed")
    if helper and leaf.reason is None and leaf.place[: len(MATCHED)] != MATCHED:
        raise Different(f"{where}: a helper is sent something that stations drew")


def _may_be_random(leaf: Leaf) -> bool:
    """Whether a random leaf is of a kind that can be uniform: in a request whatever is bytes or whole numbers of a ring."""
    ring = isinstance(leaf.value, bytes) or (isinstance(leaf.value, np.ndarray) and leaf.value.dtype.kind == "u")
    return ring and leaf.reason in (None, Share, Masked, Sealed, Broadcast)


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        if one.dtype.kind == "f":
            return bool(np.allclose(one, other, rtol=CLOSE, atol=CLOSE, equal_nan=True))
        return bool(np.array_equal(one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=CLOSE, abs_tol=CLOSE) or (math.isnan(one) and math.isnan(other))
    return bool(one == other)


def looks_uniform(drawn: list[Any], whole_sums: bool = False) -> bool:
    """Whether bytes or arrays of one place look uniform: chi-squared of every byte of a word. What was sent to several counts once.

    Of `whole_sums` the widest words are sums of uniform parts without a modulus: what leaves it, their highest byte, is spread as the whole part of a sum
    of uniform numbers from 0 to 1.
    """
    once = list({value if isinstance(value, bytes) else value.tobytes(): value for value in drawn}.values())
    if isinstance(once[0], bytes):
        return _spread(np.frombuffer(b"".join(once), dtype=np.uint8))
    words: dict[int, list[np.ndarray]] = defaultdict(list)
    for value in map(_bytes_of, once):
        words[value.shape[1]].append(value)
    carried = max(words) if whole_sums else None
    return all(_are_uniform(np.concatenate(alike), width == carried) for width, alike in words.items())


def _are_uniform(words: np.ndarray, carried: bool) -> bool:
    """Whether words of one width, (words, bytes), look uniform in every byte; the highest one in the bits that it has, or as what is `carried`."""
    highest = words[:, -1]
    top = _carried(highest) if carried else _spread(*_whole(highest))
    return top and all(_spread(words[:, place]) for place in range(words.shape[1] - 1))


def _carried(whole: np.ndarray) -> bool:
    """Chi-squared of the whole parts of sums of uniform numbers, as many as the largest part tells: Eulerian numbers over a factorial."""
    observed = np.bincount(whole)
    parts = len(observed)
    chances = [
        sum((-1) ** j * math.comb(parts + 1, j) * (k + 1 - j) ** parts for j in range(k + 1)) / math.factorial(parts)
        for k in range(parts)
    ]
    expected = len(whole) * np.array(chances)
    statistic = float(((observed - expected) ** 2 / expected).sum())
    return parts > 1 and bool(chi2.sf(statistic, parts - 1) > FALSE_ALARM)


def _bytes_of(value: np.ndarray) -> np.ndarray:
    """Return the bytes of every word, (words, bytes), the lowest first; the last axis of an array of bytes is a word."""
    if value.dtype == np.uint8 and value.ndim > 1:
        return value.reshape(-1, value.shape[-1])
    return np.ascontiguousarray(value).reshape(-1, 1).view(np.uint8)


def _whole(highest: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the bits of the highest bytes that belong to the ring, moved to the top, and how many; the others repeat the sign, or are 0."""
    for bits in range(1, 8):
        low = highest & ((1 << bits) - 1)
        signed = np.where(low >> (bits - 1), low | (256 - (1 << bits)), low)
        if np.array_equal(low, highest) or np.array_equal(signed, highest):
            return low << (8 - bits), bits
    return highest, 8


def _spread(content: np.ndarray, most: int = 8) -> bool:
    """Chi-squared of the byte values, or of as many of their leading bits as there are bytes for."""
    bits = min(most, int(math.log2(max(1, len(content) // 8))))
    if bits < 1:
        return True
    observed = np.bincount(content >> (8 - bits), minlength=1 << bits)
    expected = len(content) / (1 << bits)
    statistic = float(((observed - expected) ** 2).sum() / expected)
    return bool(chi2.sf(statistic, (1 << bits) - 1) > FALSE_ALARM)


def _first_difference(found: list[list[Any]]) -> str:
    other = next(each for each in found if each != found[0])
    pairs = zip([*found[0], None], [*other, None], strict=False)
    return next(f"{one} and {two}" for one, two in pairs if one != two)


def _named(kind: tuple[Any, ...]) -> str:
    return "/".join(part.__name__ if isinstance(part, type) else str(part) for part in kind)
