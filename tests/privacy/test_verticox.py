"""verticox with epsilon: statements against debits, what a neighbour changes in the real sums, and what the noise really hides."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from audit_kit import Alone, again, lower_bound, noted_debits, some
from cox_kit import point_far_out
from mock_kit import mock_client

import v6_verticox as package
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.horizontal import CountNoise, Unit, check_noise
from v6_verticox.horizontal.judging import partials as judging
from v6_verticox.horizontal.judging.messages import Judged, TableRequest
from v6_verticox.horizontal.messages import Question
from v6_verticox.horizontal.private import layout, partials
from v6_verticox.horizontal.private.messages import STEPS, Asked, OutlineRequest

DOMAIN = {"age": {"bounds": [20, 80]}, "dose": {"bounds": [0, 1]}, "stage": {"categories": ["I", "II", "III"]}}
TASK = {
    "time": "t",
    "event": "d",
    "features": list(DOMAIN),
    "domain": DOMAIN,
    "times": [2.0, 5.0, 9.0],
    "split": "horizontal",
}
PEOPLE = {"unit": "identifier", "id_column": "person", "max_rows_per_identifier": 3}
NOISY = [
    {"epsilon": epsilon, "delta": delta, "neighbors": neighbors, **unit}
    for epsilon, delta, neighbors, unit in product(
        (0.5, 25.0), (1e-6, 0.01), ("add_remove", "replace_one"), ({}, PEOPLE)
    )
]
WILD = pd.DataFrame(
    {
        "age": [1e300, -5, 80, "old", None, 50],
        "dose": [1, 0, 1e9, 0.5, 0.2, "x"],
        "stage": ["III", "I", "II", "IV", "I", "II"],
        "t": [1e300, 0, 2, "later", 3, -1],
        "d": [1, 0, True, 1, 7, 1],
        "person": ["a", "a", "b", "b", None, "c"],
    }
)


def people(seed, rows=60):
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": random.normal(50, 25, rows), "dose": random.integers(0, 2, rows)})
    frame["stage"] = random.choice(["I", "II", "III"], rows)
    frame["person"] = random.integers(0, 20, rows).astype(str)
    return frame.assign(t=random.exponential(4, rows).round(2), d=random.integers(0, 2, rows))


def run(arguments, monkeypatch, tables=None):
    """Return (the result, {station: {debit: (epsilon, delta)}}): debits of one name are one."""
    spent = noted_debits(monkeypatch)
    client = mock_client("verticox", tables or [people(seed) for seed in range(3)])
    result = package.fit(mock_client=client, **{**TASK, **arguments})
    return result, {member: dict(debits) for member, debits in spent.items()}


@pytest.mark.parametrize("arguments", some(NOISY))
def test_a_fit_states_what_every_station_is_debited(monkeypatch, arguments):
    result, spent = run(arguments, monkeypatch)
    told = result["privacy"]
    assert (told["epsilon"], told["delta"]) == (arguments["epsilon"], arguments["delta"])
    assert [list(debits.values()) for debits in spent.values()] == [[(arguments["epsilon"], arguments["delta"])]] * 3
    assert told["differentially_private"] is (arguments["epsilon"] <= 20 and arguments["delta"] <= 1e-3)
    assert told["unit"] == arguments.get("unit", "row")
    assert told["neighbors"] == arguments["neighbors"]
    assert result["federation"]["rounds"] == 2 + STEPS


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"delta": 0.0}, "^delta must be above 0"),
        ({"split": "vertical", "times": None, "id_column": "person"}, "^times is needed with epsilon"),
        ({"times": [0.0, 5.0]}, "^times must begin above 0"),
        ({"robust": True}, "^robust is for exact fits"),
        ({"weights": "dose", "features": ["age"]}, "^weights is for exact fits"),
        ({"id_column": "person"}, "^id_column protects identifiers only"),
        ({"unit": "identifier"}, "^id_column is needed"),
        ({**PEOPLE, "epsilon": None}, "^unit='identifier' is for a private answer"),
        ({**PEOPLE, "id_column": "age"}, "age"),
    ],
    ids=str,
)
def test_what_epsilon_does_not_cover_is_refused(monkeypatch, arguments, text):
    with pytest.raises(ArgumentError, match=text):
        run({"epsilon": 1.0, **arguments}, monkeypatch)


@pytest.mark.parametrize(
    "table",
    [
        pd.concat([WILD] * 4),
        pd.concat([WILD.iloc[3:]] * 9),
        people(1).assign(d=0),
        people(1).assign(t="never", stage=None),
    ],
)
def test_nothing_is_refused_because_of_data(monkeypatch, table):
    result, _ = run({"epsilon": 1.0}, monkeypatch, [people(0), table, people(2)])
    numbers = [entry[name] for entry in result["model"]["coefficients"] for name in ("coefficient", "standard_error")]
    assert np.all(np.isfinite(numbers))


class Kept(Alone):
    """A station that keeps marks, so that it answers the rounds themselves."""

    def __init__(self, frame, round_name="2:audit"):
        super().__init__(frame)
        self.round_name, self._marks = round_name, {}

    def keep(self, name, **arrays):
        self._marks.setdefault(name, arrays)

    def kept(self, name):
        return self._marks[name]

    def once(self, name, content):
        return self._marks.setdefault(name, content)


def asked(neighbors="add_remove", rows=1, epsilon=1.0, fraction=1.0):
    unit = Unit("person", rows) if rows > 1 else Unit()
    question = Question(
        "t", "d", DOMAIN, {"stage": "I"}, [2.0, 5.0, 9.0], [3], "breslow", "complete", {}, "", "", "", ""
    )
    return Asked(question, check_noise("distributed", epsilon, 1e-6, neighbors, fraction, unit), unit)


def requests(whom, seed=0, steps=range(1, STEPS + 1)):
    """Return an outline and steps at points far out, where contributions are longest."""
    random = np.random.default_rng(seed)
    found = [(partials.partial_outline.fedbayes_answer, OutlineRequest(whom), layout.outline_layout(whom.question))]
    for step in steps:
        request = point_far_out(whom, step, random, 2.0, 3.0, 0.1)
        found.append((partials.partial_slope.fedbayes_answer, request, layout.slope_layout(request)))
    return found


def exact(monkeypatch, function, request, frame):
    """Return the vector that leaves a station, without its noise and mask, as whole numbers."""
    with monkeypatch.context() as patch:
        patch.setattr(CountNoise, "shares", lambda self, size, *_: np.zeros(size, dtype=np.int64))
        reply = function(Kept(frame), request)
    return np.asarray(reply.vector.value).astype(np.int64)


@pytest.mark.few(3)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("neighbors", "rows"), [("add_remove", 1), ("replace_one", 1), ("add_remove", 3)])
def test_neighbours_change_a_sum_by_at_most_the_claim(monkeypatch, seed, neighbors, rows):
    whom = asked(neighbors, rows)
    frame = pd.concat([people(seed, 25).astype(object), WILD], ignore_index=True)
    largest = 0.0
    for function, request, made in requests(whom, seed):
        whole = exact(monkeypatch, function, request, frame)
        claim = made.change(whom.noise).l2
        owners = frame.index if rows == 1 else frame["person"].dropna().unique()
        for owner in owners:
            out = frame.drop(index=owner) if rows == 1 else frame[frame["person"] != owner]
            other = out if neighbors == "add_remove" else pd.concat([out, WILD.iloc[[owner % 3]]], ignore_index=True)
            moved = float(np.linalg.norm((whole - exact(monkeypatch, function, request, other)).astype(float)))
            assert moved <= claim
            largest = max(largest, moved / claim)
    assert largest > 0.15, "the claim is far from what neighbours change"


def test_a_sum_without_its_clips_breaks_the_claim(monkeypatch):
    """The control: the same search notices contributions that are not cut."""
    from v6_verticox.horizontal.private import records

    monkeypatch.setattr(records, "_factor", lambda lengths, longest: np.ones_like(lengths))
    frame = people(0, 25)
    function, request, made = requests(asked())[2]
    whole = exact(monkeypatch, function, request, frame)
    moved = [
        np.linalg.norm(whole - exact(monkeypatch, function, request, frame.drop(index=row))) for row in frame.index
    ]
    assert max(moved) > made.change(request.asked.noise).l2


def scores(whom, parties, samples, scale=1.0):
    """Return the scores of the most telling test of two neighbours on all sums together, without central's own share, and its gap."""
    score, gap, noise = np.zeros(samples), 0.0, whom.noise
    for _, _, made in requests(whom):
        change = made.change(noise)
        sigma = noise.width(1.0 / made.portion, change, parties) * scale
        drawn = sum(noise.law.shares(samples, sigma, parties, noise.honest_fraction) for _ in range(parties - 1))
        score += drawn * (change.l2 / sigma**2)
        gap += (change.l2 / sigma) ** 2
    return score, gap


