"""Which parent configurations of a network are published as their node's margin, so that subtraction gives none back.

A configuration with few records is hidden. What is published besides it must not restore it: the node's margin, and what
the families of its children tell of it, minus the visible configurations, is the sum of the hidden ones. So wherever such
a sum is known it must be of two configurations or more, with enough records together; the smallest visible ones are hidden
besides until it is, all of one size together: no order of states, parents or nodes decides, as two tasks may have
two of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

Totals = npt.NDArray[np.float64]
Hidden = npt.NDArray[np.bool_]
Axes = tuple[int, ...]
NOTHING = 1e-9  # expected counts below this are no record


def hidden_configurations(
    parents: Mapping[str, Sequence[str]], counts: Mapping[str, npt.ArrayLike], minimum: float
) -> dict[str, Hidden]:
    """Return for every node which of its parents' configurations to hide.

    Parameters
    ----------
    parents : mapping of str to sequence of str
        The structure.
    counts : mapping of str to array, shape (*parent cardinalities, child cardinality)
        (Expected) counts of every family.
    minimum : float
        A configuration with fewer records is hidden, and so is what would give it back; 0 hides nothing.

    Returns
    -------
    dict of str to bool array, shape (*parent cardinalities,)

    Notes
    -----
    **Assumes** the worst: that whoever reads the network knows, exactly, the number of records of every visible
    configuration, and every sum over configurations that another family could tell.
    """
    totals = {node: np.asarray(table, dtype=np.float64).sum(axis=-1) for node, table in counts.items()}
    hidden = {node: (total < minimum) & (total.ndim > 0) & (minimum > 0) for node, total in totals.items()}
    hidden = {node: np.asarray(part, dtype=np.bool_).reshape(totals[node].shape) for node, part in hidden.items()}
    if minimum <= 0:
        return hidden
    changed = True
    while changed:
        before = {node: part.copy() for node, part in hidden.items()}
        for node in parents:
            _protect(totals[node], hidden[node], _known_sums(parents, node), minimum)
        protected = {node: part.copy() for node, part in hidden.items()}
        for node in parents:
            _pass_on(parents, node, protected[node], hidden)
        changed = any(not np.array_equal(part, before[node]) for node, part in hidden.items())
    return hidden


def _known_sums(parents: Mapping[str, Sequence[str]], node: str) -> list[Axes]:
    """Return the sets of the node's parents by which other families tell the node's counts; () is its margin."""
    own = list(parents[node])
    axes_known: set[Axes] = {()}
    for others in parents.values():
        if node in others:
            axes_known.add(tuple(axis for axis, name in enumerate(own) if name in others))
    return sorted(axes for axes in axes_known if len(axes) < len(own))


def _pass_on(parents: Mapping[str, Sequence[str]], node: str, part: Hidden, hidden: dict[str, Hidden]) -> None:
    """Hide, in families whose parents are all of the node's family and maybe more, what is hidden in the node's."""
    own = list(parents[node])
    for child, others in parents.items():
        if node not in others or not set(own) <= set(others):
            continue
        shape = [hidden[child].shape[axis] if name in own else 1 for axis, name in enumerate(others)]
        order = sorted(range(len(own)), key=lambda axis: list(others).index(own[axis]))
        hidden[child] |= np.transpose(part, order).reshape(shape)


def _protect(totals: Totals, hidden: Hidden, published: Sequence[Axes], minimum: float) -> None:
    """Hide more until every known sum over hidden configurations is of two or more, with enough records together; in no order of states or parents."""
    exposed = np.zeros_like(hidden)
    changed = bool(hidden.any())
    while changed:
        before = hidden.copy(), exposed.copy()
        for axes in published:
            for cell in _short(totals, before[0] & ~before[1], axes, minimum):
                view = tuple(cell[axes.index(axis)] if axis in axes else slice(None) for axis in range(totals.ndim))
                least, alone = _beside(totals[view], before[0][view], before[1][view])
                hidden[view] |= least
                exposed[view] |= alone
        changed = not (np.array_equal(hidden, before[0]) and np.array_equal(exposed, before[1]))


def _short(totals: Totals, hidden: Hidden, axes: Axes, minimum: float) -> list[Axes]:
    """Return the states of the parents at `axes` at which the hidden records are too few, or of one configuration."""
    over = tuple(axis for axis in range(totals.ndim) if axis not in axes)
    counted = hidden & (totals > NOTHING)
    number = counted.sum(axis=over)
    records = np.where(counted, totals, 0.0).sum(axis=over)
    short = (number > 0) & (totals.sum(axis=over) >= minimum) & ((number < 2) | (records < minimum))
    return [tuple(int(part) for part in cell) for cell in np.argwhere(short)]


def _beside(totals: Totals, hidden: Hidden, exposed: Hidden) -> tuple[Hidden, Hidden]:
    """Return the smallest visible configurations, all of one size, to hide besides; where there is none, a single hidden one, which is as good as told."""
    visible, counted = ~hidden & (totals > NOTHING), hidden & ~exposed & (totals > NOTHING)
    if visible.any():
        return visible & (totals <= totals[visible].min() + NOTHING), np.zeros_like(hidden)
    return visible, counted & (counted.sum() == 1)
