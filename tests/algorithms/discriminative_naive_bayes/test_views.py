"""What each role receives: masked sums for central, weights and tables for stations, the same sizes for other data."""

import base64

import numpy as np
import pytest
from weighted_tables import DOMAIN, table

from fedbayes.federation.embedded import EmbeddedFederation

ALGORITHM = "discriminative_naive_bayes"
ARGUMENTS = {"label": "class", "domain": DOMAIN, "rounds": 2}


def transcript(seeds):
    with EmbeddedFederation(
        {name: table(100, seed) for name, seed in zip("abc", seeds, strict=True)}, record=True
    ) as federation:
        federation.run(ALGORITHM, "fit", ARGUMENTS)
        return [entry for entry in federation.transcript if entry["function"].startswith("partial")]


def test_only_declared_rounds_and_sealed_replies():
    seen = transcript((1, 2, 3))
    assert {entry["function"] for entry in seen} == {"partial_open_channel", "partial_counts", "partial_step"}
    assert all(set(entry["result"]) == {"organization", "public_key", "sealed", "filed"} for entry in seen)


@pytest.mark.audit
def test_messages_of_other_data_have_the_same_sizes():
    sizes = []
    for seeds in ((1, 2, 3), (4, 5, 6)):
        seen = transcript(seeds)
        replies = [(e["organization"], e["function"], len(e["result"]["sealed"]) // 64) for e in seen]
        sizes.append(sorted(reply for reply in replies if reply[1] != "partial_open_channel"))
    assert sizes[0] == sizes[1]


def test_requests_of_a_station_hold_no_other_stations_answer():
    seen = transcript((1, 2, 3))
    steps = [entry["body"] for entry in seen if entry["function"] == "partial_step"]
    assert all(entry["input"]["kwargs"]["message"]["body"] is None for entry in seen[-3:]), "requests are sealed"
    for body in steps:
        assert set(body) == {
            "shape", "weights", "counts", "iterations", "regularization", "by_rows", "noise", "clip", "step", "steps", "additive",
        }  # fmt: skip


def test_a_masked_vector_is_uniform(parties):
    """The mask alone decides the bytes: the mean of a masked vector is far from what counts could give."""
    from fedbayes.mpc.secure_sum import pairwise_mask
    from fedbayes.randomness import secret_bytes

    masks = pairwise_mask(1, {2: secret_bytes(32), 3: secret_bytes(32)}, "round", (20000,))
    masked = masks + np.arange(20000, dtype=np.uint64)
    unit = masked.astype(np.float64) / 2.0**64
    assert abs(unit.mean() - 0.5) < 0.02
    assert abs(unit.var() - 1 / 12) < 0.01


@pytest.mark.few(1)
@pytest.mark.parametrize("field", ["weights", "counts"])
def test_stations_get_arrays_of_the_stated_size(field):
    seen = transcript((7, 8, 9))
    body = next(e["body"] for e in seen if e["function"] == "partial_step")
    array = body[field]
    assert len(base64.b64decode(array["data"])) == 8 * int(np.prod(array["shape"]))
