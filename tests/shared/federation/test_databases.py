"""SQL and OMOP databases: what the administrator names is read, and nothing else; SQLite always, PostgreSQL where it is installed."""

import json
import os
import re
import shlex
import shutil
import socket
import sqlite3
import subprocess
from contextlib import nullcontext
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess

from fedbayes.bayes.values.missing import Reading
from fedbayes.client.cli import invoke
from fedbayes.federation.errors import DataProblem, PolicyError
from fedbayes.federation.tables import databases
from fedbayes.federation.tables.database_reader import read_database
from fedbayes.federation.tables.databases import Database
from fedbayes.federation.tables.omop import query_of
from fedbayes.federation.tables.reading import Source

PAGE = Path(__file__).resolve().parents[3] / "docs/sources.md"
COHORT = json.loads(re.findall(r"```json\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)[0])
TABLES = {
    "person": "person_id, gender_concept_id, year_of_birth",
    "condition_occurrence": "person_id, condition_concept_id",
    "drug_exposure": "person_id, drug_concept_id",
    "measurement": "measurement_id, person_id, measurement_concept_id, measurement_date, value_as_number",
    "death": "person_id",
    "cohort": "cohort_definition_id, subject_id",
    "concept_ancestor": "ancestor_concept_id, descendant_concept_id",
}


def made(seed: int, persons: int = 80) -> dict[str, pd.DataFrame]:
    """A small common data model."""
    random = np.random.default_rng(seed)
    several = random.integers(0, persons, 3 * persons)
    dates = pd.to_datetime("2019-01-01") + pd.to_timedelta(random.integers(0, 300, 3 * persons), "D")
    values = pd.Series(random.normal(6, 1, 3 * persons).round(2)).where(random.random(3 * persons) > 0.1)
    frames = {
        "person": [range(persons), random.choice([8507, 8532, 0], persons), random.integers(1930, 2000, persons)],
        "condition_occurrence": [several, random.choice([201820, 443238, 4], 3 * persons)],
        "drug_exposure": [several[:persons], random.choice([1503297, 5], persons)],
        "measurement": [
            range(3 * persons),
            several,
            random.choice([3004410, 6], 3 * persons),
            dates.strftime("%Y-%m-%d"),
            values,
        ],
        "death": [random.choice(persons, 10, replace=False)],
        "cohort": [np.where(np.arange(persons) % 5 == 0, 8, 7), range(persons)],
        "concept_ancestor": [[201820], [443238]],
    }
    return {
        name: pd.DataFrame(dict(zip(TABLES[name].split(", "), columns, strict=True)))
        for name, columns in frames.items()
    }


def expected(model: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """The page's cohort by pandas."""
    person = model["person"].set_index("person_id")
    person = person[person.index.isin(model["cohort"].query("cohort_definition_id == 7")["subject_id"])]
    who = person.index

    def has(table: str, column: str, concepts: list[int]) -> np.ndarray:
        found = model[table][model[table][column].isin(concepts)]["person_id"]
        return np.where(who.isin(found), "yes", "no")

    measured = model["measurement"].query("measurement_concept_id == 3004410").dropna()
    last = measured.sort_values(["measurement_date", "measurement_id"]).groupby("person_id")["value_as_number"].last()
    return pd.DataFrame(
        {
            "person": who,
            "sex": person["gender_concept_id"].map({8507: "male", 8532: "female"}).to_numpy(),
            "age": 2020 - person["year_of_birth"].to_numpy(),
            "diabetes": has("condition_occurrence", "condition_concept_id", [201820, 443238]),
            "metformin": has("drug_exposure", "drug_concept_id", [1503297]),
            "hba1c": last.reindex(who).to_numpy(),
            "died": np.where(who.isin(model["death"]["person_id"]), "yes", "no"),
        }
    )


def sqlite(path: Path, model: dict[str, pd.DataFrame]) -> Path:
    with sqlite3.connect(path) as connection:
        for name, frame in model.items():
            frame.to_sql(name, connection, index=False)
        connection.execute("CREATE VIEW study AS SELECT person_id, year_of_birth FROM person")
    connection.close()
    return path


@pytest.fixture
def node(tmp_path, monkeypatch):
    """Return ``source(uri, cohort)`` of a node with such a database and the page's cohort file."""
    (tmp_path / "cohort.json").write_text(json.dumps(COHORT))
    (tmp_path / "cohort.sql").write_text(
        "SELECT person_id AS \"a b\", ':x' AS c FROM person WHERE year_of_birth < 1960;\n"
    )

    def source(uri, cohort, kind="sql", **environment):
        monkeypatch.setenv("USER_REQUESTED_DATABASE_LABELS", "default")
        monkeypatch.setenv("DEFAULT_DATABASE_URI", str(uri))
        monkeypatch.setenv("DEFAULT_DATABASE_TYPE", kind)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        return Source(None, {}, None, cohort, tmp_path)

    return source


def alike(found: pd.DataFrame, wanted: pd.DataFrame, key: str) -> None:
    found = found.sort_values(key).reset_index(drop=True)
    wanted = wanted.sort_values(key).reset_index(drop=True)
    assert list(found.columns) == list(wanted.columns)
    for name in wanted:
        one = found[name].astype(object).where(found[name].notna(), None).tolist()
        other = wanted[name].astype(object).where(wanted[name].notna(), None).tolist()
        assert one == other, name


def test_an_omop_cohort_is_what_pandas_makes_of_the_tables(node, tmp_path):
    model = made(0)
    source = node(sqlite(tmp_path / "cdm.sqlite", model), "cohort.json", "omop")
    assert source.names == list(COHORT["columns"])
    alike(source.frame(), expected(model), "person")


@pytest.mark.parametrize("take", ["first", "mean", "least", "largest"])
def test_a_measurement_is_summed_up_as_asked(node, tmp_path, take):
    model = made(1)
    content = {"columns": {"person": "identifier", "m": {"measurement": [3004410], "take": take}}}
    (tmp_path / "cohort.json").write_text(json.dumps(content))
    found = node(sqlite(tmp_path / "cdm.sqlite", model), "cohort.json").frame().set_index("person")["m"]
    measured = model["measurement"].query("measurement_concept_id == 3004410").dropna()
    measured = measured.sort_values(["measurement_date", "measurement_id"])
    grouped = measured.groupby("person_id")["value_as_number"]
    wanted = getattr(grouped, {"least": "min", "largest": "max"}.get(take, take))().reindex(found.index)
    np.testing.assert_allclose(found.astype(float), wanted, rtol=1e-12)


def test_a_view_and_a_query_file_are_read(node, tmp_path):
    model = made(2)
    file = sqlite(tmp_path / "cdm.sqlite", model)
    source = node(file, "study")
    assert source.names == ["person_id", "year_of_birth"]
    alike(source.frame(), model["person"][["person_id", "year_of_birth"]], "person_id")
    old = model["person"].query("year_of_birth < 1960")
    found = node(f"sqlite:///{file}", "cohort.sql").frame()
    assert sorted(found["a b"]) == sorted(old["person_id"])
    assert set(found["c"]) == {":x"}


@pytest.mark.parametrize(
    "written",
    [
        "SELECT person_id FROM person;",
        "SELECT person_id FROM person ;\n\n",
        "-- everybody\nSELECT person_id FROM person -- in the study",
        "SELECT person_id FROM person; -- everybody\n-- in the study\n",
        "\ufeffSELECT person_id FROM person",
        "SELECT person_id FROM person WHERE ';' <> ':x'",
        "SELECT person_id -- ; " + "-" * 80 + "\nFROM person",
    ],
)
def test_a_query_is_read_as_editors_write_it(node, tmp_path, written):
    file = sqlite(tmp_path / "cdm.sqlite", made(10))
    source = node(file, "cohort.sql")
    (tmp_path / "cohort.sql").write_text(written, encoding="utf-8")
    source = node(file, "cohort.sql")
    assert source.names == ["person_id"]
    assert sorted(source.frame()["person_id"]) == list(range(80))


def test_tables_and_columns_may_have_names_in_any_language(node, tmp_path):
    file = sqlite(tmp_path / "cdm.sqlite", made(11))
    with sqlite3.connect(file) as connection:
        connection.execute('CREATE VIEW "Übersicht" AS SELECT year_of_birth AS "Geburtsjahr (für Ärzte)" FROM person')
    connection.close()
    found = node(file, "Übersicht").frame()
    assert list(found.columns) == ["Geburtsjahr (für Ärzte)"]
    assert len(found) == 80


def test_bytes_are_the_text_that_they_are(node, tmp_path):
    """PostgreSQL's driver gave views of memory, whose address was the cell: another one each time the table was read."""
    file = tmp_path / "bytes.sqlite"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE study (code BLOB)")
        connection.executemany(
            "INSERT INTO study VALUES (?)", [("é".encode(),), (b"\xff",), (None,), (memoryview(b"b"),), (b"\xfe",)]
        )
    connection.close()
    found = node(file, "study").frame()["code"]
    assert sorted(found.dropna()) == ["\\xfe", "\\xff", "b", "é"], "two that are no text stay two"
    assert databases._plain(memoryview(b"b")) == "b"


def test_an_administrator_is_told_whether_the_address_or_the_cohort_is_wrong(node, tmp_path):
    (tmp_path / "text.sqlite").write_text("no database")
    for uri in (tmp_path / "none.sqlite", "oracle://user:word@host/base"):
        with pytest.raises(DataProblem, match=r"cannot be opened; .* uri, user and password") as caught:
            node(uri, "study").frame()
        assert "word@" not in str(caught.value)
    for uri in (sqlite(tmp_path / "cdm.sqlite", made(12)), tmp_path / "text.sqlite"):
        with pytest.raises(DataProblem, match="what FEDBAYES_COHORT names"):
            node(uri, "Study_of_nobody").frame()


def test_what_the_administrator_did_not_name_is_not_read(node, tmp_path):
    file = sqlite(tmp_path / "cdm.sqlite", made(3))
    with pytest.raises(PolicyError, match="FEDBAYES_COHORT"):
        node(file, None).frame()
    for cohort in ("person; DROP TABLE person", '"person"', "none.sql", "none.json", "per son"):
        with pytest.raises(PolicyError, match="FEDBAYES_COHORT"):
            node(file, cohort).frame()
    with pytest.raises(DataProblem, match="cannot be read"):
        node(file, "no_such_view").frame()
    assert len(node(file, "study").frame()) == 80


def test_a_researchers_query_is_refused(node, tmp_path):
    file = sqlite(tmp_path / "cdm.sqlite", made(4))
    with pytest.raises(PolicyError, match="leave the query out"):
        node(file, "study", DEFAULT_QUERY="SELECT * FROM death").frame()
    assert len(node(file, "study", DEFAULT_QUERY=" study ").frame()) == 80


def test_a_database_is_only_read(node, tmp_path):
    file = sqlite(tmp_path / "cdm.sqlite", made(5))
    (tmp_path / "cohort.sql").write_text("SELECT 1 AS a) AS x; DROP TABLE person; --")
    with pytest.raises(DataProblem):
        node(file, "cohort.sql").frame()
    with sqlite3.connect(file) as connection:
        assert connection.execute("SELECT count(*) FROM person").fetchone() == (80,)


def test_a_kind_that_nobody_knows_is_refused(node, tmp_path):
    with pytest.raises(DataProblem, match="kind"):
        node(sqlite(tmp_path / "cdm.sqlite", made(6)), "study", "sparql").frame()


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"columns": {}},
        {"columns": {"a": "person_id; --"}},
        {"columns": {'a"': "death"}},
        {"columns": {"a": {"condition": ["1) OR 1=1"]}}},
        {"columns": {"a": {"condition": []}}},
        {"columns": {"a": {"condition": [1], "where": "1=1"}}},
        {"columns": {"a": {"gender": {"8507": "it's"}}}},
        {"columns": {"a": {"measurement": [1], "take": "any"}}},
        {"columns": {"a": "death"}, "cohort": "1 OR 1=1"},
        {"columns": {"a": "death"}, "sql": "x"},
    ],
)
def test_a_cohort_file_outside_the_format_is_refused(content):
    with pytest.raises(ValueError, match="cohort file"):
        query_of(content)


