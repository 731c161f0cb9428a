"""The other commands: algorithms, show, predict, ledger; help; speed of the start by what is imported."""

import json
import subprocess
import sys
from io import StringIO
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.dp.ledger import Ledger

NETWORK = {
    "nodes": {"rain": {"states": ["no", "yes"]}, "wet": {"states": ["no", "yes"]}},
    "edges": [["rain", "wet"]],
    "tables": {
        "rain": {"parents": [], "probabilities": [0.8, 0.2]},
        "wet": {"parents": ["rain"], "probabilities": [[0.9, 0.1], [0.1, 0.9]]},
    },
}
COX = {
    "coefficients": [
        {"feature": "age", "coefficient": 0.5, "hazard_ratio": 1.65, "p": 0.01, "lower_95": 0.1, "upper_95": 0.9}
    ],
    "baseline": {"times": [1.0, 2.0], "cumulative_hazard": [0.1, 0.3]},
}


def write(path, model, **fields):
    path.write_text(json.dumps({"model": model, "privacy": None, "warnings": [], **fields}))
    return path


def test_algorithms_lists_functions_and_arguments(command):
    code, out, _ = command("algorithms")
    assert code == 0
    assert "client_toy" in out
    assert "fit(column, organizations=None)" in out
    assert "Sum a column over all stations." in out
    assert "partial_sum" not in out


def test_algorithms_as_json(command):
    code, out, _ = command("algorithms", "--json")
    toy = next(entry for entry in json.loads(out) if entry["name"] == "client_toy")
    assert code == 0
    assert {function["name"] for function in toy["functions"]} == {
        "broken",
        "disclosure_settings",
        "echo",
        "fit",
        "preflight",
        "slow",
    }


def test_one_algorithm_with_what_its_arguments_mean(command):
    code, out, _ = command("algorithms", "scalar_product")
    assert code == 0
    assert "client_toy" not in out
    assert "conditions\n" in out
    assert "federation :" not in out
    code, _, err = command("algorithms", "nothing")
    assert code == 2
    assert "client_toy" in err


def test_algorithm_that_cannot_be_imported_is_told(command, algorithm_folder):
    package = algorithm_folder / "v6_client_broken"
    package.mkdir()
    (package / "__init__.py").write_text("import there_is_no_such_module")
    code, out, _ = command("algorithms")
    assert code == 0
    assert "cannot be imported (ModuleNotFoundError)" in out


def test_show_tells_promise_cost_and_model(command, tmp_path, bayes_model):
    privacy = {"differentially_private": True, "epsilon": 0.5, "delta": 0, "neighbors": "add_remove", "unit": "row"}
    federation = {"rounds": 3, "bytes": 12_300, "seconds": 1.5, "organizations": ["north", "south"], "per_round": []}
    write(
        tmp_path / "r.json", bayes_model, privacy=privacy, federation=federation, warnings=["be careful"], accuracy=0.75
    )
    code, out, _ = command("show", "r.json")
    assert code == 0
    for part in (
        "epsilon = 0.5",
        "adding or removing one row",
        "3 rounds",
        "12.3 KB",
        "north, south",
        "be careful",
        "0.75",
        "histogram",
    ):
        assert part in out


def test_show_writes_report_and_network(command, tmp_path):
    write(tmp_path / "r.json", NETWORK)
    code, _, _ = command("show", "r.json", "--report", "r.html", "--export", "r.bif")
    assert code == 0
    assert "Graph with 2 nodes and 1 edge: rain to wet." in (tmp_path / "r.html").read_text()
    assert "probability" in (tmp_path / "r.bif").read_text()


def test_export_needs_a_network_and_a_known_format(command, tmp_path, bayes_model):
    write(tmp_path / "n.json", NETWORK)
    write(tmp_path / "b.json", bayes_model)
    assert command("show", "n.json", "--export", "r.txt")[0] == 2
    assert command("show", "b.json", "--export", "r.bif")[0] == 2
    assert not (tmp_path / "r.bif").exists()


@pytest.mark.parametrize(
    "content", ["", "[1, 2]", "{", "\udcff", '{"privacy": 3}', '{"federation": []}', '{"warnings": "none"}']
)
def test_files_without_a_result_are_refused(command, tmp_path, content):
    (tmp_path / "r.json").write_bytes(content.encode("utf-8", "surrogateescape"))
    code, _, err = command("show", "r.json")
    assert code == 2
    assert err.startswith("error: ")
    assert len(err.strip().splitlines()) == 1


