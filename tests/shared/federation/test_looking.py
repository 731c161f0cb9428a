"""`describe`: cells, what is hidden, quantiles from what is shown, private answers, who has what."""

import dataclasses
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess
from party_kit import remembering
from scipy.optimize import linprog

from fedbayes.bayes.counts import profile
from fedbayes.bayes.schema import Column
from fedbayes.client.result import Result
from fedbayes.federation import errors
from fedbayes.federation.jobs.transport import summed
from fedbayes.federation.questions.shown import Shown
from fedbayes.federation.remote import looking

ROWS = 90


def tables() -> dict[str, pd.DataFrame]:
    rng = np.random.default_rng(3)
    ids = [f"p{row}" for row in range(ROWS)]
    age = pd.DataFrame({"id": ids, "age": rng.normal(50, 10, ROWS).round(1).clip(25, 75)})
    age.loc[:6, "age"] = np.nan
    sex = pd.DataFrame({"id": ids, "sex": np.where(np.arange(ROWS) < 3, "x", rng.choice(["f", "m"], ROWS))})
    return {"hospital": age, "registry": sex}


DOMAIN = {"age": {"bounds": [20, 80]}, "sex": {"categories": ["f", "m", "x"]}}


def describe(**arguments: object) -> Result:
    with OneProcess(tables(), helpers=["helper"]) as federation:
        return federation.run("scalar_product", "describe", {"domain": DOMAIN, **arguments})


def test_every_value_falls_in_one_cell() -> None:
    values = [None, "", "20", "80", "80.5", "nonsense", "nan", "-inf", "49.99999"]
    codes = profile.cell_codes(Column("age", bounds=(20, 80)), np.array(values, dtype=object), 2)
    assert codes.tolist() == [3, 3, 0, 1, 2, 2, 2, 2, 0]
    states = profile.cell_codes(Column("s", categories=("1", "2")), np.array(["1.0", "3", None, "2"], dtype=object), 2)
    assert states.tolist() == [0, 2, 3, 1]


def test_it_tells_who_has_what_and_hides_small_counts() -> None:
    told = describe()["model"]["columns"]
    assert told["age"]["organizations"] == ["hospital"]
    assert told["age"]["missing"] == 7
    assert min(told["age"]["bins"]["counts"]) >= 5
    pooled = tables()["hospital"]["age"].dropna()
    assert told["age"]["quantiles"]["0.5"] == pytest.approx(pooled.median(), abs=3)
    counts = told["sex"]["categories"]["counts"]
    assert counts[2] is None
    assert sum(count is None for count in counts) >= 2, "one hidden count follows from the number of records"


@pytest.mark.parametrize("epsilon", [21.0, 1e9])
def test_noise_that_hides_nobody_hides_small_counts_no_less_than_none(epsilon: float) -> None:
    told = describe(epsilon=epsilon)["model"]["columns"]
    assert told["sex"]["categories"]["counts"][2] is None
    assert min(count for count in told["age"]["bins"]["counts"] if count is not None) >= 5
    shown = describe(epsilon=20.0)["model"]["columns"]["sex"]["categories"]["counts"]
    assert None not in shown


def test_a_hidden_count_does_not_follow_from_what_is_shown() -> None:
    column = Column("age", bounds=(0, 10))
    for outside in (1, 2, 4):
        entry = Shown.of(column, np.array([30, 8, 9, 40, outside, 0]), 4, 5).entry(column)
        hidden = [place for place, count in enumerate([*entry["bins"]["counts"], entry["outside"]]) if count is None]
        rest = entry["records"] - sum(count or 0 for count in [*entry["bins"]["counts"], entry["outside"]])
        target = np.zeros(len(hidden))
        target[-1] = 1.0
        low, high = (
            linprog(sign * target, A_eq=[np.ones(len(hidden))], b_eq=[rest], bounds=(0, None)).x[-1] for sign in (1, -1)
        )
        assert low == 0
        assert high >= 5
    same = [Shown.of(column, np.array([30, 8 + 2 - outside, 12, 40, outside, 0]), 4, 5) for outside in (1, 2)]
    assert same[0] == same[1], "quantiles are those of what is shown"


