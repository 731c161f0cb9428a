"""Matching without a helper: who is sent which list, and what a central that sends it elsewhere gets."""

import dataclasses
import io
from collections import Counter
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from harness.inprocess import InProcess

from fedbayes.federation.errors import MessageError
from fedbayes.federation.rounds import Federation
from fedbayes.federation.vertical.messages import MatchRequest
from fedbayes.federation.vertical.replication import Replica

PEOPLE = 80
STATIONS = 5
ARGUMENTS = {
    "conditions": [{"column": f"x{place}", "op": ">=", "value": 0} for place in (0, 4)],
    "id_column": "id",
    "helper": "none",
}
LIMITS = {f"s{place}": {"minimum_count": 0} for place in range(STATIONS)}
"""All columns are the same number, so that some combinations of conditions hold for nobody."""


def files():
    """Five stations with other people each; who are at all of them are those from 8 to 75, and each has one column."""
    found = {}
    for place in range(STATIONS):
        own = np.random.default_rng(place).permutation(np.arange(2 * place, PEOPLE - (STATIONS - 1 - place)))
        found[f"s{place}"] = pd.DataFrame({"id": own, f"x{place}": own - 30}).to_csv(index=False)
    return found


def counted(change=lambda request: request):
    """Count records by a central that changes what it asks; return the answer and what was asked to match, by station."""
    ask, seen = Federation._ask, []

    def asking(self, function, request, organizations, *rest):
        if function == "partial_match":
            request = {member: change(one) for member, one in request.items()}
            seen.append(request)
        return ask(self, function, request, organizations, *rest)

    with (
        mock.patch.object(Federation, "_ask", asking),
        InProcess("v6_scalar_product", files(), LIMITS, "s0") as running,
    ):
        return running.run("count", ARGUMENTS), seen


def test_a_station_is_sent_no_list_of_a_pair_that_it_is_of():
    result, (matching, finding) = counted()
    assert result["model"]["count"] == len(range(30, 76))
    assert result["model"].get("records", 68) == 68
    assert {matcher: sorted(request.hashes) for matcher, request in matching.items()} == {2: [1, 3, 4, 5], 3: [1, 2]}
    assert sorted(finding) == [1, 2, 3, 4, 5]
    for member, request in finding.items():
        assert not request.hashes
        assert all(parcel.sender != member and set(parcel.keys) == {member} for parcel in request.finished)


def test_what_stations_learn_of_records_that_are_not_common_is_what_the_result_says():
    """The first one which others have each of its records; the fourth one the same of those of its own that the first has."""
    ends, match = {}, Replica._matched

    def noted(self, request):
        orders = {
            parcel.stage: np.frombuffer(self._unpack("matching", parcel), "<i4")[1:] for parcel in request.finished
        }
        own = [2, 3, 4, 5] if self.own in (2, 3) else []
        reply = match(self, request)
        orders |= {party: self.station.kept(f"places-{party}")["told"][1:] for party in own if party not in orders}
        ends[self.own] = {party: places >= 0 for party, places in orders.items()}
        return reply

    with mock.patch.object(Replica, "_matched", noted):
        result, _ = counted()
    people = [set(pd.read_csv(io.StringIO(text))["id"]) for text in files().values()]
    combinations = Counter(tuple(person in others for others in people[1:]) for person in people[0])
    assert len(combinations) > 2
    for told in ends.values():
        assert Counter(zip(*(told[party].tolist() for party in (2, 3, 4, 5)), strict=True)) == combinations
    assert "also of those that are not common to all, which others have it" in result["privacy"]["reveals"]["stations"]


def less(request):
    """Leave out a list, or a result."""
    kept = {owner: sealed for owner, sealed in request.hashes.items() if owner != 4}
    return dataclasses.replace(request, hashes=kept, finished=request.finished[1:])


def exchanged(request):
    """Tell a list for another's."""
    owners = list(request.hashes)
    turned = dict(zip(owners, [request.hashes[owner] for owner in owners[::-1]], strict=True))
    return dataclasses.replace(request, hashes=turned)


def of_another(request):
    """Tell a matcher's result for that of another pair."""
    stages = [parcel.stage for parcel in request.finished]
    turned = [dataclasses.replace(p, stage=stage) for p, stage in zip(request.finished, stages[::-1], strict=True)]
    return dataclasses.replace(request, finished=turned)


@pytest.mark.parametrize("change", [less, exchanged, of_another])
def test_a_central_that_mixes_lists_up_stops_the_job(change):
    with pytest.raises(MessageError):
        counted(change)


@pytest.mark.parametrize("to", [1, 3, 4])
def test_who_does_not_match_a_pair_cannot_be_made_to(to):
    """Not a station that matches nothing, nor the other matcher, which is of the pair: what is sealed for the second station is for it alone."""
    ask = Federation._ask

    def elsewhere(self, function, request, organizations, *rest):
        if function == "partial_match" and any(one.hashes for one in request.values()):
            request, organizations = {to: request[2]}, [to]
        return ask(self, function, request, organizations, *rest)

    with (
        mock.patch.object(Federation, "_ask", elsewhere),
        InProcess("v6_scalar_product", files(), LIMITS, "s0") as running,
        pytest.raises(MessageError),
    ):
        running.run("count", ARGUMENTS)


def test_the_request_has_no_way_to_name_a_matcher():
    assert {entry.name for entry in dataclasses.fields(MatchRequest)} == {
        "setup",
        "hashes",
        "factors",
        "deal",
        "finished",
        "distinct",
    }
