"""Questions that were made to single out one person get nothing about that person."""

import pathlib
import time

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess
from party_kit import by_columns, by_rows

from fedbayes.bayes.evaluation.small_counts import grouped, shown
from fedbayes.federation.errors import AlgorithmError, ArgumentError, ThresholdError

LIMITS = {"*": {"minimum_count": 10, "allow_predictions": "false"}}
SPLIT = {"a": ["income", "street"], "b": ["hiv"]}
HOLES = {"*": {"minimum_rows": 1, "minimum_count": 0}}


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    draw = np.random.default_rng(3)
    income = draw.permutation(np.arange(1000, 2000, 5))
    hiv = np.where(draw.random(200) < 0.15, "pos", "neg")
    street = np.array([f"s{place % 4}" for place in range(200)], dtype=object)
    street[:2] = ["lane", "alley"]
    return pd.DataFrame({"id": [f"p{row:03d}" for row in range(200)], "income": income, "street": street, "hiv": hiv})


@pytest.fixture(scope="module")
def guarded(people):
    with OneProcess(by_columns(people, SPLIT), helpers=["helper"], policies=LIMITS) as federation:
        yield federation


def crafted(x: int) -> dict:
    """Return a network that predicts "pos" for one income and "neg" for all others."""
    rows = [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
    nodes = {"income": {"states": ["low", "t", "high"], "cuts": [x, x + 1]}, "hiv": {"states": ["neg", "pos"]}}
    tables = {
        "income": {"parents": [], "probabilities": [0.4, 0.2, 0.4]},
        "hiv": {"parents": ["income"], "probabilities": rows},
    }
    return {"nodes": nodes, "edges": [["income", "hiv"]], "tables": tables, "label": "hiv"}


@pytest.mark.few(1)
@pytest.mark.parametrize("missing", ["category", "drop"])
def test_cut_points_around_one_person_are_refused_at_the_owner(guarded, people, missing) -> None:
    x = int(people["income"][7])
    given = {"columns": ["income", "hiv"], "id_column": "id", "structure": [["income", "hiv"]], "missing": missing}
    for bins in ([x, x + 1], [1004], [1994]):
        with pytest.raises(ThresholdError, match="cut points") as refusal:
            guarded.run("vertibayes", "fit", {**given, "bins": {"income": bins}})
        assert str(x) not in str(refusal.value)
    with pytest.raises(ThresholdError, match="cut points"):
        guarded.run("vertibayes", "evaluate", {"model": crafted(x), "id_column": "id", "method": "counts"})


def test_a_category_of_one_person_is_not_told_by_any_part_of_a_result(guarded, people, exact_scores) -> None:
    """The label of the persons with a street of their own is turned round: nothing that is published may change by it alone.

    What is added to scores follows from all rows, so another file has other draws; here they have no size.
    """
    given = {
        "columns": ["street", "hiv"],
        "id_column": "id",
        "structure": [["street", "hiv"]],
        "label": "hiv",
        "missing": "category",
        "pseudocount": 0,
    }
    swapped = people.copy()
    first, second = people["hiv"][0], people["hiv"][1]
    swapped.loc[0, "hiv"], swapped.loc[1, "hiv"] = (
        ("pos", "neg") if (first, second) != ("pos", "neg") else ("neg", "pos")
    )
    other = people.copy()
    other.loc[0, "hiv"], other.loc[1, "hiv"] = swapped["hiv"][1], swapped["hiv"][0]
    found = []
    for table in (swapped, other):
        with OneProcess(by_columns(table, SPLIT), helpers=["helper"], policies=LIMITS) as federation:
            public = {"street": ["lane"] * 10, "hiv": ["pos"] * 10}
            asked = {**given, "validation": "public", "public_records": public}
            result = federation.run("vertibayes", "fit", asked)
            model = {key: value for key, value in result["model"].items() if key != "seal"}
            network = {**crafted(0), "edges": [["street", "hiv"]]}
            states = model["nodes"]["street"]["states"]
            network["nodes"] = {"street": {"states": states}, "hiv": {"states": ["neg", "pos"]}}
            row = [[0.0, 1.0] if state == "lane" else [1.0, 0.0] for state in states]
            network["tables"] = {
                "street": {"parents": [], "probabilities": [1 / len(states)] * len(states)},
                "hiv": {"parents": ["street"], "probabilities": row},
            }
            scores = federation.run("vertibayes", "evaluate", {"model": network, "id_column": "id", "method": "counts"})
        drawn = {name: round(scores["model"].pop(name), 9) for name in ("log_loss", "auc", "auc_published")}
        found.append((model, result["diagnostics"], scores["model"], drawn))
    assert found[0] == found[1]


def test_records_at_two_stations_do_not_count_twice_under_an_epsilon(people) -> None:
    table = people[["id", "street", "hiv"]]
    parties = {"a": table.iloc[:120], "b": table.iloc[80:]}
    domain = {name: {"categories": sorted(set(people[name]))} for name in ("street", "hiv")}
    given = {"columns": ["street", "hiv"], "id_column": "id", "structure": [["street", "hiv"]], "split": "hybrid"}
    given |= {"domain": domain, "missing": "category"}
    with OneProcess(
        parties=parties, helpers=["helper"], policies={"*": {**HOLES["*"], "minimum_organizations": 2}}
    ) as federation:
        result = federation.run("vertibayes", "fit", {**given, "epsilon": 5.0})
        with pytest.raises(ArgumentError, match="two stations"):
            federation.run("vertibayes", "fit", given)
    assert result["diagnostics"]["records"] == len(people)
    assert any("several stations hold street, hiv" in text for text in result["warnings"])
    assert "an earlier station" in result["privacy"]["reveals"]["stations"]


@pytest.mark.few(1)
@pytest.mark.parametrize("split", ["vertical", "horizontal"])
def test_whether_a_category_occurs_decides_nothing_under_an_epsilon(people, split) -> None:
    found = []
    domain = {"street": {"categories": ["s0", "s1", "s2", "s3"]}, "hiv": {"categories": ["neg", "pos"]}}
    domain["income"] = {"bounds": [1100, 1200]}
    for rare in ("s0", "unheard of"):
        table = people.assign(street=people["street"].where(people.index > 1, "s0"))
        table.loc[5, "street"] = rare
        whole = by_rows(table, ["h0", "h1", "h2"]), []
        parties, helpers = (by_columns(table, SPLIT), ["helper"]) if split == "vertical" else whole
        limits = {"*": {"minimum_count": 10, "allow_non_private": "false"}}
        given = {"columns": ["street", "income", "hiv"], "structure": [["street", "hiv"]], "split": split}
        given |= {"epsilon": 1.0, "domain": domain} | ({"id_column": "id"} if split == "vertical" else {})
        with OneProcess(parties=parties, helpers=helpers, policies=limits) as federation:
            result = federation.run("vertibayes", "fit", given)
        assert result["privacy"]["differentially_private"] is True
        assert result["privacy"]["neighbors"] == ("replace_one" if split == "vertical" else "add_remove")
        assert result["privacy"]["epsilon"] == 1.0
        assert len(result["model"]["nodes"]["income"]["states"]) == 5
        found.append(result["model"]["nodes"]["street"]["states"])
    assert found[0] == found[1]


def test_a_column_that_nobody_understands_is_the_first_warning(people) -> None:
    domain = {"street": {"categories": ["m", "f"]}, "hiv": {"categories": ["neg", "pos"]}}
    given = {"columns": ["street", "hiv"], "structure": [["street", "hiv"]], "id_column": "id", "domain": domain}
    limits = {"*": {"minimum_count": 0}}
    with OneProcess(by_columns(people, SPLIT), helpers=["helper"], policies=limits) as federation:
        noisy = federation.run("vertibayes", "fit", {**given, "epsilon": 50.0})
        with pytest.raises(AlgorithmError, match="street"):
            federation.run("vertibayes", "fit", given)
    assert "street" in noisy["warnings"][0]
    assert "nearly no value" in noisy["warnings"][0]
    assert noisy["diagnostics"]["missing"]["street"] > 0.9


def test_whole_numbers_given_as_fractions_are_whole(guarded) -> None:
    given = {"columns": ["street", "hiv"], "id_column": "id", "structure": [["street", "hiv"]], "label": "hiv"}
    result = guarded.run("vertibayes", "fit", {**given, "validation": "svdg", "folds": 5.0, "max_parents": 2.0})
    assert len(result["diagnostics"]["validation"]["folds"]) == 5


def test_nothing_of_a_job_stays_at_the_stations(guarded) -> None:
    given = {"columns": ["street", "hiv"], "id_column": "id", "label": "hiv"}
    fitted = guarded.run("vertibayes", "fit", given)
    guarded.run("vertibayes", "evaluate", {"model": fitted["model"], "id_column": "id", "method": "counts"})
    root = pathlib.Path(guarded._folder.name)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and (left := residue(root)):
        time.sleep(0.2)
    assert left == []


def residue(root: pathlib.Path) -> list[str]:
    kinds = ("private_key", "kept", "keys", "secret")
    return [path.name for path in root.glob("job-*/*/fedbayes-*/*") if path.name.startswith(kinds)]


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m["tables"]["hiv"].update(probabilities=[[1, float("nan")], [0, 1], [1, 0]]),
        lambda m: m["tables"]["hiv"].update(probabilities=[[2, -1], [0, 1], [1, 0]]),
        lambda m: m["tables"]["hiv"].update(probabilities=[[float("inf"), 0], [0, 1], [1, 0]]),
        lambda m: m["nodes"]["income"].update(cuts=[5, 4]),
        lambda m: m["nodes"]["income"].update(cuts=[float("nan"), 4]),
        lambda m: m["nodes"]["income"].update(cuts=[4]),
        lambda m: m.update(label=["hiv"]),
        lambda m: m["nodes"].update(hiv=7),
    ],
)
def test_malformed_models_are_refused(change) -> None:
    from v6_vertibayes.prediction import Model

    model = crafted(4)
    change(model)
    with pytest.raises(ArgumentError, match=r"model|label"):
        Model.read(model).target(None)


def test_groups_have_enough_records_and_neighbours_only() -> None:
    draw = np.random.default_rng(1)
    for _ in range(50):
        one = draw.random(40)
        weight = draw.integers(1, 6, 40).astype(float)
        found = grouped(np.stack([one, 1 - one], 1), weight, 7)
        sizes = pd.Series(weight).groupby(found[:, 0].round(12)).sum()
        assert (sizes >= 7).all()
        assert np.abs(found[:, 0] - one).max() < 0.5
        assert (found * weight[:, None]).sum(0) == pytest.approx((np.stack([one, 1 - one], 1) * weight[:, None]).sum(0))


def test_small_counts_of_a_confusion_table_are_hidden_with_others() -> None:
    assert shown(np.array([[40.0, 0], [0, 50]]), 10) == [[40.0, 0.0], [0.0, 50.0]]
    assert shown(np.array([[40.0, 3], [12, 50]]), 10) == [[None, None], [None, None]]
    wide = shown(np.array([[40.0, 3, 30], [12, 50, 11], [20, 30, 40]]), 10)
    assert sum(cell is None for row in wide for cell in row) >= 4
