"""Exact products of which few records hold the sum, and two answers, one of them a product of several columns of a station, that differ by few records.

A product was held against earlier ones by its digits alone, and was no count that tables are held against.
"""

import itertools

import numpy as np
import pandas as pd
import pytest
from party_kit import remembering

from fedbayes.federation.answered.own_products import adds_up_but_for_few, differ_by_few, held_by_few
from fedbayes.federation.errors import ThresholdError

ROWS, WHO, FEW = 120, 4, 5


def tables():
    """Return columns of two stations; of the records that have `flag` one alone lacks `alive`, and one alone is `urgent`, a factor of a quarter more."""
    draw = np.random.default_rng(3)
    rows = np.arange(ROWS)
    flag, alive = (rows < 30).astype(int), np.where(rows < 30, 1, draw.integers(0, 2, ROWS))
    alive[WHO] = 0
    here = {
        "flag": flag,
        "alive": alive,
        "other": draw.integers(0, 2, ROWS),
        "number": np.round(draw.gamma(3, 5, ROWS) + 1, 1),
        "urgent": np.where(rows == WHO, 1.25, 1.0),
        "grams": 0,
        "far": np.where(rows == WHO, 1000, draw.integers(0, 4, ROWS)),
    }
    here["grams"] = 1000 * here["number"]
    there = {"ill": np.where(rows == WHO, 1, draw.integers(0, 2, ROWS)), "dose": np.round(draw.gamma(2, 10, ROWS), 2)}
    ids = {"id": [f"p{row:03d}" for row in rows]}
    return {"a": pd.DataFrame({**ids, **here}), "b": pd.DataFrame({**ids, **there})}


def told(running, question, columns):
    """Return the number of records, or the sum, that an answer tells of all of these columns of 0 and 1."""
    if question == "product":
        return running.run("scalar_product", "scalar_product", {"columns": columns, "id_column": "id"})[
            "scalar_product"
        ]
    if question == "count":
        conditions = [{"column": name, "op": "==", "value": 1} for name in columns]
        return running.run("scalar_product", "count", {"conditions": conditions, "id_column": "id"})["count"]
    asked = {"columns": columns, "id_column": "id", "missing_state": False}
    return np.ravel(running.run("scalar_product", "contingency", asked)["counts"])[-1]


MANY, ONE_LESS = ["flag", "ill"], ["flag", "alive", "ill"]
PAIRS = [
    (("product", MANY), ("product", ONE_LESS)),
    (("table", MANY), ("product", ONE_LESS)),
    (("count", MANY), ("product", ONE_LESS)),
    (("product", MANY), ("count", ONE_LESS)),
]


@pytest.mark.few(3)
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("first", "second"), PAIRS, ids=lambda asked: "-".join([asked[0], *asked[1]]))
def test_a_product_of_one_row_less_is_not_told(tmp_path, first, second, turned):
    first, second = (second, first) if turned else (first, second)
    with remembering(tables(), tmp_path) as running:
        assert told(running, *first)
        assert told(running, *first), "the same again"
        with pytest.raises(ThresholdError):
            told(running, *second)


def test_numbers_too(tmp_path):
    with remembering(tables(), tmp_path) as running:
        assert told(running, "product", ["number", "dose"])
        assert told(running, "product", ["grams", "dose"]), "the same in another unit"
        assert told(running, "product", ["other", "ill"]), "another column"
        with pytest.raises(ThresholdError, match="was multiplied with other"):
            told(running, "product", ["number", "urgent", "dose"])


@pytest.mark.audit
@pytest.mark.parametrize("pair", [*PAIRS, (("product", ["number", "urgent", "dose"]), ("product", ["number", "dose"]))])
def test_control_the_difference_is_one_row(tmp_path, pair):
    with remembering(tables(), tmp_path, allow_differences=True) as running:
        one, other = (told(running, *asked) for asked in pair)
    parts = tables()
    part = (
        parts["a"]["number"][WHO] * 0.25 * parts["b"]["dose"][WHO] if "dose" in pair[0][1] else parts["b"]["ill"][WHO]
    )
    assert one - other == pytest.approx(part, rel=0.01)


