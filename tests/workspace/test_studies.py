"""Studies stand beside the methods: what runs at a station neither imports them nor is in one image with them."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STUDIES = sorted(path.parent.name for path in ROOT.glob("studies/*/__init__.py"))
DEPLOYED = [path for folder in ("shared/src", "algorithms") for path in (ROOT / folder).rglob("*.py")]


def imported(path: Path) -> set[str]:
    """Return the packages that a file imports by an absolute name."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            found.add(node.module.partition(".")[0])
    return found


def test_a_study_is_of_a_method() -> None:
    assert len(STUDIES) >= 5
    assert all((ROOT / "algorithms" / name / "pyproject.toml").is_file() for name in STUDIES)


def test_nothing_deployed_imports_a_study() -> None:
    found = [path.relative_to(ROOT).as_posix() for path in DEPLOYED if imported(path) & {*STUDIES, "studies"}]
    assert found == []


def test_a_study_imports_its_own_method_only() -> None:
    for name in STUDIES:
        for path in (ROOT / "studies" / name).glob("*.py"):
            methods = {package for package in imported(path) if package.startswith("v6_")}
            assert methods <= {f"v6_{name}"}, path.relative_to(ROOT)


def test_images_are_built_without_studies() -> None:
    """An algorithm's image is built from its own folder, the base image from `shared`, the lock and what trims it."""
    kept = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert kept[0] == "*"
    assert {line for line in kept if line.startswith("!")} == {"!requirements.lock", "!shared", "!docker/base/trim.py"}
    found = [path.name for path in DEPLOYED if path.name in ("simulation.py", "baselines.py", "thesis.py")]
    assert found == []