@pytest.mark.parametrize("seed", range(5))
def test_fine_bins_do_not_give_the_value_of_every_fifth_record_back(seed: int) -> None:
    """Each record moves within its pair of bins, one step of the finest halving: nothing that is told changes."""
    column, fine = Column("income", bounds=(0, 4096)), 4096
    values = np.random.default_rng(seed).choice(fine, 80, replace=False)
    told = []
    for moved in (values, values ^ 1):
        told.append(Shown.of(column, np.append(np.bincount(moved, minlength=fine), [0, 0]), fine, 5).entry(column))
    assert told[0] == told[1]
    assert min(told[0]["bins"]["counts"]) >= 5
    assert len(told[0]["bins"]["counts"]) > 5
    assert sum(told[0]["bins"]["counts"]) == 80


def test_a_far_record_does_not_blur_the_quantiles_of_the_others() -> None:
    column, values = Column("dose", bounds=(-5, 15)), np.random.default_rng(7).normal(5, 1, 400)
    values[0] = -4.9
    counts = np.histogram(values, np.linspace(-5, 15, 21))[0]
    entry = Shown.of(column, np.append(counts, [0, 0]), 20, 5).entry(column)
    assert min(entry["bins"]["counts"]) >= 5
    for level, value in entry["quantiles"].items():
        assert value == pytest.approx(
            np.quantile(values, float(level)), abs=1.0 if level in ("0.25", "0.5", "0.75") else 2.5
        )


@pytest.mark.parametrize(("bins", "minimum", "most"), [(4, 2, 6), (4, 3, 9), (5, 3, 7), (8, 2, 4)])
def test_no_small_count_of_any_range_follows_from_united_bins(bins: int, minimum: int, most: int) -> None:
    alike: dict[Any, list[tuple[int, ...]]] = {}
    for counts in itertools.product(range(most + 1), repeat=bins):
        if minimum <= sum(counts) <= most:
            values, edges = profile.merged(np.array(counts), np.arange(bins + 1.0), minimum)
            alike.setdefault((*values.tolist(), *edges.tolist()), []).append(counts)
    for shown, tables in alike.items():
        below = np.concatenate([np.zeros((len(tables), 1), np.int64), np.cumsum(tables, axis=1)], axis=1)
        ranges = below[:, :, None] - below[:, None, :]
        known = ranges[0][(ranges == ranges[0]).all(axis=0)]
        assert not ((known > 0) & (known < minimum)).any(), (shown, tables)


def test_that_a_half_is_empty_is_not_told_from_that_it_holds_few() -> None:
    edges = np.arange(17.0)
    counts = np.array([0, 0, 0, 0, 0, 0, 0, 0, 9, 8, 7, 12, 6, 9, 0, 5])
    for few in (1, 4):
        changed = counts.copy()
        changed[3] = few
        assert np.array_equal(profile.merged(changed, edges, 5)[1], profile.merged(counts, edges, 5)[1])


@pytest.mark.parametrize("counts", [[0] * 7, [3, 0, 0, 1], [0, 0, 9], [6, 0, 0, 0, 6], [1] * 30, [5, 4, 5, 5], [7]])
def test_united_bins_hold_enough_or_are_one(counts: list[int]) -> None:
    values, edges = profile.merged(np.array(counts), np.arange(len(counts) + 1.0), 5)
    assert values.sum() == sum(counts)
    assert len(values) == 1 or values.min() >= 5
    assert (edges[0], edges[-1]) == (0, len(counts))
    for count, low, high in zip(values, edges[:-1], edges[1:], strict=True):
        assert count == sum(counts[int(low) : int(high)])


def test_with_noise_nothing_is_hidden_and_the_promise_is_told() -> None:
    result = describe(epsilon=1.0)
    assert result["privacy"]["differentially_private"]
    assert result["privacy"]["epsilon"] == 1.0
    assert None not in result["model"]["columns"]["sex"]["categories"]["counts"]
    assert result["federation"]["rounds"] == 2
    assert result["diagnostics"]["noise"]["sex"] > 2


@pytest.mark.audit
def test_noise_is_that_of_the_stated_deviation() -> None:
    """Two columns share epsilon, and three organizations share the noise, of which two must suffice."""
    expected = 0.0
    found = []
    for _ in range(12):
        result = describe(epsilon=0.5, bins=200)
        expected = result["diagnostics"]["noise"]["age"]
        exact = np.histogram(tables()["hospital"]["age"].dropna(), np.linspace(20, 80, 201))[0]
        found.extend(np.array(result["model"]["columns"]["age"]["bins"]["counts"]) - exact)
    assert np.std(found) == pytest.approx(expected, rel=0.15)


