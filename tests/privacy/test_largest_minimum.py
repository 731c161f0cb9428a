"""Who has a column guards other stations' records with it: by the largest `minimum_count` of all stations of a job, whatever its own node has."""

from __future__ import annotations

from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess

from fedbayes.federation.errors import DataProblem, MessageError
from fedbayes.federation.jobs import job
from fedbayes.federation.perimeter.manifest import Manifest

ROWS, LAX = 100, {"minimum_count": 1}


def records(alone: int) -> pd.DataFrame:
    """Return records of which one alone is marked by the station with the outcome; another station has z."""
    draw = np.random.default_rng(2)
    frame = pd.DataFrame({"time": draw.exponential(1.0, ROWS).round(4) + 0.001, "z": draw.integers(0, 2, ROWS)})
    frame = frame.sort_values("time", ignore_index=True)
    return frame.assign(event=(draw.random(ROWS) < 0.8).astype(int), marked=(np.arange(ROWS) == alone).astype(int))


def products(alone: int, limits: dict[str, Any]) -> float:
    """Return the entry of the information matrix for the mark and the other station's column, as the result tells it."""
    frame = records(alone)
    parties = {"a": frame[["time", "event", "marked"]], "b": frame[["z"]]}
    task = {"time": "time", "event": "event", "features": ["z", "marked"], "rows_aligned": True, "penalty": 0.01}
    with OneProcess(parties, helpers=["h"], policies={"a": limits}, aggregator="a") as running:
        model = running.run("verticox", "fit", task)["model"]
    return float(np.linalg.inv(np.array(model["covariance"]))[0, 1])


LAST = range(ROWS - 4, ROWS)  # each is at risk for long


@pytest.mark.parametrize("limits", [{}, LAX])
def test_a_node_with_a_smaller_minimum_marks_nobody_alone(limits: dict[str, Any]) -> None:
    with pytest.raises(DataProblem, match="fewer records than this node reveals"):
        products(LAST[0], limits)


@pytest.mark.audit
def test_control_by_its_own_minimum_a_mark_tells_what_that_person_has_elsewhere() -> None:
    with mock.patch("fedbayes.federation.station.replace", lambda policy, **_: policy):
        told = [products(alone, LAX) > 0.0 for alone in LAST]
    assert told == (records(0)["z"][ROWS - 4 :] == 1).tolist()


def test_a_manifest_that_says_less_is_refused() -> None:
    def less(**entries: Any) -> Manifest:
        return Manifest(**{**entries, "minimum_count": 1})

    with (
        mock.patch.object(job, "Manifest", partial(less)),
        pytest.raises(MessageError, match="fewer records may be shown"),
    ):
        products(LAST[0], LAX)


def test_what_many_have_is_answered() -> None:
    frame = records(0).assign(marked=np.arange(ROWS) % 10 == 0)
    parties = {"a": frame[["time", "event"]], "b": frame[["marked"]].astype(int)}
    task = {"time": "time", "event": "event", "features": ["marked"], "rows_aligned": True}
    for limits, fails in (({}, False), ({"minimum_count": 10}, False), ({"minimum_count": 11}, True)):
        with OneProcess(parties, helpers=["h"], policies={"a": limits}, aggregator="a") as running:
            if fails:
                with pytest.raises(DataProblem, match="fewer records than this node reveals"):
                    running.run("verticox", "fit", task)
            else:
                assert running.run("verticox", "fit", task)["model"]["records"] == ROWS
