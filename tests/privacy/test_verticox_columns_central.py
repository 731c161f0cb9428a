"""verticox with epsilon over columns of the same records, asked by a central function that deviates: each attack is refused, or is seen to get nothing."""

from dataclasses import replace

import numpy as np
import pytest
from test_verticox_columns import DOMAIN, NOISE, people, run

from fedbayes.federation.horizontal import CountNoise
from fedbayes.mpc import alignment
from v6_verticox.horizontal.messages import Question
from v6_verticox.horizontal.private import messages as private
from v6_verticox.horizontal.private.records import Records, slope
from v6_verticox.messages.setup import Plan
from v6_verticox.noisy import cuts, partials
from v6_verticox.noisy.fit import ColumnsFit
from v6_verticox.noisy.messages import Factors, FactorsReply, Sizes
from v6_verticox.stations import holder

ASKED = private.Asked(
    Question("t", "d", DOMAIN, {"stage": "I"}, [2.0, 5.0, 9.0], [3], "breslow", "complete", {}, "", "", "", ""), NOISE
)
OTHER = "asked for twice with other contents"


def deviating(monkeypatch, function, change):
    """Have central send `change(requests, member)` where it would send `requests[member]`, of one function."""
    prepare = ColumnsFit.__init__

    def turned(fit, federation, *rest):
        prepare(fit, federation, *rest)
        rounds = federation.round

        def sent(name, requests, *others, **named):
            if name == function:
                requests = {member: change(requests, member) for member in requests}
            return rounds(name, requests, *others, **named)

        monkeypatch.setattr(federation, "round", sent)

    monkeypatch.setattr(ColumnsFit, "__init__", turned)


def with_strangers(plan):
    """Return a plan in which 40 share holders that nobody asks have a part of the noise."""
    holders, widths = plan.holders, plan.widths
    return replace(
        plan, holders=[*holders[:-1], *range(100, 140), holders[-1]], widths=[*widths[:-1], *[0] * 40, widths[-1]]
    )


def survey_of_strangers(monkeypatch):
    outline = ColumnsFit._outline_vector

    def asked(fit, layout):
        fit.joint = replace(fit.joint, plan=with_strangers(fit.plan))
        return outline(fit, layout)

    monkeypatch.setattr(ColumnsFit, "_outline_vector", asked)


def test_noise_has_no_shares_of_stations_that_are_not_asked(monkeypatch):
    survey_of_strangers(monkeypatch)
    with pytest.raises(Exception, match="must be asked of all share holders"):
        run(people(0))


def test_without_that_check_each_station_adds_a_fraction_of_its_noise(monkeypatch):
    """The control: 43 share holders on paper, 3 who are asked."""
    survey_of_strangers(monkeypatch)
    monkeypatch.setattr(partials, "_check_asked", lambda *_: None)
    monkeypatch.setattr(holder, "asked_once", lambda *_: None)
    parties, shares = [], CountNoise.shares

    def noted(noise, size, parts, change, stations):
        parties.append(stations)
        return shares(noise, size, parts, change, stations)

    monkeypatch.setattr(CountNoise, "shares", noted)
    run(people(0))
    assert 43 in parties


def test_a_share_holder_has_one_place():
    with pytest.raises(ValueError, match="named twice"):
        Plan([1, 1, 1, 2, 3], [1, 0, 0, 2, 1], 4, 16, [16], 16, [], 0, True)


def dealt(fit, sizes, plan):
    """Return what the helper deals."""
    helper = fit.plan.helper
    replies = fit.rounds.round("partial_factors", {helper: Factors(plan, sizes, None)}, [helper], FactorsReply)
    return replies[helper].dealt


@pytest.mark.parametrize("other", ["weighted", "groups", "periods", "plan"])
def test_the_helper_deals_for_one_plan_and_one_set_of_sizes(monkeypatch, other):
    """Corrections of two hide products of masks behind the same numbers: their difference would be one of masks."""
    send = ColumnsFit._slope_vector

    def twice(fit, request, layout):
        sizes, plan = Sizes.of(request), fit.plan
        if other == "plan":
            plan = replace(plan, holders=[2, 1, 3])
        elif other == "weighted":
            sizes = replace(sizes, weighted=not sizes.weighted)
        else:
            sizes = replace(sizes, **{other: getattr(sizes, other) + 1})
        dealt(fit, sizes, plan)
        return send(fit, request, layout)

    monkeypatch.setattr(ColumnsFit, "_slope_vector", twice)
    with pytest.raises(Exception, match=OTHER):
        run(people(0))


