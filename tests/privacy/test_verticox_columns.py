"""verticox with epsilon over columns of the same records: statements against debits, what a neighbour changes in the real sums, what leaves, and controls."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from audit_kit import again, lower_bound, noted_debits
from cox_kit import point_far_out
from mock_kit import NO_DATA, mock_client

import v6_verticox as package
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.horizontal import CountNoise, check_noise
from fedbayes.federation.station import Station
from fedbayes.mpc.wide import Wide
from v6_verticox.horizontal.private.layout import outline_layout
from v6_verticox.horizontal.private.messages import STEPS
from v6_verticox.horizontal.private.records import spent
from v6_verticox.noisy import cuts
from v6_verticox.noisy.blurred import blurred, units
from v6_verticox.noisy.fit import ColumnsFit

DOMAIN = {
    "dose": {"bounds": [0, 1]},
    "stage": {"categories": ["I", "II", "III"]},
    "age": {"bounds": [20, 80]},
}
TASK = {
    "time": "t",
    "event": "d",
    "features": list(DOMAIN),
    "domain": DOMAIN,
    "times": [2.0, 5.0, 9.0],
    "id_column": "person",
    "epsilon": 1.0,
    "honest_fraction": 1.0,
}
WILD = [
    {"dose": 1e300, "stage": "III", "age": -1e9, "t": 1e300, "d": 1},
    {"dose": 0, "stage": "I", "age": 1e9, "t": 0, "d": 1},
    {"dose": 1, "stage": "II", "age": 80, "t": 9, "d": 0},
    {"dose": "x", "stage": "IV", "age": 20, "t": 2, "d": 1},
    {"dose": 1, "stage": "III", "age": None, "t": 8.9, "d": 1},
    {"dose": 1, "stage": "III", "age": 80, "t": "never", "d": 1},
    {"dose": 1, "stage": "III", "age": 80, "t": -1, "d": 7},
]


def people(seed, rows=16):
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": random.normal(50, 25, rows), "dose": random.uniform(0, 1, rows)})
    frame["stage"] = random.choice(["I", "II", "III"], rows)
    frame["person"] = np.arange(rows).astype(str)
    return frame.assign(t=random.exponential(4, rows).round(2), d=random.integers(0, 2, rows))


def parts(frame):
    """Return the tables of three stations and a helper: two with features, one with age and the outcome."""
    columns = (["dose"], ["stage"], ["age", "t", "d"])
    return [frame[["person", *names]].sample(frac=1.0, random_state=3) for names in columns] + [NO_DATA]


def run(frame, **arguments):
    return package.fit(mock_client=mock_client("verticox", parts(frame)), **{**TASK, **arguments})


@pytest.mark.few(2)
@pytest.mark.parametrize("epsilon", [0.5, 25.0])
@pytest.mark.parametrize("delta", [1e-6, 0.01])
def test_a_fit_states_what_every_station_is_debited(monkeypatch, epsilon, delta):
    spent = noted_debits(monkeypatch)
    result = run(people(0, 40), epsilon=epsilon, delta=delta)
    told = result["privacy"]
    assert (told["epsilon"], told["delta"]) == (epsilon, delta)
    assert [list(dict(spent[member]).values()) for member in (1, 2, 3)] == [[(epsilon, delta)]] * 3
    assert len(spent) == 3
    assert told["differentially_private"] is (epsilon <= 20 and delta <= 1e-3)
    assert (told["unit"], told["neighbors"]) == ("row", "replace_one")


def test_noise_is_drawn_after_the_debit_and_in_every_share(monkeypatch):
    told, charge, shares = [], Station.charge, CountNoise.shares
    monkeypatch.setattr(Station, "charge", lambda station, *a, **b: told.append("paid") or charge(station, *a, **b))
    monkeypatch.setattr(
        CountNoise,
        "shares",
        lambda noise, size, *a: (told.append("drawn") if size else None) or shares(noise, size, *a),
    )
    run(people(0, 40))
    assert told == ["paid", "drawn"] * 3 * (1 + STEPS)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(WILD * 3).assign(person=np.arange(21).astype(str)),
        people(1).assign(d=0),
        people(1).assign(t="never", stage=None),
        people(2).assign(age=50.0, dose=0.5, stage="I"),
    ],
)
def test_nothing_is_refused_because_of_data(frame):
    entries = run(frame)["model"]["coefficients"]
    assert np.all(np.isfinite([entry[name] for entry in entries for name in ("coefficient", "standard_error")]))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"delta": 0.0}, "^delta must be above 0"),
        ({"times": None}, "^times is needed with epsilon"),
        ({"domain": None}, "^domain is needed with epsilon"),
        ({"times": [0.0, 5.0]}, "^times must begin above 0"),
        ({"strata": "stage", "features": ["age", "dose"]}, "^strata is for exact fits"),
        ({"features": None, "formula": "~ age"}, "^formula is for exact fits"),
        ({"solver": "bfgs"}, "^solver='bfgs' has no noise"),
        ({"unit": "identifier"}, "^unit='identifier' is for split='horizontal'"),
        ({"features": ["age", "dose", "stage", "gone"], "domain": {**DOMAIN, "gone": {"bounds": [0, 1]}}}, "'gone'"),
    ],
    ids=str,
)
def test_what_epsilon_does_not_cover_is_refused(arguments, text):
    with pytest.raises(ArgumentError, match=text):
        run(people(0), **arguments)


class Seen(Exception):
    """Raised when all sums were looked at."""


def point(asked, step, seed):
    """Return a point far out, where what records add is longest."""
    return point_far_out(asked, step, np.random.default_rng(100 * seed + step), [0.3, 1.0, 3.0][seed % 3], 2.0, 0.5)


def exact(frame, seed):
    """Return the vectors that central reads in a fit without noise at given points, in units of 2^-20 of a record's norm, and their layouts."""
    found = []

    def looked_at(fit):
        asked, made = fit.joint.asked, outline_layout(fit.joint.asked.question)
        found.append((fit._outline_vector(made), made))
        for step in range(1, STEPS + 1):
            request = point(asked, step, seed)
            layout = fit._layout(request)
            found.append((fit._slope_vector(request, layout), layout))
        raise Seen

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CountNoise, "shares", lambda self, size, *_: np.zeros(size, dtype=np.int64))
        patch.setattr(ColumnsFit, "run", looked_at)
        with pytest.raises(Exception, match="Seen"):
            run(frame)
    return found


