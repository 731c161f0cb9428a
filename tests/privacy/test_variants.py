"""Variants of the attacks that worked once (docs/attacks.md): by a researcher, of every central function; by whoever makes a sub-task."""

from __future__ import annotations

import copy
import importlib
import json
import random
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import pytest
from harness.inprocess import InProcess
from views_cases import COUNT, DP_FIT, QUESTIONS, Question, arguments_of, question_files
from views_kit import record

from fedbayes.federation.errors import KINDS, AlgorithmError

NOT_NUMBERS = [float("nan"), float("inf"), -float("inf"), -1e300, "1", True, None, [], {}]
NO_EPSILON = ["1", True, float("nan"), float("inf"), 0, -1.0, [1.0], {}, "inf"]
UNREAD = {"seal", "provenance"}
READ = {"verticox": {"coefficient", "cumulative_hazard", "time", "offset"}}
"""Numbers of models that functions read; the others of verticox are for people."""
PLACES, ALL_PLACES, OTHER_FORMS = 6, 60, 12


def taken(question: Question) -> set[str]:
    """Return the arguments of a question's function."""
    function = getattr(importlib.import_module(f"v6_{question.method}"), question.function)
    return {one.name for one in function.fedbayes_declared.declared()}


ASKED = [question for question in QUESTIONS if question.quick and question.function != "preflight"]
EACH = list({(question.method, question.function): question for question in ASKED}.values())
MODELS = [question for question in EACH if question.model is not None and question.result == "model"]


def with_argument(name: str) -> list[Any]:
    return [pytest.param(question, id=question.name) for question in EACH if name in taken(question)]


def answer(question: Question, arguments: dict[str, Any]) -> tuple[str, Any]:
    """Return (the kind of a refusal, its text), or ("", the answer)."""
    files, failure, told = question_files(question, False), None, None
    try:
        told = record(question.method, files, question.central, question.function, arguments, question.limits)[1]
    except Exception as error:
        failure = error
    if failure is None:
        return "", told
    assert type(failure).__name__ in KINDS, repr(failure)
    assert "unexpected " not in str(failure), repr(failure)
    return type(failure).__name__, str(failure)


def refusal(question: Question, arguments: dict[str, Any]) -> str:
    """Return the kind of a refusal, or "" where there is an answer of numbers; anything else fails."""
    kind, told = answer(question, arguments)
    json.dumps(told, allow_nan=False)
    return kind


@pytest.mark.parametrize("question", with_argument("organizations"))
def test_one_organization_named_twice_is_refused_or_counts_once(question: Question) -> None:
    for twice in (["a", "b", "c", "a"], ["a", "b", "c", 1]):
        told = refusal(question, {**arguments_of(question), "organizations": twice, **helper_of(question)})
        assert told in ("ArgumentError", "PlacementError")


def helper_of(question: Question) -> dict[str, Any]:
    return {"helper": "helper"} if "helper" in taken(question) else {}


@pytest.mark.parametrize("question", with_argument("epsilon"))
def test_a_budget_that_is_no_positive_number_is_refused(question: Question) -> None:
    for epsilon in NO_EPSILON:
        assert refusal(question, {**arguments_of(question), "epsilon": epsilon}) == "ArgumentError"


@pytest.mark.few(8)
@pytest.mark.parametrize("question", with_argument("delta"))
def test_a_delta_without_an_epsilon_promises_nothing(question: Question) -> None:
    arguments = {key: value for key, value in arguments_of(question).items() if key != "epsilon"}
    for delta in (1e-6, "1e-6", float("nan"), 1.0, -1e-9, True):
        kind, told = answer(question, {**arguments, "delta": delta})
        assert kind == "ArgumentError" or (delta == 1e-6 and told["privacy"]["differentially_private"] is False)


@pytest.mark.parametrize("question", [*with_argument("features"), *with_argument("columns")])
def test_a_label_among_the_features_and_a_column_twice_are_refused(question: Question) -> None:
    arguments = arguments_of(question)
    name = "features" if "features" in taken(question) else "columns"
    domain = arguments.get("domain", ["z"])  # of a formula alone: a column of it
    own = arguments.get(name) or [column for column in domain if column != arguments.get("label")]
    wrong = [[*own, own[0]]]
    for role in ("label", "time", "event", "id_column"):
        if arguments.get(role) is not None:
            wrong.append([*own, arguments[role]])
    for columns in wrong:
        if question.method == "vertibayes" and columns[-1] == arguments.get("label"):
            continue
        assert refusal(question, {**arguments, name: columns}) in ("ArgumentError", "DataProblem")


