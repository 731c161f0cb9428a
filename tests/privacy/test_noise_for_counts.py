"""Noise over linked records is as wide as one record changes counts: central has nothing else noised, and nothing told beside it; when numbers are opened."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess
from party_kit import by_columns

from fedbayes.federation.errors import AlgorithmError
from fedbayes.federation.guards.installments import Installment
from fedbayes.federation.questions.factor_info import FactorInfo, Wanted, check_product, check_ring, factor_name
from fedbayes.federation.vertical import SecureTables, engine, messages
from fedbayes.federation.vertical.engine import Engine

ROWS, EPSILON = 60, 0.1
TABLE = {"columns": ["x", "z"], "id_column": "id", "epsilon": EPSILON}
DOMAIN = {"domain": {name: {"categories": ["v0", "v1"]} for name in "xz"}}
INCOME = factor_name("values", ["income"], 2)


def table(income: float, code: str) -> pd.DataFrame:
    """Return records of which the first has this income, and this code at the second station."""
    draw = np.random.default_rng(6)
    columns = {name: [f"v{value}" for value in draw.integers(0, 2, ROWS)] for name in "xz"}
    found = pd.DataFrame({"id": [f"p{row:03d}" for row in range(ROWS)], **columns})
    found["income"] = draw.normal(3000.0, 400.0, ROWS).round(2)
    found.loc[0, ["income", "z"]] = [income, code]
    return found


def asked(records: pd.DataFrame) -> Any:
    parties = by_columns(records, {"a": ["x"], "b": ["z", "income"]})
    with OneProcess(parties, helpers=["helper"]) as running:
        return running.run("scalar_product", "contingency", {**TABLE, **DOMAIN})


def opened_in(monkeypatch: pytest.MonkeyPatch, ring: int) -> None:
    """Have columns opened in a ring of so many bits."""
    submit = Engine.submit

    def submitted(self: Engine, wanted: Any, *_: Any, **__: Any) -> Any:
        return submit(self, wanted, ring)

    monkeypatch.setattr(Engine, "submit", submitted)


def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have stations open whatever they are asked for, and central take it."""
    monkeypatch.setattr(messages, "check_wanted", lambda *_, **__: None)
    monkeypatch.setattr(engine, "check_asked", lambda *_, **__: None)


def sum_of_incomes(monkeypatch: pytest.MonkeyPatch, income: float) -> float:
    """Have a column of numbers opened in a private job, and its sum told as a count is."""
    told: list[float] = []

    def tables(self: SecureTables, *_: Any, **__: Any) -> Any:
        self.engine.extend({}, [Wanted("values", ["income"])], 64)
        sums = self.engine.ask([(INCOME, factor_name("states", ["x"]))], 64, Installment(EPSILON), 0.5, last=True)
        told.append(float(sums[0].sum()))
        raise InterruptedError

    opened_in(monkeypatch, 64)
    monkeypatch.setattr(SecureTables, "tables", tables)
    with pytest.raises(AlgorithmError) as ended:
        asked(table(income, "v0"))
    if not told:
        raise ended.value
    return told[0]


def test_numbers_are_not_added_up_under_the_noise_of_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AlgorithmError):
        sum_of_incomes(monkeypatch, 3000.0)
    for make in (messages.SubmitRequest, None):
        setup = messages.Setup(3, [1, 2], "id", False, {}, {}, True, private=True)
        given = messages.Delivery(setup, 100, [], [], None, [], [])
        wanted = [Wanted("values", ["income"])]
        with pytest.raises(ValueError, match="malformed"):
            make(setup, wanted, 64) if make else messages.ExtendRequest(given, 1, 64, [], wanted)


def test_control_unchecked_a_sum_tells_one_record_through_any_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    unchecked(monkeypatch)
    one, other = (sum_of_incomes(monkeypatch, income) for income in (3000.0, 3000.01))
    assert abs(one - other) > 1000.0 * 2.0 / EPSILON  # a cent