@pytest.mark.few(6)
@pytest.mark.parametrize("stage", [0, 1, 2])
@pytest.mark.parametrize("way", ["changed", "of another stage", "left out", "of another sender"])
def test_central_changes_nothing_that_it_relays(monkeypatch, stage, way):
    """A number that is 2^40 larger for all alike would say more of its record than any noise hides: letters of stations are sealed."""
    earlier = {}

    def turned(requests, member):
        request = requests[member]
        before = earlier.setdefault(member, request.letters)
        if request.stage != stage:
            return request
        (first, one), *others = request.letters.items()
        replaced = {
            "changed": {first: replace(one, content=one.content[:-1] + bytes([one.content[-1] ^ 1]))},
            "of another stage": {first: before[first] if stage else replace(one, keys={member: bytes(60)})},
            "left out": {},
            "of another sender": {first: others[0][1]},
        }[way]
        return replace(request, letters={**dict(others), **replaced})

    deviating(monkeypatch, "partial_products", turned)
    with pytest.raises(Exception, match=r"was changed, or is of another|share holder is missing"):
        run(people(0))


def extreme(asked, clip, hazard):
    """Return a point at the ends of what a request may have."""
    columns = len(asked.question.labels)
    return private.SlopeRequest(
        asked,
        2,
        np.array([5.0, 9.0]),
        np.array(hazard),
        np.array([1]),
        np.array([1]),
        np.zeros(columns),
        np.zeros(columns),
        np.zeros((columns, columns)),
        clip,
        True,
    )


def at(monkeypatch, clip, hazard=(0.0, 1.0)):
    monkeypatch.setattr(ColumnsFit, "_request", lambda fit, *_: extreme(fit.asked, clip, hazard))


@pytest.mark.parametrize("clip", [5e-324, 1e-40, 0.99e-12, 1.01e12, np.nan, np.inf, -1.0])
def test_a_clip_is_neither_tiny_nor_huge(clip):
    """Divided by a tiny one a number would leave the ring, or be infinite."""
    extreme(ASKED, 1e-12, (0.0, 1.0))
    with pytest.raises(ValueError, match="clip positive, neither tiny nor huge"):
        extreme(ASKED, clip, (0.0, 1.0))


def test_a_tiny_clip_tells_whether_anybody_has_an_event(monkeypatch):
    """The control: without a smallest clip the outcome holder fails exactly if a record has an event, and nothing is debited for it."""
    monkeypatch.setattr(private, "LARGEST", 1e60)
    at(monkeypatch, 1e-40, (0.0, 0.0))
    with pytest.raises(Exception, match="OverflowError"):
        run(people(0))
    with pytest.raises(Exception) as none:  # noqa: PT011  (no record has an event: the sums are made, and central fails)
        run(people(0).assign(d=0))
    assert "OverflowError" not in str(none.value)


@pytest.mark.parametrize("clip", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("end", [0.0, 5e-324, 1e-12, 1.0, 1e12])
@pytest.mark.parametrize("scale", [0.0, 5e-324, 1.0, 1e12])
def test_cuts_are_numbers_at_any_point_that_may_be_asked_for(clip, end, scale):
    """And whatever a record is, the outcome holder's numbers fit into the ring: nothing fails because of one."""

    class Request:
        step, groups, periods, weighted = 2, np.array([0]), np.array([0]), True
        times, hazard, centre = np.array([1.0]), np.array([end]), np.array([1e12, -1e12, 0.0])
        coefficients, whitening = np.array([1e12, -1.0, 1e12]), scale * np.ones((3, 3))

    Request.clip = clip
    limits = cuts.Limits.of(Request, [1, 1, 1])
    layout = limits.layout(Request)
    assert np.all(np.isfinite([*limits.lengths, *limits.caps, limits.reach, *layout.norms, *layout.scales]))
    assert max(1.0, end * limits.caps[-1]) * max(layout.scales) / 2**20 < 2.0**100
    assert limits.reach >= end * np.prod(limits.caps)


def test_of_whole_records_a_tiny_clip_would_tell_whether_their_number_is_odd(monkeypatch):
    """The control: there the scale would be infinite, and what each record adds -2^63, of which an odd number is no even one whatever the noise."""
    monkeypatch.setattr(private, "LARGEST", np.inf)
    request = extreme(ASKED, 5e-324, (0.0, 1.0))
    sums = []
    for rows in (4, 5):
        own = Records(np.full(rows, 9.0), np.ones(rows, dtype=bool), np.full((rows, 4), 0.5))
        with np.errstate(all="ignore"):
            sums.append(slope(request, own)[0])
    assert sums == [0, np.iinfo(np.int64).min]


def test_a_helper_does_not_make_one_record_all_records(monkeypatch):
    """In the common order it would be in every row, and change a sum as many times as there are rows."""
    intersect = alignment.intersect

    def repeated(stations, lists):
        found = intersect(stations, lists)
        return {station: np.repeat(places[:1], len(places)) for station, places in found.items()}

    monkeypatch.setattr(alignment, "intersect", repeated)
    with pytest.raises(Exception, match="an order of the match names a record twice"):
        run(people(0))
