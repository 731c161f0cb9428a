"""Columns of a station: what is refused, by name and without a value, and what the outcome holder tells."""

from decimal import ROUND_CEILING, Decimal

import numpy as np
import pandas as pd
import pytest

from fedbayes.federation.errors import DataProblem, ThresholdError
from fedbayes.mpc.wide import Wide
from v6_verticox.cox import likelihood
from v6_verticox.cox.outcome import checked
from v6_verticox.messages.setup import Plan
from v6_verticox.shares.layout import Layout
from v6_verticox.shares.sorting import OutcomeHolder, as_places
from v6_verticox.shares.ties import corrected, corrected_back
from v6_verticox.stations.columns import Survival, design, survival
from v6_verticox.stations.outcome import describe
from v6_verticox.stations.scoring import _numbers

ROWS = 60


def table(**columns):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"time": rng.integers(1, 15, ROWS).astype(float), "event": (np.arange(ROWS) % 2)})
    return frame.assign(age=rng.normal(size=ROWS), **columns)


REFUSED = [
    ("missing", np.where(np.arange(ROWS) == 7, np.nan, 1.5 + np.arange(ROWS)), "missing"),
    ("endless", np.where(np.arange(ROWS) == 7, np.inf, 1.5), "finite"),
    ("flat", np.full(ROWS, 3.25), "constant"),
    ("rare", np.where(np.arange(ROWS) == 7, "secret-a", "secret-b"), "category"),
    ("names", np.array([f"secret-{i}" for i in range(ROWS)]), "too many"),
    ("one", np.array(["secret"] * ROWS), "constant"),
]


@pytest.mark.parametrize(("name", "values", "text"), REFUSED, ids=[entry[0] for entry in REFUSED])
def test_bad_features_are_named(name, values, text):
    with pytest.raises(DataProblem, match=text) as refusal:
        design(table(**{name: values}), ["age", name], 5)
    assert f"'{name}'" in str(refusal.value)
    assert "secret" not in str(refusal.value)


def test_scales_do_not_matter():
    frame = table()
    small, large = design(frame, ["age"], 5), design(frame.assign(age=frame["age"] * 1e12 + 5e12), ["age"], 5)
    ratio = large.values / small.values
    assert np.allclose(ratio, ratio[0], rtol=1e-3)
    assert np.log2(large.scales[0]) == int(np.log2(large.scales[0]))


def test_text_becomes_indicators():
    frame = table(stage=np.array(["I", "II ", "III"])[np.arange(ROWS) % 3])
    found = design(frame, ["stage", "age"], 5)
    assert found.columns == {"stage": ["stage=II", "stage=III"], "age": ["age"]}
    assert found.values.shape == (ROWS, 3)


def test_gaps_in_other_rows_do_not_turn_booleans_into_text():
    frame = table(smokes=np.arange(ROWS) % 3 == 0)
    frame["event"] = frame["event"] == 1
    whole, told = design(frame, ["smokes"], 5), survival(frame, "time", "event", None, 5)
    with_gaps = pd.concat([frame, pd.DataFrame({"time": [1.0], "smokes": [None], "event": [None]})]).iloc[:ROWS]
    assert with_gaps["smokes"].dtype == with_gaps["event"].dtype == object
    found = design(with_gaps, ["smokes"], 5)
    assert found.columns == whole.columns == {"smokes": ["smokes"]}
    assert found.references == {}
    np.testing.assert_array_equal(found.values, whole.values)
    np.testing.assert_array_equal(_numbers(with_gaps["smokes"], "smokes"), frame["smokes"].astype(float))
    np.testing.assert_array_equal(survival(with_gaps, "time", "event", None, 5).event, told.event)


BAD_OUTCOMES = [
    ("time", np.where(np.arange(ROWS) == 3, -1.0, 2.0), DataProblem, "negative"),
    ("time", np.where(np.arange(ROWS) == 3, np.nan, 2.0), DataProblem, "missing"),
    ("time", np.array(["soon"] * ROWS), DataProblem, "text"),
    ("event", np.arange(ROWS) % 3, DataProblem, "nothing else"),
    ("event", np.zeros(ROWS), DataProblem, "no event"),
    ("event", (np.arange(ROWS) < 2).astype(int), ThresholdError, "fewer events"),
]