def numbers(model: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the places of all numbers in a model."""
    if isinstance(model, int | float) and not isinstance(model, bool):
        yield path
    elif isinstance(model, dict | list):
        for key, part in model.items() if isinstance(model, dict) else enumerate(model):
            yield from numbers(part, (*path, key))


def changed(model: Any, path: tuple[Any, ...], value: Any) -> Any:
    model = copy.deepcopy(model)
    holder = model
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return model


def answered(question: Question, places: int) -> list[Any]:
    """Put what is no number in places of a model; return those with which a question about it is answered."""
    arguments, rng = arguments_of(question), random.Random(question.name)
    found = [path for path in numbers(arguments["model"]) if not UNREAD & {*path}]
    names = READ.get(question.method)
    found = [path for path in found if names is None or [key for key in path if isinstance(key, str)][-1] in names]
    wrong = []
    for path in rng.sample(found, min(places, len(found))):
        given = {**arguments, "model": changed(arguments["model"], path, rng.choice(NOT_NUMBERS))}
        refusal(question, given)  # an answer of numbers, or a refusal of the project
        if not refusal(question, {**given, "model": changed(given["model"], path, float("nan"))}):
            wrong.append(path)
    return wrong


@pytest.mark.parametrize("question", MODELS, ids=lambda question: question.name)
def test_a_model_with_no_number_at_depth_gives_no_answer(question: Question) -> None:
    assert answered(question, PLACES) == []


@pytest.mark.audit
@pytest.mark.parametrize("question", MODELS, ids=lambda question: question.name)
def test_a_model_with_no_number_anywhere_gives_no_answer(question: Question) -> None:
    assert answered(question, ALL_PLACES) == []


NAMES = ["", " ", "1", "1.0", "true", "TRUE", "é", "e\u0301", "none", "\u202e", "nan", "x" * 400]


def places(model: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the places of all parts of a model but its seal and where it is from."""
    if path:
        yield path
    if isinstance(model, dict | list):
        for key, part in model.items() if isinstance(model, dict) else enumerate(model):
            if key not in UNREAD:
                yield from places(part, (*path, key))


def other_form(part: Any, rng: random.Random) -> Any:
    """Return a part of a model in another form: named otherwise, longer, shorter, in another order, or further out."""
    if isinstance(part, str):
        return rng.choice([*NAMES, part + "\u0301", part.upper(), f" {part}"])
    if isinstance(part, dict) and part:
        keys = list(part)
        one, other = rng.choice(keys), rng.choice(keys)
        return rng.choice(
            [
                {**part, rng.choice(NAMES): part[one]},
                {key: part[key] for key in keys if key != one},
                {**part, one: part[other], other: part[one]},
            ]
        )
    if isinstance(part, list) and part:
        one = rng.randrange(len(part))
        return rng.choice([[*part, part[one]], part[:one] + part[one + 1 :], part[::-1], [part], []])
    return rng.choice([5e-324, -5e-324, 1e308, -1.0, 0, 2**63, 10**30, 1e-300, rng.choice(NAMES), None, [part]])


@pytest.mark.few(4)
@pytest.mark.parametrize("question", MODELS, ids=lambda question: question.name)
def test_a_model_of_another_form_is_answered_or_refused_as_such(question: Question) -> None:
    arguments, rng = arguments_of(question), random.Random(question.name)
    found = list(places(arguments["model"]))
    refused = 0
    for _ in range(OTHER_FORMS):
        path = rng.choice(found)
        part = arguments["model"]
        for key in path:
            part = part[key]
        given = {**arguments, "model": changed(arguments["model"], path, other_form(part, rng))}
        refused += bool(refusal(question, given))
    assert refused


# -- who makes a sub-task ----------------------------------------------------------------------------------------------------------


Change = Callable[[InProcess, int, dict[str, Any]], Any]


def orphan(running: InProcess, task: int, message: dict[str, Any]) -> None:
    running.tasks[task]["parent"] = None


def other_image(running: InProcess, task: int, message: dict[str, Any]) -> None:
    running.tasks[running.tasks[task]["parent"]["id"]]["image"] = "registry.example/other:1"


def other_image_of_the_same_name(running: InProcess, task: int, message: dict[str, Any]) -> None:
    running.tasks[running.tasks[task]["parent"]["id"]]["image"] = "registry.example/fedbayes:2"


def other_organization(running: InProcess, task: int, message: dict[str, Any]) -> None:
    running.tasks[task]["init_org"] = {"id": 2, "link": "/api/organization/2"}


def other_job(running: InProcess, task: int, message: dict[str, Any]) -> None:
    running.tasks[task]["job_id"] += 100 * task


def parent_of_another_job(running: InProcess, task: int, message: dict[str, Any]) -> None:
    running.tasks[running.tasks[task]["parent"]["id"]]["job_id"] += 100 * task


def sub_task_of_a_sub_task(running: InProcess, task: int, message: dict[str, Any]) -> None:
    """As a station that deviates would make one, with the token of its container: it would be central of a job that nobody asked for."""
    running.tasks[running.tasks[task]["parent"]["id"]]["parent"] = {"id": 99, "link": "/api/task/99"}


def session_of_another_job(running: InProcess, task: int, message: dict[str, Any]) -> None:
    message["session"] = "0" * len(message["session"])


def session_that_is_a_path(running: InProcess, task: int, message: dict[str, Any]) -> None:
    message["session"] = "/../../../x"


def stranger_among_the_participants(running: InProcess, task: int, message: dict[str, Any]) -> None:
    message["participants"] = [*message["participants"], 99]


def station_twice(running: InProcess, task: int, message: dict[str, Any]) -> None:
    message["participants"] = [*message["participants"], message["participants"][0]]


def round_of_another_name(running: InProcess, task: int, message: dict[str, Any]) -> None:
    message["round_name"] += "x"


def not_the_last_round(running: InProcess, task: int, message: dict[str, Any]) -> None:
    message["last"] = not message["last"]


CHANGES = [
    orphan,
    other_image,
    other_image_of_the_same_name,
    other_organization,
    other_job,
    parent_of_another_job,
    sub_task_of_a_sub_task,
    session_of_another_job,
    session_that_is_a_path,
    stranger_among_the_participants,
    station_twice,
    round_of_another_name,
    not_the_last_round,
]
ONLY_FIRST = (other_image, other_image_of_the_same_name, parent_of_another_job, sub_task_of_a_sub_task)
"""What a station asks of the platform once a job, in its first round."""


def attacked(question: Question, when: int, change: Change) -> Any:
    """Run a question whose sub-tasks from number `when` on (0: the first) are changed at every station; central asks again what a station lost."""
    files, policies = question_files(question, False), {name: dict(question.limits) for name in "abc"}
    with InProcess(f"v6_{question.method}", files, policies, question.central) as running:
        container, made = running._container, []

        def entered(task: int, organization: int) -> Any:
            if running.tasks[task]["parent"] is not None and task not in made:
                made.append(task)
                if len(made) > when:
                    change(running, task, message)
            return container(task, organization)

        message: dict[str, Any] = {}
        create = running.create

        def creating(content: Any, *rest: Any) -> Any:
            nonlocal message
            message = content["kwargs"]["message"]
            return create(content, *rest)

        with mock.patch.object(running, "_container", entered), mock.patch.object(running, "create", creating):
            return running.run(question.function, arguments_of(question))


@pytest.mark.parametrize("when", [0, 1], ids=["first round", "second round"])
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("question", [COUNT, DP_FIT], ids=lambda question: question.method)
def test_a_sub_task_that_central_did_not_make_so_is_refused(question: Question, change: Change, when: int) -> None:
    if when and change in ONLY_FIRST:
        return
    with pytest.raises(AlgorithmError):
        attacked(question, when, change)


def test_control_an_unchanged_sub_task_is_answered() -> None:
    assert attacked(COUNT, 1, lambda running, task, message: None)["count"] > 0


@pytest.mark.parametrize("question", [COUNT, DP_FIT], ids=lambda question: question.method)
def test_a_request_of_one_job_is_refused_in_another(question: Question) -> None:
    """Replayed whole: signed by central, sealed for the station, of the same question."""
    files, policies = question_files(question, False), {name: dict(question.limits) for name in "abc"}
    with InProcess(f"v6_{question.method}", files, policies, question.central) as running:
        kept: dict[str, Any] = {}
        create = running.create

        def keeping(content: Any, *rest: Any) -> Any:
            kept.setdefault(content["method"], copy.deepcopy(content))
            return create(content, *rest)

        def replaying(content: Any, *rest: Any) -> Any:
            opens = content["method"] == "partial_open_channel"
            return create(content if opens else kept[content["method"]], *rest)

        with mock.patch.object(running, "create", keeping):
            running.run(question.function, arguments_of(question))
        with mock.patch.object(running, "create", replaying), pytest.raises(AlgorithmError):
            running.run(question.function, arguments_of(question))
