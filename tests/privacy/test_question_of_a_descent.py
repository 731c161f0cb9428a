"""A central that asks, in one exact fit of weighted naive Bayes, other questions than its own: tables by other bins, gradients of other columns or tables."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from harness.inprocess import InProcess
from test_asked_again import again

from fedbayes.federation.errors import ArgumentError, MessageError
from v6_discriminative_naive_bayes import descent, partial
from v6_discriminative_naive_bayes.messages import MOST_POINTS, MOST_ROUNDS, StepRequest
from v6_discriminative_naive_bayes.partial import FRACTION_BITS
from v6_discriminative_naive_bayes.training import Training

DOMAIN: dict[str, Any] = {
    "sex": {"categories": ["f", "m"]},
    "age": {"bounds": [0, 100]},
    "ill": {"categories": ["no", "yes"]},
}
ASKED = {"label": "ill", "features": ["sex", "age"], "domain": DOMAIN, "bins": {"age": [50.0]}}
ONE_QUESTION = "asks one question"


def tables() -> dict[str, pd.DataFrame]:
    """Three stations' rows, of which one has an age between 50 and 51."""
    draw = np.random.default_rng(7)
    found = {}
    for name in "abc":
        age = draw.choice([*range(20, 50), *range(52, 90)], 60).astype(float)
        found[name] = pd.DataFrame(
            {"sex": draw.choice(["f", "m"], 60), "age": age, "ill": draw.choice(["no", "yes"], 60)}
        )
    found["b"].loc[17, "age"] = 50.5
    return found


def running() -> InProcess:
    files = {name: table.to_csv(index=False) for name, table in tables().items()}
    return InProcess("v6_discriminative_naive_bayes", files, {}, "a")


def bins(request: Any) -> Any:
    return replace(request, shape=replace(request.shape, bins={"age": [51.0]}))


def columns(request: Any) -> Any:
    own = request.shape.columns
    fewer = replace(own, features=["age"], domain={name: DOMAIN[name] for name in ("age", "ill")})
    shape = replace(request.shape, columns=fewer)
    changed = {"weights": np.ones((1, shape.layout.parameters)), "counts": np.ones(shape.layout.counts, dtype=np.int64)}
    return replace(request, shape=shape, **(changed if isinstance(request, StepRequest) else {}))


QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "bins": bins,
    "columns": columns,
    "tables": lambda request: replace(request, counts=request.counts + 1),
    "improvements": lambda request: replace(request, iterations=5),
    "regularization": lambda request: replace(request, regularization=1.0),
    "more steps": lambda request: replace(request, steps=request.steps + 1, step=request.steps + 1),
    "the same step elsewhere": lambda request: replace(request, weights=request.weights + 1.0),
}


def answers_to(function: str, change: Callable[[Any], Any], held: bool) -> list[Any]:
    unheld = mock.patch.object(partial, "asked_once")
    with (
        nullcontext() if held else unheld,
        again(function, change) as answers,
        running() as party,
        suppress(MessageError),
    ):
        party.run("fit", ASKED)
    return answers


@pytest.mark.parametrize("name", QUESTIONS)
def test_steps_of_a_fit_are_of_one_question(name: str) -> None:
    answers = answers_to("partial_step", QUESTIONS[name], held=True)
    assert len(answers) == 3
    assert all(ONE_QUESTION in str(answer.get("error")) for answer in answers)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", QUESTIONS)
def test_control_unheld_they_are_answered(name: str) -> None:
    assert not any("error" in answer for answer in answers_to("partial_step", QUESTIONS[name], held=False))


@pytest.mark.parametrize("change", [bins, columns])
def test_tables_of_a_fit_are_counted_once(change: Callable[[Any], Any]) -> None:
    assert all(ONE_QUESTION in str(answer.get("error")) for answer in answers_to("partial_counts", change, held=True))


def two_tables(self: Training) -> Any:
    """What central does in place of the steps: it has the tables counted again, with another border of the bins."""
    first, self.shape = self.counts, replace(self.shape, bins={"age": [51.0]})
    self.count_tables()
    told.append(np.asarray(self.counts) - np.asarray(first))
    raise ArgumentError("enough")


told: list[np.ndarray] = []


@pytest.mark.parametrize("held", [True, pytest.param(False, id="control")])
def test_two_tables_of_one_fit_do_not_tell_the_row_between_two_borders(held: bool) -> None:
    """Stations know their own rows alone, of which one may lie there; in one task everything is of one question."""
    told.clear()
    unheld = nullcontext() if held else mock.patch.object(partial, "asked_once")
    ends = pytest.raises(MessageError if held else ArgumentError, match=ONE_QUESTION if held else "enough")
    with unheld, mock.patch.object(Training, "learn", two_tables), running() as party, ends:
        party.run("fit", ASKED)
    if held:
        assert not told
        return
    label = DOMAIN["ill"]["categories"].index(tables()["b"]["ill"][17])
    below = told[0][2:].reshape(-1, 2)[2]
    assert below.tolist() == [int(label == 0), int(label == 1)], "who is 50.5 has this label"


def step(**changed: Any) -> StepRequest:
    """Return the first step of a fit, changed."""
    given: list[Any] = []

    def kept(self: Training, points: Any) -> Any:
        given.append(self._request(points))
        raise ArgumentError("enough")

    with mock.patch.object(Training, "_ask", kept), running() as party, pytest.raises(ArgumentError):
        party.run("fit", ASKED)
    return replace(given[0], **changed)


def test_points_and_steps_are_as_many_as_a_fit_may_take() -> None:
    points = np.ones((MOST_POINTS + 1, step().shape.layout.parameters))
    assert max(len(descent.STEPS), len(descent.FIRST_STEPS)) == MOST_POINTS
    assert step(weights=points[:MOST_POINTS], step=2)
    for wrong in ({"weights": points, "step": 2}, {"weights": points[:2]}, {"steps": MOST_ROUNDS + 1}):
        with pytest.raises(ValueError, match=r"one point|too many"):
            step(**wrong)


def far_out(self: Training) -> Any:
    """What central does in place of the steps: it asks for loss and gradient where "yes" is certain of women from 50 on, and "no" of all others."""
    layout, known = self.layout, self.tables()
    assert known is not None
    wanted = np.zeros((layout.values, 2))
    wanted[[0, 3], 1] = 400.0  # f, from 50 on
    weights = layout.gather(np.array([0.0, -600.0]) / known.base, wanted / known.single)
    summed = self._ask(weights[None]) / 2.0**FRACTION_BITS
    by_value = layout.spread(summed[2:])[1] / known.single
    told.append(np.array([by_value[0, 1] + self.counts[2 + 1], summed[1] / 200.0]))
    raise ArgumentError("enough")


def test_a_point_far_out_still_tells_the_rows_of_a_combination_and_their_labels() -> None:
    """What the page says of points that central chooses: women from 50 on, and in how many of all rows this is no prediction of the label."""
    told.clear()
    with mock.patch.object(Training, "learn", far_out), running() as party, pytest.raises(ArgumentError):
        party.run("fit", ASKED)
    whole = pd.concat(tables().values())
    chosen = (whole["sex"] == "f") & (whole["age"] >= 50)
    wrong = chosen != (whole["ill"] == "yes")
    far = np.where((whole["sex"] == "m") & (whole["age"] < 50), 3.0, 1.0)  # -600, -200 and 200 are the scores
    assert told[0] == pytest.approx([chosen.sum(), far[wrong].sum()], abs=1e-3)
