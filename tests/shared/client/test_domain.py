"""`fedbayes domain draft` and `check`, and `--dictionary`."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fedbayes.bayes.dictionaries.dictionary import Dictionary
from fedbayes.client.exits import UsageProblem
from fedbayes.client.inputs.dictionaries import dictionary_text, read_dictionary
from fedbayes.client.models.predictions import predict_table


@pytest.fixture
def files(tmp_path):
    one = pd.DataFrame(
        {
            "patient": [f"{k:04}" for k in range(40)],
            "sex": ["M", "F"] * 20,
            "age": [*range(20, 58), "NA", "NA"],
            "stage": [1, 2, 3, 1] * 10,
            "ill": ["yes", "no", "Yes", "no"] * 10,
            "state": ["None", "some"] * 20,
            "weight": [60.5 + k for k in range(40)],
        }
    )
    one.to_csv(tmp_path / "one.csv", index=False)
    one.assign(sex=["male", "F"] * 20, age=[17, *range(60, 99)]).to_csv(tmp_path / "two.csv", index=False)
    return ["one.csv", "two.csv"]


def test_a_draft_says_what_was_looked_at_and_fits_its_files(command, files, tmp_path):
    assert command("domain", "draft", *files, "--out", "study.yaml")[0] == 0
    text = (tmp_path / "study.yaml").read_text()
    assert "not public" in text
    columns = read_dictionary(tmp_path / "study.yaml")["columns"]
    assert columns["patient"] == {"type": "identifier"}
    assert columns["sex"] == {"type": "category", "categories": ["F", "M", "male"], "looked_at": True}
    assert columns["age"] == {"type": "integer", "bounds": [17, 98], "looked_at": True}
    assert columns["stage"]["type"] == "integer"
    assert columns["ill"]["recode"] == {"Yes": "yes"}
    assert columns["state"]["categories"] == ["None", "some"]
    assert columns["weight"]["type"] == "number"
    notes = {line.split(":")[0].strip(): line for line in text.splitlines() if "  # " in line}
    assert set(notes) == {"sex", "stage", "state"}
    assert "recode" in notes["sex"]
    code, out, _ = command("domain", "check", "study.yaml", *files)
    assert code == 0
    assert out.splitlines() == [
        "one.csv fits: 7 columns, 40 rows; missing: age 2",
        "two.csv fits: 7 columns, 40 rows",
    ]
    assert command("domain", "draft", *files, "--out", "study.json")[0] == 0
    assert read_dictionary(tmp_path / "study.json")["columns"] == columns


@pytest.mark.parametrize(("separator", "point"), [(",", "."), (";", ",")])
def test_a_draft_knows_numbers_with_a_text_for_gaps_and_constants(command, tmp_path, separator, point):
    measured = [f"{k % 47}{point}{k % 10}" if k % 7 else "k.A." for k in range(80)]
    lines = ["crp", "land"], *([cell, "DE"] for cell in measured)
    (tmp_path / "lab.csv").write_text("\n".join(separator.join(line) for line in lines))
    assert command("domain", "draft", "lab.csv", "--out", "lab.yaml")[0] == 0
    crp = read_dictionary(tmp_path / "lab.yaml")["columns"]["crp"]
    assert crp == {"type": "number", "bounds": [0.7, 46.6], "missing": ["k.A."], "looked_at": True}
    notes = [line for line in (tmp_path / "lab.yaml").read_text().splitlines() if "  # " in line]
    assert "k.A., taken as missing" in notes[0]
    assert "the same in every record" in notes[1]
    code, out, _ = command("domain", "check", "lab.yaml", "lab.csv", "--json")
    assert code == 0
    assert json.loads(out)["lab.csv"][0]["missing"] == measured.count("k.A.")


def test_a_draft_says_which_codes_there_are_and_which_columns_are_not_everywhere(command, tmp_path):
    rows = range(30)
    common = {"stage": [9 if k % 7 == 0 else k % 3 + 1 for k in rows], "age": [20 + k for k in rows], "sex": ["m"] * 30}
    pd.DataFrame({**common, "smoker": [k % 2 for k in rows]}).to_csv("a.csv", index=False)
    pd.DataFrame(common).to_csv("b.csv", index=False)
    code, out, _ = command("domain", "draft", "a.csv", "b.csv")
    notes = {line.split(":")[0].strip(): line.partition("  # ")[2] for line in out.splitlines()}
    assert code == 0
    assert "(1, 2, 3, 9)" in notes["stage"]
    assert "missing: [9]" in notes["stage"]
    assert "in 1 of 2 files" in notes["smoker"]
    assert not notes["age"]
    codes = {"area": [1_234_567 + k % 3 for k in rows], "grade": [-9 if k % 7 == 0 else k % 3 for k in rows]}
    pd.DataFrame(codes).to_csv("d.csv", index=False)
    assert "(1234567, 1234568, 1234569)" in (drafted := command("domain", "draft", "d.csv")[1])
    assert "if -9 means missing, write missing: [-9]" in drafted
    pd.DataFrame({"days": rows}).to_csv("c.csv", index=False)  # other columns of the same people
    assert " of 2 files" not in command("domain", "draft", "b.csv", "c.csv")[1]


def test_a_draft_knows_identifiers_dates_and_codes_of_gaps(command, tmp_path):
    rows = range(40)
    table = pd.DataFrame(
        {
            "kennung": [f"{k:06}" for k in rows],
            "Patienten-Nr": [2000 + k for k in rows],
            "crp": [999 if k % 8 == 0 else 1 + k / 20 for k in rows],
            "children": [-1 if k == 3 else k % 12 for k in rows],
            "nines": [90 + k % 12 for k in rows],
            "seen": [f"{1 + k % 28:02}.03.2021" for k in rows],
            "born": [f"19{50 + k}-01-31" for k in rows],
        }
    )
    table.to_csv(tmp_path / "t.csv", index=False)
    code, out, err = command("domain", "draft", "t.csv")
    assert (code, err) == (0, "")
    assert command("domain", "draft", "t.csv", "--out", "-") == (code, out, err)
    lines = {line.split(":")[0].strip(): line for line in out.splitlines() if line.startswith("  ")}
    assert "type: identifier" in lines["kennung"]
    assert "type: identifier" in lines["Patienten-Nr"]
    assert "missing: [999]" in lines["crp"]
    assert "missing: [-1]" in lines["children"]
    assert "#" not in lines["nines"]
    assert all("dates: no method takes them" in lines[name] for name in ("seen", "born"))


def test_codes_with_zeros_in_front_are_no_numbers_though_one_is_there_twice(command, tmp_path):
    codes = [f"{k:07}" for k in (*range(60), 7)]
    pd.DataFrame({"Patientnr": codes, "x": range(61)}).to_csv(tmp_path / "p.csv", index=False)
    code, out, _ = command("domain", "draft", "p.csv")
    assert code == 0
    line = next(line for line in out.splitlines() if "Patientnr" in line)
    assert "{type: identifier}" in line
    assert "some of them twice" in line
    (tmp_path / "d.yaml").write_text("columns:\n  Patientnr: {type: identifier}\n")
    code, out, _ = command("domain", "check", "d.yaml", "p.csv", "--json")
    assert code == 1
    assert json.loads(out)["p.csv"][0]["remedy"].endswith("keep one row of each")


def test_files_with_other_columns_of_the_same_people_fit_though_each_lacks_those_of_the_others(command, tmp_path):
    (tmp_path / "one.csv").write_text("id,age\n1,40\n2,70\n")
    (tmp_path / "two.csv").write_text("id,stage\n1,I\n2,II\n")
    study = """columns:
  id: {type: identifier}
  age: {type: integer, bounds: [0, 99]}
  old: {type: category, categories: [n, y], cut: {column: age, at: [65]}}
  stage: {type: category, categories: [I, II]}
