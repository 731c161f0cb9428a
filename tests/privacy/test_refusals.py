"""Under an epsilon one record decides no refusal: each function on tables at the edge of what it can use, and on their neighbours.

Random tables are seldom at an edge: a column that only one record has a value in, one event, two classes because of one record, numbers of which one is none.
Here every table is, on one side, and its neighbour on the other. Each is asked with the other's conversation, so that what central makes of noisy numbers is
the same; then whether stations answer, what they refuse with, rounds, sizes and public fields must be.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import neighbours_kit as kit
import numpy as np
import pytest
from harness.cases import Case

from fedbayes.federation.guards import announced
from fedbayes.federation.horizontal import Columns, CountNoise
from fedbayes.federation.horizontal.units import ROW
from fedbayes.federation.station import Station
from fedbayes.federation.vertical.messages import Setup
from v6_verticox.horizontal.messages import Question as Fitted
from v6_verticox.horizontal.private.messages import Asked
from v6_verticox.messages.scoring import LocateRequest
from v6_verticox.messages.setup import PrepareRequest
from v6_verticox.messages.setup import Question as Matched
from v6_verticox.noisy.messages import ArrangeRequest

ROWS = 30
PERSON = 7
"""The record that neighbours differ by, at the first station or at all that hold records in common."""
COLUMNS: dict[str, Any] = {
    "id": {"type": "identifier"},
    "age": {"type": "number", "bounds": [0, 100]},
    "time": {"type": "number", "bounds": [0, 20]},
    "event": {"type": "number", "bounds": [0, 1]},
    "sex": {"type": "category", "categories": ["m", "f"]},
    "dx": {"type": "category", "categories": ["hiv", "flu"]},
}
COX = {"time": "time", "event": "event", "times": [5, 10, 15, 20], "features": ["age"], "delta": 1e-6}
LABELLED = {"label": "sex", "features": ["age", "dx"]}


@dataclass(frozen=True)
class Question:
    """Steps of a task, and whether its records are split by columns; the last step's model is of the first."""

    method: str
    steps: tuple[tuple[str, Mapping[str, Any]], ...]
    linked: bool = False

    def __str__(self) -> str:
        last, arguments = self.steps[-1]
        return "-".join((self.method, last, *(str(value) for value in arguments.values() if isinstance(value, str))))


def fits(method: str, *after: str, linked: bool = False, about: str | None = None, **arguments: Any) -> list[Question]:
    """Return a fit, and what is asked about its model; `about`: the label that is asked about."""
    fit, label = ("fit", arguments), {} if about is None else {"label": about}
    return [
        Question(method, (fit,), linked),
        *(Question(method, (fit, (name, {"model": {"$model": 0}, **label})), linked) for name in after),
    ]


QUESTIONS = [
    Question("dp_naive_bayes", (("describe", {"columns": ["age", "sex", "event"]}),)),
    *fits("dp_naive_bayes", "evaluate", **LABELLED),
    *fits("dp_naive_bayes", **LABELLED, statistics="gaussian"),
    *fits("dp_naive_bayes", **LABELLED, unit="identifier", id_column="id", max_rows_per_identifier=1),
    *fits("smooth_naive_bayes", "evaluate", **LABELLED),
    *fits("secure_naive_bayes", "evaluate", **LABELLED, modulus_bits=2048),
    *fits("discriminative_naive_bayes", "evaluate", **LABELLED, delta=1e-6),
    *fits("vertibayes", split="horizontal", columns=["age", "sex", "dx"], bins={"age": [30, 60]}),
    *fits("verticox", "evaluate", **COX, split="horizontal"),
    Question("vertibayes", (("describe", {"columns": ["age", "dx"]}),), linked=True),
    *fits(
        "vertibayes",
        "evaluate",
        linked=True,
        about="dx",
        columns=["age", "sex", "dx"],
        bins={"age": [30, 60]},
        id_column="id",
    ),
    *fits("verticox", linked=True, **{**COX, "features": ["age", "sex"]}, id_column="id"),
    *(
        Question("scalar_product", ((name, {**arguments, "id_column": "id"}),), linked=True)
        for name, arguments in (
            (
                "count",
                {
                    "conditions": [
                        {"column": "age", "op": ">=", "value": 30},
                        {"column": "dx", "op": "==", "value": "hiv"},
                    ]
                },
            ),
            ("contingency", {"columns": ["sex", "dx"]}),
        )
    ),
]

