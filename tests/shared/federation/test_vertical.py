"""Tables over vertically split records: exact, in few rounds, with a helper and without one, and for united records."""

import itertools
import threading
import time

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess
from party_kit import by_columns

from fedbayes.federation import errors
from fedbayes.federation.embedded import EmbeddedFederation

PEOPLE = 150
COLUMNS = {"a": (3, 0), "b": (2, 0), "c": (2, 1), "d": (3, 1), "e": (2, 2), "f": (4, 2)}
HOMES = ("north", "south", "west")
SPLIT = {name: [one for one, (_, home) in COLUMNS.items() if home == place] for place, name in enumerate(HOMES)}


@pytest.fixture(scope="module")
def table():
    draw = np.random.default_rng(3)
    frame = pd.DataFrame({"id": np.arange(PEOPLE)})
    for name, (states, _) in COLUMNS.items():
        frame[name] = draw.integers(0, states, PEOPLE)
    return frame


@pytest.fixture(scope="module")
def stations(table):
    return by_columns(table, SPLIT)


def pooled(table, question):
    shape = [COLUMNS[column][0] for column in question]
    counts = np.zeros(shape, dtype=int)
    np.add.at(counts, tuple(table[column].to_numpy() for column in question), 1)
    return counts


def assert_tables(answers, table, questions):
    for answer, question in zip(answers, questions, strict=True):
        assert np.array_equal(np.array(answer), pooled(table, question)), question


BATCHES = [
    [list(pair) for pair in itertools.combinations(COLUMNS, 2)] + [["a"], ["f"]],
    [["a", "c", other] for other in "bdef"],
    [["a", "c", "e", other] for other in "bdf"] + [["a", "b", "c", "d", "e", "f"]],
]


@pytest.fixture(scope="module")
def helped(stations):
    with OneProcess(stations, helpers=["helper"]) as federation:
        return federation.run("vertical_toy", "run_tables", {"columns": list(COLUMNS), "batches": BATCHES})


@pytest.mark.audit
def test_a_search_of_three_steps_is_exact_in_eight_rounds(helped, table):
    for answers, batch in zip(helped["model"], BATCHES, strict=True):
        assert_tables(answers, table, batch)
    assert helped["federation"]["rounds"] <= 9
    functions = [entry["function"] for entry in helped["federation"]["per_round"]]
    assert functions[:6] == [
        "partial_open_channel",
        "partial_submit",
        "partial_match",
        "partial_tables",
        "partial_extend",
        "partial_tables",
    ]
    assert functions[6:].count("partial_tables") == 1


def test_states_found_in_the_data_are_said_to_be_revealed(helped):
    assert helped["states"]["a"] == ["0", "1", "2"]
    assert "a, b, c" in helped["privacy"]["reveals"]["central"]


def test_without_a_helper_the_same_tables(stations, table):
    arguments = {"columns": list(COLUMNS), "batches": BATCHES[:2], "helper": "none"}
    with OneProcess(stations) as federation:
        result = federation.run("vertical_toy", "run_tables", arguments)
    for answers, batch in zip(result["model"], BATCHES[:2], strict=True):
        assert_tables(answers, table, batch)
    assert "no two of the first three" in result["privacy"]["reveals"]["assumption"]
    asked = [entry["function"] for entry in result["federation"]["per_round"]]
    assert asked[:4] == ["partial_open_channel", "partial_submit", "partial_match", "partial_match"]
    assert asked.count("partial_match") == 2


def test_without_a_helper_a_fourth_station_only_shares(stations, table):
    extra = table[["id"]].assign(g=table["a"])
    questions = [["g", "a"], ["f", "g"], ["g", "b", "c"]]
    arguments = {"columns": ["g", "a", "f", "b", "c"], "batches": [questions], "helper": "none"}
    with OneProcess({**stations, "east": extra}) as federation:
        result = federation.run("vertical_toy", "run_tables", arguments)
    copied = table.assign(g=table["a"])
    for answer, question in zip(result["model"][0], questions, strict=True):
        counts = np.zeros(np.array(answer).shape, dtype=int)
        np.add.at(counts, tuple(copied[column].to_numpy() for column in question), 1)
        assert np.array_equal(np.array(answer), counts)


def test_noise_is_added_once_with_and_without_a_helper(stations, table):
    for helpers, helper in ((["helper"], None), ([], "none")):
        domain = {"a": {"categories": [0, 1, 2]}, "c": {"categories": [0, 1]}}
        arguments = {"columns": ["a", "c"], "batches": [[["a", "c"]]], "epsilon": 0.5, "helper": helper}
        with OneProcess(stations, helpers=helpers) as federation:
            found = federation.run("vertical_toy", "run_tables", {**arguments, "domain": domain})
        noisy = np.array(found["model"][0][0])
        assert noisy.shape == (4, 3)  # "missing" is a state, whether a value is missing or not
        difference = noisy[:3, :2] - pooled(table, ["a", "c"])
        assert np.abs(difference).max() < 150


def test_united_records_count_absent_ones_as_missing(table):
    parties = {
        "north": table[["id", "a"]].iloc[:90],
        "south": table[["id", "a", "c"]].iloc[90:],
        "west": table[["id", "c"]].iloc[:60],
    }
    domain = {"a": {"categories": [0, 1, 2]}, "c": {"categories": [0, 1]}}
    arguments = {"columns": ["a", "c"], "batches": [[["a", "c"], ["c"]]], "records": "union", "domain": domain}
    with OneProcess(parties, helpers=["helper"]) as federation:
        result = federation.run("vertical_toy", "run_tables", arguments)
    states = table["c"].where((table.index < 60) | (table.index >= 90), 2)
    expected = np.zeros((4, 3), dtype=int)
    np.add.at(expected, (table["a"].to_numpy(), states.to_numpy().astype(int)), 1)
    assert result["rows"] == PEOPLE
    assert np.array_equal(np.array(result["model"][0][0]), expected)


