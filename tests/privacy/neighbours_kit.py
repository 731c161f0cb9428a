"""Privacy loss of a question on two neighbouring tables, whatever the question is.

The same task runs on a table and on its neighbour, without noise. On the neighbour every station tells what it told on the first table, so that the
conversation is the same to the last number. Then

- what differs of the numbers that were to be told, over the width of the noise that *would* have been added cell by cell, is the loss;
- everything else that anybody sees (requests, public metadata, shapes, refusals, warnings, the result) must be the same.

No sensitivity, budget or split of a budget is taken from the code: only laws of noise, their widths, and the numbers themselves. On the neighbour noise is
a mark in its place, the number of the draw, which says which noise a cell would have; a cell that gets none has an infinite loss.
"""

from __future__ import annotations

import contextlib
import copy
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import numpy as np
from harness.cases import Case, filled
from harness.inprocess import InProcess
from harness.wrong import declared
from neighbours_drawn import neighbour
from views_kit import Entry, leaves, recording

import v6_secure_naive_bayes.drawing as secure
import v6_smooth_naive_bayes.partial as smooth
from fedbayes.dp import heavy_tails, laws
from fedbayes.dp.gaussian import mu_of
from fedbayes.federation import decorators
from fedbayes.federation.horizontal import units
from fedbayes.federation.station import Station
from fedbayes.mpc.packing import Packing

MARK = 2**44 + 2**22
"""The mark of the first draw: above any difference of counts or sums in fixed point, in words of eight bytes and, as 2^22, of four."""
LAWS = (laws.DiscreteLaplace, laws.DilutedLaplace, laws.DiscreteGaussian)
TABLES = "partial_tables"
"""The round in which stations and the helper open shares of noisy tables."""
WIDE = "partial_products"
"""The round that opens sums of a Cox fit to columns in words of 128 bits: what is seen is compared here, what is lost in `test_verticox_columns.py`."""
DEALT = ("partial_deal", "keying")
"""Where the exponents are that an organization without data draws, whose lengths vary by themselves."""
ROUNDING = 1e-9
AGAIN = 10
"""How often a table is asked before a difference of its neighbour counts: a drawn value that takes two values equally often passes for a leak in 1 of 1,024."""
STEPS = {"zero_out": (2, 2)}
"""What drawn tables may lose of a relation's epsilon, and of its square of mu: a record of empty cells is in the state "missing", so it is one content for
another, which turns one cell of a table into two."""
PARTY = (2, 4)
"""The same of a party whose rows are all others, where a promise is of one that comes or goes: twice the change."""
CHANGING = ("seconds", "rounds", "per_round", "provenance", "versions", "bytes")
"""Parts of a result that tell of times and sizes; rounds and sizes of messages are compared where these are."""


class Leak(AssertionError):
    """Neighbours differ by more than was promised, or in something that no noise is added to."""


@dataclass(frozen=True)
class Draw:
    """Noise that a station was about to draw; `parties` share it, one of a station's own has all of it."""

    law: laws.Law
    width: float
    parties: int


@dataclass(frozen=True)
class Told:
    """Numbers that noise is added to, of one station in one round, what it told, and the draws of this round so far."""

    place: tuple[Any, ...]
    organization: int
    value: Any
    sent: Any
    draws: tuple[Draw, ...]


@dataclass
class Recording:
    """All of one task; `debits`: organization -> epsilon."""

    told: list[Told] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    debits: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    answer: Any = None
    error: str | None = None

    @property
    def private(self) -> bool:
        """Whether the answer is said to be differentially private."""
        return self.answer is not None and bool(self.answer["privacy"]["differentially_private"])