EDGES: dict[str, tuple[str | None, str | None]] = {
    "the only value": (None, "own"),
    "the only one unlike the others": ("own", "other"),
    "the only gap": ("own", None),
    "the only number": ("no number", "own"),
    "the only text": ("own", "no number"),
    "the only infinity": ("own", "inf"),
    "the only one in its domain": ("-77", "own"),
}
"""What the others have in a column, and what the person has there; the neighbour has there what the others have."""
VALUES = {"age": ("50", "20"), "time": ("7", "12"), "event": ("0", "1"), "sex": ("m", "f"), "dx": ("flu", "hiv")}


def tables(linked: bool) -> list[dict[str, Any]]:
    """Return three stations with all columns, or three with some of each and the same records, and two without data."""
    found: list[dict[str, Any]] = []
    for place, name in enumerate("abcde" if linked else "abc"):
        draw = np.random.default_rng(0 if linked else place)
        columns = {
            "id": [f"{'' if linked else name}{row}" for row in range(ROWS)],
            "age": [str(value) for value in draw.integers(20, 90, ROWS)],
            "time": [str(value) for value in draw.integers(1, 20, ROWS)],
            "event": [str(value) for value in draw.integers(0, 2, ROWS)],
            "sex": [str(value) for value in draw.choice(["m", "f"], ROWS)],
            "dx": [str(value) for value in draw.choice(["hiv", "flu"], ROWS)],
        }
        held = (
            {"a": ["id", "age"], "b": ["id", "time", "event", "dx"], "d": ["id", "sex"]}.get(name, [])
            if linked
            else columns
        )
        found.append({"name": name, "columns": {column: columns[column] for column in held} or None, "policy": {}})
    return found


def plain(question: Question) -> Case:
    """Return a question on tables that are at no edge."""
    steps: list[list[Any]] = [[name, dict(arguments)] for name, arguments in question.steps]
    case = Case(question.method, steps[-1][0], tables(question.linked), "c", steps)
    case.facts = {"dictionary": {"columns": COLUMNS}, "gives": []}
    return case


def edge(question: Question, column: str, kind: str, everywhere: bool) -> tuple[Case, Case]:
    """Return two neighbours at an edge: they differ in one cell, of a column that is alike in all rows of the first station, or of all."""
    words = dict(zip(("own", "other"), VALUES[column], strict=True))
    others, own = (words.get(str(word), word) for word in EDGES[kind])
    case = plain(question)
    holders = [entry["columns"] for entry in case.organizations if column in (entry["columns"] or ())]
    for columns in holders if everywhere else holders[:1]:
        columns[column] = [others] * ROWS
    neighbour = copy.deepcopy(case)
    holders[0][column][PERSON] = own
    return case, neighbour


def told_apart(case: Case, neighbour: Case) -> list[kit.Recording]:
    """Return what was recorded of one; raise `kit.Leak` if stations answer one and refuse the other, or with other words, or are asked in other rounds."""
    one, other = (kit.made_private(each, 1.0, 1e-6) for each in (case, neighbour))
    first = kit.record(one)
    for run, changed in zip(first, kit.record(other, first), strict=True):
        if run.error != changed.error:
            raise kit.Leak(f"answered or refused otherwise: {run.error!r:.300} and {changed.error!r:.300}")
        orders = [[(entry.function, entry.organization) for entry in each.entries] for each in (run, changed)]
        if orders[0] != orders[1]:
            raise kit.Leak("rounds or their order differ")
    return first


def asked_of(question: Question) -> list[str]:
    """Return the columns that a question is about."""
    arguments = [value for _, step in question.steps for value in step.values()]
    text = repr(arguments)
    return [name for name in VALUES if f"'{name}'" in text]


def cases() -> list[Any]:
    """Return every edge of every question, of its columns in turn, at one station and at all in turn, as the table and as the neighbour in turn."""
    found = []
    for question in QUESTIONS:
        columns = asked_of(question)
        for place, kind in enumerate(EDGES):
            column, everywhere = columns[place % len(columns)], question.linked or place % 2 == 0
            found.append(
                pytest.param(question, column, kind, everywhere, place % 4 < 2, id=f"{question}-{column}-{kind}")
            )
    return found


