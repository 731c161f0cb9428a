"""Exact scores of classifiers as they are told: area and log loss to about one record's part, so that their digits are no list of counts.

Curves, confusion and calibration hide small counts. An exact log loss is one sum of as many different numbers as the model has predictions, an exact area is
one fraction, and all their digits follow from counts that the tables hide: whoever chooses the model reads these off. So about what one record adds is drawn
and added, once for all stations: half the largest loss of a record, or the most that one is of the area. Both are less than the standard error of a score that
not few records carry. A model that gives few records a loss beyond those of all others is not told by that: these count as the least of the `minimum` largest
losses that records would have, were they all of the class, which hangs on no label.

The draw follows from every station's rows in their order, and from a secret of each, so that the same question has the same answer, and nobody else can
repeat it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...typing import Array, Floats, Integers
from . import metrics
from .tallies import Tallies, losses_of_bins, scores_of, tallies_of_joint

PART = 0.5
"""Deviation of what is added to a score, in what one record may move it."""
COARSE = ", area and log loss to about one record's part"
"""What a privacy statement adds of such scores."""
LEAST_LOSS = 1.0
"""What one record may move a sum of losses, in nats, at least: also where none adds as much."""


def seed_of(rows: Sequence[Array], secret: bytes = b"") -> int:
    """Return what a station adds to the seed of the draws, a signed number of 64 bits: a digest of its rows, keyed with a `secret` of at most 64 bytes.

    Without one, who sees it may try guesses of all of the rows on it.
    """
    content = b"".join(np.ascontiguousarray(part).tobytes() for part in rows)
    return int.from_bytes(hashlib.blake2b(content, digest_size=8, key=secret).digest(), "little", signed=True)


def uniform(seed: int, name: str) -> float:
    """Return a number between 0 and 1 that follows from a seed and a name."""
    digest = hashlib.blake2b((seed % 2**64).to_bytes(8, "little") + name.encode(), digest_size=6).digest()
    return (int.from_bytes(digest, "little") + 0.5) / 2.0**48


def drawn(seed: int, name: str) -> float:
    """Return a number of mean 0 and deviation 1 that follows from a seed and a name: Laplace's law, under which no answer is impossible."""
    place = uniform(seed, name) - 0.5
    return -math.copysign(math.log1p(-2.0 * abs(place)), place) / math.sqrt(2.0)


def near_power(deviation: float, seed: int, name: str) -> float:
    """Return the power of two below or above a deviation, drawn so that the mean of the exponents is right: itself it follows from one record."""
    return float(2.0 ** math.floor(math.log2(deviation) + uniform(seed, f"{name}_error")))


def coarse_scores(
    tallies: Tallies, minimum: float, seed: int, largest: float = metrics.LARGEST_LOSS
) -> tuple[dict[str, Any], dict[str, float]]:
    """Return `scores_of` as they may be told, and how far the log loss and the area may be from the exact ones.

    Parameters
    ----------
    tallies : Tallies
        Of all rows, exact, or with noise that hides nobody (cut at zero first).
    minimum : float
        Fewest rows that anything is told of; with 1 or less nothing is hidden, and the scores are those of `scores_of`.
    seed : int
        The sum of every station's `seed_of`; with noise any number.
    largest : float
        Largest loss of a row in the tallies.

    Returns
    -------
    scores : dict
        As of `scores_of`, the ``accuracy`` of `gathered`; ``auc`` and ``log_loss`` have the decimals that are known.
    errors : dict of float
        ``log_loss_error`` and ``auc_error``: deviations of what was added, as a power of two (of the sum of losses, and of the area) that is less than twice as
        large and more than half; empty where nothing is added.
    """
    scores = scores_of(nested(tallies, minimum), minimum)
    rows = scores["n"]
    if rows <= 0 or minimum <= 1:
        return scores, {}
    tallies = Tallies(
        np.maximum(tallies.scores, 0.0), np.maximum(tallies.confusion, 0.0), tallies.confidence, tallies.loss
    )
    scores["accuracy"] = float(np.trace(gathered(tallies.confusion, minimum))) / rows
    curves = tied([(yes, no) for no, yes in tallies.scores], minimum)
    blurred_scores, errors = as_told(kept_losses(tallies, minimum, largest), curves, rows, seed)
    return {**scores, **blurred_scores}, errors


def nested(tallies: Tallies, minimum: float) -> Tallies:
    """Return tallies of two classes of which curve, confusion and calibration are counts of the same groups of at least `minimum` rows by score.

    Each of them alone hides few rows. But where a step of the curve ends beside a border of a tenth, or a hidden tenth lies beside one of the same predicted
    class, the difference is a few rows' labels. Neighbouring bins of scores form a group, on either side of even odds apart where both have enough rows; a
    group is in the bin of which it has most. Of more classes tallies are returned as they are.
    """
    if len(tallies.scores) != 1 or minimum <= 1:
        return tallies
    cells = np.maximum(tallies.scores[0], 0.0)
    bins = cells.shape[1]
    places = _places(cells.sum(axis=0), minimum)
    moved = np.stack([np.bincount(places, part, bins).astype(np.float64) for part in cells])
    joined = tallies_of_joint(moved)
    return Tallies(moved[None], joined.confusion, joined.confidence, tallies.loss)


