"""The first steps of a private fit: one weight for each class and attribute, which noise hides less than one for each value.

Each noisy gradient is a measurement of how far the weights are from the best ones. What the tables alone say of the second derivatives tells by how
much to move for it, as in Kalman's filter: the more a direction changes the loss, and the less noise there is, the further. Where noise drowns
everything the weights stay 1, plain naive Bayes. All of this is work on what was released; it costs no privacy.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fedbayes.typing import Array, Floats

from .model import Layout, Tables

SPREAD = 0.5
"""How far weights of attributes lie from 1, as a standard deviation: what several attributes say together counts several times in naive Bayes."""
CERTAINTY = 0.3
"""Part of the second derivatives of the prior that is left where most rows are told with some certainty."""
DRIFT, CALMING = 0.09, 0.6
"""How much less is known of the weights after each step, as a part of `SPREAD` squared, and how that fades: the second derivatives are only roughly
known, and without it the filter stops too early. Chosen on parts of Adult's training rows, like `SPREAD` and `CERTAINTY`."""
MANY = 12
"""Attributes from which on this pays: on kr-vs-kp, mushroom, votes and Adult it helped or cost less than a hundredth, on flare, car, nursery and tic-tac-toe,
which have fewer, it mostly cost accuracy."""


def first_rounds(asked: int | None, rounds: int, layout: Layout) -> int:
    """Return how many of the rounds learn one weight for each attribute: as many as were asked, or what the plan tells.

    Many attributes say the same thing again, and then all of their weights are wrong in the same way; few seldom do, and need the rounds for their values.
    """
    if layout.structure != "naive":
        return 0
    if asked is not None:
        return asked
    if len(layout.cardinalities) < MANY:
        return 0
    return rounds if layout.weights == "attribute" else rounds // 3


def information(layout: Layout, tables: Tables, counts: Array) -> Floats:
    """Return what the tables say of the second derivatives of the summed loss by the weights of classes and attributes.

    Parameters
    ----------
    layout : Layout
        With one weight for each attribute, of naive structure, without normally distributed attributes.
    tables : Tables
        Over all stations.
    counts : ndarray (layout.counts,)
        Over all stations.

    Returns
    -------
    ndarray (parameters, parameters) of float64
        As if attributes were independent in each class.
    """
    classes = layout.classes
    sizes = np.maximum(counts[:classes], 0).astype(np.float64)
    prior = sizes / max(float(sizes.sum()), 1.0)
    cells = np.maximum(counts[classes : classes * (1 + layout.values)], 0).reshape(layout.values, classes)
    given = cells / np.maximum(sizes, 1.0)  # P(value | class)
    said = tables.single - (tables.single @ prior)[:, None]
    base = np.diag(tables.base) - np.outer(tables.base * prior, np.ones(classes))
    each = given.T[:, :, None] * said  # (true class, value, class)
    means = np.concatenate([np.tile(base, (classes, 1, 1)), np.add.reduceat(each, layout.starts, axis=1)], axis=1)
    derivatives = np.einsum("k,c,kac,kbc->ab", prior, prior, means, means)
    squares = np.add.reduceat(each * said, layout.starts, axis=1)
    diagonal = np.arange(classes, layout.parameters)
    derivatives[diagonal, diagonal] = np.einsum("k,c,kac->a", prior, prior, squares)
    return np.asarray(CERTAINTY * sizes.sum() * derivatives)


def learn(ask: Callable[[Floats], Floats], curvature: Floats, variance: float, rounds: int) -> Floats:
    """Return weights after so many noisy gradients, the mean of the second half.

    Parameters
    ----------
    ask : callable
        Gives the noisy gradient of the summed loss at some weights (parameters,); one round.
    curvature : ndarray (parameters, parameters)
        Expected second derivatives; see `information`.
    variance : float
        Of the noise in an entry of the gradient.
    rounds : int
        At least 1.

    References
    ----------
    Kalman, A new approach to linear filtering and prediction problems, 1960.
    """
    weights = np.ones(len(curvature))
    unsure = np.eye(len(curvature)) * SPREAD**2
    kept: list[Floats] = []
    for step in range(rounds):
        gain = unsure @ curvature @ np.linalg.pinv(curvature @ unsure @ curvature + variance * np.eye(len(curvature)))
        weights = weights - gain @ ask(weights)
        unsure = (np.eye(len(curvature)) - gain @ curvature) @ unsure
        unsure = (unsure + unsure.T) / 2.0 + np.eye(len(curvature)) * SPREAD**2 * DRIFT * CALMING**step
        kept.append(weights)
    return np.asarray(np.mean(kept[len(kept) // 2 :], axis=0))
