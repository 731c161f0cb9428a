"""VertiBayes without a federation: from an oracle of counts to a network.

``learn(options, variables, oracle)`` searches the structure and fits the tables; who counted does not matter. A column
whose counts have "missing" as their last state is a :class:`Variable` with ``missing=True``.

References
----------
.. [1] van Daalen et al. (2024), VertiBayes: learning Bayesian network parameters from vertically partitioned data with
   missing values, Complex & Intelligent Systems. Section "VertiBayes": structure, then the three steps for parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fedbayes.bayes.counts.tables import TableCache, TableOracle
from fedbayes.bayes.network import BayesianNetwork
from fedbayes.bayes.network.em import EmSettings, expectation_maximisation, saturated
from fedbayes.bayes.network.model import Codes
from fedbayes.bayes.network.variable import MISSING_STATE as MISSING_STATE
from fedbayes.bayes.network.variable import Variable as Variable
from fedbayes.bayes.search import scores
from fedbayes.bayes.search.hill_climb import hill_climb
from fedbayes.bayes.search.structure import Structure, information_order, k2, with_counts
from fedbayes.typing import Floats

from .arguments import Fit
from .gaps import ObservedStates, counted_again, without_gaps
from .measuring import Batch, Contrasted, Measurer, measure


@dataclass(frozen=True)
class Learned:
    """What learning gives.

    Attributes
    ----------
    network : BayesianNetwork
        The model.
    counts : dict of arrays
        (Expected) family counts behind the tables of `network`, before pseudocounts.
    structure : Structure
        With the counts as they were asked, "missing" as a state.
    intermediate : BayesianNetwork
        Maximum likelihood with "missing" as a state: what synthetic rows are drawn from.
    rows : float
        Records behind the counts.
    variables : tuple of Variable
        The nodes.
    gaps : dict of str to bool
        Columns with missing values that the tables count as a state.
    em : dict
        What expectation maximisation reports; empty where it did not run.
    missing : dict of str to (float, float)
        See `ObservedStates`.
    measured : list of Batch
        Batches of tables behind a measured network.
    """

    network: BayesianNetwork
    counts: dict[str, Floats]
    structure: Structure
    intermediate: BayesianNetwork
    rows: float
    variables: tuple[Variable, ...]
    gaps: dict[str, bool]
    em: dict[str, Any] = field(default_factory=dict)
    missing: dict[str, tuple[float, float]] = field(default_factory=dict)
    measured: list[Batch] = field(default_factory=list)


def learn(
    options: Fit,
    variables: Sequence[Variable],
    oracle: TableOracle,
    rest: TableOracle | None = None,
    deviation: Callable[[], float] | None = None,
    contrasted: Contrasted | None = None,
    records: int | None = None,
) -> Learned:
    """Return the network that the counts of an oracle give.

    Parameters
    ----------
    options : Fit
        `variables` are in the order of its columns.
    variables : sequence of Variable
        The nodes.
    oracle : TableOracle
        Counts, "missing" as the last state of variables with ``missing=True``.
    rest : TableOracle, optional
        Counts with what the search has left of an epsilon; no tables where nothing is left.
    deviation : callable, optional
        Standard deviation of the noise in every cell of the batch that was answered last; needed with a delta.
    contrasted : callable, optional
        Functions of counts; needed with ``structure="private"``.
    records : int, optional
        Their number, where it is public.
    """
    if options.structure == "private":
        assert deviation is not None
        assert contrasted is not None
        return _measured(options, variables, oracle, contrasted, deviation, records)
    named = {variable.name: variable for variable in variables}
    epsilon = None if options.epsilon is None else options.epsilon / (options.batches or 1)
    noise = deviation if options.delta else None
    observed = ObservedStates(oracle, named, epsilon, deviation=noise)
    structure = search(options, observed)
    if rest is not None:
        structure = counted_again(structure, ObservedStates(rest, named, epsilon, observed, noise))
    gaps = {name: observed.has_gaps(name) for name in named}
    if options.missing == "drop":
        structure, gaps = without_gaps(structure, {v.name: len(v.states) for v in variables}), {}
    return replace(fit_tables(options, variables, structure, gaps), missing=dict(observed.missing))


def _measured(
    options: Fit,
    variables: Sequence[Variable],
    oracle: TableOracle,
    contrasted: Contrasted,
    deviation: Callable[[], float],
    records: int | None,
) -> Learned:
    """Return a network from noisy tables of columns, pairs and cliques; see `measuring`."""
    ask = Measurer(oracle, contrasted, deviation, {v.name: len(v.all_states()) for v in variables}, records)
    score = scores.by_name(options.score, options.equivalent_sample_size)
    measured = measure(ask, options.columns, {v.name: v.missing for v in variables}, options.max_parents, score)
    structure, gaps = measured.structure, measured.gaps
    if options.missing == "drop":
        present = {v.name: len(v.states) for v in variables}
        structure, gaps = without_gaps(structure, present), {}
    return replace(fit_tables(options, variables, structure, gaps), missing=measured.missing, measured=measured.batches)


def search(options: Fit, oracle: TableOracle) -> Structure:
    """Return the structure that the options ask for, with the counts of its families."""
    cache = TableCache(oracle, options.columns)
    space = options.space()
    score = scores.by_name(options.score, options.equivalent_sample_size)
    if not isinstance(options.structure, str):
        parents: dict[str, list[str]] = {column: [] for column in options.columns}
        for parent, child in options.structure:
            parents[child].append(parent)
        return with_counts(cache, space, parents, score)
    if options.structure == "naive":
        label = options.label or ""
        return with_counts(cache, space, {c: [label] if c != label else [] for c in options.columns}, score)
    if options.structure == "hill_climb":
        return hill_climb(cache, space, score)
    order: Sequence[str] = options.columns
    if options.order == "information":
        order = information_order(cache, space)
    elif isinstance(options.order, tuple):
        order = options.order
    # Noisy tables contradict one another, so none of them bounds what another may score.
    ceiling = scores.ceiling_by_name(options.score) if options.epsilon is None else None
    return k2(cache, space, order, score, ceiling)


def fit_tables(options: Fit, variables: Sequence[Variable], structure: Structure, gaps: Mapping[str, bool]) -> Learned:
    """Return the network of a structure from the counts of its families.

    Parameters
    ----------
    options : Fit
        How missing values are treated.
    variables : sequence of Variable
        The nodes.
    structure : Structure
        With family counts; the last state of a column with gaps is "missing".
    gaps : mapping of str to bool
        Columns with missing values.
    """
    states = {v.name: (*v.states, MISSING_STATE) if gaps.get(v.name) else v.states for v in variables}
    counts = {node: np.maximum(np.asarray(table, dtype=np.float64), 0.0) for node, table in structure.counts.items()}
    intermediate = BayesianNetwork.from_counts(states, structure.parents, counts)
    rows = max(float(table.sum()) for table in counts.values())
    em: dict[str, Any] = {}
    if options.missing in ("drop", "category") or not any(gaps.values()):
        network = BayesianNetwork.from_counts(states, structure.parents, counts, options.added)
    else:
        plain = {v.name: v.states for v in variables}
        if options.missing == "em":
            network, counts, em = three_steps(options, plain, intermediate)
            counts = {node: table * (rows / options.synthetic_rows) for node, table in counts.items()}
        else:
            network, counts, em = by_families(options, plain, replace(structure, counts=counts))
    return Learned(network, counts, structure, intermediate, rows, tuple(variables), dict(gaps), em)


def three_steps(
    options: Fit, states: Mapping[str, tuple[str, ...]], intermediate: BayesianNetwork
) -> tuple[BayesianNetwork, dict[str, Floats], dict[str, Any]]:
    """Return network and expected counts by the published three steps: synthetic rows of `intermediate`, then EM.

    References
    ----------
    [1]_, section "Parameter learning", steps 2 and 3.
    """
    rows = synthetic(intermediate, states, options.synthetic_rows)
    return _maximise(options, states, intermediate.parents, rows, options.restarts)


def synthetic(intermediate: BayesianNetwork, states: Mapping[str, Sequence[str]], rows: int) -> Codes:
    """Return rows drawn from the intermediate network, -1 where it drew "missing"."""
    drawn = intermediate.sample(rows)
    cardinalities = np.array([len(states[node]) for node in intermediate.nodes])
    return np.where(drawn < cardinalities, drawn, -1)


def _maximise(
    options: Fit,
    states: Mapping[str, tuple[str, ...]],
    parents: Mapping[str, Sequence[str]],
    rows: Codes,
    starts: int,
) -> tuple[BayesianNetwork, dict[str, Floats], dict[str, Any]]:
    settings = EmSettings(starts=starts, pseudocount=options.added)
    fitted = expectation_maximisation(states, parents, rows, settings=settings)
    report = {
        "converged": fitted.converged,
        "iterations": len(fitted.trace) - 1,
        "starts": starts,
        "best_start": fitted.start,
        "log_likelihood": fitted.log_likelihood,
        "synthetic_rows": len(rows),
    }
    return fitted.network, fitted.counts, report


def by_families(
    options: Fit, states: Mapping[str, tuple[str, ...]], structure: Structure
) -> tuple[BayesianNetwork, dict[str, Floats], dict[str, Any]]:
    """Return network and expected counts by EM on the counted patterns of every family: nothing is drawn.

    Each family's table, "missing" as a state, is a set of weighted incomplete records; EM runs on the saturated model
    of the family. Valid where values are missing completely at random, or depending on the family's observed members.
    A table in which noise leaves no record has no counts.
    """
    counts: dict[str, Floats] = {}
    converged, steps = True, 0
    for node, table in structure.counts.items():
        shape = [len(states[name]) for name in (*structure.parents[node], node)]
        if not table.any():
            counts[node] = np.zeros(shape)
            continue
        counts[node], settled, taken = saturated(np.asarray(table, dtype=np.float64), shape)
        converged, steps = converged and settled, max(steps, taken)
    network = BayesianNetwork.from_counts(states, structure.parents, counts, options.added)
    return network, counts, {"converged": converged, "iterations": steps, "on": "family tables"}


def refit(options: Fit, network: BayesianNetwork, rows: Codes) -> BayesianNetwork:
    """Return the network's structure with tables from (synthetic) rows, one start."""
    return _maximise(options, network.states, network.parents, rows, 1)[0]