class Replay:
    """One task with nothing, or marks where there is a `script`, in the place of noise; a station then tells what it told there."""

    def __init__(self, script: Recording | None = None) -> None:
        self.found = Recording()
        self._script = None if script is None else {(one.place, one.organization): one.sent for one in script.told}
        self._visit: tuple[str, int] = ("", 0)
        self._rounds: dict[tuple[str, int], int] = defaultdict(int)
        self._draws: list[Draw] = []
        self._number = 0

    @contextlib.contextmanager
    def installed(self) -> Iterator[Recording]:
        """Take the place of noise, and of whatever noise is added to."""
        replaced = {
            (decorators, "_answer"): self._answer(decorators._answer),
            (Station, "released"): self._released(Station.released),
            (Station, "share"): self._shared(Station.share),
            (Station, "charge"): self._charged(Station.charge),
            (Packing, "encrypt"): self._encrypted(Packing.encrypt),
            (secure, "_full_noise"): self._kept(secure._full_noise),
            (smooth, "perturb"): self._perturbed(smooth.perturb),
            (units, "bounded"): self._bounded(units.bounded),
            **{(law, "shares"): self._shares() for law in LAWS},
        }
        with contextlib.ExitStack() as stack:
            for (owner, name), by in replaced.items():
                stack.enter_context(mock.patch.object(owner, name, by))
            self.found.entries = stack.enter_context(recording())
            yield self.found

    def _shares(self) -> Any:
        def shares(law: Any, size: Any, width: float, parties: int, honest_fraction: float) -> Any:
            if not np.prod(size):
                return np.zeros(size, dtype=np.int64)
            self._draws.append(Draw(law, width, parties))
            return np.full(size, 0 if self._script is None else len(self._draws) * MARK, dtype=np.int64)

        return shares

    def _answer(self, answer: Any) -> Any:
        def wrapped(function: Any, kind: Any, visit: Any, mock_data: Any) -> Any:
            self._visit, self._draws, self._number = (function.__name__, visit.run.organization), [], 0
            self._rounds[self._visit] += 1
            return answer(function, kind, visit, mock_data)

        return wrapped

    @staticmethod
    def _bounded(bounded: Any) -> Any:
        """Which rows of an identifier count is drawn by a key of the job; here it is one key."""
        return lambda identifiers, content, rows, key: bounded(identifiers, content, rows, b"one key")

    def _charged(self, charge: Any) -> Any:
        def wrapped(station: Any, *arguments: Any, **named: Any) -> Any:
            before = station.spent["epsilon"]
            receipt = charge(station, *arguments, **named)
            self.found.debits[station.organization] += station.spent["epsilon"] - before
            return receipt

        return wrapped

    def tell(self, value: Any, sent: Any) -> Any:
        self._number += 1
        place = (self._visit[0], self._rounds[self._visit], self._number)
        if self._script is not None:
            if (place, self._visit[1]) not in self._script:
                raise Leak(f"{place}: told of one table only")
            sent = self._script[place, self._visit[1]]
        self.found.told.append(Told(place, self._visit[1], value, sent, tuple(self._draws)))
        return sent

    def _released(self, released: Any) -> Any:
        def wrapped(station: Any, value: Any, receipt: Any) -> Any:
            numbers = isinstance(value, np.ndarray) and value.dtype.kind in "iu"
            return released(station, self.tell(value, value) if numbers else value, receipt)

        return wrapped

    def _shared(self, share: Any) -> Any:
        def wrapped(station: Any, content: Any) -> Any:
            dealt = (
                isinstance(content, np.ndarray) and self._visit[0] == TABLES
            )  # the helper's share of what stations tell
            return share(station, self.tell(content, content) if dealt else content)

        return wrapped

    def _encrypted(self, encrypt: Any) -> Any:
        def wrapped(packing: Any, exponent: Any, counts: Any, label: Any) -> Any:
            return encrypt(packing, exponent, self.tell(counts, counts) if self._draws else counts, label)

        return wrapped

    def _kept(self, full_noise: Any) -> Any:
        def wrapped(values: Any, epsilon: float) -> Any:
            noisy = full_noise(values, epsilon)
            return self.tell(noisy, noisy)

        return wrapped

    def _perturbed(self, perturb: Any) -> Any:
        def wrapped(summary: Any, release: Any) -> Any:
            sent = perturb(summary, release)
            return self.tell((summary, release), sent) if release.settings.noisy else sent

        return wrapped


def record(case: Case, scripts: Sequence[Recording] = ()) -> list[Recording]:
    """Ask a case's questions in turn; with `scripts` of the same questions on a neighbouring table, stations tell what they told there."""
    policies = {entry["name"]: entry["policy"] for entry in case.organizations}
    found: list[Recording] = []
    with InProcess(f"v6_{case.algorithm}", case.files(), policies, case.central) as platform:
        for place, (function, arguments) in enumerate(case.steps):
            results = [one.answer for one in (scripts or found)]
            given = {name: filled(value, results) for name, value in case.asked(arguments).items()}
            with Replay(scripts[place] if scripts else None).installed() as one:
                try:
                    one.answer = platform.run(function, given)
                except Leak:
                    raise
                except Exception as error:
                    one.error = f"{type(error).__name__}: {error}"
            found.append(one)
            if one.answer is None and not scripts:
                break
            if scripts and place + 1 == len(scripts):
                break
    return found


# -- what is lost --------------------------------------------------------------------------------------------------------