def test_an_omop_file_becomes_a_fit_without_code(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    models = {}
    for seed, name in enumerate("abc"):
        models[name] = made(seed)
        (tmp_path / name).mkdir()
        (tmp_path / name / "cohort.json").write_text(json.dumps(COHORT))
        sqlite(tmp_path / f"{name}.sqlite", models[name])
    (tmp_path / "study.yaml").write_text(
        """
columns:
  sex: {type: category, categories: [female, male]}
  age: {type: integer, bounds: [18, 100]}
  hba1c: {type: number, bounds: [3, 12]}
  diabetes: {type: category, categories: [no, yes]}
"""
    )
    line = re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)[0]
    program, *words = shlex.split(line.replace("\\\n", " ").removeprefix("$ "))
    assert program == "fedbayes"
    words[words.index("epsilon=1")] = "noise=none"
    assert invoke([*words, "--quiet"]) == 0
    model = json.loads((tmp_path / "fit.json").read_text())["model"]
    whole = pd.concat([expected(one) for one in models.values()])
    counts = pd.crosstab(whole["diabetes"], whole["sex"])[["female", "male"]].to_numpy()
    np.testing.assert_array_equal(model["features"]["sex"]["counts"], counts)
    parties = {name: {"default": tmp_path / f"{name}.sqlite"} for name in "abc"}
    with OneProcess(parties) as federation, pytest.raises(PolicyError, match="FEDBAYES_COHORT"):
        federation.run("dp_naive_bayes", "fit", {"label": "diabetes", "epsilon": 1, "domain": model["domain"]})


