"""The command ``fedbayes`` at a real server: submit, list, leave, reconnect, read the result."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from methods import PEOPLE
from processes import wait_for_control
from researcher import OVER, Network, algorithms

pytestmark = [
    pytest.mark.network,
    pytest.mark.skipif("dp_naive_bayes" not in algorithms(), reason="these tests submit dp_naive_bayes"),
]

ALGORITHM = "dp_naive_bayes"
FIT: dict[str, Any] = {"label": "outcome", "domain": PEOPLE, "epsilon": 1.0}
LONGEST = 300.0
Command = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def command(network: Network, tmp_path: Path) -> Command:
    """``command(words...)``: start fedbayes in an empty folder as the network's researcher."""
    made = network.made
    door = ["--server", f"{made['url']}:{made['port']}{made['api_path']}", "--username", made["user"]]
    environment = {**os.environ, "VANTAGE6_PASSWORD": made["password"]}

    def start(*words: str, key: bool = True) -> subprocess.Popen[str]:
        own = ["--key", made["private_key"]] if key and made["encrypted"] else []
        line = [sys.executable, "-m", "fedbayes", *words, *door, *own]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(line, cwd=tmp_path, env=environment, text=True, **pipes)

    return start


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Return exit code, output and errors."""
    out, err = process.communicate(timeout=LONGEST)
    return process.returncode, out, err


def listed(command: Command, *words: str) -> dict[int, dict[str, Any]]:
    """Return what ``fedbayes jobs`` lists, by id."""
    code, out, err = ended(command("jobs", "--json", *words, key=False))
    assert code == 0, err
    return {entry["id"]: entry for entry in json.loads(out)}


def test_a_running_task_is_listed_and_reconnected_to(network: Network, command: Command, tmp_path: Path) -> None:
    task = network.submit(ALGORITHM, "fit", FIT, at=network.helper)
    entry = listed(command)[task]
    assert (entry["name"], entry["status"] in OVER) == (f"{ALGORITHM} fit", False)
    code, _, err = ended(command("attach", str(task), "--out", "r.json"))
    assert code == 0, err
    assert json.loads((tmp_path / "r.json").read_text(encoding="utf-8")) == network.result(task)
    assert task not in listed(command)
    everything = listed(command, "--all")
    assert everything[task]["status"] == "completed"
    assert not set(everything) & set(network.subtasks(task))


def test_a_round_is_not_attached_to(network: Network, command: Command) -> None:
    task = network.submit(ALGORITHM, "fit", FIT, at=network.helper)
    network.result(task)
    code, _, err = ended(command("attach", str(network.subtasks(task)[0]), "--out", "r.json"))
    assert code == 2
    assert f"attach to {task}" in err


def test_whoever_attached_may_leave(network: Network, command: Command, tmp_path: Path) -> None:
    task = network.submit(ALGORITHM, "fit", FIT, at=network.helper)
    process = command("attach", str(task), "--out", "r.json")
    wait_for_control(process)
    process.send_signal(signal.SIGINT)
    code, _, err = ended(process)
    assert code != 0
    assert "the task goes on at the server" in err
    assert network.result(task)["model"]
    assert not (tmp_path / "r.json").exists()


def test_a_task_that_failed_tells_why_again(network: Network, command: Command, tmp_path: Path) -> None:
    task = network.submit(ALGORITHM, "fit", {**FIT, "epsilon": -1.0}, at=network.helper)
    code, _, err = ended(command("attach", str(task), "--out", "r.json"))
    assert code != 0
    assert "epsilon" in err
    assert not (tmp_path / "r.json").exists()


def test_a_task_that_is_not_there(command: Command) -> None:
    code, _, err = ended(command("attach", "999999", "--out", "r.json"))
    assert code == 2
    assert "no task 999999" in err