@dataclass
class Loss:
    """Of pure noise its epsilon, of Gaussian noise the square of its mu."""

    epsilon: float = 0.0
    squares: float = 0.0

    def part(self, told: dict[str, Any]) -> float:
        """Return which part of the budget of a privacy statement this is, for tables as `neighbour` draws them."""
        party = told["unit"].startswith("party") and told["neighbors"] == "add_remove"
        steps, squares = PARTY if party else STEPS.get(told["neighbors"], (1, 1))
        allowed = mu_of(told["epsilon"], told["delta"]) ** 2 if self.squares else 1.0
        return self.epsilon / told["epsilon"] / steps + self.squares / allowed / squares


def loss(one: Recording, other: Recording) -> Loss:
    """Return what two runs with one conversation differ by, in units of the noise; `other` has marks."""
    found, pairs = Loss(), {}
    for told in (one.told, other.told):
        for each in told:
            pairs.setdefault((each.place, each.organization), []).append(each)
    places: dict[Any, list[list[Told]]] = defaultdict(list)
    for (place, _), pair in pairs.items():
        if len(pair) < 2:
            raise Leak(f"{place}: told of one table only")
        places[place].append(pair)
    for place, stations in places.items():
        if place[0] == WIDE:
            continue
        if isinstance(stations[0][0].value, tuple):
            found.epsilon += sum(_moments_loss(first.value, second.value) for first, second in stations)
        elif any(draw.parties == 1 for _, second in stations for draw in second.draws):
            for pair in stations:
                _add(found, place, [pair])
        else:
            _add(found, place, stations)
    return found


def _add(found: Loss, place: Any, stations: list[list[Told]]) -> None:
    word = stations[0][0].value.dtype.itemsize
    total = np.zeros(1, dtype=np.uint64)
    for first, second in stations:
        if first.value.shape != second.value.shape:
            raise Leak(f"{place}: more numbers of one table than of the other")
        total = total + (second.value.astype(np.uint64) - first.value.astype(np.uint64)).ravel()
    draws = next((second.draws for _, second in stations if second.draws), ())
    drawing = sum(bool(second.draws) for _, second in stations)
    signed = total.astype(f"u{word}").view(f"i{word}").astype(np.float64)
    mark = float(drawing * (MARK if word == 8 else 2**22)) or math.inf
    number = np.rint(signed / mark).astype(int)
    changed = total.astype(f"u{word}") - (number * int(mark) if drawing else 0 * number).astype(f"u{word}")
    change = np.abs(changed.view(f"i{word}").astype(np.float64))
    for cell in np.flatnonzero(change):
        if not 1 <= number[cell] <= len(draws):
            raise Leak(f"{place}: cell {cell} differs and has no noise")
        draw = draws[number[cell] - 1]
        if isinstance(draw.law, laws.DiscreteGaussian):
            found.squares += (change[cell] / draw.width) ** 2
        else:
            found.epsilon += change[cell] / draw.width


def _moments_loss(one: Any, other: Any) -> float:
    """Return the loss of what smooth_naive_bayes releases: of moments with scales that depend on data, one query a step where they differ at all.

    A replaced row is two steps, a row that leaves and one that comes; the table between them is at most a factor away from either.
    """
    (first, release), (second, _) = one, other
    epsilon, settings = release.query_epsilon, release.settings
    found = epsilon * float(
        np.abs(first.counts - second.counts).sum() + 2 * np.abs(first.missing - second.missing).sum()
    )
    for name in ("first", "second"):
        values, scales = ([getattr(each, name + end) for each in (first, second)] for end in ("", "_scale"))
        change = np.abs(values[0] - values[1])
        if settings.sensitivity == "global":
            found += float((change / scales[0]).sum())
            continue
        beta = heavy_tails.default_beta(epsilon, settings.noise, settings.degrees_of_freedom)
        factor = heavy_tails.multiplier(epsilon, beta, settings.noise, settings.degrees_of_freedom)
        if release.settings.rows > 1:  # steps of several rows are not told apart
            continue
        most, widened = np.minimum(*scales) / factor, np.abs(np.log(scales[0] / scales[1]))
        fits = {
            steps: (change <= most * (1 + (steps - 1) * math.exp(beta)) * (1 + ROUNDING) + 1e-12)
            & (widened <= steps * beta * (1 + ROUNDING) + 1e-12)
            for steps in (1, 2)
        }
        if not fits[2 if settings.neighbors == "replace_one" else 1].all():
            raise Leak(
                f"a {name} moment changes by more than its smooth sensitivity, or its scale by more than its factor"
            )
        differ = (change > 0) | (scales[0] != scales[1])
        found += epsilon * float(differ.sum() + (~fits[1]).sum())
    return found


# -- what is seen --------------------------------------------------------------------------------------------------------


