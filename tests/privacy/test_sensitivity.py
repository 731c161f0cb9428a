"""What one row, or one identifier, changes in every query of the horizontal methods: never more than the claim, for any model, bounds and values."""

import math

import numpy as np
import pandas as pd
import pytest
from audit_kit import Alone
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.bayes.schema import Column, SchemaError
from fedbayes.federation import errors
from fedbayes.federation.horizontal import Columns, CountNoise, EvaluateRequest, Unit, tally_station, tallying
from fedbayes.federation.horizontal.units import bounded
from v6_dp_naive_bayes.model import UNITS, Plan, summarise

COLUMN = st.floats(allow_nan=True, allow_infinity=True)
CRAFTED = {
    "format": "fedbayes.naive_bayes/1",
    "label": "dx",
    "domain": {"age": {"bounds": [0, 120]}, "dx": {"categories": ["hiv", "none-such"]}},
    "class_counts": [1.0, 1.0],
    "class_noise": 0.0,
    "features": {
        "age": {
            "kind": "gaussian",
            "count": [1e-280, 1e-280],
            "total": [1e18, 1e18],
            "squares": [0.0, 0.0],
            "bounds": [0, 120],
            "noise": 0.0,
        }
    },
    "provenance": {},
}


def changes(plan, before, after):
    """Return (real L1, claimed L1) of every query between two tables, in `add_remove` of one row."""
    schema = plan.columns.schema
    pairs = zip(
        summarise(plan, schema.encode(before, "absorb")), summarise(plan, schema.encode(after, "absorb")), strict=True
    )
    for one, other in pairs:
        difference = (one.values - other.values).astype(np.float64)
        yield np.abs(difference).sum(), one.l1
        yield math.sqrt((difference**2).sum()), one.l2
        if one.nonnegative:
            assert (difference <= 0).all()


@settings(deadline=None, max_examples=300)
@given(
    bounds=st.tuples(st.floats(-1e100, 1e100), st.integers(1, 2**45)),
    values=st.lists(COLUMN, min_size=1, max_size=8),
    own=COLUMN,
    statistics=st.sampled_from(["gaussian", "histogram"]),
)
def test_one_row_changes_no_sum_by_more_than_the_claim(bounds, values, own, statistics):
    """Bounds from adjacent doubles to everything: either they are refused, or the claim holds."""
    low = bounds[0]
    high = low + bounds[1] * math.ulp(low)
    try:
        columns = Columns("y", ["x"], {"x": {"bounds": [low, high]}, "y": {"categories": ["a", "b"]}})
    except SchemaError:
        return
    plan = Plan(columns, {"x": 5}, statistics, "bounds", CountNoise("local", 1.0), 1.0)
    before = pd.DataFrame({"x": np.array(values, dtype=np.float64), "y": ["a"] * len(values)})
    after = pd.concat([before, pd.DataFrame({"x": [own], "y": ["a"]})], ignore_index=True)
    for real, claimed in changes(plan, before, after):
        assert real <= claimed * (1 + 1e-12)


@settings(deadline=None, max_examples=100)
@given(
    groups=st.integers(1, 17),
    values=st.lists(st.sampled_from([*range(17), 99, None]), max_size=8),
    own=st.sampled_from([*range(17), 99, None]),
)
def test_one_row_changes_one_cell_of_a_table_of_grouped_states(groups, values, own):
    columns = Columns("y", ["x"], {"x": {"categories": list(range(17))}, "y": {"categories": ["a", "b"]}})
    plan = Plan(columns, {}, "histogram", "bounds", CountNoise("local", 1.0), 1.0, {"x": groups})
    before = pd.DataFrame({"x": np.array(values, dtype=object), "y": ["a"] * len(values)})
    after = pd.concat([before, pd.DataFrame({"x": [own], "y": ["b"]})], ignore_index=True)
    found = list(changes(plan, before, after))
    assert found, "a table was counted"
    for real, claimed in found:
        assert real == claimed == 1.0


@pytest.mark.parametrize(
    "bounds", [(50.0, math.nextafter(50.0, 100.0)), (1e16, 1e16 + 2), (1.7e18, 1.7e18 + 256), (0.0, 5e-324), (1.0, 1.0)]
)
def test_bounds_without_numbers_between_them_are_refused(bounds):
    with pytest.raises(SchemaError, match="bounds"):
        Column("age", bounds=bounds)


def test_scaled_values_stay_within_one_unit_even_where_the_middle_is_rounded():
    from fedbayes.bayes.naive_bayes.counting import unit_values

    high = math.nextafter(50.0, 100.0)
    assert np.abs(unit_values(np.array([50.0, high]), (50.0, high))).max() <= 1.0


def test_a_crafted_model_is_refused_where_it_is_loaded():
    with pytest.raises(SchemaError, match="model"):
        NaiveBayes.from_dict(CRAFTED)
    station = Alone(pd.DataFrame({"age": [50.0] * 12, "dx": ["hiv"] * 12}), allow_non_private=False)
    with pytest.raises(errors.MessageError, match="model"):
        tally_station(station, EvaluateRequest(CRAFTED, "dx", CountNoise("local", 0.1)), NaiveBayes.from_dict)
    assert station.charged == []


class Hostile:
    """A model that gives whatever it was told to, finite or not."""

    def __init__(self, schema, answer):
        self.schema, self.label, self.features, self._answer = schema, "dx", ["age"], answer

    def predict_log_proba(self, frame):
        classes = self.schema[self.label].cardinality
        return np.resize(np.array(self._answer, dtype=np.float64), (len(frame), classes))


ANSWERS = st.lists(
    st.one_of(st.just(math.nan), st.just(-math.inf), st.just(math.inf), st.floats(-1e300, 1e300)),
    min_size=2,
    max_size=6,
)