def test_a_record_of_more_than_the_next_ones_together_is_not_multiplied(tmp_path):
    """Of at most 5 ones, or as the smallest count that is told: a product below 1000 says that the record has none of them."""
    with remembering(tables(), tmp_path) as running, pytest.raises(ThresholdError, match="nearly all of their sum"):
        told(running, "product", ["far", "ill"])


def test_what_few_records_hold():
    draw = np.random.default_rng(2)
    even = draw.gamma(2, 1, 100)
    assert not held_by_few(even, FEW)
    top = np.sort(even)[-FEW:].sum()
    assert held_by_few(np.append(even, top * 1.01), FEW)
    assert not held_by_few(np.append(even, top * 0.99), FEW)
    assert not held_by_few(np.append(even, top * 9), 1), "a node that reveals counts of one"
    heavy = [held_by_few(np.random.default_rng(seed).lognormal(0, 1, 100), FEW) for seed in range(200)]
    assert sum(heavy) <= 4, "honest columns of heavy tails are multiplied"


def test_what_two_products_differ_by():
    draw = np.random.default_rng(2)
    one, other = draw.gamma(2, 1, 100), draw.gamma(2, 1, 100)
    for sign, scale in itertools.product((1, -1), (1.0, 1000.0)):
        assert not differ_by_few(one, sign * scale * one, FEW)
        assert not differ_by_few(one, sign * scale * other, FEW)
        changed = np.where(np.arange(100) < FEW - 1, 2 * one, one)
        assert differ_by_few(one, sign * scale * changed, FEW)
        assert differ_by_few(sign * scale * changed, one, FEW)
        many = np.where(np.arange(100) < 2 * FEW, 2 * one, one)
        assert not differ_by_few(one, sign * scale * many, FEW)
    assert not differ_by_few(np.repeat([0.0, 1.0], 50), np.repeat([1.0, 0.0], 50), FEW), "no record in both"


def wards():
    """Return columns of 0 and 1 of which two add up to a third, but for one record, which is in both wards."""
    parts, rows = tables(), np.arange(ROWS)
    inside = np.where(rows == WHO, 0, rows % 4)
    parts["a"]["ward1"], parts["a"]["ward2"] = (inside == 1).astype(int), (inside == 2).astype(int)
    parts["a"]["wards"] = ((inside == 1) | (inside == 2)).astype(int)
    parts["a"].loc[WHO, ["ward1", "ward2", "wards"]] = 1
    return parts


WARDS = ["ward1", "ward2", "wards"]


@pytest.mark.parametrize("order", [WARDS, WARDS[::-1]])
def test_three_products_of_which_two_add_up_to_the_third_but_for_one_row(tmp_path, order):
    with remembering(wards(), tmp_path) as running:
        assert all(told(running, "product", ["number", name, "dose"]) for name in order[:2])
        with pytest.raises(ThresholdError, match="was multiplied with other"):
            told(running, "product", ["number", order[2], "dose"])
        assert told(running, "product", ["number", "other", "dose"]), "another column"


def test_control_not_added_up_three_products_tell_the_row(tmp_path, monkeypatch):
    monkeypatch.setattr("fedbayes.federation.answered.entered.adds_up_but_for_few", lambda *products: False)
    with remembering(wards(), tmp_path) as running:
        one, other, both = (told(running, "product", ["number", name, "dose"]) for name in WARDS)
    parts = wards()
    assert one + other - both == pytest.approx(parts["a"]["number"][WHO] * parts["b"]["dose"][WHO], rel=0.01)


def test_what_adds_up():
    draw = np.random.default_rng(2)
    for rows in (60, 400):
        one, other, third = (draw.gamma(2, 1, rows) * (draw.random(rows) < 0.6) for _ in range(3))
        for scales in ((1.0, 1.0), (-2.5, 1000.0)):
            whole = scales[0] * one + scales[1] * other
            for few, refused in ((0, False), (1, True), (FEW - 1, True), (FEW, False)):
                changed = np.where(np.arange(rows) < few, whole + 1.0, whole)
                assert adds_up_but_for_few(changed, one, other, FEW) == refused
                assert adds_up_but_for_few(one, changed, other, FEW) == refused
            assert not adds_up_but_for_few(whole, one, 7 * one, FEW)
        assert not adds_up_but_for_few(third, one, other, FEW)
        assert not adds_up_but_for_few(1000 * one, one, third, FEW), "the same in another unit"
