"""Thesis tables 3.2 and 3.3: AUC on held-out real records and the published AIC, by the pooled computation that the federation equals."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fedbayes.bayes.counts.tables import PooledTables
from fedbayes.federation.vertical.coding import resolve
from v6_vertibayes.arguments import Fit
from v6_vertibayes.guards import observed
from v6_vertibayes.model import Variable, learn
from v6_vertibayes.result import criteria
from v6_vertibayes.validation import assess

FOLDS = 10
ARGUMENTS: dict[str, Any] = {
    "bins": "published",
    "label": "class",
    "score": "k2",
    "max_parents": 3,
    "order": None,
    "required_edges": None,
    "forbidden_edges": None,
    "missing": "em_on_counts",
    "synthetic_rows": 10_000,
    "restarts": 1,
    "pseudocount": 0.5,
    "minimum_count": 0,
    "smallest_probability": 0.0,
    "epsilon": None,
    "validation": "none",
    "folds": FOLDS,
    "public_records": None,
    "equivalent_sample_size": 10.0,
}


class Published:
    """A published experiment: its table, structure and bins."""

    def __init__(self, frame: pd.DataFrame, network: dict[str, Any]) -> None:
        self.columns = list(frame.columns)
        place = {node["name"]: node["column"] for node in network["nodes"]}
        self.edges = [[place[parent], place[child]] for parent, child in network["edges"]]
        self.variables, self.codes = [], {}
        for name in self.columns:
            states, self.codes[name] = resolve(name, frame[name], None, "published", True)
            labels = tuple(str(label) for label in states.labels if label is not None)
            self.variables.append(Variable(name, labels, states.has_missing, states.cuts))
        self.sizes = {variable.name: len(variable.all_states()) for variable in self.variables}
        self.rows = len(frame)

    def learned(self, chosen: np.ndarray | slice) -> Any:
        options = Fit.read("fit", {**ARGUMENTS, "columns": self.columns, "structure": self.edges})
        codes = {name: code[chosen] for name, code in self.codes.items()}
        return learn(options, self.variables, PooledTables(codes, self.sizes))

    def auc(self, folds: int) -> float:
        order = np.random.default_rng(0).permutation(self.rows)
        plain = [np.where(self.codes[v.name] < len(v.states), self.codes[v.name], -1) for v in self.variables]
        records = np.column_stack(plain)
        areas = []
        for fold in range(folds):
            held = order[np.arange(self.rows) % FOLDS == fold]
            network = self.learned(np.setdiff1d(order, held)).network
            areas.append(assess(network, records[held], "class")["auc"])
        return float(np.mean(areas))


def experiment(name: str, missing: int, paper_data: Any, paper_folder: Any) -> Published:
    frame = paper_data(name if missing == 0 else f"{name}_missing{missing:02d}")
    return Published(frame, json.loads((paper_folder / "networks" / f"{name.replace('10k', '')}.json").read_text()))


@pytest.mark.parametrize(
    ("name", "missing", "folds", "central"),
    [
        ("iris", 0, 10, 0.99),
        ("iris", 10, 10, 0.90),
        ("asia10k", 0, 3, 1.00),
        ("asia10k", 10, 3, 0.69),
        ("diabetes", 0, 10, 0.80),
        ("alarm10k", 0, 2, 0.91),
    ],
)
def test_areas_reach_the_published_central_column(name, missing, folds, central, paper_data, paper_folder) -> None:
    found = experiment(name, missing, paper_data, paper_folder).auc(folds)
    assert found >= central - 0.01


@pytest.mark.parametrize(("name", "published"), [("iris", -1036.0), ("asia10k", -22555.0)])
def test_published_criterion_of_complete_data(name, published, paper_data, paper_folder) -> None:
    study = experiment(name, 0, paper_data, paper_folder)
    found = study.learned(slice(None))
    told = criteria(found.network, observed(found.structure.counts, found.network), study.rows)
    assert told["aic_published"] == pytest.approx(published, rel=0.01)
