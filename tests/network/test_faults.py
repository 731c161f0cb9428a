"""Faults on real nodes, each while a job of every method runs: nothing hangs, no debit is lost or doubled, the next task works.

The run writes its table to docs/faults.md. It takes longer than the other tests of the network: ``FEDBAYES_FAULTS=1 make network-test ARGS="-k faults"``.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from faults import (
    METHODS,
    VICTIM,
    Jobs,
    Killer,
    Usual,
    control,
    images_with_a_clock,
    in_the_end,
    usual_debits,
    write_row,
)
from researcher import Network, docker

pytestmark = [
    pytest.mark.network,
    pytest.mark.skipif("FEDBAYES_FAULTS" not in os.environ, reason="on demand: FEDBAYES_FAULTS=1"),
]

CUT_SECONDS = 60.0
OFF_SECONDS = 30.0
CLOCK = "+400d"


def nothing(jobs: Jobs, stack: ExitStack) -> None:
    jobs.submit()


def at_once(jobs: Jobs, stack: ExitStack) -> None:
    jobs.submit(*METHODS, *METHODS)


def killed_in_each_round(jobs: Jobs, stack: ExitStack) -> None:
    with Killer(jobs.network) as killer:
        for job in jobs.submit():
            killer.seen.setdefault(job.task, set())
        jobs.collect()
    for job in jobs.all:
        job.kills = f", killed in {len(killer.killed.get(job.task, ()))} of {len(killer.seen[job.task])} rounds"


def nodes_restarted(jobs: Jobs, *names: str) -> None:
    jobs.submit()
    jobs.wait_for_round()
    for name in names:
        control("kill-node", name)
    time.sleep(OFF_SECONDS)
    for name in names:
        control("start-node", name)
    for name in names:
        jobs.network.wait_online(name)


def node_restarted(jobs: Jobs, stack: ExitStack) -> None:
    nodes_restarted(jobs, VICTIM)


def central_restarted(jobs: Jobs, stack: ExitStack) -> None:
    nodes_restarted(jobs, jobs.network.helper, "hospital-a")


def server_restarted(jobs: Jobs, stack: ExitStack) -> None:
    jobs.submit()
    jobs.wait_for_round()
    control("restart-server")
    wait_for_server(jobs.network)


def cable_cut(jobs: Jobs, stack: ExitStack) -> None:
    jobs.submit()
    jobs.wait_for_round()
    with in_the_end("plug-in", VICTIM):
        control("cut-cable", VICTIM)
        time.sleep(CUT_SECONDS)


def disk_full(jobs: Jobs, stack: ExitStack) -> None:
    """The jobs' temporary volumes at the victim are there already, with room for nothing."""
    tasks = jobs.network.client.request("task", params={"per_page": 1, "sort": "-id"})["data"]
    first = int(tasks[0]["job_id"]) + 1
    for number in range(first, first + len(METHODS)):
        name = f"{jobs.network.container(VICTIM)}-{number}-tmpvol"
        options = [part for text in ("type=tmpfs", "device=tmpfs", "o=size=4k") for part in ("--opt", text)]
        docker("volume", "create", *options, name)
    jobs.submit()


def ledger_read_only(jobs: Jobs, stack: ExitStack) -> None:
    folder = Path(jobs.network.made["ledgers"][VICTIM])
    kept = {path: path.stat().st_mode for path in (folder, *folder.iterdir())}
    stack.callback(lambda: [path.chmod(mode) for path, mode in kept.items() if path.exists()])
    for path in kept:
        path.chmod(0o555 if path.is_dir() else 0o444)
    jobs.submit()
    jobs.collect()


def clock_moved(jobs: Jobs, stack: ExitStack) -> None:
    jobs.suffix = "-clock"
    images_with_a_clock(jobs.network, jobs.suffix)
    clock = Path(jobs.network.made["ledgers"][VICTIM]) / "clock"
    clock.write_text(CLOCK, encoding="utf-8")
    stack.callback(clock.unlink)
    jobs.submit()
    jobs.collect()


COMPLETED, MAY_END = ("completed",), ("completed", "error")
FAULTS: dict[str, tuple[Callable[[Jobs, ExitStack], None], tuple[str, ...]]] = {
    "none": (nothing, COMPLETED),
    "station's container killed in each round": (killed_in_each_round, COMPLETED),
    f"node killed, started again {OFF_SECONDS:g} s later": (node_restarted, MAY_END),
    "server restarted": (server_restarted, MAY_END),
    f"network cut for {CUT_SECONDS:g} s": (cable_cut, MAY_END),
    "ledger read-only": (ledger_read_only, MAY_END),
    "temporary folder full": (disk_full, ("error",)),
    f"clock moved by {CLOCK}, and back afterwards": (clock_moved, COMPLETED),
    f"nodes of central killed, started again {OFF_SECONDS:g} s later": (central_restarted, MAY_END),
    "the same jobs again, two of each at once": (at_once, COMPLETED),
}


def wait_for_server(network: Network) -> None:
    deadline = time.monotonic() + 120.0
    while time.monotonic() < deadline:
        try:
            if not network.offline():
                return
        except Exception:
            pass
        time.sleep(0.5)
    pytest.fail("the server or a node is not back in time")


@pytest.fixture(scope="module")
def usual(network: Network, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Usual]:
    """What undisturbed jobs debit."""
    found = usual_debits(network, tmp_path_factory.mktemp("usual"))
    assert all(any(own.values()) for own in found.values())
    return found


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault(fault: str, network: Network, usual: dict[str, Usual]) -> None:
    apply, allowed = FAULTS[fault]
    jobs = Jobs(network)
    with ExitStack() as stack:
        apply(jobs, stack)
        jobs.collect()
    wait_for_server(network)
    wrong = jobs.wrong_debits(usual)
    after = Jobs(network)
    after.submit("dp_naive_bayes")
    after.collect()
    works = after.all[0].status == "completed"
    write_row(fault, list(FAULTS), jobs.all, "; ".join(wrong)[:300] or "right", "works" if works else "FAILS")
    assert not wrong
    assert works, after.all[0].error
    assert not after.wrong_debits(usual)
    for job in jobs.all:
        assert job.status in allowed, f"{job.method}: {job.status} {job.error}"
