"""YAML files of aliases: a few lines that would be billions of values, or one inside itself, are refused at once; honest aliases are read."""

from __future__ import annotations

import re

import pytest

from fedbayes.client.exits import UsageProblem
from fedbayes.client.inputs.dictionaries import read_dictionary
from fedbayes.client.node.file import read

NINE = ", ".join(["*{0}"] * 9)
LAUGHS = "title: &t0 [x]\n" + "".join(f"k{step}: &t{step} [{NINE.format(f't{step - 1}')}]\n" for step in range(1, 15))
MERGED = "k0: &t0 {x: 1}\n" + "".join(
    f"k{step}: &t{step} {{<<: [{NINE.format(f't{step - 1}')}]}}\n" for step in range(1, 15)
)
CYCLE = "columns: &all\n  x: *all\n"
HONEST = "columns:\n  x: {type: category, categories: &yes_no [u, v]}\n  y: {type: category, categories: *yes_no}\n"


@pytest.mark.parametrize("reader", [read_dictionary, read])
@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (LAUGHS, "its aliases make it too large"),
        (MERGED, "its aliases make it too large"),
        (CYCLE, "inside what it stands for"),
    ],
)
def test_aliases_of_aliases_are_refused_at_once(tmp_path, reader, text, fault):
    path = tmp_path / "study.yaml"
    path.write_text(text)
    with pytest.raises(UsageProblem, match=r"is not valid YAML \(line [0-9]+") as refusal:
        reader(path)
    assert fault in str(refusal.value) or not re.search("dictionary", str(refusal.value))


def test_honest_aliases_are_read(tmp_path):
    path = tmp_path / "study.yaml"
    path.write_text(HONEST)
    columns = read_dictionary(path)["columns"]
    assert columns["x"] == columns["y"] == {"type": "category", "categories": ["u", "v"]}
    assert [item.value for item in read(path).entries["columns"].entries["y"].entries["categories"].items] == ["u", "v"]