@pytest.mark.few(1)
@pytest.mark.parametrize("neighbors", ["add_remove", "replace_one"])
@pytest.mark.parametrize("parties", [2, pytest.param(4, marks=pytest.mark.audit)])
def test_all_sums_together_keep_their_promise(neighbors, parties):
    whom = asked(neighbors)

    def bound():
        score, gap = scores(whom, parties, 60_000)
        return lower_bound(score + gap, score[::-1], 1e-6)

    assert 0.0 < again(bound, 1.0, 0.0) <= 1.0


@pytest.mark.audit
def test_the_audit_notices_noise_of_a_third():
    def bound():
        score, gap = scores(asked(), 3, 60_000, scale=1 / 3)
        return lower_bound(score + gap, score[::-1], 1e-6)

    assert again(bound, above=1.0) > 1.0


def test_the_budget_is_spent_once():
    assert sum(layout.PORTIONS) == pytest.approx(1.0, abs=1e-12)
    assert all(sum(weights) == pytest.approx(1.0) for weights in (layout.OUTLINE, *layout.WEIGHTS))
    assert len(layout.PORTIONS) == 1 + STEPS


def test_a_portion_answers_one_question(monkeypatch):
    from fedbayes.federation.errors import MessageError

    station = Kept(people(0))
    function, request, _ = requests(asked())[1]
    first = function(station, request)
    assert first.vector.value.shape == (layout.slope_layout(request).length,)
    station.round_name = "3:audit"
    with pytest.raises(MessageError, match="budget of this step is spent"):
        function(station, request)