def test_counts_of_the_only_holder_reach_central_as_the_result_shows_them(monkeypatch: pytest.MonkeyPatch) -> None:
    sums = []
    monkeypatch.setattr(looking, "summed", lambda vectors: sums.append(summed(vectors)) or sums[-1])
    told = describe()["model"]["columns"]
    assert told["age"]["records"] == ROWS
    assert not np.any(sums[0]), "what is added up over stations says nothing of a column that one of them has"
    shared = {name: tables()["registry"] for name in ("north", "south", "west")}
    with OneProcess(shared) as federation:
        asked = {"domain": DOMAIN, "columns": ["sex"]}
        assert federation.run("scalar_product", "describe", asked)["model"]["columns"]["sex"]["records"] == 3 * ROWS
    assert np.sum(sums[1]) == 3 * ROWS


@pytest.mark.parametrize(
    "wrong",
    [
        {"age": ["hospital", "registry"]},
        {"age": ["registry"]},
        {"sex": ["hospital", "registry"]},
        {"age": ["hospital", "hospital", "hospital"]},
    ],
)
def test_a_central_that_lies_about_who_has_a_column_stops_the_job(
    monkeypatch: pytest.MonkeyPatch, wrong: dict[str, list[str]]
) -> None:
    def lied(request: looking.DescribeRequest, **changes: Any) -> looking.DescribeRequest:
        (column, holders), members = *wrong.items(), {"hospital": 1, "registry": 2}
        changes["holders"] = {**changes["holders"], column: [members[name] for name in holders]}
        return dataclasses.replace(request, **changes)

    monkeypatch.setattr(
        looking,
        "replace",
        lambda made, **changes: lied(made, **changes) if "holders" in changes else dataclasses.replace(made, **changes),
    )
    with pytest.raises((errors.MessageError, errors.ThresholdError), match=r"other columns|rows of fewer|named twice"):
        describe()


EVERY_YEAR = pd.DataFrame({"id": [f"p{row}" for row in range(120)], "age": np.arange(20, 140)})


HOSPITAL_AND_REGISTRY = {"hospital": EVERY_YEAR, "registry": EVERY_YEAR[["id"]].assign(ill=np.arange(120) % 2)}


def look(*edges: float) -> tuple[str, dict[str, Any]]:
    domain = {"age": {"bounds": [edges[0], edges[-1]]}}
    return "describe", {"domain": domain, "bins": {"age": list(edges)}}


def older(age: float) -> tuple[str, dict[str, Any]]:
    tests = [{"column": "age", "op": ">=", "value": age}, {"column": "ill", "op": "==", "value": 1}]
    return "count", {"conditions": tests, "id_column": "id"}


@pytest.mark.few(6)
@pytest.mark.parametrize(
    ("first", "second", "answered"),
    [
        (look(0, 60, 200), look(0, 60, 200), True),
        (look(0, 60, 200), look(0, 30, 60, 200), True),
        (look(0, 60, 200), look(0, 70, 200), True),
        (look(0, 60, 200), look(0, 61, 200), False),
        (look(0, 60), look(0, 61), False),
        (look(60, 200), look(61, 200), False),
        (look(0, 60), look(0, 70), True),
        (look(0, 60, 200), older(61), False),
        (look(0, 60, 200), older(60), True),
        (older(61), look(0, 60, 200), False),
        (look(0, 60), older(62), False),
    ],
)
def test_descriptions_of_one_station_are_held_against_what_it_answered(
    tmp_path: Path, first: tuple[str, dict[str, Any]], second: tuple[str, dict[str, Any]], answered: bool
) -> None:
    with remembering(HOSPITAL_AND_REGISTRY, tmp_path) as federation:
        federation.run("scalar_product", *first)
        if answered:
            federation.run("scalar_product", *second)
        else:
            with pytest.raises(errors.ThresholdError, match="set apart"):
                federation.run("scalar_product", *second)
        federation.run("scalar_product", second[0], {**second[1], "epsilon": 1.0})


