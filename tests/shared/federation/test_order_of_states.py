"""A table asked twice, its states or columns in another order or with states that nobody has: what one shows and the other hides tells no small cell."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from party_kit import remembering

from fedbayes.federation.questions import suppression
from fedbayes.federation.questions.suppression import suppress

SHAPES = [(2, 3), (3, 3), (4, 5), (2, 2, 3), (3, 3, 3)]
EACH = 400


def tables(shape: tuple[int, ...]) -> list[Any]:
    """Return tables with small cells, of which many have states or columns with the same number of records."""
    draw = np.random.default_rng(shape)
    made = [draw.poisson(draw.gamma(2.0, 4.0 ** (len(shape) - 1), shape)).astype(np.int64) for _ in range(EACH)]
    return [np.minimum(table, 9) for table in made[::2]] + made[1::2]


def differing(shape: tuple[int, ...]) -> int:
    """Return of how many tables another order hides others."""
    draw, found = np.random.default_rng(1), 0
    for table in tables(shape):
        axes = draw.permutation(table.ndim)
        states = np.ix_(*(draw.permutation(size) for size in table.shape))
        other = suppress(np.ascontiguousarray(table[states].transpose(axes)), 5)
        found += not np.array_equal(suppress(table, 5)[states].transpose(axes), other)
    return found


def by_place(block: Any, open_axes: set[int]) -> tuple[int, int] | None:
    """The choice of old: of states or columns with the same number of records the first one."""
    places = [(axis, int(block.sum(axis=suppression._others(block, axis)).argmax())) for axis in sorted(open_axes)]
    return max(places, key=lambda found: block.take(found[1], found[0]).mean(), default=None)


@pytest.mark.few(3)
@pytest.mark.parametrize("shape", SHAPES)
def test_no_order_decides_what_is_hidden(shape: tuple[int, ...]) -> None:
    assert differing(shape) == 0


@pytest.mark.parametrize("shape", [(3, 3), (2, 2, 3)])
def test_control_a_choice_by_place_does(shape: tuple[int, ...]) -> None:
    with mock.patch.object(suppression, "_next_state", by_place):
        assert differing(shape) > 0


def shown_beside_empty_states(shape: tuple[int, ...], rule: Any = suppress) -> int:
    """Return of how many tables states that nobody has show what is hidden without."""
    found = 0
    for table in tables(shape):
        for sides in ([(0, 1)] * table.ndim, [(0, 0)] * (table.ndim - 1) + [(2, 0)]):
            more = np.pad(table, sides)
            here = tuple(slice(before, before + size) for (before, _), size in zip(sides, table.shape, strict=True))
            found += bool((rule(table, 5) & ~rule(more, 5)[here]).any())
    return found


@pytest.mark.few(2)
@pytest.mark.parametrize("shape", SHAPES)
def test_states_that_nobody_has_show_nothing_more(shape: tuple[int, ...]) -> None:
    assert shown_beside_empty_states(shape) == 0


def test_control_where_they_are_states_as_others_some_do() -> None:
    with mock.patch.object(suppression.np, "flatnonzero", lambda margin: np.arange(len(margin))):
        assert shown_beside_empty_states((3, 3)) > 0


ASKED: dict[str, tuple[Any, dict[str, Any]]] = {
    "states": (
        [[6, 15, 13], [12, 2, 5]],
        {"domain": {"x": {"categories": ["x1", "x0"]}, "y": {"categories": ["y2", "y1", "y0"]}}},
    ),
    "columns": ([[16, 15, 9, 22], [8, 24, 4, 17], [34, 24, 13, 11]], {"columns": ["y", "x"]}),
    "empty states": (
        [[6, 2, 14], [21, 24, 8], [12, 13, 35]],
        {"domain": {"x": {"categories": ["x0", "x1", "x2"]}, "y": {"categories": ["y0", "y1", "y2", "nobody"]}}},
    ),
}
"""A table, and how it is asked the second time."""


def hidden_in_both(counts: Any, other: dict[str, Any], folder: Path) -> set[tuple[str, str]]:
    """Return the cells that neither of two exact tables shows, at nodes that remember their answers."""
    cells = [(f"x{x}", f"y{y}") for (x, y), number in np.ndenumerate(np.array(counts)) for _ in range(number)]
    table = pd.DataFrame(cells, columns=["x", "y"]).assign(id=range(len(cells)))
    hidden = []
    with remembering({"a": table[["id", "x"]], "b": table[["id", "y"]]}, folder) as running:
        for more in ({}, other):
            asked = {"columns": ["x", "y"], "id_column": "id", **more}
            told = running.run("scalar_product", "contingency", asked)
            axes = [axis["labels"] for axis in told["axes"]]
            none = [
                tuple(sorted(str(axes[axis][place]) for axis, place in enumerate(cell)))
                for cell in np.argwhere(np.array(told["counts"], dtype=object) == None)  # noqa: E711
            ]
            hidden.append(set(none) & set(cells))
    return hidden[0] & hidden[1]


def alone_in_a_line(hidden: set[tuple[str, str]]) -> bool:
    """Whether the number of records of a state gives a cell back."""
    lines = [state for cell in hidden for state in cell]
    return any(lines.count(state) == 1 for state in lines)


@pytest.mark.parametrize("way", ASKED)
def test_a_table_asked_twice_tells_no_small_cell(way: str, tmp_path: Path) -> None:
    hidden = hidden_in_both(*ASKED[way], tmp_path)
    assert hidden
    assert not alone_in_a_line(hidden)


@pytest.mark.parametrize("way", ["states", "columns"])
def test_control_a_table_asked_twice_tells_one(way: str, tmp_path: Path) -> None:
    with mock.patch.object(suppression, "_next_state", by_place):
        assert alone_in_a_line(hidden_in_both(*ASKED[way], tmp_path))
