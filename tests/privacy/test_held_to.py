"""A central that asks for something else than the job announced: another relation of neighbours, more budget, exact answers, single records."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import pandas as pd
import pytest
from harness.inprocess import InProcess
from test_honest_fraction import FILES, LABELLED, TASKS
from views_cases import COX_ROWS, DOMAIN, JOINED, LIMITS, QUESTIONS, arguments_of, horizontal, question_files

from fedbayes.federation.errors import MessageError, PolicyError
from fedbayes.federation.guards import announced
from fedbayes.federation.jobs import job
from fedbayes.federation.messages.codec import Message
from fedbayes.federation.perimeter.opening import Preflight, Relation
from fedbayes.federation.rounds import Federation
from v6_secure_naive_bayes import partial as shared_budget

LOCAL = {**LABELLED, "epsilon": 1.0, "noise": "local"}
NOISY = {
    **TASKS,
    "whole noise": ("dp_naive_bayes", "fit", "horizontal", LOCAL),
    "gossip": ("dp_naive_bayes", "fit", "horizontal", {**LOCAL, "aggregation": "gossip"}),
    "smooth": ("smooth_naive_bayes", "fit", "horizontal", {**LABELLED, "epsilon": 1.0}),
    "tables at their stations": (
        "secure_naive_bayes",
        "fit",
        "labelled",
        {"label": "y", "domain": {name: DOMAIN[name] for name in "yfg"}, "epsilon": 1.0, "split": "vertical"},
    ),
}
ENCRYPTED = ("encrypted", "encrypted with diluted noise")
IN_THE_CODE = (*ENCRYPTED, "tables at their stations", "Cox by columns")
"""Their relation is no field of a request, or can be no other."""


def labelled() -> dict[str, str]:
    """Return files of two stations with a feature each, and the label."""
    table = pd.read_csv(io.StringIO(horizontal(False)["a"]))
    return {name: str(table[["y", own]].to_csv(index=False)) for name, own in (("a", "f"), ("b", "g"))}


def rewritten(value: Any, name: str, change: Callable[[Any], Any]) -> Any:
    """Return a message in which every field of a name has another value, at every depth."""
    if isinstance(value, Message):
        fields = {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}  # type: ignore[arg-type]
        told = {key: change(one) if key == name else rewritten(one, name, change) for key, one in fields.items()}
        return dataclasses.replace(value, **told)  # type: ignore[type-var]
    if isinstance(value, dict):
        return {key: rewritten(one, name, change) for key, one in value.items()}
    return [rewritten(one, name, change) for one in value] if isinstance(value, list) else value


@contextmanager
def asking(change: Callable[[Any], Any]) -> Iterator[None]:
    """Central changes every request after the first round, alike for all."""
    honest = Federation._ask

    def ask(self: Federation, asked: str, request: Any, *rest: Any) -> Any:
        return honest(self, asked, request if asked == "partial_open_channel" else change(request), *rest)

    with mock.patch.object(Federation, "_ask", ask):
        yield


@contextmanager
def announcing(change: Callable[[Preflight], Preflight]) -> Iterator[None]:
    """Central announces something else, and says so in the manifest."""
    honest = Federation.open_channel

    def opened(self: Federation, organizations: Any = None, preflight: Any = None) -> Any:
        return honest(self, organizations, change(preflight))

    with mock.patch.object(Federation, "open_channel", opened):
        yield


def run(name: str, limits: dict[str, Any] | None = None, **more: Any) -> Any:
    method, function, tables, asked = NOISY[name]
    files = (
        labelled()
        if tables == "labelled"
        else {**FILES[tables](False), **({"helper": None} if tables == "vertical" and asked.get("id_column") else {})}
    )
    with InProcess(f"v6_{method}", files, {party: {**LIMITS, **(limits or {})} for party in files}, "a") as running:
        return running.run(function, {**asked, **more})


def spent(request: Any) -> Any:
    return rewritten(rewritten(request, "whole", lambda one: 3.0 * one), "epsilon", lambda one: 3.0 * one)


def related(request: Any) -> Any:
    one = next(iter(request.values())) if isinstance(request, dict) else request
    other = "zero_out" if hasattr(one, "delivery") or hasattr(one, "setup") else "replace_one"
    return rewritten(request, "neighbors", lambda _: other)


@pytest.mark.few(5)
@pytest.mark.parametrize("name", [name for name in NOISY if name not in IN_THE_CODE])
def test_noise_is_for_the_neighbours_that_the_job_announced(name: str) -> None:
    with asking(related), pytest.raises(MessageError, match="for others than the job announced"):
        run(name)


@pytest.mark.few(5)
@pytest.mark.parametrize("name", NOISY)
def test_no_more_is_debited_than_the_job_announced(name: str) -> None:
    with asking(spent), pytest.raises(MessageError, match="epsilon: more would be debited than the job announced"):
        run(name)


@pytest.mark.few(2)
@pytest.mark.parametrize("name", [name for name in NOISY if NOISY[name][3].get("delta")])
def test_no_larger_delta_is_debited_than_the_job_announced(name: str) -> None:
    heavier = asking(lambda request: rewritten(request, "delta", lambda one: 3.0 * one))
    with heavier, pytest.raises(MessageError, match="delta: more would be debited than the job announced"):
        run(name)


@pytest.mark.few(3)
@pytest.mark.parametrize("name", [name for name in NOISY if name not in ENCRYPTED])
def test_control_unchecked_it_is(name: str) -> None:
    parts = mock.patch.object(shared_budget, "check_part")
    with asking(spent), mock.patch.object(announced, "check_debit"), parts:
        run(name)


@pytest.mark.few(3)
@pytest.mark.parametrize("name", NOISY)
def test_control_as_they_are_all_are_answered(name: str) -> None:
    assert run(name)["privacy"]["epsilon"] == pytest.approx(1.0)


def test_a_relation_of_the_arguments_is_announced() -> None:
    told = []
    with announcing(lambda one: told.append(one) or one):  # type: ignore[func-returns-value]
        run("tables", neighbors="replace_one")
        run("a count", neighbors="zero_out")
        run(
            "smooth",
            unit="identifier",
            id_column="f",
            max_rows_per_identifier=2,
            domain={name: LABELLED["domain"][name] for name in "yg"},
        )
    assert [one.relation for one in told] == [
        Relation("replace_one"),
        Relation("zero_out", "record"),
        Relation("add_remove", "identifier", 2, "f"),
    ]


def test_noise_is_for_the_unit_that_the_job_announced() -> None:
    """Central has rows protected where people were announced."""

    def changed(request: Any) -> Any:
        columns = dataclasses.replace(request.columns, unit=type(request.columns.unit)())
        return dataclasses.replace(request, columns=columns)

    asked = {"unit": "identifier", "id_column": "f", "domain": {name: LABELLED["domain"][name] for name in "yg"}}
    with asking(changed), pytest.raises(MessageError, match="for others than the job announced"):
        run("smooth", **asked)


def test_all_stations_were_told_the_same() -> None:
    """What one of them is told is what the manifest says."""
    honest = Federation._ask

    def ask(self: Federation, asked: str, request: Any, organizations: Any, *rest: Any) -> Any:
        if asked == "partial_open_channel":
            less = dataclasses.replace(request, preflight=dataclasses.replace(request.preflight, epsilon=0.5))
            request = {member: less if member == 2 else request for member in organizations}
        return honest(self, asked, request, organizations, *rest)

    with mock.patch.object(Federation, "_ask", ask), pytest.raises(MessageError, match="announces something else"):
        run("tables")


def test_the_announcement_is_made_once() -> None:
    class Memory(dict[str, bytes]):
        def once(self, name: str, content: bytes) -> bytes:
            return self.setdefault(name, content)

        read = dict.get

    memory = Memory()
    announced.keep(memory, Preflight(epsilon=1.0))  # type: ignore[arg-type]
    announced.keep(memory, Preflight(epsilon=1.0))  # type: ignore[arg-type]
    assert announced.kept(memory) == Preflight(epsilon=1.0)  # type: ignore[arg-type]
    for other in (None, Preflight(epsilon=2.0)):
        with pytest.raises(MessageError, match="announced something else before"):
            announced.keep(memory, other)  # type: ignore[arg-type]


def test_a_job_on_record_as_private_gives_no_exact_answer() -> None:
    exact = {**LABELLED, "noise": "none"}
    private = announcing(lambda one: dataclasses.replace(one, private=True))
    refused = pytest.raises(MessageError, match="announced private answers only")
    with private, refused, InProcess("v6_dp_naive_bayes", FILES["horizontal"](False), {}, "a") as running:
        running.run("fit", exact)


def test_single_records_are_predicted_where_that_was_announced() -> None:
    files = {**FILES["vertical"](False), "helper": None}
    fit = {"columns": ["x", "z", "w"], "label": "x", "structure": "naive", **JOINED}
    with InProcess("v6_vertibayes", files, {party: dict(LIMITS) for party in files}, "a") as running:
        asked = {"model": running.run("fit", fit)["model"], **JOINED}
        assert running.run("classify", asked)
        silent = announcing(lambda one: dataclasses.replace(one, single_records=False))
        with silent, pytest.raises(MessageError, match="did not announce that single records"):
            running.run("classify", asked)


def test_a_job_that_announced_nothing_pays_for_nothing() -> None:
    with (
        announcing(lambda one: None),
        pytest.raises(MessageError, match="none of the functions that the job announced"),
    ):
        run("tables")
    for silent in (lambda one: None, lambda one: dataclasses.replace(one, relation=None)):
        anything = mock.patch("fedbayes.federation.guards.announced.check_function")
        with announcing(silent), anything, pytest.raises(MessageError, match="it announced none"):
            run("tables")


LINKED = {"scalar_product": "count", **dict.fromkeys(("vertibayes", "bayesian_ensemble", "verticox"), "fit")}


@pytest.mark.parametrize(("method", "function"), [*LINKED.items(), ("secure_naive_bayes", "evaluate")])
def test_records_are_linked_by_the_column_that_the_job_announced(method: str, function: str) -> None:
    """Which column that is is on record, and a station that does not let records be linked by it says so before anything is spent."""
    wanted = {*JOINED.items(), ("function", function), ("method", method)}
    question = next(
        one
        for one in QUESTIONS
        if wanted <= {("function", one.function), ("method", one.method), ("id_column", one.arguments.get("id_column"))}
    )
    asked, files = arguments_of(question), question_files(question, False)

    def other(one: Preflight) -> Preflight:
        return dataclasses.replace(one, linked_by="person")

    with InProcess(f"v6_{method}", files, {party: dict(LIMITS) for party in files}, question.central) as running:
        with announcing(other), pytest.raises(MessageError, match="announced another column of identifiers"):
            running.run(question.function, asked)
        with announcing(other), mock.patch.object(announced, "check_linked"):
            assert running.run(question.function, asked), "control"


@pytest.mark.parametrize("function", ["partial_tables", "partial_scores"])
def test_a_job_calls_the_functions_that_it_announced(function: str) -> None:
    """A job that is on record as a classification asks for tables, or one of tables for records."""

    def less(one: Preflight) -> Preflight:
        return dataclasses.replace(one, functions=tuple(each for each in one.functions if each != function))

    files = {**FILES["vertical"](False), "helper": None}
    fit = {"columns": ["x", "z", "w"], "label": "x", "structure": "naive", **JOINED}
    with InProcess("v6_vertibayes", files, {party: dict(LIMITS) for party in files}, "a") as running:
        model = running.run("fit", fit)["model"]
        name, asked = ("fit", fit) if function == "partial_tables" else ("classify", {"model": model, **JOINED})
        with (
            announcing(less),
            pytest.raises(MessageError, match=f"{function} is none of the functions that the job announced"),
        ):
            running.run(name, asked)
        with announcing(less), mock.patch.object(announced, "check_function"):
            assert running.run(name, asked), "control"


def test_an_administrator_bounds_the_honest_fraction() -> None:
    """A central that states a fraction which nobody asked for is stopped by the node, also where it announces another than it uses."""
    assert run("tables", {"maximum_honest_fraction": 0.5}, honest_fraction=0.5)
    assert run("whole noise", {"maximum_honest_fraction": 0.5}), "every station's own noise counts on nobody"
    for name in ("tables", "encrypted", "a count", "a network", "Cox by rows", "Cox by columns"):
        with pytest.raises(PolicyError, match="maximum_honest_fraction"):
            run(name, {"maximum_honest_fraction": 0.5})
        hidden = announcing(lambda one: dataclasses.replace(one, honest_fraction=0.0))
        with hidden, pytest.raises(MessageError, match="counted on than the job's manifest says, or this node allows"):
            run(name, {"maximum_honest_fraction": 0.5})


def test_what_is_announced_is_what_the_manifest_has_the_digest_of() -> None:
    made = []
    manifest = job.Manifest

    def noted(**entries: Any) -> Any:
        made.append(manifest(**entries))
        return made[-1]

    with mock.patch.object(job, "Manifest", noted):
        run("tables")
        run("tables", neighbors="replace_one")
    assert len({one.announced for one in made}) == 2
    assert all(len(one.announced) == 64 for one in made)


def louder(model: dict[str, Any]) -> dict[str, Any]:
    """Return a model, or its outline, that says something else of every record."""
    if "coefficients" in model:
        told = [{**one, "coefficient": 2.0 * one["coefficient"]} for one in model["coefficients"]]
        return {**model, "coefficients": told}
    return {**model, "crafted": True}


JUDGED = {"groups": 2, "times": [3.0, 7.0]}
ASKED: dict[str, tuple[str, str, dict[str, Any], str, dict[str, Any]]] = {
    "predictions of a Cox model": (
        "verticox",
        "vertical",
        {"time": "time", "event": "event", "features": ["z", "v"], **JOINED},
        "predict",
        JOINED,
    ),
    "a Cox model on whole records": ("verticox", "survivors", dict(COX_ROWS.arguments), "evaluate", JUDGED),
    "a Cox model under noise that hides nobody": (
        "verticox",
        "survivors",
        dict(COX_ROWS.arguments),
        "evaluate",
        {**JUDGED, "epsilon": 25.0},
    ),
    "dp_naive_bayes": ("dp_naive_bayes", "horizontal", {**LABELLED, "epsilon": 1.0}, "evaluate", {}),
    "smooth_naive_bayes": ("smooth_naive_bayes", "horizontal", {**LABELLED, "epsilon": 1.0}, "evaluate", {}),
    "discriminative_naive_bayes": ("discriminative_naive_bayes", "horizontal", LABELLED, "evaluate", {}),
    "secure_naive_bayes": (
        "secure_naive_bayes",
        "horizontal",
        {**LABELLED, "epsilon": 1.0, "modulus_bits": 2048},
        "evaluate",
        {},
    ),
}
CHECKS = (
    "fedbayes.federation.horizontal.tallying",
    "v6_verticox.stations.assessing",
    "v6_verticox.stations.scoring",
    "v6_verticox.horizontal.judging.partials",
)


@contextmanager
def another_model(unclaimed: bool = False) -> Iterator[None]:
    """Central has another model of its own in every request, alike for all."""
    with ExitStack() as stack:
        for place in CHECKS if unclaimed else ():
            stack.enter_context(mock.patch(f"{place}.check_claimed"))
        stack.enter_context(asking(lambda request: rewritten(request, "model", louder)))
        yield


@pytest.mark.few(3)
@pytest.mark.parametrize("name", ASKED)
def test_exact_answers_are_about_the_model_of_the_manifest(name: str) -> None:
    method, tables, fit, function, more = ASKED[name]
    files = {**FILES[tables](False), **({"helper": None} if tables == "vertical" else {})}
    with InProcess(f"v6_{method}", files, {party: dict(LIMITS) for party in files}, "a") as running:
        question = {"model": running.run("fit", fit)["model"], **more}
        honest = running.run(function, question)
        with another_model(), pytest.raises(MessageError, match="none that the job's manifest names"):
            running.run(function, question)
        if method == "verticox":
            with another_model(unclaimed=True):
                assert running.run(function, question) != honest, "control"


def test_a_coefficient_of_an_outline_is_that_of_the_model() -> None:
    from fedbayes.federation.perimeter.manifest import model_digest, outline_of

    model = {
        "features": ["age"],
        "coefficients": [{"feature": "age", "coefficient": 0.5, "standard_error": 0.1}],
        "baseline": {"time": [1.0], "cumulative_hazard": [0.2]},
        "events": 161,
    }
    outline = outline_of(model)
    assert outline_of(outline) == outline
    assert model_digest(outline) == model_digest(model)
    assert model_digest(louder(outline)) != model_digest(model)
    assert not {"baseline", "events"} & set(outline)
    assert outline["coefficients"] == [{"feature": "age", "coefficient": 0.5}]
    assert model_digest({**model, "events": 162}) != model_digest(model)
