"""Whoever unites records places each station's: what it leaves out, or hides behind another, would be told by the difference of two tables."""

from contextlib import ExitStack
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess

from fedbayes.federation import errors
from fedbayes.federation.guards.member import Member
from fedbayes.federation.jobs.nodes import Nodes
from fedbayes.mpc import alignment

DOMAIN = {name: {"categories": ["1", "2"]} for name in ("sex", "ill")}
ASKED = {"columns": ["sex", "ill"], "batches": [[["sex", "ill"]]], "records": "union", "domain": DOMAIN}

TWO = {"*": {"minimum_organizations": 2}}


def left_out(places):
    return np.append(alignment.LEFT_OUT, places[1:])


def put_together(places):
    return np.append(places[1], places[1:])


def united(folder, change, **more):
    """Return the answer about columns of two organizations; the helper changes the places of the first one's records."""
    unite, draw, parties = alignment.unite, np.random.default_rng(4), {}

    def changed(stations, *given):
        places, size = unite(stations, *given)
        return {**places, stations[0]: change(places[stations[0]])}, size

    for start, (name, column) in enumerate({"a": "sex", "b": "ill"}.items()):
        ids = [f"p{row:03d}" for row in range(20 * start, 20 * start + 100)]
        parties[name] = pd.DataFrame({"id": ids, column: draw.choice(["1", "2"], 100)})
    with (
        OneProcess(parties, helpers=["helper"], policies=TWO) as running,
        mock.patch.object(alignment, "unite", changed),
    ):
        return running.run("vertical_toy", "run_tables", {**ASKED, **more})


@pytest.mark.parametrize("change", [left_out, put_together])
def test_no_united_record_is_left_out_or_hidden_behind_another(tmp_path, change):
    assert united(tmp_path, lambda places: places)
    with pytest.raises(errors.MessageError, match="names a record twice, or leaves one out"):
        united(tmp_path, change)


def test_under_an_epsilon_a_record_that_an_earlier_station_has_too_is_left_out(tmp_path):
    """And none is put in the place of another."""
    assert united(tmp_path, left_out, epsilon=1.0)
    with pytest.raises(errors.MessageError, match="names a record twice"):
        united(tmp_path, put_together, epsilon=1.0)


def test_control_unchecked_the_difference_is_one_record(tmp_path):
    honest = np.array(united(tmp_path, lambda places: places)["model"][0][0])
    with mock.patch.object(alignment, "are_places", return_value=True):
        short = np.array(united(tmp_path, left_out)["model"][0][0])
    assert np.abs(honest - short).sum() == 2, "it moves to those whose sex is missing"


def hospitals(count, **limits):
    """Stations with different people and the same columns, and a helper."""
    draw, parties = np.random.default_rng(4), {}
    for number, name in enumerate("abc"[:count]):
        ids = [f"p{row:03d}" for row in range(100 * number, 100 * number + 100)]
        parties[name] = pd.DataFrame({"id": ids, **{column: draw.choice(["1", "2"], 100) for column in DOMAIN}})
    return OneProcess(parties, helpers=["helper"], policies={"*": limits} if limits else None)


@pytest.mark.parametrize("by", ["central", "stations"])
def test_united_records_are_of_as_many_stations_as_nodes_demand_organizations(by):
    """A helper masks and has no rows: of two stations each would know the other's table, where it demands that three take part."""
    with hospitals(2) as running, ExitStack() as stack:
        if by == "stations":
            stack.enter_context(mock.patch.object(Nodes, "check_with_data"))
        with pytest.raises(errors.ThresholdError, match="over the rows of fewer organizations"):
            running.run("vertical_toy", "run_tables", ASKED)


def test_control_unchecked_two_stations_answer_where_three_are_demanded():
    honest = Member.summed_over
    with (
        hospitals(2) as running,
        mock.patch.object(Nodes, "check_with_data"),
        mock.patch.object(Member, "summed_over", lambda member, whole=False: honest(member)),
    ):
        assert running.run("vertical_toy", "run_tables", ASKED)["rows"] == 200


@pytest.mark.parametrize(("stations", "limits", "more"), [(3, {}, {}), (2, TWO["*"], {}), (2, {}, {"epsilon": 5.0})])
def test_other_unions_are_answered(stations, limits, more):
    with hospitals(stations, **limits) as running:
        assert running.run("vertical_toy", "run_tables", {**ASKED, **more})["rows"] == 100 * stations
