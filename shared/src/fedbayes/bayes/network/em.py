"""Parameters of a network from incomplete records by exact expectation maximisation.

The expectation step is exact batched inference (a junction tree), each distinct record once with its weight.
The objective is the log-likelihood plus ``pseudocount`` times the sum of the log probabilities (a Dirichlet
prior with all parameters 1 + pseudocount); it must not fall, and every run checks that.

References
----------
Dempster, Laird and Rubin (1977); Lauritzen (1995), The EM algorithm for graphical association models.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fedbayes.randomness import uniform_floats

from ...typing import Floats
from .inference import JunctionTree
from .model import BayesianNetwork, Codes
from .probability_tables import normalise

SLACK = 1e-8  # relative fall of the objective that is put down to rounding
CELL_TOLERANCE = 1e-9  # largest change of a probability in the last step of `saturated`; below ten times as much, what no record shows is 0
LEAST_DRAWN = 1e-3  # added to what is drawn for a cell of a first table: from 0 none comes back
SATURATED_STEPS = 10_000  # a few hundred are seldom passed


@dataclass(frozen=True)
class EmSettings:
    """How expectation maximisation runs.

    Attributes
    ----------
    starts : int
        Runs: the first from the available cases, the others from random tables; the best one is kept.
    pseudocount : float
        Added to every cell of every table; with 0 the result is maximum likelihood.
    tolerance : float
        Stop when the objective rises by less than this share of its size.
    max_iterations : int
        Stop after this many iterations, with ``converged`` false.
    """

    starts: int = 3
    pseudocount: float = 0.5
    tolerance: float = 1e-6
    max_iterations: int = 200

    def __post_init__(self) -> None:
        if self.starts < 1 or self.max_iterations < 1:
            raise ValueError("starts and max_iterations must be 1 or more")
        if not (self.pseudocount >= 0 and self.tolerance > 0):
            raise ValueError("pseudocount must be 0 or more, tolerance more than 0")


@dataclass(frozen=True)
class EmResult:
    """The best run.

    Attributes
    ----------
    network : BayesianNetwork
    counts : dict[str, ndarray]
        Expected family counts (without pseudocounts) behind the tables.
    log_likelihood : float
        Of the records, under ``network``, natural logarithm.
    trace : tuple[float, ...]
        Objective before each iteration.
    converged : bool
    start : int
        Which start won, from 0.
    """

    network: BayesianNetwork
    counts: dict[str, Floats]
    log_likelihood: float
    trace: tuple[float, ...]
    converged: bool
    start: int


def expectation_maximisation(
    states: Mapping[str, Sequence[str]],
    parents: Mapping[str, Sequence[str]],
    codes: Codes,
    weights: Floats | None = None,
    settings: EmSettings | None = None,
) -> EmResult:
    """Return the best tables over several starts for records with missing values.

    Parameters
    ----------
    states, parents : mapping
        The network's nodes and structure.
    codes : int array, shape (rows, nodes)
        Records, -1 = missing.
    weights : float array, shape (rows,), optional
        How often each record occurs; rows of weight 0 or less are left out.
    settings : EmSettings, optional
        Defaults if not given.

    Raises
    ------
    ValueError
        No record is left to learn from.
    ArithmeticError
        The objective fell: a defect, never expected.
    """
    chosen = settings or EmSettings()
    patterns, weight = distinct(codes, weights)
    if not len(patterns):
        raise ValueError("no record is left to learn from")
    first = BayesianNetwork.from_counts(
        states, parents, _available(states, parents, patterns, weight), chosen.pseudocount or 0.5
    )
    complete = not (patterns < 0).any()
    tree = JunctionTree(first)
    best: EmResult | None = None
    for start in range(1 if complete else chosen.starts):
        network = first if start == 0 else _random(first)
        result = _run(tree.with_tables(network), patterns, weight, chosen, start)
        if best is None or result.trace[-1] > best.trace[-1]:
            best = result
    if best is None:
        raise ArithmeticError("expectation maximisation made no run")
    return best


def saturated(table: Floats, shape: Sequence[int]) -> tuple[Floats, bool, int]:
    """Return expected counts of a table's cells under the most likely joint distribution of its columns, gaps anywhere in it.

    Starts from the records without gaps, to which half a count a cell is added, distributed as if the columns did not depend on one another: so
    columns that no record has together stay independent, of which the likelihood says nothing. Extrapolates, because the likelihood of
    few records with many gaps is nearly flat: plain steps would stop a long way from its top.

    Parameters
    ----------
    table : float array
        Counts, those below 0 (of noise) taken as 0; an axis one longer than its column has states has "missing" as its last state.
    shape : sequence of int
        Number of states of every column, "missing" not counted.

    Returns
    -------
    counts : float array, shape `shape`
        Sums to the sum of the counts above 0.
    converged : bool
    steps : int

    Raises
    ------
    ValueError
        No record is left to learn from.

    References
    ----------
    Varadhan and Roland (2008), Simple and globally convergent methods for accelerating the convergence of any EM
    algorithm, scheme S3.
    """
    table = np.maximum(table, 0.0)
    if not table.any():
        raise ValueError("no record is left to learn from")
    table = np.pad(table, [(0, states + 1 - there) for states, there in zip(shape, table.shape, strict=True)])
    patterns = _patterns(table)
    complete = table[(slice(-1),) * table.ndim]
    start = complete + complete.size / 2 * _independent(table)
    joint, likelihood = start / start.sum(), -np.inf
    once, _ = _complete(joint, patterns)
    steps = 1
    while np.abs(once - joint).max() > CELL_TOLERANCE and steps < SATURATED_STEPS:
        twice, _ = _complete(once, patterns)
        far, reached = _complete(_extrapolate(joint, once, twice), patterns)
        if reached < likelihood:  # too far: plain steps never fall
            far, reached = _complete(twice, patterns)
        joint, likelihood = far, reached
        once, _ = _complete(joint, patterns)
        steps += 1
    cells = np.where((once > 10 * CELL_TOLERANCE) | (complete > 0), once, 0.0)
    return cells / cells.sum() * table.sum(), steps < SATURATED_STEPS, steps


def _independent(table: Floats) -> Floats:
    """Return the product of the columns' distributions, each of the records that have it; of a column that none has, the uniform one."""
    product = np.ones(())
    for axis in range(table.ndim):
        counts = table.sum(axis=tuple(other for other in range(table.ndim) if other != axis))[:-1]
        product = np.multiply.outer(
            product, counts / counts.sum() if counts.any() else np.full(len(counts), 1 / len(counts))
        )
    return np.asarray(product)