@pytest.mark.parametrize(("name", "values", "kind", "text"), BAD_OUTCOMES)
def test_bad_outcomes_are_named(name, values, kind, text):
    with pytest.raises(kind, match=text):
        survival(table(**{name: values}), "time", "event", None, 5)


def test_small_strata_are_refused():
    with pytest.raises(ThresholdError, match="stratum"):
        survival(table(site=(np.arange(ROWS) < 2).astype(int)), "time", "event", "site", 5)


@pytest.mark.parametrize("ties", ["breslow", "efron"])
def test_the_outcome_holder_tells_groups_of_events(ties):
    frame = table(site=np.arange(ROWS) // 2 % 2)
    outcome = survival(frame, "time", "event", "site", 5)
    told = describe(outcome, 5, ties)
    risk = likelihood.RiskSets.of(outcome.time, outcome.event, outcome.stratum, ties)
    assert told.log_likelihood == pytest.approx(likelihood.evaluate_predictor(risk, np.zeros(ROWS))[0])
    assert told.events == int(frame["event"].sum())
    for stratum in (0, 1):
        edges = np.array([t for t, s in zip(told.edges, told.edge_strata, strict=True) if s == stratum])
        own = frame[(frame["site"] == stratum) & (frame["event"] == 1)]["time"].to_numpy()
        counts = np.diff(np.concatenate([[0], [np.sum(own <= edge) for edge in edges]]))
        assert len(edges) > 0
        assert np.all(counts >= 5)


def test_every_tied_event_is_a_risk_set_of_its_own():
    time, event = np.array([2.0, 2.0, 2.0, 1.0, 3.0]), np.array([1, 1, 0, 1, 0])
    holder = OutcomeHolder(bytes(32), time, event, np.zeros(5, dtype=int), 5)
    assert (holder.rows.band, holder.rows.large, holder.blanks) == (2, [], 0)
    np.testing.assert_allclose(holder.at_risk()[holder.tied > 0], [5.0, 4.0, 3.0])
    weight = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    np.testing.assert_allclose(
        holder.at_risk(weight[holder.order])[holder.tied > 0], [15.0, 1 + 2 + 3 + 5, 0.5 * (1 + 2) + 3 + 5]
    )
    assert holder.indicator.sum() == 3


def tied_holder(seed, limit):
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(40, 300))
    time, stratum = rng.integers(1, int(rng.integers(4, 90)), rows).astype(float), np.sort(rng.integers(0, 2, rows))
    return OutcomeHolder(bytes(32), time, (rng.random(rows) < 0.6).astype(int), stratum, limit)


@pytest.mark.parametrize("seed", range(20))
def test_what_is_told_of_ties_is_no_small_count(seed):
    """Public ties have enough events; the rows between them are none, or a multiple of the limit."""
    limit = 5
    holder = tied_holder(seed, limit)
    behind, stratum_ends = 0, np.cumsum(holder.sizes)
    for first, size in holder.rows.large:
        assert size >= limit
        start = max([0, *[end for end in stratum_ends if end <= first]])
        if behind > start:
            assert (first - behind) % limit == 0
        assert np.ptp(holder.when[first : first + size]) == 0.0
        assert np.all(holder.indicator[first : first + size] == 1.0)
        behind = first + size
    assert all(size < limit for _, size in holder.rows.small)
    assert sorted(holder.rows.record[holder.rows.record >= 0]) == list(range(len(holder.time)))
    for code, size in enumerate(holder.sizes):
        own = sum(1 for first, _ in holder.rows.large if holder.code[first] == code)
        assert size == np.sum(holder.stratum == code) + ((limit - 1) * (own + 1) if own else 0)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("limit", [1, 3, 1000])
