"""What the digits of scalar products tell a station that knows its own numbers: another station's column, record by record."""

from contextlib import nullcontext, suppress
from dataclasses import replace
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess
from party_kit import by_columns, remembering
from subset_kit import subset

from fedbayes.federation import errors
from fedbayes.federation.vertical import multiplied
from fedbayes.federation.vertical.engine import Engine

SPLIT = {"a": ["ill", "stage"], "b": ["cost", "dose", "time", "size", "old"], "c": ["sex", "mass"]}
REFUSED = "whose numbers add up to it"


def records(rows):
    draw = np.random.default_rng(3)
    frame = pd.DataFrame({"id": [f"p{row}" for row in range(rows)]})
    for name in ("ill", "old", "sex"):
        frame[name] = (draw.permutation(rows) < rows // 2).astype(int)
    frame["stage"] = draw.permutation(rows) % 3 + 1
    for name in ("cost", "dose", "time", "size", "mass"):
        frame[name] = draw.uniform(size=rows)
    return frame


def product(running, *columns):
    return running.run("scalar_product", "scalar_product", {"columns": list(columns), "id_column": "id"}, "b")


def told(frame):
    with OneProcess(by_columns(frame, SPLIT), ["helper"]) as running:
        return product(running, "ill", "cost")["scalar_product"]


def test_of_few_records_no_product_with_numbers_is_told():
    with pytest.raises(errors.ThresholdError, match=REFUSED):
        told(records(24))
    with pytest.raises(errors.ThresholdError, match=REFUSED):
        told(records(58))


def test_control_unchecked_one_product_tells_the_column():
    frame = records(24)
    with mock.patch.object(multiplied, "TOLD", 1e9):
        total = told(frame)
    assert subset(frame["cost"].to_numpy(), total) == (frame["ill"] == 1).tolist()


@pytest.mark.audit
def test_a_column_of_few_values_is_multiplied_once_for_sixty_records(tmp_path):
    """The same product again, sums of columns of few values, and products of numbers alone are told as before."""
    frame = records(200)
    with remembering(by_columns(frame, SPLIT), tmp_path) as running:
        for column in ("cost", "dose", "time"):
            found = product(running, "ill", column)["scalar_product"]
            assert found == pytest.approx(float(frame["ill"] @ frame[column]), rel=1e-6)
        for columns in (("ill", "size"), ("ill", "cost", "dose"), ("ill", "cost", "mass")):
            with pytest.raises(errors.ThresholdError, match=REFUSED):
                product(running, *columns)
        assert product(running, "ill", "cost")["scalar_product"] > 0.0
        assert product(running, "ill", "old")["scalar_product"] == float(frame["ill"] @ frame["old"])
        assert product(running, "cost", "mass")["scalar_product"] > 0.0
        assert product(running, "sex", "cost")["scalar_product"] > 0.0, "another column has its own record"


def test_another_reading_of_the_numbers_is_another_product(tmp_path):
    policies = {"allow_formulas": True}
    with remembering(by_columns(records(80), SPLIT), tmp_path, **policies) as running:
        for power, fails in ((2, False), (3, True)):
            study = {"columns": {"other": {"type": "number", "derive": f"cost ** {power}"}}}
            asked = {"columns": ["ill", "other"], "id_column": "id", "dictionary": study}
            if fails:
                with pytest.raises(errors.ThresholdError, match=REFUSED):
                    running.run("scalar_product", "scalar_product", asked, "b")
            else:
                running.run("scalar_product", "scalar_product", asked, "b")


def test_a_column_that_is_less_mixed_is_multiplied_less_often(tmp_path):
    frame = records(200)
    frame["ill"] = (np.random.default_rng(4).permutation(200) < 20).astype(int)
    with remembering(by_columns(frame, SPLIT), tmp_path) as running:
        product(running, "ill", "cost")
        with pytest.raises(errors.ThresholdError, match=REFUSED):
            product(running, "ill", "dose")


def test_a_node_that_tells_of_single_records_tells_of_them():
    frame = records(24)
    limits = {name: {"minimum_count": 1} for name in SPLIT}
    with OneProcess(by_columns(frame, SPLIT), ["helper"], limits) as running:
        assert product(running, "ill", "cost")["scalar_product"] == pytest.approx(float(frame["ill"] @ frame["cost"]))


LONG = [0.130377, 0.296214, 0.470391, 0.831187, 1.104523, 1.700819, 2.300147, 3.102411, 4.700633]


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("values", "counted"),
    [(LONG, True), (range(1, 10), False), ([0.5, 1.0, 1.5, 2.0, 2.5], False), ([100, 200, 400], False)],
    ids=["long", "whole", "halves", "hundreds"],
)
def test_few_values_of_many_digits_are_numbers_too(tmp_path, values, counted):
    """Of nine of them the digits of one product tell how many of each have the 1, and several such columns together who."""
    frame, draw = records(80), np.random.default_rng(5)
    for name in ("cost", "dose"):
        frame[name] = np.array(values, dtype=float)[draw.permutation(80) % len(values)]
    with remembering(by_columns(frame, SPLIT), tmp_path) as running:
        assert product(running, "ill", "cost")["scalar_product"] == pytest.approx(float(frame["ill"] @ frame["cost"]))
        with pytest.raises(errors.ThresholdError, match=REFUSED) if counted else nullcontext():
            product(running, "ill", "dose")


