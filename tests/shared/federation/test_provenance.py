"""Every result tells when and what was computed, with which arguments and versions, and among whom."""

import json
from datetime import datetime, timedelta, timezone

import pytest

from fedbayes import __version__
from fedbayes.federation.results import LONGEST_ARGUMENT, provenance

NAMES = {"date", "algorithm", "function", "arguments", "versions", "parties"}


def test_provenance_has_all_parts_and_the_date_is_now_in_utc():
    told = provenance("v6_dp_naive_bayes", "fit", {"epsilon": 1}, ["a", "b"])
    assert set(told) == NAMES
    assert (told["algorithm"], told["function"], told["parties"]) == ("dp_naive_bayes", "fit", ["a", "b"])
    assert abs(datetime.fromisoformat(told["date"]) - datetime.now(timezone.utc)) < timedelta(seconds=5)
    assert told["versions"]["fedbayes"] == __version__
    assert "v6_dp_naive_bayes" in told["versions"]


@pytest.mark.parametrize("name", ["password", "api_token", "private_key", "PassPhrase"])
def test_secrets_are_not_repeated_at_any_depth(name):
    told = provenance("x", "f", {name: "hunter2", "options": {name: "hunter2", "kept": 1}}, [])
    assert "hunter2" not in json.dumps(told)
    assert told["arguments"]["options"]["kept"] == 1


def test_secrets_in_lists_are_not_repeated():
    told = provenance("x", "f", {"servers": [{"password": "hunter2", "name": "a"}]}, [])
    assert "hunter2" not in json.dumps(told)
    assert told["arguments"]["servers"][0]["name"] == "a"


def test_what_is_too_long_is_replaced_by_its_digest():
    told = provenance("x", "f", {"model": "a" * (LONGEST_ARGUMENT + 1), "label": "y"}, [])
    assert told["arguments"]["model"]["omitted"] == "too long"
    assert len(told["arguments"]["model"]["sha256"]) == 64
    assert told["arguments"]["label"] == "y"


def test_names_of_arguments_that_exist_are_not_taken_for_secrets():
    from fedbayes.client.running.catalogue import installed

    names = {
        argument.partition("=")[0]
        for algorithm in installed()
        for function in algorithm.functions
        for argument in function.arguments
    }
    told = provenance("x", "f", dict.fromkeys(names, 1), [])
    assert set(told["arguments"].values()) == {1}
