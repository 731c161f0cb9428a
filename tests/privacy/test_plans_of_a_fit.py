"""A central that deviates in an exact Cox fit of columns by the plan, by ties, or by matrices that it asks for again.

Strata and ties of a plan are places in the order of the times, which central at the outcome holder knows: of two jobs, one with a tie of two rows that are
none, the gradients at zero differ by what these two records differ in, in every column.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from cox_kit import fit_three_stations
from mock_kit import NO_DATA, run_mocked

from fedbayes.federation.errors import ConvergenceError, MessageError
from v6_verticox.cox.likelihood import RiskSets
from v6_verticox.messages.private import BESIDE, Stage
from v6_verticox.messages.seen import ResidualRequest
from v6_verticox.messages.setup import Plan
from v6_verticox.rounds import setup
from v6_verticox.rounds.lockstep import alone
from v6_verticox.shares.reciprocals import reciprocal_plan
from v6_verticox.solvers.bfgs import SeenPredictor
from v6_verticox.stations import holder, path, seen
from v6_verticox.stations.path import MOST_LEVELS, MOST_SQUARES

ROWS, PLACE = 60, 20
"""Of the table, and the first row of a tie that is none."""
CHANGES: dict[str, Callable[[Plan], Plan]] = {
    "a tie of two records": lambda plan: replace(plan, ties=[[PLACE, 2]]),
    "strata between two records": lambda plan: replace(plan, strata=[PLACE, ROWS - PLACE]),
    "weights": lambda plan: replace(plan, weighted=True),
    "a band of ties": lambda plan: replace(plan, band=2),
    "rows of their own for ties": lambda plan: replace(plan, flat=True),
    "gaps": lambda plan: replace(plan, complete=0.5),
}


def table(tied: int = 0) -> pd.DataFrame:
    """Return a table in the order of its times, all of them events; two at one time where a row is `tied` with the next."""
    draw = np.random.default_rng(3)
    frame = pd.DataFrame(draw.normal(size=(ROWS, 3)), columns=["x", "y", "z"])
    frame["time"], frame["event"] = np.arange(1.0, ROWS + 1.0), 1
    if tied:
        frame.loc[tied + 1, "time"] = frame.loc[tied, "time"]
    return frame


def ended(frame: pd.DataFrame, **more: Any) -> None:
    """Run a fit that central, at the first of three stations, ends when it has been told enough."""
    frames = [frame[["x"]], frame[["y"]], frame[["z", "time", "event"]], NO_DATA]
    task = {"time": "time", "event": "event", "features": ["x", "y", "z"], "rows_aligned": True, "time_transform": None}
    with pytest.raises(ConvergenceError, match="enough"):
        run_mocked("verticox", "fit", frames, **task, **more)


def planned(change: Callable[[Plan], Plan]) -> Any:
    """Have central make another plan, the same for everybody."""
    honest = setup._plan
    return mock.patch.object(setup, "_plan", lambda *given: change(honest(*given)))


def at_zero(change: Callable[[Plan], Plan]) -> np.ndarray:
    """Return the gradient at zero coefficients under a plan."""
    told: list[np.ndarray] = []

    async def asked(surface: Any, *_: Any, **__: Any) -> None:
        told.append((await surface.start()).gradient)
        raise ConvergenceError("enough")

    with planned(change), mock.patch("v6_verticox.central.solve", asked):
        ended(table())
    return told[0]


@pytest.mark.parametrize("name", CHANGES)
def test_a_plan_has_the_rows_that_the_station_with_the_outcome_told(name: str) -> None:
    with planned(CHANGES[name]), pytest.raises(MessageError, match="other rows, strata or ties"):
        fit_three_stations()


def test_control_unheld_a_tie_of_two_records_tells_what_they_differ_in() -> None:
    once = holder.asked_once
    with mock.patch.object(holder, "asked_once", lambda *given: None if given[1] == holder.TOLD else once(*given)):
        change = at_zero(CHANGES["a tie of two records"]) - at_zero(lambda plan: plan)
    told = -2.0 * (ROWS - PLACE - 1) * change
    true = table()[["x", "y", "z"]].to_numpy()[PLACE] - table()[["x", "y", "z"]].to_numpy()[PLACE + 1]
    scales = np.log2(true / told)  # columns are divided by powers of two
    assert np.allclose(scales, np.rint(scales), atol=1e-3)


def seen_twice() -> np.ndarray:
    """Return what the gradients at one point of two steps of a bfgs fit differ by, in the parties' scale, for the other stations' columns."""
    told: list[np.ndarray] = []

    def asked(federation: Any, prepared: Any, options: Any) -> None:
        rounds = SeenPredictor(federation, prepared, options)
        alone(rounds.surface.start())
        told.extend(rounds.evaluate(step, np.zeros(3)).gradient for step in (1, 2))
        raise ConvergenceError("enough")

    predicting = mock.patch.dict("os.environ", FEDBAYES_ALLOW_PREDICTIONS="true")
    with predicting, mock.patch("v6_verticox.central.solve_seen", asked):
        ended(table(PLACE), solver="bfgs", penalty=1.0)
    return told[1] - told[0]


def test_ties_are_treated_as_the_question_says_in_every_step() -> None:
    """No request says how: Efron's treatment of few ties is refused, as less Breslow's it tells of these."""
    assert "ties" not in {one.name for one in fields(ResidualRequest)}
    assert np.allclose(seen_twice(), 0.0, atol=1e-9)


def test_control_a_step_with_the_other_treatment_tells_of_the_tied_records() -> None:
    honest, steps = RiskSets.of, list[int]()

    def of(*given: Any) -> RiskSets:
        steps.append(len(steps))
        return honest(*given[:3], "efron" if len(steps) > 1 else "breslow")

    with mock.patch.object(seen, "RiskSets", mock.Mock(of=of)):
        change = seen_twice()
    columns = table(PLACE)[["x", "y", "z"]].to_numpy()
    risk = ROWS - PLACE
    at_risk, tied = columns[PLACE:].sum(axis=0), columns[PLACE : PLACE + 2].sum(axis=0)
    means = columns.mean(axis=0)
    exact = (at_risk - risk * means) / risk - (at_risk - tied / 2 - (risk - 1) * means) / (risk - 1)
    scales = np.log2(exact / change)
    assert np.allclose(scales, np.rint(scales), atol=1e-3)


class Remembers:
    """As much of a station as `is_first` needs."""

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}

    def once(self, name: str, content: bytes) -> bytes:
        return self._kept.setdefault(name, content)


@pytest.mark.parametrize(("kind", "first", "most"), [("squares", 0, MOST_SQUARES), ("level", BESIDE, MOST_LEVELS)])
def test_matrices_of_residuals_and_levels_are_counted(kind: str, first: int, most: int) -> None:
    """Each is made of reciprocals that central may refine as it likes, so each is an equation of its own for columns, or for who has gaps."""
    plan = Plan([1, 2], [1, 1], 4, ROWS, [ROWS], ROWS, [], 0, True)
    station: Any = mock.Mock(station=Remembers(), plan=plan)
    for version in range(most):
        path.check_told(station, [Stage(kind, first, version)])
        path.check_told(station, [Stage(kind, first, version)])  # as after a repeat that the platform makes
    with pytest.raises(MessageError, match="more points"):
        path.check_told(station, [Stage(kind, first, most)])


def squares_told() -> int:
    """Return how many matrices of score residuals central is told that asks for one after every refinement."""
    told: list[np.ndarray] = []

    async def asked(surface: Any, *_: Any, **__: Any) -> None:
        surface.max_rounds = 10_000
        await surface.start()
        await surface.evaluate(1, np.ones(3) / 4.0, reciprocal_plan(2.0, 1e-3))
        for _ in range(3):
            told.append(await surface.squares())
            await surface.refine(1)
        raise ConvergenceError("enough")

    with mock.patch("v6_verticox.central.solve", asked), pytest.raises((MessageError, ConvergenceError)):
        fit_three_stations(robust=True)
    return len(told)


@pytest.mark.parametrize("held", [True, False])
def test_one_matrix_of_residuals_is_told(held: bool) -> None:
    """And, as a control, uncounted as many as central asks for."""
    unheld = mock.patch.object(path, "MOST_SQUARES", MOST_SQUARES if held else 1_000)
    with unheld:
        assert squares_told() == (MOST_SQUARES if held else 3)
