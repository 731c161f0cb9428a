"""docs/protocols.md and its pictures are those of the rounds that run now."""

from __future__ import annotations

import runpy
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from one_process import OneProcess

from fedbayes.client.pages import sequence

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = runpy.run_path(str(ROOT / "scripts/diagrams"))
METHODS = sorted(path.parent.name for path in ROOT.glob("algorithms/*/pyproject.toml"))
NODES = {"a": {"role": "station"}, "b": {"role": "station"}, "c": {"role": "helper"}}


def entry(function: str, asked: list[int], **reply: str) -> dict[str, Any]:
    return {"function": function, "organizations": asked, "reply": reply}


def test_every_method_has_its_picture() -> None:
    assert sorted(SCRIPT["TASKS"]) == METHODS, "TASKS in scripts/diagrams has one small task a method"
    assert sorted(path.stem for path in (ROOT / "docs/protocols").iterdir()) == METHODS, "run scripts/diagrams"


@pytest.mark.parametrize("method", SCRIPT["TASKS"])
def test_picture_and_table_are_those_of_the_rounds_that_run(method: str) -> None:
    federation = SCRIPT["ran"](method, OneProcess)
    picture = (ROOT / f"docs/protocols/{method}.svg").read_text(encoding="utf-8")
    assert sequence.svg(federation, SCRIPT["TASKS"][method][0]) == picture, "run scripts/diagrams"
    page = SCRIPT["PAGE"].read_text(encoding="utf-8")
    assert SCRIPT["section"](method, federation).strip() in page, "run scripts/diagrams"
    ET.fromstring(picture)
    for one in federation["per_round"]:
        assert one["function"] in picture
        assert all(f"{name}: " in picture for name in one["reply"])


def test_rounds_of_one_function_stand_once_with_all_that_left() -> None:
    told = sequence.steps(
        {
            "nodes": NODES,
            "organizations": ["a", "b", "c"],
            "per_round": [
                entry("open", [1, 2, 3], card="Public"),
                entry("step", [1, 2], sum="Masked"),
                entry("step", [1, 2], sum="Exact", more="Share and Public"),
                entry("deal", [3]),
            ],
        }
    )
    assert [(step.function, step.roles, step.repeated) for step in told] == [
        ("open", ("stations", "helper"), False),
        ("step", ("stations",), True),
        ("deal", ("helper",), False),
    ]
    assert told[1].fields == (("more", "Public and Share"), ("sum", "Exact and Masked"))


def test_text_of_a_result_cannot_break_the_picture() -> None:
    told = {"nodes": NODES, "organizations": ["a"], "per_round": [entry("<b>&", [1], **{"<i>": "Public"})]}
    picture = sequence.svg(told, '"</svg>')
    assert ET.fromstring(picture).tag.endswith("svg")
    assert "<b>" not in picture
    assert "<i>" not in picture
    assert ET.fromstring(sequence.svg({}, "nothing")) is not None
