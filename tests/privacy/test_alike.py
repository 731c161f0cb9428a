"""A central that asks one station for something else than the others: masks are bound to what is asked, so that no station's own numbers come out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest import mock

import pandas as pd
import pytest
from harness.inprocess import InProcess

from fedbayes.federation.errors import MessageError
from fedbayes.federation.rounds import Federation

VICTIM = 1
COUNTS = {"f": 41, "m": 17}
DOMAIN = {"sex": {"categories": ["f", "m"]}}
ELSEWHERE = {"nowhere": {"categories": ["f", "m"]}}


def files() -> dict[str, str]:
    """The victim's table, and two others' with as many rows."""
    victim = pd.DataFrame({"sex": [sex for sex, count in COUNTS.items() for _ in range(count)]})
    tables = {"a": victim, "b": victim.replace({"m": "f"}), "c": victim.replace({"f": "m"})}
    return {name: table.to_csv(index=False) for name, table in tables.items()}


def ask(others: Callable[[Any], Any]) -> Any:
    """Describe a column, with another request to everybody but the victim."""
    asking = Federation._ask

    def asked(self: Federation, function: str, request: Any, organizations: Any, *rest: Any) -> Any:
        if function == "partial_describe":
            other = others(request)
            request = {member: request if member == VICTIM else other for member in organizations}
        return asking(self, function, request, organizations, *rest)

    with mock.patch.object(Federation, "_ask", asked), InProcess("v6_dp_naive_bayes", files(), {}, "a") as running:
        return running.run("describe", {"domain": DOMAIN})


def test_a_column_that_the_others_lack_does_not_bare_one_stations_counts() -> None:
    with pytest.raises(MessageError, match="do not fit"):
        ask(lambda request: replace(request, domain=ELSEWHERE))


def test_control_the_same_request_to_all_is_answered() -> None:
    counts = ask(lambda request: request)["model"]["columns"]["sex"]["categories"]["counts"]
    assert sum(counts) == 3 * sum(COUNTS.values())
