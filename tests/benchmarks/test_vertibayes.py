"""VertiBayes end to end: the shows, as ratios to generous limits, and the published figures beside ours."""

import json
import time
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from party_kit import by_columns

from fedbayes.bayes.counts.tables import PooledTables, TableCache
from fedbayes.bayes.search import scores
from fedbayes.bayes.search.structure import SearchSpace, k2
from fedbayes.federation.embedded import EmbeddedFederation

pytestmark = pytest.mark.benchmark
PUBLISHED_ASIA_SECONDS = {0: 143.0, 10: 427.0}


def fit(frame: pd.DataFrame, parties: int, **arguments: object) -> tuple[dict, float]:
    columns, ends = list(frame.columns), [number * len(frame.columns) // parties for number in range(parties + 1)]
    split = {f"station{number}": columns[start:end] for number, (start, end) in enumerate(pairwise(ends))}
    tables = by_columns(frame.assign(id=np.arange(len(frame)) + 1000), split)
    with EmbeddedFederation(tables, helpers=["helper"]) as federation:
        began = time.perf_counter()
        result = federation.run("vertibayes", "fit", {"columns": columns, "id_column": "id", **arguments})
        return result, time.perf_counter() - began


def test_alarm_structure_equals_pooled_in_eight_rounds(paper_data) -> None:
    frame = paper_data("alarm10k").astype(str)
    result, seconds = fit(frame, 3, structure="k2", max_parents=3)
    codes = {name: np.unique(frame[name], return_inverse=True)[1].astype(np.int64) for name in frame}
    cards = {name: int(code.max()) + 1 for name, code in codes.items()}
    space = SearchSpace(tuple(frame.columns), 3)
    pooled = k2(TableCache(PooledTables(codes, cards), space.columns), space, space.columns, scores.k2)
    print(f"\nAlarm, K2, 3 parties: {seconds:.1f} s, {result['federation']['bytes'] / 1e6:.0f} MB")
    assert [tuple(edge) for edge in result["model"]["edges"]] == pooled.edges
    assert result["federation"]["rounds"] <= 8
    assert seconds / 30.0 < 4.0


def test_all_pairs_of_alarm_take_one_round(paper_data) -> None:
    result, seconds = fit(paper_data("alarm10k").astype(str), 3, structure="k2", max_parents=1)
    print(f"\nAlarm, 666 pairs, 3 parties: {seconds:.1f} s")
    assert result["diagnostics"]["structure"]["tables"] == 37 * 36 // 2
    assert result["federation"]["rounds"] == 4


def test_asia_over_two_to_eight_parties(paper_data, paper_folder) -> None:
    network = json.loads((paper_folder / "networks" / "asia.json").read_text())
    columns = {node["name"]: node["column"] for node in network["nodes"]}
    edges = [[columns[parent], columns[child]] for parent, child in network["edges"]]
    taken = {}
    for missing in (0, 10):
        frame = paper_data("asia10k" if missing == 0 else f"asia10k_missing{missing}")
        for parties in (2, 4, 8):
            result, seconds = fit(frame, parties, structure=edges, label="class")
            taken[missing, parties] = seconds
            print(
                f"\nAsia, {missing} % missing, {parties} parties: {seconds:.1f} s "
                f"({PUBLISHED_ASIA_SECONDS[missing]:.0f} s published)"
            )
            assert sorted(result["model"]["edges"]) == sorted(edges)
    assert all(PUBLISHED_ASIA_SECONDS[missing] / seconds > 5.0 for (missing, _), seconds in taken.items())
    assert taken[0, 8] / taken[0, 2] < 6.0
