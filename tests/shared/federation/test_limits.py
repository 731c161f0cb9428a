"""A result tells the limits that held at the nodes, who had data, and why every part of a reply left: as stations said so in the rounds that ran."""

from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd
import pytest
from party_kit import with_folders

from fedbayes.federation.embedded import EmbeddedFederation
from fedbayes.federation.errors import MessageError
from fedbayes.federation.gate import is_public
from fedbayes.federation.node import limits
from fedbayes.federation.node.policy import Policy

SET = Policy(
    minimum_rows=7,
    maximum_epsilon=1.5,
    maximum_queries=12,
    ledger="ledger",
    budget_epsilon=3.0,
    budget_days=0.1 + 0.2,
    denied_columns=("secret name",),
    pinned_keys={"secret peer": "00"},
    allow_non_private=False,
)
DOMAIN = {"label": {"categories": ["no", "yes"]}, "age": {"bounds": [0, 100]}}


def test_every_limit_is_told_or_deliberately_not() -> None:
    left_out = {field.name for field in fields(Policy)} - {*limits.TOLD, *limits.WHETHER}
    # A result's `without_lasting_key` tells what the first led to; how a file is written limits nothing.
    assert left_out == {"long_term_key", "csv_separator", "csv_decimal"}


def test_what_is_told_is_public_and_read_back_exactly() -> None:
    told = limits.as_public(SET)
    assert is_public(told)
    assert "secret" not in str(told)
    read = limits.read(told)
    assert {name: read[name] for name in limits.TOLD} == {name: getattr(SET, name) for name in limits.TOLD}
    assert read["denied_columns"] is True
    assert read["allowed_columns"] is False
    assert read["pinned_keys"] is True


@pytest.mark.parametrize(
    "change",
    [
        {"minimum_rows": None},
        {"minimum_rows": True},
        {"minimum_rows": "7"},
        {"maximum_epsilon": 1.5},
        {"maximum_epsilon": "nan"},
        {"maximum_epsilon": "inf"},
        {"maximum_epsilon": "much"},
        {"allow_non_private": "no"},
        {"ledger": None},
        {"something": 1},
    ],
)
def test_limits_of_another_form_stop_the_job(change: dict[str, Any]) -> None:
    with pytest.raises(MessageError, match="limit"):
        limits.read({**limits.as_public(SET), **change})
    with pytest.raises(MessageError, match="limits"):
        limits.read({name: value for name, value in limits.as_public(SET).items() if name != "minimum_rows"})


def test_a_result_tells_limits_roles_and_why_replies_left(tmp_path: Any) -> None:
    random = np.random.default_rng(3)
    tables = {
        name: pd.DataFrame({"label": random.choice(["no", "yes"], 40), "age": random.integers(0, 100, 40)})
        for name in "abc"
    }
    parties = with_folders(tables, tmp_path, "ledger")
    policies = {name: {"ledger": "ledger", "budget_epsilon": 5.0} for name in "ac"}
    policies["b"] = {"ledger": "ledger", "minimum_rows": 33}
    asked = {"label": "label", "domain": DOMAIN, "epsilon": 1.0}
    with EmbeddedFederation(parties, helpers=["helper"], policies=policies) as federation:
        masked = federation.run("dp_naive_bayes", "fit", asked)["federation"]
        noisy = federation.run("dp_naive_bayes", "fit", {**asked, "noise": "local"})["federation"]
    nodes = masked["nodes"]
    assert {name: node["role"] for name, node in nodes.items()} == {
        **dict.fromkeys("abc", "station"),
        "helper": "helper",
    }
    assert nodes["a"]["limits"]["budget_epsilon"] == 5.0
    assert nodes["b"]["limits"]["budget_epsilon"] is None
    assert nodes["b"]["limits"]["minimum_rows"] == 33
    assert nodes["a"]["limits"]["minimum_rows"] == 10
    assert nodes["a"]["limits"]["ledger"] is True
    assert nodes["helper"]["limits"]["ledger"] is False
    assert [entry["reply"] for entry in masked["per_round"]][1:] == [{"vector": "Masked"}]
    assert [entry["reply"] for entry in noisy["per_round"]][1:] == [{"vector": "Released"}]
    assert masked["per_round"][0]["reply"]["policy"] == "Public"
