"""The published protocol: the worked example, exactness for n parties, the number of runs."""

import numpy as np
import pytest

from fedbayes.mpc.prg import expand
from scalar_product import thesis


def drawing(dtype=np.uint32):
    count = iter(range(10**9))
    return lambda rows, name: expand(bytes(32), f"{name}{next(count)}", rows, dtype)


def test_worked_example_of_appendix_2():
    as_ring = lambda *values: np.array(values, dtype=np.uint64)  # noqa: E731
    data = [as_ring(1, 1, 1), as_ring(0, 1, 1), as_ring(1, 0, 1)]
    masks = [as_ring(172, 243, 136), as_ring(274, 356, 180), as_ring(341, 357, 69)]
    split = [8015322, 10543269, 30084533]
    assert int((masks[0] * masks[1] * masks[2]).sum()) == sum(split) == 48643124
    transcript = thesis.Transcript()
    answer = thesis.n_party_with(data, masks, split, 3, drawing(np.uint64), transcript)
    assert answer == 1
    assert transcript.openings[0].tolist() == [173, 244, 137]
    assert transcript.openings[1].tolist() == [274, 357, 181]
    assert transcript.openings[2].tolist() == [342, 357, 70]


@pytest.mark.parametrize("parties", [2, 3, 4, 5, 6])
def test_product_is_exact_and_runs_are_as_many_as_the_recursion_says(parties):
    draw = np.random.default_rng(parties)
    vectors = [(draw.random(60) < 0.8).astype(np.uint32) for _ in range(parties)]
    answer, transcript = thesis.n_party(vectors, drawing())
    assert answer == int(np.prod(vectors, axis=0).sum())
    assert transcript.protocols == thesis.protocol_runs(parties)


def test_number_of_runs_explodes_as_published():
    assert [thesis.protocol_runs(n) for n in (2, 3, 4, 5, 6, 8)] == [1, 4, 29, 336, 5687, 4047969]


def test_four_parties_need_the_multiplicity_that_the_pseudocode_omits():
    ones = np.ones(5, dtype=np.uint32)
    values = [ones * 3, ones * 5, ones * 7, ones * 2]
    assert thesis.n_party(values, drawing())[0] == 5 * 210


def test_vectors_that_do_not_match_are_refused():
    ones = np.ones(5, dtype=np.uint32)
    for vectors in ([ones], [ones, ones[:3]], [ones, ones.astype(np.uint64)], [ones.astype(float)] * 2):
        with pytest.raises(ValueError, match="ring"):
            thesis.n_party(vectors, drawing())
