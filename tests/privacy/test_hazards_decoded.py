"""What the digits of an exact baseline hazard tell who knows in which order records leave: other organizations' columns, record by record."""

from __future__ import annotations

import contextlib
from itertools import product
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess
from party_kit import by_columns, remembering

from fedbayes.federation.errors import MessageError
from v6_verticox.cox.coarse import coarse, step_bits
from v6_verticox.messages.names import Name
from v6_verticox.messages.private import EnterReply, EnterRequest, Stage
from v6_verticox.rounds.surface import FederatedSurface
from v6_verticox.shares.reciprocals import NEWTON

ROWS = 120
FIT = {"time": "time", "event": "event", "features": ["marked"], "id_column": "id", "tolerance": 1e-9}
PARTS = {"a": ["marked"], "b": ["time", "event"], "c": ["other"]}
KNOWN = 1e-8  # of a hazard, relative: what the arithmetic on shares leaves

Vector = np.ndarray[Any, Any]


def table(seed: int, effect: float = 0.8, part: float = 0.3) -> pd.DataFrame:
    """Return records, in the order of their times, of whom a part is marked, which hastens the event."""
    draw = np.random.default_rng(seed)
    marked = (draw.random(ROWS) < part).astype(int)
    frame = pd.DataFrame({"marked": marked, "other": draw.normal(size=ROWS).round(2)})
    frame["time"] = draw.exponential(100 / np.exp(effect * marked)).argsort().argsort() + 1.0
    frame["event"] = (draw.random(ROWS) < 0.8).astype(int)
    return frame.sort_values("time", ignore_index=True).assign(id=[f"p{row}" for row in range(ROWS)])


def decoded(event: Vector, rows: list[int], hazard: Vector, risks: Vector, marked: int, off: Vector) -> Vector:
    """Return of the records up to the last row how probable it is that each is marked, given who has an event, hazards and risks, (records,).

    Between two rows every assignment is tried, for every number of marked records that may be left; `off`: the deviation of a hazard's step.
    """
    before = [{marked: 1.0}]
    tried: list[Any] = []
    for start, row, step, width in zip([0, *(r + 1 for r in rows)], rows, np.diff([0.0, *hazard]), off, strict=False):
        bits = np.array(list(product((0, 1), repeat=row + 1 - start)))
        gone = np.cumsum(risks[bits], axis=1) - risks[bits]
        moves: dict[int, Any] = {}
        after: dict[int, float] = {}
        for left, weight in before[-1].items():
            at_risk = risks[1] * left + risks[0] * (len(event) - start - left)
            sums = (event[start : row + 1] / np.maximum(at_risk - gone, 1e-9)).sum(axis=1)
            fits = np.exp(-0.5 * ((sums - step) / width) ** 2) * (bits.sum(axis=1) <= left)
            moves[left] = fits
            for used in np.unique(bits.sum(axis=1)[fits > 1e-9]):
                mass = weight * fits[bits.sum(axis=1) == used].sum()
                after[left - used] = after.get(left - used, 0.0) + mass
        tried.append((bits, moves))
        before.append({left: mass / sum(after.values()) for left, mass in after.items()})
    later = dict.fromkeys(before[-1], 1.0)
    found: list[Vector] = []
    for (bits, moves), known in zip(tried[::-1], before[-2::-1], strict=True):
        total, ones, here = 0.0, np.zeros(bits.shape[1]), {}
        for left, fits in moves.items():
            mass = fits * np.array([later.get(left - used, 0.0) for used in bits.sum(axis=1)])
            here[left] = mass.sum()
            total, ones = total + known[left] * mass.sum(), ones + known[left] * (mass @ bits)
        later = {left: mass / max(here.values()) for left, mass in here.items()}
        found.append(ones / total)
    return np.concatenate(found[::-1])


def guesses(running: OneProcess, frame: pd.DataFrame, exact: bool) -> tuple[Vector, Vector]:
    """Return what the outcome holder, whose task it is, makes of the baseline: the probability that a record is marked, and whether it is."""
    model = running.run("verticox", "fit", FIT, "b")["model"]
    slope, told = model["coefficients"][0]["coefficient"], model["baseline"]
    hazard, time = np.array(told["cumulative_hazard"]), frame["time"].to_numpy()
    rows = [int((time <= end).sum()) - 1 for end in told["time"]]
    steps = (
        np.ldexp(1.0, step_bits([ROWS], rows)) / 2.0
    )  # the deviation of three uniform numbers is half of one's width
    off = KNOWN * hazard if exact else np.hypot(steps, [0.0, *steps[:-1]])
    marked = round(ROWS * model["offset"] / slope)  # the mean of a column of 0 and 1
    risks = np.exp(slope * np.array([0.0, 1.0]) - model["offset"])
    likely = decoded(frame["event"].to_numpy(), rows, hazard, risks, marked, off)
    return likely, frame["marked"].to_numpy()[: len(likely)]


