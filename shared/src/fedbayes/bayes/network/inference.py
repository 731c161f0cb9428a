"""Exact inference for batches of records by a junction tree in numpy: batch axis first, messages rescaled.

Evidence is a batch of integer codes, shape (batch, nodes), -1 where a node was not observed. Messages are
normalised and their logarithms summed, so that long evidence does not underflow.

References
----------
Lauritzen and Spiegelhalter (1988); Shafer and Shenoy (1990); Koller and Friedman (2009), chapter 10.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ...typing import Floats
from .junction import JoinTree, build_tree
from .model import MISSING, BayesianNetwork, Codes

CHUNK_CELLS = 2**21  # cells of all cliques of a batch that are held at once


class JunctionTree:
    """Exact inference in one network.

    Parameters
    ----------
    network : BayesianNetwork
        The network; the tree depends on its structure alone (:meth:`with_tables` reuses it).
    """

    def __init__(self, network: BayesianNetwork, _tree: JoinTree | None = None) -> None:
        self.network = network
        self._cards = [len(states) for states in network.states.values()]
        self._families = [network.family(node) for node in network.nodes]
        self._tree = _tree or build_tree(self._families, self._cards)
        self._base = self._potentials()
        cells = sum(potential.size for potential in self._base)
        self._chunk = max(16, CHUNK_CELLS // max(cells, 1))

    def with_tables(self, network: BayesianNetwork) -> JunctionTree:
        """Return a tree for other tables of the same structure."""
        if network.parents != self.network.parents or network.states != self.network.states:
            return JunctionTree(network)
        return JunctionTree(network, self._tree)

    def log_likelihood(self, codes: Codes) -> Floats:
        """Return log P(evidence) of each row, shape (batch,); -inf for impossible evidence."""
        parts = [self._collect(chunk)[1] for chunk in self._chunks(codes)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def posterior(self, codes: Codes, target: str) -> Floats:
        """Return P(target | evidence) of each row, shape (batch, states of target).

        Evidence on the target itself is ignored. Impossible evidence (probability 0) gives the uniform
        distribution.
        """
        position = self.network.nodes.index(target)
        evidence = codes.copy()
        evidence[:, position] = MISSING
        parts = [self._marginal(self._calibrate(chunk)[0], position) for chunk in self._chunks(evidence)]
        return np.concatenate(parts) if parts else np.zeros((0, self._cards[position]))

    def expected_counts(self, codes: Codes, weights: Floats | None = None) -> tuple[dict[str, Floats], float]:
        """Return the expected family counts given the evidence, and the weighted log-likelihood.

        Rows of impossible evidence add nothing to the counts and -inf to the likelihood.

        Parameters
        ----------
        codes : int array, shape (batch, nodes)
            Evidence, -1 = not observed.
        weights : float array, shape (batch,), optional
            How often each row occurs; 1 by default.
        """
        weight = np.ones(len(codes)) if weights is None else np.asarray(weights, dtype=np.float64)
        sums = [np.zeros(self.network.shape(node)) for node in self.network.nodes]
        total, start = 0.0, 0
        for chunk in self._chunks(codes):
            part = weight[start : start + len(chunk)]
            start += len(chunk)
            beliefs, logs = self._calibrate(chunk)
            total += float(logs[part > 0] @ part[part > 0])
            pooled = [np.tensordot(part, belief, axes=(0, 0)) for belief in beliefs]
            for position, family in enumerate(self._families):
                clique = self._tree.home[position]
                sums[position] += _project(pooled[clique], self._tree.cliques[clique], family)
        return dict(zip(self.network.nodes, sums, strict=True)), total

    def _chunks(self, codes: Codes) -> Iterator[Codes]:
        if codes.ndim != 2 or codes.shape[1] != len(self._cards):
            raise ValueError(f"the evidence has shape {codes.shape}, not (batch, {len(self._cards)})")
        for start in range(0, len(codes), self._chunk):
            yield codes[start : start + self._chunk]

    def _potentials(self) -> list[Floats]:
        potentials = [np.ones([self._cards[v] for v in clique]) for clique in self._tree.cliques]
        for position, node in enumerate(self.network.nodes):
            clique = self._tree.home[position]
            table = _embed(self.network.tables[node], self._families[position], self._tree.cliques[clique])
            potentials[clique] = potentials[clique] * table
        return potentials

    def _enter(self, codes: Codes, clique: int) -> Floats:
        """Return the potential of a clique with the evidence on the nodes at home in it, shape (batch,
        *cards).
        """
        variables = self._tree.cliques[clique]
        potential = self._base[clique][None]
        for position in variables:
            if self._tree.home[position] != clique or not (codes[:, position] >= 0).any():
                continue
            observed = codes[:, position, None]
            likelihood = (observed == np.arange(self._cards[position])) | (observed < 0)
            shape = [len(codes)] + [self._cards[v] if v == position else 1 for v in variables]
            potential = potential * likelihood.reshape(shape)
        return np.broadcast_to(potential, (len(codes), *self._base[clique].shape))

    def _collect(self, codes: Codes) -> tuple[list[Floats], Floats, list[Floats | None]]:
        potentials = [self._enter(codes, clique) for clique in range(len(self._base))]
        upward: list[Floats | None] = [None] * len(potentials)
        logs = np.zeros(len(codes))
        for clique, parent in enumerate(self._tree.above):
            scale = _scale(potentials[clique])
            with np.errstate(divide="ignore"):
                logs += np.log(scale)
            potentials[clique] = _divide(potentials[clique], scale)
            if parent >= 0:
                message = self._message(potentials[clique], clique, parent)
                upward[clique] = message
                potentials[parent] = potentials[parent] * self._widen(message, clique, parent)
        return potentials, logs, upward

    def _calibrate(self, codes: Codes) -> tuple[list[Floats], Floats]:
        beliefs, logs, upward = self._collect(codes)
        for clique in range(len(beliefs) - 2, -1, -1):
            parent, sent = self._tree.above[clique], upward[clique]
            if sent is None:
                continue
            message = self._message(beliefs[parent], parent, clique)
            ratio = np.divide(message, sent, out=np.zeros_like(message), where=sent > 0)
            belief = beliefs[clique] * self._widen(ratio, parent, clique)
            beliefs[clique] = _divide(belief, _scale(belief))
        return beliefs, logs

    def marginals(self, codes: Codes) -> dict[str, Floats]:
        """Return P(node | evidence) of every node, each of shape (batch, states)."""
        beliefs = [self._calibrate(chunk)[0] for chunk in self._chunks(codes)]
        return {
            node: np.concatenate([self._marginal(part, position) for part in beliefs])
            for position, node in enumerate(self.network.nodes)
        }

    def _marginal(self, beliefs: Sequence[Floats], position: int) -> Floats:
        clique = self._tree.home[position]
        axes = tuple(1 + axis for axis, v in enumerate(self._tree.cliques[clique]) if v != position)
        marginal = beliefs[clique].sum(axis=axes)
        scale = _scale(marginal)
        posterior: Floats = _divide(marginal, scale)
        posterior[scale <= 0] = 1.0 / self._cards[position]
        return posterior

    def _message(self, potential: Floats, source: int, target: int) -> Floats:
        """Return the potential summed to the separator with another clique, axes in sorted order."""
        kept = set(self._tree.cliques[target])
        axes = tuple(1 + axis for axis, v in enumerate(self._tree.cliques[source]) if v not in kept)
        message: Floats = potential.sum(axis=axes)
        return message

    def _widen(self, message: Floats, source: int, target: int) -> Floats:
        """Return a message with axes of length one for the variables that only the target clique has."""
        shared = set(self._tree.cliques[source])
        cards = [self._cards[v] if v in shared else 1 for v in self._tree.cliques[target]]
        return message.reshape([len(message), *cards])


def query(
    network: BayesianNetwork, evidence: Mapping[str, str], targets: Sequence[str] | None = None
) -> dict[str, dict[str, float]]:
    """Return the posterior of the targets (by default all nodes without evidence) given one record of
    evidence.

    Raises
    ------
    ValueError
        Unknown nodes or states, or evidence that the network gives probability 0.
    """
    for name in (*evidence, *(targets or ())):
        if name not in network.states:
            raise ValueError(f"{name!r} is not a node of the network")
    codes = network.encode({node: [evidence.get(node)] for node in network.nodes})
    tree = JunctionTree(network)
    if not np.isfinite(tree.log_likelihood(codes)[0]):
        raise ValueError(
            "the network gives this evidence probability 0; fit with a pseudocount or publish with a floor"
        )
    names = targets if targets is not None else [node for node in network.nodes if node not in evidence]
    marginals = tree.marginals(codes)
    return {name: dict(zip(network.states[name], marginals[name][0].tolist(), strict=True)) for name in names}


def posteriors(network: BayesianNetwork, codes: Codes, target: str) -> Floats:
    """Return P(target | all other observed nodes) of each record, shape (rows, states of target).

    Records whose Markov blanket is complete need no tree: the product of the target's table and its
    children's.
    """
    position = network.nodes.index(target)
    children = [node for node in network.nodes if target in network.parents[node]]
    blanket = {v for node in (target, *children) for v in network.family(node)} - {position}
    complete = (codes[:, sorted(blanket)] >= 0).all(axis=1)
    result = np.empty((len(codes), len(network.states[target])))
    result[complete] = _from_blanket(network, codes[complete], target, children)
    if not complete.all():
        result[~complete] = JunctionTree(network).posterior(codes[~complete], target)
    return result


def _from_blanket(network: BayesianNetwork, codes: Codes, target: str, children: Sequence[str]) -> Floats:
    position = network.nodes.index(target)
    states = len(network.states[target])
    logs = np.zeros((len(codes), states))
    with np.errstate(divide="ignore"):
        for node in (target, *children):
            for state in range(states):
                index = tuple(state if v == position else codes[:, v] for v in network.family(node))
                logs[:, state] += np.log(network.tables[node][index])
    top = logs.max(axis=1, keepdims=True)
    possible = np.isfinite(top)
    weights = np.exp(np.where(possible, logs, 0.0) - np.where(possible, top, 0.0))
    normalised: Floats = weights / weights.sum(axis=1, keepdims=True)
    return normalised


def _embed(table: Floats, family: Sequence[int], clique: Sequence[int]) -> Floats:
    """Return a family table with its axes sorted and an axis of length one for every other member of the
    clique.
    """
    order = sorted(range(len(family)), key=lambda axis: family[axis])
    cards = {family[axis]: table.shape[axis] for axis in order}
    return np.transpose(table, order).reshape([cards.get(v, 1) for v in clique])


def _project(belief: Floats, clique: Sequence[int], family: Sequence[int]) -> Floats:
    """Return a clique's table summed to a family, axes in the family's order."""
    kept = [v for v in clique if v in family]
    summed = belief.sum(axis=tuple(axis for axis, v in enumerate(clique) if v not in family))
    return np.transpose(summed, [kept.index(v) for v in family])


def _scale(potential: Floats) -> Floats:
    total: Floats = potential.reshape(len(potential), -1).sum(axis=1)
    return total


def _divide(potential: Floats, scale: Floats) -> Floats:
    shaped = scale.reshape([-1] + [1] * (potential.ndim - 1))
    return np.divide(potential, shaped, out=np.zeros_like(potential), where=shaped > 0)
