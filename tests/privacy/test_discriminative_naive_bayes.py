"""discriminative_naive_bayes: statements against debits, and what the noise of tables and all steps together really hides."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from audit_kit import again, lower_bound, noted_debits, some
from mock_kit import mock_client

import v6_discriminative_naive_bayes as package
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.horizontal import Columns, Unit, check_noise
from v6_discriminative_naive_bayes import partial
from v6_discriminative_naive_bayes.messages import CountsRequest, Shape, StepRequest

DOMAIN = {"f": {"categories": ["a", "b"]}, "g": {"categories": ["a", "b", "c"]}, "y": {"categories": ["n", "p"]}}
PEOPLE = {"unit": "identifier", "id_column": "person", "max_rows_per_identifier": 3}
TASK = {"label": "y", "domain": DOMAIN, "rounds": 2}
NOISY = [
    {"epsilon": epsilon, "delta": delta, "neighbors": neighbors, **kind}
    for epsilon, delta, neighbors, kind in product(
        (0.5, 25.0),
        (1e-6, 0.01),
        ("add_remove", "replace_one"),
        (
            {"tables": "dp"},
            {"tables": "dp", "optimizer": "fedavg"},
            {"tables": "dp", "structure": "a1de"},
            {"tables": "dp", **PEOPLE},
            {"tables": "local", "optimizer": "fedavg"},
        ),
    )
]


def people(seed, rows=60):
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({"f": random.choice(["a", "b"], rows), "g": random.choice(["a", "b", "c"], rows)})
    frame["person"] = random.integers(0, 20, rows).astype(str)
    return frame.assign(y=random.choice(["n", "p"], rows))


def run(arguments, monkeypatch):
    """Return (the result's privacy statement, {station: {debit: (epsilon, delta)}}): debits of one name are one."""
    spent = noted_debits(monkeypatch)
    client = mock_client("discriminative_naive_bayes", [people(seed) for seed in range(3)])
    told = package.fit(mock_client=client, **{**TASK, **arguments})["privacy"]
    return told, {member: dict(debits) for member, debits in spent.items()}


@pytest.mark.parametrize("arguments", some(NOISY))
def test_a_fit_states_what_every_station_is_debited(monkeypatch, arguments):
    told, spent = run(arguments, monkeypatch)
    assert (told["epsilon"], told["delta"]) == (arguments["epsilon"], arguments["delta"])
    assert len(spent) == 3
    for debits in spent.values():
        assert list(debits.values()) == [(arguments["epsilon"], arguments["delta"])]
    assert told["differentially_private"] is (arguments["epsilon"] <= 20 and arguments["delta"] <= 1e-3)
    whole = arguments["tables"] == "local"
    assert told["unit"] == ("party" if whole else arguments.get("unit", "row"))
    assert told["neighbors"] == arguments["neighbors"]


@pytest.mark.parametrize("arguments", [{}, {"optimizer": "fedavg"}, {"tables": "local"}], ids=str)
def test_an_exact_fit_states_no_privacy_and_is_debited_none(monkeypatch, arguments):
    told, spent = run(arguments, monkeypatch)
    assert told["differentially_private"] is False
    assert all(cost == (0.0, 0.0) for debits in spent.values() for cost in debits.values())


@pytest.mark.parametrize(
    "arguments",
    [
        {"tables": "dp", "epsilon": 1.0, "outside": "refuse"},
        {"tables": "local", "optimizer": "fedavg", "epsilon": 1.0, **PEOPLE},
    ],
    ids=str,
)
def test_what_epsilon_does_not_cover_is_refused(monkeypatch, arguments):
    with pytest.raises(ArgumentError, match=r"outside|unit"):
        run(arguments, monkeypatch)


def requests(epsilon=1.0, neighbors="add_remove", steps=4, rows=1):
    unit = Unit("person", rows) if rows > 1 else Unit()
    shape = Shape(Columns("y", ["f", "g"], DOMAIN, unit=unit), {}, tables="dp")
    noise = check_noise("distributed", epsilon, 1e-6, neighbors, 1.0, unit)
    layout = shape.layout
    counts = np.zeros(layout.counts, dtype=np.int64)
    step = StepRequest(shape, np.ones((1, layout.parameters)), counts, 0, 0.0, False, noise, 1.0, 1, steps)
    return CountsRequest(shape, noise), step


def likelihoods(counts, step, parties, samples, scale=1.0):
    """Return the scores of the most telling test of two neighbours on tables and all steps together, without central's own share."""
    change = 2.0 if step.noise.neighbors == "replace_one" else 1.0
    unit = 2.0**partial.TABLE_BITS
    row = change * np.sqrt(partial.families(step.shape.layout))
    parts = [(unit * partial.table_deviation(counts, parties), unit * row)]
    parts += [(partial.honest_deviation(step, parties), change * step.clip * 2.0**16)] * step.steps
    score, gap = np.zeros(samples), 0.0
    for sigma, moved in parts:
        noise = step.noise
        shares = [noise.law.shares(samples, sigma * scale, parties, noise.honest_fraction) for _ in range(parties - 1)]
        score += sum(shares) * (moved / (sigma * scale) ** 2)
        gap += (moved / (sigma * scale)) ** 2
    return score, gap


@pytest.mark.parametrize(
    ("neighbors", "parties", "samples"),
    [
        ("add_remove", 2, 20_000),
        *(
            pytest.param(neighbors, parties, 60_000, marks=pytest.mark.audit)
            for parties in (2, 4)
            for neighbors in ("add_remove", "replace_one")
        ),
    ],
)
def test_tables_and_steps_together_keep_their_promise(neighbors, parties, samples):
    counts, step = requests(neighbors=neighbors)

    def bound():
        score, gap = likelihoods(counts, step, parties, samples)
        return lower_bound(score + gap, score[::-1], 1e-6)

    assert 0.0 < again(bound, 1.0, 0.0) <= 1.0


@pytest.mark.audit
def test_the_audit_notices_noise_of_a_third():
    counts, step = requests()

    def bound():
        score, gap = likelihoods(counts, step, 3, 60_000, scale=1 / 3)
        return lower_bound(score + gap, score[::-1], 1e-6)

    assert again(bound, above=1.0) > 1.0


def test_an_identifier_with_three_rows_needs_three_times_the_noise():
    one, three = requests(), requests(rows=3)
    assert partial.table_deviation(three[0], 3) == pytest.approx(3 * partial.table_deviation(one[0], 3), rel=0.03)
    assert partial.honest_deviation(three[1], 3) == pytest.approx(3 * partial.honest_deviation(one[1], 3), rel=0.03)