@pytest.mark.audit
def test_the_outcome_holder_decodes_no_other_column(tmp_path: Any) -> None:
    right, base, sure = [], [], []
    for seed in range(4):
        frame = table(seed)
        (tmp_path / str(seed)).mkdir()
        with remembering(by_columns(frame, PARTS), tmp_path / str(seed)) as running:
            likely, marked = guesses(running, frame, exact=False)
        right.append(np.mean((likely > 0.5) == marked))
        base.append(max(np.mean(marked), 1.0 - np.mean(marked)))
        sure.append(np.mean(likely[marked == 1] > 0.95))
    assert np.mean(right) < np.mean(base) + 0.05
    assert np.mean(sure) < 0.1


@pytest.mark.audit
@pytest.mark.parametrize(("effect", "part", "least", "most"), [(0.8, 0.3, 0.0, 0.1), (3.0, 0.8, 0.7, 1.0)])
def test_steps_are_made_for_average_risks(tmp_path: Any, effect: float, part: float, least: float, most: float) -> None:
    """What still succeeds: with a hazard ratio of twenty those who are left have small risks, and each who leaves is worth more than a step."""
    sure = []
    for seed in range(3):
        (tmp_path / str(seed)).mkdir()
        with remembering(by_columns(table(seed, effect, part), PARTS), tmp_path / str(seed)) as running:
            likely, _ = guesses(running, table(seed, effect, part), exact=False)
        sure.append(np.mean(np.abs(likely - 0.5) > 0.45))
    assert least <= np.mean(sure) <= most


@pytest.mark.audit
def test_control_the_digits_tell_most_records(tmp_path: Any) -> None:
    frame = table(0)
    with (
        remembering(by_columns(frame, PARTS), tmp_path) as running,
        mock.patch("v6_verticox.cox.coarse.RECORDS", 1e-12),
    ):
        likely, marked = guesses(running, frame, exact=True)
    sure = np.abs(likely - 0.5) > 0.499
    assert np.mean(sure) > 0.7
    assert np.array_equal(likely[sure] > 0.5, marked[sure] == 1)


@pytest.mark.few(1)
@pytest.mark.parametrize("solver", ["private_newton", "bfgs"])
def test_hazards_are_within_the_steps_that_the_page_names(tmp_path: Any, solver: str) -> None:
    """Of three parties that cut their shares at most one and a half steps off, half of one where the outcome holder rounds; none falls."""
    frame = table(5)
    with remembering(by_columns(frame, PARTS), tmp_path, allow_predictions=True) as running:
        model = running.run("verticox", "fit", {**FIT, "solver": solver}, "a")["model"]
        again = running.run("verticox", "baseline", {"model": model, "id_column": "id"}, "a")["baseline"]
    risk = np.exp(frame["marked"].to_numpy() * model["coefficients"][0]["coefficient"] - model["offset"])
    exact = np.cumsum(frame["event"].to_numpy() / np.cumsum(risk[::-1])[::-1])
    for told, most in ((model["baseline"], 1.5), (again, 0.5)):
        rows = [int((frame["time"] <= end).sum()) - 1 for end in told["time"]]
        at_risk = ROWS - np.array(rows)
        off = np.abs(np.array(told["cumulative_hazard"]) - exact[rows])
        assert np.all(off <= most * np.minimum(32.0 / at_risk**2, 2.0 / at_risk) + 1e-6)
        assert np.any(off > 0.01 * np.minimum(16.0 / at_risk**2, 1.0 / at_risk))
        assert np.all(np.diff(told["cumulative_hazard"]) >= 0.0)