def test_bins_that_a_station_finds_are_answered_after_a_description(tmp_path: Path) -> None:
    fit = (
        "vertibayes",
        "fit",
        {"columns": ["age", "ill"], "structure": [["ill", "age"]], "id_column": "id", "bins": {"age": 4}},
    )
    with remembering(HOSPITAL_AND_REGISTRY, tmp_path) as federation:
        federation.run("scalar_product", *look(0, 51, 200))
        federation.run(*fit)
        with pytest.raises(errors.ThresholdError, match="set apart"):
            federation.run("scalar_product", *look(0, 48, 200))


def test_a_node_that_remembers_nothing_tells_of_no_number_that_it_alone_has() -> None:
    with OneProcess(
        tables(), helpers=["helper"], policies={name: {"allow_differences": False} for name in tables()}
    ) as federation:
        with pytest.raises(errors.ThresholdError, match="folder database"):
            federation.run("scalar_product", "describe", {"domain": DOMAIN})
        federation.run("scalar_product", "describe", {"domain": DOMAIN, "columns": ["sex"]})
        federation.run("scalar_product", "describe", {"domain": DOMAIN, "epsilon": 1.0})


def test_nodes_that_demand_privacy_refuse_exact_counts() -> None:
    with OneProcess(tables(), helpers=["helper"], policies={"registry": {"allow_non_private": "false"}}) as federation:
        with pytest.raises(errors.PolicyError, match="registry"):
            federation.run("scalar_product", "describe", {"domain": DOMAIN})
        federation.run("scalar_product", "describe", {"domain": DOMAIN, "epsilon": 1.0})


def test_exact_counts_of_the_only_organization_with_data_are_refused() -> None:
    only = {"registry": tables()["registry"]}
    asked = {"domain": DOMAIN, "columns": ["sex"]}
    with OneProcess(only, helpers=["one", "two"]) as federation:
        with pytest.raises(errors.ThresholdError, match="alone holds data"):
            federation.run("scalar_product", "describe", asked)
        assert federation.run("scalar_product", "describe", {**asked, "epsilon": 1.0})["privacy"]["epsilon"] == 1.0


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"domain": None}, "domain is needed"),
        ({"columns": ["weight"]}, "weight"),
        ({"epsilon": 5e-324}, "epsilon must be"),
        ({"bins": {"sex": 3}}, "bins names 'sex'"),
        ({"columns": ["age"], "unit": "identifier", "id_column": "age"}, "id_column"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, object], named: str) -> None:
    with pytest.raises(errors.ArgumentError, match=named):
        describe(**arguments)


def test_a_column_that_nobody_has_is_named() -> None:
    with pytest.raises(errors.DataProblem, match="weight"):
        describe(domain={**DOMAIN, "weight": {"bounds": [0, 9]}})


def test_a_column_outside_its_domain_is_warned_of() -> None:
    domain = {"sex": {"categories": ["male", "female"]}}
    assert any("'sex'" in text for text in describe(domain=domain)["warnings"])


def test_much_that_is_outside_a_domain_is_warned_of_but_few_slips_are_not() -> None:
    def warned(bounds: list[float]) -> list[str]:
        return [text for text in describe(domain={"age": {"bounds": bounds}})["warnings"] if "'age'" in text]

    age = tables()["hospital"]["age"]
    share = float((age > 58).sum()) / ROWS
    assert 0.1 < share < 0.5
    (told,) = warned([20, 58])
    assert f"{share:.0%} of its values are outside" in told
    assert warned([20, 80]) == []
    assert warned([20, float(age.nlargest(3).iloc[-1])]) == []  # two of 90, which are hidden too


def test_its_result_names_the_algorithm_that_was_asked() -> None:
    provenance = describe()["provenance"]
    assert (provenance["algorithm"], provenance["function"]) == ("scalar_product", "describe")
    assert "v6_scalar_product" in provenance["versions"]


def test_it_is_shown_and_drawn() -> None:
    result = describe()
    assert "median" in result.summary()
    assert "f: 4" in result.summary() or "f: 5" in result.summary()
    frame = result.to_frame()
    assert list(frame.columns) == ["column", "value", "count"]
    assert frame[frame["column"] == "age"]["count"].sum() == ROWS
    assert len(result.plot().axes) == 2
    json.dumps(result)
