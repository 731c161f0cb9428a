"""How much of an exact table is shown: the page's table, drawn again."""

import re
from pathlib import Path

import numpy as np
import pytest

from fedbayes.federation.vertical import suppress

PAGE = Path(__file__).parents[3] / "algorithms/scalar_product/README.md"
TABLES = 200
ROW = re.compile(r"^\| (\d+) x (\d+), smallest count (\d+) \|(.*)\|$", re.MULTILINE)
RECORDS = (50, 200, 500, 1000, 5000)


def shares(shape, minimum, rule=suppress):
    """Mean share of cells shown, in per cent, for each number of records: margins of a Dirichlet law of weight 3, cells times a gamma variable."""
    found = []
    for records in RECORDS:
        draw = np.random.default_rng([*shape, records])
        seen = []
        for _ in range(TABLES):
            chances = np.outer(draw.dirichlet(np.full(shape[0], 3.0)), draw.dirichlet(np.full(shape[1], 3.0)))
            chances = chances * draw.gamma(4.0, 0.25, shape)
            table = draw.multinomial(records, (chances / chances.sum()).ravel()).reshape(shape)
            seen.append(1 - rule(table.astype(np.int64), minimum).mean())
        found.append(100 * float(np.mean(seen)))
    return found


@pytest.mark.parametrize("row", ROW.findall(PAGE.read_text(encoding="utf-8")), ids=lambda row: "-".join(row[:3]))
def test_so_much_of_a_table_is_shown(row):
    told = [float(cell.split("(")[0]) for cell in row[3].split("|")]
    assert shares((int(row[0]), int(row[1])), int(row[2])) == pytest.approx(told, abs=1.5)


def test_the_page_tells_of_small_and_large_tables():
    assert {row[:3] for row in ROW.findall(PAGE.read_text(encoding="utf-8"))} >= {("2", "2", "5"), ("5", "8", "10")}
