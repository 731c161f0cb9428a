"""Two exact tasks by two columns of one station that say the same of all records but one, and by case weights of which one record carries the change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess
from party_kit import by_columns, remembering

from fedbayes.federation.answered.alike import alike_but_for_few, change_is_carried_by_few
from fedbayes.federation.errors import ThresholdError

ROWS, ODD, FEW = 200, 17, 5
"""Records, and the one that two columns differ in: it has its event first of all, so its residual is next to 1."""
FIT: dict[str, Any] = {"time": "time", "event": "event", "id_column": "id", "tolerance": 1e-9}
PARTS = {
    "a": ["x", "x2", "age", "age2", "site", "site2", "home", "home2", "y"],
    "c": ["time", "event", "event2", "ill", "score"],
}
SAME = "say the same of all records but fewer"
CARRIED = "carry nearly all of what changes"


def table() -> pd.DataFrame:
    """Return records with columns of which two of a name are one but for a record."""
    draw = np.random.default_rng(8)
    frame = pd.DataFrame({"id": [f"p{row:03d}" for row in range(ROWS)]})
    frame["x"], frame["y"], frame["ill"] = (draw.integers(0, 2, ROWS) for _ in range(3))
    frame["age"] = draw.normal(60, 9, ROWS).round(3)
    frame["site"], frame["home"] = np.array(list("abcd"))[draw.integers(0, 4, ROWS)], draw.integers(0, 60, ROWS)
    frame["time"], frame["event"] = draw.permutation(ROWS) + 1.0, (draw.random(ROWS) < 0.8).astype(int)
    frame.loc[ODD, ["time", "event", "site"]] = (0.5, 1, "a")
    frame["weight"] = np.where(frame.index == ODD, 60.0, draw.integers(1, 3, ROWS))
    frame["score"] = draw.normal(50, 10, ROWS).round(2)
    frame["mild"] = draw.lognormal(0.0, 0.5, ROWS).round(3)
    frame["milder"] = (frame["mild"] * draw.uniform(0.99, 1.01, ROWS)).where(frame.index != ODD, 12.0)
    others = {"x": 1 - frame["x"], "age": frame["age"] + 9, "event": 1 - frame["event"], "home": 61, "site": "b"}
    return frame.assign(**{f"{name}2": frame[name].where(frame.index != ODD, other) for name, other in others.items()})


def running(tmp_path: Any, parts: Any = None, frame: Any = None, **limits: Any) -> OneProcess:
    return remembering(by_columns(table() if frame is None else frame, parts or PARTS), tmp_path, **limits)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"features": ["x", "y"]}, {"features": ["x2", "y"]}),
        ({"features": ["age", "y"]}, {"formula": "~ bs(age2, df=3, lower_bound=20.0, upper_bound=110.0) + y"}),
        ({"features": ["site", "y"]}, {"features": ["site2", "y"]}),
        ({"features": ["y"], "cluster": "home"}, {"features": ["y"], "cluster": "home2"}),
        ({"features": ["x", "y"]}, {"features": ["x", "y"], "event": "event2"}),
    ],
    ids=["0 and 1", "number", "text", "clusters", "event"],
)
def test_two_cox_fits_by_columns_that_differ_in_one_record(tmp_path, one, other):
    with running(tmp_path) as federation:
        assert federation.run("verticox", "fit", {**FIT, **one})
        with pytest.raises(ThresholdError, match=SAME):
            federation.run("verticox", "fit", {**FIT, **other})
        assert federation.run("verticox", "fit", {**FIT, **one, "penalty": 0.1}), "as before"


def test_strata_and_a_feature_that_differ_in_one_record(tmp_path):
    parts = {"a": ["x", "y"], "c": ["time", "event", "site", "site2"]}
    with running(tmp_path, parts) as federation:
        assert federation.run("verticox", "fit", {**FIT, "features": ["y"], "strata": "site"})
        with pytest.raises(ThresholdError, match=f"'site2' and one that was asked for before {SAME}"):
            federation.run("verticox", "fit", {**FIT, "features": ["site2", "y"]})


@pytest.mark.audit
def test_control_unheld_two_fits_tell_that_the_record_has_its_event_first(tmp_path):
    frame, found = table(), []
    with running(tmp_path, allow_differences=True) as federation:
        for name in ("x", "x2"):
            model = federation.run("verticox", "fit", {**FIT, "features": [name, "y"]})["model"]
            found.append(np.array([row["coefficient"] for row in model["coefficients"]]))
    moved = np.linalg.solve(np.array(model["covariance"]), found[1] - found[0])
    assert moved[0] * (1 - 2 * frame["x"][ODD]) == pytest.approx(1.0, abs=0.1)


def crossed(federation: OneProcess, *names: str) -> Any:
    return federation.run("scalar_product", "contingency", {"columns": [*names, "ill"], "id_column": "id"})


def network(federation: OneProcess, *names: str) -> Any:
    asked = {"columns": ["ill", *names], "structure": [["ill", name] for name in names], "id_column": "id"}
    return federation.run("vertibayes", "fit", asked)


def test_products_by_two_columns_that_differ_in_one_record(tmp_path):
    """The difference is that record's number at the other station, times how far the two are apart."""
    with running(tmp_path) as federation:
        multiplied = {"columns": ["age", "score"], "id_column": "id"}
        assert federation.run("scalar_product", "scalar_product", multiplied)
        with pytest.raises(ThresholdError, match=SAME):
            federation.run("scalar_product", "scalar_product", {**multiplied, "columns": ["age2", "score"]})


