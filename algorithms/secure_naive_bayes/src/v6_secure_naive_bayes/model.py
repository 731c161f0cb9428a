"""Noise shares and their accounting, usable without a federation.

A release has F families of counts, one table per feature; class counts are margins of the tables and cost
nothing. One record is in exactly one cell of each table, so with ``unit="record"`` a table has sensitivity 1,
and F tables at epsilon / F each compose to epsilon. With ``unit="party"`` everything that one party holds may
change: a table then has the sensitivity ``maximum_records``, a public bound (a party that has more uses a
random subset). With ``unit="identifier"`` it has the number of rows of one identifier that a station uses.

- ``polya``: the honest parties' shares add up to one discrete Laplace variable; epsilon, no delta.
- ``diluted_geometric``: every party adds a full discrete Laplace variable with probability
  beta = min(1, ln(1/delta) / (gamma n)); the mean number of honest terms is ln(1/delta), not one. The
  probability that a cell has none is delta, so delta is divided over the cells that one neighbouring step may
  change.
- ``published``: diluted shares with the whole epsilon and delta for each of F + 1 families, class counts
  counted separately. It really spends F + 1 times epsilon. For reproduction only.

References
----------
.. [1] M. Huai et al., "Privacy-Preserving Naive Bayes Classification", KSEM 2015, definitions 2 and 3,
   section 5.
.. [2] E. Shi et al., "Privacy-Preserving Aggregation of Time-Series Data", NDSS 2011, theorem 2.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from fedbayes.dp.laws import Change, DilutedLaplace, DiscreteLaplace, Law
from fedbayes.typing import Floats, Integers

from .messages import Noise

MOST_ROWS = 1 << 22  # of a station, four million: what a slot of a ciphertext has room for
FAR_DEVIATIONS = 12.0  # of the noise: no accident
SURE_DEVIATIONS = 6.0  # of the noise
DROWNED = (
    "the noise is larger than the mean count of a class: the model says little; raise epsilon, or take fewer features or bins; "
    "if the stations hold rows enough for this epsilon, see whether they write the label as its categories in the domain"
)


def families(noise: Noise, features: int) -> int:
    """Return the number of families of counts that the budget is split over: 1 as published."""
    return 1 if noise.kind == "published" else features


def sensitivity(noise: Noise) -> int:
    """Return what one neighbouring step changes in one table, in the L1 norm."""
    return 1 if noise.unit == "record" else noise.maximum_records


def scale(noise: Noise, features: int) -> float:
    """Return the scale of the full noise of one cell: families * sensitivity / epsilon."""
    return DiscreteLaplace(noise.epsilon).width(Change(sensitivity(noise)), families(noise, features), 1)


def law(noise: Noise, features: int, cells: int) -> Law:
    """Return the law of the noise in so many tables with so many cells together."""
    if noise.kind == "polya":
        return DiscreteLaplace(noise.epsilon)
    return DilutedLaplace(noise.epsilon, cell_delta(noise, features, cells))


def cell_delta(noise: Noise, features: int, cells: int) -> float:
    """Return the delta of one cell of the diluted shares.

    Parameters
    ----------
    noise : Noise
        Budget and unit.
    features : int
        Number of tables.
    cells : int
        Cells of all tables together.
    """
    if noise.kind == "published":
        return noise.delta
    changed = features if noise.unit == "record" else min(cells, features * noise.maximum_records)
    return noise.delta / changed


def charge(noise: Noise, features: int) -> tuple[float, float]:
    """Return the (epsilon, delta) that a release really spends.

    As published, delta is that of one cell: one record changes a cell in each of F + 1 families, and a party
    as many as it has records.
    """
    if noise.kind == "none":
        return 0.0, 0.0
    if noise.kind == "published":
        return (features + 1) * noise.epsilon, min(1.0, (features + 1) * sensitivity(noise) * noise.delta)
    return noise.epsilon, noise.delta if noise.kind == "diluted_geometric" else 0.0


def largest_count(noise: Noise, features: int) -> int:
    """Return the public bound of one station's noisy count that a slot of a ciphertext has room for.

    Four million rows, and 256 scales of noise, which no run of any length exceeds.
    """
    return MOST_ROWS + (0 if noise.kind == "none" else math.ceil(256 * scale(noise, features)))


def draw(noise: Noise, uses: int, features: int, cells: int) -> Integers:
    """Return one station's noise shares for all cells.

    Parameters
    ----------
    noise : Noise
        Kind and budget.
    uses : int
        u_k, the number of parties by which this station sizes its share.
    features, cells : int
        Number of tables, and of their cells.

    Returns
    -------
    ndarray (cells,) of int64

    Notes
    -----
    **Reveals** nothing: the shares are added before encryption.
    **Assumes** u_k at most the number of participants; a greater one would make the sum too quiet.
    """
    if noise.kind == "none":
        return np.zeros(cells, dtype=np.int64)
    return law(noise, features, cells).shares(cells, scale(noise, features), uses, noise.honest_fraction)


def deviation(noise: Noise, uses: Iterable[int], features: int, cells: int) -> float:
    """Return the standard deviation of the noise in one cell of the sum over all stations.

    Parameters
    ----------
    noise : Noise
        Kind and budget.
    uses : iterable of int
        u_k of every station.
    features, cells : int
        Number of tables, and of their cells.
    """
    if noise.kind == "none":
        return 0.0
    drawn, wide = law(noise, features, cells), scale(noise, features)
    return math.sqrt(sum(drawn.share_variance(wide, used, noise.honest_fraction) for used in uses))


def disagree(tables: Sequence[Integers], noise: float) -> bool:
    """Return whether the class counts that tables of the same rows have as margins differ by more than their noise.

    Parameters
    ----------
    tables : sequence of ndarray (classes, values) of int64
        One a feature.
    noise : float
        Standard deviation of the noise in one cell.
    """
    margins = np.array([table.sum(axis=1) for table in tables], dtype=np.float64)
    widths = np.array([table.shape[1] for table in tables], dtype=np.float64)
    gaps = np.abs(margins[:, None] - margins[None]).max(axis=2)
    return bool((gaps > FAR_DEVIATIONS * noise * np.sqrt(widths[:, None] + widths[None])).any())


def drowned(noise: float, rows: float, classes: int, summed: int, tables: int) -> bool:
    """Return whether the noise of a cell exceeds the mean number of rows of a class, as far as noisy counts tell.

    Parameters
    ----------
    noise : float
        Standard deviation of the noise in one cell.
    rows : float
        Noisy number of rows: the sum of all cells over the number of tables.
    classes : int
        Number of classes.
    summed, tables : int
        Numbers of cells and of tables behind `rows`, whose own noise must not hide that of the cells.
    """
    return rows < noise * (classes + SURE_DEVIATIONS * math.sqrt(summed) / tables)


def class_scores(class_counts: Floats, products: list[list[int]], present: Integers) -> Floats:
    """Return the posterior of every record from the decrypted products of counts.

    Parameters
    ----------
    class_counts : ndarray (classes,) of float64
        n_j, at least 1.
    products : list of lists of int
        Records by classes: the product of n_ij over the features present.
    present : ndarray (records,) of int64
        Number of features present in each record.

    Returns
    -------
    ndarray (records, classes) of float64
        Rows sum to 1.

    References
    ----------
    .. [1] Huai et al. 2015, section 5.4: NB(x) = argmax_j n_j / N prod_i n_ij / n_j.
    """
    logs = np.array([[math.log(product) for product in record] for record in products]).reshape(
        len(products), len(class_counts)
    )
    counts = np.log(class_counts)
    scores = logs + counts[None] - present[:, None] * counts[None]
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
