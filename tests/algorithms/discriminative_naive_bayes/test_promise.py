"""A station keeps the promise of privacy whatever central asks, and its noise has the promised size."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess
from weighted_tables import DOMAIN, table

from fedbayes.bayes.values.encoding import SchemaError
from fedbayes.federation.errors import ArgumentError, MessageError
from fedbayes.federation.horizontal import Columns, CountNoise, check_noise
from v6_discriminative_naive_bayes import partial
from v6_discriminative_naive_bayes.classifier import WeightedNaiveBayes, load_model, loader
from v6_discriminative_naive_bayes.messages import CountsRequest, Shape, StepRequest
from v6_discriminative_naive_bayes.model import count, tables_from_counts
from v6_discriminative_naive_bayes.partial import encode_rows, move, prepare, sensitivity

ALGORITHM = "discriminative_naive_bayes"
PARTIES = 5


class Memory:
    """What a noisy step needs of a station: debits, and what is kept until it is wiped."""

    def __init__(self):
        self.participants = tuple(range(PARTIES))
        self.round_name = "first"
        self.debits = []
        self.files = {}

    def charge(self, epsilon, delta, note, once, summed, relation):
        if (once, epsilon, delta) not in self.debits:
            self.debits.append((once, epsilon, delta))
        return self.debits[-1]

    def released(self, value, receipt):
        assert receipt in self.debits, "what is released was charged"
        return value

    def keep(self, name, **arrays):
        self.files.setdefault(name, arrays)

    def kept(self, name):
        return self.files[name]

    def once(self, name, content):
        return self.files.setdefault(name, content)


def request(tables="dp", neighbors="add_remove", clip=1.0, iterations=0, step=1, steps=10, weights=1.0, additive=False):
    shape = Shape(Columns("class", ["a", "b", "c", "z"], DOMAIN), {"z": 4}, tables=tables)
    layout = shape.layout
    noise = check_noise("distributed", 1.0, 1e-6, neighbors, 0.8)
    counts = None if tables == "local" or additive else count(layout, *rows(shape, table(200, 9)))
    points = np.full((1, layout.parameters), weights)
    return StepRequest(shape, points, counts, iterations, 0.0, False, noise, clip, step, steps, additive)


def rows(shape, frame):
    return encode_rows(shape, shape.columns.schema.encode(frame))


def answer(asked, frame, station=None):
    codes, labels = rows(asked.shape, frame)
    direction = move(asked, prepare(asked, codes, labels), labels, asked.clip)[0][1]
    return partial._noisy(station or Memory(), asked, direction)


KINDS = [
    {},
    {"neighbors": "replace_one"},
    {"clip": 0.05},
    {"additive": True},
    {"additive": True, "neighbors": "replace_one", "clip": 2.0},
    {"iterations": 3},
    {"iterations": 3, "neighbors": "replace_one"},
    {"tables": "local", "iterations": 3},
]


@pytest.mark.parametrize("kind", KINDS)
def test_no_neighbour_moves_an_answer_further_than_its_noise_allows_for(monkeypatch, kind):
    monkeypatch.setattr(CountNoise, "shares", lambda _, size, *asked: np.zeros(size, dtype=np.int64))
    asked = request(**kind, weights=0.0)
    both = 2.0 if asked.noise.neighbors == "replace_one" else 1.0
    frame = table(60, 1)
    whole = answer(asked, frame)
    if asked.shape.tables == "local":
        others = [np.zeros_like(whole)]
    elif both == 2.0:
        others = [answer(asked, pd.concat([table(60, 2).iloc[[k]], frame.iloc[1:]])) for k in range(10)]
    else:
        others = [answer(asked, frame.drop(index=k)) for k in range(10)]
    furthest = max(np.linalg.norm(whole - other) for other in others)
    assert 0 < furthest <= both * sensitivity(asked) * (1 + 1e-12)


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", KINDS)
def test_the_sum_of_all_answers_has_the_promised_deviation(kind):
    asked = request(**kind)
    nobody = np.zeros(asked.shape.layout.parameters)
    sums = [sum(partial._noisy(Memory(), asked, nobody) for _ in range(PARTIES)) for _ in range(60)]
    queries, entries = asked.steps * (1 if asked.shape.tables == "local" else 2), len(nobody)
    change = asked.noise.change(sensitivity(asked) * entries, sensitivity(asked), entries)
    promised = asked.noise.width(queries, change, PARTIES)
    found = float(np.std(np.array(sums)))
    expected = promised * np.sqrt(PARTIES / asked.noise.honest(PARTIES))
    assert 0.9 < found / expected < 1.1
    assert promised > asked.clip * 2**16 * np.sqrt(asked.steps)


def test_all_steps_are_one_debit_and_a_step_is_answered_once():
    station = Memory()
    frame = table(60, 1)
    for step in (1, 2, 3):
        station.round_name = f"round {step}"
        answer(request(step=step), frame, station)
    assert len(station.debits) == 1
    station.round_name = "again"
    with pytest.raises(MessageError, match="spent"):
        answer(request(step=2), frame, station)
    with pytest.raises(MessageError, match="spent"):
        answer(request(step=4, steps=20), frame, station)


def test_tables_and_steps_are_one_debit_and_tables_are_answered_once():
    station = Memory()
    asked = request()
    counts = CountsRequest(asked.shape, asked.noise)
    zeros = np.zeros(asked.shape.layout.counts, dtype=np.int64)
    noisy = partial._noisy_counts(station, counts, zeros)
    assert noisy.any()
    station.round_name = "second"
    answer(asked, table(60, 1), station)
    assert [debit[1:] for debit in station.debits] == [(1.0, 1e-6)]
    with pytest.raises(MessageError, match="spent"):
        partial._noisy_counts(station, counts, zeros)


def test_the_sum_of_all_tables_has_the_promised_deviation():
    asked = request()
    counts = CountsRequest(asked.shape, asked.noise)
    zeros = np.zeros(asked.shape.layout.counts, dtype=np.int64)
    sums = [sum(partial._noisy_counts(Memory(), counts, zeros) for _ in range(PARTIES)) for _ in range(60)]
    expected = partial.table_deviation(counts, PARTIES) * np.sqrt(PARTIES / asked.noise.honest(PARTIES))
    assert 0.9 < float(np.std(np.array(sums))) / 2**partial.TABLE_BITS / expected < 1.1


def test_a_thousand_stations_need_no_more_noise_in_the_tables_than_ten():
    """Their shares are whole numbers of sixteenths; of whole rows each would be narrower than one, and all together had to be wider."""
    asked = request()
    counts = CountsRequest(asked.shape, asked.noise)

    def together(stations):
        return partial.table_deviation(counts, stations) * np.sqrt(stations / asked.noise.honest(stations))

    assert together(1000) == pytest.approx(together(10), rel=0.001)


def test_who_has_the_marks_of_the_steps_wiped_pays_again():
    """Central may announce any round as the last, after which a station forgets what it kept in the job."""
    station = Memory()
    frame = table(60, 1)
    answer(request(), frame, station)
    station.files.clear()
    station.round_name = "after the wipe"
    answer(request(), frame, station)
    assert len(station.debits) == 2


@pytest.mark.parametrize("value", [1e308, -1e308, np.nan, np.inf, 2e6])
def test_weights_that_could_single_out_rows_are_refused(value):
    asked = request()
    weights = asked.weights.copy()
    weights[0, 5] = value
    with pytest.raises(ValueError, match="weights"):
        replace(asked, weights=weights)


def test_counts_that_are_no_whole_numbers_are_refused():
    asked = request()
    with pytest.raises(ValueError, match="counts"):
        replace(asked, counts=np.full(len(asked.counts), np.nan))


def test_noise_that_promises_nothing_is_refused():
    with pytest.raises(ValueError, match="tables"):
        request(tables="local")
    with pytest.raises(ValueError, match="distributed"):
        replace(request(), noise=check_noise("local", 1.0, 1e-6))


def test_noise_that_cannot_be_sampled_is_refused_by_name():
    asked = replace(request(clip=1e6), noise=check_noise("distributed", 1e-9, 1e-300))
    with pytest.raises(ArgumentError, match="epsilon"):
        answer(asked, table(60, 1))


def model(tables="secure_sum"):
    shape = Shape(Columns("class", ["a", "b", "c", "z"], DOMAIN), {"z": 4}, tables=tables)
    layout = shape.layout
    made = None if tables == "local" else tables_from_counts(layout, count(layout, *rows(shape, table(99, 3))))
    return WeightedNaiveBayes(shape, np.ones(layout.parameters), made).to_dict()


@pytest.mark.parametrize("made", [model("local"), {**model(), "personal_iterations": 5}])
def test_a_station_adds_no_noise_to_scores_that_depend_on_other_rows(made):
    assert loader(False)(made).cross_fitted
    with pytest.raises(SchemaError, match="epsilon"):
        loader(True)(made)
    assert not loader(True)(model()).cross_fitted


def test_epsilon_is_refused_for_personal_scores_and_local_tables(parties):
    with OneProcess(parties) as federation:
        with pytest.raises(ArgumentError, match="epsilon"):
            federation.run(ALGORITHM, "evaluate", {"model": model(), "epsilon": 1.0, "personalize": True})
        with pytest.raises(ArgumentError, match="epsilon"):
            federation.run(ALGORITHM, "evaluate", {"model": model("local"), "epsilon": 1.0})


@pytest.mark.parametrize("place", ["weights", "single", "base"])
@pytest.mark.parametrize("value", [1e308, -1e308, float("nan"), 10**400, "1", None])
def test_a_model_whose_scores_could_overflow_is_refused(place, value):
    made = model()
    row = made["weights"] if place == "weights" else made["tables"][place]
    if place == "single":
        row = row[1]
    row[1] = value
    with pytest.raises(SchemaError, match="model"):
        load_model(made)


@pytest.mark.parametrize(
    "change",
    [{"tables": None}, {"tables_at": "local"}, {"tables": {"base": [0.0, 0.0]}}, {"weights": [1.0]}, {"tables": 3}],
)
def test_a_truncated_model_is_refused(change):
    with pytest.raises(SchemaError, match="model"):
        load_model({**model(), **change})


def test_arrays_that_a_model_has_no_place_for_are_refused():
    made = model()
    with pytest.raises(SchemaError, match="model"):
        load_model({**made, "tables": {**made["tables"], "joint": made["tables"]["single"]}})
