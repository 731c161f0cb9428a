"""Two columns of one name, and identifiers that stations write in different ways, against a join by pandas; what cannot be told apart is refused."""

import csv

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from one_process import OneProcess

from fedbayes.federation.errors import DataProblem
from fedbayes.federation.horizontal import CountNoise
from fedbayes.federation.vertical.identifiers import matched_texts

ROWS = 60
LIMITS = {"*": {"minimum_rows": 1, "minimum_count": 0, "minimum_organizations": 2}}
STATES = {"c": ["u", "v"], "a": ["x", "y"]}
DOMAIN = {name: {"categories": states} for name, states in STATES.items()}


def written(path, kind, header, rows):
    """Return the path of a file with just these cells, as pandas would not write it."""
    path = path.with_suffix({"semicolons": ".csv"}.get(kind, f".{kind}"))
    if kind == "xlsx":
        book = openpyxl.Workbook()
        for row in [header, *rows]:
            book.active.append([str(cell) if isinstance(cell, str) else cell for cell in row])
        book.save(path)
    elif kind == "parquet":
        columns = [pa.array(list(column)) for column in zip(*rows, strict=True)]
        pq.write_table(pa.Table.from_arrays(columns, names=list(map(str, header))), path)
    else:
        with path.open("w", newline="") as file:
            csv.writer(file, delimiter=";" if kind == "semicolons" else ",").writerows([header, *rows])
    return path


@pytest.mark.few(14)
@pytest.mark.parametrize("kind", ["csv", "semicolons", "xlsx", "parquet"])
@pytest.mark.parametrize(
    ("header", "twice"),
    [
        (["c", "a", "a"], "a"),
        (["a.1", "c", "a", "a"], "a"),
        (["c", "a", "c"], "c"),
        (["c", "a", 7, "7"], "7"),
        (["c", "a", "a.1"], None),
        (["c", "a", "A"], None),
        (["c", "a", "7", "7.1"], None),
    ],
)
def test_a_column_that_is_twice_is_refused_and_its_like_is_another(kind, header, twice, tmp_path):
    random = np.random.default_rng(len(header))
    parties, tables = {}, []
    for party in "pqr":
        rows = list(zip(*(random.choice(STATES["c"] if h == "c" else STATES["a"], ROWS) for h in header), strict=True))
        parties[party] = {"default": written(tmp_path / party, kind, header, rows)}
        tables.append(
            pd.DataFrame({"c": [r[header.index("c")] for r in rows], "a": [r[header.index("a")] for r in rows]})
        )
    with OneProcess(parties, policies=LIMITS) as federation:
        if twice is not None:
            with pytest.raises(DataProblem, match=f"'{twice}' is twice in this station's table"):
                federation.run("dp_naive_bayes", "fit", {"label": "c", "domain": DOMAIN, "noise": "none"})
            return
        model = federation.run("dp_naive_bayes", "fit", {"label": "c", "domain": DOMAIN, "noise": "none"})["model"]
    pooled = pd.concat(tables)
    assert np.array_equal(model["features"]["a"]["counts"], pd.crosstab(pooled["c"], pooled["a"]))


FORMS = {
    "text": str,
    "zeros": lambda number: f"{number:07d}",
    "blanks": lambda number: f" {number}\t",
    "point": lambda number: f"{number}.0",
    "whole": int,
    "float": float,
    "mixed": lambda number: (f"{number:06d}", f"\u00a0{number}", f"{number}.0")[number % 3],
}


@pytest.mark.parametrize("seed", range(6))
def test_numbers_are_matched_however_they_are_written(seed, tmp_path):
    random = np.random.default_rng(seed)
    numbers = random.choice(10**6, 90, replace=False)
    parties, tables = {}, []
    for place, party in enumerate("pqr"):
        table = pd.DataFrame({"id": random.permutation(numbers)[:80], f"c{place}": random.choice(["u", "v"], 80)})
        tables.append(table)
        form, kind = FORMS[str(random.choice(list(FORMS)))], str(random.choice(["csv", "xlsx", "parquet"]))
        rows = [(form(int(number)), value) for number, value in table.itertuples(index=False)]
        parties[party] = {"default": written(tmp_path / party, kind, list(table), rows)}
    names = ["c0", "c1", "c2"]
    asked = {"id_column": "id", "columns": names, "domain": {name: DOMAIN["c"] for name in names}}
    with OneProcess(parties, helpers=["helper"], policies=LIMITS) as federation:
        counts = np.array(federation.run("scalar_product", "contingency", asked)["model"]["counts"])
    joined = tables[0].merge(tables[1], on="id").merge(tables[2], on="id")
    known = np.zeros((2, 2, 2))
    for row in joined[names].itertuples(index=False):
        known[tuple("uv".index(value) for value in row)] += 1
    assert np.array_equal(counts[:2, :2, :2], known)
    assert counts.sum() == len(joined)


@pytest.mark.parametrize("more", [{}, {"epsilon": 1000.0}])
def test_codes_of_hexadecimal_digits_are_no_numbers(more):
    random = np.random.default_rng(0)
    codes = [f"{number:08x}" for number in random.integers(0, 16**8, 300)]
    codes += ["0000e123", "00000e45", "1234e567", "9999e999", "00001e05", "00100000"]
    parties = {}
    for place, party in enumerate("pqr"):
        flags = random.choice(["u", "v"], len(codes))
        parties[party] = pd.DataFrame({"id": random.permutation(codes), f"c{place}": flags})
    names = ["c0", "c1", "c2"]
    asked = {"id_column": "id", "columns": names, "domain": {name: DOMAIN["c"] for name in names}, **more}
    with OneProcess(parties, helpers=["helper"], policies=LIMITS) as federation:
        counts = np.array(federation.run("scalar_product", "contingency", asked)["model"]["counts"], dtype=float)
    assert counts[:2, :2, :2].sum() == pytest.approx(len(codes), abs=2 if more else 0)


def test_a_number_with_a_signed_exponent_is_that_number():
    assert matched_texts(["1e+05", "1E+05 ", "2e05"], "id", True)[::2] == ["100000", "2e05"]
    with pytest.raises(DataProblem, match="repeat an identifier"):
        matched_texts(["100000", "1e+05"], "id", False)


@pytest.mark.parametrize("most", [1, 2])
def test_rows_of_an_identifier_are_bounded_at_each_station(most, monkeypatch):
    monkeypatch.setattr(CountNoise, "shares", lambda self, size, *rest: np.zeros(size, dtype=np.int64))
    random = np.random.default_rng(most)
    parties, known = {}, 0
    for party in "pqr":
        numbers = random.integers(0, 40, ROWS)
        table = pd.DataFrame({name: random.choice(states, ROWS) for name, states in STATES.items()})
        table["id"] = [f"p{number} " if number % 2 else f"p{number}" for number in numbers]
        table.loc[random.random(ROWS) < 0.1, "id"] = None
        known += np.minimum(table["id"].str.strip().value_counts(), most).sum()
        parties[party] = table
    asked = {"label": "c", "domain": DOMAIN, "epsilon": 1.0, "unit": "identifier", "id_column": "id"}
    with OneProcess(parties, policies=LIMITS) as federation:
        asked |= {"max_rows_per_identifier": most}
        assert sum(federation.run("dp_naive_bayes", "fit", asked)["model"]["class_counts"]) == known