@pytest.mark.few(7)
@pytest.mark.parametrize("question", QUESTIONS, ids=str)
def test_each_question_is_answered_where_nothing_is_at_an_edge(question: Question) -> None:
    assert [one.error for one in kit.record(kit.made_private(plain(question), 1.0, 1e-6))] == [None] * len(
        question.steps
    )


@pytest.mark.few(3)
@pytest.mark.parametrize(("question", "column", "kind", "everywhere", "turned"), cases())
def test_one_record_decides_no_refusal(
    question: Question, column: str, kind: str, everywhere: bool, turned: bool
) -> None:
    pair = edge(question, column, kind, everywhere)
    runs = told_apart(*(pair[::-1] if turned else pair))
    assert all(run.answer is not None or run.error for run in runs)


LINKED = {"private Cox fit": ("verticox", "fit"), "table": ("scalar_product", "contingency")}


def identified(which: str, place: int, own: str | None) -> list[dict[int, float]]:
    """Return what every organization debited where the person has its identifier at all stations, and where one station has `own` for it.

    Both must be answered, or refused alike.
    """
    question = next(one for one in QUESTIONS if one.linked and (one.method, one.steps[0][0]) == LINKED[which])
    case = plain(question)
    neighbour = copy.deepcopy(case)
    holders = [entry["columns"] for entry in neighbour.organizations if entry["columns"]]
    holders[place]["id"][PERSON] = own
    runs = [kit.record(one) for one in (kit.made_private(each, 1.0, 1e-6) for each in (case, neighbour))]
    told_apart(case, neighbour)
    return [dict(run.debits) for run, *_ in runs]


@pytest.mark.few(3)
@pytest.mark.parametrize("which", LINKED)
@pytest.mark.parametrize(("place", "own"), [(0, None), (1, "8"), (2, "")])
def test_no_identifier_decides_a_refusal(which: str, place: int, own: str | None) -> None:
    """Any column may be named as that of identifiers, so what is said of a gap, or of the same value twice, would be said of any cell."""
    debits = identified(which, place, own)
    assert debits[0] == debits[1] != {}


def matched(private: bool) -> Matched:
    return Matched("time", "event", ["age"], None, [1, 2], 3, "id", private=private)


def noisy_request(question: Matched, rows: int, order: list[Any]) -> ArrangeRequest:
    domain = {"age": {"bounds": [0, 100]}}
    fitted = Fitted("time", "event", domain, {}, [10.0, 20.0], [2], "breslow", "complete", {}, "", "", "", "")
    return ArrangeRequest(question, rows, order, Asked(fitted, CountNoise("distributed", 1.0, 1e-6), ROW))


@pytest.mark.few(1)
@pytest.mark.parametrize("own", [None, "8"])
def test_control_records_that_are_matched_for_exact_answers_refuse(own: str | None) -> None:
    exact = property(lambda question: Setup(question.helper, question.stations, "id", False, {}, "published", False))
    unheld = mock.patch.object(announced, "check_exact")
    found = pytest.raises(kit.Leak, match=r"some rows (have no|repeat)")
    with mock.patch.object(Matched, "matching", exact), unheld, found:
        identified("private Cox fit", 0, own)


@pytest.mark.parametrize(
    ("private", "request_of"), [(True, PrepareRequest), (True, LocateRequest), (False, noisy_request)]
)
def test_records_are_matched_as_the_answers_are_made(private: bool, request_of: Any) -> None:
    """Where central says otherwise, exact answers would leave out a row without a word, and noisy ones refuse because of one."""
    assert request_of(matched(not private), 0, [])
    with pytest.raises(ValueError, match="matched as for noisy answers"):
        request_of(matched(private), 0, [])


def test_control_a_refusal_because_of_a_value_is_found() -> None:
    read = Columns.parts

    def told(columns: Columns, station: Station, private: bool, cells: int) -> Any:
        return read(replace(columns, outside="refuse"), station, False, cells)

    question = next(one for one in QUESTIONS if str(one) == "dp_naive_bayes-fit-sex")
    unheld = mock.patch.object(announced, "check_exact")
    with mock.patch.object(Columns, "parts", told), unheld, pytest.raises(kit.Leak, match="otherwise"):
        told_apart(*edge(question, "age", "the only infinity", False))
