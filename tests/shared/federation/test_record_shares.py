"""The sum of masked vectors is taken of everybody's or of nobody's."""

from types import SimpleNamespace

import numpy as np
import pytest

from fedbayes.federation import errors
from fedbayes.federation.vertical.messages import Setup
from fedbayes.federation.vertical.record_shares import summed

SETUP = Setup(9, [1, 2, 3], "id", False, {}, {}, False)
OPEN = SimpleNamespace(organization=1, unseal=lambda sender, letter, topic: letter)
OWN = np.arange(4, dtype=np.uint64).reshape(2, 2)


def letters(entries, *senders):
    return {sender: np.full(entries, 2**63 + sender, dtype="<u8").tobytes() for sender in senders}


def test_all_vectors_are_added_in_the_ring():
    total = summed(OPEN, SETUP, OWN, letters(4, 2, 3, 9), "votes")
    assert total.shape == OWN.shape
    assert total.tolist() == (OWN + np.uint64((3 * 2**63 + 14) % 2**64)).tolist()


@pytest.mark.parametrize(
    "sealed",
    [letters(4, 2, 3), letters(4, 2, 3, 9, 1), letters(4, 2, 3, 8), {}, letters(4, 2, 3) | letters(3, 9)],
    ids=["helper missing", "own again", "stranger", "nobody", "too short"],
)
def test_a_missing_or_odd_vector_stops_the_job(sealed):
    with pytest.raises(errors.MessageError, match="the job stops"):
        summed(OPEN, SETUP, OWN, sealed, "votes")