@pytest.mark.few(2)
@pytest.mark.parametrize("ask", [crossed, network])
def test_tables_and_networks_by_two_such_columns(tmp_path, ask):
    with running(tmp_path) as federation:
        assert ask(federation, "x")
        assert ask(federation, "y"), "another column"
        with pytest.raises(ThresholdError, match=SAME):
            ask(federation, "x2")
        assert ask(federation, "x"), "as before"


@pytest.mark.parametrize("ask", [crossed, network])
def test_one_task_by_two_such_columns_at_a_node_that_remembers_nothing(tmp_path, monkeypatch, ask):
    monkeypatch.setattr("fedbayes.federation.tables.node_databases.embedded_record", lambda: None)
    with running(tmp_path, ledger=None) as federation:
        with pytest.raises(ThresholdError, match=f"columns 'x.*' and 'x.*' {SAME}"):
            ask(federation, "x", "x2")
        assert ask(federation, "x", "y")


def test_control_unheld_two_tables_differ_by_the_record(tmp_path):
    with running(tmp_path, allow_differences=True) as federation:
        counts = [np.array(crossed(federation, name)["counts"]) for name in ("x", "x2")]
    apart = (counts[0] - counts[1]).tolist()
    ill, x = (int(table()[name][ODD]) for name in ("ill", "x"))
    assert apart[x][ill] == 1
    assert apart[x][1 - ill] == 0


def test_a_column_with_other_codes_or_fewer_of_them(tmp_path):
    """Names do not matter, nor that one tells less: three of four sites are one region, but for a record."""
    frame = table()
    frame["region"] = frame["site"].map({"a": 7, "b": 7, "c": 7, "d": 8}).where(frame.index != ODD, 8)
    with running(tmp_path, {**PARTS, "a": [*PARTS["a"], "region"]}, frame) as federation:
        assert crossed(federation, "site")
        with pytest.raises(ThresholdError, match=SAME):
            crossed(federation, "region")


@pytest.mark.audit
def test_columns_that_differ_in_many_or_none_or_have_rare_values(tmp_path):
    frame = table()
    frame["x3"] = frame["x"].where(frame.index >= 5, 1 - frame["x"])
    frame["x4"], frame["rare"] = frame["x"] * 3, (frame.index < 3).astype(int)
    with running(tmp_path, {**PARTS, "a": [*PARTS["a"], "x3", "x4", "rare"]}, frame) as federation:
        for name in ("x", "x3", "x4", "age", "site", "rare"):
            if name != "age":
                assert crossed(federation, name), name
            assert name == "rare" or federation.run("verticox", "fit", {**FIT, "features": [name, "y"]}), name


def aged() -> pd.DataFrame:
    """Return the records with a second age that is some months more, so that no cell is the same, and 60 is between the two for one record alone."""
    frame = table()
    whole = frame["age"].round().replace(60, 61)
    odd = whole[whole == 59].index[0]
    return frame.assign(age=whole, age2=(whole + np.where(frame["y"], 0.5, 0.25)).where(frame.index != odd, 60.5))


def cut_at_60(name: str) -> dict[str, Any]:
    return {"id_column": "id", "bins": {name: [60.0]}}


def dictionary(name: str) -> dict[str, Any]:
    old = {"categories": ["no", "yes"], "cut": {"column": name, "at": [60]}}
    return {"dictionary": {"columns": {"old": old}}}


CUT: dict[str, Any] = {
    "table": lambda name: ("scalar_product", "contingency", {**cut_at_60(name), "columns": [name, "ill"]}),
    "gain": lambda name: ("scalar_product", "information_gain", {**cut_at_60(name), "columns": [name], "label": "ill"}),
    "network": lambda name: (
        "vertibayes",
        "fit",
        {**cut_at_60(name), "columns": ["ill", name], "structure": [["ill", name]]},
    ),
    "ensemble": lambda name: ("bayesian_ensemble", "fit", {**cut_at_60(name), "label": "ill", "features": [name]}),
    "Cox model": lambda name: ("verticox", "fit", {**FIT, "features": ["old", "y"], **dictionary(name)}),
}
"""Tasks by a number that is cut at 60."""


