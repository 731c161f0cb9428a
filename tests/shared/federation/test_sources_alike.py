"""One table as CSV, parquet and an SQL database: every cell means the same, whatever codes, gaps, large numbers and odd names it has."""

from __future__ import annotations

import csv
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pytest
from one_process import OneProcess
from pyarrow import parquet

from fedbayes.bayes.dictionaries.dictionary import Dictionary
from fedbayes.bayes.schema import Schema
from fedbayes.bayes.values.encoding import SchemaError, canonical_text
from fedbayes.federation.tables import databases
from fedbayes.federation.tables.reading import Source

LARGE = 2**53
CELLS: dict[str, list[Any]] = {
    "whole": [0, 1, 2, -5, 2020],
    "long codes": [LARGE - 1, LARGE, LARGE + 1, 2**62, 2**62 + 3, -LARGE - 1, 7],
    "fractions": [0.1, 0.5, 1.0, 1e22, 1e-300, -0.0, 123456789.123],
    "long and fractions": [LARGE + 1, 0.5, 2**60 + 1, 3],
    "numbers as texts": ["007", "7", "1.50", "1e3", "0x10", "1_000", " 7 ", "7."],
    "texts": ["a", "A", "ä", "a\u0308", "None", "NA", "true", "2020-01-31", "x,y", 'x"y', " a", "?"],
    "truths": ["true", "False", "TRUE", "1", "0"],
    "days": ["2020-01-31", "2020-01-31 00:00:00", "2020-02-01 12:30:00"],
    "among usual texts": [1, 2, 3, "NA", "None"],
}
DOMAINS: list[dict[str, Any]] = [
    {"categories": [0, 1]},
    {"categories": [1, 2, 7]},
    {"categories": [LARGE + 1, 2**62]},
    {"bounds": [0, 10]},
    {"bounds": [0, 1e17]},
    {"categories": ["a", "A", "NA", "7", str(2**62), str(2**60 + 1), "2020-01-31"]},
]
MISSING = [["NA"], [7], [LARGE + 1], ["a"], [2**62]]
NAMES = ["x", "Größe", "a b", "select", "index", "50 %", "x:y", 'x"q', "rowid"]


def drawn(draw: np.random.Generator) -> tuple[dict[str, list[Any]], dict[str, Any], Dictionary | None]:
    """Return columns by name, a domain of some, and now and then a dictionary that recodes."""
    rows, columns, domain, entries = int(draw.choice([1, 2, 5, 12])), {}, {}, {}
    for name in draw.permutation(NAMES)[:3].tolist():
        cells = CELLS[str(draw.choice(list(CELLS)))]
        chosen = [cells[place] for place in draw.permutation(len(cells))[: draw.integers(1, 6)]]
        gaps = draw.choice([0.0, 0.3])
        columns[name] = [None if draw.random() < gaps else chosen[draw.integers(len(chosen))] for _ in range(rows)]
        if draw.random() < 0.7:
            domain[name] = dict(DOMAINS[draw.integers(len(DOMAINS))])
            if draw.random() < 0.3:
                domain[name]["missing"] = MISSING[draw.integers(len(MISSING))]
        if draw.random() < 0.3:
            entries[name] = {"type": str(draw.choice(["number", "category"])), "recode": {str(chosen[0]): 5}}
    return columns, domain, Dictionary.from_json({"columns": entries}) if entries else None


