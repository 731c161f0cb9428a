"""A central that has the fit of an ensemble of whole records test a member of its own making, which predicts a class for one row alone: that row's label."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from harness.inprocess import InProcess

from fedbayes.federation.errors import AlgorithmError
from fedbayes.federation.rounds import Federation
from v6_bayesian_ensemble import local
from v6_bayesian_ensemble.ensemble import Ensemble

ROWS, PERSON = 60, 7
DOMAIN = {"ill": {"categories": ["no", "yes"]}, "old": {"categories": ["no", "yes"]}}


def files(label: str) -> dict[str, str]:
    """Three stations; the person at the first one has this label."""
    draw = np.random.default_rng(2)
    tables = {party: pd.DataFrame({name: draw.choice(["no", "yes"], ROWS) for name in DOMAIN}) for party in "abc"}
    tables["a"].loc[PERSON, "ill"] = label
    return {party: str(table.to_csv(index=False)) for party, table in tables.items()}


def one_alone(self: Ensemble, member: Any, frame: Any, rows: int) -> Any:
    """What a crafted network gives: one class for the person's row, the other for all others."""
    first = next(iter(pd.read_csv(io.StringIO(files("yes")["a"])).old))
    at_home = rows == ROWS and str(frame["old"].iloc[0]) == str(first)
    yes = (np.arange(rows) == PERSON) & at_home
    return np.stack([~yes, yes], axis=1).astype(float)


@contextmanager
def crafted() -> Iterator[list[Any]]:
    """Central sums up what stations tell of members whose predictions are its own; yields the sums."""
    summing, sums = Federation.secure_sum, list[Any]()

    def noted(self: Federation, function: str, *values: Any, **named: Any) -> Any:
        found = summing(self, function, *values, **named)
        if function == "partial_tested":
            sums.append(np.asarray(found).view(np.int64).copy())
        return found

    with mock.patch.object(Federation, "secure_sum", noted), mock.patch.object(Ensemble, "posterior", one_alone):
        yield sums


def right(label: str) -> list[int]:
    """Return how many rows of each class the member of the second station was right on, over the other stations."""
    with (
        crafted() as sums,
        InProcess("v6_bayesian_ensemble", files(label), {}, "b") as running,
        suppress(AlgorithmError),
    ):
        running.run("fit", {"label": "ill", "domain": DOMAIN, "split": "horizontal", "weights": "score"})
    return [int(count) for count in sums[0].reshape(-1, 2, 2)[1, 0]]


@pytest.mark.parametrize("label", ["no", "yes"])
def test_a_member_that_singles_out_a_row_is_told_nothing_of_it(label: str) -> None:
    assert right(label)[1] == 0


def test_control_ungrouped_it_is_told_the_label() -> None:
    honest = local.right_and_seen
    with mock.patch.object(local, "right_and_seen", lambda model, own, frame, fewest: honest(model, own, frame)):
        assert [right(label)[1] for label in ("no", "yes")] == [0, 1]
