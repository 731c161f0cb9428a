"""What a fit tells of its expectation maximisation, against the pooled records."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import networks
from .cases import Difference, same

MOST_STEPS = {"em": 200, "em_on_counts": 10_000}
"""After which a run ends without having settled, as the code says."""
MOST_CELLS = 5_000
"""Of a joint distribution that is enumerated."""
SURE = 7.0
"""Deviations by which the likelihood of drawn rows may be off."""


def check_em(arguments: dict[str, Any], result: Any, codes: Any, sizes: dict[str, int], minimum: float) -> None:
    """Hold the report of a run: there is one where values are missing, and it says as much of them as the records do."""
    told, missing = result["diagnostics"]["em"], arguments.get("missing", "em_on_counts")
    gaps = any(bool((column < 0).any()) for column in codes.values())
    if missing in ("drop", "category") or not gaps:
        return same("a report of maximisation", told, None)
    if told["converged"] is not True and told["iterations"] < MOST_STEPS[missing]:
        raise Difference(f"not settled, and no more than {told['iterations']} steps")
    if missing == "em_on_counts":
        return same("what was maximised", told["on"], "family tables")
    starts, rows = arguments["restarts"], arguments["synthetic_rows"]
    same("starts and rows", (told["starts"], told["synthetic_rows"]), (starts, rows))
    if not 0 <= told["best_start"] < starts or told["iterations"] < 1:
        raise Difference(f"start {told['best_start']} of {starts}, {told['iterations']} steps")
    same("a likelihood is told", "log_likelihood" in told, minimum == 0)
    if minimum == 0 and not arguments.get("smallest_probability"):
        _likelihood(told["log_likelihood"], result["model"], codes, sizes, rows)


def _likelihood(found: float, model: Any, codes: Any, sizes: dict[str, int], rows: int) -> None:
    """Hold the likelihood of rows that were drawn from the first network, a gap a state, against what is expected of them."""
    wide = {name: size + bool((codes[name] < 0).any()) for name, size in sizes.items()}
    if math.prod(wide.values()) > MOST_CELLS:
        return
    names = list(model["nodes"])
    seen = {name: np.where(codes[name] < 0, sizes[name], codes[name]) for name in names}
    first = {"nodes": {name: {"states": list(range(wide[name]))} for name in names}, "tables": {}}
    for name in names:
        parents = model["tables"][name]["parents"]
        cells = networks.table(networks.counts(seen, wide, [*parents, name]), 0.0)
        first["tables"][name] = {"parents": parents, "probabilities": cells.tolist()}
    chance = networks.joint(first).ravel()
    places = np.array(np.unravel_index(np.arange(chance.size), [wide[name] for name in names]))
    known = {name: np.where(place < sizes[name], place, -1) for name, place in zip(names, places, strict=True)}
    drawn = chance > 0
    logs = np.log(np.maximum(networks.evidence(model, {name: place[drawn] for name, place in known.items()}), 1e-300))
    mean = float(chance[drawn] @ logs)
    spread = math.sqrt(max(float(chance[drawn] @ (logs - mean) ** 2), 0.0) * rows)
    parameters = sum(np.size(table["probabilities"]) for table in model["tables"].values())
    if not rows * mean - SURE * spread - 1.0 <= found <= rows * mean + SURE * spread + 3.0 * parameters + 1.0:
        raise Difference(f"log-likelihood {found} of drawn rows where {rows * mean} +- {spread} is expected")
