"""The workspace is what CONTRIBUTING.md says: every method complete, exports equal to store files, files of bearable size."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fedbayes.federation import signatures

ROOT = Path(__file__).resolve().parents[2]
ALGORITHMS = sorted(path.parent.name for path in ROOT.glob("algorithms/*/pyproject.toml"))
PARTS = (
    "Dockerfile",
    "pyproject.toml",
    "algorithm_store.json",
    "README.md",
    *(f"src/v6_{{name}}/{door}.py" for door in ("__init__", "arguments", "central", "partial", "messages", "result")),
)
TOLD_ELSEWHERE = {
    "README.md": "| [`{name}`](algorithms/{name}/README.md) |",
    "docs/status.md": "{name}",
    "docs/which-method.md": "{name}",
    "docs/architecture.md": "| `{name}.",
    "scripts/diagrams": '"{name}": (',
    "tests/network/methods.py": '"{name}"',
}
"""Where a method stands outside its own folders -> how."""
TYPES = {
    *("column", "column_list", "string", "string_list", "integer", "integer_list", "float", "float_list"),
    *("boolean", "json", "organization", "organization_list"),
}
"""Of arguments in vantage6's algorithm store."""
SOURCES = sorted(
    path
    for folder in ("shared/src", "algorithms", "studies", "docker", "scripts")
    for path in (ROOT / folder).rglob("*.py")
)
LONGEST_FILE, LONGEST_FUNCTION = 300, 40


def store(name: str) -> dict[str, Any]:
    return dict(json.loads((ROOT / f"algorithms/{name}/algorithm_store.json").read_text(encoding="utf-8")))


def test_all_methods_are_found() -> None:
    assert len(ALGORITHMS) >= 8


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_method_is_complete(name: str) -> None:
    paths = [ROOT / "algorithms" / name / part.format(name=name) for part in PARTS]
    assert not [path for path in paths if not path.is_file() and not (path.with_suffix("") / "__init__.py").is_file()]
    assert list((ROOT / "tests/algorithms" / name).glob("test_*.py"))


@pytest.mark.parametrize("place", TOLD_ELSEWHERE)
def test_what_else_tells_of_every_method(place: str) -> None:
    """Beside its own folders a method is in these places alone; of a new one this test names those that lack it."""
    text = (ROOT / place).read_text(encoding="utf-8")
    lacking = [name for name in ALGORITHMS if TOLD_ELSEWHERE[place].format(name=name) not in text]
    assert not lacking, f"{place} tells nothing of {', '.join(lacking)}; add {TOLD_ELSEWHERE[place]}"


@pytest.mark.parametrize("name", ALGORITHMS)
def test_exports_are_the_remote_functions_of_the_store_file(name: str) -> None:
    module = importlib.import_module(f"v6_{name}")
    exported = set(module.__all__)
    assert {"partial_open_channel", "disclosure_settings"} <= exported
    assert exported == {function["name"] for function in store(name)["functions"]}
    for function in exported:
        assert getattr(module, function).fedbayes_remote in ("central", "partial")


@pytest.mark.parametrize("name", ALGORITHMS)
def test_what_a_station_answers_says_what_it_reveals_and_assumes(name: str) -> None:
    module = importlib.import_module(f"v6_{name}")
    partials = [one for one in map(vars(module).get, module.__all__) if one.fedbayes_remote == "partial"]
    silent = [
        f"{one.__module__}.{one.__name__} lacks {word}"
        for one in partials
        for word in ("**Reveals**", "**Assumes**")
        if word not in (one.__doc__ or "")
    ]
    assert not silent, "\n".join(silent)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_nothing_else_in_the_package_can_be_called_from_outside(name: str) -> None:
    """The wrapper of vantage6 calls any attribute of the package: all others must be modules or private."""
    module = importlib.import_module(f"v6_{name}")
    public = {key for key in vars(module) if not key.startswith("_") and key not in module.__all__}
    assert all(inspect.ismodule(getattr(module, key)) for key in public), public


@pytest.mark.parametrize("name", ALGORITHMS)
def test_arguments_are_those_of_the_store_file(name: str) -> None:
    module = importlib.import_module(f"v6_{name}")
    for function in store(name)["functions"]:
        remote = getattr(module, function["name"])
        for argument in function["arguments"]:
            assert argument["type"] in TYPES
            assert isinstance(argument.get("default_value", ""), str)
        if remote.fedbayes_remote == "central":
            declared = remote.fedbayes_declared.declared()
            everywhere = set() if function["name"] == "preflight" else {"dictionary"}
            listed = {entry["name"] for entry in function["arguments"]}
            assert {one.name for one in declared} | everywhere == listed
            required = {one.name for one in declared if one.required}
            told = {entry["name"] for entry in function["arguments"] if not entry.get("has_default_value", False)}
            assert required == told, function["name"]


def test_store_files_and_tables_of_arguments_are_those_of_the_declarations() -> None:
    script = runpy.run_path(str(ROOT / "scripts/store"))
    for name in script["methods"]():
        for path, text in script["written"](name).items():
            assert path.read_text(encoding="utf-8") == text, f"{path.relative_to(ROOT)}: run make store"


def test_store_files_of_version_5_have_step_types_and_are_else_the_same(tmp_path: Path) -> None:
    steps = {"central": "central_compute", "federated": "federated_compute"}
    runpy.run_path(str(ROOT / "scripts/store"))["main"](["--v5", str(tmp_path)])
    assert sorted(path.stem for path in tmp_path.iterdir()) == ALGORITHMS
    for name in ALGORITHMS:
        known, found = store(name), json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))
        for before, after in zip(known.pop("functions"), found.pop("functions"), strict=True):
            assert "type" not in after
            assert after.pop("step_type") == steps[before.pop("type")]
            assert after == before
        assert found == known


