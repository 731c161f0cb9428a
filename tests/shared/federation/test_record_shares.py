"""The sum of masked vectors is taken of everybody's or of nobody's."""

from types import SimpleNamespace

import numpy as np
import pytest

from fedbayes.federation import errors
from fedbayes.federation.vertical.messages import Setup
from fedbayes.federation.vertical.record_shares import summed

SETUP = Setup(9, [1, 2, 3], "id", False, {}, {}, False)
OWN = np.array([0, 1, 2, 3, 2**64 - 30], dtype=np.uint64)
"""The last is the word of check: over everybody these are 0 modulo 2^64."""


def station(own):
    """Return one that kept its own part, and opens what is sealed for it."""
    return SimpleNamespace(
        organization=1, kept={"part|votes": {"part": own}}.get, unseal=lambda sender, letter, topic: letter
    )


def letters(entries, *senders):
    return {sender: np.array([2**63 + sender] * entries + [10], dtype="<u8").tobytes() for sender in senders}


def test_all_vectors_are_added_in_the_ring():
    total = summed(station(OWN), SETUP, letters(4, 2, 3, 9), "votes")
    assert total.shape == (4,)
    assert total.tolist() == (OWN[:4] + np.uint64((3 * 2**63 + 14) % 2**64)).tolist()


@pytest.mark.parametrize(
    "sealed",
    [letters(4, 2, 3), letters(4, 2, 3, 9, 1), letters(4, 2, 3, 8), {}, letters(4, 2, 3) | letters(3, 9)],
    ids=["helper missing", "own again", "stranger", "nobody", "too short"],
)
def test_a_missing_or_odd_vector_stops_the_job(sealed):
    with pytest.raises(errors.MessageError, match="the job stops"):
        summed(station(OWN), SETUP, sealed, "votes")


def test_vectors_whose_masks_do_not_cancel_stop_the_job():
    """As of stations that were asked different things, or have other people's records in the common order."""
    with pytest.raises(errors.MessageError, match="do not fit together"):
        summed(station(OWN + np.uint64(1)), SETUP, letters(4, 2, 3, 9), "votes")
