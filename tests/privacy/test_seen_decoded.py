"""The station with the outcome of a Cox fit whose solver shows it predictors: with the coefficients of the result it reads all columns, record by record.

It needs neither the coefficients of the steps nor as many steps as columns: the last predictor is nearly that of the result, and of columns with few values,
or whole numbers, one combination alone is that near.
"""

from __future__ import annotations

from itertools import product
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from limits_kit import PREDICTING
from one_process import OneProcess

from fedbayes.federation.errors import MessageError, PolicyError
from fedbayes.federation.station import Station
from fedbayes.typing import Floats
from v6_verticox.stations import consensus, seen

ROWS, AGES = 120, range(40, 80)
FEATURES = ["smoker", "age", "kidney", "married"]
VALUES = np.array(list(product([0, 1], AGES, [0, 1], [0, 1])), dtype=float)
SOLVERS = {"bfgs": {}, "admm": {"rho": 1.0, "tolerance": 0.01, "max_rounds": 1500}}


def people() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.integers(0, 2, (ROWS, 3)), columns=["smoker", "kidney", "married"])
    frame.insert(1, "age", rng.choice(AGES, ROWS))
    risk = np.exp(frame @ [0.5, 0.03, -0.7, 0.4] - 2.0)
    return frame.assign(time=rng.exponential(1.0 / risk).round(4) + 0.001, event=(rng.random(ROWS) < 0.8).astype(int))


def fit(frame: pd.DataFrame, solver: str, limits: dict[str, Any]) -> tuple[dict[str, Any], list[Floats]]:
    """Return the result of a fit, and what the station with the outcome sees of the others' predictors, step by step."""
    total, shown = seen.total_predictor, list[Floats]()

    def noted(*given: Any) -> Floats:
        shown.append(total(*given))
        return shown[-1]

    parties = {"a": frame[["time", "event"]], "b": frame[["smoker", "age"]], "c": frame[["kidney", "married"]]}
    task = {"time": "time", "event": "event", "features": FEATURES, "rows_aligned": True, "solver": solver}
    with (
        mock.patch.object(seen, "total_predictor", noted),
        mock.patch.object(consensus, "total_predictor", noted),
        OneProcess(parties, helpers=["h"], policies={"*": limits}, aggregator="b") as running,
    ):
        return running.run("verticox", "fit", {**task, **SOLVERS[solver]}), shown


def decoded(coefficients: Floats, predictor: Floats) -> Floats:
    """Return the values that have each record's predictor, up to a constant: the nearest ones, by coefficients that are made to fit them."""

    def nearest(by: Floats, constant: float) -> tuple[Floats, Floats]:
        away = np.abs((VALUES @ by)[:, None] - predictor - constant)
        return VALUES[away.argmin(axis=0)], away.min(axis=0)

    constant = min(VALUES @ coefficients - predictor[0], key=lambda one: float(nearest(coefficients, one)[1].mean()))
    for _ in range(20):
        found, away = nearest(coefficients, constant)
        near = away <= np.quantile(away, 0.9)
        fitting = np.linalg.lstsq(np.column_stack([found, -np.ones(ROWS)])[near], predictor[near], rcond=None)[0]
        coefficients, constant = fitting[:-1], float(fitting[-1])
    return nearest(coefficients, constant)[0]


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_node_whose_records_may_not_be_predicted_shows_no_predictors(solver: str) -> None:
    frame = people()
    with pytest.raises(PolicyError, match="single records"):
        fit(frame, solver, {})


@pytest.mark.parametrize("solver", SOLVERS)
def test_nor_where_central_does_not_say_that_they_will_be_shown(solver: str) -> None:
    with (
        mock.patch("v6_verticox.rounds.setup.SHOWING", frozenset()),
        pytest.raises(MessageError, match="did not announce"),
    ):
        fit(people(), solver, PREDICTING)


def test_control_unguarded_the_outcome_holder_reads_all_columns_of_all_records() -> None:
    """Those of two other stations, at nodes with default limits, in one fit."""
    frame = people()
    with mock.patch.object(Station, "require_predictions", return_value=None):
        found, shown = fit(frame, "bfgs", {})
    coefficients = np.array([one["coefficient"] for one in found["model"]["coefficients"]])
    assert np.array_equal(decoded(coefficients, shown[-1]), frame[FEATURES].to_numpy(dtype=float))