def test_show_summarises_a_weighted_naive_bayes_model(command, tmp_path):
    model = {"format": "fedbayes-weighted-naive-bayes-1", "label": "y", "structure": "naive", "tables_at": "local"}
    domain = {"x": {"bounds": [0, 1]}, "y": {"categories": ["a", "b"]}}
    write(tmp_path / "r.json", {**model, "domain": domain, "weights": [0.5, 2.0]})
    code, out, _ = command("show", "r.json")
    assert code == 0
    for part in ("Model: weighted naive Bayes", "a, b", "2, 0.5 to 2"):
        assert part in out


def test_show_lists_answers_that_are_mappings(command, tmp_path):
    write(tmp_path / "r.json", None, settings={"minimum_rows": 10, "ledger": None})
    code, out, _ = command("show", "r.json")
    assert code == 0
    assert "Settings" in out
    assert "minimum_rows" in out


def test_show_lists_counts_and_predictions(command, tmp_path):
    axes = [{"column": "smoke", "labels": ["no", "yes"]}, {"column": "ill", "labels": ["no", None]}]
    write(tmp_path / "c.json", {"axes": axes, "counts": [[111, 70], [73, None]]})
    out = command("show", "c.json")[1]
    lines = [" ".join(line.replace("│", " ").split()) for line in out.splitlines()]
    assert "smoke ill count" in lines
    assert "no missing 70" in lines
    assert "yes missing –" in lines
    predictions = {"states": ["no", "yes"], "predicted": ["no"], "probabilities": [[0.75, 0.25]], "identifiers": ["p7"]}
    write(tmp_path / "p.json", {"label": "ill", **predictions})
    lines = [" ".join(line.replace("│", " ").split()) for line in command("show", "p.json")[1].splitlines()]
    assert "p7 no 0.75 0.25" in lines


@pytest.mark.parametrize(
    "model",
    [
        {"coefficients": [{"coefficient": "x"}]},
        {"axes": [3], "counts": [1]},
        {"format": "fedbayes.naive_bayes/1"},
        {"nodes": {"a": 1}, "edges": [], "tables": {"a": 2}},
        {"predicted": ["a"], "probabilities": 3, "states": []},
    ],
)
def test_show_survives_a_malformed_model(command, tmp_path, model):
    write(tmp_path / "r.json", model)
    code, out, _ = command("show", "r.json")
    assert code == 0
    assert "malformed" in out


def test_show_survives_a_model_it_does_not_know(command, tmp_path):
    write(tmp_path / "r.json", {"something": [1, 2], "value": 3})
    code, out, _ = command("show", "r.json", "--report", "r.html")
    assert code == 0
    assert "Value" in out


def test_predict_naive_bayes(command, tmp_path, bayes_model):
    write(tmp_path / "r.json", bayes_model)
    frame = pd.DataFrame({"x": [1.0, 9.0, np.nan], "c": ["red", "blue", None]})
    frame.to_csv(tmp_path / "new.csv", index=False)
    code, out, _ = command("predict", "r.json", "new.csv")
    assert code == 0
    lines = out.strip().splitlines()
    assert lines[0] == "prediction,P(a),P(b)"
    assert [line.split(",")[0] for line in lines[1:3]] == ["a", "b"]
    expected = NaiveBayes.from_dict(bayes_model).predict_proba(frame)[0, 0]
    assert float(lines[1].split(",")[1]) == pytest.approx(expected, abs=1e-6)


def test_predict_writes_a_file(command, tmp_path, bayes_model):
    write(tmp_path / "r.json", bayes_model)
    pd.DataFrame({"x": [1.0], "c": ["red"]}).to_csv(tmp_path / "new.csv", index=False)
    code, out, _ = command("predict", "r.json", "new.csv", "--out", "p.csv")
    assert (code, out) == (0, "")
    assert len(pd.read_csv(tmp_path / "p.csv")) == 1
    assert command("predict", "r.json", "new.csv", "--out", "-")[1] == (tmp_path / "p.csv").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.csv", "p.csv", "r.json"]


def test_predict_network_needs_a_target(command, tmp_path):
    write(tmp_path / "r.json", NETWORK)
    pd.DataFrame({"wet": ["yes", "no"]}).to_csv(tmp_path / "new.csv", index=False)
    assert "--label" in command("predict", "r.json", "new.csv")[2]
    code, out, _ = command("predict", "r.json", "new.csv", "--label", "rain")
    assert code == 0
    first = out.splitlines()[1].split(",")
    assert first[0] == "yes"
    assert float(first[2]) == pytest.approx(0.18 / 0.26, abs=1e-5)


def test_predict_ensemble_takes_the_mean_of_members(command, tmp_path):
    write(
        tmp_path / "r.json", {"members": [{"name": "north", "network": NETWORK}, {"name": "south", "network": NETWORK}]}
    )
    pd.DataFrame({"wet": ["yes"]}).to_csv(tmp_path / "new.csv", index=False)
    code, out, _ = command("predict", "r.json", "new.csv", "--label", "rain")
    assert code == 0
    assert float(out.splitlines()[1].split(",")[2]) == pytest.approx(0.18 / 0.26, abs=1e-5)


