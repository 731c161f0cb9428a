"""All that a fit tells by feature is in the order in which the researcher wrote features, or terms, whoever has which column: as in lifelines."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from harness.inprocess import InProcess
from lifelines import CoxPHFitter
from lifelines.datasets import load_rossi

from fedbayes.client.result import Result
from fedbayes.federation.errors import ArgumentError

COLUMNS = {"one": ["prio", "wexp"], "two": ["age", "kind"], "three": ["week", "arrest", "fin"]}
OUTCOME = {"time": "week", "event": "arrest"}
ORDERS = (
    ["fin", "prio", "kind", "age", "wexp"],
    ["kind", "wexp", "fin", "age", "prio"],
    ["age", "fin", "wexp", "prio", "kind"],
)
ROBUST = {"solver": "private_newton", "robust": True}
SOLVERS: dict[str, dict[str, Any]] = {
    "private_newton": {},
    "bfgs": {"solver": "bfgs"},
    "admm": {"solver": "admm", "tolerance": 1e-4},
    "robust": ROBUST,
    "cluster": {"cluster": "person"},
}


@pytest.fixture(scope="module")
def records() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    frame = load_rossi().assign(id=range(432), kind=rng.choice(["low", "middle", "high"], 432))
    frame["week"], frame["person"] = frame["week"] + rng.permutation(432) * 1e-4, np.arange(432) // 2
    return frame


def asked(frame: pd.DataFrame, function: str = "fit", **task: Any) -> dict[str, Any]:
    """Ask about the frame's columns at three stations; "two" is central."""
    homes = {name: [*columns, *(["person"] if name == "two" else [])] for name, columns in COLUMNS.items()}
    files: dict[str, str | None] = {
        name: frame.sample(frac=1.0, random_state=place)[["id", *columns]].to_csv(index=False)
        for place, (name, columns) in enumerate(homes.items())
    }
    limits = {name: {"allow_predictions": True} for name in [*files, "helper"]}
    with InProcess("v6_verticox", {**files, "helper": None}, limits, "two") as running:
        return dict(running.run(function, {"id_column": "id", **task}))


def labels_of(order: list[str]) -> list[str]:
    return [label for name in order for label in (["kind=low", "kind=middle"] if name == "kind" else [name])]


def pooled(frame: pd.DataFrame, order: list[str], **roles: Any) -> CoxPHFitter:
    coded = frame.assign(**{f"kind={name}": (frame["kind"] == name).astype(int) for name in ("low", "middle")})
    table = coded[[*labels_of(order), "week", "arrest", *[name for name in roles.values() if isinstance(name, str)]]]
    return CoxPHFitter().fit(table, "week", "arrest", fit_options={"precision": 1e-12}, **roles)


def assert_in_order(
    model: dict[str, Any], order: list[str], peer: CoxPHFitter, precision: float = 1e-5, errors: float = 1e-3
) -> None:
    assert model["features"] == order
    table = pd.DataFrame(model["coefficients"])
    assert list(table["feature"]) == labels_of(order) == list(peer.params_.index)
    np.testing.assert_allclose(table["coefficient"], peer.params_, atol=precision)
    np.testing.assert_allclose(table["standard_error"], peer.standard_errors_, rtol=errors)
    np.testing.assert_allclose(np.sqrt(np.diag(model["covariance"])), peer.standard_errors_, rtol=errors)


