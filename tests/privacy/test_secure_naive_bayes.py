"""secure_naive_bayes: statements against debits for every combination of arguments, and what its noise really hides."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from audit_kit import Alone, again, lower_bound, noted_debits, some
from mock_kit import mock_client

import v6_secure_naive_bayes as package
from fedbayes.dp import mechanisms, promise
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.horizontal import Columns, Unit, table_queries
from v6_secure_naive_bayes import model
from v6_secure_naive_bayes.messages import CountsRequest, Keying, Noise
from v6_secure_naive_bayes.partial import cell_counts

DOMAIN = {
    "f": {"categories": ["a", "b"]},
    "g": {"categories": ["a", "b", "c"]},
    "h": {"bounds": [0, 4]},
    "y": {"categories": ["n", "p"]},
}
TASK = {"label": "y", "domain": DOMAIN, "bins": 2, "modulus_bits": 2048}
PARTY = {"unit": "party", "maximum_records": 7}
PEOPLE = {"unit": "identifier", "id_column": "person", "max_rows_per_identifier": 3}
FEATURES = 3


def people(rows=60, seed=1):
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({"f": random.choice(["a", "b"], rows), "g": random.choice(["a", "b", "c"], rows)})
    frame["h"] = random.integers(0, 5, rows)
    frame["y"] = random.choice(["n", "p"], rows)
    frame["person"] = random.integers(0, rows // 3, rows).astype(str)
    return frame


def run(tables, function, arguments, monkeypatch):
    """Return (the result's privacy statement, {station: [(epsilon, delta)]})."""
    spent = noted_debits(monkeypatch)
    monkeypatch.setenv("FEDBAYES_ALLOW_PREDICTIONS", "true")
    monkeypatch.setenv("FEDBAYES_MINIMUM_COUNT", "1")
    client = mock_client("secure_naive_bayes", tables)
    told = getattr(package, function)(mock_client=client, **arguments)["privacy"]
    return told, {member: np.sum([cost for _, cost in debits], axis=0) for member, debits in spent.items()}


HORIZONTAL = [
    {"epsilon": epsilon, "noise": noise, **({"delta": delta} if delta else {}), **unit, **fraction}
    for epsilon, (noise, delta), unit, fraction in product(
        (0.5, 25.0),
        (
            ("polya", 0.0),
            ("polya", 1e-6),
            ("diluted_geometric", 1e-6),
            ("diluted_geometric", 0.01),
            ("published", 1e-6),
        ),
        ({}, PARTY, PEOPLE),
        ({}, {"honest_fraction": 1.0}),
    )
    if unit is not PARTY or promise.holds(epsilon, 0.0 if noise == "polya" else delta)
]


@pytest.mark.few(8)
@pytest.mark.parametrize("arguments", some([{"noise": "none"}, *HORIZONTAL]))
def test_a_horizontal_fit_states_what_every_station_is_debited(monkeypatch, arguments):
    """The oracle: one budget in all; as published F + 1 of them, and delta for each cell that a unit can change."""
    told, spent = run([people(60, seed) for seed in range(3)], "fit", {**TASK, **arguments}, monkeypatch)
    if arguments["noise"] == "none":
        assert (told["differentially_private"], told["epsilon"]) == (False, None)
        assert all(tuple(cost) == (0.0, 0.0) for cost in spent.values())
        return
    published = arguments["noise"] == "published"
    units = arguments.get("maximum_records", arguments.get("max_rows_per_identifier", 1))
    epsilon = arguments["epsilon"] * (FEATURES + 1 if published else 1)
    delta = 0.0 if arguments["noise"] == "polya" else arguments["delta"] * ((FEATURES + 1) * units if published else 1)
    assert (told["epsilon"], told["delta"]) == pytest.approx((epsilon, delta))
    assert len(spent) == 3
    assert all(tuple(cost) == pytest.approx((epsilon, delta)) for cost in spent.values())
    assert told["differentially_private"] is (not published and epsilon <= 20 and delta <= 1e-3)
    assert told["unit"] == arguments.get("unit", "row")
    assert promise.holds(epsilon, delta) or told["reason"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"unit": "identifier"},
        {"id_column": "person"},
        {"max_rows_per_identifier": 3},
        {**PEOPLE, "max_rows_per_identifier": 0},
        {**PEOPLE, "max_rows_per_identifier": True},
        {**PEOPLE, "maximum_records": 7},
        {**PARTY, "id_column": "person"},
        {**PEOPLE, "id_column": "y"},
        {**PEOPLE, "id_column": "f", "features": ["f", "g"]},
        {**PEOPLE, "split": "vertical"},
    ],
    ids=str,
)
def test_a_unit_that_does_not_fit_is_refused(monkeypatch, arguments):
    with pytest.raises(ArgumentError, match=r"id_column|unit|max_rows_per_identifier|maximum_records"):
        run([people(60, seed) for seed in range(3)], "fit", {**TASK, "epsilon": 1.0, **arguments}, monkeypatch)


def counted(frame, most):
    """Return a station's tables side by side, and the largest change that the noise is for, in all of them together."""
    columns = Columns("y", ["f", "g", "h"], DOMAIN, unit=Unit("person", most))
    noise = Noise("polya", 1.0, 0.0, 1.0, "identifier", most)
    request = CountsRequest(columns, {"h": 2}, noise, Keying("ab" * 256, b"k" * 32, 1), 3)
    return cell_counts(request, columns.read(Alone(frame))), FEATURES * model.sensitivity(noise)


