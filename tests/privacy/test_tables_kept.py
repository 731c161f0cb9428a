"""A central that has a station make exact tables in a classification, whose products it may then ask for: they were kept before the refusal of the tables."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from harness.inprocess import InProcess

from fedbayes.federation.errors import AlgorithmError, MessageError
from fedbayes.federation.rounds import Federation
from fedbayes.mpc.moduli import published_modulus
from v6_secure_naive_bayes.keying import Keyring
from v6_secure_naive_bayes.messages import FactorsRequest

ROWS = 240
NOISY = 1e-5
"""An epsilon under which no count stays what it was."""
DOMAIN = {name: {"categories": ["no", "yes"]} for name in ("ill", "old", "rich", "tall")}
ASKED = {
    "label": "ill",
    "features": ["old", "rich", "tall"],
    "domain": DOMAIN,
    "records": [{"old": "yes", "rich": "no", "tall": "yes"}],
    "epsilon": NOISY,
    "modulus_bits": 2048,
}
EXACT = {"epsilon": 0.0, "whole": 0.0, "classes": False, "release": True}


def files() -> dict[str, str]:
    """Records split by columns over three stations, each of which has the label."""
    draw = np.random.default_rng(6)
    columns = {name: draw.choice(["no", "yes"], ROWS) for name in DOMAIN}
    owned = zip("abc", ("old", "rich", "tall"), strict=True)
    return {party: pd.DataFrame({n: columns[n] for n in ("ill", own)}).to_csv(index=False) for party, own in owned}


def answers_of(goes_on: bool) -> dict[str, list[Any]]:
    """Return what stations answer to a central that asks for exact tables first, which are refused, and then for noisy ones, or for products at once."""
    asking, answers = Federation._ask, dict[str, list[Any]]()

    def ask(self: Federation, name: str, request: Any, organizations: Any, *rest: Any) -> Any:
        def keep(kind: str, asked: str, changed: Any) -> Any:
            found = asking(self, asked, changed, organizations, *rest)
            answers[kind] = [found[member] for member in sorted(found)]
            return found

        if name != "partial_tables":
            return asking(self, name, request, organizations, *rest)
        keep("exact", name, {member: replace(one, **EXACT) for member, one in request.items()})
        if not goes_on:
            keep("products", "partial_factors", dict.fromkeys(organizations, product()))
        return keep("noisy", name, request)

    with mock.patch.object(Federation, "_ask", ask), InProcess("v6_secure_naive_bayes", files(), {}, "a") as running:
        for number in (1, 2, 3):
            running.limit(number, {"FEDBAYES_ALLOW_PREDICTIONS": "true"})
        with suppress(MessageError, AlgorithmError):
            running.run("classify", ASKED)
    return answers


def product() -> FactorsRequest:
    """The product of a station's counts of one value, by class: the counts themselves."""
    keyring = Keyring(published_modulus(2048), (1, 2, 3), products=True)
    return FactorsRequest(keyring.keying(1), np.ones((1, 1), dtype=np.int32), 2)


def refused(answers: list[Any], text: str) -> bool:
    return all(text in str(answer.get("error")) for answer in answers)


def test_nobody_multiplies_tables_that_were_refused() -> None:
    answers = answers_of(goes_on=False)
    assert refused(answers["exact"], "announced private answers only")
    assert refused(answers["products"], "an earlier round of this job is missing")


def test_noisy_tables_are_not_those_of_a_round_that_was_refused() -> None:
    answers = answers_of(goes_on=True)
    assert refused(answers["exact"], "announced private answers only")
    told = np.frombuffer(answers["noisy"][0]["reply"]["classes"]["data"], dtype="<i8")
    assert np.any(np.abs(told) > ROWS)  # noise of a scale of 400,000
