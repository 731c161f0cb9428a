"""Networks in the Bayesian Interchange Format (BIF): export and import.

Names that are no identifiers (bins such as ``[5, 7)``) are written as identifiers; the original names travel
in a ``property`` line and come back on import.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from itertools import product

import numpy as np

from ...typing import Floats
from ..network import BayesianNetwork
from ..network.model import MOST_CELLS

_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\]|\\.)*"|[{}()\[\],;|]|[^\s{}()\[\],;|"]+', re.DOTALL)


def identifiers(names: Iterable[str]) -> dict[str, str]:
    """Return a unique identifier (``[A-Za-z_][A-Za-z0-9_]*``) for each name; identifiers stay as they are."""
    unique_names: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        plain = re.sub(r"\W", "_", name, flags=re.ASCII) or "_"
        plain = f"_{plain}" if plain[0].isdigit() else plain
        unique, number = plain, 2
        while unique in taken:
            unique, number = f"{plain}_{number}", number + 1
        unique_names[name] = unique
        taken.add(unique)
    return unique_names


def to_bif(network: BayesianNetwork, name: str = "fedbayes") -> str:
    """Return the network as BIF text; probabilities keep all their digits."""
    nodes = identifiers(network.nodes)
    lines = [f"network {identifiers([name])[name]} {{", "}"]
    for node, states in network.states.items():
        state_ids = identifiers(states)
        lines.append(f"variable {nodes[node]} {{")
        lines.append(f"  type discrete [ {len(states)} ] {{ {', '.join(state_ids[s] for s in states)} }};")
        if nodes[node] != node or any(state_ids[s] != s for s in states):
            lines.append(f"  property {json.dumps(json.dumps({'name': node, 'states': list(states)}))} ;")
        lines.append("}")
    for node in network.nodes:
        lines.extend(_probability(network, node, nodes))
    return "\n".join(lines) + "\n"


def _probability(network: BayesianNetwork, node: str, nodes: dict[str, str]) -> Iterator[str]:
    parents = network.parents[node]
    table = network.tables[node]
    if not parents:
        yield f"probability ( {nodes[node]} ) {{"
        yield f"  table {', '.join(map(repr, table.tolist()))};"
    else:
        yield f"probability ( {nodes[node]} | {', '.join(nodes[p] for p in parents)} ) {{"
        names = [list(identifiers(network.states[parent]).values()) for parent in parents]
        rows = table.reshape(-1, table.shape[-1]).tolist()
        for states, row in zip(product(*names), rows, strict=True):
            yield f"  ({', '.join(states)}) {', '.join(map(repr, row))};"
    yield "}"


def from_bif(text: str) -> BayesianNetwork:
    """Return the network of BIF text.

    Raises
    ------
    ValueError
        The text is not BIF, or its tables do not make a network; rows are renormalised within 1e-3.
    """
    reader = _Reader(text)
    try:
        reader.read()
    except (StopIteration, KeyError, IndexError) as error:
        raise ValueError(f"the BIF text is incomplete or damaged ({type(error).__name__})") from None
    return reader.network()


class _Reader:
    """A recursive descent over the tokens."""

    def __init__(self, text: str) -> None:
        self._tokens = iter([t for t in _TOKEN.findall(text) if not t.startswith(("//", "/*"))])
        self.states: dict[str, list[str]] = {}
        self.labels: dict[str, dict[str, list[str]]] = {}
        self.parents: dict[str, list[str]] = {}
        self.tables: dict[str, Floats] = {}

    def read(self) -> None:
        for token in self._tokens:
            if token == "network":
                self._until("}")
            elif token == "variable":
                self._variable(next(self._tokens))
            elif token == "probability":
                self._table()
            else:
                raise ValueError(f"BIF: expected network, variable or probability, found {token[:20]!r}")

    def _until(self, end: str) -> list[str]:
        tokens: list[str] = []
        token = next(self._tokens)
        while token != end:
            tokens.append(token)
            token = next(self._tokens)
        return tokens

    def _variable(self, name: str) -> None:
        self._until("{")
        token = next(self._tokens)
        while token != "}":
            if token == "type":
                self._until("{")
                self.states[name] = [t for t in self._until("}") if t != ","]
                self._until(";")
            else:
                words = self._until(";")
                if token == "property" and words and words[0].startswith('"{'):
                    self.labels[name] = json.loads(json.loads(words[0]))
            token = next(self._tokens)

    def _table(self) -> None:
        self._until("(")
        head = [t for t in self._until(")") if t not in (",", "|")]
        name, parents = head[0], head[1:]
        shape = [len(self.states[p]) for p in (*parents, name)]
        if math.prod(shape) > MOST_CELLS:
            raise ValueError(f"BIF: the table of {name} is too large")
        table = np.full(shape, np.nan)
        self._until("{")
        token = next(self._tokens)
        while token != "}":
            if token == "(":
                key = [t for t in self._until(")") if t != ","]
                parent_states = tuple(self.states[p].index(s) for p, s in zip(parents, key, strict=True))
                table[parent_states] = self._numbers()
            elif token in ("table", "default"):
                numbers = np.asarray(self._numbers())
                whole = shape if numbers.size == table.size else shape[-1:]
                table = np.where(np.isnan(table), numbers.reshape(whole), table)
            else:
                self._until(";")
            token = next(self._tokens)
        self.parents[name], self.tables[name] = parents, table

    def _numbers(self) -> list[float]:
        return [float(t) for t in self._until(";") if t != ","]

    def network(self) -> BayesianNetwork:
        """Return the network that was read, with its original names.

        Raises
        ------
        ValueError
            A variable has no probability block, a block no variable, or probabilities do not sum to one.
        """
        label = {name: str(self.labels.get(name, {}).get("name", name)) for name in self.states}
        states = {
            label[name]: tuple(self.labels.get(name, {}).get("states", identifiers_of_states))
            for name, identifiers_of_states in self.states.items()
        }
        parents = {label[name]: tuple(label[p] for p in self.parents.get(name, [])) for name in self.states}
        if set(self.tables) != set(self.states):
            raise ValueError("BIF: a variable has no probability block, or a block has no variable")
        tables = {label[name]: _renormalise(name, table) for name, table in self.tables.items()}
        return BayesianNetwork(states, parents, tables)


def _renormalise(name: str, table: Floats) -> Floats:
    totals = table.sum(axis=-1, keepdims=True)
    if not np.allclose(totals, 1.0, atol=1e-3):
        raise ValueError(f"the probabilities of {name} do not sum to one")
    normal: Floats = table / totals
    return normal