def renaming():
    """Return what a central does that names the numbers of a station as if they were of few values."""
    honest = Engine.submit

    def renamed(engine, wanted, bits=32):
        replies = honest(engine, wanted, bits)
        for name in [one for one in engine.factors if one.startswith('["values"')]:
            other = name.replace("values", "codes")
            engine.factors[other] = replace(engine.factors.pop(name), name=other)
            for parcels in vars(engine._deliveries).values():
                for parcel in parcels if isinstance(parcels, list) else []:
                    if name in getattr(parcel, "names", []):
                        parcel.names[parcel.names.index(name)] = other
        return replies

    return mock.patch.object(Engine, "submit", renamed)


@pytest.mark.parametrize("helpers", [["helper"], []], ids=["helper", "none"])
def test_central_cannot_name_numbers_as_few_values(helpers):
    asked = {"columns": ["ill", "cost", "sex"], "id_column": "id", **({} if helpers else {"helper": "none"})}
    running, refusing = (
        OneProcess(by_columns(records(24), SPLIT), helpers),
        pytest.raises(errors.MessageError, match="otherwise than"),
    )
    with running, renaming(), refusing:
        running.run("scalar_product", "scalar_product", asked, "b")


def test_each_product_of_a_station_is_judged_by_its_own_values():
    """A central that asks for two products of one station does not have a rare column pass as another one."""
    kept, asked = {}, []
    rare, even = (np.arange(200) < 10).astype(float), (np.arange(200) % 2).astype(float)
    station = mock.Mock(manifest=None, policy=mock.Mock(minimum_count=5))
    station.noted.return_value = [["even", ["even"], True], ["rare", ["rare"], True]]
    station.keep.side_effect = lambda name, values: kept.update({name: {"values": values}})
    station.kept.side_effect = kept.__getitem__
    station.history.questions.multiplies.side_effect = lambda columns, digest, most: (
        asked.append((*columns, most)) or True
    )
    workspace = mock.Mock(station=station, common_order=np.arange)
    multiplied.note(workspace, "even", ["even"], even)
    multiplied.note(workspace, "rare", ["rare"], rare)
    multiplied.check(workspace, ["even", "rare", '["values",[["cost"]]]'])
    assert asked == [("even", 3), ("rare", 0)]


def solved(folder, rows, tasks):
    """Return a station's column of 16 values, and what follows from its products with as many columns of another one as are answered."""
    draw = np.random.default_rng(7)
    frame = pd.DataFrame({"id": [f"p{row}" for row in range(rows)], "visits": draw.permutation(np.arange(rows) % 16)})
    own = [f"own{number}" for number in range(tasks)]
    frame = frame.join(pd.DataFrame(draw.uniform(size=(rows, tasks)), columns=own))
    totals = []
    with remembering(by_columns(frame, {"a": ["visits"], "b": own}), folder) as running:
        for name in own:
            with suppress(errors.ThresholdError):
                totals.append((name, product(running, name, "visits")["scalar_product"]))
    names, sums = zip(*totals, strict=True)
    return frame["visits"].to_numpy(), np.linalg.lstsq(frame[list(names)].to_numpy().T, np.array(sums), rcond=None)[0]


def test_products_of_a_column_of_many_values_are_no_system_of_equations(tmp_path):
    """One is told for 16 records of whom all differ; each of the refused ones is counted, so few are asked."""
    visits, found = solved(tmp_path, 16, 4)
    assert np.count_nonzero(np.abs(found - visits) < 0.5) < 8


@pytest.mark.audit
def test_control_uncounted_as_many_products_as_records_tell_it(tmp_path):
    with mock.patch.object(multiplied, "TOLD", 1e9):
        visits, found = solved(tmp_path, 16, 16)
    assert np.array_equal(np.rint(found), visits)


@pytest.mark.audit
def test_a_column_of_many_values_is_multiplied_about_once_for_ten_records(tmp_path):
    frame = records(60)
    with remembering(by_columns(frame, SPLIT), tmp_path) as running:
        for column in ("cost", "dose", "time", "size"):
            assert product(running, "mass", column)["scalar_product"] > 0.0
        assert product(running, "mass", "cost", "dose")["scalar_product"] > 0.0
        with pytest.raises(errors.ThresholdError, match=REFUSED):
            product(running, "mass", "cost", "time")


@pytest.mark.parametrize(("values", "counted"), [(LONG, True), (range(16), True), (range(9), False)])
def test_who_has_numbers_counts_products_with_columns_of_0_and_1_too(values, counted):
    """Of 64 people 66 random columns of 0 and 1 told everybody's fee, one of nine."""
    noted, kept, asked = [], {}, []
    station = mock.Mock(manifest=None, policy=mock.Mock(minimum_count=5))
    station.note.side_effect = lambda _, entry: noted.append(entry)
    station.noted.side_effect = lambda _: noted
    station.keep.side_effect = lambda name, values: kept.update({name: {"values": values}})
    station.kept.side_effect = kept.__getitem__
    station.history.questions.multiplies.side_effect = lambda *given: asked.append(given[-1]) or True
    workspace = mock.Mock(station=station, common_order=np.arange)
    multiplied.note(workspace, "fee", ["fee"], np.resize(np.array(values, dtype=float), 64))
    multiplied.check(workspace, ["fee", '["codes",[["ward"]]]'])
    assert asked == ([int(0.5 * 64 * np.log2(len(values)) / 30)] if counted else [])


def test_one_product_of_a_column_of_many_values_of_few_records_is_told(tmp_path):
    with remembering(by_columns(records(12), SPLIT), tmp_path) as running:
        assert product(running, "mass", "cost")["scalar_product"] > 0.0
        with pytest.raises(errors.ThresholdError, match=REFUSED):
            product(running, "mass", "dose")