def test_predict_cox(command, tmp_path):
    write(tmp_path / "r.json", COX)
    pd.DataFrame({"age": [0.0, 2.0]}).to_csv(tmp_path / "new.csv", index=False)
    code, out, _ = command("predict", "r.json", "new.csv", "--times", "0.5,1.5")
    assert code == 0
    table = pd.read_csv(StringIO(out))
    assert table["partial_hazard"].tolist() == pytest.approx([1.0, np.e])
    assert table["S(0.5)"].tolist() == [1.0, 1.0]
    assert table["S(1.5)"].tolist() == pytest.approx([np.exp(-0.1), np.exp(-0.1 * np.e)])


@pytest.mark.parametrize(
    ("model", "columns", "options", "part"),
    [
        ({"value": 1}, {"a": [1]}, [], "no model that predicts"),
        (COX, {"b": [1]}, [], "'age'"),
        (COX, {"age": ["elderly"]}, [], "numbers"),
        (COX, {"age": [1]}, ["--times", "soon"], "--times"),
        (COX, {"age": [1]}, ["--label", "age"], "--label"),
        (NETWORK, {"wet": ["yes"]}, ["--label", "rain", "--times", "1"], "--times"),
        (NETWORK, {"a": [1]}, ["--label", "rain"], "no column of the network"),
        (NETWORK, {"wet": ["maybe"]}, ["--label", "rain"], "wet"),
        (NETWORK, {"wet": ["yes"]}, ["--label", "snow"], "'snow'"),
        ({"members": [{"name": "north"}]}, {"a": [1]}, [], "stay at their stations"),
    ],
)
def test_predict_refuses_what_does_not_fit(command, tmp_path, model, columns, options, part):
    write(tmp_path / "r.json", model)
    pd.DataFrame(columns).to_csv(tmp_path / "new.csv", index=False)
    code, out, err = command("predict", "r.json", "new.csv", *options)
    assert (code, out) == (2, "")
    assert part in err
    assert "maybe" not in err
    assert "elderly" not in err


@pytest.mark.parametrize("name", ["none.csv", "r.json", "bad.parquet"])
def test_predict_refuses_files_that_are_no_table(command, tmp_path, bayes_model, name):
    write(tmp_path / "r.json", bayes_model)
    (tmp_path / "bad.parquet").write_text("no parquet")
    code, _, err = command("predict", "r.json", name)
    assert code == 2
    assert name in err


def test_predict_cox_codes_text_as_the_stations_do(command, tmp_path):
    model = {"coefficients": [{"feature": name, "coefficient": k + 1.0} for k, name in enumerate(["s=II", "s=III"])]}
    write(tmp_path / "r.json", model)
    pd.DataFrame({"s": ["I", "II ", "III"]}).to_csv(tmp_path / "new.csv", index=False)
    code, out, _ = command("predict", "r.json", "new.csv")
    assert code == 0
    assert [float(line.split(",")[0]) for line in out.splitlines()[1:]] == [0.0, 1.0, 2.0]
    pd.DataFrame({"s=II": [0, 1], "s=III": [0, 0]}).to_csv(tmp_path / "coded.csv", index=False)
    assert [line.split(",")[0] for line in command("predict", "r.json", "coded.csv")[1].splitlines()[1:]] == [
        "0.0",
        "1.0",
    ]
    pd.DataFrame({"s": ["I", None]}).to_csv(tmp_path / "gaps.csv", index=False)
    code, out, err = command("predict", "r.json", "gaps.csv")
    assert code == 0
    assert [line.split(",")[0] for line in out.splitlines()[1:]] == ["0.0", ""]
    assert "warning: records without a prediction, as a feature is missing there: 1" in err


def test_predict_tells_the_line_that_is_longer_than_the_header(command, tmp_path, bayes_model):
    write(tmp_path / "r.json", bayes_model)
    (tmp_path / "new.csv").write_text("x,c\n1,red\n1,red,5\n")
    code, _, err = command("predict", "r.json", "new.csv")
    assert code == 2
    assert "line 3" in err


def test_ledger_is_read_from_folder_and_file(command, tmp_path):
    ledger = Ledger(tmp_path / "fedbayes-ledger.sqlite3")
    ledger.charge(("job", "1:partial_sum", "digest"), 0.25, 0.0, "counts")
    ledger.charge(("job", "2:partial_sum", "digest"), 0.5, 1e-6, "counts")
    code, out, _ = command("ledger", tmp_path)
    assert code == 0
    assert "epsilon 0.75" in out
    assert "2 debits" in out
    told = json.loads(command("ledger", tmp_path / "fedbayes-ledger.sqlite3", "--json")[1])
    assert told["spent"]["epsilon"] == 0.75
    assert [debit["epsilon"] for debit in told["debits"]] == [0.25, 0.5]


