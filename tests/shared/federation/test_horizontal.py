"""What horizontal methods share, without processes: checks, noise plans, tables and back."""

import numpy as np
import pandas as pd
import pytest

from fedbayes.bayes.naive_bayes.counting import fit_model
from fedbayes.federation import errors
from fedbayes.federation.gate import Public, Receipt, Released
from fedbayes.federation.horizontal import (
    Budget,
    Columns,
    CountNoise,
    Placed,
    SchemaReply,
    cells,
    check_bins,
    check_noise,
    class_counts_from_margins,
    load_model,
    model_from_tables,
    release,
    resolve_columns,
    signed,
    split_tables,
    table_queries,
)
from fedbayes.federation.horizontal.tallying import Form
from fedbayes.federation.messages.codec import decode, encode

DOMAIN = {
    "x": {"bounds": [0, 10]},
    "c": {"categories": ["a", "b", "c"]},
    "y": {"categories": [0, 1]},
}
COLUMNS = Columns("y", ["x", "c"], DOMAIN)


class FakeFederation:
    """Answers the schema round from a table of schema files."""

    def __init__(self, schemas):
        self.schemas = schemas
        self.asked = 0

    def name(self, organization):
        return f"station-{organization}"

    def round(self, function, request, stations, reply_type):
        self.asked += 1
        return {station: SchemaReply(Public(self.schemas[station])) for station in stations}


def make_table(rows=200):
    random = np.random.default_rng(0)
    label = random.integers(0, 2, rows)
    return pd.DataFrame(
        {"x": random.uniform(0, 10, rows), "c": np.array(["a", "b", None])[random.integers(0, 3, rows)], "y": label}
    )


def test_the_domain_of_the_arguments_needs_no_round():
    federation = FakeFederation({})
    columns = resolve_columns(federation, [1, 2], "y", None, DOMAIN)
    assert columns.features == ["x", "c"]
    assert columns.classes == 2
    assert federation.asked == 0
    assert list(resolve_columns(federation, [1], "y", ["c"], DOMAIN).domain) == ["c", "y"]


def test_schema_files_that_agree_are_the_domain():
    federation = FakeFederation({1: DOMAIN, 2: dict(DOMAIN)})
    assert resolve_columns(federation, [1, 2], "y", None, None).domain == DOMAIN
    assert federation.asked == 1


@pytest.mark.parametrize("other", [None, {**DOMAIN, "c": {"categories": ["a"]}}, {"x": DOMAIN["x"]}])
def test_schema_files_that_disagree_are_refused_with_the_remedy(other):
    with pytest.raises(errors.ArgumentError, match=r"station-2.*FEDBAYES_SCHEMA"):
        resolve_columns(FakeFederation({1: DOMAIN, 2: other}), [1, 2], "y", None, None)


@pytest.mark.parametrize(
    ("label", "features", "domain", "what"),
    [
        ("gone", None, DOMAIN, "gone"),
        ("x", None, DOMAIN, "categories"),
        ("y", ["y"], DOMAIN, "label"),
        ("y", None, {"y": DOMAIN["y"]}, "features"),
        ("y", None, {}, "domain"),
    ],
)
def test_wrong_columns_are_refused_by_name(label, features, domain, what):
    with pytest.raises(errors.ArgumentError, match=what):
        resolve_columns(FakeFederation({}), [1], label, features, domain)


def test_messages_survive_json_and_refuse_nonsense():
    for message in (COLUMNS, CountNoise("distributed", 1.0)):
        assert decode(type(message), encode(message)) == message
    broken = encode(COLUMNS)
    broken["domain"].pop("x")
    with pytest.raises(errors.MessageError):
        decode(Columns, broken)
    with pytest.raises(ValueError, match="epsilon"):
        CountNoise("local", float("nan"))
    with pytest.raises(ValueError, match="placement"):
        CountNoise("nowhere", 1.0)


def test_tables_and_back_are_the_pooled_model():
    bins = check_bins(COLUMNS, 4)
    encoded = COLUMNS.schema.encode(make_table())
    vector = np.concatenate([query.values.ravel() for query in table_queries(COLUMNS, encoded, bins)])
    assert len(vector) == cells(COLUMNS, bins) == 2 * (5 + 4)
    tables = split_tables(COLUMNS, bins, signed(vector.astype(np.uint64), len(vector)))
    model = model_from_tables(COLUMNS, tables, bins)
    reference = fit_model(COLUMNS.schema, "y", encoded, "histogram", 4)
    assert np.allclose(model.predict_proba(make_table()), reference.predict_proba(make_table()))


def test_sums_modulo_the_ring_are_lifted_to_signed_numbers():
    assert signed(np.array([2**64 - 3, 5], dtype=np.uint64), 2).tolist() == [-3, 5]
    with pytest.raises(errors.MessageError, match="length"):
        signed(np.zeros(3, dtype=np.uint64), 2)


