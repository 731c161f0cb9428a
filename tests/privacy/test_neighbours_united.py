"""Networks of united records (`split="hybrid"`) under an epsilon: random federations whose stations share columns, records, or both, and their neighbours."""

from __future__ import annotations

from typing import Any
from unittest import mock

import neighbours_kit as kit
import numpy as np
import pytest
from harness.cases import Case

from fedbayes.dp import laws

DOMAIN: dict[str, dict[str, list[Any]]] = {
    "x": {"categories": ["a", "b", "c"]},
    "y": {"categories": ["0", "1"]},
    "z": {"bounds": [0, 10]},
    "w": {"categories": ["u", "v"]},
}
LIMITS = {"minimum_rows": 1, "minimum_organizations": 1, "minimum_count": 0}


def people(draw: np.random.Generator) -> dict[str, list[str]]:
    """Return what everybody has in each column."""
    rows = int(draw.integers(20, 60))
    drawn = {name: draw.choice(DOMAIN[name]["categories"], rows).tolist() for name in ("x", "y", "w")}
    return drawn | {"z": [f"{value:.2f}" for value in draw.normal(5, 2, rows)]}


def stations(draw: np.random.Generator, names: list[str]) -> list[dict[str, Any]]:
    """Return two to four stations with some of the columns of some of the people each, now and then the same ones."""
    whole, found = people(draw), []
    rows = len(whole["x"])
    for number in range(int(draw.integers(2, 5))):
        columns = [name for name in names if draw.random() < 0.6] or [str(draw.choice(names))]
        there = draw.permutation(np.flatnonzero(draw.random(rows) < draw.choice([0.5, 0.9, 1.0])))
        table = {"id": [f"p{row}" for row in there]}
        table |= {name: [None if draw.random() < 0.1 else whole[name][row] for row in there] for name in columns}
        found.append({"name": f"s{number}", "columns": table, "policy": LIMITS})
    return [*found, {"name": "helper", "columns": None, "policy": {}}]


def united(seed: int) -> Case:
    """Return a network of united records, at least two of whose stations have other columns."""
    draw = np.random.default_rng(seed)
    names = list(DOMAIN)[: int(draw.integers(2, 5))]
    while True:
        parties = stations(draw, names)
        held = [set(one["columns"]) - {"id"} for one in parties[:-1]]
        if set().union(*held) == set(names) and len(set(map(frozenset, held))) > 1:
            break
    asked: dict[str, Any] = {"columns": names, "split": "hybrid", "id_column": "id"}
    asked |= {"bins": {"z": 3}} if "z" in names else {}
    asked |= {"domain": {name: DOMAIN[name] for name in names}, "label": names[0]}
    asked |= {"missing": str(draw.choice(["drop", "category", "em_on_counts"]))}
    asked |= {"neighbors": str(draw.choice(["replace_one", "zero_out"]))}
    structure = str(draw.choice(["k2", "private", "naive", "edges"]))
    asked |= {"structure": [names[:2]] if structure == "edges" else structure}
    asked |= {"delta": 1e-6} if structure == "private" or draw.random() < 0.4 else {}
    asked |= {"pseudocount": 0.0} if structure == "private" else {}
    return Case("vertibayes", "fit", parties, "s0", [["fit", asked]])


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", range(60))
def test_neighbours_of_united_records_lose_what_is_stated(seed: int) -> None:
    lost = kit.audit(united(seed), 1.0, np.random.default_rng(seed))
    assert lost is not None
    assert lost <= 1.0 + kit.ROUNDING


@pytest.mark.audit
def test_control_noise_of_half_the_width_is_found() -> None:
    def half(law: laws.Law, change: laws.Change, parts: float, honest: int) -> float:
        return 0.5 * parts * change.l1 / law.epsilon

    case = next(one for one in map(united, range(20)) if "delta" not in one.arguments)
    with mock.patch.object(laws.DiscreteLaplace, "width", half), pytest.raises(kit.Leak, match="budget is lost"):
        max(kit.audit(case, 1.0, np.random.default_rng(seed)) or 0.0 for seed in range(20))
