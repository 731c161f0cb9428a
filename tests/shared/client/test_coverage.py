"""What a model does not understand in a table of new records is counted and told."""

import json

import numpy as np
import pandas as pd
import pytest

from fedbayes import load
from fedbayes.client.models.coverage import domain_of, gaps

NETWORK = {
    "nodes": {
        "rain": {"states": ["None", "yes"], "parents": []},
        "wet": {"states": ["NA", "yes", "?"], "parents": ["rain"]},
        "degrees": {"states": ["(-inf, 10)", "[10, inf)"], "cuts": [10.0], "parents": []},
    },
    "edges": [["rain", "wet"]],
    "tables": {},
}
COX = {"coefficients": [{"feature": f"stage={k}", "coefficient": float(k)} for k in (2, 3)], "strata": "site"}
COX["baseline"] = {"strata": [{"stratum": "n", "time": [1.0], "cumulative_hazard": [0.2]}]}


def told(found):
    return {gap.column: (gap.cells, gap.present, gap.outside) for gap in found}


def write(tmp_path, model, **columns):
    (tmp_path / "r.json").write_text(json.dumps({"model": model}))
    pd.DataFrame(columns).to_csv(tmp_path / "new.csv", index=False)


def test_unknown_categories_and_numbers_outside_are_told(command, tmp_path, bayes_model):
    low, high = bayes_model["domain"]["x"]["bounds"]
    middle = (low + high) / 2
    write(tmp_path, bayes_model, x=[middle, high + 5, None, low - 1], c=["red", "purple", "blue", None])
    code, out, err = command("predict", "r.json", "new.csv")
    assert code == 0
    assert len(out.splitlines()) == 5
    lines = err.strip().splitlines()
    assert (
        "warning: column 'x': 2 of 3 cells are outside the model's bounds; they are moved to the nearer bound" in lines
    )
    assert "warning: column 'c': 1 of 3 cells are unknown to the model; they count as missing" in lines
    assert lines[-1] == "predictions: 4 records, 3 cells not understood"
    code, _, err = command("predict", "r.json", "new.csv", "--out", "p.csv")
    assert (code, err.strip().splitlines()[-1]) == (0, "predictions: p.csv (4 records, 3 cells not understood)")


def test_nothing_is_told_where_all_is_understood(command, tmp_path, bayes_model):
    low, high = bayes_model["domain"]["x"]["bounds"]
    write(tmp_path, bayes_model, x=[low, high, None], c=["red", " blue ", None], note=["what", "ever", "?"])
    code, _, err = command("predict", "r.json", "new.csv")
    assert (code, err) == (0, "")


@pytest.mark.parametrize("column", ["x", "c"])
def test_a_column_that_is_nearly_all_unknown_is_an_error(command, tmp_path, bayes_model, column):
    middle = sum(bayes_model["domain"]["x"]["bounds"]) / 2
    columns = {"x": [middle] * 20, "c": ["red"] * 20}
    columns[column] = ([middle] + [1e6] * 19) if column == "x" else (["red"] + ["1"] * 19)
    write(tmp_path, bayes_model, **columns)
    code, out, err = command("predict", "r.json", "new.csv")
    assert (code, out) == (2, "")
    assert f"column '{column}': 19 of 20 cells" in err
    assert "empty the cells" in err
    columns[column] = columns[column][:1] * 3 + columns[column][3:]
    write(tmp_path, bayes_model, **columns)
    assert command("predict", "r.json", "new.csv")[0] == 0


def test_states_of_a_network_are_values_and_unknown_ones_are_counted():
    frame = pd.DataFrame({"rain": ["None", "yes", "no"], "wet": ["NA", "NA", None], "degrees": [1.0, np.nan, 99.0]})
    assert told(gaps(NETWORK, frame)) == {"rain": (1, 3, False)}
    assert told(gaps(NETWORK, frame, "rain")) == {}
    assert domain_of({"members": [{"network": NETWORK}]})["wet"] == {"categories": ["NA", "yes"]}
    text = frame.assign(degrees=["cold", None, "3"])
    assert told(gaps(NETWORK, text))["degrees"] == (1, 2, False)


def test_cox_tells_categories_that_were_taken_for_the_reference():
    frame = pd.DataFrame({"stage": ["1", "2", "4", "3", None, "1"], "site": ["n", "x", "n", None, "n", "n"]})
    assert told(gaps(COX, frame)) == {"stage": (1, 5, False), "site": (1, 5, False)}
    early = frame.assign(stage=["0", "1", "1", "3", "2", "2"], site="n")
    assert told(gaps(COX, early)) == {"stage": (1, 6, False)}
    named = {**COX, "references": {"stage": "0"}}
    assert told(gaps(named, early)) == {"stage": (2, 6, False)}
    assert gaps(COX, pd.DataFrame({"stage=2": [0], "stage=3": [1]})) == []


def test_states_called_like_missing_values_are_predicted_from(command, tmp_path):
    network = {
        "nodes": {"rain": {"states": ["None", "yes"]}, "wet": {"states": ["NA", "yes"]}},
        "edges": [["rain", "wet"]],
        "tables": {
            "rain": {"parents": [], "probabilities": [0.5, 0.5]},
            "wet": {"parents": ["rain"], "probabilities": [[0.9, 0.1], [0.2, 0.8]]},
        },
    }
    write(tmp_path, network, wet=["NA", "yes", None, "maybe"])
    code, out, err = command("predict", "r.json", "new.csv", "--label", "rain")
    assert code == 0
    assert [line.split(",")[0] for line in out.splitlines()[1:]] == ["None", "yes", "None", "None"]
    assert "column 'wet': 1 of 3 cells are unknown" in err


def test_columns_of_a_network_that_a_table_lacks_are_told(command, tmp_path):
    states = {name: ["a", "b"] for name in ("kind", "one", "two", "three", "four", "five", "six", "seven")}
    network = {
        "label": "kind",
        "nodes": {name: {"states": values} for name, values in states.items()},
        "edges": [["kind", name] for name in states if name != "kind"],
        "tables": {
            name: {"parents": ["kind"], "probabilities": [[0.9, 0.1], [0.2, 0.8]]} for name in states if name != "kind"
        },
    }
    network["tables"]["kind"] = {"parents": [], "probabilities": [0.5, 0.5]}
    write(
        tmp_path,
        network,
        one=["a", "b"],
        two=["a", "b"],
        three=["a", "b"],
        four=["a", "b"],
        five=["a", "b"],
        seven=["a", "b"],
    )
    code, _, err = command("predict", "r.json", "new.csv")
    assert (code, err.strip()) == (
        0,
        "warning: the table lacks the column 'six' of the model; missing in every record",
    )
    words = "lacks the columns 'two', 'three', 'four', 'five', 'six' and 1 more of the model"
    with pytest.warns(UserWarning, match=words):
        load(tmp_path / "r.json").predict(pd.DataFrame({"one": ["a"], "Two": ["a"]}))
    write(tmp_path, network, **{name: ["a", "b"] for name in states if name != "kind"})
    assert command("predict", "r.json", "new.csv")[2] == ""