@pytest.mark.few(1)
@pytest.mark.parametrize("order", ORDERS, ids="-".join)
@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_keeps_the_order_that_was_written(records: pd.DataFrame, order: list[str], solver: str) -> None:
    result = asked(records, **OUTCOME, features=order, **SOLVERS[solver])
    model = result["model"]
    roles = {"robust": {"robust": True}, "cluster": {"cluster_col": "person"}}.get(solver, {})
    peer = pooled(records, order, **roles)
    assert_in_order(model, order, peer, 1e-3 if solver == "admm" else 1e-5)
    if not roles:
        scale = np.outer(peer.standard_errors_, peer.standard_errors_)
        np.testing.assert_allclose(model["covariance"] / scale, peer.variance_matrix_ / scale, atol=1e-3)
    else:
        naive = pooled(records, order).standard_errors_
        np.testing.assert_allclose(np.sqrt(np.diag(model["naive_covariance"])), naive, rtol=1e-3)
    converted = Result(result).to_lifelines()
    assert list(converted.summary.index) == labels_of(order)
    frame = converted.variance_matrix_
    assert list(frame.index) == list(frame.columns) == labels_of(order)
    if solver != "admm":
        assert [entry["feature"] for entry in model["proportional_hazards"]["features"]] == labels_of(order)


@pytest.mark.audit
def test_the_check_of_proportional_hazards_follows_its_feature(records: pd.DataFrame) -> None:
    found = [asked(records, **OUTCOME, features=order)["model"]["proportional_hazards"]["features"] for order in ORDERS]
    tables = [{entry["feature"]: entry["statistic"] for entry in one} for one in found]
    for table in tables[1:]:
        assert table == pytest.approx(tables[0], rel=1e-3, abs=1e-5)
    assert len({round(value, 4) for value in tables[0].values()}) == len(tables[0])


@pytest.mark.audit
@pytest.mark.usefixtures("fine_hazards")
@pytest.mark.parametrize("order", ORDERS[:2], ids="-".join)
def test_a_model_in_any_order_predicts_and_is_judged_alike(records: pd.DataFrame, order: list[str]) -> None:
    model = asked(records, **OUTCOME, features=order)["model"]
    place = [5, 0, 4, 1, 3, 2]
    other = {
        **model,
        "features": model["features"][::-1],
        "coefficients": [model["coefficients"][at] for at in place],
        "covariance": np.array(model["covariance"])[np.ix_(place, place)].tolist(),
    }
    for function, task in (("predict", {}), ("evaluate", {}), ("evaluate", {"reveal": "aggregates"})):
        first, second = (asked(records, function, model=one, **task) for one in (model, other))
        if function == "evaluate":
            assert_alike(first["metrics"], second["metrics"])
        else:  # records come in an order that is random
            assert_alike(*(sorted(one["predictions"]["linear_predictor"]) for one in (first, second)))


def assert_alike(first: Any, second: Any) -> None:
    if isinstance(first, dict):
        assert first.keys() == second.keys()
        for name in first:
            assert_alike(first[name], second[name])
    elif isinstance(first, list):
        for one, other in zip(first, second, strict=True):
            assert_alike(one, other)
    elif isinstance(first, float):
        assert second == pytest.approx(first, rel=1e-4, abs=1e-6)
    else:
        assert first == second


@pytest.mark.audit
def test_terms_stay_in_the_order_of_the_formula(records: pd.DataFrame) -> None:
    formula = "~ fin + C(kind, reference='high') + prio + age:wexp + age + fin:prio + wexp"
    model = asked(records, **OUTCOME, formula=formula)["model"]
    wanted = [
        "fin",
        "kind",
        "prio",
        "age",
        "wexp",
        "age:wexp",
        "fin:prio",
    ]  # products last, as formulaic and R have them
    assert model["features"] == wanted
    labels = [label for term in model["features"] for label in model["terms"][term]]
    assert [entry["feature"] for entry in model["coefficients"]] == labels
    design = records.assign(
        **{"low": records["kind"] == "low", "middle": records["kind"] == "middle"},
        product=records["age"] * records["wexp"],
        other=records["fin"] * records["prio"],
    )
    names = ["fin", "low", "middle", "prio", "age", "wexp", "product", "other"]
    peer = CoxPHFitter().fit(
        design[[*names, "week", "arrest"]].astype(float), "week", "arrest", fit_options={"precision": 1e-12}
    )
    table = pd.DataFrame(model["coefficients"])
    np.testing.assert_allclose(table["coefficient"], peer.params_, atol=1e-5)
    np.testing.assert_allclose(table["standard_error"], peer.standard_errors_, rtol=1e-3)


