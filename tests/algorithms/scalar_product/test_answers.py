"""Answers equal pooled ones, over two and more stations, whichever protocol gives them."""

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess

from fedbayes.federation.vertical.engine import Engine

from .conftest import pooled_table, spread

AGE = {"column": "age", "op": ">=", "value": 50}
WEIGHT = {"column": "weight", "op": "<", "value": 75}
STAGE = {"column": "stage", "op": "in", "value": ["I", "II"]}


@pytest.fixture(scope="module")
def federation(parties):
    with OneProcess(parties, helpers=["helper"]) as opened:
        yield opened


def ask(federation, function, **arguments):
    return federation.run("scalar_product", function, {"id_column": "id", **arguments})


def test_count_over_two_stations_takes_four_rounds(federation, table):
    result = ask(federation, "count", conditions=[AGE, WEIGHT])
    assert result["count"] == int(((table.age >= 50) & (table.weight < 75)).sum())
    assert result["records"] == len(table)
    assert result["federation"]["rounds"] == 4
    assert result["privacy"]["differentially_private"] is False


@pytest.mark.parametrize("protocol", ["masked_tables", "thesis"])
def test_count_over_three_stations(federation, table, protocol):
    result = ask(federation, "count", conditions=[AGE, WEIGHT, STAGE], protocol=protocol)
    assert result["count"] == int(((table.age >= 50) & (table.weight < 75) & table.stage.isin(["I", "II"])).sum())
    assert result["federation"]["rounds"] <= (6 if protocol == "thesis" else 5)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"column": "smoker", "op": "==", "value": "yes"}, lambda t: t.smoker == "yes"),
        ({"column": "smoker", "op": "!=", "value": "yes"}, lambda t: t.smoker == "no"),
        ({"column": "smoker", "op": "missing"}, lambda t: t.smoker.isna()),
        ({"column": "age", "op": "between", "value": [30, 40]}, lambda t: t.age.between(30, 40)),
        ({"column": "age", "op": "<=", "value": 40}, lambda t: t.age <= 40),
    ],
)
def test_operators_of_one_station(federation, table, condition, expected):
    result = ask(federation, "count", conditions=[condition])
    assert result["count"] == int(expected(table).sum())


def test_contingency_has_axes_and_counts(federation, table):
    result = ask(federation, "contingency", columns=["smoker", "stage"])
    pooled = pd.crosstab(table.smoker.fillna("?"), table.stage).loc[["no", "yes", "?"]].to_numpy()
    shown = np.array(result["counts"], dtype=object)
    visible = shown != None  # noqa: E711
    assert [axis["labels"] for axis in result["axes"]] == [["no", "yes", None], ["I", "II", "III"]]
    assert np.array_equal(shown[visible].astype(int), pooled[visible])
    assert (~visible)[pooled < 5].all()
    assert np.all((~visible).sum(axis=1) != 1)
    assert np.all((~visible).sum(axis=0) != 1)


def test_contingency_with_public_bins_over_three_stations(federation, table):
    domain = {"age": {"bounds": [20, 90]}, "stage": {"categories": ["I", "II", "III"]}}
    result = ask(
        federation, "contingency", columns=["age", "stage", "weight"], bins={"age": [50], "weight": [75]}, domain=domain
    )
    pooled = [
        [
            [
                int(((table.age >= 50) == old)[(table.stage == stage) & ((table.weight >= 75) == heavy)].sum())
                for heavy in (False, True)
            ]
            for stage in ("I", "II", "III")
        ]
        for old in (False, True)
    ]
    shown = np.array(result["counts"], dtype=object).reshape(2, -1)[:, :]
    full = np.array(result["counts"], dtype=object)
    for place, value in np.ndenumerate(full):
        if value is not None:
            present = place[0] < 2 and place[1] < 3 and place[2] < 2
            assert value == (pooled[place[0]][place[1]][place[2]] if present else 0)
    assert any(value is not None for value in shown.reshape(-1))


def test_scalar_product_is_exact_to_its_stated_error(federation, table):
    result = ask(federation, "scalar_product", columns=["age", "weight"])
    assert "how many records count in the product" in result["privacy"]["reveals"]["central"]
    error = abs(result["scalar_product"] - float((table.age * table.weight).sum()))
    assert error <= result["diagnostics"]["largest_error"] < 1.0


