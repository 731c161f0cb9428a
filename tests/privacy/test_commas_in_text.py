"""Two exact tasks about a column of texts in which one cell has a comma where the others have a point: to the tables it is another text than these."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess
from party_kit import by_columns, with_folders

from fedbayes.federation.answered import readings
from fedbayes.federation.answered.readings import GONE, groups_of
from fedbayes.federation.errors import ThresholdError
from fedbayes.federation.tables.words import AS_KNOWN, COMMA, EVERYWHERE, IN_NUMBERS, words_of

ROWS, ODD = 160, 7
APART = "would set apart fewer rows"


def table() -> pd.DataFrame:
    draw = np.random.default_rng(1)
    frame = pd.DataFrame({"id": [f"p{row:03d}" for row in range(ROWS)], "z": draw.integers(0, 2, ROWS)})
    frame["dose"] = np.where(frame.index == ODD, "1,5", draw.choice(["1.5", "2.5", "none"], ROWS))
    return frame.assign(ill=np.where(frame.index == ODD, 1, draw.integers(0, 2, ROWS)))


def running(folder: Path, separator: str) -> OneProcess:
    """Return nodes that remember, whose files have columns between commas, or between semicolons, so that a comma in a number is a decimal one."""
    tables = by_columns(table(), {"a": ["dose"], "b": ["ill"], "c": ["z"]})
    parties = with_folders(tables, folder)
    for name, files in parties.items():
        tables[name].to_csv(files["default"], index=False, sep=separator)
    return OneProcess(parties, ["helper"], {name: {"ledger": "vault", "allow_differences": False} for name in tables})


def counted(*texts: str) -> tuple[str, dict[str, Any]]:
    conditions = [{"column": "dose", "op": "in", "value": list(texts)}, {"column": "ill", "op": "==", "value": 1}]
    return "count", {"conditions": conditions, "id_column": "id"}


def recoded(to: str) -> tuple[str, dict[str, Any]]:
    dictionary = {"columns": {"dose": {"type": "category", "recode": {"1,5": to}}}}
    return "contingency", {"columns": ["dose", "ill"], "id_column": "id", "dictionary": dictionary}


PAIRS = {
    "counts": (counted("1.5"), counted("1.5", "1,5")),
    "tables": (recoded("2.5"), recoded("1.5")),
}
"""Two questions that differ by the odd record alone."""


@pytest.mark.parametrize("separator", [",", ";"])
@pytest.mark.parametrize("name", PAIRS)
def test_a_cell_with_a_comma_is_another_text_in_the_record_too(tmp_path: Path, name: str, separator: str) -> None:
    one, other = PAIRS[name]
    with running(tmp_path, separator) as federation:
        assert federation.run("scalar_product", *one)
        with pytest.raises(ThresholdError, match=APART):
            federation.run("scalar_product", *other)
        assert federation.run("scalar_product", *one), "as before"


def with_points(texts: Sequence[str | None], words: str) -> list[str | None]:
    """Return texts as the record took them: with a point for every comma."""
    return [text if text is None else text.replace(",", ".") for text in texts]


@pytest.mark.parametrize("name", PAIRS)
def test_control_with_points_for_all_commas_the_difference_is_the_record(tmp_path: Path, name: str) -> None:
    with mock.patch.object(readings, "_as_read", with_points), running(tmp_path, ",") as federation:
        one, other = (federation.run("scalar_product", *asked) for asked in PAIRS[name])
    if name == "counts":
        assert other["count"] - one["count"] == table()["ill"][ODD]
    else:
        assert (np.array(other["counts"]) - np.array(one["counts"])).tolist() == [[0, 1], [0, -1], [0, 0]]


def test_commas_are_points_where_the_table_takes_them_for_these() -> None:
    texts = ["1,5", "1.5", "2", None]

    def groups(texts: list[str | None], where: str, listed: Sequence[str] = ()) -> list[int]:
        return groups_of(texts, words_of((), listed, {}, [COMMA, where])).tolist()

    assert groups_of(texts, words_of((), (), {})).tolist() == [0, 1, 2, GONE]
    assert groups(texts, IN_NUMBERS) == [0, 0, 1, GONE]
    assert groups([*texts, "low"], IN_NUMBERS) == [0, 1, 2, GONE, 3]
    assert groups(["NA", *texts], IN_NUMBERS) == [GONE, 0, 0, 1, GONE]
    assert groups([*texts, "low"], EVERYWHERE) == [0, 0, 1, GONE, 2]
    assert groups(texts, AS_KNOWN, ["1.5", "2"]) == [0, 0, 1, GONE]
    assert groups(texts, AS_KNOWN, ["1,5", "1.5", "2"]) == [0, 1, 2, GONE]
