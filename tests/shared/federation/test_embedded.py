"""The embedded federation has the platform's manners: processes, JSON, failures, repeats."""

import json
import os
import sqlite3
import threading
import time
from dataclasses import fields
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from mock_kit import run_mocked

from fedbayes.client.result import Result
from fedbayes.federation import errors
from fedbayes.federation.embedded import EmbeddedFederation, RunFailed
from fedbayes.federation.embedded import federation as embedded_federation
from fedbayes.federation.embedded import host as host_process
from fedbayes.federation.embedded.given import task_of
from fedbayes.federation.embedded.parties import Tables
from fedbayes.federation.embedded.processes import Processes
from fedbayes.federation.embedded.remedies import NO_COHORT, NO_HELPER, NO_LEDGER, OPENING, with_remedy
from fedbayes.federation.messages.codec import fields_of
from fedbayes.federation.node.policy import PREFIX, Policy
from fedbayes.federation.perimeter.envelope import Request

LEDGER = {"*": {"ledger": "ledger", "budget_epsilon": 3}}


def entries(party):
    from fedbayes.dp.ledger import Ledger

    path = party["ledger"] / "fedbayes-ledger.sqlite3"
    return Ledger(path).entries() if path.exists() else []


def test_a_secure_sum_is_exact_and_counts_its_rounds(files):
    with EmbeddedFederation(files, helpers=["helper"]) as federation:
        result = federation.run("toy", "run_sum", {"column": "x"})
    assert result["model"] == {"n": 60, "sum": 3 * 190}
    assert result["federation"]["rounds"] == 2
    assert result["federation"]["organizations"] == ["east", "south", "west", "helper"]
    assert result["federation"]["bytes"] > 0
    assert [entry["function"] for entry in result["federation"]["per_round"]] == ["partial_open_channel", "partial_sum"]


def test_what_central_receives_of_one_station_is_not_its_answer(files):
    with EmbeddedFederation(files, record=True) as federation:
        federation.run("toy", "run_sum", {"column": "x"})
        replies = [entry["result"] for entry in federation.transcript if entry["function"] == "partial_sum"]
    assert len(replies) == 3
    for reply in replies:
        assert set(reply) == {"organization", "public_key", "sealed", "filed"}
        assert reply["sealed"]
        assert not reply["filed"]


def test_sealed_letters_arrive_and_are_bound_to_their_sender(files):
    with EmbeddedFederation(files) as federation:
        letters = federation.run("toy", "run_relay")["model"]
        assert letters["1"] == {"2": "from 2", "3": "from 3"}
        with pytest.raises(errors.MessageError, match="changed, or is of another job"):
            federation.run("toy", "run_relay", {"swap": True})


@pytest.mark.parametrize("manner", ["raise", "exit"])
def test_a_station_that_fails_is_named_and_tells_no_data(files, manner):
    with EmbeddedFederation(files) as federation, pytest.raises(errors.StationError) as caught:
        federation.run("toy", "run_fail", {"manner": manner})
    assert "south" in str(caught.value)
    assert "42" not in str(caught.value)


def test_a_silent_station_ends_the_job_in_time(files, monkeypatch):
    monkeypatch.setattr(embedded_federation, "SETTLE_SECONDS", 0.2)  # it sleeps on for half a minute
    with EmbeddedFederation(files) as federation, pytest.raises(errors.StationError, match="no answer in time"):
        federation.run("toy", "run_fail", {"manner": "sleep", "timeout": 1.0})


def test_a_station_that_is_restarted_in_mid_round_releases_once(files, tmp_path):
    (tmp_path / "hold-2").touch()
    with EmbeddedFederation(files, policies=LEDGER) as federation:
        done = {}
        job = threading.Thread(target=lambda: done.update(federation.run("toy", "run_draw", {"folder": str(tmp_path)})))
        job.start()
        while not (tmp_path / "hold-2.seen").exists():
            time.sleep(0.02)
        assert federation.restart("south") == 1
        job.join(60)
    assert set(done["model"]) - {"seal"} == {"1", "2", "3"}
    assert [len(entries(party)) for party in files.values()] == [1, 1, 1]