@pytest.mark.few(2)
@pytest.mark.parametrize("ask", CUT)
def test_two_numbers_that_are_cut_alike_but_for_one_record(tmp_path, ask):
    with running(tmp_path, frame=aged()) as federation:
        assert federation.run(*CUT[ask]("age"))
        with pytest.raises(ThresholdError, match=SAME):
            federation.run(*CUT[ask]("age2"))
        assert federation.run(*CUT[ask]("age")), "as before"


def test_control_not_compared_as_cut_the_tables_differ_by_the_record(tmp_path, monkeypatch):
    monkeypatch.setattr("fedbayes.federation.answered.entered.is_cut", lambda words: False)
    with running(tmp_path, frame=aged()) as federation:
        counts = [np.array(federation.run(*CUT["table"](name))["counts"]) for name in ("age", "age2")]
    assert np.abs(counts[0] - counts[1]).sum() == 2


def stratified(federation: OneProcess, strata: str) -> Any:
    return federation.run("verticox", "fit", {**FIT, "features": ["y"], "strata": strata})


def test_a_column_is_not_entered_as_a_time_beside_its_twin(tmp_path):
    """What is a time once is held against other columns when it is asked for as one of these."""
    frame = table()
    frame["twice"] = frame["event2"] + 1.0
    with running(tmp_path, {**PARTS, "c": ["time", "event", "twice", "ill"]}, frame) as federation:
        assert federation.run("verticox", "fit", {**FIT, "features": ["y"]})
        assert federation.run("verticox", "fit", {**FIT, "features": ["y"], "time": "twice"})
        with pytest.raises(ThresholdError, match=SAME):
            stratified(federation, "twice")


def test_an_event_that_nearly_follows_from_the_time_is_asked_for(tmp_path):
    """As where all are followed for a year, of whom few have their event on the last day."""
    frame = table()
    frame["time"] = frame["time"].rank().clip(upper=20)
    frame["event"] = ((frame["time"] < 20) | (frame.index < 3)).astype(int)
    with running(tmp_path, frame=frame, allow_predictions=True) as federation:
        model = federation.run("verticox", "fit", {**FIT, "features": ["x", "y"]})["model"]
        assert federation.run("verticox", "evaluate", {"model": model, "id_column": "id"})
        assert federation.run("scalar_product", "contingency", {"columns": ["x", "event"], "id_column": "id"})


WEIGHED = {"a": ["x", "y"], "c": ["time", "event", "weight", "mild", "milder"]}
"""The odd record has a weight of 60, others 1 or 2; mild weights are ordinary, and milder ones nearly the same but for the odd one's."""


def weigh(federation: OneProcess, weights: str | None) -> Any:
    return federation.run("verticox", "fit", {**FIT, "features": ["x", "y"], "weights": weights})["model"]


@pytest.mark.few(1)
@pytest.mark.parametrize("order", [(None, "weight"), ("weight", None)])
def test_a_large_case_weight_is_not_told_by_fits_with_and_without_it(tmp_path, order):
    with running(tmp_path, WEIGHED) as federation:
        assert weigh(federation, order[0])
        with pytest.raises(ThresholdError, match=CARRIED):
            weigh(federation, order[1])
        assert weigh(federation, order[0]), "as before"


def test_weights_that_differ_in_one_record(tmp_path):
    with running(tmp_path, WEIGHED) as federation:
        assert weigh(federation, None)
        assert weigh(federation, "mild"), "ordinary weights beside none"
        with pytest.raises(ThresholdError, match=CARRIED):
            weigh(federation, "milder")


def test_a_node_that_remembers_nothing_compares_weights_with_none(tmp_path, monkeypatch):
    monkeypatch.setattr("fedbayes.federation.tables.node_databases.embedded_record", lambda: None)
    with running(tmp_path, WEIGHED, ledger=None) as federation:
        assert weigh(federation, "mild")
        with pytest.raises(ThresholdError, match=CARRIED):
            weigh(federation, "weight")


@pytest.mark.audit
def test_control_unheld_two_fits_tell_what_the_heavy_record_has(tmp_path):
    right = 0
    for seed in range(4):
        frame = table()
        frame[["x", "y"]] = np.random.default_rng(seed).integers(0, 2, (ROWS, 2))
        with running(tmp_path / str(seed), WEIGHED, frame, allow_differences=True) as federation:
            plain, heavy = (weigh(federation, name) for name in (None, "weight"))
        found = [np.array([row["coefficient"] for row in model["coefficients"]]) for model in (plain, heavy)]
        moved = np.linalg.solve(np.array(heavy["covariance"]), found[1] - found[0])
        right += int(np.sum((moved > 0) == frame.loc[ODD, ["x", "y"]].to_numpy(dtype=bool)))
    assert right >= 7