@pytest.fixture(scope="module")
def tailed():
    draw = np.random.default_rng(5)
    columns = {f"x{place}": np.exp(2.0 * draw.normal(size=300)) for place in range(6)}
    flags = {f"f{place}": (draw.random(300) < 0.9).astype(int) for place in range(6)}
    return pd.DataFrame({"id": range(300), **columns, **flags})


def multiplied(tailed, columns):
    parties = {f"s{place}": tailed[["id", column]] for place, column in enumerate(columns)}
    with OneProcess(parties, helpers=["helper"]) as federation:
        return ask(federation, "scalar_product", columns=columns)


def test_a_product_that_rounding_may_change_is_warned_of(tailed):
    result = multiplied(tailed, [f"x{place}" for place in range(6)])
    error = abs(result["scalar_product"] - float(tailed.filter(like="x").prod(axis=1).sum()))
    assert error <= result["diagnostics"]["largest_error"]
    assert any("only sure to within" in text for text in result["warnings"])


def test_two_stations_with_heavy_tails_need_no_warning(tailed):
    result = multiplied(tailed, ["x0", "x1"])
    expected = float((tailed.x0 * tailed.x1).sum())
    assert result["scalar_product"] == pytest.approx(expected, rel=1e-5)
    assert not any("only sure to within" in text for text in result["warnings"])


def test_products_of_indicators_are_known_to_be_exact(tailed):
    result = multiplied(tailed, [f"f{place}" for place in range(6)])
    assert result["scalar_product"] == tailed.filter(like="f").prod(axis=1).sum()
    assert result["diagnostics"]["largest_error"] == 0.0
    assert not any("only sure to within" in text for text in result["warnings"])


def test_central_learns_counts_without_one_station_where_it_judges_by_them_and_says_so(federation, table, monkeypatch):
    asked, ask_for = [], Engine.ask
    monkeypatch.setattr(
        Engine,
        "ask",
        lambda self, tables, *more, **given: asked.append(tables) or ask_for(self, tables, *more, **given),
    )
    for conditions, epsilon, sums in (
        ([AGE], None, 1),
        ([AGE, WEIGHT], None, 3),
        ([AGE, WEIGHT, STAGE], None, 4),
        ([AGE, WEIGHT, STAGE], 2.0, 1),
    ):
        result = ask(federation, "count", conditions=conditions, epsilon=epsilon)
        assert len(asked[-1]) == sums
        assert ("without what it says" in result["privacy"]["reveals"]["central"]) is (sums > 1)


def test_information_gain_equals_the_pooled_one(federation, table):
    result = ask(federation, "information_gain", label="stage", columns=["smoker", "flag0"])
    joint = pd.crosstab(table.stage, table.flag0).to_numpy() / len(table)
    outer = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    assert result["information_gain"]["flag0"] == pytest.approx(float((joint * np.log2(joint / outer)).sum()), abs=1e-9)
    assert result["federation"]["rounds"] == 4


def test_noisy_counts_say_their_epsilon_and_are_near(federation, table):
    result = ask(federation, "count", conditions=[AGE, WEIGHT, STAGE], epsilon=2.0)
    exact = int(((table.age >= 50) & (table.weight < 75) & table.stage.isin(["I", "II"])).sum())
    assert abs(result["count"] - exact) < 60
    assert result["privacy"]["differentially_private"] is True
    assert result["privacy"]["epsilon"] == 2.0


@pytest.mark.few(1)
@pytest.mark.parametrize(("stations", "protocol"), [(8, "masked_tables"), (4, "thesis")])
def test_a_count_over_many_stations(stations, protocol):
    people = pooled_table(stations, 120)
    homes = {}
    small = {"*": {"minimum_count": 0}}
    with OneProcess(spread(people, stations, homes=homes), ["helper"], small) as federation:
        conditions = [{"column": f"flag{number}", "op": "==", "value": 1} for number in range(stations)]
        result = ask(federation, "count", conditions=conditions, protocol=protocol)
    assert result["count"] == int(people[[f"flag{number}" for number in range(stations)]].all(axis=1).sum())
    assert result["federation"]["rounds"] <= (6 if protocol == "thesis" else 5)
