"""K2 over three stations beside pooled K2 on published networks: nodes, rounds, seconds, bytes, and whether the two agree.

The networks are BIF files that others publish and this repository does not hold: `FEDBAYES_NETWORKS` names a folder of ``<name>.bif.gz`` files, such as
``pgmpy/utils/example_models`` of the wheel pgmpy 0.1.26. Records are drawn from them with a fixed seed. The pooled twin below uses no code of the project.
"""

from __future__ import annotations

import gzip
import json
import os
import re
from pathlib import Path

import goals
import numpy as np
import pandas as pd
import pytest
from party_kit import by_columns
from scipy.special import gammaln

from fedbayes.federation.embedded import EmbeddedFederation

pytestmark = pytest.mark.benchmark
FOLDER = os.environ.get("FEDBAYES_NETWORKS", "")
ROWS = 10_000
TIE = 1e-9
SECONDS = 60.0
"""Processor time over two cores (`goals.spent`)."""
SMALL = ("asia", "sachs", "child", "insurance", "water", "alarm", "hailfinder", "hepar2", "win95pts", "andes")
LARGE = (
    ("pigs", 3),
    ("link", 2),
    ("munin1", 2),
    ("munin", 1),
    ("barley", 2),
    ("pathfinder", 2),
    ("diabetes", 1),
    ("mildew", 1),
    ("mildew", 2),
)
NETWORKS = (*((name, 3) for name in SMALL), *LARGE)
"""Networks, and the most parents of a node that are tried with each."""
LONG = ("pigs", "link", "munin1", "munin", "pathfinder", "diabetes", "mildew")
"""Minutes each: `FEDBAYES_NETWORKS_ALL=1` has them too."""


class Published:
    """States, parents and tables of a network in the Bayesian Interchange Format."""

    def __init__(self, path: Path) -> None:
        with gzip.open(path, "rt") as file:
            text = file.read()
        kinds = re.finditer(r"variable\s+(\S+)\s*\{\s*type\s+discrete\s*\[\s*\d+\s*\]\s*\{([^}]*)\}", text)
        self.states = {kind[1]: [state.strip() for state in kind[2].split(",")] for kind in kinds}
        self.parents: dict[str, list[str]] = {}
        self.tables: dict[str, np.ndarray] = {}
        for entry in re.finditer(r"probability\s*\(([^)]*)\)\s*\{(.*?)\}", text, re.DOTALL):
            node, *given = re.split(r"[|,]", re.sub(r"\s", "", entry[1]))
            self.parents[node] = given
            self.tables[node] = self._table(node, given, entry[2])
        self.order = self._order()

    def _table(self, node: str, given: list[str], text: str) -> np.ndarray:
        table = np.zeros([len(self.states[name]) for name in (*given, node)])
        for line in filter(None, (part.strip() for part in text.split(";"))):
            if line.startswith("table"):
                table[...] = [float(number) for number in line[5:].split(",")]
                continue
            key, numbers = line[1:].split(")")
            place = [self.states[name].index(state.strip()) for name, state in zip(given, key.split(","), strict=True)]
            table[tuple(place)] = [float(number) for number in numbers.split(",")]
        return table

    def _order(self) -> list[str]:
        placed: list[str] = []
        while len(placed) < len(self.parents):
            placed += [n for n, given in self.parents.items() if n not in placed and set(given) <= set(placed)]
        return placed

    def draw(self, rows: int, seed: int) -> dict[str, np.ndarray]:
        """Return codes of records."""
        random, codes = np.random.default_rng(seed), {}
        for node in self.order:
            chances = self.tables[node][tuple(codes[name] for name in self.parents[node])]
            ends = np.cumsum(np.broadcast_to(chances, (rows, chances.shape[-1])), axis=1)
            codes[node] = (random.random(rows)[:, None] * ends[:, -1:] > ends).sum(axis=1)
        return codes


def pooled_k2(codes: dict[str, np.ndarray], sizes: dict[str, int], order: list[str], most: int):
    """Return parents and the log score of K2 (Cooper and Herskovits 1992), in plain numpy."""

    def score(node: str, given: list[str]) -> float:
        joint = np.zeros(len(codes[node]), dtype=np.int64)
        for name in given:
            joint = joint * sizes[name] + codes[name]
        cells = int(np.prod([sizes[name] for name in given])) * sizes[node]
        counts = np.bincount(joint * sizes[node] + codes[node], minlength=cells).reshape(-1, sizes[node])
        states = counts.shape[1]
        return float((gammaln(states) - gammaln(counts.sum(1) + states) + gammaln(counts + 1.0).sum(1)).sum())

    found, total = {}, 0.0
    for place, node in enumerate(order):
        given: list[str] = []
        best = score(node, given)
        while len(given) < most:
            options = [(score(node, [*given, name]), name) for name in order[:place] if name not in given]
            added = None
            for value, name in options:
                if value > best + TIE * max(1.0, abs(best)):
                    best, added = value, name
            if added is None:
                break
            given.append(added)
        found[node] = given
        total += best
    return found, total


def spread(network: Published, codes: dict[str, np.ndarray]) -> dict[str, pd.DataFrame]:
    frame = pd.DataFrame({node: np.array(network.states[node])[codes[node]] for node in network.order})
    frame.insert(0, "id", np.arange(ROWS) + 1000)
    return by_columns(frame, {f"station{station}": network.order[station::3] for station in range(3)})


@pytest.mark.parametrize(("name", "most"), NETWORKS)
def test_k2_over_three_stations_is_pooled_k2(name: str, most: int) -> None:
    path = Path(FOLDER) / f"{name}.bif.gz"
    if not FOLDER or not path.exists():
        pytest.skip(f"FEDBAYES_NETWORKS names no folder with {name}.bif.gz")
    if name in LONG and not os.environ.get("FEDBAYES_NETWORKS_ALL"):
        pytest.skip(f"{name} takes minutes; FEDBAYES_NETWORKS_ALL=1 tries it")
    network = Published(path)
    codes = network.draw(ROWS, 1)
    sizes = {node: len(states) for node, states in network.states.items()}
    parents, score = pooled_k2(codes, sizes, network.order, most)
    arguments = {
        "columns": network.order,
        "id_column": "id",
        "structure": "k2",
        "domain": {node: {"categories": states} for node, states in network.states.items()},
        "max_parents": most,
        "pseudocount": 1.0,
    }
    files = spread(network, codes)
    exact = {"*": {"minimum_count": 0}}  # the score counts hidden configurations as one
    with EmbeddedFederation(files, helpers=["helper"], policies=exact) as federation:
        began = goals.spent()
        result = federation.run("vertibayes", "fit", arguments)
        computing = goals.spent() - began
    report, model = result["federation"], result["model"]
    ours = result["diagnostics"]["structure"]["score"]
    row = {"network": name, "nodes": len(sizes), "most_states": max(sizes.values()), "max_parents": most}
    row |= {"rounds": report["rounds"], "seconds": report["seconds"], "computing": computing}
    row |= {"megabytes": report["bytes"] / 1e6, "score": ours, "pooled": score}
    print("\n" + json.dumps(row))
    assert {tuple(edge) for edge in model["edges"]} == {(given, node) for node in parents for given in parents[node]}
    assert ours == pytest.approx(score, rel=1e-9)
    assert report["rounds"] <= 2 + 2 * most + ((name, most) == ("mildew", 2))  # whose last step is asked in two batches
    assert computing / SECONDS < float(os.environ.get("FEDBAYES_SLOWER", "1"))
