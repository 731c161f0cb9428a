"""Numbers at the ends of what a float is, and truth values that are written as 0 and 1."""

import numpy as np
import pytest
from harness.inprocess import InProcess

from fedbayes.federation import errors

ROWS = 40
LIMITS = {"minimum_rows": 1, "minimum_organizations": 1, "minimum_count": 0}
COLUMNS = {
    "a": {
        "huge": np.tile([1e308, -1e308], ROWS // 2),
        "least": np.full(ROWS, 5e-324),
        "code": np.tile([0, 1, 1, 0], ROWS // 4),
    },
    "b": {
        "large": np.full(ROWS, 1e300),
        "as large": np.full(ROWS, 1e300),
        "few": np.arange(ROWS) % 3,
        "truth": np.arange(ROWS) % 2 == 1,
    },
}


def ask(function, **arguments):
    files = {name: written(columns) for name, columns in COLUMNS.items()} | {"helper": None}
    with InProcess("v6_scalar_product", files, dict.fromkeys(files, LIMITS), "a") as federation:
        return federation.run(function, {"id_column": "id", **arguments})


def written(columns):
    rows = zip(range(ROWS), *columns.values(), strict=True)
    return "\n".join([",".join(["id", *columns]), *(",".join(map(str, row)) for row in rows)]) + "\n"


@pytest.mark.parametrize(
    ("columns", "wanted"),
    [(["least", "few"], 39 * 5e-324), (["large", "few"], 39e300), (["least", "large"], 40 * 5e-324 * 1e300)],
)
def test_products_of_the_smallest_and_of_large_numbers(columns, wanted):
    assert ask("scalar_product", columns=columns)["scalar_product"] == pytest.approx(wanted, rel=1e-6, abs=0.0)


@pytest.mark.parametrize("columns", [["huge", "large"], ["large", "as large"]])
def test_products_that_no_number_holds_are_refused(columns):
    with pytest.raises(errors.DataProblem, match="larger units"):
        ask("scalar_product", columns=columns)


@pytest.mark.parametrize(
    ("operator", "value"), [("<", 10**400), ("between", [-(10**400), 1]), ("between", [0, float("inf")])]
)
def test_conditions_take_numbers_that_a_float_holds(operator, value):
    with pytest.raises(errors.ArgumentError, match=r"conditions\[0\]"):
        ask("count", conditions=[{"column": "few", "op": operator, "value": value}])


@pytest.mark.parametrize(
    ("column", "operator", "value", "wanted"),
    [
        ("code", "==", True, 20),
        ("code", "!=", True, 20),
        ("truth", "==", 1, 20),
        ("truth", "in", [0, 1], 40),
        ("code", "==", "true", 0),
        ("few", "==", False, 14),
        ("few", "==", 10**400, 0),
    ],
)
def test_truth_values_of_a_condition_are_one_and_zero(column, operator, value, wanted):
    assert ask("count", conditions=[{"column": column, "op": operator, "value": value}])["count"] == wanted