def test_the_same_request_gets_the_same_bytes_and_one_debit(files, tmp_path):
    with EmbeddedFederation(files, policies=LEDGER, record=True) as federation:
        first = federation.run("toy", "run_draw", {"folder": str(tmp_path)})
        request = next(entry for entry in federation.transcript if entry["function"] == "partial_draw")["input"]
        again = federation.run("toy", "run_draw", {"folder": str(tmp_path)})
    assert all(first["model"][key] != again["model"][key] for key in "123"), "another job draws anew"
    assert request["kwargs"]["message"]["session"]
    assert [len(entries(party)) for party in files.values()] == [2, 2, 2]


def test_the_ledger_refuses_when_its_budget_is_used_up(files, tmp_path):
    with EmbeddedFederation(files, policies=LEDGER) as federation:
        for _ in range(3):
            federation.run("toy", "run_draw", {"folder": str(tmp_path)})
        with pytest.raises(errors.BudgetError, match="left"):
            federation.run("toy", "run_draw", {"folder": str(tmp_path)})
    assert [len(entries(party)) for party in files.values()] == [3, 3, 3]


def test_a_flipped_bit_in_a_reply_stops_the_job(files):
    def flip(organization, function, payload):
        if organization == "west" and function == "partial_sum":
            text = payload["sealed"]
            payload = {**payload, "sealed": text[:20] + ("A" if text[20] != "A" else "B") + text[21:]}
        return payload

    with EmbeddedFederation(files, tamper=flip) as federation, pytest.raises(errors.MessageError, match="changed"):
        federation.run("toy", "run_sum", {"column": "x"})


def test_a_reply_of_another_job_is_refused(files):
    kept = {}

    def replay(organization, function, payload):
        if function == "partial_sum" and organization == "west":
            return kept.setdefault("first", payload)
        return payload

    with EmbeddedFederation(files, tamper=replay) as federation:
        assert federation.run("toy", "run_sum", {"column": "x"})["model"]["n"] == 60
        with pytest.raises(errors.MessageError):
            federation.run("toy", "run_sum", {"column": "x"})


def test_two_different_requests_under_the_name_of_one_round_are_refused(files):
    with EmbeddedFederation(files) as federation:
        same = federation.run("toy", "run_two_under_one_name", {"columns": ["x", "x"]})
        with pytest.raises(errors.MessageError, match="another request"):
            federation.run("toy", "run_two_under_one_name", {"columns": ["x", "y"]})
    assert same["model"][0] == same["model"][1]


def test_survivors_are_asked_once_more_and_the_result_says_so(files):
    policies = {"*": {"minimum_organizations": 2}, "south": {"denied_columns": ["x"]}}
    with EmbeddedFederation(files, policies=policies) as federation:
        result = federation.run("toy", "run_sum", {"column": "x", "survivors": True})
        assert result["model"]["n"] == 40
        assert result["warnings"] == ["repeated once without: south"]
        with pytest.raises(errors.PolicyError, match="south: column 'x'"):
            federation.run("toy", "run_sum", {"column": "x"})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "needs the argument 'column'"),
        ({"column": "x", "columm": 1}, "no argument 'columm'"),
        ({"column": "z"}, "column 'z' is not in"),
        ({"column": "x", "organizations": ["north"]}, "no organization of this collaboration"),
        ({"column": "x", "organizations": [1, "east"]}, "twice"),
        ({"column": "x", "organizations": ["east", "west"]}, "fewer organizations"),
    ],
)
def test_wrong_arguments_are_refused_by_name(files, arguments, message):
    with EmbeddedFederation(files) as federation, pytest.raises(errors.AlgorithmError, match=message):
        federation.run("toy", "run_sum", arguments)


