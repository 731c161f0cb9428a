"""Two exact tasks by a number in two units, or from two zeros, that differ in one record; and by strata that are one stratum and a gap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess
from party_kit import by_columns, remembering

from fedbayes.federation.answered import alike, entered
from fedbayes.federation.answered.alike import in_one_unit_but_for_few
from fedbayes.federation.errors import ThresholdError

ROWS, ODD, FEW = 200, 17, 5
YEARS, ODDS_YEARS = 5.0, 9.0
"""From admission to discharge, of all and of the odd record."""
FIT: dict[str, Any] = {"time": "time", "event": "event", "id_column": "id", "tolerance": 1e-9}
PARTS = {"a": ["age", "later", "months", "pounds", "x", "y"], "c": ["time", "event", "dose", "site", "town"]}
SAME = "say the same of all records but fewer"


def table() -> pd.DataFrame:
    """Return records with an age at admission, at discharge, and in months, of which the odd record has none; its event is the first of all."""
    draw = np.random.default_rng(8)
    frame = pd.DataFrame({"id": [f"p{row:03d}" for row in range(ROWS)]})
    odd = frame.index == ODD
    frame["x"], frame["y"] = (draw.integers(0, 2, ROWS) for _ in range(2))
    frame["age"], frame["pounds"] = draw.normal(60, 9, ROWS).round(1), draw.normal(150, 20, ROWS).round(1)
    frame["later"] = (frame["age"] + YEARS).where(~odd, frame["age"] + ODDS_YEARS).round(1)
    frame["months"] = (12 * frame["age"]).where(~odd)
    frame["dose"], frame["site"] = draw.gamma(2, 10, ROWS).round(2), np.where(odd, None, "one")
    frame["town"] = np.where(odd, None, np.array(["here", "there"])[draw.integers(0, 2, ROWS)])
    frame["time"], frame["event"] = draw.permutation(ROWS) + 1.0, (draw.random(ROWS) < 0.8).astype(int)
    frame.loc[ODD, ["time", "event"]] = (0.5, 1)
    return frame


def running(tmp_path: Any, **limits: Any) -> OneProcess:
    return remembering(by_columns(table(), PARTS), tmp_path, **limits)


def product(federation: OneProcess, *columns: str) -> float:
    asked = {"columns": [*columns, "dose"], "id_column": "id"}
    return float(federation.run("scalar_product", "scalar_product", asked)["scalar_product"])


def fitted(federation: OneProcess, *features: str, **options: Any) -> Any:
    return federation.run("verticox", "fit", {**FIT, "features": [*features], **options})["model"]


def test_products_by_a_number_from_two_zeros(tmp_path):
    with running(tmp_path) as federation:
        assert product(federation, "age")
        assert product(federation, "pounds"), "another number"
        with pytest.raises(ThresholdError, match=SAME):
            product(federation, "later")
        with pytest.raises(ThresholdError, match=SAME):
            product(federation, "x", "later")
        assert product(federation, "age"), "as before"


def test_control_not_compared_two_products_and_the_sum_of_the_other_column_tell_the_record(tmp_path, monkeypatch):
    monkeypatch.setattr(
        entered, "in_one_unit_but_for_few", lambda fresh, others, minimum: np.zeros((len(fresh), 1), dtype=np.bool_)
    )
    with running(tmp_path) as federation:
        apart = product(federation, "later") - product(federation, "age")
    dose = table()["dose"]
    assert (apart - YEARS * dose.sum()) / (ODDS_YEARS - YEARS) == pytest.approx(dose[ODD], abs=1e-3)


@pytest.mark.audit
def test_cox_fits_by_a_number_in_two_units(tmp_path):
    with running(tmp_path) as federation:
        assert fitted(federation, "age", "dose", missing="complete")
        with pytest.raises(ThresholdError, match=SAME):
            fitted(federation, "months", "dose", missing="complete")
        assert fitted(federation, "pounds", "dose", missing="complete")


@pytest.mark.audit
def test_strata_that_are_one_stratum_and_a_gap(tmp_path):
    with running(tmp_path) as federation:
        assert fitted(federation, "x", "y", missing="complete")
        with pytest.raises(ThresholdError, match="one value in all records but few"):
            fitted(federation, "x", "y", missing="complete", strata="site")
        assert fitted(federation, "x", "y", missing="complete", strata="town"), "two strata"


@pytest.mark.audit
def test_control_unchecked_the_fit_leaves_the_record_out(tmp_path, monkeypatch):
    """It has its event first of all, so that its residual is next to 1."""
    monkeypatch.setattr("v6_verticox.stations.setup.check_strata", lambda *counts: None)
    with running(tmp_path) as federation:
        whole, without = (fitted(federation, "x", "y", missing="complete", strata=name) for name in (None, "site"))
    found = [np.array([row["coefficient"] for row in model["coefficients"]]) for model in (without, whole)]
    moved = np.linalg.solve(np.array(whole["covariance"]), found[1] - found[0])
    assert (moved > 0).tolist() == (table().loc[ODD, ["x", "y"]] == 1).tolist()


def test_what_is_one_number_in_two_units():
    draw = np.random.default_rng(2)
    for rows in (60, 400):
        one, other = draw.normal(60, 9, rows).round(2), draw.integers(0, 1000, rows) / 10
        for scale, zero in ((1.0, 5.0), (-1.0, 2020.0), (0.45359237, 0.0), (1.8, 32.0)):
            same = scale * one + zero
            for few, seen in ((0, False), (1, True), (FEW - 1, True), (FEW, False)):
                changed = np.where(np.arange(rows) < few, same + draw.normal(9, 1, rows), same)
                gaps = np.where(np.arange(rows) < few, np.nan, same)
                for written in (changed, gaps):
                    assert in_one_unit_but_for_few([one], [other, written], FEW).tolist() == [[False, False, seen]]
                    assert in_one_unit_but_for_few([other, written], [one], FEW)[1].tolist() == [False, False, seen]
            far = np.where(np.arange(rows) == 3, 1e300, same)
            assert in_one_unit_but_for_few([far], [one], FEW).tolist() == [[False, True]]


@pytest.mark.parametrize("span", [15, 40])
def test_numbers_of_which_each_is_of_few_rows(span):
    """As whole years of 60 people: fewer values than categories may be, and too few rows of each to see that they belong together."""
    for seed in range(30):
        draw = np.random.default_rng(seed)
        years = np.clip(draw.normal(0, span / 5, 60).round(), -span // 2, span // 2)
        for few, seen in ((0, False), (1, True), (FEW - 1, True), (FEW, False)):
            later = np.where(np.arange(60) < few, years + 90, years + 5)
            assert in_one_unit_but_for_few([later], [years, draw.permutation(years)], FEW).tolist() == [
                [False, seen, False]
            ]


def test_whole_years_from_two_zeros(tmp_path, monkeypatch):
    frame = table().head(60).assign(age=lambda one: one["age"].round())
    frame["later"] = (frame["age"] + YEARS).where(frame.index != ODD, frame["age"] + ODDS_YEARS)
    with remembering(by_columns(frame, PARTS), tmp_path / "held") as running:
        assert fitted(running, "age", "dose")
        with pytest.raises(ThresholdError, match=SAME):
            fitted(running, "later", "dose")
    monkeypatch.setattr("fedbayes.federation.answered.alike.FEW_VALUES", alike.MOST_STATES)
    monkeypatch.setattr("fedbayes.federation.answered.alike._grouped_alike", lambda *_: np.zeros((), dtype=np.bool_))
    with remembering(by_columns(frame, PARTS), tmp_path / "not held") as running:
        found = [fitted(running, name, "dose")["coefficients"][0]["coefficient"] for name in ("age", "later")]
    assert abs(found[0] - found[1]) > 1e-4, "control: as long as fewer than 50 values were left alone"


def test_columns_of_few_values_and_names_are_not_in_units():
    codes, names = np.arange(100.0) % 10, np.full(100, np.nan)
    assert not in_one_unit_but_for_few([codes, names], [codes + 1.0, np.arange(100.0)], FEW).any()
    assert in_one_unit_but_for_few([], [codes], FEW).shape == (0, 1)