def neighbours(frame, seed):
    for place, wild in enumerate(WILD):
        other = frame.astype(object)
        row = (place + seed) % len(frame)
        for name, value in wild.items():
            other.loc[row, name] = value
        yield other


NOISE = check_noise("distributed", 1.0, 1e-6, "replace_one", 1.0)


@pytest.mark.audit
@pytest.mark.parametrize("seed", range(6))
def test_neighbours_change_what_central_reads_by_at_most_the_claim(seed):
    """Through the whole protocol: matching, cuts, products on shares, uniform numbers below a unit."""
    frame = people(seed)
    whole, largest = exact(frame, seed), [0.0] * (1 + STEPS)
    for other in neighbours(frame, seed):
        for place, ((one, layout), (two, _)) in enumerate(zip(whole, exact(other, seed), strict=True)):
            claim = layout.change(NOISE).l2
            moved = float(np.linalg.norm((one - two).astype(float)))
            assert moved <= claim
            largest[place] = max(largest[place], moved / claim)
    assert max(largest) > 0.15, "the claim is far from what neighbours change"


def test_sums_of_records_that_are_not_cut_break_the_claim(monkeypatch):
    """The control: the same search notices contributions that are not cut."""
    right = cuts.weighed

    def uncut(asked, limits, *rest):
        wide = cuts.Limits(tuple(1e9 for _ in limits.lengths), tuple(1e9 for _ in limits.caps), limits.reach)
        return right(asked, wide, *rest)

    monkeypatch.setattr("v6_verticox.noisy.records.weighed", uncut)
    frame = people(0)
    whole, broken = exact(frame, 2), False
    for other in list(neighbours(frame, 2))[:3]:
        for (one, layout), (two, _) in zip(whole, exact(other, 2), strict=True):
            broken |= bool(np.linalg.norm((one - two).astype(float)) > layout.change(NOISE).l2)
    assert broken


@pytest.mark.few(8)
@pytest.mark.parametrize("seed", range(200))
def test_one_record_adds_no_more_than_the_norms(seed):
    """Of records at the edge of their bounds, at points of any kind, block by block: what the page proves."""
    random = np.random.default_rng(seed)
    widths = [int(width) for width in random.integers(1, 4, random.integers(2, 5))] + [int(random.integers(0, 3))]
    columns, cells = sum(widths), int(random.integers(1, 6))

    class Request:
        step, groups, periods = 2, np.arange(cells), np.array([cells - 1])
        times, hazard = np.arange(1.0, cells + 1), np.cumsum(random.exponential(random.choice([0.01, 0.3, 2.0]), cells))
        centre, coefficients = random.uniform(-1, 1, columns), random.normal(0, random.choice([0, 0.3, 3]), columns)
        whitening = np.diag(random.exponential(random.choice([1, 30]), columns)) + random.normal(0, 1, (columns,) * 2)
        clip, weighted = float(random.exponential(5.0) + 0.1), bool(random.integers(0, 2))

    limits = cuts.Limits.of(Request, widths)
    layout = limits.layout(Request)
    x, time, event = random.choice([-1.0, 0.0, 0.3, 1.0], (200, columns)), random.uniform(0, cells, 200), np.ones(200)
    event[::2] = 0.0
    seen = [
        cuts.weighed(Request, limits, place, block, x[:, block], np.ones(200, dtype=bool), 14)
        for place, block in enumerate(cuts.blocks_of(widths))
    ]
    kept, risk = np.prod([one.kept for one in seen], axis=0), np.prod([one.risk for one in seen], axis=0)
    white, out = np.concatenate([one.columns for one in seen], axis=1), spent(Request, time, event)
    weight = risk * out.whole if Request.weighted else kept
    blocks = [
        white * (kept * out.dead - risk * out.whole),
        kept * out.events - risk * out.groups,
        (white[:, :, None] * white[:, None, :] * weight[:, :, None]).reshape(200, -1),
        (white[:, :, None] * (risk * out.periods)[:, None, :]).reshape(200, -1),
    ]
    for block, norm in zip(blocks, layout.norms, strict=True):
        assert np.max(np.linalg.norm(block, axis=1)) <= norm * (1 + 1e-9)