def test_mock_arguments_are_refused_in_a_container(files):
    with EmbeddedFederation(files) as federation:
        with pytest.raises(errors.PolicyError, match="mock_client"):
            federation.run("toy", "run_sum", {"column": "x", "mock_client": 1})
        with pytest.raises(errors.AlgorithmError, match="mock_data"):
            federation.run("toy", "partial_sum", {"message": {}, "mock_data": [1]})


@pytest.mark.parametrize("function", ["partial_sum", "partial_open_channel", "partial_close", "partial_relay"])
def test_a_partial_answers_no_researcher(files, function):
    refused = pytest.raises(errors.PolicyError, match="answers only the central function of the same image")
    with EmbeddedFederation(files) as federation, refused:
        federation.run("toy", function, {"message": {"protocol": "fedbayes/2"}})


def test_functions_that_are_not_there_fail(files):
    with EmbeddedFederation(files) as federation:
        with pytest.raises(errors.ArgumentError, match="toy has no function 'no_such_function'; it has: "):
            federation.run("toy", "no_such_function")
        with pytest.raises(errors.ArgumentError, match=r"no function 'preflght' \(did you mean 'preflight'\?\)"):
            federation.run("toy", "preflght")
        for name in ("fedbayes", "json", "no such"):
            with pytest.raises(errors.ArgumentError, match="is not installed"):
                federation.run(name, "fit")
        with pytest.raises(
            errors.ArgumentError, match=r"\(did you mean 'dp_naive_bayes'\?\); `fedbayes algorithms` lists"
        ):
            federation.run("dp_naive_bays", "fit")


def test_limits_that_nobody_states_are_those_of_a_node(files, monkeypatch):
    for variable in [name for name in os.environ if name.startswith(PREFIX)]:
        monkeypatch.delenv(variable)
    with EmbeddedFederation(files, helpers=["helper"]) as federation:
        for organization in (*files, "helper"):
            told = federation.run("toy", "disclosure_settings", organization=organization)["settings"]
            # `to_dict` has every limit; a node's policy is what its environment states.
            assert told == json.loads(json.dumps(Policy.from_environment({}).to_dict()))
            assert set(told) == {field.name for field in fields(Policy)}


def test_a_federation_says_who_takes_part(files):
    with EmbeddedFederation(files, helpers=["helper"]) as federation:
        assert repr(federation) == f"EmbeddedFederation(parties: {', '.join(files)}; helpers: helper)"
    assert repr(federation).endswith("; closed)")


@pytest.mark.parametrize("name", OPENING)
def test_a_refusal_tells_the_caller_what_to_pass(name):
    told = str(with_remedy(errors.PolicyError(f"ask the node administrator to set {PREFIX}{name.upper()}")))
    assert f"--policy {name}=true" in told
    assert f'policies={{"*": {{"{name}": True}}}}' in told
    plain = errors.PolicyError("column 'x' may not be used at this node (denied_columns)")
    assert with_remedy(plain) is plain
    other = errors.ArgumentError(f"{PREFIX}{name.upper()}")
    assert with_remedy(other) is other
    with pytest.raises(errors.PolicyError) as refusal:
        Policy.from_environment({f"{PREFIX}BUDGET_EPSILON": "1"})
    assert "--party NAME:ledger=FOLDER --policy ledger=ledger" in str(with_remedy(refusal.value))


@pytest.mark.parametrize(
    ("error", "remedies"),
    [
        (errors.ArgumentError(f"helper: {NO_HELPER}"), ["--helper NAME", 'helpers=["NAME"]']),
        (errors.PolicyError(f"this node {NO_COHORT}"), ["--policy NAME:cohort=TABLE", '{"NAME": {"cohort": "TABLE"}}']),
        (errors.PolicyError(f"FEDBAYES_COHORT names a file, but {NO_LEDGER[1]}"), ["--party NAME:ledger=FOLDER"]),
    ],
)
def test_what_is_missing_is_told_in_words_of_the_command_and_of_python(error, remedies):
    told = str(with_remedy(error))
    assert all(remedy in told for remedy in remedies)