def binaries() -> Path | None:
    """Where PostgreSQL's programs are, as Debian's packages put them."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


@pytest.fixture
def postgres(tmp_path):
    """A PostgreSQL of its own that listens at a port of this machine; its address without user and password."""
    programs = binaries()
    if programs is None:
        pytest.skip("PostgreSQL is not installed (Debian: postgresql)")
    home = Path(
        subprocess.run(
            ["mktemp", "-d", "/tmp/fedbayes-pg-XXXXXX"], capture_output=True, text=True, check=True
        ).stdout.strip()
    )
    user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.getuid() == 0 else []
    if user:
        shutil.chown(home, "nobody", "nogroup")
    (home / "pw").write_text("secret word\n")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    setup = ["-D", home / "data", "-U", "reader", "-A", "scram-sha-256", f"--pwfile={home / 'pw'}", "--no-sync"]
    subprocess.run([*user, programs / "initdb", *setup], check=True, capture_output=True, cwd=home)
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={home} -c fsync=off"
    control = [*user, programs / "pg_ctl", "-D", home / "data", "-w", "-l", home / "log"]
    subprocess.run([*control, "-o", options, "start"], check=True, capture_output=True, cwd=home)
    yield f"postgresql://127.0.0.1:{port}/postgres"
    subprocess.run([*control, "-m", "immediate", "stop"], check=True, capture_output=True, cwd=home)
    shutil.rmtree(home, ignore_errors=True)


def test_postgresql_gives_the_same(node, postgres, tmp_path):
    import sqlalchemy

    model = made(7)
    engine = sqlalchemy.create_engine(
        sqlalchemy.engine.make_url(postgres).set(username="reader", password="secret word")
    )
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text("CREATE SCHEMA cdm"))
        for name, frame in model.items():
            kinds = [
                "numeric" if c == "value_as_number" else "date" if c.endswith("date") else "integer" for c in frame
            ]
            columns = ", ".join(f"{column} {kind}" for column, kind in zip(frame, kinds, strict=True))
            connection.execute(sqlalchemy.text(f"CREATE TABLE cdm.{name} ({columns})"))
            rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
            marks = ", ".join(f":{column}" for column in frame)
            connection.execute(sqlalchemy.text(f"INSERT INTO cdm.{name} VALUES ({marks})"), rows)
    engine.dispose()
    access = {"DEFAULT_DB_PARAM_USER": "reader", "DEFAULT_DB_PARAM_PASSWORD": "secret word"}
    source = node(postgres, "cohort.json", "omop", DEFAULT_DB_PARAM_CDM_SCHEMA="cdm", **access)
    assert source.present
    alike(source.frame(), expected(model), "person")
    assert len(node(postgres, "cdm.death", **access).frame()) == 10
    (tmp_path / "cohort.sql").write_text("""SELECT 1 AS "HbA1c %", 2 AS "50%%", 3 AS "%s:x", 4 AS "a""b", '5%' AS c""")
    odd = node(postgres, "cohort.sql", **access)
    assert [odd.frame(columns=[name])[name].tolist() for name in odd.names] == [[1], [2], [3], [4], ["5%"]]
    (tmp_path / "cohort.sql").write_text(
        """SELECT CAST('{"stage": "II", "known": true, "note": null}' AS jsonb) AS one, CAST('["é", 1.50]' AS json) AS other, ARRAY[1, 2] AS two"""
    )
    found = node(postgres, "cohort.sql", **access).frame()
    assert json.loads(found["one"][0]) == {"stage": "II", "known": True, "note": None}
    assert (found["other"][0], found["two"][0]) == ('["é", 1.5]', "[1, 2]"), (
        "a text as JSON is written, not as Python is"
    )
    (tmp_path / "cohort.sql").write_text("WITH gone AS (DELETE FROM cdm.death RETURNING *) SELECT * FROM gone")
    with pytest.raises(DataProblem):
        node(postgres, "cohort.sql", **access).frame()
    with pytest.raises(DataProblem, match="cannot be opened") as caught:
        node(postgres, "cdm.death", **{**access, "DEFAULT_DB_PARAM_PASSWORD": "wrong"}).frame()
    assert "reader" not in str(caught.value)


def test_only_what_is_asked_for_is_fetched(node, tmp_path):
    file = sqlite(tmp_path / "cdm.sqlite", made(8))
    node(file, "study")
    assert list(Database("default", "study", None).frame(["year_of_birth"]).columns) == ["year_of_birth"]
    assert list(read_database(Reading(), Database("default", "study", None)).columns) == [
        "person_id",
        "year_of_birth",
    ]


@pytest.mark.parametrize("others", [[], [None], [Decimal(7)], [Decimal("0.50")], [None, Decimal("NaN")]])
def test_exact_decimals_keep_the_digits_of_whole_numbers(node, tmp_path, monkeypatch, others):
    """NUMERIC(20, 0), as many databases have their identifiers; SQLite gives no decimals, so a driver's answer stands in."""
    cells = [Decimal(2**53), Decimal(2**53 + 1), *others]
    answers = iter([[(cell,) for cell in cells], []])
    cursor = SimpleNamespace(keys=lambda: ["person_id"], fetchmany=lambda _: next(answers))
    connection = SimpleNamespace(
        execution_options=lambda **_: SimpleNamespace(execute=lambda _: cursor),
        execute=lambda _: cursor,
        dialect=SimpleNamespace(name="sqlite"),
    )
    node(sqlite(tmp_path / "cdm.sqlite", made(9)), "study")
    database = Database("default", "study", None)
    monkeypatch.setattr(database, "_connected", lambda: nullcontext((connection, str)))
    found = database.frame(["person_id"])["person_id"].tolist()
    assert found[:2] == [2**53, 2**53 + 1]
    for cell, other in zip(found[2:], others, strict=True):
        assert pd.isna(cell) if other is None or other.is_nan() else cell == other