def test_maps_of_ties_are_those_of_efron_and_transposed(seed, limit):
    holder = tied_holder(seed, limit)
    rng, rows = np.random.default_rng(seed), len(holder.order)
    weight = np.append(rng.uniform(0.5, 2.0, len(holder.time)), 0.0)[holder.rows.record]
    sizes, ties = list(holder.rows.sizes), list(holder.rows.large)
    shape = Layout(Plan([1, 2], [1, 0], 3, rows, sizes, rows, ties, holder.rows.band, False))
    values, bands = Wide.encode(weight[:, None], 30), Wide.encode(holder.bands, 20)
    sums = shape.suffix(values)
    risk = shape.public_ties().risk(sums).decode(50) + corrected(bands, values).decode(50)
    events = holder.tied > 0
    np.testing.assert_allclose(risk[events, 0], holder.at_risk(weight)[events], rtol=1e-4)
    other = holder.tied * rng.uniform(0.5, 2.0, rows)
    back = Wide.encode(other[:, None], 30)
    hazard = shape.prefix(shape.public_ties().back(back)).decode(50) + corrected_back(bands, back).decode(50)
    assert hazard[:, 0] @ weight == pytest.approx(other @ risk[:, 0], rel=1e-9)


def test_damaged_places_are_refused():
    np.testing.assert_array_equal(as_places(np.array([2, 0], dtype=np.uint64), 3), [2, 0])
    for bad in ([0, 0], [0, 3], []):
        with pytest.raises(ValueError, match="permutation"):
            as_places(np.array(bad, dtype=np.uint64), 3)


def test_events_are_numbers_truth_values_or_the_texts_of_a_dictionary_category():
    frame = table()
    times, events = checked(frame, "time", "event")
    for same in (
        frame["event"].astype(bool),
        frame["event"].astype(str),
        frame["event"].astype(str).astype("category"),
    ):
        again = checked(frame.assign(event=same), "time", "event")
        np.testing.assert_array_equal(again, (times, events))
    with pytest.raises(DataProblem, match="give 1 for an event"):
        checked(frame.assign(event=np.where(frame["event"], "1", "2")), "time", "event")


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([1, 2], ["1", "2"]),
        ([1.0, 2.0], ["1", "2"]),
        ([False, True], ["false", "true"]),
        (["south", " north "], ["north", "south"]),
        (["1.0", "2"], ["1", "2"]),
    ],
    ids=str,
)
def test_a_stratum_has_one_name_however_its_file_was_read(values, names):
    frame = pd.DataFrame({"time": np.arange(1.0, 21.0), "event": [1] * 20, "site": values * 10})
    outcome = survival(frame, "time", "event", "site", 5)
    assert outcome.strata_names == names
    assert sorted(np.bincount(outcome.stratum)) == [10, 10]


def test_a_stratum_of_blanks_is_a_missing_one():
    frame = pd.DataFrame({"time": np.arange(1.0, 21.0), "event": [1] * 20, "site": [" ", "a"] * 10})
    with pytest.raises(DataProblem, match="'site' has missing values"):
        survival(frame, "time", "event", "site", 5)


@pytest.mark.parametrize("unit", [1.0, 0.1, 1 / 3, 1e-7, 12345.678])
def test_points_of_the_baseline_say_the_same_of_all_records_as_events_do(unit):
    """A point is a short number from an event on, before the next time of any record, at which the hazard is that of all events up to it."""
    draw = np.random.default_rng(7)
    time = np.ceil(draw.exponential(40.0, 400)) * unit
    outcome = Survival(time, draw.choice([0, 1, 1], 400), draw.choice([0, 0, 0, 1], 400), ["x", "y"])
    for limit in (1, 5):
        told = describe(outcome, limit)
        assert {0, 1} == set(told.edge_strata)
        hazard = likelihood.evaluate_predictor(
            likelihood.RiskSets.of(time, outcome.event, outcome.stratum), np.zeros(400)
        )[2]
        for edge, code, row in zip(told.edges, told.edge_strata, told.edge_rows, strict=True):
            last = time[time <= edge].max()
            assert outcome.event[time == last].any()
            written = Decimal(repr(float(edge)))
            for decimals in range(max(0, -written.as_tuple().exponent) if written % 1 and (time > edge).any() else 0):
                fewer = Decimal(repr(float(last))).quantize(Decimal((0, (1,), -decimals)), ROUND_CEILING)
                assert not last <= float(fewer) < time[time > edge].min(), "a number of fewer decimals would do"
            own = outcome.stratum == code
            died = np.unique(time[own & (outcome.event == 1) & (time <= edge)])
            wanted = sum(
                (own & (outcome.event == 1) & (time == one)).sum() / (own & (time >= one)).sum() for one in died
            )
            assert hazard[row] == pytest.approx(wanted, rel=1e-9)