"""
    (tmp_path / "d.yaml").write_text(study)
    code, out, _ = command("domain", "check", "d.yaml", "one.csv", "two.csv")
    assert (code, out.splitlines()) == (0, ["one.csv fits: 3 columns, 2 rows", "two.csv fits: 2 columns, 2 rows"])
    (tmp_path / "three.csv").write_text("id,age,stage\n1,40,I\n2,70,II\n")  # now columns are at two: whole records
    assert command("domain", "check", "d.yaml", "one.csv", "three.csv")[0] == 1
    (tmp_path / "d.yaml").write_text(study + "  bmi: {type: number, bounds: [9, 99]}\n")  # nobody has it
    code, out, _ = command("domain", "check", "d.yaml", "one.csv", "two.csv", "--json")
    assert code == 1
    assert [one["column"] for one in json.loads(out)["two.csv"] if one["remedy"]] == ["bmi"]


def test_a_name_that_the_dictionary_has_too_is_not_taken_for_a_misspelt_one(command, tmp_path):
    (tmp_path / "one.csv").write_text("stage,agee\n1,2\n")
    (tmp_path / "d.yaml").write_text(
        "columns:\n  age: {type: integer, bounds: [0, 9]}\n  stage: {type: integer, bounds: [0, 9]}\n"
    )
    found = json.loads(command("domain", "check", "d.yaml", "one.csv", "--json")[1])["one.csv"]
    assert found[0]["remedy"] == "column 'age' is not in the file (did you mean 'agee'?)"
    (tmp_path / "one.csv").write_text("stage\n1\n")
    found = json.loads(command("domain", "check", "d.yaml", "one.csv", "--json")[1])["one.csv"]
    assert found[0]["remedy"] == "column 'age' is not in the file: leave it or the file out of the task"


def test_free_text_is_no_identifier(command, tmp_path):
    words = [f"seen by Dr {k}" for k in range(30)]
    pd.DataFrame({"nr": [f"{k:05d}" for k in range(30)], "remark": words}).to_csv(tmp_path / "t.csv", index=False)
    out = command("domain", "draft", "t.csv")[1]
    assert "nr: {type: identifier}" in out
    assert "remark: {type: category}  # free text: no method takes it" in out


def test_a_dictionary_that_is_there_is_replaced_by_force_alone(command, files, tmp_path):
    (tmp_path / "mine.yaml").write_text("edited: by hand")
    code, _, err = command("domain", "draft", *files, "--out", "mine.yaml")
    assert code == 2
    assert "--force" in err
    assert (tmp_path / "mine.yaml").read_text() == "edited: by hand"
    assert command("domain", "draft", *files, "--out", "mine.yaml", "--force")[0] == 0
    assert "columns:" in (tmp_path / "mine.yaml").read_text()


def test_decimal_commas_are_told_as_such(command, tmp_path):
    pd.DataFrame({"crp": [f"{k},{k % 10}" for k in range(30)]}).to_csv(tmp_path / "t.csv", index=False)
    assert "decimal comma" in command("domain", "draft", "t.csv")[1]
    (tmp_path / "s.json").write_text(json.dumps({"columns": {"crp": {"type": "number", "bounds": [0, 99]}}}))
    code, out, _ = command("domain", "check", "s.json", "t.csv", "--json")
    assert code == 1
    assert "decimal comma" in json.loads(out)["t.csv"][0]["remedy"]


def test_an_export_of_a_hospital_is_drafted_as_stations_read_it(command, tmp_path):
    frame = pd.DataFrame(
        {"Patienten-Nr.": [f"{k * 37:05d}" for k in range(30)], "Größe (cm)": [f"1{k},5" for k in range(50, 80)]}
    )
    frame.to_csv(tmp_path / "t.csv", index=False, sep=";", encoding="utf-8-sig")
    frame.assign(**{"Größe (cm)": np.arange(150, 180) + 0.5}).to_excel(tmp_path / "t.xlsx", index=False)
    for file in ("t.csv", "t.xlsx"):
        text = command("domain", "draft", file)[1]
        assert "Patienten-Nr.: {type: identifier}" in text
        assert "Größe (cm): {type: number, bounds: [150.5, 179.5], looked_at: true}" in text


def test_check_counts_what_does_not_fit_and_says_what_helps(command, files, tmp_path):
    (tmp_path / "study.yaml").write_text(
        """
