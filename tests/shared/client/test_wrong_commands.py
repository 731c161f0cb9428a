"""Wrong commands of about 100 kinds: each is answered in one line with the remedy, without a traceback, exit 2, and nothing is written."""

import json

import pytest

PARTY = ("--party", "a=a.csv", "--party", "b=b.csv", "--party", "c=c.csv")
FIT = ("run", "dp_naive_bayes", "fit", *PARTY)
TOY = ("run", "client_toy", "fit", *PARTY)
OUT = ("--out", "r.json")
SERVER = ("run", "client_toy", "fit", "--server", "http://localhost:1", "--collaboration", "1", "--image", "i")

# words of the command, what the line must hold
WRONG = [
    # which command
    (["rnu"], "No such command 'rnu'"),
    (["run", "client_toy", "fit", "--prty", "a=a.csv"], "--prty"),
    (["--versoin"], "--versoin"),
    (["node", "pers"], "No such command"),
    (["show"], "Missing argument"),
    (["predict", "m.json"], "Missing argument"),
    (["ledger"], "Missing argument"),
    (["dossier"], "Missing argument"),
    (["dossier", "none.json"], "none.json"),
    (["dossier", "m.json", "--out", "r.txt"], "must end in one of: .html, .json"),
    (["dossier", "m.json", "--out", "none/r.html"], "does not exist; make it first"),
    (["dossier", "m.json", "--sector", "Farming"], "--sector must be one of: Technology, Healthcare"),
    (["dossier", "m.json", "--purpose", " "], "--purpose is empty"),
    (["attach"], "Missing argument"),
    (["show", "m.json", "m.json"], "unexpected extra argument"),
    # run: what and where
    (["run", *PARTY, *OUT], "`fedbayes algorithms` lists them"),
    (["run", "client_toy", *PARTY, *OUT], "name a function of client_toy"),
    (["check", *PARTY], "`fedbayes algorithms` lists them"),
    (["run", "client_toy", "fit", *OUT], "give either --party"),
    ([*TOY, "--arg", "column=x"], "--out is needed"),
    (["run", "client_toi", "fit", *PARTY, *OUT], "`fedbayes algorithms` lists those"),
    (["run", "client_toy", "fti", *PARTY, *OUT], "it has: "),
    (["run", "client_toy", "partial_sum", *PARTY, *OUT], "it has: "),
    (["run", "../client_toy", "fit", *PARTY, *OUT], "not installed"),
    (["check", "client_toy", "fti", *PARTY], "it has: "),
    # parties
    (["run", "client_toy", "fit", "--party", "a.csv", *OUT], "NAME=FILE"),
    (["run", "client_toy", "fit", "--party", "=a.csv", *OUT], "NAME=FILE"),
    (["run", "client_toy", "fit", "--party", "a=none.csv", *OUT], "'a' does not exist"),
    (["run", "client_toy", "fit", "--party", "a=folder", *OUT], "name the file in it"),
    (["run", "client_toy", "fit", "--party", "a=empty.csv", *OUT], "is empty"),
    (["run", "client_toy", "fit", "--party", "a=semicolons.csv", *OUT], "save it with commas"),
    (["run", "client_toy", "fit", "--party", "a=tabs.csv", *OUT], "save it with commas"),
    (["run", "client_toy", "fit", "--party", "a=latin.csv", *OUT], "UTF-8"),
    (["run", "client_toy", "fit", "--party", "a=twice.csv", *OUT], "two columns named 'x'"),
    (["run", "client_toy", "fit", "--party", "a=text.txt", *OUT], "must be one of: .csv"),
    (["run", "client_toy", "fit", *PARTY, "--party", "a=b.csv", *OUT], "given twice"),
    (["run", "client_toy", "fit", *PARTY, "--party", "a:ledger=none", *OUT], "does not exist"),
    ([*TOY, "--helper", "a", *OUT], "distinct names"),
    ([*TOY, "--aggregator", "nobody", *OUT], "aggregator must be one of"),
    ([*TOY, "--latency", "-1", *OUT], "--latency"),
    ([*TOY, "--latency", "soon", *OUT], "--latency"),
    ([*TOY, "--timeout", "0", *OUT], "--timeout"),
    # limits
    ([*TOY, "--policy", "minimum_rows", *OUT], "NAME:LIMIT=VALUE"),
    ([*TOY, "--policy", "minimum_rows=few", *OUT], "'minimum_rows'"),
    ([*TOY, "--policy", "minimum_row=3", *OUT], "known are: minimum_rows"),
    ([*TOY, "--policy", "nobody:minimum_rows=3", *OUT], "nobody"),
    ([*TOY, "--policy", "allow_non_private=perhaps", *OUT], "'allow_non_private'"),
    ([*TOY, "--policy", "maximum_epsilon=-1", *OUT], "'maximum_epsilon'"),
    # files that are written
    ([*TOY, "--arg", "column=x", "--out", "folder"], "is a folder"),
    ([*TOY, "--arg", "column=x", "--out", "none/r.json"], "does not exist"),
    ([*TOY, "--arg", "column=x", "--out", "m.json"], "--force"),
    ([*TOY, "--arg", "column=x", *OUT, "--report", "none/r.html"], "--report"),
    ([*TOY, "--arg", "column=x", *OUT, "--report", "r.json"], "different files"),
    ([*TOY, "--arg", "column=x", *OUT, "--report", "folder"], "is a folder"),
    # arguments as text
    ([*TOY, "--arg", "column", *OUT], "NAME=VALUE"),
    ([*TOY, "--arg", "=x", *OUT], "NAME=VALUE"),
    ([*TOY, "--arg", "column=x", "--arg", "column=y", *OUT], "given twice"),
    ([*TOY, "--arg", 'organizations=["a",', *OUT], "not valid JSON"),
    ([*TOY, "--arg", "column={x: 1}", *OUT], "double quotes"),
    ([*TOY, "--args", "none.json", *OUT], "none.json"),
    ([*TOY, "--args", "list.json", *OUT], "JSON object"),
    ([*TOY, "--args", "broken.json", *OUT], "line 1"),
    ([*TOY, "--args", "folder", *OUT], "cannot be read"),
    ([*TOY, *OUT], "needs the argument 'column'"),
    ([*TOY, "--arg", "column=x", "--arg", "colunm=x", *OUT], "it takes: column, organizations"),
    ([*TOY, "--arg", "column=x", "--arg", "organizations=a", *OUT], "organizations must be a list"),
    ([*TOY, "--arg", "column=x", "--arg", 'organizations=["a", "z"]', *OUT], "it has: 1 (a)"),
    # models
    (["run", "client_toy", "echo", *PARTY, "--model", "none.json", *OUT], "none.json"),
    (["run", "client_toy", "echo", *PARTY, "--model", "broken.json", *OUT], "not valid JSON"),
    (["run", "client_toy", "echo", *PARTY, "--model", "list.json", *OUT], "no result"),
    (["run", "client_toy", "echo", *PARTY, "--model", "empty.json", *OUT], "holds no model"),
    (["run", "client_toy", "echo", *PARTY, "--model", "m.json", "--arg", "model=1", *OUT], "twice"),
    # --again
    (["run", "--again", "none.json", *OUT], "none.json"),
    (["run", "--again", "m.json", *OUT], "does not tell what it came from"),
    (["run", "client_toy", "fit", "--again", "m.json", *OUT], "leave them out"),
    # places that do not fit
    ([*TOY, "--image", "i", *OUT], "--image belongs to a run on a server"),
    ([*TOY, "--collaboration", "1", *OUT], "--collaboration belongs to a run on a server"),
    ([*TOY, "--key", "a.csv", *OUT], "--key belongs to a run on a server"),
    ([*SERVER, *PARTY, *OUT], "--party belongs to an embedded run, and this one runs on a server"),
    ([*SERVER, "--helper", "h", *OUT], "--helper belongs to an embedded run"),
    ([*SERVER, "--policy", "minimum_rows=3", *OUT], "--policy belongs to an embedded run"),
    (["run", "client_toy", "fit", "--server", "http://s", *OUT], "--collaboration ID"),
    (["run", "client_toy", "fit", "--server", "http://s", "--collaboration", "one", *OUT], "--collaboration"),
    (["run", "client_toy", "fit", "--server", "http://s", "--collaboration", "1", *OUT], "--image"),
    ([*SERVER, *OUT], "--username"),
    ([*SERVER, "--username", "u", *OUT], "VANTAGE6_PASSWORD"),
    ([*SERVER, "--username", "u", "--key", "none.pem", *OUT], "none.pem"),
    (["jobs"], "--server is needed"),
    (["jobs", "--server", "http://s"], "--username"),
    (["attach", "7", *OUT], "--server is needed"),
    (["attach", "seven", "--server", "http://s", *OUT], "'task'"),
    (["attach", "0", "--server", "http://s", *OUT], "'task'"),
    (["attach", "7", "--server", "http://s"], "--out is needed"),
    (["attach", "7", "--server", "http://s", "--out", "m.json"], "--force"),
    # algorithms, show, predict, ledger, node, demo
    (["algorithms", "nothing"], "installed are: "),
    (["show", "none.json"], "none.json"),
    (["show", "list.json"], "no result"),
    (["show", "malformed.json"], "'privacy' is malformed"),
    (["show", "a.csv"], "not valid JSON"),
    (["show", "m.json", "--export", "n.bif"], "no Bayesian network"),
    (["show", "m.json", "--report", "none/r.html"], "does not exist"),
    (["predict", "empty.json", "a.csv"], "no model that predicts"),
    (["predict", "m.json", "none.csv"], "does not exist"),
    (["predict", "m.json", "text.txt"], "must be one of"),
    (["predict", "m.json", "a.csv", "--label", "x"], "--label is for"),
    (["predict", "m.json", "a.csv", "--times", "1"], "--times is for Cox models"),
    (["predict", "cox.json", "a.csv", "--times", "soon"], "--times must be numbers"),
    (["predict", "cox.json", "a.csv", "--times", "-1"], "--times must be numbers"),
    (["predict", "cox.json", "words.csv"], "the column 'x' of a Cox model must hold numbers"),
    (["predict", "cox.json", "other.csv"], "lacks the column 'x'"),
    (["predict", "net.json", "a.csv"], "--label is needed"),
    (["predict", "net.json", "a.csv", "--target", "x"], "--target is now called --label"),
    (["predict", "net.json", "a.csv", "--label", "z"], "it has: x, y"),
    (["predict", "cox.json", "a.csv", "--id-column", "nobody"], "no column 'nobody'"),
    (["predict", "cox.json", "a.csv", "--out", "none/p.csv"], "does not exist"),
    (["ledger", "none"], "no ledger"),
    (["ledger", "folder", "--days", "-1"], "--days"),
    (["node", "peers", "none"], "none"),
    (["node", "check"], "Missing argument"),
    (["node", "check", "none"], "cannot be read"),
    (["node", "check", "empty.csv"], "holds no configuration"),
    (["demo", "--repeats", "0"], "--repeats"),
    (["demo", "--epsilon", "little"], "--epsilon"),
    # what a method says of its arguments
    ([*FIT, "--arg", "label=y", *OUT], "epsilon"),
    ([*FIT, "--arg", "label=y", "--arg", "epsilon=1", "--arg", "features=x", *OUT], 'such as ["age", "sex"]'),
    ([*FIT, "--arg", "label=y", "--arg", "epsilon=one", *OUT], "epsilon must be a number"),
    ([*FIT, "--arg", "label=y", "--arg", "epsilon=1", "--arg", "noise=loud", *OUT], "noise must be one of"),
    ([*FIT, "--arg", "label=y", "--arg", "epsilon=1", *OUT], "domain"),
]


@pytest.fixture
def place(command, tmp_path, monkeypatch):
    """A folder with tables and results, sound and broken."""
    monkeypatch.delenv("VANTAGE6_USERNAME", raising=False)
    monkeypatch.delenv("VANTAGE6_PASSWORD", raising=False)
    rows = "\n".join(f"{k},{'pq'[k % 2]}" for k in range(20))
    files = {
        **{f"{name}.csv": f"x,y\n{rows}\n" for name in "abc"},
        "empty.csv": "",
        "semicolons.csv": "x;y\n1;2\n",
        "tabs.csv": "x\ty\n1\t2\n",
        "twice.csv": "x,x\n1,2\n",
        "text.txt": "x\n1\n",
        "words.csv": "x\none\n",
        "other.csv": "z\n1\n",
        "list.json": "[1]",
        "broken.json": "{",
        "empty.json": '{"model": null}',
        "malformed.json": '{"model": null, "privacy": 3}',
        "cox.json": json.dumps({"model": {"coefficients": [{"feature": "x", "coefficient": 0.1}]}}),
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
    (tmp_path / "folder").mkdir()
    return command


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


def test_there_are_about_a_hundred_kinds():
    assert len(WRONG) >= 100