def test_what_counts_as_a_change_of_weights():
    draw = np.random.default_rng(1)
    ones = np.ones(ROWS)
    for shares in (draw.uniform(0.5, 2.0, ROWS), draw.lognormal(0.0, 0.5, ROWS), draw.integers(1, 6, ROWS) / 1.0):
        assert not change_is_carried_by_few(shares, ones, 5)
        assert not change_is_carried_by_few(shares, shares / 3.7, 5), "multiples are the same weights"
        assert change_is_carried_by_few(np.where(np.arange(ROWS) < 4, 50.0, shares), shares, 5)
        assert not change_is_carried_by_few(np.where(np.arange(ROWS) < 5, 5.0, ones), ones, 5), (
            "as many as the node demands"
        )


def follows(one: Any, other: Any, minimum: int) -> bool:
    """Say by loops over rows whether the one follows from the other but for few, at states of the other that are many together."""
    if min(len(other) - np.bincount(other).max(), len(one)) < minimum:
        return False
    held = 0
    for state in set(one):
        together = np.bincount(other[one == state])
        held += max(together) if max(together) >= minimum else 0
    return 0 < len(one) - held < minimum


def test_against_every_two_columns_one_by_one():
    draw = np.random.default_rng(2)
    for _ in range(40):
        rows, minimum = int(draw.integers(20, 60)), int(draw.integers(2, 6))
        first = [draw.integers(0, draw.integers(2, 5), rows) for _ in range(3)]
        columns = [*first, *(np.where(draw.random(rows) < 0.04, draw.integers(0, 4), one // 2) for one in first)]
        expected = [
            [
                one is not other
                and (follows(one, other, minimum) or follows(other, one, minimum) or 0 < np.sum(one != other) < minimum)
                for other in columns
            ]
            for one in columns
        ]
        assert alike_but_for_few(columns, [], minimum).tolist() == expected
        assert alike_but_for_few(columns[:2], columns[2:], minimum).tolist() == expected[:2]
    assert alike_but_for_few([], columns, 5).shape == (0, 6)


def families(rows: int, size: int) -> tuple[Any, Any]:
    """Return families by two names, of which one person is in another one by the second."""
    draw = np.random.default_rng(5)
    one = draw.permutation(np.arange(rows) // size)
    other = np.array([f"f{(7 * number) % rows:03d}" for number in one], dtype=object)
    return one, np.where(np.arange(rows) == ODD, other[(one != one[ODD]).argmax()], other)


@pytest.mark.parametrize(("rows", "size"), [(60, 3), (60, 2), (240, 4)])
def test_families_by_two_names(rows: int, size: int):
    """However small they are and however many: groups of few rows were not compared, nor columns of more than 50 values."""
    one, other = (np.unique(column, return_inverse=True)[1] for column in families(rows, size))
    apart, alone = np.random.default_rng(2).permutation(one), np.arange(rows)
    assert alike_but_for_few([one], [other + rows, apart, alone], FEW).tolist() == [[False, True, False, False]]
    assert alike_but_for_few([other + rows], [one], FEW).tolist() == [[False, True]]
    renamed = (7 * one) % rows + rows
    assert not alike_but_for_few([one], [renamed], FEW).any(), "the same families"


def test_columns_of_next_to_no_groups_are_not_compared_by_them():
    draw = np.random.default_rng(2)
    for _ in range(50):
        columns = [np.unique(draw.integers(0, 900, 60), return_inverse=True)[1] + 1000 * place for place in range(4)]
        assert not alike_but_for_few(columns, [], FEW).any()


@pytest.mark.parametrize("held", [True, False])
def test_two_cox_fits_by_clusters_of_two_names(tmp_path, monkeypatch, held):
    frame = table().head(60).assign(event=1)
    frame["home"], frame["home2"] = families(60, 3)
    if not held:
        monkeypatch.setattr(
            "fedbayes.federation.answered.alike._grouped_alike", lambda *_: np.zeros((), dtype=np.bool_)
        )
    with running(tmp_path, frame=frame) as federation:
        asked = {**FIT, "features": ["y"]}
        first = federation.run("verticox", "fit", {**asked, "cluster": "home"})["model"]["coefficients"][0]
        if held:
            with pytest.raises(ThresholdError, match=SAME):
                federation.run("verticox", "fit", {**asked, "cluster": "home2"})
            return
        second = federation.run("verticox", "fit", {**asked, "cluster": "home2"})["model"]["coefficients"][0]
    assert abs(first["standard_error"] - second["standard_error"]) > 1e-4, "control: products of that person's residual"