def written(folder: Path, columns: dict[str, list[Any]]) -> list[tuple[Path, str]]:
    """Write a table in every way; rows are in the order of the first column, which a database has too."""
    table = {"key": [f"k{row:05d}" for row in range(len(next(iter(columns.values()))))], **columns}
    with (folder / "t.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([list(table), *zip(*table.values(), strict=True)])
    names = ['"' + name.replace('"', '""') + '"' for name in table]
    with sqlite3.connect(folder / "t.sqlite") as connection:
        connection.execute("DROP TABLE IF EXISTS study")
        connection.execute(f"CREATE TABLE study ({', '.join(names)})")
        marks = ", ".join("?" for _ in names)
        connection.executemany(f"INSERT INTO study VALUES ({marks})", list(zip(*table.values(), strict=True)))
    connection.close()
    files = [(folder / "t.csv", "csv"), (folder / "t.sqlite", "sql")]
    if all(len({type(cell) for cell in cells} - {type(None)}) < 2 for cells in table.values()):
        parquet.write_table(pyarrow.table({name: pyarrow.array(cells) for name, cells in table.items()}), folder / "t")
        files.append((folder / "t", "parquet"))
    return files


def meant(source: Source, domain: dict[str, Any], columns: list[str], alone: bool) -> dict[str, Any]:
    """Return what the cells of a table are taken for: codes and numbers of the domain, canonical texts of other columns."""
    frame = source.frame(domain, ("key",), columns)
    if source._dictionary is not None:
        frame, _ = source.applied(columns, domain, ("key",))
    found: dict[str, Any] = {name: list(map(canonical_text, frame[name])) for name in columns if name not in domain}
    for name, entry in domain.items():
        try:
            codes = Schema.from_domain({name: entry}).encode(frame, "absorb" if alone else "clip")[name]
        except SchemaError as problem:
            found[name] = str(problem)
        else:
            found[name] = np.nan_to_num(codes, nan=-1e9).tolist()
    return found


@pytest.fixture
def source(monkeypatch):
    """Return ``source(file, kind, ...)`` of a node with such a table."""
    monkeypatch.setenv("USER_REQUESTED_DATABASE_LABELS", "default")

    def made(file, kind, dictionary=None, alone=False):
        monkeypatch.setenv("DEFAULT_DATABASE_URI", str(file))
        monkeypatch.setenv("DEFAULT_DATABASE_TYPE", kind)
        return Source(None, {}, dictionary, "study", None, alone=alone)

    return made


@pytest.mark.few(10)
@pytest.mark.parametrize("seed", range(150))
def test_a_table_means_the_same_wherever_it_lies(source, tmp_path, monkeypatch, seed):
    draw = np.random.default_rng(seed)
    monkeypatch.setattr(databases, "ROWS", 3)
    for _ in range(4):
        columns, domain, dictionary = drawn(draw)
        alone = bool(draw.random() < 0.3)
        readings = [
            meant(source(file, kind, dictionary, alone), domain, list(columns), alone)
            for file, kind in written(tmp_path, columns)
        ]
        for reading in readings[1:]:
            assert reading == readings[0], (columns, domain, dictionary)


@pytest.mark.parametrize("codes", [[2**62, 2**62 + 2, 2**62 + 4], [-(2**63), 5, 7], [10**18, 10**18 + 1, 3]])
def test_codes_of_nineteen_digits_are_counted(tmp_path, codes):
    """Of a file of whole numbers they were taken for missing, without a word, where fewer than nine in ten rows had them."""
    draw = np.random.default_rng(4)
    parties, tables = {}, []
    for name in "abc":
        table = pd.DataFrame({"code": draw.choice(codes, 60), "y": draw.choice(["no", "yes"], 60)})
        table.to_parquet(tmp_path / f"{name}.parquet")
        parties[name] = tmp_path / f"{name}.parquet"
        tables.append(table)
    domain = {"code": {"categories": codes}, "y": {"categories": ["no", "yes"]}}
    with OneProcess(parties) as federation:
        asked = {"label": "y", "domain": domain, "noise": "none"}
        counts = federation.run("dp_naive_bayes", "fit", asked)["model"]["features"]["code"]["counts"]
    whole = pd.concat(tables)
    wanted = pd.crosstab(whole["y"], whole["code"])[codes].to_numpy()
    np.testing.assert_array_equal(np.asarray(counts)[:, : len(codes)], wanted)


@pytest.mark.parametrize("kind", ["sql", "parquet"])
def test_identifiers_keep_their_digits_beside_a_code_for_missing(source, tmp_path, kind):
    """Whole numbers became float64 where one was declared to be missing, so that people with nineteen digits became one."""
    people = [2**62 + person for person in range(3)]
    files = {kind: file for file, kind in written(tmp_path, {"person": [*people, -9], "x": [1, 2, 3, 4]})}
    read = source(files[kind], kind)
    read._schema = {"person": {"missing": [-9]}}
    assert list(map(canonical_text, read.frame({}, ("person",))["person"])) == [*map(str, people), None]