def keyed(path: Path, table: pd.DataFrame) -> Path:
    """Write a table whose key has an index: SQLite gives that column alone in the order of the index, and others as they were written."""
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE study (id TEXT PRIMARY KEY, sex TEXT)")
        connection.executemany("INSERT INTO study VALUES (?, ?)", table[["id", "sex"]].to_numpy().tolist())
        read = [connection.execute(f"SELECT {name} FROM study").fetchall() for name in ("id", "sex")]
    connection.close()
    assert [one for (one,) in read[0]] != table["id"].tolist()
    assert [one for (one,) in read[1]] == table["sex"].tolist()
    return path


def people() -> pd.DataFrame:
    """One sex each, in two columns that differ for a quarter, by identifiers in no order."""
    random = np.random.default_rng(8)
    sex = random.choice(["f", "m"], 80)
    same = np.where(np.arange(80) % 4, sex, np.where(sex == "f", "m", "f"))
    return pd.DataFrame({"id": [f"p{row:02d}" for row in random.permutation(80)], "sex": sex, "same": same})


def test_rows_come_in_one_order_whatever_is_read_of_them(node, tmp_path):
    source = node(keyed(tmp_path / "keyed.sqlite", people()), "study")
    whole = source.frame()
    for name in ("id", "sex"):
        assert source.frame(columns=[name])[name].tolist() == whole[name].tolist()


