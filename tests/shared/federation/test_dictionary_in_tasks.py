"""A study's dictionary in tasks: the same answers as on tables that were changed beforehand, and under the same guards."""

import json

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess
from party_kit import by_columns

from fedbayes.bayes.dictionaries.dictionary import Dictionary
from fedbayes.client.exits import UsageProblem
from fedbayes.client.result import Result
from fedbayes.federation.embedded.given import task_of
from fedbayes.federation.errors import ArgumentError, DataProblem, PolicyError, ThresholdError
from fedbayes.federation.guards.dictionaries import take
from fedbayes.federation.tables.reading import Source

STUDY = {
    "columns": {
        "sex": {"type": "category", "categories": ["female", "male"], "recode": {"M": "male", "F": "female"}},
        "age": {"type": "integer", "bounds": [18, 100], "bins": [40, 65]},
        "stage": {"type": "category", "categories": [1, 2], "missing": [9]},
        "bmi": {"type": "number", "bounds": [10, 60], "derive": "weight / (height / 100) ** 2", "bins": 4},
        "old": {"type": "category", "categories": ["no", "yes"], "cut": {"column": "age", "at": [65]}},
        "ill": {"type": "category", "categories": ["no", "yes"]},
    },
    "subset": "age >= 18",
}
FORMULAS = {"*": {"allow_formulas": True}}


def without(*names, subset=False):
    columns = {name: entry for name, entry in STUDY["columns"].items() if name not in names}
    return {"columns": columns, **({"subset": STUDY["subset"]} if subset else {})}


@pytest.fixture(scope="module")
def tables():
    random = np.random.default_rng(3)
    made = {}
    for name in ("a", "b", "c"):
        rows = 120
        age = random.integers(8, 90, rows)
        made[name] = pd.DataFrame(
            {
                "sex": random.choice(["M", "F"] if name == "a" else ["male", "female"], rows),
                "age": age,
                "weight": random.normal(75, 12, rows).round(),
                "height": random.normal(170, 10, rows).round(),
                "stage": random.choice([1, 2, 9], rows),
                "ill": np.where(random.random(rows) < 1 / (1 + np.exp((50 - age) / 10)), "yes", "no"),
            }
        )
    return made


@pytest.fixture
def stations(tables, tmp_path):
    """Return ``federation(policies)`` over the three tables; a file that is too large for the reader without pandas is among them."""
    opened = []

    def make(policies=None, change=lambda name, table: table):
        files = {}
        for name, table in tables.items():
            files[name] = tmp_path / (f"{name}.csv" if name != "c" else "c.xlsx")
            changed = change(name, table)
            changed.to_csv(files[name], index=False) if name != "c" else changed.to_excel(files[name], index=False)
        opened.append(OneProcess(files, policies=policies))
        return opened[-1]

    yield make
    for federation in opened:
        federation.close()


def meant(tables) -> pd.DataFrame:
    """All rows as the dictionary means them, by pandas."""
    whole = pd.concat(tables.values())
    whole = whole[whole["age"] >= 18].copy()
    whole["sex"] = whole["sex"].replace({"M": "male", "F": "female"})
    whole["bmi"] = (whole["weight"] / (whole["height"] / 100) ** 2).clip(10, 60)
    whole["old"] = np.where(whole["age"] >= 65, "yes", "no")
    return whole


def test_counts_equal_those_of_tables_that_pandas_changed(stations, tables):
    fit = {"label": "ill", "noise": "none", "dictionary": STUDY}
    model = stations(FORMULAS).run("dp_naive_bayes", "fit", fit)["model"]
    whole = meant(tables)
    for name in ("sex", "old"):
        expected = pd.crosstab(whole["ill"], whole[name]).to_numpy()
        np.testing.assert_array_equal(model["features"][name]["counts"], expected)
    stage = pd.crosstab(whole["ill"], whole["stage"])
    np.testing.assert_array_equal(model["features"]["stage"]["counts"], stage[[1, 2]].to_numpy())
    np.testing.assert_array_equal(model["features"]["stage"]["missing"], stage[9].to_numpy())
    for name, edges in (("age", [18, 40, 65, 100]), ("bmi", [10, 22.5, 35, 47.5, 60])):
        expected = [np.histogram(part[name], edges)[0] for _, part in whole.groupby("ill")]
        np.testing.assert_array_equal(model["features"][name]["counts"], expected)
        assert model["features"][name]["edges"] == edges


def test_a_model_is_scored_on_what_the_dictionary_means(stations):
    federation = stations()
    fit = {"label": "ill", "noise": "none", "features": ["sex", "old"], "dictionary": without("bmi")}
    model = federation.run("dp_naive_bayes", "fit", fit)["model"]
    scored = federation.run("dp_naive_bayes", "evaluate", {"model": model, "dictionary": without("bmi")})
    assert scored["n"] == 360


