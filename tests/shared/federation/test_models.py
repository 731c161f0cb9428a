"""Exact answers about a model need the seal of a fit of the same federation."""

from __future__ import annotations

import copy
import json

import pytest
from one_process import OneProcess

from fedbayes.federation import errors

LEDGER = {"*": {"ledger": "ledger"}}


def test_a_model_of_a_fit_is_accepted_and_a_changed_one_is_not(files):
    with OneProcess(files, policies=LEDGER) as federation:
        model = json.loads(json.dumps(federation.run("toy", "run_fit", {"column": "x"})["model"]))
        assert set(model["seal"]["tokens"]) == {"1", "2", "3"}
        score = federation.run("toy", "run_score", {"column": "x", "model": model})["score"]
        assert score == 570 - 60 * 9
        for change in (
            lambda m: m.update(mean=10),
            lambda m: m.pop("seal"),
            lambda m: m["seal"].update(algorithm="v6_other"),
            lambda m: m["seal"]["tokens"].update({"2": "0" * 64}),
            lambda m: m["seal"]["tokens"].clear(),
            lambda m: m["seal"].update(manifest="0" * 64),
        ):
            forged = copy.deepcopy(model)
            change(forged)
            with pytest.raises(errors.PolicyError, match="models that a fit of this federation made"):
                federation.run("toy", "run_score", {"column": "x", "model": forged})
        with pytest.raises(errors.ArgumentError, match="seal is malformed"):
            federation.run("toy", "run_score", {"column": "x", "model": {"mean": 9, "seal": 3}})


def test_a_seal_survives_a_restart_and_is_of_its_federation(files, tmp_path):
    with OneProcess(files, policies=LEDGER) as federation:
        model = federation.run("toy", "run_fit", {"column": "x"})["model"]
    with OneProcess(files, policies=LEDGER) as federation:
        federation.run("toy", "run_score", {"column": "x", "model": model})
    others = {}
    for name, party in files.items():
        folder = tmp_path / f"{name}-other"
        folder.mkdir()
        others[name] = {**party, "ledger": folder}
    with (
        OneProcess(others, policies=LEDGER) as federation,
        pytest.raises(errors.PolicyError, match="models that a fit"),
    ):
        federation.run("toy", "run_score", {"column": "x", "model": model})


@pytest.mark.parametrize("policies", [{}, {"*": {"ledger": "ledger", "allow_foreign_models": True}}])
def test_a_foreign_model_is_accepted_where_the_administrator_lets_it_or_nobody_can_know(files, policies):
    with OneProcess(files, policies=policies) as federation:
        result = federation.run("toy", "run_score", {"column": "x", "model": {"mean": 9}})
    assert result["score"] == 30


def test_a_model_passes_where_the_answer_is_noisy(files):
    with OneProcess(files, policies=LEDGER) as federation:
        result = federation.run("toy", "run_score", {"column": "x", "model": {"mean": 9}, "noisy": True})
    assert isinstance(result["score"], int | float)