def test_the_words_of_remedies_are_those_of_the_refusals(tmp_path):
    """A refusal that is reworded would lose its remedy."""
    frames = {name: pd.DataFrame({"id": range(40), name: [0, 1] * 20}) for name in "abc"}
    asked = {"columns": ["a", "b"], "id_column": "id"}
    with EmbeddedFederation(frames) as federation, pytest.raises(errors.ArgumentError, match=r'helpers=\["NAME"\]'):
        federation.run("scalar_product", "scalar_product", asked)
    file = tmp_path / "a.sqlite"
    with sqlite3.connect(file) as connection:
        frames["a"].to_sql("study", connection, index=False)
    connection.close()
    asked = {"label": "a", "epsilon": 1, "domain": {"a": {"categories": ["0", "1"]}, "id": {"bounds": [0, 40]}}}
    for limits, remedy in [({}, "NAME:cohort=TABLE"), ({"cohort": "study.sql"}, "NAME:ledger=FOLDER")]:
        with (
            EmbeddedFederation(dict.fromkeys("abc", file), policies={"*": limits}) as federation,
            pytest.raises(errors.PolicyError, match=remedy),
        ):
            federation.run("dp_naive_bayes", "fit", asked)


def test_an_address_is_for_nodes():
    with pytest.raises(errors.ArgumentError, match="which only a node reads") as caught:
        EmbeddedFederation({"a": "postgresql://user:word@host/base"})
    assert "word@" not in str(caught.value)


def test_a_dictionary_may_be_its_file(tmp_path):
    (tmp_path / "d.yaml").write_text("columns:\n  x: {type: number, bounds: [0, 9]}\n")
    for file in (tmp_path / "d.yaml", str(tmp_path / "d.yaml")):
        told = task_of("dp_naive_bayes", "describe", {"dictionary": file})
        assert told["dictionary"]["columns"]["x"]["bounds"] == [0, 9]
    with pytest.raises(Exception, match=r"none\.yaml"):
        task_of("dp_naive_bayes", "describe", {"dictionary": tmp_path / "none.yaml"})


def test_a_file_in_the_place_of_a_model_is_refused_by_name():
    for file in ("m.json", Path("m.json")):
        with pytest.raises(errors.ArgumentError, match=r"--model FILE, or model=fedbayes\.load"):
            task_of("dp_naive_bayes", "evaluate", {"model": file})


def test_every_limit_is_told(files):
    with EmbeddedFederation(files, policies={"east": {"minimum_rows": 7, "denied_columns": ["a", "b"]}}) as federation:
        told = federation.run("toy", "disclosure_settings")
    assert told["settings"]["minimum_rows"] == 7
    assert told["settings"]["denied_columns"] == ["a", "b"]
    assert told["variables"]["minimum_rows"] == "FEDBAYES_MINIMUM_ROWS"


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("setting", "kind", "message"),
    [
        ({"minimum_rows": 21}, errors.ThresholdError, "fewer rows"),
        ({"allowed_columns": ["y"]}, errors.PolicyError, "may not be used"),
        ({"allowed_functions": ["run_relay"]}, errors.PolicyError, "not allowed"),
        ({"maximum_epsilon": 0.4}, errors.PolicyError, "epsilon is above"),
        ({"minimum_organizations": 4}, errors.ThresholdError, "fewer organizations"),
        ({"minimum_rows": "many"}, errors.PolicyError, "FEDBAYES_MINIMUM_ROWS cannot be read"),
        ({"budget_epsilon": 1}, errors.PolicyError, "no FEDBAYES_LEDGER"),
    ],
)
def test_limits_of_one_node_hold(files, setting, kind, message):
    with EmbeddedFederation(files, policies={"south": setting}) as federation, pytest.raises(kind, match=message):
        federation.run("toy", "run_sum", {"column": "x"})