def compare(runs: Sequence[Recording], neighbour: Recording) -> None:
    """Raise `Leak` if a run on a neighbour tells anything that runs on one table, with one conversation, all tell otherwise."""
    first = runs[0]
    if any(run.error != first.error for run in (*runs, neighbour)):
        raise Leak(f"answered or refused otherwise: {first.error!r:.300} and {neighbour.error!r:.300}")
    orders = [[(one.function, one.organization) for one in run.entries] for run in (*runs, neighbour)]
    if any(order != orders[0] for order in orders):
        raise Leak("rounds or their order differ")
    for position, (function, organization) in enumerate(orders[0]):
        found = [leaves(run.entries[position]) for run in (*runs, neighbour)]
        shapes = [[(leaf.place, set(DEALT) & set(leaf.place) or leaf.shape) for leaf in one] for one in found]
        if any(shape != shapes[0] for shape in shapes):
            raise Leak(f"{function} at {organization}: fields or sizes differ")
        for leaf in zip(*found, strict=True):
            _same("/".join((function, *leaf[0].place)), *[one.value for one in leaf])
    _same_parts("result", *[run.answer for run in (*runs, neighbour)])


def _same(where: str, *values: Any) -> None:
    """Raise `Leak` if a value is the same in all runs but the last."""
    if all(np.array_equal(values[0], value) for value in values[1:-1]) and not _equal(values[0], values[-1]):
        raise Leak(f"{where}: another value of the neighbour")


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return one == other or (math.isnan(one) and math.isnan(other))
    if isinstance(one, np.ndarray) and one.dtype.kind == "f":
        return bool(np.array_equal(one, other, equal_nan=True))
    return bool(np.array_equal(one, other))


def _same_parts(where: str, *parts: Any) -> None:
    if isinstance(parts[0], dict) and all(isinstance(part, dict) and part.keys() == parts[0].keys() for part in parts):
        for name in parts[0]:
            if not name.startswith(CHANGING):
                _same_parts(f"{where}/{name}", *(part[name] for part in parts))
    elif all(part == parts[0] for part in parts[1:-1]) and parts[-1] != parts[0]:
        raise Leak(f"{where}: another one for the neighbour")


# -- one question --------------------------------------------------------------------------------------------------------


def made_private(case: Case, epsilon: float, delta: float) -> Case:
    """Return a case whose questions are asked with an epsilon wherever they can be."""
    private = copy.deepcopy(case)
    for function, arguments in private.steps:
        names = declared(case.algorithm, function)
        if "epsilon" not in names:
            continue
        if arguments.get("noise") == "none":
            del arguments["noise"]
        arguments["epsilon"] = epsilon
        if "delta" in names and arguments.get("delta"):
            arguments["delta"] = delta
    return private


def refused_for_size(one: Recording) -> bool:
    """Whether a table was too small for its node, which the threat model says that anybody may learn."""
    return one.error is not None and "minimum_rows" in one.error


def compare_again(
    asked: Case, first: list[Recording], again: list[Recording], changed: list[Recording], place: int
) -> None:
    """Compare one step.

    What differs of the neighbour alone may be drawn, as scores of few sampled records are; so the first table is asked until it differs too.
    """
    runs = [first[place], again[place]]
    for left in reversed(range(AGAIN)):
        try:
            compare(runs, changed[place])
        except Leak:
            if not left:
                raise
        else:
            return
        runs.append(record(asked, first)[place])


def audit(case: Case, epsilon: float, random: np.random.Generator) -> float | None:
    """Return the largest part of a stated budget that a neighbour lost, or None where nothing private was answered.

    Raises
    ------
    Leak
        If it is above 1, or anything else differs.
    """
    asked = made_private(case, epsilon, 1e-6)
    first = record(asked)
    last = first[-1]
    if not last.private:
        return None
    statement = last.answer["privacy"]
    other = neighbour(asked, statement["neighbors"], statement["unit"], random)
    again, changed = record(asked, first), record(other, first)
    worst = 0.0
    for place, one in enumerate(first):
        told = one.answer["privacy"]
        if not one.private or (told["neighbors"], told["unit"]) != (statement["neighbors"], statement["unit"]):
            continue
        if loss(one, again[place]) != Loss():
            raise Leak("the same table gives other numbers")
        if refused_for_size(changed[place]):
            return None
        compare_again(asked, first, again, changed, place)
        lost = loss(one, changed[place]).part(told)
        worst = max(worst, lost)
        if lost > 1.0 + ROUNDING:
            raise Leak(f"{lost:.4f} of the stated budget is lost in step {place}, {case.steps[place][0]}")
    return worst
