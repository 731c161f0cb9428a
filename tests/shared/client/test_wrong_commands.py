"""Wrong commands of about 350 kinds: each is answered in one line with the remedy, without a traceback, exit 2, and nothing is written."""

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
ROWS = (*COX, "--dictionary", "d.yaml", "--arg", "split=horizontal", "--arg", "times=[6, 12]", "--arg")
OF_ROWS = ("plan", "verticox", "evaluate", "--model", "rows.json", "--arg")
PREDICT = ("predict", "m.json", "a.csv", "--out")
NAMES = ("--dictionary", "names.yaml", "--arg")
CODES = ("--dictionary", "d.yaml", "--arg", "id_column=id")
NOISY = ("plan", "dp_naive_bayes", "fit", "--dictionary", "d.yaml", "--arg", "label=y", "--arg")
EVALUATED = ("dp_naive_bayes", "smooth_naive_bayes", "secure_naive_bayes", "discriminative_naive_bayes", "vertibayes")
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
    (["run", "client_toi", "fit", *PARTY, *OUT], "(did you mean 'client_toy'?); `fedbayes algorithms` lists those"),
    (["check", "client_toi", "fit", *PARTY], "did you mean 'client_toy'?"),
    (["algorithms", "dp_naive_bays"], "did you mean 'dp_naive_bayes'?"),
    (["plan", "v6_vertibays", "fit"], "did you mean 'vertibayes'?"),
    (["plan", "verticox", "fti"], "(did you mean 'fit'?); it has: "),
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
    (
        [*TOY, "--policy", "minimum_row=3", *OUT],
        "'minimum_row' is no limit (did you mean 'minimum_rows'?); known are: minimum_rows",
    ),
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
    ([*TOY, "--arg", "column=x", "--out", "r.txt"], "--out: a result is JSON; name it r.json"),
    ([*TOY, "--arg", "column=x", "--out", "r.html"], "name it r.json, and the page --report FILE.html"),
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
    (["domain", "check", "half.yaml", "a.csv"], "subset: the formula cannot be read; write it like age >= 18"),
    (["domain", "draft", "heading.csv"], "heading.csv holds no record to look at"),
    (["dossier", "bare.json", "--out", "r.html"], "give a result that `fedbayes run` wrote"),
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
    (["check", "vertibayes", "sample", *PARTY, "--model", "net.json"], "sample asks no station"),
    # the study's columns, before anybody is asked
    ([*STUDY, "--arg", 'features=["zz"]'], "'zz' is not in the domain"),
    ([*STUDY, "--arg", 'features=["xx"]'], "'xx' is not in the domain (did you mean 'x'?)"),
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
    # files that are there already, or cannot be
    (["domain", "draft", "a.csv", "--out", "d.yaml"], "d.yaml is there already; give another name, or --force"),
    (["predict", "m.json", "a.csv", "--out", "b.csv"], "b.csv is there already"),
    (["show", "m.json", "--export", "b.csv"], "b.csv is there already"),
    (["dossier", "m.json", "--out", "cox.json"], "cox.json is there already"),
    (["dossier", "m.json", "--out", "r.html", "--out", "net.json"], "net.json is there already"),
    ([*TOY, "--arg", "column=x", "--out", "x" * 300 + ".json"], "the name of the file is too long"),
    (["predict", "m.json", "a.csv", "--out", "x" * 300 + ".csv"], "the name of the file is too long"),
    (["domain", "draft", "a.csv", "--out", "x" * 300 + ".yaml"], "the name of the file is too long"),
    (["show", "m.json", "--report", "x" * 300 + ".html"], "the name of the file is too long"),
    (["dossier", "m.json", "--out", "x" * 300 + ".html"], "the name of the file is too long"),
    ([*TOY, "--arg", "column=x", *OUT, "--report", "x" * 300 + ".html"], "the name of the file is too long"),
    (["show", "deep.json"], "is not valid JSON"),
    (["predict", "deep.json", "a.csv"], "is not valid JSON"),
    (["dossier", "deep.json"], "is not valid JSON"),
    ([*TOY, "--args", "deep.json", *OUT], "is not valid JSON"),
    (["run", "client_toy", "echo", *PARTY, "--model", "deep.json", *OUT], "is not valid JSON"),
    (["run", "--again", "deep.json", *OUT], "is not valid JSON"),
    (["domain", "check", "d.yaml", "base.sqlite"], "base.sqlite is a database; save its table or view as CSV first"),
    (["domain", "draft", "base.sqlite"], "base.sqlite is a database"),
    (["domain", "draft", "wide.csv"], "UTF-8"),
    (["predict", "m.json", "wide.csv"], "UTF-8"),
    (["predict", "m.json", "bad.xlsx"], "check its format"),
    (["predict", "m.json", "base.sqlite"], "must end in one of"),
    (["run", "client_toy", "fit", "--party", "a=wide.csv", *OUT], "UTF-8"),
    # dictionaries that contradict themselves
    (["domain", "check", "gap.yaml", "a.csv"], 'missing must be a list of texts or numbers, like ["", "NA"]'),
    (["domain", "check", "twice.yaml", "a.csv"], "'x' is there twice"),
    (["domain", "check", "open.yaml", "a.csv"], "line 3"),
    (["domain", "check", "word.yaml", "a.csv"], "bounds must be a list"),
    (["domain", "check", "text.yaml", "a.csv"], "categories must be a list"),
    (["domain", "check", "compared.yaml", "a.csv"], "reference must be one of its categories"),
    (["domain", "check", "recoded.yaml", "a.csv"], "recode leads to something"),
    (["domain", "check", "cut.yaml", "a.csv"], "the formula cannot be read"),
    (["domain", "check", "code.yaml", "a.csv"], "the formula has something that is not allowed"),
    (["domain", "check", "columns.yaml", "a.csv"], "give an object with columns"),
    (["plan", "vertibayes", "fit", *NAMES, 'columns=["x", "y"]'], "several identifiers (id, name); say by which one"),
    (
        ["plan", "verticox", "fit", *NAMES, "time=t", "--arg", "event=e", "--arg", 'features=["x"]'],
        "several identifiers",
    ),
    (["plan", "scalar_product", "contingency", *NAMES, 'columns=["x", "y"]'], "several identifiers (id, name)"),
    (
        [*COUNT, 'conditions=[{"column": "y", "op": "==", "value": "z"}]', *CODES],
        "'z' is no category of column 'y' in the dictionary; it has: p, q",
    ),
    (
        [*COUNT, 'conditions=[{"column": "y", "op": "in", "value": ["p", "r"]}]', *CODES],
        "'r' is no category of column 'y'",
    ),
    ([*COUNT, 'conditions={"x": 1}', "--arg", "id_column=id"], "1 to 100 conditions"),
    (
        [*COUNT, 'conditions=[{"column": "x", "equals": 1}]', "--arg", "id_column=id"],
        '{"column": ..., "op": ..., "value": ...}',
    ),
    (
        [*COUNT, 'conditions=[{"column": "x", "op": ">", "value": "II"}]', "--arg", "id_column=id"],
        "value must be a number",
    ),
    # rehearsals
    ([*PLAN, "--rehearse", "1"], "--rehearse needs --rows"),
    (
        [*PLAN, "--rehearse", "1", "--rows", "50"],
        "--rehearse: the domain of column 'y' is not known; give --dictionary FILE",
    ),
    ([*STUDY, "--rehearse", "101", "--rows", "50"], "--rehearse"),
    ([*STUDY, "--rehearse", "many", "--rows", "50"], "'--rehearse': give a whole number"),
    ([*STUDY, "--rows", "1e6"], "'--rows': give a whole number"),
    ([*STUDY, "--signal", "much", "--rows", "50"], "'--signal': give a number"),
    ([*STUDY, "--signal", "nan", "--rows", "50"], "--signal"),
    ([*STUDY, "--signal", "some"], "--signal"),
    # a model of another method
    *((["plan", name, "evaluate", "--model", "cox.json"], "model") for name in EVALUATED),
    *((["plan", name, "evaluate", "--model", "net.json"], "model") for name in ("dp_naive_bayes", "bayesian_ensemble")),
    *(
        (["plan", "verticox", name, "--model", "m.json", "--arg", "id_column=id"], "of a result of verticox.fit")
        for name in ("baseline", "predict", "evaluate")
    ),
    (
        ["plan", "vertibayes", "classify", "--model", "net.json", "--arg", "id_column=id", "--arg", "label=zz"],
        "it has: x, y",
    ),
    # one wrong value for an argument each
    ([*STUDY, "--arg", "epsilon=1e-12"], "given twice"),
    *(
        ([*NOISY, f"epsilon={value}"], "epsilon must be a number, at least 1e-09")
        for value in ("1e-12", "inf", "nan", "-0", "[1]", "{}")
    ),
    ([*STUDY, "--arg", "neighbors=replace"], "add_remove, replace_one"),
    ([*STUDY, "--arg", "mechanism=gaussian"], "needs a delta above 0"),
    ([*STUDY, "--arg", "aggregation=median"], "noise='local'"),
    ([*STUDY, "--arg", "honest_fraction=80"], "at most 1"),
    ([*STUDY, "--arg", "unit=person"], "row, identifier"),
    ([*STUDY, "--arg", "max_rows_per_identifier=0"], "at least 1"),
    ([*STUDY, "--arg", 'bins={"xx": 5}'], "bins names 'xx'"),
    ([*STUDY, "--arg", 'bins={"y": 5}'], "bins names 'y'"),
    ([*STUDY, "--arg", 'bins={"x": [3, 2]}'], "edges must increase"),
    ([*STUDY, "--arg", 'features={"a": 1}'], 'such as ["age", "sex"]'),
    ([*STUDY, "--arg", "rows=-1"], "rows must be"),
    ([*STUDY, "--arg", "pseudocount=-1"], "pseudocount"),
    ([*STUDY, "--arg", "outside=ignore"], "outside must be one of"),
    ([*STUDY, "--arg", "noise=loud"], "noise must be one of"),
    ([*COX, "--arg", 'features=["x"]', "--arg", "missing=drop", "--arg", "id_column=id"], "refuse, complete"),
    (
        [*COX, "--arg", "formula=~ x + C(s) + x:s", "--arg", "id_column=id"],
        "is a category in one place, C(s), and a number in another",
    ),
    ([*COX, "--arg", "formula=~ Surv(t, e)", "--arg", "id_column=id"], "there is no Surv"),
    ([*COX, "--arg", 'features=["x"]', "--arg", "epsilon=1", "--arg", "id_column=id"], "times is needed with epsilon"),
    ([*COX, "--arg", 'features=["x"]', "--arg", "penalty=-1", "--arg", "id_column=id"], "penalty"),
    ([*COX, "--arg", 'features=["x"]', "--arg", "strata=x", "--arg", "id_column=id"], "take it out"),
    ([*COX, "--arg", 'features=["x"]', "--arg", "entry=t", "--arg", "id_column=id"], "must be different columns"),
    ([*NETWORK, 'columns=["x", "y"]', "--arg", "structure=naive"], "needs a label"),
    ([*NETWORK, 'columns=["x", "y"]', "--arg", "structure=private"], "give epsilon, and delta"),
    ([*NETWORK, 'columns=["x", "y"]', "--arg", 'structure=[["x", "y"], ["y", "x"]]'], "form a cycle among x, y"),
    ([*NETWORK, 'columns=["x", "y"]', "--arg", 'structure=[["x", "z"]]'], "'z', which is not a node"),
    ([*NETWORK, 'columns=["x", "y"]', "--arg", "validation=cross"], "validation must be one of"),
    (["run", "client_toy", "fit", *PARTY, "--helper", "a", *OUT], "'a' is there twice"),
    (["ledger", "a.csv", "--days", "soon"], "--days"),
    (["node", "peers", "a.csv"], "no folder"),
    (["node", "peers", ".", "--accept", "x"], "2 arguments"),
    (["node", "peers", ".", "--forget", "nobody"], "not known here"),
    (["node", "check", "a.csv"], "a mapping of keys was expected"),
    (["algorithms", "dp_naive_bayes", "fit"], "unexpected extra argument"),
    (["show", "m.json", "--export", "m.bif"], "FILE.csv takes any answer"),
    (["demo", "--out", "a.csv"], "choose another folder"),
    # formulae and grids of Cox models of whole records
    ([*ROWS, "formula=~ log(x)"], 'in the domain, under its text: {"log(x)": {"bounds": [low, high]}}'),
    ([*ROWS, "formula=~ strata(y) + x"], "there is no strata(...); there are C, bs, I, abs, exp"),
    *(
        ([*ROWS, f"formula=~ {function}(y) + x"], f"{function} is an argument")
        for function in ("strata", "cluster", "weights")
    ),
    *(([*ROWS, f"formula=~ {function}(x)"], "curves are bs(column, df=...)") for function in ("poly", "ns", "s")),
    *(
        ([*ROWS, f"formula={text}"], f"cannot be read at '{rest}'")
        for text, rest in (
            ("~ x^2", "^2"),
            ("~ x - 1", "- 1"),
            ("~ .", "."),
            ("~ x | y", "| y"),
            ("~ 1", "1"),
            ("x, y", ", y"),
            ("~ x / y", "/ y"),
        )
    ),
    ([*ROWS, 'formula=~ C(y, reference="r")'], "the reference of 'y' is none of the categories"),
    ([*ROWS, 'formula=~ C(y, ref="p")'], "write C(column, reference=...)"),
    ([*ROWS, "formula=~ C(x)"], "needs the categories of 'x'"),
    ([*ROWS, "formula=~ bs(x, df=1)"], "df is a whole number from its degree"),
    ([*ROWS, "formula=~ bs(y, df=4)"], "needs public bounds"),
    ([*ROWS, "formula=~ t"], "'t' is named for another role too"),
    ([*ROWS, 'features=["yy"]'], "'yy' is not in the domain"),
    ([*ROWS, 'features=["x"]', "--arg", "strata=x"], "take it out"),
    ([*ROWS, 'features=["y"]', "--arg", "strata=x"], "the domain must list the categories of 'x'"),
    ([*ROWS, 'features=["x"]', "--arg", "epsilon=1", "--arg", "robust=true"], "robust is for exact fits"),
    ([*ROWS, "formula=~ x", "--arg", "epsilon=1"], "formula is for exact fits"),
    ([*COX, "--arg", "split=both", "--arg", 'features=["x"]'], "vertical, horizontal"),
    ([*OF_ROWS, "times=6,12"], "such as [6, 12, 24]"),
    ([*OF_ROWS, "times=[6]"], "such as [6, 12, 24]"),
    ([*OF_ROWS, "times=[6, 6]"], "times must increase"),
    ([*OF_ROWS, "times=[-1, 6]"], "times[0]"),
    ([*OF_ROWS, "folds=5"], "this model is one of whole records"),
    ([*OF_ROWS, "reveal=aggregates"], "this model is one of whole records"),
    ([*OF_ROWS, "groups=1"], "groups must be"),
    (["plan", "verticox", "predict", "--model", "rows.json"], "`fedbayes predict`, or .predict(frame)"),
    (["plan", "verticox", "baseline", "--model", "rows.json"], "model.baseline, which `fedbayes show` prints"),
    # predictions are CSV
    *(([*PREDICT, f"p.{ending}"], "must end in one of: .csv") for ending in ("xlsx", "json", "parquet")),
    (["predict", "cox.json", "a.csv", "--id-column", "X"], "it has: x, y"),
    (["predict", "cox.json", "a.csv", "--times", "12,"], "--times must be numbers"),
    (["predict", "cox.json", "a.csv", "--times", "[12, 24]"], "--times must be numbers"),
    (["predict", "cox.json", "a.csv", "--label", "x"], "this model has none: leave it out"),
    (["predict", "d.yaml", "a.csv"], "is not valid JSON"),
    # what other functions say
    (["plan", "vertibayes", "sample", "--model", "net.json", "--arg", "records=5"], "it takes: model, rows"),
    (["plan", "secure_naive_bayes", "join", "--arg", "model={}"], "it takes: membership, organization"),
    ([*NETWORK, 'columns=["x", "y"]', "--arg", "structure=tan"], "naive, k2, hill_climb, private"),
    ([*NETWORK, 'columns=["x", "y"]', "--arg", "structure=k2", "--arg", 'order=["x"]'], "every column exactly once"),
    ([*NETWORK, 'columns=["x", "x"]'], "must not name anything twice"),
    (["plan", "dp_naive_bayes", "describe"], "`fedbayes domain draft FILE` proposes one"),
    (["plan", "dp_naive_bayes", "describe", "--dictionary", "d.yaml", "--arg", "bins=many"], "bins must be"),
    (["domain", "check", "d.yaml", "m.json"], "must end in one of: .csv"),
    (["domain", "draft", "."], "is a folder"),
    # what a method says of its arguments
    ([*FIT, "--arg", "label=y", *OUT], "epsilon"),
    ([*FIT, "--arg", "label=y", "--arg", "epsilon=1", "--arg", "features=x", *OUT], 'such as ["age", "sex"]'),
    ([*FIT, "--arg", "label=y", "--arg", "epsilon=one", *OUT], "epsilon must be a number"),
    ([*FIT, "--arg", "label=y", "--arg", "epsilon=1", "--arg", "noise=loud", *OUT], "noise must be one of"),
    ([*FIT, "--arg", "label=y", "--arg", "epsilon=1", *OUT], "domain"),
]


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


def test_there_are_about_350_kinds():
    assert len(WRONG) >= 345
