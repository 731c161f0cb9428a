"""A central that has the helper open a product of other stations' factors under a pad of central's own station: it would have all of their records."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pytest
from test_deviating_central import asking, inside

from fedbayes.federation.errors import AlgorithmError
from fedbayes.mpc.factors import expanded
from fedbayes.mpc.shared_products import HelperSide

COLUMNS = ["sex", "secret", "ill"]
ASKED = {
    "columns": COLUMNS,
    "domain": {name: {"categories": ["no", "yes"]} for name in COLUMNS},
    "id_column": "id",
    "epsilon": 1.0,
}
OWN, HELPER = 3, 4
"""Central's own station, and the helper."""


def own_product(request: Any, member: int, _: int) -> Any:
    """Tell the helper that central's station alone holds the product of two factors."""
    if member != HELPER:
        return request
    made = [replace(one, factor=replace(one.factor, holders=[OWN])) for one in request.products]
    return replace(request, products=made)


def test_a_product_has_the_holders_of_its_factors() -> None:
    with inside("scalar_product") as running:
        with asking("partial_extend", own_product), pytest.raises(AlgorithmError, match="ValueError at factor_info"):
            running.run("contingency", ASKED)
        assert running.run("contingency", ASKED)["privacy"]["epsilon"] == pytest.approx(1.0), "control"


def test_control_unchecked_a_pad_of_its_own_is_all_that_hides_the_product_of_two_masks() -> None:
    """With what the two stations opened, it tells which of four pairs of values each record has."""
    heard: list[tuple[Any, Any]] = []
    honest = HelperSide.product_part

    def part(self: HelperSide, factor: Any, left: str, right: str) -> Any:
        sent = honest(self, factor, left, right)
        own_pad = expanded(self._keys[OWN], f"pad|{factor.name}", sent.shape, sent.dtype)
        heard.append((sent - own_pad, self._masks[left][:, 0] * self._masks[right][:, 0]))
        return sent

    unchecked = mock.patch("fedbayes.federation.vertical.messages.check_product")
    spied, stopped = mock.patch.object(HelperSide, "product_part", part), suppress(AlgorithmError)
    with inside("scalar_product") as running, unchecked, asking("partial_extend", own_product), spied, stopped:
        running.run("contingency", ASKED)
    (bared, products), *_ = heard
    assert np.array_equal(bared[:, 0], products)
