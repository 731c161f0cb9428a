"""A model of the researcher's own making that passes through an update under a tiny epsilon: it would come out with the seal of a fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from one_process import OneProcess
from test_honest_fraction import FILES, LABELLED

from fedbayes.federation.errors import PolicyError
from fedbayes.federation.guards import arrival

NAME = "dp_naive_bayes"
LEDGER = {"*": {"ledger": "ledger", "minimum_rows": 5}}


@pytest.fixture
def running(tmp_path: Path) -> Any:
    parties = {}
    for name, content in FILES["horizontal"](False).items():
        (tmp_path / name).mkdir()
        (tmp_path / f"{name}.csv").write_text(content)
        parties[name] = {"default": tmp_path / f"{name}.csv", "ledger": tmp_path / name}
    with OneProcess(parties, policies=LEDGER) as federation:
        yield federation


def updated(running: Any, forge: bool) -> dict[str, Any]:
    """Return a model to which noise was added, and hardly anything else; `forge`: of one that the researcher has changed."""
    model = running.run(NAME, "fit", {**LABELLED, "epsilon": 1.0})["model"]
    if forge:
        model = {**model, "class_counts": [1e6 for _ in model["class_counts"]]}
    return dict(running.run(NAME, "update", {"model": model, "epsilon": 0.1})["model"])


def test_what_is_made_of_a_foreign_model_has_no_seal(running: Any) -> None:
    model = updated(running, forge=True)
    assert "seal" not in model
    with pytest.raises(PolicyError, match="models that a fit of this federation made"):
        running.run(NAME, "evaluate", {"model": model})


def test_what_is_made_of_a_fit_has_one(running: Any) -> None:
    model = updated(running, forge=False)
    assert running.run(NAME, "evaluate", {"model": model})["n"] > 0


def test_control_unchecked_a_foreign_model_has_one(running: Any) -> None:
    with mock.patch.object(arrival, "are_own", return_value=True):
        model = updated(running, forge=True)
    assert running.run(NAME, "evaluate", {"model": model})["n"] > 0