@pytest.mark.parametrize("name", ALGORITHMS)
def test_conditions_rest_on_arguments_that_there_are(name: str) -> None:
    module = importlib.import_module(f"v6_{name}")
    for _, function in signatures.central_functions(module):
        told = {one["name"]: one for one in signatures.describe(function)["arguments"]}
        assert json.loads(json.dumps(told)) == told
        for one in told.values():
            assert one["description"].endswith("."), one["name"]
            for condition in one["used_when"]:
                choices = told[condition["argument"]]["choices"]
                assert not choices or set(condition.get("values", [])) <= set(choices), one["name"]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_image_is_of_the_pattern(name: str) -> None:
    lines = (ROOT / f"algorithms/{name}/Dockerfile").read_text(encoding="utf-8").splitlines()
    assert f"ENV PKG_NAME=v6_{name}" in lines
    stages = [place for place, line in enumerate(lines) if line.startswith("FROM ")]
    assert lines[stages[-1]] == "FROM ${BASE}"
    assert not any(line.startswith(("USER", "RUN")) for line in lines[stages[-1] :])  # the user is that of the base
    base = (ROOT / "docker/base/Dockerfile").read_text(encoding="utf-8")
    assert "\nUSER 1000:1000\n" in base[base.rindex("\nFROM ") :]
    assert store(name)["image"] == f"fedbayes.invalid/algorithms/{name}:0.1.0-v6-4.15.2"  # tagged as vantage6 does


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_files_and_functions_are_short(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LONGEST_FILE, f"more than {LONGEST_FILE} lines: split it by subject"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            length = (node.end_lineno or 0) - body[0].lineno + 1 if body else 0
            assert length <= LONGEST_FUNCTION, f"{node.name} has {length} lines"


def test_randomness_has_one_door() -> None:
    pattern = re.compile(
        r"\bos\.urandom\b|\bnumpy\.random\b|\bnp\.random\b|^import secrets\b|^from secrets\b|^import random\b",
        re.MULTILINE,
    )
    packages = [
        path for path in SOURCES if path.is_relative_to(ROOT / "shared") or path.is_relative_to(ROOT / "algorithms")
    ]
    users = [path.name for path in packages if pattern.search(path.read_text(encoding="utf-8"))]
    assert users == ["randomness.py"]


def test_help_lists_every_target() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", text, re.MULTILINE))
    assert targets == set(re.findall(r"^([a-z-]+):.*## ", text, re.MULTILINE))
    phony = next(line for line in text.splitlines() if line.startswith(".PHONY:"))
    assert set(phony.split()[1:]) == targets


def test_lock_pins_every_dependency_of_the_library() -> None:
    locked = {
        line.split("==")[0].lower() for line in (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    }
    text = (ROOT / "shared/pyproject.toml").read_text(encoding="utf-8")
    needed = {match.lower() for match in re.findall(r'^    "([A-Za-z0-9_-]+)[><=]', text, re.MULTILINE)}
    assert needed
    assert needed <= locked


def test_a_new_method_starts_complete(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    (tmp_path / "algorithms").mkdir()
    shutil.copy(ROOT / "requirements.lock", tmp_path)
    command = [sys.executable, str(tmp_path / "scripts/new_algorithm"), "a_new_one"]
    made = subprocess.run(command, check=True, capture_output=True, text=True)
    folder = tmp_path / "algorithms/a_new_one"
    assert "algorithms/a_new_one/Dockerfile" in made.stdout
    assert all((folder / part.format(name="a_new_one")).is_file() for part in PARTS)
    texts = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert not [path for path in texts if "@name@" in path.read_text(encoding="utf-8")]
    lint = [str(Path(sys.executable).parent / "ruff"), "check", "--no-cache", "algorithms", "tests"]
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "shared").symlink_to(ROOT / "shared")
    linted = subprocess.run(lint, check=False, capture_output=True, text=True, cwd=tmp_path)
    assert linted.returncode == 0, linted.stdout
    check = "import sys, v6_a_new_one as m, json; print(json.dumps(sorted(m.__all__)))"
    run = subprocess.run([sys.executable, "-c", check], cwd=folder / "src", check=True, capture_output=True, text=True)
    described = json.loads((folder / "algorithm_store.json").read_text(encoding="utf-8"))
    assert json.loads(run.stdout) == sorted(function["name"] for function in described["functions"])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder / "src"), os.environ.get("PYTHONPATH", "")])}
    again = [sys.executable, str(tmp_path / "scripts/store"), "a_new_one"]
    stored = subprocess.run(again, check=True, capture_output=True, text=True, env=environment)
    assert stored.stdout == "", "the skeleton is not what its declarations say"


@pytest.mark.parametrize(
    ("name", "cause"), [("Wrong-Name", "snake_case"), ("class", "snake_case"), ("here", "is there already")]
)
def test_a_wrong_name_is_refused(tmp_path: Path, name: str, cause: str) -> None:
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    (tmp_path / "algorithms/here").mkdir(parents=True)
    command = [sys.executable, str(tmp_path / "scripts/new_algorithm"), name]
    refused = subprocess.run(command, check=False, capture_output=True, text=True)
    assert refused.returncode == 1
    assert cause in refused.stderr
