"""The pages of the papers' tables and figures are made of the runs' JSON files: no number on them is typed."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedbayes.federation.horizontal import Columns, CountNoise
from reproduce import core, figures, pages
from reproduce.papers import marchioro
from v6_dp_naive_bayes.model import Plan
from v6_dp_naive_bayes.published import publish

ITEMS = {
    "marchioro": ["figure-1", "figure-1-line", "figure-2", "figure-3"],
    "huai": ["figure-1a", "figure-1b"],
    "torrijos": ["table-2", "figure-1", "figure-2", "figure-3"],
    "thesis": [
        *("figure-2.1", "figure-2.2", "table-3.2", "table-3.3", "figure-3.3", "table-3.4"),
        *(f"table-{number}" for number in ("5.2", "5.3", "5.4", "5.5", "A1", "A2", "A3", "A4", "A5", "A6")),
        *("table-6.4", *(f"figure-6.{number}" for number in range(1, 7))),
    ],
    "zafarani": ["figure-4", "figure-5", "figure-6", "figure-7", "figure-10"],
}


@pytest.fixture(params=core.PAPERS)
def content(request: pytest.FixtureRequest) -> dict[str, Any]:
    return core.load(core.DOCS, request.param)


def test_the_page_is_made_of_the_json_file(content: dict[str, Any]) -> None:
    written = (core.DOCS / f"{content['name']}.md").read_text(encoding="utf-8")
    assert written == pages.page(content), "run make reproduce, or its --pages after a change of words"
    assert core.told(content) == content
    assert content["quick"] is False


def test_the_index_lists_all_of_them() -> None:
    contents = [core.load(core.DOCS, name) for name in core.PAPERS]
    assert (core.DOCS / "index.md").read_text(encoding="utf-8") == pages.index(contents)
    assert {path.stem for path in core.DOCS.glob("*.md")} == {"index", *core.PAPERS}


def test_every_table_and_figure_is_there(content: dict[str, Any]) -> None:
    assert [item["id"] for item in content["items"]] == ITEMS[content["name"]]
    asked = {f"{content['name']}-{item['id']}.svg" for item in content["items"] if item["plot"]}
    assert {path.name for path in core.DOCS.glob(f"{content['name']}-*.svg")} == asked


def test_rows_are_whole(content: dict[str, Any]) -> None:
    for item in content["items"]:
        assert item["rows"], item["id"]
        assert item["repetitions"] >= 1
        for row in item["rows"]:
            assert len(row["row"]) == len(item["keys"]), item["id"]
            numbers = [row[column] for column in core.COLUMNS if row[column] is not None]
            assert numbers, (item["id"], row)
            assert all(math.isfinite(number) for number in numbers)
        cells = [tuple(row["row"]) for row in item["rows"]]
        assert len(set(cells)) == len(cells), item["id"]
        for word in ("title", "claim", "measure", "theirs", "ours_as_published", "ours_default", "seeds", "deviation"):
            assert item[word], f"{item['id']}: {word}"


def test_words_hold_no_measured_number(content: dict[str, Any]) -> None:
    """What is told of results, is told in the tables: a number with a decimal point in the words is a setting, never ours beside theirs."""
    for item in content["items"]:
        assert not re.search(r"(?<![\w.])0?\.\d{3}", item["claim"] + item["deviation"]), item["id"]


def test_another_number_is_another_page(content: dict[str, Any]) -> None:
    changed = json.loads(json.dumps(content))
    row = changed["items"][0]["rows"][0]
    column = next(column for column in core.COLUMNS if row[column] is not None)
    row[column] = row[column] + 1
    assert pages.page(changed) != pages.page(content)


@pytest.mark.few(1)
def test_figures_are_drawn_of_the_rows(content: dict[str, Any], tmp_path: Path) -> None:
    plotted = [item for item in content["items"] if item["plot"]]
    if not plotted:
        assert not list(core.DOCS.glob(f"{content['name']}-*.svg"))
        return
    item = min(plotted, key=lambda one: len(one["rows"]))
    figures.draw(item, tmp_path / "one.svg")
    figures.draw(item, tmp_path / "same.svg")
    figures.draw({**item, "rows": item["rows"][:-1]}, tmp_path / "less.svg")
    texts = [(tmp_path / f"{name}.svg").read_bytes() for name in ("one", "same", "less")]
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.parametrize(
    ("value", "digits", "told"), [(0.12345, 3, "0.123"), (1234.5, 0, "1,234"), (1.2e-7, 3, "1.2e-07"), (0.0, 2, "0.00")]
)
def test_numbers_are_shown(value: float, digits: int, told: str) -> None:
    assert pages.number(value, digits) == told


def test_a_row_holds_means_and_deviations() -> None:
    row = core.Item("table-1").add(("a", 2), 0.5, [1.0, 3.0], None)
    assert row == {
        "row": ["a", "2"],
        "theirs": 0.5,
        "ours_as_published": 2.0,
        "spread_ours_as_published": core.significant(math.sqrt(2)),
        "ours_default": None,
    }


def test_all_stations_in_one_call_publish_what_they_publish_one_by_one() -> None:
    """With next to no noise; the law of the noise is that of `publish`, which is asked for each station's classes apart."""
    columns = Columns(
        "class",
        ["x", "y"],
        {"x": {"bounds": [0, 10]}, "y": {"categories": ["a", "b", "c"]}, "class": {"categories": ["n", "p"]}},
    )
    random = np.random.default_rng(0)
    rows = {"x": random.uniform(0, 10, 60), "y": random.integers(0, 3, 60), "class": random.integers(0, 2, 60)}
    plan = Plan(columns, {}, "gaussian", "published", CountNoise("local", 1e12), 1.0)
    apart = [publish(plan, {name: values[station::4] for name, values in rows.items()}) for station in range(4)]
    assert marchioro.published_sum(plan, rows, 4) == pytest.approx(np.sum(apart, axis=0), abs=1e-4)


def test_figures_of_sums_and_means() -> None:
    assert marchioro.median_of_largest(np.array([1.0, -5.0, 3.0, 2.0]), np.array([0, 0, 1, 1]), 1, 0) == 4.0
    draws = np.random.default_rng(0)
    assert marchioro.kurtosis(draws.laplace(size=(40_000, 2))) == pytest.approx(3, abs=0.5)
    assert marchioro.kurtosis(draws.normal(size=(40_000, 2))) == pytest.approx(0, abs=0.2)
