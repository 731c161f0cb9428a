"""Wrong commands of about 430 kinds: each is answered in one line with the remedy, without a traceback, exit 2, and nothing is written."""

import json

import pytest
import wrong_arguments
import wrong_commands

from fedbayes.client import hints
from fedbayes.client.running import catalogue

WRONG = [*wrong_commands.WRONG, *wrong_arguments.WRONG]
OF_WHOLE_RECORDS = {
    "model": {"split": "horizontal", "time": "t", "event": "e", "coefficients": [{"feature": "x", "coefficient": 0.1}]}
}
NAMED = """columns:
  id: {type: identifier}
  name: {type: identifier}
  x: {type: number, bounds: [0, 20]}
  y: {type: category, categories: [p, q]}
"""


@pytest.fixture
def place(command, tmp_path, monkeypatch):
    """A folder with tables and results, sound and broken."""
    monkeypatch.delenv("VANTAGE6_USERNAME", raising=False)
    monkeypatch.delenv("VANTAGE6_PASSWORD", raising=False)
    rows = "\n".join(f"{k},{'pq'[k % 2]}" for k in range(20))
    files = {
        **{f"{name}.csv": f"x,y\n{rows}\n" for name in "abc"},
        "empty.csv": "",
        "heading.csv": "x,y\n",
        "bare.json": '{"model": 3}',
        "bars.csv": "x|y\n1|2\n",
        "twice.csv": "x,x\n1,2\n",
        "text.txt": "x\n1\n",
        "bad.parquet": "nothing",
        "bad.xlsx": "nothing",
        "ragged.csv": "x,y\n1,2\n1,2,3\n",
        "quote.csv": 'x,y\n"1,2\n3,4\n',
        "d.yaml": "columns:\n  y: {type: category, categories: [p, q]}\n  x: {type: number, bounds: [0, 20]}\n",
        "type.yaml": "columns:\n  y: {type: categry}\n",
        "tab.yaml": "columns:\n\ty: {type: category}\n",
        "turned.yaml": "columns:\n  x: {type: number, bounds: [1, 0]}\n",
        "list.yaml": "- a\n",
        "half.yaml": "columns:\n  x: {type: number, bounds: [0, 1]}\nsubset: x >\n",
        "same.yaml": "columns:\n  y: {type: category, categories: [p, p]}\n",
        "colour.yaml": "columns:\n  x: {type: number, bounds: [0, 1], colour: red}\n",
        "deep.json": "[" * 3000,
        "base.sqlite": "",
        "gap.yaml": "missing: -99\ncolumns:\n  x: {type: number, bounds: [0, 1]}\n",
        "twice.yaml": "columns:\n  x: {type: number, bounds: [0, 1]}\n  x: {type: number, bounds: [0, 2]}\n",
        "open.yaml": "columns:\n  x: {type: number, bounds: [0, 1\n",
        "word.yaml": "columns:\n  x: {type: number, bounds: 0-1}\n",
        "text.yaml": "columns:\n  y: {type: category, categories: p}\n",
        "compared.yaml": "columns:\n  y: {type: category, categories: [p, q], reference: r}\n",
        "recoded.yaml": "columns:\n  y: {type: category, categories: [p, q], recode: {u: r}}\n",
        "cut.yaml": "columns:\n  z: {type: number, bounds: [0, 1], derive: x /}\n",
        "code.yaml": "columns:\n  z: {type: number, bounds: [0, 1], derive: __import__('os')}\n",
        "columns.yaml": "colums:\n  x: {type: number, bounds: [0, 1]}\n",
        "names.yaml": NAMED,
        "words.csv": "x\none\n",
        "other.csv": "z\n1\n",
        "list.json": "[1]",
        "broken.json": "{",
        "empty.json": '{"model": null}',
        "malformed.json": '{"model": null, "privacy": 3}',
        "cox.json": json.dumps({"model": {"coefficients": [{"feature": "x", "coefficient": 0.1}]}}),
        "rows.json": json.dumps(OF_WHOLE_RECORDS),
        "net.json": json.dumps(
            {
                "model": {
                    "nodes": {"x": {"states": ["0", "1"]}, "y": {"states": ["p", "q"]}},
                    "edges": [],
                    "tables": {name: {"parents": [], "probabilities": [0.5, 0.5]} for name in "xy"},
                }
            }
        ),
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "latin.csv").write_bytes(b"x,y\n1,caf\xe9\n")
    (tmp_path / "wide.csv").write_text("x,y\n1,p\n", encoding="utf-16")
    (tmp_path / "folder").mkdir()
    return command


@pytest.mark.few(219)
@pytest.mark.parametrize(
    ("words", "part"), WRONG, ids=lambda value: " ".join(value)[-70:] if isinstance(value, list) else ""
)
def test_a_wrong_command_is_answered_in_one_line_with_the_remedy(place, tmp_path, bayes_model, words, part):
    (tmp_path / "m.json").write_text(json.dumps({"model": bayes_model}))
    before = {path.name for path in tmp_path.iterdir()}
    code, out, err = place(*words)
    lines = [line for line in err.strip().splitlines() if not line.startswith("round ")]
    assert code == 2, err
    assert out == ""
    assert len(lines) == 1, err
    assert lines[0].startswith("error: ")
    assert part in lines[0]
    assert "Traceback" not in err
    assert {path.name for path in tmp_path.iterdir()} == before


def test_there_are_about_430_kinds():
    assert len(WRONG) >= 425


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["run", "client_toy", "fit", "--partyy", "a=a.csv"], "--party"),
        (["check", "client_toy", "fit", "--plicy", "minimum_rows=1"], "--policy"),
        (["node", "check", "node.yaml", "--epsilon", "1"], "--epsilon"),
        (["node", "check", "node.yaml", "other.yaml"], "unexpected extra argument"),
        (["domain", "check", "d.yaml", "--label", "y"], "--label"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_what_is_misspelt_or_of_another_command_is_not_called_an_argument_of_the_function(place, words, part):
    code, _, err = place(*words)
    assert code == 2
    assert part in err
    assert "--arg" not in err.replace("Possible options: --arg", "")


def test_an_argument_that_is_written_somewhat_like_an_option_is_one(place):
    assert "given as --arg time=VALUE" in place("run", "client_toy", "fit", "--time", "t")[2]


def test_every_function_of_a_method_is_answered_where_it_is_given_as_a_command():
    ours = [algorithm for algorithm in catalogue.installed() if "toy" not in algorithm.name]
    functions = {function.name for algorithm in ours for function in algorithm.functions}
    assert functions - set(hints.FUNCTIONS) <= {"predict", "preflight"}, "hints.FUNCTIONS lacks one"
