"""Nothing that runs at a station imports what docker/base/trim.py leaves out of the images."""

from __future__ import annotations

import ast
from fnmatch import fnmatch
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
RESEARCHERS = ROOT / "shared/src/fedbayes/client"
DEPLOYED = [
    path
    for folder in ("shared/src", "algorithms")
    for path in (ROOT / folder).rglob("*.py")
    if RESEARCHERS not in path.parents
]


def trim() -> Any:
    spec = spec_from_file_location("trim", ROOT / "docker/base/trim.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def imported(text: str) -> set[str]:
    """Return the modules that a file imports by absolute names, at its top or inside of a function."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.update((node.module, *(f"{node.module}.{alias.name}" for alias in node.names)))
    return found


def left_out(module: str, patterns: Any) -> bool:
    """Return whether a module, or a package that it is in, is left out."""
    parts = module.split(".")
    paths = ["/".join(parts[:length]) for length in range(1, len(parts) + 1)]
    return any(fnmatch(path, pattern.rstrip("/")) for path in paths for pattern in patterns)


def test_stations_import_nothing_that_is_left_out() -> None:
    tables = trim()
    patterns = [*tables.LIBRARIES, *tables.INSTALLERS, "distutils", "readline", "curses"]
    wrong = {
        f"{path.relative_to(ROOT)}: {module}"
        for path in DEPLOYED
        for module in imported(path.read_text(encoding="utf-8"))
        if left_out(module, patterns)
    }
    assert not wrong


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("from scipy.stats import chi2", True),
        ("from scipy import stats", True),
        ("import scipy.io.arff", True),
        ("from scipy.special import chdtrc", False),
        ("import sqlalchemy.dialects.mysql", True),
        ("import setuptools", True),
    ],
)
def test_what_is_left_out_is_noticed(line: str, told: bool) -> None:
    tables = trim()
    assert any(left_out(module, [*tables.LIBRARIES, *tables.INSTALLERS]) for module in imported(line)) is told
