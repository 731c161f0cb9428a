"""Every method that has an image runs on stock nodes, and gives what the embedded federation gives."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from typing import Any

import pytest
from methods import CASES, Case
from researcher import OVER, POLL_SECONDS, Network, algorithms

pytestmark = pytest.mark.network

RUNS = [
    pytest.param(name, number, case, id=f"{name}-{case.function}-{number}")
    for name in algorithms()
    for number, case in enumerate(CASES.get(name, ()))
]

AT_ONCE = 3
"""Tasks that run at the same time: the rounds of one fill the waits of another."""


@pytest.fixture(scope="module")
def tasks(network: Network) -> dict[tuple[str, str, int], int]:
    """Run every case, the one that may take longest first, a few side by side; return the task of each."""
    waiting = sorted(
        ((case, (name, case.function, number)) for name, cases in CASES.items() for number, case in enumerate(cases)),
        key=lambda entry: entry[0].seconds,
    )
    deadline = time.monotonic() + max(case.seconds for case, _ in waiting) + 60.0 * len(waiting)
    submitted: dict[tuple[str, str, int], int] = {}
    running: set[int] = set()
    while (waiting or running) and time.monotonic() < deadline:
        while waiting and len(running) < AT_ONCE:
            case, key = waiting.pop()
            submitted[key] = network.submit(key[0], case.function, case.arguments, at=case.at, label=case.label)
            running.add(submitted[key])
        running = {task for task in running if network.status(task) not in OVER}
        time.sleep(2 * POLL_SECONDS)
    return submitted


def at_path(result: Any, path: str) -> Any:
    """Return a part of a result, without the seal: nodes with a folder put it on their models, and no two are alike."""
    for part in path.split("."):
        result = result[int(part)] if isinstance(result, list) else result[part]
    return {key: value for key, value in result.items() if key != "seal"} if isinstance(result, dict) else result


def assert_same(ours: Any, theirs: Any, tolerance: float, place: str) -> None:
    """Compare JSON values; numbers up to a relative tolerance."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        assert set(ours) == set(theirs), place
        for key, value in ours.items():
            assert_same(value, theirs[key], tolerance, f"{place}.{key}")
    elif isinstance(ours, list) and isinstance(theirs, list):
        assert len(ours) == len(theirs), place
        for position, (first, second) in enumerate(zip(ours, theirs, strict=True)):
            assert_same(first, second, tolerance, f"{place}[{position}]")
    elif isinstance(ours, float) and isinstance(theirs, int | float):
        assert math.isclose(ours, theirs, rel_tol=tolerance, abs_tol=tolerance), place
    else:
        assert ours == theirs, place


@pytest.mark.parametrize("algorithm", algorithms())
def test_every_method_has_a_case(algorithm: str) -> None:
    assert CASES.get(algorithm), f"add {algorithm} to tests/network/methods.py"


@pytest.mark.parametrize(("algorithm", "number", "case"), RUNS)
def test_method_on_real_nodes(
    algorithm: str,
    number: int,
    case: Case,
    network: Network,
    tasks: dict[tuple[str, str, int], int],
    embedded: Callable[..., Any],
) -> None:
    result = network.result(tasks[algorithm, case.function, number], 1.0)
    assert set(case.keys) <= set(result)
    json.dumps(result, allow_nan=False)
    assert set(result["federation"]["organizations"]) >= set(network.stations)
    if case.private is not None:
        assert result["privacy"]["differentially_private"] is case.private
        assert case.private or result["privacy"]["reason"]
    theirs = embedded(algorithm, case.function, case.arguments, label=case.label, at=case.at)
    assert abs(theirs["federation"]["rounds"] - result["federation"]["rounds"]) <= case.refining
    for path in case.same:
        assert_same(at_path(result, path), at_path(theirs, path), case.tolerance, path)
    seconds = [entry["seconds"] for entry in result["federation"]["per_round"]]
    print(
        f"\n{algorithm} {case.function}: {len(seconds)} rounds on real nodes, {sum(seconds):.1f} s, per round {seconds}"
    )


@pytest.mark.parametrize("algorithm", algorithms())
def test_limits_of_a_node_can_be_read(algorithm: str, network: Network) -> None:
    told = network.run(algorithm, "disclosure_settings", {}, at=network.stations[0])
    assert told["settings"]["minimum_rows"] == int(network.made["policy"]["FEDBAYES_MINIMUM_ROWS"])
    assert told["variables"]["denied_columns"] == "FEDBAYES_DENIED_COLUMNS"
    assert told["fingerprint"]
    assert told["peers_are_known"]
    assert told["models_are_checked"]
