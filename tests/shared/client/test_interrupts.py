"""Ctrl-C at random moments: exit 130, one line, no file, folder, key or process left behind."""

import os
import random
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from processes import wait_for_control

from fedbayes.client import interrupts

LINE = "error: interrupted; the task was stopped"
SEED = int(os.environ.get("FEDBAYES_TEST_SEED", "7"))


class Started:
    """The command in a process of its own, with a temporary folder and an output folder of its own."""

    def __init__(self, tmp_path: Path, algorithm_folder: Path, arguments: list[str]) -> None:
        self.scratch, self.work = tmp_path / "scratch", tmp_path / "work"
        self.scratch.mkdir()
        self.work.mkdir()
        self.mark = f"mark-{os.getpid()}-{random.getrandbits(64)}"
        path = os.pathsep.join([str(algorithm_folder), *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = {**os.environ, "PYTHONPATH": path, "TMPDIR": str(self.scratch), "LANG": self.mark}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "fedbayes.client", *arguments],
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=self.work,
            start_new_session=True,
        )

    def left_processes(self) -> list[int]:
        """Return the processes that were started with the environment of this command."""
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            try:
                if self.mark.encode() in path.read_bytes():
                    found.append(int(path.parent.name))
            except OSError:
                continue
        return found

    def left_files(self) -> list[Path]:
        """Return every file and folder that is left."""
        return [*self.scratch.rglob("*"), *self.work.rglob("*")]


def run_arguments(parties: list[str], function: str) -> list[str]:
    given = ["--arg", "column=x"] if function == "fit" else []
    return ["run", "client_toy", function, *parties, *given, "--out", "r.json", "--report", "r.html"]


def assert_gone(started: Started, kinds: list[signal.Signals], moment: float) -> None:
    wait_for_control(started.process)
    time.sleep(moment)
    for kind in kinds:
        if started.process.poll() is None:
            started.process.send_signal(kind)
            time.sleep(random.random() * 0.05)
    _, err = started.process.communicate(timeout=60)
    assert "Traceback" not in err
    assert "Exception" not in err
    if started.process.returncode == 0:  # it had finished: everything is there, wholly
        assert sorted(path.name for path in started.left_files()) == ["r.html", "r.json"]
    else:
        assert started.process.returncode == 130
        assert err.strip().splitlines()[-1] == LINE
        assert err.count("interrupted") == 1
        assert started.left_files() == []
    assert started.left_processes() == []


def moments(many: int, longest: float) -> list[float]:
    draw = random.Random(SEED)
    return [0.0, *(draw.uniform(0.0, longest) for _ in range(many - 1))]


@pytest.mark.few(2)
@pytest.mark.parametrize("moment", moments(4, 2.5))
def test_interrupted_at_any_moment(tmp_path, algorithm_folder, parties, moment):
    started = Started(tmp_path, algorithm_folder, run_arguments(parties, "slow"))
    assert_gone(started, [signal.SIGINT], moment)
    assert started.process.returncode == 130


def test_a_second_interruption_changes_nothing(tmp_path, algorithm_folder, parties):
    started = Started(tmp_path, algorithm_folder, run_arguments(parties, "slow"))
    assert_gone(started, [signal.SIGINT, signal.SIGINT, signal.SIGTERM], 1.5)
    assert started.process.returncode == 130


@pytest.mark.audit
@pytest.mark.parametrize("function", ["slow", "fit"])
@pytest.mark.parametrize("number", range(12))
def test_interrupted_at_many_moments(tmp_path, algorithm_folder, parties, number, function):
    draw = random.Random(f"{SEED}-{number}-{function}")
    kinds = draw.choice([[signal.SIGINT], [signal.SIGINT] * 2, [signal.SIGTERM], [signal.SIGHUP, signal.SIGINT]])
    started = Started(tmp_path, algorithm_folder, run_arguments(parties, function))
    assert_gone(started, kinds, draw.uniform(0.0, 4.0))


@pytest.mark.audit
@pytest.mark.parametrize("number", range(6))
def test_an_interrupted_demo_leaves_nothing(tmp_path, algorithm_folder, number):
    started = Started(tmp_path, algorithm_folder, ["demo", "--out", "new/out", "--repeats", "90"])
    assert_gone(started, [signal.SIGINT], random.Random(number).uniform(0.0, 8.0))
    assert started.process.returncode == 130


def test_who_is_killed_outright_leaves_no_process(tmp_path, algorithm_folder, parties):
    started = Started(tmp_path, algorithm_folder, run_arguments(parties, "slow"))
    wait_for_control(started.process)
    time.sleep(2.0)
    started.process.kill()
    started.process.communicate(timeout=30)
    deadline = time.monotonic() + 10
    while started.left_processes() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert started.left_processes() == []


def test_attach_that_still_connects_says_that_the_task_goes_on(tmp_path, algorithm_folder, monkeypatch):
    monkeypatch.setenv("VANTAGE6_PASSWORD", "p")
    with socket.create_server(("127.0.0.1", 0)) as silent:  # it takes the call and never answers
        silent.settimeout(60)
        door = ["--server", f"http://127.0.0.1:{silent.getsockname()[1]}/api", "--username", "u"]
        started = Started(tmp_path, algorithm_folder, ["attach", "7", "--out", "r.json", *door])
        call, _ = silent.accept()
        with call:
            started.process.send_signal(signal.SIGINT)
            _, err = started.process.communicate(timeout=60)
    assert started.process.returncode == 130
    assert err.strip() == "error: interrupted; the task goes on at the server"
    assert started.left_files() == []


def test_what_was_there_stays(tmp_path, algorithm_folder, parties):
    started = Started(tmp_path, algorithm_folder, run_arguments(parties, "slow"))
    (started.work / "r.json").write_text("old")
    wait_for_control(started.process)
    time.sleep(1.0)
    started.process.send_signal(signal.SIGINT)
    started.process.communicate(timeout=30)
    assert [path.read_text() for path in started.left_files()] == ["old"]


@pytest.mark.audit
def test_exit_codes_and_output_pass_through(tmp_path, algorithm_folder, parties):
    started = Started(tmp_path, algorithm_folder, run_arguments(parties, "fit"))
    out, _ = started.process.communicate(timeout=120)
    assert (started.process.returncode, out) == (0, "")
    assert sorted(path.name for path in started.left_files()) == ["r.html", "r.json"]
    for arguments, code in ((["algorithms"], 0), (["nothing"], 2)):
        told = subprocess.run([sys.executable, "-m", "fedbayes.client", *arguments], capture_output=True, check=False)
        assert told.returncode == code


def test_what_is_to_be_killed_does_not_run_on(monkeypatch, tmp_path):
    child = subprocess.Popen(["sleep", "60"])
    states = []

    def see_and_kill(number):
        states.append(Path(f"/proc/{number}/stat").read_text().split(") ")[1][0])
        child.kill()

    monkeypatch.setattr(interrupts, "_kill_all", see_and_kill)
    assert interrupts._stopped(child.pid, tmp_path) is None
    child.wait(timeout=60)
    assert states == ["T"]
