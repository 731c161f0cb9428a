"""Random questions over 2 to 8 stations, with a helper and without, equal pandas' answers; a refusal must be one that the guards ask for.

`make differential` asks far more of each kind, and `SCALAR_PRODUCT_QUESTIONS=300` here; the seed of a failing question is in its message.
"""

import os

import numpy as np
import pandas as pd
import pytest
from mock_kit import NO_DATA, run_mocked

from fedbayes.federation.errors import ThresholdError

QUESTIONS = int(os.environ.get("SCALAR_PRODUCT_QUESTIONS", "4"))
MINIMUM = 5
PEOPLE = 160


def people_of(draw, stations):
    table = pd.DataFrame({"id": [f"p{number:04d}" for number in draw.permutation(PEOPLE)]})
    for place in range(stations):
        table[f"n{place}"] = draw.integers(-20, 90, PEOPLE)
        table[f"t{place}"] = draw.choice(["None", "b", "c d", "yes, no"], PEOPLE)
        table[f"x{place}"] = np.round(draw.normal(10, 4, PEOPLE), 3)
        table.loc[draw.random(PEOPLE) < 0.05, f"n{place}"] = np.nan
    return table


def files_of(draw, table, stations):
    """Every station's file: most of the people in an order of its own, and some strangers."""
    frames = []
    for place in range(stations):
        part = table[["id", f"n{place}", f"t{place}", f"x{place}"]].sample(150, random_state=int(draw.integers(2**31)))
        strangers = part.sample(10, random_state=place).assign(id=[f"s{place}-{number}" for number in range(10)])
        frames.append(pd.concat([part, strangers]).sample(frac=1, random_state=place).reset_index(drop=True))
    return frames


def run(frames, helper, function, **arguments):
    """Ask the question; without `helper` nobody but the stations takes part."""
    tables = [*frames, *([NO_DATA] if helper else [])]
    arguments = {"id_column": "id", "helper": None if helper else "none", **arguments}
    return run_mocked("scalar_product", function, tables, **arguments)


def common(frames):
    joined = frames[0]
    for frame in frames[1:]:
        joined = joined.merge(frame, on="id")
    return joined


def condition_of(draw, place):
    number = [
        {"column": f"n{place}", "op": op, "value": int(draw.integers(low, low + 45))}
        for op, low in (("<", 50), ("<=", 50), (">", -25), (">=", -25), ("!=", -25))
    ]
    low = int(draw.integers(-25, 0))
    return [
        *number,
        {"column": f"n{place}", "op": "between", "value": [low, low + int(draw.integers(60, 110))]},
        {"column": f"x{place}", "op": "<=", "value": 14},
        {"column": f"t{place}", "op": "in", "value": list(draw.choice(["None", "b", "c d", "yes, no"], 2))},
        {"column": f"t{place}", "op": "!=", "value": str(draw.choice(["None", "b"]))},
        {"column": f"x{place}", "op": ">", "value": float(np.round(draw.normal(6, 3), 2))},
    ][int(draw.integers(10))]


def where(frame, test):
    """Where a condition holds, by pandas alone."""
    values, asked = frame[test["column"]], test.get("value")
    if test["op"] == "missing":
        return values.isna()
    return {
        "<": lambda: values < asked,
        "<=": lambda: values <= asked,
        ">": lambda: values > asked,
        ">=": lambda: values >= asked,
        "!=": lambda: (values != asked) & values.notna(),
        "between": lambda: values.between(*asked),
        "in": lambda: values.isin(asked),
    }[test["op"]]()


def all_hold(frame, tests):
    found = pd.Series(True, index=frame.index)
    for test in tests:
        found &= where(frame, test)
    return found


def few(found):
    """Whether one side of a question is too small for an exact answer about its owner's records."""
    return any(0 < side < MINIMUM for side in (int(found.sum()), int((~found).sum())))


def near(pooled, owned):
    """Records for which the conditions of one station alone fail; of two stations also of both."""
    holding = [all_hold(pooled, own) for own in owned if own]
    cells = [
        np.all([one != (place == failing) for place, one in enumerate(holding)], axis=0)
        for failing in range(len(holding))
    ]
    return [int(cell.sum()) for cell in cells] + [int((~holding[0] & ~holding[1]).sum())] * (len(holding) == 2)


def rightly_refused(frames, tests, answer, pooled):
    if not MINIMUM <= answer <= len(pooled) - MINIMUM:
        return True
    owned = [[test for test in tests if test["column"] in frame.columns] for frame in frames]
    if min(near(pooled, owned)) < MINIMUM:
        return True
    return any(few(all_hold(frame, own)) for frame, own in zip(frames, owned, strict=True) if own)


@pytest.mark.few(1)
@pytest.mark.parametrize("helper", [True, False], ids=["helper", "none"])
def test_counts_equal_the_pooled_ones(helper):
    answered = 0
    for seed in range(QUESTIONS):
        draw = np.random.default_rng([seed, helper])
        stations = int(draw.integers(2 if helper else 3, 9))
        frames = files_of(draw, people_of(draw, stations), stations)
        places = draw.choice(stations, int(draw.integers(1, stations + 2)))
        tests = [condition_of(draw, int(place)) for place in places]
        pooled = common(frames)
        expected = int(all_hold(pooled, tests).sum())
        try:
            result = run(frames, helper, "count", conditions=tests)
        except ThresholdError:
            assert rightly_refused(frames, tests, expected, pooled), (seed, tests)
            continue
        assert (result["count"], result["records"]) == (expected, len(pooled)), (seed, tests)
        assert not rightly_refused(frames, tests, expected, pooled), (seed, tests)
        answered += 1
    assert answered > QUESTIONS // 10 - 1


@pytest.mark.few(1)
@pytest.mark.parametrize("helper", [True, False], ids=["helper", "none"])
def test_scalar_products_equal_the_pooled_ones(helper):
    for seed in range(QUESTIONS):
        draw = np.random.default_rng([seed, helper, 1])
        stations = int(draw.integers(2 if helper else 3, 9))
        frames = files_of(draw, people_of(draw, stations), stations)
        columns = [f"x{place}" for place in range(stations)][: int(draw.integers(2, stations + 1))]
        pooled = common(frames)
        result = run(frames, helper, "scalar_product", columns=columns)
        expected = float(pooled[columns].prod(axis=1).sum())
        assert abs(result["scalar_product"] - expected) <= result["diagnostics"]["largest_error"] + 1e-9 * abs(expected)


@pytest.mark.few(1)
@pytest.mark.parametrize("helper", [True, False], ids=["helper", "none"])
def test_tables_equal_the_pooled_ones(helper):
    for seed in range(QUESTIONS):
        draw = np.random.default_rng([seed, helper, 2])
        stations = int(draw.integers(2 if helper else 3, 9))
        frames = files_of(draw, people_of(draw, stations), stations)
        places = draw.choice(stations, 2, replace=False)
        columns = [f"t{place}" for place in places]
        result = run(frames, helper, "contingency", columns=columns)
        pooled = common(frames)
        labels = [axis["labels"] for axis in result["axes"]]
        expected = pd.crosstab(pooled[columns[0]], pooled[columns[1]]).reindex(index=labels[0], columns=labels[1])
        for place, value in np.ndenumerate(np.array(result["counts"], dtype=object)):
            assert value is None or value == expected.fillna(0).to_numpy()[place], (seed, columns)
