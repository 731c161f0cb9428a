"""How long a private answer takes tells of no odd cell or row: what is odd is read in the same way, without libraries or passes of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pytest

from fedbayes.bayes.values.missing import Reading, Rule
from fedbayes.federation.tables import files

ROWS = 40
ODD = {
    "a word": b"unknown,2,x,1",
    "a number with an exponent": b"1e1,2,x,1",
    "a number of many digits": b"12.34567890123456789,2,x,1",
    "an infinite number": b"inf,2,x,1",
    "a word for what is missing": b"NA,2,x,1",
    "nothing": b",,,",
    "a fraction among codes": b"5,2.5,x,1",
    "a word among codes": b"5,high,x,1",
    "a long code": b"5,9007199254740993,x,1",
    "a truth value": b"True,2,x,1",
    "a name in another encoding": b"5,2,M\xfcller,1",
    "a field too many": b"5,2,x,1,y",
    "a field too few": b"5,2",
    "blanks": b"  ",
}
SCRIPT = """
import sys
from fedbayes.bayes.schema import Schema
from fedbayes.federation.tables.reading import Source
domain = {"age": {"bounds": [0, 100]}, "stage": {"categories": [0, 1, 2]}, "name": {"categories": ["x", "z"]}}
read = Source(None, {}, alone=PRIVATE).arrays(list(domain), domain)
if read is not None:
    Schema.from_domain(domain).encode(read[0], "absorb")
print(read is not None and "pandas" not in sys.modules, None if read is None else read[1])
"""


def reads_without_pandas(folder: Path, row: bytes, private: bool) -> tuple[bool, int]:
    """Read and encode a small file with this row in a process of its own, as a station does."""
    rows = [b"%d,%d,x,1" % (20 + number, number % 3) for number in range(ROWS)]
    (folder / "t.csv").write_bytes(b"\n".join([b"age,stage,name,more", *rows[:7], row, *rows[7:]]))
    node = {"DATABASE_URI": str(folder / "t.csv"), "DATABASE_TYPE": "csv"}
    wanted = {"USER_REQUESTED_DATABASE_LABELS": "default"} | {f"DEFAULT_{name}": value for name, value in node.items()}
    script = SCRIPT.replace("PRIVATE", str(private))
    ran = subprocess.run(
        [sys.executable, "-c", script], env=os.environ | wanted, capture_output=True, text=True, check=True
    )
    plain, count = ran.stdout.split()
    return plain == "True", 0 if count == "None" else int(count)


@pytest.mark.few(2)
@pytest.mark.parametrize("row", ODD.values(), ids=ODD)
def test_no_odd_row_of_a_small_file_has_pandas_imported(tmp_path: Path, row: bytes) -> None:
    """The import takes a fifth of a second to one of a round of three: who sees the round's time sees that a row is odd."""
    assert reads_without_pandas(tmp_path, row, True) == (True, ROWS + bool(row.strip()))


def test_control_in_an_exact_task_one_does(tmp_path: Path) -> None:
    assert not reads_without_pandas(tmp_path, ODD["a number with an exponent"], False)[0]


@pytest.mark.parametrize("odd", ["unknown", "1e1", "", "NA"])
def test_a_large_column_is_looked_at_once_whatever_is_in_it(tmp_path: Path, odd: str) -> None:
    """One word among numbers had each of them looked at as a text four times: a second more for 300,000 rows."""
    ages = [f"{number / 7:.7f}" for number in range(1, 1000)]
    (tmp_path / "t.csv").write_text("\n".join(["age", *ages, odd or '""']), encoding="utf-8")
    domain = {"age": {"bounds": [0, 100]}}
    with mock.patch.object(Rule, "is_missing", side_effect=AssertionError):
        read = files.read_file(tmp_path / "t.csv", "csv", Reading(domain, alone=True))["age"]
    assert read.dtype == np.float64
    np.testing.assert_array_equal(read[:-1], np.array(ages, dtype=np.float64))
    assert pd.isna(read.iloc[-1]) or read.iloc[-1] == 10.0


def test_what_a_dictionary_rewrites_keeps_its_text(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("lab\n<5\n7\n9\n", encoding="utf-8")
    reading = Reading({"lab": {"bounds": [0, 100]}}, alone=True, rewritten={"lab"})
    assert "<5" in files.read_file(tmp_path / "t.csv", "csv", reading)["lab"].tolist()