def products_of_numbers(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Have a column of 0 and 1 multiplied by another station's numbers, opened after the first stage of an exact job; return what is told over the truth."""
    records, told = table(3000.0, "v0").head(40), list[float]()
    draw = np.random.default_rng(7)
    doses = {f"dose{place}": draw.random(40) for place in range(3)}
    records = records.assign(flag=draw.permutation([0, 1] * 20), **doses)

    def tables(self: SecureTables, *_: Any, **__: Any) -> Any:
        asked = self.engine
        asked.extend({}, [Wanted("values", ["flag", name]) for name in doses], 64)
        flag = next(name for name in asked.factors if "flag" in name and "counted" not in name)
        for name in doses:
            sums = asked.ask([(factor_name("values", [name], 1), flag)], 64)
            told.append(float(sums[0].item()))
        raise InterruptedError

    opened_in(monkeypatch, 64)
    monkeypatch.setattr(SecureTables, "tables", tables)
    parties = by_columns(records, {"a": ["x", *doses], "b": ["z", "flag"]})
    with OneProcess(parties, helpers=["helper"]) as running, pytest.raises(AlgorithmError):
        running.run("scalar_product", "contingency", {"columns": ["x", "z"], "id_column": "id"})
    scaled = np.array(told) / np.array([(doses[name] * records["flag"]).sum() for name in list(doses)[: len(told)]])
    return scaled.tolist()


def test_numbers_are_opened_in_the_first_stage_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """There they are noted, and counted: of so few records no product is told (`test_products_decoded.py`)."""
    assert not products_of_numbers(monkeypatch)


def test_control_opened_later_products_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    unchecked(monkeypatch)
    told = products_of_numbers(monkeypatch)
    assert len(told) == 3
    assert np.allclose(told, told[0])  # but for the powers of two, which are alike


def upper_bits(monkeypatch: pytest.MonkeyPatch, opened: int, code: str) -> list[int]:
    """Have columns opened in one ring, and the noisy table told in one of 32 bits; return what is in the upper half of its cells."""
    split, told = engine.products.split_answers, list[int]()
    opened_in(monkeypatch, opened)

    def seen(total: Any, *rest: Any) -> Any:
        told.extend((int(cell) + (1 << 15)) >> 16 & 0xFFFF for cell in total)  # the noise is far below 2^15
        return split(total, *rest)

    monkeypatch.setattr(engine.products, "split_answers", seen)
    asked(table(3000.0, code))
    return told


def test_no_noisy_table_is_in_a_wider_ring_than_its_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        assert not any(upper_bits(patch, 32, "v0"))
    with pytest.raises(AlgorithmError):
        upper_bits(monkeypatch, 16, "v0")


def test_control_in_a_wider_ring_exact_counts_stand_above_the_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first cell has how many have the first state of either column; a mask of 16 bits is 0 or 1, where nothing wraps, in one record of 20,000."""
    monkeypatch.setattr(messages, "check_ring", lambda *_: None)
    for code in ("v0", "v1"):
        with monkeypatch.context() as patch:
            told, records = upper_bits(patch, 16, code)[0], table(3000.0, code)
        assert abs(told - sum((records[name] == "v0").sum() for name in "xz")) <= 1


def test_who_opened_a_factor_knows_its_ring(monkeypatch: pytest.MonkeyPatch) -> None:
    asked_for = Engine.ask

    def ask(self: Engine, *rest: Any, **more: Any) -> Any:
        for name, opened in self.factors.items():
            self.factors[name] = replace(opened, bits=32)
        return asked_for(self, *rest, **more)

    monkeypatch.setattr(Engine, "ask", ask)
    with pytest.raises(AlgorithmError, match="not described as it was opened"):
        upper_bits(monkeypatch, 16, "v0")


def info(columns: str, **changes: Any) -> FactorInfo:
    name = factor_name("states", list(columns))
    return FactorInfo(
        **{
            **dict(
                name=name,
                columns=list(columns),
                holders=[1],
                width=2,
                complete=True,
                bits=32,
                stage=0,
                contributors=[1],
            ),
            **changes,
        }
    )


def test_a_noisy_product_is_completed_by_its_own_factors() -> None:
    """By others one record would change more of its cells than the noise is for."""
    left, right = info("x"), info("z")
    whole = info("xz", width=4, sides=[3, 3], made_of=[left.name, right.name], stage=1)
    check_product(whole, left, right, True)
    bare = replace(whole, width=9, complete=False, sides=[], made_of=[])
    check_product(bare, left, right, False)
    with pytest.raises(ValueError, match="malformed"):
        check_product(bare, left, right, True)
    setup = messages.Setup(3, [1, 2], "id", False, {}, {}, True, private=True)
    messages.Delivery(setup, 100, [left, right, whole], [], None, [], [])
    with pytest.raises(ValueError, match="all states"):
        messages.Delivery(setup, 100, [left, right, replace(whole, name="another")], [], None, [], [])


def test_a_ring_is_that_of_all_that_is_behind_a_question() -> None:
    left, right = info("x"), info("z", bits=16)
    made = info("xz", width=4, sides=[3, 3], made_of=[left.name, right.name], stage=1)
    check_ring(32, [left, right, made], [left.name])
    check_ring(16, [left, right, made], [made.name])
    for bits, infos, name in (
        (32, [left, right, made], made.name),
        (64, [left], left.name),
        (12, [], "x"),
        (32, [made], made.name),
    ):
        with pytest.raises(ValueError, match=r"malformed|not described"):
            check_ring(bits, infos, [name])


def test_products_of_products_whose_factors_travel_to_others_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The helper's letter to the second station holds a product of others, which it only needs the width of."""
    draw = np.random.default_rng(8)
    columns = {name: [f"v{value}" for value in draw.integers(0, 2, ROWS)] for name in "abcde"}
    records = pd.DataFrame({"id": [f"p{row:03d}" for row in range(ROWS)], **columns})
    told: list[float] = []

    def name(joined: str) -> str:
        return factor_name("states", list(joined))

    def tables(self: SecureTables, *_: Any, **__: Any) -> Any:
        self.engine.extend({name("ab"): (name("a"), name("b")), name("ac"): (name("a"), name("c"))})
        self.engine.extend({name("abe"): (name("ab"), name("e")), name("acd"): (name("ac"), name("d"))})
        both = [(name("abe"),), (name("acd"),)]
        for counts in self.engine.ask(both, noise=Installment(20.0), honest_fraction=0.5, last=True):
            told.extend(counts.ravel().tolist())
        raise InterruptedError

    monkeypatch.setattr(SecureTables, "tables", tables)
    parties = by_columns(records, {"one": ["a", "d"], "two": ["b", "e"], "three": ["c"]})
    domain = {name: {"categories": ["v0", "v1"]} for name in "abcde"}
    with OneProcess(parties, helpers=["helper"]) as running, pytest.raises(AlgorithmError, match="InterruptedError"):
        running.run(
            "scalar_product", "contingency", {**TABLE, "columns": list("abcde"), "domain": domain, "epsilon": 20.0}
        )
    for joined, found in zip(("abe", "acd"), np.split(np.array(told), 2), strict=True):
        truth, codes = np.zeros((3, 3, 3)), records[list(joined)].to_numpy() == "v1"
        np.add.at(truth, tuple(codes.T.astype(int)), 1)
        assert np.abs(found - truth.ravel()).max() < 8  # the noise of an epsilon of 20