def test_a_result_that_is_used_brings_the_dictionary_of_its_fit(stations):
    place = stations(FORMULAS)
    fitted = place.fit("dp_naive_bayes", label="ill", noise="none", dictionary=STUDY)
    told = place.run("dp_naive_bayes", "evaluate", {"model": fitted, "noise": "none"})
    named = place.run("dp_naive_bayes", "evaluate", {"model": fitted["model"], "noise": "none", "dictionary": STUDY})
    assert told.scores == named.scores
    assert told.provenance.arguments["dictionary"] == STUDY
    other = {"columns": {name: entry for name, entry in STUDY["columns"].items() if name != "old"}}
    with pytest.raises(DataProblem, match="column 'old'"):
        place.run("dp_naive_bayes", "evaluate", {"model": fitted, "noise": "none", "dictionary": other})


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ({}, {"id_column": "person", "dictionary": {"columns": {}}}),
        ({"rows_aligned": True}, {"dictionary": {"columns": {}}}),
        ({"id_column": "other"}, {"dictionary": {"columns": {}}}),
        ({"dictionary": None}, {"id_column": "person"}),
    ],
)
def test_a_result_that_is_used_tells_how_records_are_matched(given, taken):
    kept = {"id_column": "person", "dictionary": {"columns": {}}, "label": "ill", "domain": {"omitted": "too long"}}
    fitted = Result({"model": {"nodes": []}, "privacy": {}, "provenance": {"arguments": kept}})
    assert task_of("vertibayes", "evaluate", {"model": fitted, **given}) == {"model": {"nodes": []}, **given, **taken}
    assert task_of("dp_naive_bayes", "evaluate", {"model": fitted})["dictionary"] == {"columns": {}}
    assert "id_column" not in task_of("dp_naive_bayes", "evaluate", {"model": fitted})
    assert task_of("vertibayes", "evaluate", {"model": fitted["model"]}) == {"model": {"nodes": []}}


def test_an_exact_answer_with_a_formula_needs_the_nodes_leave(stations):
    federation = stations()
    for study in (without(), without("bmi", subset=True)):
        with pytest.raises(PolicyError, match="FEDBAYES_ALLOW_FORMULAS"):
            federation.run("dp_naive_bayes", "fit", {"label": "ill", "noise": "none", "dictionary": study})
    fit = {"label": "ill", "epsilon": 1, "dictionary": STUDY}
    assert federation.run("dp_naive_bayes", "fit", fit)["privacy"]["differentially_private"]


@pytest.mark.parametrize(
    ("limit", "value"),
    [("denied_columns", "weight"), ("denied_columns", "bmi"), ("allowed_columns", "sex,age,stage,ill,height,bmi")],
)
def test_a_derived_column_is_as_forbidden_as_what_it_is_made_of(stations, limit, value):
    federation = stations({"b": {limit: value}})
    with pytest.raises(PolicyError, match="may not be used"):
        federation.run("dp_naive_bayes", "fit", {"label": "ill", "epsilon": 1, "dictionary": without()})


def test_a_subset_by_a_forbidden_column_is_refused(stations):
    study = {**without("bmi"), "subset": "weight > 70"}
    fit = {"label": "ill", "epsilon": 1, "features": ["sex"], "dictionary": study}
    with pytest.raises(PolicyError, match="weight"):
        stations({"a": {"denied_columns": "weight"}}).run("dp_naive_bayes", "fit", fit)


def test_a_subset_that_leaves_out_a_few_rows_gets_no_exact_answer(stations, tables):
    youngest = {
        name: np.sort(table["age"].to_numpy() + 1e-6 * np.arange(len(table)))[2] for name, table in tables.items()
    }

    def spread(name, table):
        return table.assign(spread=table["age"] + 1e-6 * np.arange(len(table)))

    study = {**without("bmi"), "subset": f"spread >= {min(youngest.values())}"}
    fit = {"label": "ill", "features": ["sex"], "dictionary": study}
    federation = stations(FORMULAS, spread)
    with pytest.raises(ThresholdError, match="leaves out fewer rows"):
        federation.run("dp_naive_bayes", "fit", {**fit, "noise": "none"})
    federation.run("dp_naive_bayes", "fit", {**fit, "epsilon": 1})


def test_a_subset_counts_for_the_fewest_rows_of_exact_answers_alone(stations):
    study = {**without("bmi"), "subset": "age >= 89"}
    asked = {"label": "ill", "features": ["sex"], "dictionary": study}
    with pytest.raises(ThresholdError, match="fewer rows"):
        stations({name: {"allow_formulas": "true"} for name in "abc"}).run(
            "dp_naive_bayes", "fit", {**asked, "noise": "none"}
        )
    assert stations().run("dp_naive_bayes", "fit", {**asked, "epsilon": 1})["privacy"]["differentially_private"]


def test_a_derived_name_that_the_table_has_is_refused(stations):
    federation = stations(change=lambda name, table: table.assign(bmi=1.0) if name == "b" else table)
    with pytest.raises(DataProblem, match="'bmi'"):
        federation.run("dp_naive_bayes", "fit", {"label": "ill", "epsilon": 1, "dictionary": without()})