def test_an_identifier_with_three_rows_needs_three_times_the_noise():
    one, three = requests(asked()), requests(asked(rows=3))
    for (_, first, made), (_, second, _) in zip(one, three, strict=True):
        noise = [made.noise_of(request.asked.noise, 3)[0] for request in (first, second)]
        assert noise[1] == pytest.approx(3 * noise[0], rel=0.03)


def judged(neighbors="add_remove", rows=1):
    unit = Unit("person", rows) if rows > 1 else Unit()
    question = Question("t", "d", DOMAIN, {"stage": "I"}, [2.0, 5.0, 9.0], [3], "breslow", "refuse", {}, "", "", "", "")
    entries = zip(question.labels, [0.3, -40.0, 2.0, 1e4], strict=True)
    outline = {"coefficients": [{"feature": name, "coefficient": value} for name, value in entries], "offset": 12.0}
    model = Judged(question, outline)
    noise = check_noise("distributed", 1.0, 0.0, neighbors, 1.0, unit)
    return TableRequest(model, np.array([-1.0, 0.0, 1.0]), noise, unit)


@pytest.mark.few(6)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("neighbors", "rows"), [("add_remove", 1), ("replace_one", 1), ("add_remove", 3)])
def test_neighbours_change_a_table_of_an_evaluation_by_at_most_the_claim(monkeypatch, seed, neighbors, rows):
    """For a model of anybody's, with coefficients far out: 1 or 2 cells by 1, of an identifier as many as it has rows."""
    request = judged(neighbors, rows)
    frame = pd.concat([people(seed, 25).astype(object), WILD], ignore_index=True)
    whole = exact(monkeypatch, judging.partial_table.fedbayes_answer, request, frame)
    assert 0 < whole.sum() <= len(frame)
    claim = request.noise.change(1.0, 1.0, whole.size, True)
    for owner in frame.index if rows == 1 else frame["person"].dropna().unique():
        out = frame.drop(index=owner) if rows == 1 else frame[frame["person"] != owner]
        other = out if neighbors == "add_remove" else pd.concat([out, WILD.iloc[[owner % 3]]], ignore_index=True)
        moved = whole - exact(monkeypatch, judging.partial_table.fedbayes_answer, request, other)
        assert np.abs(moved).sum() <= claim.l1
        assert np.linalg.norm(moved) <= claim.l2


@pytest.mark.parametrize(
    "arguments", [{"epsilon": 0.5}, {"epsilon": 25.0, "neighbors": "replace_one"}, {"epsilon": 1.0, **PEOPLE}]
)
def test_an_evaluation_states_what_every_station_is_debited(monkeypatch, arguments):
    tables = [people(seed) for seed in range(3)]
    model = package.fit(mock_client=mock_client("verticox", tables), **{**TASK, "epsilon": 20.0})["model"]
    spent = noted_debits(monkeypatch)
    result = package.evaluate(mock_client=mock_client("verticox", tables), model=model, **arguments)
    told = result["privacy"]
    assert [[cost for _, cost in debits] for debits in spent.values()] == [[(arguments["epsilon"], 0.0)]] * 3
    assert (told["epsilon"], told["delta"]) == (arguments["epsilon"], 0.0)
    assert told["differentially_private"] is (arguments["epsilon"] <= 20)
    assert told["unit"] == arguments.get("unit", "row")


@pytest.mark.parametrize(
    "table", [pd.concat([WILD] * 4), people(1).assign(d=0), people(1).assign(t="never", stage=None)]
)
def test_no_evaluation_with_noise_is_refused_because_of_data(table):
    tables = [people(0), table, people(2)]
    model = package.fit(
        mock_client=mock_client("verticox", [people(seed) for seed in range(3)]), **{**TASK, "epsilon": 20.0}
    )["model"]
    metrics = package.evaluate(mock_client=mock_client("verticox", tables), model=model, epsilon=1.0)["metrics"]
    assert np.all(np.isfinite(metrics["brier_scores"]))
