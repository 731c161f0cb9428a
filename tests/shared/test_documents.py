"""The documents: links lead somewhere, every limit and every method is in the README."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from fedbayes.federation.node.policy import PREFIX, Policy

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("algorithms/*/README.md")])
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    targets = [target for target in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in target]
    missing = [target for target in targets if not target.startswith("mailto:") and not (page.parent / target).exists()]
    assert missing == []


LIMITS = ROOT / "docs" / "node-administrators.md"


def test_the_page_for_administrators_names_every_limit():
    text = LIMITS.read_text(encoding="utf-8")
    missing = [
        field.name
        for field in fields(Policy)
        if PREFIX + field.name.upper() not in text and f"_{field.name.upper()}`" not in text
    ]
    assert missing == []


def test_readme_and_status_link_every_method():
    methods = [folder.name for folder in (ROOT / "algorithms").iterdir() if (folder / "pyproject.toml").exists()]
    for page in ("README.md", "docs/status.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        assert [name for name in methods if f"algorithms/{name}/README.md" not in text] == []


def test_defaults_on_that_page_are_those_of_the_policy():
    rows = dict(re.findall(r"^\| `FEDBAYES_(\w+)` \| (\S+) \|", LIMITS.read_text(encoding="utf-8"), re.M))
    defaults = {field.name.upper(): field.default for field in fields(Policy)}
    told = {name: text for name, text in rows.items() if text in ("true", "false") or text.isdigit()}
    assert told
    assert all(str(defaults[name]).lower() == text for name, text in told.items())