ALIGNED = {"id_column": None, "rows_aligned": False}
UNIT = {"id_column": None, "unit": "row"}


@pytest.mark.parametrize(
    ("known", "given", "filled"),
    [
        (ALIGNED | {"split": "vertical"}, {}, True),
        (ALIGNED | {"split": "vertical"}, {"split": "vertical"}, True),
        (ALIGNED | {"split": "vertical"}, {"split": "horizontal"}, True),
        (ALIGNED | {"split": "horizontal"}, {}, True),
        (ALIGNED | UNIT | {"split": "vertical"}, {"split": "horizontal"}, False),
        (ALIGNED, {}, True),
        (ALIGNED, {"rows_aligned": True}, False),
        ({"id_column": None, "model": None}, {}, True),
        ({"id_column": None, "records": None}, {"records": {"x": [1]}}, False),
        (UNIT, {}, False),
        (UNIT, {"unit": "identifier"}, True),
        (UNIT | {"split": "horizontal"}, {"split": "vertical"}, False),
        (UNIT | {"split": "horizontal"}, {"split": "vertical", "unit": "identifier"}, True),
        (ALIGNED | UNIT | {"split": "horizontal"}, {}, False),
        (ALIGNED | UNIT | {"split": "vertical"}, {}, True),
        (ALIGNED | UNIT | {"split": "horizontal"}, {"split": "vertical"}, True),
        (ALIGNED | UNIT | {"model": None}, {"model": {"kind": "cox"}}, True),
        (ALIGNED | UNIT | {"model": None}, {"model": {"kind": "cox", "split": "horizontal"}}, False),
    ],
)
def test_the_identifier_is_given_where_records_are_matched_or_it_is_the_unit(known, given, filled):
    study = {"columns": {"patient": {"type": "identifier"}}}
    taken, _ = take(known, {**given, "dictionary": study})
    assert ("id_column" in taken) is filled


def test_a_domain_that_was_looked_at_is_told(stations):
    study = json.loads(json.dumps(without("bmi")))
    study["columns"]["sex"]["looked_at"] = True
    result = stations().run("dp_naive_bayes", "fit", {"label": "ill", "epsilon": 1, "dictionary": study})
    assert any("sex" in text and "looked_at" in text for text in result["warnings"])


def test_a_malformed_dictionary_is_an_argument_error(stations):
    federation = stations()
    for wrong, error in (
        ({"columns": {"a": {"type": "x"}}}, ArgumentError),
        ([], ArgumentError),
        ("study.yaml", UsageProblem),
    ):
        with pytest.raises(error, match="dictionary"):
            federation.run("dp_naive_bayes", "fit", {"label": "ill", "epsilon": 1, "dictionary": wrong})


def test_preflight_takes_a_dictionary(stations):
    federation = stations({"a": {"denied_columns": "weight"}})
    asked = {"function": "fit", "arguments": {"label": "ill", "epsilon": 1, "dictionary": without()}}
    stations_said = federation.run("dp_naive_bayes", "preflight", asked)["stations"]
    assert "weight" in stations_said["a"]
    assert stations_said["b"] is None


@pytest.mark.audit
def test_vertical_counts_with_recodes_and_cuts_equal_pandas(tables):
    whole = pd.concat(tables.values(), ignore_index=True).assign(patient=range(360))
    parties = by_columns(whole, {"l": ["sex", "stage"], "r": ["age", "ill"]}, ["patient"])
    study = without("bmi")
    study["columns"]["patient"] = {"type": "identifier"}
    with OneProcess(parties, helpers=["h"]) as federation:
        asked = {"columns": ["sex", "old"], "dictionary": study}
        model = federation.run("scalar_product", "contingency", asked)["model"]
        with pytest.raises(ArgumentError, match="subset"):
            federation.run("scalar_product", "contingency", {**asked, "dictionary": {**study, "subset": "age > 20"}})
    sex = whole["sex"].replace({"M": "male", "F": "female"})
    expected = pd.crosstab(sex, np.where(whole["age"] >= 65, "yes", "no")).to_numpy()
    np.testing.assert_array_equal(np.array(model["counts"])[:2, :2], expected)


def test_coded_integers_of_a_category_are_text_and_a_refused_value_is_missing():
    study = Dictionary.from_json({"columns": {"stage": {"type": "category", "categories": [1, 2, 3], "missing": [9]}}})
    table = pd.DataFrame({"stage": [1, 2, 9, 3], "age": [1, 2, 3, 4]})
    found, left_out = Source([table], {}, study).applied(["stage", "age"])
    assert [value if isinstance(value, str) else None for value in found["stage"]] == ["1", "2", None, "3"]
    assert found["age"].equals(table["age"])
    assert left_out == 0
    assert table["stage"].dtype.kind == "i"