def test_bins_for_all_or_for_each():
    assert check_bins(COLUMNS, 7) == {"x": 7}
    assert check_bins(COLUMNS, {"x": [2, 5]}) == {"x": [2, 5]}
    assert check_bins(COLUMNS, {}) == {"x": 20}
    low, high = COLUMNS.schema["x"].bounds
    middle = low + np.sqrt(1 + (high - low)) - 1
    assert check_bins(COLUMNS, {"x": {"log": 2}})["x"] == pytest.approx([middle])
    for wrong in (0, True, 10**8, None, {"c": 2}, {"x": True}, [3], {"x": {"log": 0}}, {"x": {}}):
        with pytest.raises(errors.ArgumentError):
            check_bins(COLUMNS, wrong)
    many = Columns("y", [f"x{n}" for n in range(300)], {f"x{n}": DOMAIN["x"] for n in range(300)} | {"y": DOMAIN["y"]})
    with pytest.raises(errors.ArgumentError, match="cells"):
        check_bins(many, 10_000)


def test_margins_are_averaged_by_their_precision():
    random = np.random.default_rng(0)
    tables = {"a": np.full((2, 3), 100.0), "b": np.full((2, 30), 10.0)}
    errors_found = []
    for _ in range(400):
        noisy = {name: table + random.normal(0, 5, table.shape) for name, table in tables.items()}
        counts, spread = class_counts_from_margins(noisy, 5.0)
        errors_found.append(counts[0] - 300)
    assert np.std(errors_found) == pytest.approx(spread, rel=0.25)
    assert spread < 5 * np.sqrt(3)
    exact, none = class_counts_from_margins(tables, 0.0)
    assert exact.tolist() == [300, 300]
    assert none == 0


def test_arguments_of_noise():
    noise = check_noise("distributed", 1.0, 1e-6, "replace_one", 0.5)
    assert noise == CountNoise("distributed", 1.0, 1e-6, "replace_one", 0.5)
    assert check_noise("none", None).private is False
    assert noise.honest(5) == 2
    assert CountNoise("local", 1.0).honest(5) == 1
    assert CountNoise("distributed", 1.0).honest(1) == 1
    assert noise.mechanism().startswith("discrete Gaussian")
    with pytest.raises(errors.ArgumentError, match="epsilon"):
        check_noise("distributed", None)
    for epsilon in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="epsilon"):
            check_noise("distributed", epsilon)


def test_more_honest_stations_need_less_noise():
    few, all_of_them = (CountNoise("distributed", 1.0, 0.0, "add_remove", part) for part in (0.4, 0.8))
    assert few.deviation(1, 1.0, 1.0, 1, 10) == pytest.approx(np.sqrt(2) * all_of_them.deviation(1, 1.0, 1.0, 1, 10))


def test_a_malformed_model_is_an_argument_error():
    from fedbayes.bayes.naive_bayes import NaiveBayes

    for wrong in (None, [], {}, {"format": "x"}):
        with pytest.raises(errors.ArgumentError, match="model"):
            load_model(NaiveBayes.from_dict, wrong)


def test_noise_arguments_without_effect_are_named():
    class Asked(Budget, Placed):
        pass

    def names(noise, *given):
        values = dict(zip(("epsilon", "delta", "neighbors", "honest_fraction"), given, strict=False))
        return [text.split()[0] for text in Asked.read("fit", {"noise": noise, **values}).unused()]

    everything = (1.0, 1e-6, "replace_one", 0.5)
    assert names("distributed", *everything) == []
    assert names("local", *everything) == ["honest_fraction"]
    assert sorted(names("none", *everything)) == ["delta", "epsilon", "honest_fraction", "neighbors"]
    assert names("none", None, 1e-6, "add_remove") == ["delta"]
    assert names("none", None, 0.0, "add_remove", 0.8) == []


def test_noise_that_cannot_be_sampled_is_not_charged():
    class Charged:
        participants = (1, 2, 3)
        charges = 0

        def require_private(self, private):
            assert private

        def charge(self, epsilon, delta, **how):
            self.charges += 1
            return Receipt(epsilon, delta)

        def released(self, value, receipt):
            return Released(value)

    for placement in ("distributed", "local"):
        station = Charged()
        queries = table_queries(COLUMNS, COLUMNS.schema.encode(make_table()), {"x": 4})
        with pytest.raises(errors.ArgumentError, match="epsilon is too small"):
            release(station, queries, CountNoise(placement, 1e-12), "tables")
        assert station.charges == 0
        release(station, queries, check_noise(placement, 1.0), "tables")
        assert station.charges == 1


@pytest.mark.parametrize("neighbors", ["add_remove", "replace_one"])
def test_scores_spend_no_delta_where_laplace_noise_is_narrower(neighbors):
    spent = {}
    for classes in (2, 3, 10, 40):
        form = Form(True, classes)
        queries = form.queries(np.zeros(0, dtype=np.int64), np.zeros((0, classes)))
        assert sum(query.values.size for query in queries) == form.numbers
        asked = CountNoise("distributed", 0.5, 1e-6, neighbors)
        found = form.narrower(asked)
        widths = [
            [noise.deviation(len(queries), q.l1, q.l2, q.values.size, 1, q.nonnegative) for q in queries]
            for noise in (found, asked, CountNoise("distributed", 0.5, 0.0, neighbors))
        ]
        product = np.prod(widths, axis=1)
        assert product[0] == pytest.approx(min(product))
        spent[classes] = found.delta
    assert spent[2] == 0.0
    assert spent[40] == 1e-6
    assert Form(False, 2).narrower(CountNoise()) == CountNoise()
    assert Form(True, 40).narrower(CountNoise("local", 1e9, 1e-6, neighbors)).delta == 0.0
