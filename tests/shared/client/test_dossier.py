"""`fedbayes dossier` and results of which little is known: older ones, and those of methods that are not installed."""

import json
import re
from html import unescape
from pathlib import Path

import jsonschema
import pytest

from fedbayes.client.dossier.build import dossier
from fedbayes.client.dossier.page import render

ROOT = Path(__file__).resolve().parents[3]
SCHEMA = jsonschema.Draft202012Validator(json.loads((ROOT / "docs/dossier.schema.json").read_text(encoding="utf-8")))
PRIVATE = {
    "differentially_private": True,
    "epsilon": 0.5,
    "delta": 1e-6,
    "unit": "identifier",
    "neighbors": "replace_one",
}
OLD = {
    "model": None,
    "privacy": {"differentially_private": False, "reason": "exact", "reveals": {"central": "sums", "helper": ""}},
    "federation": {"per_round": [{"round": 1, "function": "partial_x", "organizations": [1, 2], "bytes": 3}]},
    "provenance": {"algorithm": "elsewhere", "function": "fit", "arguments": {"empty": "", "none": None, "list": []}},
}


@pytest.mark.parametrize(
    "result", [{}, {"model": {}}, {"privacy": PRIVATE}, {"privacy": None}, OLD], ids=lambda result: str(list(result))
)
def test_a_result_of_which_little_is_known_has_a_whole_dossier(result):
    told = dossier(result)
    assert next(SCHEMA.iter_errors(told), None) is None
    assert "not told" in json.dumps(told)
    assert told["limits"][0]["limits"][0]["value"] == "the result tells no limits"
    assert render(told, "an old result").startswith("<!doctype html>")


def test_erased_values_are_the_weaker_promise_and_the_dossier_says_so():
    erased = {**PRIVATE, "neighbors": "zero_out", "unit": "record", "epsilon": 1.0}
    told = dossier({"privacy": erased})["differential_privacy"]
    assert told["statement"].endswith("for erasing the values of one record.")
    assert "erased in one of them" in told["relation"]
    assert "two such steps apart" in told["relation"]
    assert "at most 2.718, apart from" in told["meaning"]
    assert "Between two contents of one record the factor is at most 7.389" in told["meaning"]
    assert "not whether it is in the tables, which is not protected" in told["meaning"]
    assert "Between two contents" not in dossier({"privacy": PRIVATE})["differential_privacy"]["meaning"]


def test_what_a_role_learns_is_not_made_up():
    told = {entry["role"]: entry for entry in dossier(OLD)["recipients"]}
    assert told["central"]["received"] == "sums"
    assert told["stations"]["stated_by"] == "nobody; see the rounds"
    assert not told["helper"]["took_part"]


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        ({"age": {"type": "integer", "bounds": [18, 95], "unit": "years"}}, "age integer 18 to 95 years"),
        ({f"c{n}": {"bounds": [0, n + 1]} for n in range(400)}, "... (cut; see the result)"),
        ([], '"columns": []'),
    ],
    ids=["a study", "longer than is kept", "malformed"],
)
def test_a_dictionary_is_a_table_where_the_dossier_has_all_of_it(columns, shown):
    arguments = {"label": "y", "dictionary": {"columns": columns}}
    told = dossier({"provenance": {"algorithm": "elsewhere", "function": "fit", "arguments": arguments}})
    page = render(told, "a study").partition("Warnings of the result")[0]
    assert shown in re.sub(r"(<[^>]*>|\s)+", " ", unescape(page))


def test_the_command_writes_both_forms_or_none(command, tmp_path):
    (tmp_path / "r.json").write_text(json.dumps({**OLD, "warnings": ["a <small> one"]}), encoding="utf-8")
    code, out, _ = command("dossier", "r.json", "--out", "d.html", "--out", "d.json", "--purpose", "a study")
    assert code == 0
    assert "dossier: d.html" in out
    assert json.loads((tmp_path / "d.json").read_text(encoding="utf-8"))["data"]["purpose"] == "a study"
    assert "a &lt;small&gt; one" in (tmp_path / "d.html").read_text(encoding="utf-8")
    code, out, _ = command("dossier", "r.json")
    assert json.loads(out)["format"] == "fedbayes/dossier/1"
    assert command("dossier", "r.json", "--out", "x.html", "--out", "x.txt")[0] == 2
    assert not (tmp_path / "x.html").exists()
