"""How many points of the likelihood a central that deviates can ask for in one exact Cox fit: each tells as many numbers as there are features."""

from __future__ import annotations

import numpy as np
import pytest
from cox_kit import fit_three_stations

from fedbayes.federation.errors import ConvergenceError, MessageError
from fedbayes.federation.messages.codec import decode, encode
from fedbayes.federation.rounds import Federation
from v6_verticox.cox.likelihood import RiskSets, evaluate_predictor
from v6_verticox.messages.names import Name
from v6_verticox.messages.private import MOST_BESIDE, MOST_POINTS, EnterRequest, Stage
from v6_verticox.messages.seen import MOST_SEEN, PredictRequest, ResidualRequest
from v6_verticox.messages.setup import Plan
from v6_verticox.rounds.points import Beside
from v6_verticox.shares.agreed import FEW_POINTS, FEW_SLOPES, MOST_AGAIN, MOST_SLOPES, most_points, most_slopes
from v6_verticox.shares.layout import beside
from v6_verticox.shares.reciprocals import reciprocal_plan

WHOLE = (
    "gather",
    "complete",
    "observed",
    "weigh_start",
    "tied",
    "weigh",
    "last",
    "information",
    "turn",
    "residuals",
    "squares",
)
"""Stages on the way to a gradient or an information matrix."""


def refused(make: object, *given: object) -> bool:
    try:
        make(*given)  # type: ignore[operator]
    except ValueError:
        return True
    return False


def test_a_job_has_no_more_points_than_a_fit_may_take(plan: Plan) -> None:
    assert not refused(EnterRequest, plan, MOST_POINTS, [], [], True)
    assert refused(EnterRequest, plan, MOST_POINTS + 1, [], [], True)
    assert refused(EnterRequest, plan, -1, [], [], True)
    for kind in WHOLE:
        assert not refused(Stage, kind, MOST_SEEN)
        assert refused(Stage, kind, MOST_SEEN + 1)
    assert refused(PredictRequest, plan, MOST_SEEN + 1, [], False, [])
    assert refused(ResidualRequest, plan, MOST_SEEN + 1, {}, {}, [], [], True)


def test_points_beside_a_step_are_told_a_slope_alone(plan: Plan) -> None:
    """Else they were as many further points as there are places beside each."""
    assert not refused(Stage, "slope", beside(1, 0))
    for kind in WHOLE:
        assert refused(Stage, kind, beside(1, 0))
    for step in (-1, -95, -195):  # divided with remainder these are points beside some step below zero
        assert refused(Stage, "slope", step)
    assert not refused(EnterRequest, plan, 1, [], [], True, {beside(1, 0): []})
    assert refused(EnterRequest, plan, 1, [], [], True, {beside(2, 0): []}), "beside another step"
    assert refused(EnterRequest, plan, 1, [], [], True, {2: []}), "another step"


def test_a_station_refuses_the_next_point(plan: Plan) -> None:
    """As it decodes the request, whatever central's own code would make."""
    encoded = encode(EnterRequest(plan, MOST_POINTS, [], [], True))
    encoded["step"] = MOST_POINTS + 1
    with pytest.raises(MessageError):
        decode(EnterRequest, encoded)


def test_honest_fits_take_few(monkeypatch: pytest.MonkeyPatch) -> None:
    honest, steps = Federation.round, list[int]()

    def round_(self, function, request, *rest, **options):  # type: ignore[no-untyped-def]
        if function == "partial_enter":
            steps.extend(one.step for one in (request.values() if isinstance(request, dict) else [request]))
        return honest(self, function, request, *rest, **options)

    monkeypatch.setattr(Federation, "round", round_)
    assert np.isfinite(fit_three_stations()["model"]["coefficients"][0]["coefficient"])
    assert 1 <= max(steps) <= MOST_POINTS / 3


@pytest.mark.parametrize(
    ("records", "columns", "most"), [(60, 3, 10), (90, 3, 14), (10_000, 6, 40), (60, 20, 10), (432, 7, 40)]
)
def test_points_are_fewer_than_determine_a_column(records: int, columns: int, most: int) -> None:
    """But for tables of fewer than ten records a column, which have ten."""
    plan = Plan([1, 2], [columns - 1, 1], 4, records, [records], records, [], 0, True)
    assert most_points(plan) == most