def test_a_column_that_is_there_twice_is_refused_and_slips_past_no_limit(files):
    """pandas would name the second one y.1, which no list of denied columns holds."""
    for party in files.values():
        party["default"].write_text(party["default"].read_text().replace("x,y", "y,y", 1))
    refusal = pytest.raises(errors.DataProblem, match="column 'y' is twice in its table")
    with EmbeddedFederation(files, policies={"*": {"denied_columns": ["y"]}}) as federation, refusal:
        federation.run("toy", "run_sum", {"column": "y.1"})


def test_an_interrupted_job_leaves_no_process(files):
    with EmbeddedFederation(files) as federation:
        with pytest.raises(RunFailed, match="in time"):
            federation.run("toy", "run_fail", {"manner": "sleep"}, timeout=1.5)
        deadline = time.monotonic() + 10
        while federation.kill() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert federation.kill() == 0


def test_a_host_resolves_the_types_of_messages_before_its_runs():
    """Else each run would resolve again those that it reads."""
    fields_of.cache_clear()
    host_process._read_types()
    before = fields_of.cache_info().misses
    assert "manifest" in fields_of(Request)
    assert fields_of.cache_info().misses == before


def test_a_run_whose_folder_is_gone_ends_without_a_word(tmp_path, capfd):
    """As after an interruption: the folders are removed while the host still starts a run."""
    host, code, over = Processes(), [], threading.Event()
    gone = str(tmp_path / "gone")
    host.start("json", {}, gone, f"{gone}/log", lambda number: (code.append(number), over.set()))
    assert over.wait(60.0)
    host.close()
    assert code == [1]
    assert capfd.readouterr() == ("", "")


def test_it_runs_under_the_mock_client_of_vantage6():
    result = run_mocked("toy", "run_sum", [pd.DataFrame({"x": np.arange(12)})] * 3, column="x")
    assert result["model"] == {"n": 36, "sum": 3 * 66}


@pytest.mark.parametrize("party", ["missing.csv", "notes.txt"])
def test_a_wrong_file_is_refused_by_the_name_of_its_party(tmp_path, party):
    (tmp_path / "notes.txt").touch()
    with pytest.raises(errors.ArgumentError, match="east"):
        EmbeddedFederation({"east": tmp_path / party})


LASTING = {"ledger": "ledger", "long_term_key": True}


def fingerprints(files):
    with EmbeddedFederation(files, policies={"*": LASTING}) as federation:
        told = {name: federation.run("toy", "disclosure_settings", organization=name) for name in files}
    return {name: settings["fingerprint"] for name, settings in told.items()}


def test_cells_of_bytes_in_a_frame_are_texts(tmp_path):
    cells = ["Zürich".encode(), b"1", None, "x"]
    frame = pd.DataFrame({"c": cells, "n": range(4), "k": pd.Categorical([b"u", b"v", b"u", None])})
    written = pd.read_csv(Tables("north", frame, tmp_path).paths["default"], keep_default_na=False)
    assert written["c"].tolist() == ["Zürich", "1", "", "x"]
    assert written["k"].tolist() == ["u", "v", "u", ""]
    assert frame["c"].tolist() == cells
    with pytest.raises(errors.ArgumentError, match="frame of party 'north' has bytes in column 'c' that are no text"):
        Tables("north", pd.DataFrame({"c": [b"\xff"]}), tmp_path)


def test_pinned_lasting_keys_let_a_job_run_and_stay_the_same(files):
    pins = fingerprints(files)
    assert pins == fingerprints(files)
    policies = {"*": LASTING, "east": {"pinned_keys": {"south": pins["south"], "3": pins["west"]}}}
    with EmbeddedFederation(files, policies=policies) as federation:
        assert federation.run("toy", "run_sum", {"column": "x"})["model"]["n"] == 60
        assert federation.run("toy", "run_relay")["model"]["1"]["2"] == "from 2"