def test_two_stations_need_a_helper(stations):
    pair = {name: stations[name] for name in ("north", "south")}
    arguments = {"columns": ["a", "c"], "batches": [[["a", "c"]]], "helper": "none"}
    policies = {"*": {"minimum_organizations": 2}}
    with EmbeddedFederation(pair, policies=policies) as federation, pytest.raises(errors.ThresholdError, match="three"):
        federation.run("vertical_toy", "run_tables", arguments)


def test_a_changed_opening_or_order_stops_the_job(stations):
    def flip(organization, function, payload):
        if function == "partial_submit" and organization == "north":
            sealed = bytearray(payload["sealed"].encode())
            sealed[len(sealed) // 2] ^= 1
            payload = {**payload, "sealed": sealed.decode("ascii", "replace")}
        return payload

    arguments = {"columns": ["a", "c"], "batches": [[["a", "c"]]]}
    with (
        EmbeddedFederation(stations, helpers=["helper"], tamper=flip) as federation,
        pytest.raises(errors.MessageError),
    ):
        federation.run("vertical_toy", "run_tables", arguments)


def test_the_helper_gets_names_and_hashes_and_nothing_masked(stations, table):
    """Two data sets with the same answers sizes look alike to the helper, byte count by byte count."""
    sizes = []
    for seed in (1, 2):
        parties = {}
        for name, frame in stations.items():
            changed = {one: frame[one].sample(frac=1, random_state=seed).to_numpy() for one in frame.columns[1:]}
            parties[name] = frame.assign(**changed)
        with EmbeddedFederation(parties, helpers=["helper"], record=True) as federation:
            federation.run(
                "vertical_toy", "run_tables", {"columns": list("ace"), "batches": [[["a", "c"]], [["a", "c", "e"]]]}
            )
            entries = [entry for entry in federation.transcript if entry["organization"] == "helper"]
            bodies = [entry["body"] for entry in entries]
            assert all(not body["delivery"]["parcels"] for body in bodies if "delivery" in body)
            assert all(not body["delivery"]["orders"] for body in bodies if "delivery" in body)
            sizes.append([(entry["function"], len(entry["result"]["sealed"])) for entry in entries])
    assert sizes[0] == sizes[1]


def test_united_records_that_two_stations_hold_are_refused_or_with_noise_count_once(table):
    parties = {"north": table[["id", "a"]], "south": table[["id", "a", "c"]]}
    domain = {"a": {"categories": [0, 1, 2]}, "c": {"categories": [0, 1]}}
    arguments = {"columns": ["a", "c"], "batches": [[["a", "c"]]], "records": "union", "domain": domain}
    with (
        OneProcess(parties, helpers=["helper"], policies={"*": {"minimum_organizations": 2}}) as federation,
        pytest.raises(errors.ArgumentError, match="same column"),
    ):
        federation.run("vertical_toy", "run_tables", arguments)
    with OneProcess(parties, helpers=["helper"]) as federation:  # a refusal would tell about identifiers
        result = federation.run("vertical_toy", "run_tables", {**arguments, "epsilon": 20.0})
    assert result["rows"] == PEOPLE
    noisy = np.array(result["model"][0][0])  # of the later station, whose rows are left out, nothing is there
    assert np.abs(noisy[:3, :2]).max() < 5
    assert np.abs(noisy[:3, -1] - pooled(table, ("a",))).max() < 5


def test_stations_that_are_run_again_answer_the_same(stations, table):
    """A node that restarts runs its part again: masks, orders and keys must be those of the first time."""
    arguments = {"columns": list("ace"), "batches": [[["a", "c"]], [["a", "c", "e"]]]}
    with EmbeddedFederation(stations, helpers=["helper"]) as federation:

        def again(event):
            if event["event"] == "start" and "partial" in event["name"]:
                threading.Timer(0.3, federation.restart, args=["south"]).start()
                threading.Timer(0.4, federation.restart, args=["helper"]).start()

        result = federation.run("vertical_toy", "run_tables", arguments, on_progress=again)
        time.sleep(0.5)
    for answers, batch in zip(result["model"], arguments["batches"], strict=True):
        assert_tables(answers, table, batch)


@pytest.mark.few(1)
@pytest.mark.parametrize("helper", [None, "none"])
def test_columns_without_missing_values_are_narrowed_and_the_tables_stay_the_same(table, helper):
    gaps = table.assign(**{name: table[name].astype("Int64") for name in COLUMNS})
    gaps.loc[::7, "d"] = pd.NA
    parties = by_columns(gaps, SPLIT)
    domain = {name: {"categories": list(range(states))} for name, (states, _) in COLUMNS.items()}
    arguments = {
        "columns": list(COLUMNS),
        "batches": BATCHES,
        "helper": helper,
        "missing_state": True,
        "domain": domain,
    }
    with OneProcess(parties, helpers=["helper"] if helper is None else []) as federation:
        whole, narrow = (
            federation.run("vertical_toy", "run_tables", {**arguments, "narrow": flag}) for flag in (False, True)
        )
    assert narrow["model"] == whole["model"]
    assert narrow["federation"]["rounds"] == whole["federation"]["rounds"]
    assert narrow["federation"]["bytes"] < 0.8 * whole["federation"]["bytes"]
    assert "no common record lacks" in narrow["privacy"]["reveals"]["stations"]
    full = np.array(narrow["model"][1][0])
    assert full.shape == (4, 3, 3)
    assert full.sum() == PEOPLE