def _patterns(table: Floats) -> list[tuple[tuple[int, ...], Floats]]:
    """Return, for each set of axes that records lack together, the axes and the counts, of length 1 along them."""
    patterns = []
    for lacking in itertools.product((False, True), repeat=table.ndim):
        part = table[tuple(slice(-1, None) if lacks else slice(-1) for lacks in lacking)]
        if part.sum() > 0:
            patterns.append((tuple(axis for axis, lacks in enumerate(lacking) if lacks), part))
    return patterns


def _complete(joint: Floats, patterns: Sequence[tuple[tuple[int, ...], Floats]]) -> tuple[Floats, float]:
    """Return the joint distribution after one step, and the log-likelihood before it."""
    expected, likelihood = np.zeros_like(joint), 0.0
    for lacking, counts in patterns:
        margin = joint.sum(axis=lacking, keepdims=True)
        share = np.divide(counts, margin, out=np.zeros_like(margin), where=margin > 0)
        expected += joint * share
        likelihood += float((counts * np.log(np.where(counts > 0, margin, 1.0))).sum())
    return expected / expected.sum(), likelihood


def _extrapolate(start: Floats, once: Floats, twice: Floats) -> Floats:
    """Return a distribution further along the way that two steps took; no cell becomes 0, from which none comes back."""
    way, bend = once - start, twice - 2 * once + start
    length = -max(1.0, float(np.linalg.norm(way) / max(np.linalg.norm(bend), np.finfo(np.float64).tiny)))
    while length < -1.0:
        far = start - 2 * length * way + length**2 * bend
        if (far[twice > 0] > 0).all():
            return np.maximum(far, 0.0)
        length = (length - 1.0) / 2 if length < -1.01 else -1.0  # half as far, until it is nearly the two steps
    return twice


def distinct(codes: Codes, weights: Floats | None = None) -> tuple[Codes, Floats]:
    """Return the distinct records (patterns, nodes) and their summed weights (patterns,)."""
    weight = np.ones(len(codes)) if weights is None else np.asarray(weights, dtype=np.float64)
    kept = weight > 0
    patterns, inverse = np.unique(codes[kept], axis=0, return_inverse=True)
    sums = np.zeros(len(patterns))
    np.add.at(sums, inverse.ravel(), weight[kept])
    return patterns, sums


def _run(tree: JunctionTree, codes: Codes, weights: Floats, settings: EmSettings, start: int) -> EmResult:
    trace: list[float] = []
    converged = False
    counts, likelihood = tree.expected_counts(codes, weights)
    trace.append(likelihood + _prior(tree.network, settings.pseudocount))
    for _ in range(settings.max_iterations):
        network = BayesianNetwork.from_counts(tree.network.states, tree.network.parents, counts, settings.pseudocount)
        tree = tree.with_tables(network)
        counts, likelihood = tree.expected_counts(codes, weights)
        trace.append(likelihood + _prior(network, settings.pseudocount))
        check_monotone(trace)
        if trace[-1] - trace[-2] <= settings.tolerance * max(1.0, abs(trace[-1])):
            converged = True
            break
    return EmResult(tree.network, counts, likelihood, tuple(trace), converged, start)


def check_monotone(trace: Sequence[float]) -> None:
    """Raise ArithmeticError when the last objective lies below the one before it by more than rounding."""
    if trace[-1] < trace[-2] - SLACK * max(1.0, abs(trace[-2])):
        raise ArithmeticError("the objective of expectation maximisation fell: this is a defect, please report it")


def _prior(network: BayesianNetwork, pseudocount: float) -> float:
    if pseudocount <= 0:
        return 0.0
    with np.errstate(divide="ignore"):
        return pseudocount * sum(float(np.log(table).sum()) for table in network.tables.values())


def _available(
    states: Mapping[str, Sequence[str]], parents: Mapping[str, Sequence[str]], codes: Codes, weights: Floats
) -> dict[str, Floats]:
    """Return weighted family counts over the records in which the whole family was observed."""
    axis_of = {node: position for position, node in enumerate(states)}
    counts: dict[str, Floats] = {}
    for node in states:
        family = [*parents[node], node]
        shape = tuple(len(states[name]) for name in family)
        columns = codes[:, [axis_of[name] for name in family]]
        seen = (columns >= 0).all(axis=1)
        counts[node] = np.zeros(shape)
        np.add.at(counts[node], tuple(columns[seen].T), weights[seen])
    return counts


def _random(network: BayesianNetwork) -> BayesianNetwork:
    """Return a network of the same structure with tables drawn from flat Dirichlet distributions."""
    tables = {
        node: normalise(-np.log1p(-uniform_floats(table.shape)) + LEAST_DRAWN) for node, table in network.tables.items()
    }
    return BayesianNetwork(network.states, network.parents, tables)
