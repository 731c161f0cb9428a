"""What the platform can do to a job: refuse, die and start again, change what it carries; and what a round costs on stock nodes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import pytest
from methods import PEOPLE
from researcher import Network, algorithms
from vantage6.algorithm.tools.exceptions import AlgorithmError

from fedbayes.federation.errors import ArgumentError, PolicyError, StationError

pytestmark = [
    pytest.mark.network,
    pytest.mark.skipif("dp_naive_bayes" not in algorithms(), reason="these tests submit dp_naive_bayes"),
]

ALGORITHM = "dp_naive_bayes"
FIT: dict[str, Any] = {"label": "outcome", "domain": PEOPLE, "epsilon": 1.0}
VICTIM = "hospital-b"


def wait_for(condition: Callable[[], Any], seconds: float = 60.0, pause: float = 0.05) -> Any:
    """Return the first truthy value of `condition`."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(pause)
    return value


def recorded(engine: Callable[..., str], network: Network, organization: str, task: int) -> dict[str, str]:
    """Return the digests of the replies that a node has recorded for a task's job, by file."""
    volume = f"{network.container(organization)}-{network.job(task)}-tmpvol"
    command = "find /mnt/job -name 'reply-*' ! -name '*-[0-9]' -exec sha256sum {} +"
    listed = engine(
        "run", "--rm", "-v", f"{volume}:/mnt/job:ro", "fedbayes.invalid/platform:4.15.2", "sh", "-c", command
    )
    return {line.split()[1]: line.split()[0] for line in listed.splitlines()}


def running_at(engine: Callable[..., str], organization: str) -> list[str]:
    """Return the algorithm containers that a node runs."""
    return engine(
        "ps",
        "--quiet",
        "--filter",
        "label=vantage6-type=algorithm",
        "--filter",
        f"name=vantage6-fedbayes_{organization}-run",
    ).split()


def test_refusals_name_the_station_and_the_cause(network: Network) -> None:
    domain = {**PEOPLE, "name": {"categories": ["a"]}}
    with pytest.raises(PolicyError, match="name") as refusal:
        network.run(ALGORITHM, "fit", {**FIT, "features": ["age", "name"], "domain": domain})
    assert "hospital" in str(refusal.value)


def test_wrong_arguments_are_told_to_the_researcher(network: Network) -> None:
    with pytest.raises(ArgumentError, match="epsilon"):
        network.run(ALGORITHM, "fit", {**FIT, "epsilon": -1.0})


def test_algorithms_run_as_another_user_without_the_internet(network: Network, engine: Callable[..., str]) -> None:
    task = network.submit(ALGORITHM, "fit", FIT, at=network.helper)
    container = wait_for(lambda: running_at(engine, network.helper))[0]
    assert engine("inspect", "--format", "{{.Config.User}}", container) == "1000:1000"
    networks = engine(
        "inspect", "--format", "{{range $name, $_ := .NetworkSettings.Networks}}{{$name}} {{end}}", container
    ).split()
    assert [engine("network", "inspect", "--format", "{{.Internal}}", name) for name in networks] == ["true"]
    assert network.result(task)["model"]


def test_a_killed_node_gives_the_same_release_and_one_debit(
    network: Network, engine: Callable[..., str], node_control: Callable[[str, str], None]
) -> None:
    ledger = network.ledger(VICTIM)
    before = len(ledger.debits())
    task = network.submit(ALGORITHM, "fit", FIT, at=network.helper)
    wait_for(lambda: len(ledger.debits()) > before, pause=0.01)
    # The node dies; the container that has just been charged goes on and writes its reply, which nobody collects.
    node_control("kill-node", VICTIM)
    wait_for(lambda: not running_at(engine, VICTIM))
    first = recorded(engine, network, VICTIM, task)
    node_control("start-node", VICTIM)
    result = network.result(task)
    again = recorded(engine, network, VICTIM, task)
    debits = ledger.debits()[before:]
    assert result["privacy"]["differentially_private"] is True
    assert first
    assert {name: again.get(name) for name in first} == first
    assert len(debits) == 1
    others = [len(network.ledger(station).debits()) for station in network.stations if station != VICTIM]
    assert len(set(others)) == 1


def test_a_power_cut_at_the_debit_costs_one_debit(network: Network, node_control: Callable[[str, str], None]) -> None:
    ledger = network.ledger(VICTIM)
    before = len(ledger.debits())
    task = network.submit(ALGORITHM, "fit", FIT, at=network.helper)
    wait_for(lambda: len(ledger.debits()) > before, pause=0.01)
    node_control("cut-power", VICTIM)
    node_control("start-node", VICTIM)
    assert network.result(task)["model"]
    assert len(ledger.debits()) == before + 1


def test_a_node_that_is_off_is_named(network: Network, node_control: Callable[[str, str], None]) -> None:
    node_control("stop-node", VICTIM)
    network.wait_online(VICTIM, "offline")
    began = time.monotonic()
    with pytest.raises(StationError, match=VICTIM):
        network.run(ALGORITHM, "fit", FIT)
    assert time.monotonic() - began < 240  # two minutes for a node that may be starting again


def test_a_reply_that_was_changed_on_the_server_stops_the_job(network: Network, engine: Callable[..., str]) -> None:
    task = network.submit(ALGORITHM, "fit", FIT, at=network.helper)
    child = wait_for(lambda: network.subtasks(task))[0]
    central = wait_for(lambda: running_at(engine, network.helper))
    engine("pause", *central)
    try:
        wait_for(lambda: network.status(child) == "completed")
        change = (
            "import base64, sqlite3; database = sqlite3.connect('/mnt/database/vantage6.sqlite', timeout=30);"
            f"rows = database.execute('select id, result from run where task_id={child} order by id').fetchall();"
            "number, text = rows[0]; head, _, body = (text if isinstance(text, str) else text.decode()).rpartition('$');"
            "data = bytearray(base64.b64decode(body)); data[len(data) // 2] ^= 1;"
            "database.execute('update run set result=? where id=?', (head + '$' + base64.b64encode(bytes(data)).decode(), number)); database.commit()"
        )
        engine("exec", "fedbayes_server", "python", "-c", change)
    finally:
        engine("unpause", *central)
    with pytest.raises(AlgorithmError):
        network.result(task)
    assert network.status(task) in ("failed", "crashed")


def test_what_a_round_costs_is_printed(network: Network) -> None:
    fit = {**FIT, "noise": "none", "organizations": list(network.stations)}
    results = [network.run(ALGORITHM, "fit", fit) for _ in range(3)]
    seconds = [entry["seconds"] for result in results for entry in result["federation"]["per_round"]]
    print(
        f"\nround on stock nodes, three stations, encrypted: median {statistics.median(seconds):.2f} s of {len(seconds)} rounds"
    )
    assert len(seconds) >= 2 * len(results)
