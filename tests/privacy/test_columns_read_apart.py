"""Two exact tasks by two columns of one station that say the same of all records but one, each read or cut so that together they no longer do.

Each reading is about many records, and so is each difference of two cells of one table; but sums of cells of the two tables are about all records but one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess
from party_kit import by_columns, remembering

from fedbayes.federation.answered import column_texts, entered, readings
from fedbayes.federation.answered.alike import cut_alike_but_for_few
from fedbayes.federation.answered.readings import GONE
from fedbayes.federation.errors import ThresholdError
from fedbayes.federation.tables.words import words_of

ROWS, ODD = 80, 7
PARTS = {"a": ["age", "later", "ward", "place", "x", "truth", "odd"], "b": ["ill"], "c": ["z"]}
SAME = "say the same of all records but fewer"


def table() -> pd.DataFrame:
    """Return records of whom one alone turns 60 between two ages, has another ward later, and another truth; one cell of `odd` is written otherwise."""
    draw = np.random.default_rng(1)
    frame = pd.DataFrame({"id": [f"p{row:02d}" for row in range(ROWS)], "ill": draw.integers(0, 2, ROWS)})
    frame["age"] = draw.integers(35, 85, ROWS).astype(float)
    frame["later"] = (frame["age"] + draw.choice([0.25, 0.5, 0.75], ROWS)).where(frame.index != ODD, 60.25)
    frame.loc[ODD, "age"] = 59.0
    ward, x = draw.choice(list("abcd"), ROWS), draw.integers(0, 2, ROWS)
    frame["ward"], frame["place"] = np.where(frame.index == ODD, "a", ward), np.where(frame.index == ODD, "b", ward)
    frame["x"], frame["z"] = x, draw.integers(0, 2, ROWS)
    frame["truth"] = np.where((x == 1) != (frame.index == ODD), "True", "False")
    return frame.assign(odd=np.where(frame.index == ODD, "TRUE", x.astype(str)))


def counted(column: str, **given: Any) -> dict[str, Any]:
    return {"columns": [column, "ill"], "missing_state": False, "id_column": "id", **given}


def cut(column: str, at: list[float]) -> dict[str, Any]:
    return counted(column, bins={column: at}, domain={column: {"bounds": [0, 120]}})


def recoded(column: str, recode: Mapping[str, str]) -> dict[str, Any]:
    return counted(column, dictionary={"columns": {column: {"type": "category", "recode": dict(recode)}}})


PAIRS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "further cut points": (cut("age", [50, 60]), cut("later", [60, 70])),
    "other wards put together": (recoded("ward", {"c": "d"}), recoded("place", {"b": "c"})),
    "1 and 0 for truth values": (counted("x"), counted("truth", domain={"truth": {"categories": [1, 0]}})),
}
"""Two tables of which sums of cells differ by the odd record."""


def running(folder: Path) -> OneProcess:
    return remembering(by_columns(table(), PARTS), folder)


def ill(federation: OneProcess, asked: Mapping[str, Any]) -> dict[str, int]:
    """Return how many of each state of a column are ill."""
    found = federation.run("scalar_product", "contingency", asked)
    return dict(zip(map(str, found["axes"][0]["labels"]), (row[1] for row in found["counts"]), strict=True))


@pytest.mark.parametrize("name", PAIRS)
def test_columns_are_compared_however_a_task_reads_them(tmp_path: Path, name: str) -> None:
    one, other = PAIRS[name]
    with running(tmp_path) as federation:
        assert ill(federation, one)
        with pytest.raises(ThresholdError, match=SAME):
            ill(federation, other)
        assert ill(federation, one), "as before"


def as_read(text: str) -> list[str]:
    return [text]


@pytest.mark.parametrize("name", PAIRS)
def test_control_compared_as_they_are_read_alone_sums_of_cells_tell_the_record(tmp_path: Path, name: str) -> None:
    one, other = PAIRS[name]
    with (
        mock.patch.object(entered, "apart", as_read),
        mock.patch.object(entered, "is_cut_by_task", return_value=False),
        mock.patch.object(readings, "with_aliases", dict),
        running(tmp_path) as federation,
    ):
        first, second = ill(federation, one), ill(federation, other)
    sums = {
        "further cut points": lambda: first["[60, inf)"] - second["[60, 70)"] - second["[70, inf)"],
        "other wards put together": lambda: first["a"] - second["a"],
        "1 and 0 for truth values": lambda: first["1"] - second["1"],
    }
    frame = table()
    gained = -1 if name == "further cut points" or (frame["x"][ODD] == 0 and name.startswith("1")) else 1
    assert sums[name]() == gained * frame["ill"][ODD] != 0


def test_bins_that_a_station_finds_are_compared_whole(tmp_path: Path) -> None:
    """As before: quantiles of two honest numbers often have one group that is the same but for few."""
    text = json.dumps(["age", readings.bins_of(words_of((), (), {}), [50.0, 60.0])])
    assert column_texts.apart(text) == [text]
    assert not column_texts.is_cut_by_task(text)
    with running(tmp_path) as federation:
        assert ill(federation, counted("age", bins={"age": 2}))
        assert ill(federation, counted("z"))


def test_bins_that_are_alike_at_one_border_of_each() -> None:
    draw = np.random.default_rng(0)
    one, moved = draw.uniform(0, 100, 400), np.arange(400)
    other = one + 0.1
    here, there = np.digitize(one, [20, 50]).astype(float), np.digitize(other, [50.1, 70]).astype(float)
    changed = np.where(moved == np.flatnonzero(here == 2)[0], 0.0, there)
    assert not cut_alike_but_for_few(here, there, 5), "they say the same of all"
    assert cut_alike_but_for_few(here, changed, 5)
    assert cut_alike_but_for_few(here, 2.0 - changed, 5), "a number that falls"
    assert cut_alike_but_for_few(here, np.where(moved == 3, np.nan, there), 5)
    assert not cut_alike_but_for_few(here, draw.permutation(there), 5)


def test_a_truth_value_is_read_as_1_where_the_domain_says_1_and_0(tmp_path: Path) -> None:
    words = words_of((), ("0", "1"), {})
    assert readings.groups_of(["1", "true", "0", "2"], words).tolist() == [0, 0, 1, GONE]
    assert readings.groups_of(["1", "true", "0"], words_of((), ("0", "1", "true"), {})).tolist() == [0, 1, 2]
    with running(tmp_path) as federation:
        assert ill(federation, counted("odd", domain={"odd": {"categories": [1, 0]}}))
        declared = {"odd": {"categories": [1, 0], "missing": ["true"]}}
        with pytest.raises(ThresholdError, match="would set apart fewer rows"):
            ill(federation, {**counted("odd", domain=declared), "missing_state": True})