@pytest.mark.audit
@pytest.mark.parametrize("order", [("town", "kind"), ("kind", "town")], ids="-".join)
def test_products_have_one_order_whoever_has_which_column(records: pd.DataFrame, order: tuple[str, str]) -> None:
    frame = records.assign(town=np.random.default_rng(1).choice(["a", "b", "c"], len(records)))
    homes = [
        {"one": ["town"], "two": ["age", "kind"]},
        {"one": ["age", "kind"], "two": ["town"]},
        {"one": ["age"], "two": ["kind", "town"]},
    ]
    tables = []
    for columns in homes:
        with pytest.MonkeyPatch.context() as patch:
            for name, own in columns.items():
                patch.setitem(COLUMNS, name, own)
            model = asked(frame, **OUTCOME, formula=f"~ age + {'*'.join(order)}")["model"]
        tables.append(pd.DataFrame(model["coefficients"])[["feature", "coefficient", "standard_error"]])
        assert [label for labels in model["terms"].values() for label in labels] == list(tables[-1]["feature"])
    for table in tables[1:]:
        assert list(table["feature"]) == list(tables[0]["feature"])
        np.testing.assert_allclose(table.iloc[:, 1:], tables[0].iloc[:, 1:], atol=1e-5)


BOUNDS = {
    "fin": {"bounds": [0, 1]},
    "prio": {"bounds": [0, 20]},
    "age": {"bounds": [15, 50]},
    "kind": {"categories": ["high", "low", "middle"]},
    "wexp": {"bounds": [0, 1]},
    "week": {"bounds": [0, 60]},
}


@pytest.mark.audit
@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_fits_with_noise_keep_the_order_that_was_written(records: pd.DataFrame, order: list[str]) -> None:
    many = pd.concat([records.assign(id=records["id"] + 1000 * copy) for copy in range(10)])
    budget = {"epsilon": 200.0, "delta": 1e-6, "times": [5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 53]}
    model = asked(many, **OUTCOME, features=order, domain=BOUNDS, **budget)["model"]
    peer = pooled(records, order)
    assert (
        list(pd.DataFrame(model["coefficients"])["feature"]) == list(model["noise"]["coefficients"]) == labels_of(order)
    )
    assert model["features"] == list(model["domain"]) == order
    table = pd.DataFrame(model["coefficients"])
    deviations = peer.standard_errors_.to_numpy()
    np.testing.assert_allclose(
        table["coefficient"] / deviations, peer.params_ / deviations, atol=0.8
    )  # noise moves them by .3
    np.testing.assert_allclose(table["standard_error"], deviations / np.sqrt(10.0), rtol=0.5)  # noise: .25
    np.testing.assert_allclose(np.sqrt(np.diag(model["covariance"])), table["standard_error"])


@pytest.mark.few(1)
@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_fits_to_whole_records_keep_the_order_that_was_written(records: pd.DataFrame, order: list[str]) -> None:
    files: dict[str, str | None] = {name: records[place::3].to_csv(index=False) for place, name in enumerate("abc")}
    task = {
        **OUTCOME,
        "features": order,
        "domain": BOUNDS,
        "split": "horizontal",
        "times": list(range(1, 54)),
        "ties": "efron",
    }
    with InProcess("v6_verticox", files, {name: {} for name in files}, "a") as running:
        model = running.run("fit", task)["model"]
    assert_in_order(model, order, pooled(records.assign(week=np.ceil(records["week"])), order), 2e-2, 2e-2)


def test_a_column_with_the_name_of_a_category_is_refused(records: pd.DataFrame) -> None:
    frame = records.rename(columns={"prio": "kind=low"})
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(COLUMNS, "one", ["kind=low", "wexp"])
        with pytest.raises(ArgumentError, match="two design columns have one name"):
            asked(frame, **OUTCOME, features=["kind", "kind=low"])