def _places(rows: Floats, minimum: float) -> Integers:
    """Return the bin in which the group of each bin is, (bins,)."""
    places = np.arange(len(rows))
    sides = np.split(places, 2)
    if any(0 < rows[side].sum() < minimum for side in sides):
        sides = [places]
    for side in sides:
        groups: list[list[int]] = [[]]
        for one in side[rows[side] > 0].tolist():
            if rows[groups[-1]].sum() >= minimum:
                groups.append([])
            groups[-1].append(one)
        if len(groups) > 1 and rows[groups[-1]].sum() < minimum:
            groups[-2:] = [groups[-2] + groups[-1]]
        for members in filter(None, groups):
            places[members] = members[int(rows[members].argmax())]
    return places


def as_told(
    losses: tuple[float, float], curves: Sequence[metrics.Sides], rows: float, seed: int
) -> tuple[dict[str, float], dict[str, float]]:
    """Return log loss and area as they are told, and their errors, see `coarse_scores`.

    Parameters
    ----------
    losses : (float, float)
        Sum of the losses, and the deviation of what is added to it.
    curves : sequence of (ndarray, ndarray)
        As of `tied`.
    rows : float
        How many there are.
    seed : int
        Of the draws.
    """
    loss, error = blurred(*losses, seed, "log_loss")
    scores, errors = {"log_loss": decimals(max(loss, 0.0) / rows, error / rows)}, {"log_loss_error": error / rows}
    scores["auc"] = metrics.mean_auc(curves)
    if not math.isnan(scores["auc"]):
        scores["auc"], errors["auc_error"] = coarse_area(scores["auc"], auc_part(curves), seed, "auc")
    return scores, errors


def gathered(confusion: Floats, minimum: float) -> Floats:
    """Return a confusion table in which a class that is predicted for fewer than `minimum` records counts as the one that is predicted most."""
    table, sizes = np.array(confusion, dtype=np.float64), confusion.sum(axis=0)
    few = sizes < minimum
    if not few.all():
        table[:, int(sizes.argmax())] += table[:, few].sum(axis=1)
        table[:, few] = 0.0
    return table


def coarse_area(exact: float, part: float, seed: int, name: str) -> tuple[float, float]:
    """Return an area as it is told, and the deviation of what was added, where that is so large a part; as it is where no curve has both sides."""
    if part <= 0.0:
        return exact, 0.0
    area, error = blurred(exact, part, seed, name)
    return decimals(min(max(area, 0.0), 1.0), error), error


def blurred(exact: float, part: float, seed: int, name: str) -> tuple[float, float]:
    """Return a sum with what is drawn added to it, and the deviation of that as it is told."""
    return exact + part * drawn(seed, name), near_power(part, seed, name)


def kept_losses(tallies: Tallies, minimum: float, largest: float = metrics.LARGEST_LOSS) -> tuple[float, float]:
    """Return the sum of losses with those of fewer than `minimum` records beyond all others cut, and the deviation of what is added to it."""
    total, most = tallies.loss, 0.0
    for own, other in _by_class(tallies):
        losses = losses_of_bins(len(own), largest)
        least = min(int(np.searchsorted(np.cumsum(own + other), minimum)), len(own) - 1)
        kept = np.minimum(losses, losses[least])
        total -= float(own @ (losses - kept))
        most = max(most, float(kept[own > 0].max(initial=0.0)))
    return total, loss_part(most)


def loss_part(largest: float) -> float:
    """Return the deviation of what is added to a sum of losses, of which the largest is that."""
    return PART * max(LEAST_LOSS, largest)


def tied(curves: Sequence[metrics.Sides], minimum: float) -> list[metrics.Sides]:
    """Return curves with the rows of fewer than `minimum` records at either end as ties of the next.

    Records fewer than twice as many have no curve.
    """
    ends = []
    for yes, no in curves:
        bins = len(no)
        low, above = (int(np.searchsorted(np.cumsum(rows), minimum)) for rows in (no + yes, (no + yes)[::-1]))
        high = bins - 1 - above
        places = np.clip(np.arange(bins), low, high) if low <= high else np.zeros(bins, dtype=np.int64)
        counted = 1.0 if low <= high else 0.0
        sides = [np.asarray(np.bincount(places, counted * part, bins), dtype=np.float64) for part in (yes, no)]
        ends.append((sides[0], sides[1]))
    return ends


def auc_part(curves: Sequence[metrics.Sides]) -> float:
    """Return the deviation of what is added to the mean area of such curves.

    A record is of two curves at most. With the other label it would move either by about twice what it is of it, and by a quarter of its pairs at least.
    """
    rows, parts = sum(float(yes.sum()) for yes, _ in curves), []
    for yes, no in curves:
        positive, negative = float(yes.sum()), float(no.sum())
        if min(positive, negative) > 0:
            beaten, beating = np.cumsum(no) - no / 2, positive - np.cumsum(yes) + yes / 2
            area = float(yes @ beaten) / (positive * negative)
            of_yes = float(np.abs(beaten / negative - area)[yes > 0].max()) / positive
            of_no = float(np.abs(beating / positive - area)[no > 0].max()) / negative
            parts.append(2.0 * PART * max(of_yes, of_no, 0.25 / max(positive, negative)) * positive / rows)
    return float(sum(sorted(parts)[-2:]))


def decimals(value: float, error: float) -> float:
    """Return a score without the decimals that its error hides."""
    return round(value, max(0, -math.floor(math.log10(error))))


def _by_class(tallies: Tallies) -> list[tuple[Floats, Floats]]:
    """Return rows of each class and the other rows by increasing score of the class, (bins,) each; two classes have one curve."""
    if len(tallies.scores) > 1 or len(tallies.confusion) == 1:
        return [(yes, no) for no, yes in tallies.scores]
    no, yes = tallies.scores[0]
    return [(yes, no), (no[::-1], yes[::-1])]