@settings(deadline=None, max_examples=200)
@given(
    answer=ANSWERS,
    ages=st.lists(COLUMN, min_size=1, max_size=5),
    label=st.sampled_from(["hiv", "none-such", "flu"]),
    further=st.sampled_from([[], ["a third"]]),
)
def test_one_row_changes_no_tally_by_more_than_the_claim_for_any_model(answer, ages, label, further):
    """Of two classes there is one table, of more there are four queries."""
    from fedbayes.bayes.schema import Schema

    classes = [*CRAFTED["domain"]["dx"]["categories"], *further]
    model = Hostile(Schema.from_domain({**CRAFTED["domain"], "dx": {"categories": classes}}), answer)
    before = pd.DataFrame({"age": ages, "dx": ["hiv"] * len(ages)})
    after = pd.concat([before, pd.DataFrame({"age": [50.0], "dx": [label]})], ignore_index=True)
    seen = []

    def catch(station, queries, noise, note):
        seen.append(queries)
        raise errors.MessageError("seen")

    release, tallying.release = tallying.release, catch
    try:
        for frame in (before, after):
            request = EvaluateRequest({}, "dx", CountNoise("local", 1.0))
            with pytest.raises(errors.MessageError, match="seen"):
                tally_station(Alone(frame), request, lambda data: model)
    finally:
        tallying.release = release
    assert len(seen[0]) == (4 if further else 1)
    for one, other in zip(*seen, strict=True):
        difference = (other.values - one.values).astype(object)
        assert (difference >= 0).all()
        assert abs(difference).sum() <= one.l1
        assert math.sqrt(float((difference.astype(np.float64) ** 2).sum())) <= one.l2 * (1 + 1e-12)


PEOPLE = st.lists(
    st.tuples(st.sampled_from([None, "p", "q", "007", "7"]), st.floats(-10, 10), st.sampled_from(["a", "b"])),
    min_size=1,
    max_size=14,
)


@pytest.mark.audit
@settings(deadline=None, max_examples=200)
@given(rows=PEOPLE, most=st.integers(1, 3), order=st.randoms())
def test_an_identifier_changes_no_query_by_more_than_its_bounded_rows(rows, most, order):
    """All rows of `p` come or go; and the order of rows changes nothing."""
    domain = {"x": {"bounds": [-5, 5]}, "y": {"categories": ["a", "b"]}}
    columns = Columns("y", ["x"], domain, "clip", Unit("id", most))
    plan = Plan(columns, {"x": 4}, "gaussian", "bounds", CountNoise("local", 1.0, rows=most, id_column="id"), 1.0)

    def queries(people):
        frame = pd.DataFrame(people, columns=["id", "x", "y"]).astype({"id": object, "x": float, "y": object})
        return summarise(plan, columns.read(Alone(frame)))

    with_all = queries(rows)
    without = queries([row for row in rows if row[0] != "p"])
    shuffled = list(rows)
    order.shuffle(shuffled)
    for one, other, again in zip(with_all, without, queries(shuffled), strict=True):
        assert np.array_equal(one.values, again.values)
        assert np.abs(one.values - other.values).sum() <= one.l1 * most


def test_what_is_kept_of_an_identifier_is_bounded_and_depends_on_its_own_rows_alone():
    random = np.random.default_rng(0)
    owners = random.integers(-1, 6, 200)
    content = {"x": random.normal(size=200)}
    kept = bounded(owners, content, 3, b"key")
    assert not kept[owners < 0].any()
    assert all(np.sum(kept[owners == owner]) == 3 for owner in range(6))
    alone = owners == 2
    part = bounded(np.zeros(int(alone.sum()), dtype=np.int64), {"x": content["x"][alone]}, 3, b"key")
    assert np.array_equal(part, kept[alone])
    assert not np.array_equal(kept, bounded(owners, content, 3, b"another"))


def test_noise_for_other_units_than_are_read_is_no_request():
    columns = Columns("y", ["x"], {"x": {"bounds": [0, 1]}, "y": {"categories": ["a", "b"]}}, "clip", Unit("id", 3))
    with pytest.raises(ValueError, match="for another unit"):
        Plan(columns, {"x": 4}, "histogram", "bounds", CountNoise("local", 1.0), 1.0)
    with pytest.raises(ValueError, match="for another unit"):
        EvaluateRequest({}, "y", CountNoise("local", 1.0), Unit("id", 3))


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize("rows", [1, 4])
def test_the_noise_grows_with_what_a_unit_changes(relation, rows):
    one, many = CountNoise("local", 1.0), CountNoise("local", 1.0, 0.0, relation, rows=rows)
    factor = rows * (2 if relation == "replace_one" else 1)

    def width(noise, queries, cells=1, nonnegative=False):
        return noise.width(queries, noise.change(1.0, 1.0, cells, nonnegative), 3)

    assert width(many, 3) == factor * width(one, 3)
    narrow = CountNoise("local", 1.0, 1e-6, relation, rows=rows)
    root = rows * (math.sqrt(2) if relation == "replace_one" else 1)
    first, second = width(CountNoise("local", 1.0, 1e-6), 1, 4), width(narrow, 1, 4, True)
    assert second**2 - 1 / 12 == pytest.approx(
        root**2 * (first**2 - 1 / 12), rel=1e-4
    )  # the lattice: see fedbayes.dp.gaussian


def test_replacing_a_row_changes_a_histogram_by_the_root_of_two():
    """Exactly: all pairs of cells; the claim is attained and not exceeded."""
    cells = np.eye(5)
    largest = max(np.linalg.norm(one - other) for one in cells for other in cells)
    assert largest == pytest.approx(math.sqrt(2))


def test_units_of_sums_are_whole_numbers():
    assert UNITS % 2 == 0
