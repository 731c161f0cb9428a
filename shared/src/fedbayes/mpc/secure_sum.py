"""Sums of private vectors by pairwise masks: exact in the ring, and uniform until every party is in.

Parties i and j expand their common key into one mask; the lower number adds it, the higher subtracts it. The
masks of all participants cancel, those of any strict subset do not.

References
----------
.. [1] K. Bonawitz et al., "Practical Secure Aggregation for Privacy-Preserving Machine Learning", CCS 2017,
   section 4.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbayes.mpc.prg import expand
from fedbayes.mpc.ring import RingArray, check_ring


def pairwise_mask(
    own: int,
    keys: Mapping[int, bytes],
    name: str,
    shape: int | tuple[int, ...],
    dtype: npt.DTypeLike = np.uint64,
) -> RingArray:
    """Return this party's mask of a secure sum.

    Parameters
    ----------
    own : int
        This party's number.
    keys : mapping of int to bytes
        The pairwise key with every *other* participant of this sum: the participants are exactly these and
        `own`.
    name : str
        Round and tensor; a name must serve one sum only.
    shape : int or tuple of int
        Shape of the vectors to add.
    dtype : dtype
        The ring.

    Returns
    -------
    ndarray of `shape` of the ring
        To be added to the party's values. Over all participants these masks sum to zero.

    Raises
    ------
    ValueError
        When there is no other participant, as a sum over one party hides nothing.

    Notes
    -----
    **Reveals** the sum of all participants' values to whoever collects every masked vector; any strict subset
    of them is uniform over the ring and independent of the values.
    **Assumes** semi-honest participants of whom at least two do not collude with the collector. The mask is
    bound to the set of participants: a sum over other parties uses other masks.
    """
    ring = check_ring(dtype)
    if not keys or own in keys:
        raise ValueError("a secure sum needs the keys of at least one other participant, and not this party's own")
    bound = f"{','.join(str(party) for party in sorted([own, *keys]))}|{name}"
    mask: RingArray = np.zeros(shape, dtype=ring)
    for peer, key in keys.items():
        stream: npt.NDArray[Any] = expand(key, bound, shape, ring)
        if own < peer:
            mask += stream
        else:
            mask -= stream
    return mask


def reconstruct(masked: Sequence[RingArray]) -> RingArray:
    """Add the masked vectors of all participants.

    Parameters
    ----------
    masked : sequence of ndarray
        One array a participant, of one ring and one shape.

    Returns
    -------
    ndarray
        The sum of the values in the ring; `ring.lift` gives signed integers.

    Raises
    ------
    ValueError
        When there are none or their rings or shapes differ.
    """
    if not masked:
        raise ValueError("there are no masked vectors to add")
    first = masked[0]
    check_ring(first.dtype)
    if any(other.dtype != first.dtype or other.shape != first.shape for other in masked):
        raise ValueError("the masked vectors of one sum must have one ring and one shape")
    total: RingArray = np.zeros_like(first)
    for values in masked:
        total += values
    return total