def scores(parties, samples, scale=1.0):
    """Return the scores of the most telling test of two neighbours on all sums together, without central's own share, and its gap."""
    asked = type("Asked", (), {})
    score, gap = np.zeros(samples), 0.0
    for step in range(1, STEPS + 1):
        request = type("Request", (), {})
        request.step, request.clip, request.weighted, request.asked = step, 3.0, True, asked
        request.groups = request.periods = np.array([0, 1])
        request.hazard, request.coefficients, request.whitening = np.array([0.2, 0.9]), np.ones(4), np.eye(4)
        made = cuts.Limits.of(request, [1, 2, 1]).layout(request)
        change = made.change(NOISE)
        sigma = NOISE.width(1.0 / made.portion, change, parties) * scale
        drawn = sum(NOISE.law.shares(samples, sigma, parties, NOISE.honest_fraction) for _ in range(parties - 1))
        score += drawn * (change.l2 / sigma**2)
        gap += (change.l2 / sigma) ** 2
    return score, gap


def test_all_sums_of_a_step_together_keep_their_promise_and_a_third_of_the_noise_does_not():
    def bound(scale=1.0):
        score, gap = scores(3, 20_000, scale)
        return lower_bound(score + gap, score[::-1], 1e-6)

    assert 0.0 < again(bound, 1.0, 0.0) <= 1.0
    assert again(lambda: bound(1 / 3), above=1.0) > 1.0


def test_what_is_revealed_says_of_a_sum_nothing_below_a_unit_of_noise():
    """Low bits are uniform whatever the sum, and what is read of it differs by a unit at most; without the uniform numbers the low bits are the sum's."""
    sums = Wide.encode(np.repeat([3.0, 2.0**30 + 17.0], 40_000), 0)
    told = blurred(sums, np.zeros(80_000, dtype=np.int64), 40)
    low = (told.low & np.uint64(2**40 - 1)).astype(float) / 2.0**40
    for half in np.split(low, 2):
        assert abs(half.mean() - 0.5) < 5 / np.sqrt(12 * 40_000)
        assert abs(np.mean(half < 0.25) - 0.25) < 5 * np.sqrt(0.1875 / 40_000)
    assert set(units(told, 40)) <= {0.0, 1.0}
    assert set((sums.low & np.uint64(2**40 - 1)).tolist()) == {3, 2**30 + 17}


def test_noise_of_either_sign_moves_what_is_read_by_itself():
    noise = np.array([-(2**52), -3, 0, 5, 2**52], dtype=np.int64)
    for sum_ in (-(2.0**60), 2.0**60):
        found = units(blurred(Wide.encode(np.full(5, sum_), 0), noise, 50), 50)
        assert np.all(np.abs(found - sum_ / 2.0**50 - noise) <= 1)


def test_a_step_is_answered_for_one_point(monkeypatch):
    """Whoever asks for factors at one point and for sums with the noise of another gets nothing."""
    asked = []

    def other(fit, request, layout, send=ColumnsFit._slope_vector):
        asked.append(request.step)
        rounds = fit.rounds.round

        def turned(function, requests, *rest, **named):
            if function == "partial_products":
                changed = replace(request, clip=1e-3)
                requests = {member: replace(one, point=changed) for member, one in requests.items()}
            return rounds(function, requests, *rest, **named)

        monkeypatch.setattr(fit.rounds, "round", turned)
        return send(fit, request, layout)

    monkeypatch.setattr(ColumnsFit, "_slope_vector", other)
    with pytest.raises(Exception, match="asked for twice with other contents"):
        run(people(0))
    assert asked == [1]


def test_the_same_step_is_not_answered_twice(monkeypatch):
    send = ColumnsFit._slope_vector
    monkeypatch.setattr(ColumnsFit, "_slope_vector", lambda *a: send(*a) is None or send(*a))
    with pytest.raises(Exception, match=r"budget of this step is spent|twice with other contents"):
        run(people(0))
