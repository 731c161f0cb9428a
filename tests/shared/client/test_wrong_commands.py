"""Wrong commands of about 190 kinds: each is answered in one line with the remedy, without a traceback, exit 2, and nothing is written."""

import json

import pytest

PARTY = ("--party", "a=a.csv", "--party", "b=b.csv", "--party", "c=c.csv")
FIT = ("run", "dp_naive_bayes", "fit", *PARTY)
TOY = ("run", "client_toy", "fit", *PARTY)
OUT = ("--out", "r.json")
PLAN = ("plan", "dp_naive_bayes", "fit", "--arg", "label=y", "--arg", "epsilon=1")
STUDY = (*PLAN, "--dictionary", "d.yaml")
COUNT = ("plan", "scalar_product", "count", "--arg")
NETWORK = ("plan", "vertibayes", "fit", "--arg", "id_column=id", "--arg")
COX = ("plan", "verticox", "fit", "--arg", "time=t", "--arg", "event=e")
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
    (["plan", "dp-naive-bayes", "fit"], "did you mean 'dp_naive_bayes'?"),
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
    (["run", "client_toy", "fit", "--party", "a=bars.csv", *OUT], "save it with commas"),
    (["run", "client_toy", "fit", "--party", "a=a.csv", "--policy", "csv_separator=;", *OUT], "csv_separator"),
    (["run", "client_toy", "fit", "--party", "a=latin.csv", *OUT], "UTF-8"),
    (["run", "client_toy", "fit", "--party", "a=twice.csv", *OUT], "two columns named 'x'"),
    (["run", "client_toy", "fit", "--party", "a=text.txt", *OUT], "must end in one of: .csv"),
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
    ([*TOY, "--arg", "column=x", *OUT, "--report", "r.pdf"], "must end in one of: .html"),
    ([*TOY, "--arg", "column=x", "--out", "r.csv"], "`fedbayes show FILE.json --export r.csv`"),
    (["show", "m.json", "--export", "r.png"], "must end in one of: .csv, .bif, .xdsl"),
    (["show", "m.json", "--report", "r.pdf"], "must end in one of: .html"),
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
    (["predict", "m.json", "text.txt"], "must end in one of"),
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
    # dictionaries
    (["domain", "draft"], "Missing argument"),
    (["domain", "chekc", "d.yaml", "a.csv"], "Did you mean 'check'"),
    (["domain", "draft", "none.csv"], "none.csv; check the path"),
    (["domain", "draft", "a.csv", "--out", "d.txt"], "must end in one of: .yaml"),
    (["domain", "draft", "a.csv", "--out", "none/d.yaml"], "make it first"),
    (["domain", "draft", "bad.parquet"], "check its format"),
    (["domain", "draft", "bad.xlsx"], "check its format"),
    (["domain", "draft", "ragged.csv"], "line 3"),
    (["domain", "draft", "quote.csv"], "check its format"),
    (["domain", "draft", "text.txt"], "must end in one of: .csv"),
    (["domain", "check", "d.yaml"], "Missing argument"),
    (["domain", "check", "none.yaml", "a.csv"], "check the path"),
    (["domain", "check", "a.csv", "d.yaml"], "must end in one of: .yaml"),
    (["domain", "check", "type.yaml", "a.csv"], "type must be one of category"),
    (["domain", "check", "tab.yaml", "a.csv"], "line 2"),
    (["domain", "check", "turned.yaml", "a.csv"], "the lower first"),
    (["domain", "check", "list.yaml", "a.csv"], "give an object with columns"),
    (["domain", "check", "half.yaml", "a.csv"], "subset: the formula cannot be read"),
    (["domain", "check", "colour.yaml", "a.csv"], "'colour' is unknown; it has type"),
    # plans
    (["plan"], "`fedbayes algorithms` lists them"),
    (["plan", "dp_naive_bayes"], "name a function of dp_naive_bayes"),
    (["plan", "dp_naive_bayes", "fti"], "it has: describe"),
    (["plan", "dp_naive_bayes", "partial_statistics"], "it has: describe"),
    (["plan", "dp_naive_bayes", "fit"], "needs the argument 'label'"),
    (["plan", "dp_naive_bayes", "disclosure_settings"], "plan a fit"),
    (["plan", "dp_naive_bayes", "fit", "--stations", "0"], "--stations"),
    (["plan", "dp_naive_bayes", "fit", "--rows", "-5"], "--rows"),
    (["plan", "dp_naive_bayes", "fit", *PARTY], "--party"),
    ([*PLAN, "--policy", "maxepsilon=1"], "'maxepsilon' is no limit; known are: minimum_rows"),
    ([*PLAN, "--policy", "maximum_epsilon=much"], "'maximum_epsilon' cannot be read"),
    (["plan", "vertibayes", "sample", "--model", "net.json"], "asks no station"),
    # the study's columns, before anybody is asked
    ([*STUDY, "--arg", 'features=["zz"]'], "'zz' is not in the domain"),
    ([*STUDY, "--arg", 'features=["y"]'], "must not hold the label"),
    ([*STUDY, "--arg", 'features=["x", "x"]'], "must not name anything twice"),
    ([*STUDY, "--arg", "features=[]"], "at least 1 name"),
    ([*STUDY, "--arg", "delta=1"], "less than 1"),
    ([*STUDY, "--arg", "bins=0"], "bins must be a whole number"),
    ([*STUDY, "--arg", "fetaures=x"], "did you mean 'features'"),
    (["plan", "dp_naive_bayes", "fit", "--arg", "label=y", "--arg", "epsilon=1,5"], "epsilon must be a number"),
    (["plan", "dp_naive_bayes", "fit", "--arg", "label=y", "--arg", "epsilon=0"], "at least 1e-09"),
    (["plan", "dp_naive_bayes", "fit", "--arg", "label=y", "--arg", "epsilon=true"], "epsilon must be a number"),
    (["plan", "dp_naive_bayes", "evaluate", "--arg", "model=yes"], "object of a result"),
    (
        ["plan", "smooth_naive_bayes", "fit", "--arg", "label=y", "--arg", "epsilon=1", "--arg", "sensitivity=rough"],
        "must be one of",
    ),
    (
        [
            "plan",
            "discriminative_naive_bayes",
            "fit",
            "--dictionary",
            "d.yaml",
            "--arg",
            "label=y",
            "--arg",
            "epsilon=1",
            "--arg",
            "tables=secure_sum",
        ],
        'tables="dp"',
    ),
    (["plan", "discriminative_naive_bayes", "fit", "--arg", "label=y", "--arg", "rounds=2.5"], "whole number"),
    (["plan", "secure_naive_bayes", "join", "--arg", "organization=z"], "'membership'"),
    ([*COUNT, "conditions=[]", "--arg", "id_column=id"], '1 to 100 conditions, such as [{"column": "age", "op"'),
    ([*COUNT, 'conditions=[{"column": "x"}]', "--arg", "id_column=id"], '"op"'),
    ([*COUNT, 'conditions=[{"column": "x", "op": "~", "value": 1}]', "--arg", "id_column=id"], "op must be one of"),
    ([*COUNT, 'conditions=[{"column": "x", "op": "<", "value": 1}]'], "id_column: name the column"),
    (
        ["plan", "scalar_product", "contingency", "--arg", "columns=x", "--arg", "id_column=id"],
        'such as ["age", "sex"]',
    ),
    ([*NETWORK, 'columns=["x"]'], "at least 2 name"),
    ([*NETWORK, 'columns=["x", "y"]', "--arg", "label=s"], "add it to columns"),
    ([*NETWORK, 'columns=["x", "y"]', "--arg", "max_parents=99"], "at most 7"),
    (["plan", "vertibayes", "classify", "--arg", "model={}", "--arg", "id_column=id"], "nodes, edges and tables"),
    (
        ["plan", "bayesian_ensemble", "fit", "--arg", "label=y", "--arg", "id_column=id", "--arg", "vote=loud"],
        "vote must be one of",
    ),
    ([*COX, "--arg", "id_column=id"], "features and formula: give one of them"),
    ([*COX, "--arg", 'features=["x"]', "--arg", "formula=~x", "--arg", "id_column=id"], "give one of them"),
    ([*COX, "--arg", "formula=~x+", "--arg", "id_column=id"], "cannot be read at its end"),
    ([*COX, "--arg", "formula=t ~ x", "--arg", "id_column=id"], "no outcome before ~"),
    ([*COX, "--arg", 'features=["x", "t"]', "--arg", "id_column=id"], "take it out"),
    ([*COX, "--arg", 'features=["x"]', "--arg", "ties=exact"], "ties must be one of"),
    ([*COX, "--arg", 'features=["x"]', "--arg", "split=horizontal"], "times is needed"),
    (["check", "dp_naive_bayes", "fit", *PARTY, "--out", "r.json"], "No such option: --out"),
    (["check", "dp_naive_bayes", "fit", *PARTY], "needs the argument 'label'"),
    (["node", "peers", "a.csv"], "no folder"),
    (["node", "peers", ".", "--accept", "x"], "2 arguments"),
    (["node", "peers", ".", "--forget", "nobody"], "not known here"),
    (["node", "check", "a.csv"], "a mapping of keys was expected"),
    (["algorithms", "dp_naive_bayes", "fit"], "unexpected extra argument"),
    (["show", "m.json", "--export", "m.bif"], "FILE.csv takes any answer"),
    (["demo", "--out", "a.csv"], "choose another folder"),
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
        "colour.yaml": "columns:\n  x: {type: number, bounds: [0, 1], colour: red}\n",
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


def test_there_are_about_two_hundred_kinds():
    assert len(WRONG) >= 190
