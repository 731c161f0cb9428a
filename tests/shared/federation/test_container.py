"""What a container starts with: vantage6's wrapper, without what the run does not use."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import types
from pathlib import Path

import pytest

from fedbayes.container import ModuleWhenUsed
from fedbayes.federation.node import platform


def run(folder: Path, code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=folder, env=environment, timeout=60
    )


def test_modules_are_executed_when_they_are_used(tmp_path: Path) -> None:
    (tmp_path / "heavy.py").write_text("import sys\nsys.loaded = True\nvalue = 7\n")
    code = (
        "import sys; sys.path.insert(0, '.'); from fedbayes.container import ModuleWhenUsed;"
        "sys.modules['heavy'] = ModuleWhenUsed('heavy'); import heavy; before = hasattr(sys, 'loaded');"
        "print(before, heavy.value, heavy.value, hasattr(sys, 'loaded'), type(sys.modules['heavy']).__name__)"
    )
    assert run(tmp_path, code).stdout.split() == ["False", "7", "7", "True", "module"]


def test_a_name_that_the_module_lacks_is_an_attribute_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "colorsys", ModuleWhenUsed("colorsys"))
    import colorsys

    assert isinstance(colorsys, types.ModuleType)
    with pytest.raises(AttributeError):
        colorsys.nothing_of_that_name  # noqa: B018


def test_the_wrapper_runs_a_function_and_writes_its_result(tmp_path: Path) -> None:
    listed = "[name for name in WHEN_USED if type(sys.modules.get(name)).__name__ == 'module']"
    (tmp_path / "toy.py").write_text(
        f"import sys\nfrom fedbayes.container import WHEN_USED\ndef heavy(): return {listed}\n"
    )
    (tmp_path / "input").write_text(json.dumps({"method": "heavy"}))
    names = {
        "INPUT_FILE": str(tmp_path / "input"),
        "OUTPUT_FILE": str(tmp_path / "output"),
        "PKG_NAME": "toy",
        "PYTHONPATH": str(tmp_path),
    }
    ended = run(tmp_path, "from fedbayes.container import main; main()", **names)
    assert ended.returncode == 0, ended.stderr
    assert json.loads((tmp_path / "output").read_text()) == []


def test_what_stays_the_same_in_a_job_is_asked_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from vantage6.algorithm.client import AlgorithmClient

    identity = {"image": "i", "node_id": 1, "collaboration_id": 1, "organization_id": 1, "task_id": 1}
    parts = [
        base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")
        for part in ({"alg": "HS256"}, {"sub": identity})
    ]
    (tmp_path / "token").write_text(".".join([*parts, "c2ln"]))
    for name, value in {
        "TOKEN_FILE": str(tmp_path / "token"),
        "HOST": "http://x",
        "PORT": "1",
        "API_PATH": "/api",
    }.items():
        monkeypatch.setenv(name, value)
    asked: list[object] = []
    monkeypatch.setattr(
        AlgorithmClient, "request", lambda self, *given, **named: asked.append((given, named)) or {"public_key": "k"}
    )
    monkeypatch.setattr(AlgorithmClient, "check_if_blob_store_enabled", lambda self: asked.append("blob") or False)
    client = platform.algorithm_client()
    client.task.create(input_={}, organizations=[1, 2])
    first = len(asked)
    client.task.create(input_={}, organizations=[1, 2])
    assert first == 4  # the blob storage, two keys, the task
    assert len(asked) == first + 1