def test_people_of_a_keyed_table_are_linked_as_they_are(tmp_path):
    """Identifiers came in the order of the key's index and values in another: answers about linked records were of nobody, without a word."""
    table = people()
    parties = {"a": keyed(tmp_path / "keyed.sqlite", table), "b": table[["id", "same"]]}
    with OneProcess(parties, helpers=["h"], policies={"a": {"cohort": "study"}}) as federation:
        counts = [
            federation.run("scalar_product", "count", {"conditions": asked, "id_column": "id"})["count"]
            for sex in "fm"
            for asked in [[{"column": name, "op": "==", "value": sex} for name in ("sex", "same")]]
        ]
    assert counts == [int(((table["sex"] == sex) & (table["same"] == sex)).sum()) for sex in "fm"]


@pytest.mark.parametrize(
    ("method", "function", "asked"),
    [
        (
            "scalar_product",
            "count",
            {"conditions": [{"column": name, "op": "==", "value": "f"} for name in ("sex", "same")]},
        ),
        ("verticox", "fit", {"time": "days", "event": "died", "features": ["sex"]}),
    ],
)
def test_rows_of_a_database_are_not_aligned(method, function, asked, tmp_path):
    """By their place in the table they would be put together with other people."""
    table = people()
    outcome = table[["same"]].assign(days=np.arange(80) + 1, died=1)
    parties = {
        "a": keyed(tmp_path / "keyed.sqlite", table),
        "b": outcome,
        "c": table[["same"]].set_axis(["other"], axis=1),
    }
    with (
        OneProcess(parties, helpers=["h"], policies={"a": {"cohort": "study"}}) as federation,
        pytest.raises(DataProblem, match="rows_aligned: rows of a database have no order; name the id_column"),
    ):
        federation.run(method, function, {**asked, "rows_aligned": True})


HOSTILE = ("*", "1", "rowid", "count(*)", 'sex" FROM other --', "sex; DROP TABLE study", ":x", "sex OR 1=1", "%s")


def test_no_word_of_a_task_reaches_a_statement(node, tmp_path, monkeypatch):
    """Names that the table has are all that is asked for; SQLite takes a quoted name that it does not know for a text."""
    source = node(keyed(tmp_path / "keyed.sqlite", people()), "study")
    made = []
    text_of = databases._as_text
    monkeypatch.setattr(
        databases, "_as_text", lambda alchemy: lambda words: (made.append(words), text_of(alchemy)(words))[1]
    )
    for name in HOSTILE:
        domain = {name: {"categories": list(HOSTILE)}, "sex": {"categories": list(HOSTILE), "missing": list(HOSTILE)}}
        assert set(source.frame(domain, [name], [name, "sex"]).columns) == {"sex"}
    assert set(made) == {'SELECT * FROM "study" LIMIT 0', 'SELECT "sex" FROM "study" ORDER BY "id", "sex"'}
