"""Modules, and what they hold, that pages name by dots are where the pages say."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md"), *ROOT.glob("algorithms/*/README.md")]
)
DOTTED = re.compile(r"(?<![\w./-])((?:fedbayes|v6_[a-z_]+)(?:\.[A-Za-z_]\w*)+)")
GROUPS = {"fedbayes.models", "fedbayes.views"}
"""Groups of entry points, which are no modules."""
SPENT = re.compile(r"([a-z_][a-z_0-9.]*) [0-9]+%")
"""A module of docs/profiles.md, of which `fedbayes.` is left out."""


def exists(name: str) -> bool:
    """Return whether a dotted name is a module, or something in one."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        for attribute in parts[length:]:
            found = getattr(found, attribute, None)
        return found is not None
    return False


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_names_by_dots_exist(page: Path) -> None:
    named = set(DOTTED.findall(page.read_text(encoding="utf-8"))) - GROUPS
    assert not [name for name in sorted(named) if not exists(name)]


def test_modules_that_spend_time_exist() -> None:
    named = set(SPENT.findall((ROOT / "docs" / "profiles.md").read_text(encoding="utf-8")))
    assert named
    assert not [name for name in sorted(named) if not exists(name) and not exists(f"fedbayes.{name}")]


def test_control_a_module_that_has_moved_does_not_exist() -> None:
    assert not exists("fedbayes.bayes.column_codes")
    assert exists("fedbayes.bayes.naive_bayes.NaiveBayes.from_dict")