def test_steps_hang_on_who_is_left_of_the_stratum() -> None:
    assert step_bits([100, 10], [0, 90, 100, 109]).tolist() == [-9, -3, -3, 0]
    assert step_bits([100], [0], 0.5).tolist() == [-7]
    assert step_bits([200], [150], copies=2).tolist() == [-5]
    assert step_bits([50, 200], [70], copies=2).tolist() == step_bits([20], [0]).tolist(), (
        "where ten of a hundred have entered, and five left"
    )
    told = coarse(np.array([0.01011, 0.4, 0.35, 0.2]), [100, 10], [0, 90, 95, 100])
    assert told.tolist() == [5 / 512, 0.375, 0.375, 0.25]


def test_steps_are_below_what_five_events_leave_unknown() -> None:
    """The standard error of what five events add where so many are left; less than a twentieth of it where 400 are."""
    for left in range(6, 1000):
        unknown = np.sqrt(np.sum(1.0 / np.arange(left - 4, left + 1) ** 2.0))
        step = np.ldexp(1.0, int(step_bits([left], [0])[0]))
        assert step < unknown * (1.0 if left < 400 else 0.05)


def beside_another_stage(rows: list[int]) -> Any:
    """Return what a central does that asks for the hazard of rows of its choice, in a request of which another stage is the first."""

    async def information(surface: FederatedSurface, step: int, final: bool) -> Any:
        surface.edge_rows = rows
        asked = [Stage("information", step, surface._version, rows=rows if final else [])]
        dealt = None
        if final:
            source = Name("reciprocal", step, surface._version)
            asked.insert(0, Stage("refine", step, surface._version + 1, source, NEWTON))
            request = EnterRequest(surface.plan, step, [], asked[:1], False, {})
            reply = await surface.federation.round("partial_enter", request, [surface.plan.helper], EnterReply)
            dealt = reply[surface.plan.helper].dealt
        revealed = await surface._stages.run(asked, corrections=dealt)
        seen = revealed.sums.get("baseline", np.zeros(0)).ravel()
        surface.hazard, surface.trend = seen, revealed.sums.get("trend", np.zeros(0)).ravel()
        told[:] = seen
        return (revealed.sums["information"] + revealed.sums["information"].T) / 2.0

    told: list[float] = []
    return mock.patch.object(FederatedSurface, "information", information), told


def test_no_hazard_of_other_rows_is_told_beside_another_stage(tmp_path: Any) -> None:
    """Between the hazards of two rows there is one event, so the risks of all who leave, in the order of their times, were told."""
    asking, told = beside_another_stage(list(range(ROWS)))
    with (
        remembering(by_columns(table(6), PARTS), tmp_path) as running,
        asking,
        pytest.raises(MessageError, match="at other rows than this station told"),
    ):
        running.run("verticox", "fit", FIT, "b")
    assert not told


@pytest.mark.audit
def test_control_unchecked_the_risks_of_all_who_leave_are_told(tmp_path: Any) -> None:
    frame = table(6)
    asking, told = beside_another_stage(list(range(ROWS)))
    unchecked = mock.patch("v6_verticox.stations.private.check_hazards")
    fine = mock.patch("v6_verticox.cox.coarse.RECORDS", 1e-12)
    running, overflowing = remembering(by_columns(frame, PARTS), tmp_path), contextlib.suppress(Exception)
    with running, asking, unchecked, fine, overflowing:  # central's own result has no room for so many
        running.run("verticox", "fit", FIT, "b")
    events = np.flatnonzero(frame["event"])
    at_risk = 1.0 / np.diff([0.0, *told])[events]
    marked = np.add.reduceat(frame["marked"].to_numpy(), events)[:-1]
    left = np.add.reduceat(np.ones(ROWS), events)[:-1]
    plain, more = np.linalg.lstsq(np.stack([left, marked], axis=1), -np.diff(at_risk), rcond=None)[0]
    assert np.array_equal(np.rint((-np.diff(at_risk) - plain * left) / more), marked)


def test_hazards_are_told_at_the_end_of_a_fit_alone(tmp_path: Any) -> None:
    """Each point of a path has hazards of its own, cut elsewhere."""
    honest = FederatedSurface.information

    async def always(surface: FederatedSurface, step: int, final: bool) -> Any:
        return await honest(surface, step, step > 0)

    running, insisting = (
        remembering(by_columns(table(6), PARTS), tmp_path),
        mock.patch.object(FederatedSurface, "information", always),
    )
    with running, insisting, pytest.raises(MessageError, match="at the end of a fit"):
        running.run("verticox", "fit", FIT, "b")
