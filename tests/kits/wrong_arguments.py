"""Wrong values and contradictions of arguments, and words of other packages: commands on the files of `test_wrong_commands`, with what is to be answered."""

from collections.abc import Iterator, Mapping, Sequence

from wrong_commands import (
    CODES,
    COUNT,
    COX,
    EVALUATED,
    FIT,
    NAMES,
    NETWORK,
    NOISY,
    OF_ROWS,
    OF_ROWS_BASELINE,
    OUT,
    PARTY,
    PLAN,
    PREDICT,
    ROWS,
    STUDY,
    TOY,
)


def meant(command: Sequence[str], names: Mapping[str, str]) -> Iterator[tuple[list[str], str]]:
    """Yield a command for each name that other packages have, with ours for the same."""
    for theirs, ours in names.items():
        yield [*command, f"{theirs}=1"], f"no argument '{theirs}' (did you mean '{ours}'?)"


WRONG = [
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
    ([*OF_ROWS_BASELINE, "rows_aligned=true"], "rows_aligned is for columns of the same records"),
    # predictions are CSV
    *(([*PREDICT, f"p.{ending}"], "must end in one of: .csv") for ending in ("xlsx", "json", "parquet")),
    (["predict", "cox.json", "a.csv", "--id-column", "X"], "no column 'X' (did you mean 'x'?); it has: x, y"),
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
    # what people of other packages write
    *meant(
        (*STUDY, "--arg"),
        {
            "eps": "epsilon",
            "privacy_budget": "epsilon",
            "y": "label",
            "class": "label",
            "X": "features",
            "covariates": "features",
            "alpha": "pseudocount",
            "bounds": "domain",
            "categories": "domain",
            "stations": "organizations",
            "id": "id_column",
        },
    ),
    *meant(
        (*COX, "--arg"),
        {
            "duration_col": "time",
            "durations": "time",
            "entry_col": "entry",
            "weights_col": "weights",
            "cluster_col": "cluster",
            "max_iter": "max_rounds",
            "tol": "tolerance",
            "l2": "penalty",
        },
    ),
    *meant(
        NETWORK,
        {
            "nodes": "columns",
            "max_indegree": "max_parents",
            "scoring_method": "score",
            "white_list": "required_edges",
            "black_list": "forbidden_edges",
            "state_names": "domain",
        },
    ),
    ([*COUNT, "where=x"], "no argument 'where' (did you mean 'conditions'?)"),
    *(([*STUDY, "--arg", f"{name}=1"], "there is no seed") for name in ("seed", "random_state")),
    ([*COX, "--arg", "conf_level=0.9"], "intervals are of 95 %; others follow from the standard errors"),
    (["run", "client_toy", "fit", *PARTY, *OUT, "--column", "x"], "given as --arg column=VALUE"),
    (["check", "client_toy", "fit", *PARTY, "--epsilon", "1"], "given as --arg epsilon=VALUE"),
    (["plan", "dp_naive_bayes", "fit", "--label", "y"], "given as --arg label=VALUE"),
    (["run", "client_toy", "fit", "a.csv", *OUT], "a table is given as --party NAME=FILE"),
    (["check", "client_toy", "fit", "--party", "a=a.csv", "b=b.csv"], "a table is given as --party NAME=FILE"),
    *(
        ([word], part)
        for word, part in (
            ("fit", "`fedbayes run ALGORITHM fit`"),
            ("describe", "`fedbayes run ALGORITHM describe`"),
            ("report", "`fedbayes show RESULT --report FILE.html`"),
            ("plot", "--report FILE.html"),
            ("export", "--export FILE.csv"),
            ("help", "`fedbayes --help`"),
            ("version", "`fedbayes --version`"),
            ("draft", "`fedbayes domain draft FILE`"),
            ("peers", "`fedbayes node peers FOLDER`"),
        )
    ),
    (["node", "ledger", "folder"], "`fedbayes ledger FOLDER`"),
    (["predict", "a.csv", "m.json"], "m.json is no table: name the result first"),
    *(
        ([*TOY, "--arg", "column=x", "--policy", f"{name}={value}", *OUT], f"'{name}' cannot be read; write {written}")
        for name, value, written in (
            ("minimum_count", "-1", "a whole number, at least 0"),
            ("minimum_count", " ", "a whole number, at least 0"),
            ("minimum_rows", "5.5", "a whole number, at least 0"),
            ("maximum_epsilon", "inf", "a number with a point and no unit"),
            ("allow_predictions", "ja", '"true" or "false"'),
            ("allowed_columns", "x;y", "a list, such as"),
            ("csv_decimal", ",", "one of point, comma"),
            ("pinned_keys", "north", "{organization: fingerprint}"),
        )
    ),
]
"""Words of the command, and what the line must hold."""
