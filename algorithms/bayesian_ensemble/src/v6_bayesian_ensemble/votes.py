"""How votes of members are weighed and combined: everything a member adds is a sum, so it fits a secure sum.

A member's vote on a record is two rows of numbers, one a class: what it adds to the class, and the weight with which it
does. A member that does not know a class adds nothing to it, nor does one that lacks the record.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedbayes.typing import Booleans, Floats, Words

VOTES = ("mean", "majority", "log_pool")
WEIGHTS = ("uniform", "rows", "score", "dynamic")
FRAC_BITS = 32  # of a vote in a 64-bit ring
LEAST_LOG = -30.0  # of a probability in a vote or a score: the largest loss of a record
SHARPNESS = 20.0  # 1 / 0.05: a weight falls by e for every twentieth of accuracy
LEAST_WEIGHT = 0.05  # of the best member's: a smaller one is three twentieths of accuracy behind, and has no vote


def restrict(posterior: Floats, known: Booleans) -> Floats:
    """Return posteriors (rows, classes) over the classes that a member knows; rows without any become uniform."""
    kept = np.where(known[None, :], posterior, 0.0)
    total = kept.sum(axis=1, keepdims=True)
    even = known / max(int(known.sum()), 1)
    result: Floats = np.where(total > 0, kept / np.where(total > 0, total, 1.0), even[None, :])
    return result


def certainty(posterior: Floats, classes: int) -> Floats:
    """Return 1 - entropy / log(classes) of each row: 1 where a member is sure, 0 where it knows nothing."""
    logs = np.log(np.where(posterior > 0, posterior, 1.0))
    entropy = -(posterior * logs).sum(axis=1)
    certainty_of_rows: Floats = np.clip(1.0 - entropy / np.log(max(classes, 2)), 0.0, 1.0)
    return certainty_of_rows


def ballot(
    posterior: Floats, known: Booleans, vote: str, weight: float, dynamic: bool, bound: float = 0.0
) -> tuple[Floats, Floats]:
    """Return a member's vote on each record.

    Parameters
    ----------
    posterior : float array, shape (rows, classes)
        P(class | record), rows sum to one.
    known : bool array, shape (classes,)
        Classes that the member has seen.
    vote : {"mean", "majority", "log_pool"}
        The rule.
    weight : float
        The member's weight.
    dynamic : bool
        Whether each record is weighed by the member's certainty.
    bound : float
        Smallest probability that the member may give to a class that it knows, times the number of these classes: its
        posterior is mixed with that much of the uniform distribution, so no member alone decides a record.

    Returns
    -------
    tuple of two float arrays, shape (rows, classes)
        What it adds to each class, and the weight behind it. A member that knows fewer than two classes abstains.
    """
    rows, classes = posterior.shape
    if int(known.sum()) < 2 or weight <= 0.0:
        return np.zeros((rows, classes)), np.zeros((rows, classes))
    beliefs = (1.0 - bound) * restrict(posterior, known) + bound * known[None, :] / int(known.sum())
    weights = np.full(rows, weight)
    if dynamic:
        weights = weights * certainty(beliefs, classes)
    if vote == "majority":
        values = (beliefs == beliefs.max(axis=1, keepdims=True)).astype(np.float64)
        values /= values.sum(axis=1, keepdims=True)
    elif vote == "log_pool":
        values = np.log(np.maximum(beliefs, np.exp(LEAST_LOG)))
    else:
        values = beliefs
    behind = weights[:, None] * known[None, :]
    return values * behind, behind


def combine(added: Floats, behind: Floats, vote: str) -> Floats:
    """Return log P(class | record) of the whole ensemble, shape (rows, classes), from the sums of all votes.

    A class that nobody knows gets no probability; a record on which nobody votes gets the uniform distribution.
    """
    backed = behind > 2.0 ** (4 - FRAC_BITS)
    average = np.where(backed, added / np.where(backed, behind, 1.0), -np.inf if vote == "log_pool" else 0.0)
    if vote == "log_pool":
        top = np.where(backed.any(axis=1), average.max(axis=1), 0.0)
        average = np.exp(average - top[:, None])
    average = np.maximum(average, 0.0)
    total = average.sum(axis=1, keepdims=True)
    probabilities = np.where(total > 0, average / np.where(total > 0, total, 1.0), 1.0 / added.shape[1])
    logs: Floats = np.log(np.maximum(probabilities, np.exp(LEAST_LOG)))
    return logs


def encode(added: Floats, behind: Floats) -> Words:
    """Return both halves of a ballot as one flat vector of the ring Z/2^64, fixed point."""
    joined = np.stack([added, behind])
    return np.rint(joined * 2.0**FRAC_BITS).astype(np.int64).ravel().view(np.uint64)


def decode(summed: Words, rows: int, classes: int) -> tuple[Floats, Floats]:
    """Return the two sums that `encode` made vectors of.

    Raises
    ------
    ValueError
        The vector does not have that size.
    """
    if summed.shape != (2 * rows * classes,):
        raise ValueError("the votes do not have the records of this job")
    signed = summed.astype(np.uint64).view(np.int64).astype(np.float64) / 2.0**FRAC_BITS
    added, behind = signed.reshape(2, rows, classes)
    return added, behind


def by_score(scores: Sequence[float]) -> list[float]:
    """Return weights that fall by a factor e for every 0.05 of (balanced) accuracy below the best; 0 below a twentieth.

    Relative to the best, because poisoned stations spoil the tests of honest members too, all by about as much.
    """
    best = max(scores)
    weights = [float(np.exp(SHARPNESS * (score - best))) for score in scores]
    return scaled([weight if weight >= LEAST_WEIGHT else 0.0 for weight in weights])


def above_chance(scores: Sequence[float], classes: int) -> list[float]:
    """Return weights in proportion to (balanced) accuracy above that of guessing; equal ones where nobody is better."""
    skills = [max(score - 1.0 / classes, 0.0) for score in scores]
    return scaled(skills if any(skills) else [1.0] * len(skills))


def scaled(weights: Sequence[float]) -> list[float]:
    """Return weights divided by their sum."""
    total = float(np.sum(weights))
    return [float(weight) / total if total > 0 else 0.0 for weight in weights]