@pytest.mark.parametrize("manner", ["missing", "other", "swapped", "no key"])
def test_a_member_that_is_not_pinned_ends_the_job(files, manner):
    pins = fingerprints(files)
    pinned = {"south": pins["south"], "west": pins["west"]}
    if manner == "missing":
        del pinned["west"]
    if manner == "other":
        pinned["west"] = "0" * 64
    if manner == "swapped":
        pinned = {"south": pins["west"], "west": pins["south"]}
    west = {"long_term_key": False} if manner == "no key" else {}
    policies = {"*": LASTING, "west": west, "east": {"pinned_keys": pinned}}
    with (
        EmbeddedFederation(files, policies=policies) as federation,
        pytest.raises(errors.PolicyError, match=r"(west|south) has no lasting key, or one that"),
    ):
        federation.run("toy", "run_sum", {"column": "x"})


def test_a_secure_sum_of_one_station_is_refused(files):
    alone = {"east": files["east"]}
    told = pytest.raises(errors.ThresholdError, match="too few organizations for a secure sum")
    with EmbeddedFederation(alone, policies={"*": {"minimum_organizations": 1}}) as federation, told:
        federation.run("toy", "run_sum", {"column": "x"})


FRAME = pd.DataFrame({"x": [1, 2], "y": ["a", "b"]})


@pytest.mark.parametrize(
    ("parties", "options", "told"),
    [
        ([FRAME, FRAME], {}, "parties must map names"),
        (FRAME, {}, "parties must map names"),
        (None, {}, "parties must map names"),
        ({}, {}, "at least one party"),
        ({1: FRAME}, {}, "must be texts"),
        ({"a": FRAME}, {"helpers": "notary"}, "helpers must be a list"),
        ({"a": FRAME}, {"helpers": 3}, "helpers must be a list"),
        ({"a": FRAME}, {"helpers": ["a"]}, "distinct names"),
        ({"a": FRAME["x"]}, {}, "a file's path or a data frame"),
        ({"a": 3}, {}, "a file's path or a data frame"),
        ({"a": pd.concat([FRAME, FRAME], axis=1)}, {}, "two columns named 'x'"),
        ({"a": FRAME.set_axis([0, "y"], axis=1)}, {}, "name is no text"),
        ({"a": FRAME.assign(codes=[["I21"], ["I25"]])}, {}, "lists or mappings in column 'codes'"),
        ({"a": FRAME.assign(codes=[{"I21": 1}, {}])}, {}, "lists or mappings in column 'codes'"),
        ({"a": FRAME.assign(note=["\ud800", "x"])}, {}, "column 'note' that UTF-8 does not have"),
        ({"a": FRAME}, {"policies": {"minimum_rows": 3}}, '"\\*" for all'),
        ({"a": FRAME}, {"policies": "minimum_rows=3"}, "policies must map"),
    ],
)
def test_what_is_given_is_checked_by_name(parties, options, told):
    with pytest.raises(errors.ArgumentError, match=told):
        EmbeddedFederation(parties, **options)


def test_a_task_is_checked_before_it_starts(files):
    federation = EmbeddedFederation(files)
    for task, told in (
        ((None, "fit"), "must be texts"),
        (("toy", 3), "must be texts"),
        (("toy", "fit", [1]), "arguments must map"),
        (("toy", "fit", "column=x"), "arguments must map"),
        (("toy", "fit", {"column": {"x"}}), "'column' has no JSON form"),
        (("toy", "fit", {"column": 1j}), "'column' has no JSON form"),
    ):
        with pytest.raises(errors.ArgumentError, match=told):
            federation.run(*task)
    federation.close()
    federation.close()
    with pytest.raises(errors.ArgumentError, match="is closed"):
        federation.run("toy", "total")


def test_arguments_may_be_arrays_and_a_model_a_whole_result():
    arguments = {
        "a": np.array([1.5, 2]),
        "b": np.int64(3),
        "c": pd.Index(["x"]),
        "d": ("y",),
        "e": {"f": np.float64("nan")},
    }
    plain = task_of("toy", "fit", {**arguments, "model": Result(model={"x": 1}, privacy={})})
    assert np.isnan(plain["e"].pop("f"))
    assert plain == {"a": [1.5, 2.0], "b": 3, "c": ["x"], "d": ["y"], "e": {}, "model": {"x": 1}}