def test_ledger_that_is_none(command, tmp_path):
    assert command("ledger", tmp_path)[0] == 2
    assert not (tmp_path / "fedbayes-ledger.sqlite3").exists()
    (tmp_path / "text.sqlite3").write_text("no database, but a text that is long enough to be looked at " * 20)
    code, _, err = command("ledger", "text.sqlite3")
    assert code == 1
    assert "is no privacy ledger, or it is damaged" in err


def test_ledger_that_was_put_back_from_an_older_copy(command, tmp_path):
    ledger = Ledger(tmp_path / "fedbayes-ledger.sqlite3")
    ledger.charge(("job", "1:partial_sum", "digest"), 0.25, 0.0, "counts")
    older = ledger.path.read_bytes()
    ledger.charge(("job", "2:partial_sum", "digest"), 0.5, 1e-6, "counts")
    ledger.path.write_bytes(older)
    code, _, err = command("ledger", tmp_path)
    assert code == 1
    assert "fewer debits than fedbayes-ledger.debits" in " ".join(err.split())


def test_help_documents_exit_codes(command):
    for arguments in (["--help"], ["run", "--help"]):
        code, out, _ = command(*arguments)
        assert code == 0
        assert "130" in out
        assert "privacy" in out


def test_no_command_and_unknown_command_are_wrong_usage(command):
    assert command("nothing")[0] == 2
    code, _, err = command()
    assert code == 2
    assert "Usage" in err


def test_the_command_starts_without_heavy_imports():
    text = "import sys, fedbayes.client.cli; print([m for m in ('numpy', 'pandas', 'vantage6', 'matplotlib') if m in sys.modules])"
    told = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


class Coin:
    """A model of a package: tells the label by a fair coin."""

    label, features, classes = "y", ["x"], ["a", "b"]

    def predict_proba(self, frame):
        return np.full((len(frame), 2), 0.5)


def test_predict_by_the_package_that_declares_the_format(command, tmp_path, monkeypatch):
    point = SimpleNamespace(name="coin/1", load=lambda: lambda model: Coin())
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [point] if group == "fedbayes.models" else [])
    write(tmp_path / "r.json", {"format": "coin/1"})
    pd.DataFrame({"x": [1, 2]}).to_csv(tmp_path / "new.csv", index=False)
    code, out, _ = command("predict", "r.json", "new.csv")
    assert code == 0
    assert out.splitlines()[1] == "a,0.5,0.5"
    pd.DataFrame({"z": [1]}).to_csv(tmp_path / "new.csv", index=False)
    assert command("predict", "r.json", "new.csv")[0] == 2


def test_predict_bins_numbers_and_reads_gaps_as_a_state(command, tmp_path):
    network = {
        "nodes": {"y": {"states": ["no", "yes"]}, "x": {"states": ["low", "high", "?"], "cuts": [5.0]}},
        "edges": [["y", "x"]],
        "tables": {
            "y": {"parents": [], "probabilities": [0.5, 0.5]},
            "x": {"parents": ["y"], "probabilities": [[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]]},
        },
        "label": "y",
    }
    write(tmp_path / "r.json", network)
    pd.DataFrame({"x": [1.0, 5.0, np.nan]}).to_csv(tmp_path / "new.csv", index=False)
    code, out, _ = command("predict", "r.json", "new.csv")
    assert code == 0
    assert [float(line.split(",")[2]) for line in out.splitlines()[1:]] == pytest.approx(
        [1 / 9, 1 / 2, 8 / 9], abs=1e-5
    )


def test_predict_cox_by_stratum_and_offset(command, tmp_path):
    model = {
        "coefficients": [{"feature": "age", "coefficient": 0.5}],
        "offset": 1.0,
        "strata": "site",
        "baseline": {
            "strata": [
                {"stratum": "n", "time": [1.0], "cumulative_hazard": [0.2]},
                {"stratum": "s", "time": [1.0], "cumulative_hazard": [0.4]},
            ]
        },
    }
    write(tmp_path / "r.json", model)
    pd.DataFrame({"age": [2.0, 2.0, 2.0], "site": ["n", "s", "x"]}).to_csv(tmp_path / "new.csv", index=False)
    table = pd.read_csv(StringIO(command("predict", "r.json", "new.csv", "--times", "3")[1]))
    assert table["linear_predictor"].tolist() == [0.0, 0.0, 0.0]
    assert table["S(3)"].tolist()[:2] == pytest.approx([np.exp(-0.2), np.exp(-0.4)])
    assert np.isnan(table["S(3)"].iloc[2])