@pytest.mark.parametrize("most", [1, 3])
def test_a_person_changes_no_table_by_more_than_the_rows_that_the_noise_is_for(most):
    """Worst case: all of a person's many rows are alike; the control is the same table with rows as the unit."""
    before = people(60)
    own = pd.DataFrame({"f": "a", "g": "c", "h": 4, "y": "p", "person": ["new"] * 9})
    after = pd.concat([before, own], ignore_index=True)
    (one, claim), (other, _) = counted(before, most), counted(after, most)
    assert np.abs(other - one).sum() == claim == FEATURES * most
    for person in before["person"].unique():
        without, _ = counted(before[before["person"] != person], most)
        assert np.abs(one - without).sum() <= claim
    rows = Columns("y", ["f", "g", "h"], DOMAIN)
    tables = [
        sum(query.values.sum() for query in table_queries(rows, rows.read(Alone(frame)), {"h": 2}))
        for frame in (before, after)
    ]
    assert tables[1] - tables[0] > claim


def test_noise_for_other_people_than_are_read_is_no_request():
    columns = Columns("y", ["f", "g", "h"], DOMAIN, unit=Unit("person", 3))
    keying = Keying("ab" * 256, b"k" * 32, 1)
    for noise in (Noise("polya", 1.0, 0.0, 1.0, "identifier", 2), Noise("polya", 1.0, 0.0, 1.0, "record", 0)):
        with pytest.raises(ValueError, match="rows of one unit"):
            CountsRequest(columns, {"h": 2}, noise, keying, 3)


@pytest.mark.audit
def test_the_audit_finds_a_person_with_more_rows_than_the_noise_is_for():
    """Three rows in one cell: noise for three keeps the promise, noise for one does not."""
    for most, keeps in ((3, True), (1, False)):
        noise = Noise("polya", 1.0, 0.0, 1.0, "identifier", most)

        def bound(noise=noise):
            found = shares(noise, 3, 3, 60_000, 2)
            return lower_bound(found + 3, found[::-1])

        if keeps:
            assert again(bound, 1.0) <= 1.0
        else:
            assert again(bound, above=1.0) > 1.0


@pytest.mark.parametrize("epsilon", [0.5, 25.0, None])
@pytest.mark.parametrize("function", ["fit", "classify"])
def test_vertical_statements_are_the_sum_of_the_stations_debits(monkeypatch, function, epsilon):
    """The oracle: a record is at all stations, so what they are debited adds up to the whole."""
    if epsilon is None and function == "classify":
        pytest.skip("cannot be asked for")
    frame = people(200)
    tables = [frame[[name, "y"]] for name in ("f", "g", "h")]
    given = {"split": "vertical"} if function == "fit" else {"records": [{"f": "a"}]}
    budget = {"epsilon": epsilon} if epsilon else {"noise": "none"}
    told, spent = run(tables, function, {**TASK, **given, **budget}, monkeypatch)
    assert np.sum(list(spent.values()), axis=0) == pytest.approx([epsilon or 0.0, 0.0])
    assert told["epsilon"] == (pytest.approx(epsilon) if epsilon else None)
    assert told["differentially_private"] is (epsilon == 0.5)


def shares(noise, parties, uses, cells, counted):
    """Return the sum of the shares of `counted` stations, which are all but those that somebody subtracts."""
    return sum(model.draw(noise, uses, 1, cells) for _ in range(counted))


@pytest.mark.few(2)
@pytest.mark.parametrize(("kind", "delta"), [("polya", 0.0), ("diluted_geometric", 1e-3)])
@pytest.mark.parametrize("fraction", [0.5, 1.0])
@pytest.mark.parametrize("parties", [2, 3])
def test_without_centrals_own_share_the_noise_keeps_its_promise(kind, delta, fraction, parties):
    noise = Noise(kind, 1.0, delta, fraction, "record", 0)

    def bound():
        found = shares(noise, parties, parties, 60_000, parties - 1)
        return lower_bound(found + 1, found[::-1], delta)

    assert again(bound, 1.0) <= 1.0


def test_the_audit_notices_shares_that_count_on_centrals_own():
    """Two stations whose halves make one term, one of which central subtracts: what was done before."""
    from fedbayes.dp.shares import _negative_binomial

    def bound():
        half = _negative_binomial(60_000, 1.0, 2) - _negative_binomial(60_000, 1.0, 2)
        return lower_bound(half + 1, half[::-1])

    assert again(bound, above=1.0) > 1.0


def test_the_audit_notices_the_published_composition():
    """One record changes a cell in each of F + 1 families, each with the whole budget: more is lost than was asked for."""
    noise = Noise("published", 0.5, 1e-5, 1.0, "record", 0)
    stated, scale = model.charge(noise, FEATURES)[0], model.scale(noise, FEATURES)

    def bound():
        full = mechanisms.discrete_laplace(np.zeros((FEATURES + 1, 40_000), dtype=np.int64), scale)
        sign = np.clip(full, -2, 3).sum(axis=0)
        return lower_bound(np.clip(full[:, ::-1] + 1, -2, 3).sum(axis=0), sign)

    assert 0.5 < again(bound, stated, 0.5) <= stated