columns:
  patient: {type: identifier}
  sex: {type: category, categories: [female, male], recode: {M: male}}
  age: {type: integer, bounds: [18, 90]}
  ill: {type: category, categories: [no, yes], recode: {Yes: yes}}
  gone: {type: number, bounds: [0, 1]}
  old: {type: category, categories: [no, yes], cut: {column: age, at: [65]}}
"""
    )
    code, out, err = command("domain", "check", "study.yaml", *files, "--json")
    assert code == 1
    assert "Traceback" not in err
    found = {path: {entry["column"]: entry for entry in entries} for path, entries in json.loads(out).items()}
    one, two = found["one.csv"], found["two.csv"]
    assert (one["sex"]["unknown"], two["sex"]["unknown"]) == (20, 20)
    assert "recode" in one["sex"]["remedy"]
    assert (one["age"]["missing"], one["age"]["outside"], two["age"]["outside"]) == (2, 0, 9)
    assert one["ill"]["remedy"] == ""
    assert "not in the file" in one["gone"]["remedy"]
    assert one["old"] == {"column": "old", "rows": 40, "missing": 2, "unknown": 0, "outside": 0, "remedy": ""}
    assert one["patient"]["remedy"] == ""


def test_check_prints_a_table_of_the_columns_that_do_not_fit_alone(command, files, tmp_path):
    columns = {"age": {"type": "integer", "bounds": [18, 98]}, "weight": {"type": "number"}}
    (tmp_path / "study.json").write_text(json.dumps({"columns": columns}))
    code, out, _ = command("domain", "check", "study.json", *files)
    assert code == 1
    assert "one.csv fits: 2 columns, 40 rows; missing: age 2" in out.splitlines()
    assert "two.csv does not fit in 1 of 2 columns, 40 rows" in out.splitlines()
    assert out.count("remedy") == 1
    assert "age" in out
    assert "weight" not in out


def test_check_names_the_values_that_do_not_fit_and_takes_codes_for_gaps(command, tmp_path):
    frame = pd.DataFrame({"Sex": ["F"] * 30, "bmi": [25.5] * 27 + [999] * 3, "cm": [150] * 29 + [1500]})
    frame["land"] = ["NL"] * 15 + ["BE"] * 9 + ["\x1b[31mred"] * 3 + ["DE"] * 2 + ["FR"]
    frame["age"] = [str(k) for k in range(50, 79)] + ["n/a"]
    frame.to_csv(tmp_path / "t.csv", index=False)
    number = {"type": "number", "bounds": [10, 200]}
    columns = {"sex": {"type": "category", "categories": ["F"]}, "land": {"type": "category", "categories": ["NL"]}}
    columns |= {"bmi": number, "cm": number, "age": {**number, "missing": ["NA"]}}
    (tmp_path / "s.json").write_text(json.dumps({"columns": columns}))
    code, out, _ = command("domain", "check", "s.json", "t.csv", "--json")
    assert code == 1
    assert {entry["column"]: entry["remedy"] for entry in json.loads(out)["t.csv"]} == {
        "sex": "column 'sex' is not in the file (did you mean 'Sex'?)",
        "land": "'BE', '\\x1b[31mred', 'DE' and others: add categories, a recode or missing",
        "bmi": "'999': declare as missing if that is meant, else widen the bounds",
        "cm": "widen the bounds, or correct the unit",
        "age": "'n/a': declare as missing, or recode",
    }
    assert "\x1b" not in command("domain", "check", "s.json", "t.csv")[1]


def test_check_looks_at_the_rows_of_the_subset_only(command, files, tmp_path):
    content = {"columns": {"age": {"type": "integer", "bounds": [18, 98]}}, "subset": "age >= 18"}
    (tmp_path / "study.json").write_text(json.dumps(content))
    code, out, _ = command("domain", "check", "study.json", *files)
    assert code == 0
    assert "38" in out


def test_yaml_means_what_is_written(tmp_path):
    (tmp_path / "s.yaml").write_text(
        "columns:\n  a: {categories: [no, yes, on, 007, 2020-01-01, 12:30, true]}\n  b: {categories: {1: one, no: two}}\n"
        "  c: {type: category, recode: {1: a, true: b, 0: c, False: d, 007: f}}\n"
    )
    columns = read_dictionary(tmp_path / "s.yaml")["columns"]
    assert columns["a"]["categories"] == ["no", "yes", "on", "007", "2020-01-01", "12:30", True]
    assert columns["b"]["categories"] == {"1": "one", "no": "two"}
    assert columns["c"]["recode"] == {"1": "a", "true": "b", "0": "c", "false": "d", "007": "f"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("columns: {a: {type: x}}", "type"),
        ("columns: {a: {type: number}, a: {type: number}}", "twice"),
        ("columns: !!map [a, b]", "a map needs names"),
        ("columns: {a: {categories: {1: one, 1.0: two}}}", "'1' is there twice"),
        ("columns: {a: {type: category, recode: {true: a, True: b}}}", "'true' is there twice"),
        ("columns: {a: {type: category, recode: {[1, 2]: a}}}", "must be a text"),
        ("columns: [", "line"),
        ("!!python/object/apply:os.system [ls]", "YAML"),
        ("- 1", "columns"),
    ],
)
def test_a_file_that_is_no_dictionary_names_the_remedy(tmp_path, text, told):
    (tmp_path / "s.yaml").write_text(text)
    with pytest.raises(UsageProblem, match=told):
        read_dictionary(tmp_path / "s.yaml")


def test_yaml_that_is_written_reads_back(tmp_path):
    content = {"missing": ["NA", ""], "columns": {"a b: c": {"type": "category", "categories": ["no", "#x", "é", 1]}}}
    (tmp_path / "s.yaml").write_text(dictionary_text(content, {"a b: c": "look"}, "head"), encoding="utf-8")
    assert read_dictionary(tmp_path / "s.yaml") == content
    Dictionary.from_json(content)


def test_a_run_takes_a_dictionary(command, parties, tmp_path):
    study = {"columns": {"z": {"type": "integer", "derive": "2 * x"}}}
    (tmp_path / "s.json").write_text(json.dumps(study))
    run = (
        "run",
        "client_toy",
        "fit",
        *parties,
        "--arg",
        "column=z",
        "--quiet",
        "--out",
        "r.json",
        "--dictionary",
        "s.json",
    )
    assert command(*run)[0] == 3
    assert command(*run, "--policy", "allow_formulas=true")[0] == 0
    assert json.loads((tmp_path / "r.json").read_text())["model"] == {"rows": 60, "sum": 1140}
    assert command(*run, "--arg", "dictionary={}")[0] == 2
    assert command(*run[:-1], "none.yaml")[0] == 2


def test_the_page_runs_as_it_stands(command, tmp_path):
    page = (Path(__file__).resolve().parents[3] / "docs/data-dictionary.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(yaml|console)\n(.*?)```", page, re.S)
    random = np.random.default_rng(1)
    for name in ("north", "south", "west"):
        rows = 150
        age = random.integers(10, 90, rows)
        table = {"patient": range(rows), "sex": random.choice(["M", "female", "male"], rows), "age": age}
        table |= {"weight": random.integers(50, 100, rows), "height": random.integers(150, 190, rows)}
        table |= {
            "stage": random.choice([1, 2, 9], rows),
            "ill": np.where(random.random(rows) < age / 100, "yes", "no"),
        }
        pd.DataFrame(table).to_csv(tmp_path / f"{name}.csv", index=False)
    for language, text in blocks:
        if language == "yaml":
            (tmp_path / "study.yaml").write_text(text)
            continue
        for line in text.replace("\\\n", " ").splitlines():
            program, *words = shlex.split(line.removeprefix("$ "))
            assert program == "fedbayes"
            code, _, err = command(*words)
            assert code == 0, err
    fit = json.loads((tmp_path / "fit.json").read_text())
    assert set(fit["model"]["features"]) == {"sex", "age", "stage", "bmi", "old"}
    raw = pd.read_csv(tmp_path / "north.csv")
    changed = raw.assign(
        sex=raw["sex"].replace({"M": "male"}),
        stage=raw["stage"].where(raw["stage"] != 9),
        bmi=raw["weight"] / (raw["height"] / 100) ** 2,
        old=np.where(raw["age"] >= 65, "yes", "no"),
    )
    expected = predict_table(fit["model"], changed, None, None)
    assert command("predict", "fit.json", "north.csv", "--out", "p.csv")[0] == 0
    found = pd.read_csv(tmp_path / "p.csv")[list(expected.columns)]
    pd.testing.assert_frame_equal(found, expected, check_dtype=False, check_exact=False, rtol=1e-9)


@pytest.mark.parametrize(
    "name", ["a\x85b", "a\u2028b", "\u202ea", "\x9b31m", "\x1b[31m", "a: b # c", "!!python/name:os.system", "*a"]
)
def test_a_draft_reads_back_whatever_names_hold_and_no_terminal_obeys_it(command, tmp_path, name):
    pd.DataFrame({name: [f"{name}{row % 2}" for row in range(40)], "b": range(40)}).to_csv(
        tmp_path / "h.csv", index=False
    )
    code, out, err = command("domain", "draft", "h.csv")
    assert code == 0, err
    assert all(one.isprintable() or one == "\n" for one in out + err)
    (tmp_path / "d.yaml").write_text(out)
    read = read_dictionary(tmp_path / "d.yaml")["columns"]
    assert list(read) == [name, "b"]
    assert read[name]["categories"] == [f"{name}0", f"{name}1"]
