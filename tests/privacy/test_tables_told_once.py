"""A central that has class counts, or a column's table, told by two stations of records that are split by columns: each is paid for by another ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from harness.inprocess import InProcess

from fedbayes.federation.errors import AlgorithmError, MessageError
from fedbayes.federation.rounds import Federation
from v6_secure_naive_bayes import partial, vertical

ROWS, EPSILON = 240, 1.0
FEATURES = ["old", "rich", "tall", "tired"]
ASKED = {
    "label": "ill",
    "features": FEATURES,
    "domain": {name: {"categories": ["no", "yes"]} for name in ("ill", *FEATURES)},
    "records": [{"old": "yes", "rich": "no", "tall": "yes"}],
    "epsilon": EPSILON,
    "modulus_bits": 2048,
}
FIT = {name: ASKED[name] for name in ("label", "features", "domain", "epsilon")} | {"split": "vertical"}
Asking = Callable[[str, Any, Any], Any]


@contextmanager
def running(also: dict[str, list[str]] | None = None) -> Iterator[InProcess]:
    """Four stations with the label and a feature each, and `also` others by station, that let records be classified by two organizations."""
    draw = np.random.default_rng(6)
    columns = {name: draw.choice(["no", "yes"], ROWS) for name in ("ill", *FEATURES)}
    files = {
        party: pd.DataFrame({name: columns[name] for name in ("ill", own, *(also or {}).get(party, []))})
        for party, own in zip("abcd", FEATURES, strict=True)
    }
    with InProcess(
        "v6_secure_naive_bayes", {name: one.to_csv(index=False) for name, one in files.items()}, {}, "a"
    ) as federation:
        for number in (1, 2, 3, 4):
            limits = {"FEDBAYES_ALLOW_PREDICTIONS": "true", "FEDBAYES_MINIMUM_ORGANIZATIONS": "2"}
            federation.limit(number, limits)
        yield federation


def answers_of(
    function: str, name: str, deviate: Callable[[Asking, Any], None], also: dict[str, list[str]] | None = None
) -> list[Any]:
    """Return what stations answer in a round, where central asks it as `deviate` does and stops then."""
    asking, answers = Federation._ask, list[Any]()

    def ask(self: Federation, asked: str, request: Any, organizations: Any, *rest: Any) -> Any:
        def kept(changed_name: str, changed: Any, among: Any) -> Any:
            found = asking(self, changed_name, changed, among, *rest)
            if changed_name == "partial_tables":
                answers.extend(found[member] for member in sorted(found))
            return found

        if asked != name:
            return kept(asked, request, organizations)
        deviate(kept, request)
        raise MessageError("central has what it wants")

    with (
        mock.patch.object(Federation, "_ask", ask),
        running(also) as federation,
        suppress(MessageError, AlgorithmError),
    ):
        federation.run(function, ASKED if function == "classify" else FIT)
    return answers


def unheld(held: bool) -> Any:
    return nullcontext() if held else mock.patch.object(partial.holding, "check_alone")


def spent(answers: list[Any]) -> float:
    return sum(answer["spent"]["epsilon"] for answer in answers)


def refused(answers: list[Any], text: str) -> bool:
    return all(text in str(answer.get("error")) for answer in answers)


def in_two_groups(ask: Asking, request: Any) -> None:
    for group in ((1, 2), (3, 4)):
        first = {member: replace(request[member], classes=member == group[0]) for member in group}
        ask("partial_tables", first, group)


HELD = pytest.mark.parametrize("held", [True, False], ids=["held", "control"])


@HELD
def test_class_counts_are_told_once_and_not_by_each_group(held: bool) -> None:
    with unheld(held):
        answers = answers_of("classify", "partial_tables", in_two_groups)
    assert len(answers) == 4
    if held:
        assert refused(answers, "not of all stations with features")
    else:
        assert spent(answers) == pytest.approx(1.2 * EPSILON)


@pytest.mark.parametrize("function", ["classify", "fit"])
@HELD
def test_no_two_stations_have_tables_of_one_column(function: str, held: bool) -> None:
    """An honest central refuses a feature that two stations have; each ledger would hold what is announced, and the records lose more."""

    def both(federation: Any, columns: Any, named: Any) -> dict[int, list[str]]:
        return {member: [name for name in FEATURES if name in names] for member, names in named.items()}

    def as_asked(ask: Asking, request: Any) -> None:
        ask("partial_tables", request, tuple(request))

    with unheld(held), mock.patch.object(vertical, "_owners", both):
        answers = answers_of(function, "partial_tables", as_asked, {"a": ["rich", "tall"]})
    assert len(answers) == 4
    if held:
        assert refused(answers[:3], "each of which has its own")
    else:
        assert spent(answers) > 1.3 * EPSILON


def test_all_stations_are_asked_for_the_same_columns() -> None:
    """One that was asked for fewer would not say that it has another's column."""

    asking = Federation._ask

    def ask(self: Federation, name: str, request: Any, organizations: Any, *rest: Any) -> Any:
        if name == "partial_features":
            request = {**dict.fromkeys(organizations, request), 4: replace(request, names=["ill", "tired"])}
        return asking(self, name, request, organizations, *rest)

    with (
        mock.patch.object(Federation, "_ask", ask),
        running() as federation,
        pytest.raises(AlgorithmError, match="was changed, or is of another job or round"),
    ):
        federation.run("classify", ASKED)


def test_what_is_stated_is_what_all_ledgers_debit() -> None:
    for function, arguments in (("classify", ASKED), ("fit", FIT)):
        with running() as federation:
            result = federation.run(function, arguments)
        debits = result["federation"]["debits"].values()
        assert sum(costs["epsilon"] for costs in debits) == pytest.approx(result["privacy"]["epsilon"]) == EPSILON