def test_all_that_is_told_of_a_column_is_fewer_than_its_values() -> None:
    """Gradients and matrices at points, gradients of refinements, and slopes; but for tables so small that the least a fit takes is more."""
    for records in range(20, 2_000, 20):
        for columns in (2, 3, 6, 20):
            plan = Plan([1, 2], [columns - 1, 1], 4, records, [records], records, [], 0, True)
            points, slopes = most_points(plan), most_slopes(plan)
            assert points >= FEW_POINTS
            assert FEW_SLOPES <= slopes <= MOST_SLOPES
            told = points * (columns + 1) + MOST_AGAIN + slopes
            assert told < records or (points, slopes) == (FEW_POINTS, max(FEW_SLOPES, min(records // 10, MOST_SLOPES)))


def many_points(monkeypatch: pytest.MonkeyPatch, most: int) -> list[np.ndarray]:
    """Have central ask for the gradient at so many points of its own choice in place of a fit; return the gradients."""
    told: list[np.ndarray] = []
    draw = np.random.default_rng(1)

    async def asked(surface, *_, **__):  # type: ignore[no-untyped-def]
        await surface.start()
        for step in range(1, most + 1):
            surface.max_rounds = 10_000
            there = await surface.evaluate(step, draw.normal(size=3) / 4.0, reciprocal_plan(2.0, 1e-3))
            told.append(there.gradient)
        raise ConvergenceError("enough")

    monkeypatch.setattr("v6_verticox.central.solve", asked)
    with pytest.raises((MessageError, ConvergenceError), match=r"more points|enough"):
        fit_three_stations()
    return told


@pytest.mark.audit
def test_a_central_that_asks_for_more_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(many_points(monkeypatch, 18)) == FEW_POINTS


@pytest.mark.audit
def test_control_unbound_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("v6_verticox.stations.private.most_points", lambda _: MOST_POINTS)
    assert len(many_points(monkeypatch, 18)) == 18


def refined(monkeypatch: pytest.MonkeyPatch, most: int) -> int:
    """Have central refine the reciprocals of one point again and again; return how many gradients it is told beside the first two."""
    told: list[np.ndarray] = []

    async def asked(surface, *_, **__):  # type: ignore[no-untyped-def]
        await surface.start()
        surface.max_rounds = 10_000
        await surface.evaluate(1, np.ones(3) / 4.0, reciprocal_plan(2.0, 1e-3))
        for _ in range(most):
            told.append((await surface.refine(1)).gradient)
        raise ConvergenceError("enough")

    monkeypatch.setattr("v6_verticox.central.solve", asked)
    with pytest.raises((MessageError, ConvergenceError), match=r"more points|enough"):
        fit_three_stations()
    return len(told)


def test_one_point_is_not_told_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Central chooses the coefficients of a refinement, so that each is a point of its own: gradients stay fewer than records."""
    assert refined(monkeypatch, 28) == FEW_POINTS + MOST_AGAIN - 1 < 60


@pytest.mark.audit
def test_control_uncounted_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("v6_verticox.stations.private.check_told", lambda *_: None)
    assert refined(monkeypatch, 28) == 28


@pytest.mark.audit
def test_slopes_are_counted_too(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[float] = []

    async def asked(surface, *_, **__):  # type: ignore[no-untyped-def]
        await surface.start()
        plan, draw = reciprocal_plan(2.0, 1e-3), np.random.default_rng(1)
        for step in range(1, 9):
            surface.max_rounds = 10_000
            beside = [Beside(draw.normal(size=3) / 4.0, 0, plan) for _ in range(MOST_BESIDE)]
            told.extend((await surface.evaluate(step, np.ones(3) / 4.0, plan, beside)).slopes)
        raise ConvergenceError("enough")

    monkeypatch.setattr("v6_verticox.central.solve", asked)
    monkeypatch.setattr("v6_verticox.rounds.stages.most_slopes", lambda _: 1_000)
    with pytest.raises(MessageError, match="more points"):
        fit_three_stations()
    assert len(told) == FEW_SLOPES // MOST_BESIDE * MOST_BESIDE


@pytest.mark.audit
def test_a_fit_that_may_ask_for_no_more_slopes_goes_on_without(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = fit_three_stations()["model"]
    monkeypatch.setattr("v6_verticox.shares.agreed.FEW_SLOPES", 0)
    monkeypatch.setattr("v6_verticox.shares.agreed.MOST_SLOPES", 0)
    without = fit_three_stations()["model"]
    for one, other in zip(exact["coefficients"], without["coefficients"], strict=True):
        assert one["coefficient"] == pytest.approx(other["coefficient"], abs=1e-6)
    assert without["log_likelihood"] == pytest.approx(exact["log_likelihood"], abs=0.1)


def test_a_refinement_starts_from_reciprocals() -> None:
    """From a linear predictor "hazards" are its sums over those who leave: how many of any five or ten of them are marked."""
    assert not refused(Stage, "refine", 1, 1, Name("reciprocal", 1))
    assert not refused(Stage, "refine", 1, 1, Name("wide", 1))
    for kind in ("line", "s", "x", "w", "y", "d", "trend", "turn", "k"):
        assert refused(Stage, "refine", 1, 1, Name(kind, 1))


@pytest.mark.parametrize(("points", "told"), [(15, False), (40, False), (200, True)])
def test_control_gradients_at_as_many_points_as_records_are_a_column(points: int, told: bool) -> None:
    """Of another station's column, whose coefficient central at the outcome holder leaves zero: but for the mean, and who is censored before any event."""
    draw = np.random.default_rng(1)
    own, hidden = draw.normal(size=(60, 4)), draw.normal(size=60)
    risk = RiskSets.of(draw.exponential(size=60), (draw.random(60) < 0.7).astype(int))
    rows = np.array([evaluate_predictor(risk, own @ draw.normal(size=4) * 1.5)[1] for _ in range(points)])
    found = np.linalg.lstsq(rows, rows @ hidden + draw.uniform(-1.0, 1.0, points) * 2.0**-30, rcond=1e-9)[0]
    off = found - hidden
    right = np.abs(off - np.median(off)) < 1e-4
    assert right.sum() >= 55 if told else right.sum() <= 5


@pytest.fixture
def plan() -> Plan:
    return Plan([1, 2, 3], [1, 1, 1], 4, 60, [60], 60, [], 0, True)
