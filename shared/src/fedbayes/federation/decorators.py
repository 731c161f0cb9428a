"""`central` and `partial`: the only way in and out of a container.

A partial function, in this order, asks the platform whose sub-task it runs, decodes and checks the request, returns the recorded reply if the
platform repeats the request, applies the node's policy, computes, passes the reply through the gate, seals it and records it. An error in the
function becomes a sealed reply with the error's class and message, so that the researcher reads the cause; `errors.describe` makes the
message, which carries no data.

A central function has its arguments checked and the seals of models among them taken off. The stations are told when it ends, however it ends.
"""

from __future__ import annotations

import functools
import inspect
import os
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from vantage6.algorithm.tools.util import error as log_error
from vantage6.algorithm.tools.util import info as log_info

from ..bayes.values.encoding import SchemaError, composed_all
from ..dp.shares import HONEST_FRACTION
from .declare import arguments_of
from .errors import KINDS, ArgumentError, MessageError, StationError, describe, log_line, rebuild, schema_errors
from .gate import check_reply_class
from .guards import announced, arrival, dictionaries, refusing
from .messages.codec import decode, encode
from .messages.packing import packed_parts
from .node import platform
from .node.memory import Memory
from .node.policy import Policy
from .perimeter.envelope import Request, open_body, question, seal_reply, whole
from .perimeter.manifest import ModelClaim, claim_of, digest_of
from .perimeter.opening import Task
from .rounds import Federation
from .station import Station

MODEL_ARGUMENTS = ("model", "models")


@dataclass(frozen=True, slots=True)
class _Visit:
    """One run of a partial function: the container, whose sub-task it is, the request, its opened body and the digest of the question."""

    run: platform.Run
    origin: platform.Origin
    memory: Memory
    request: Request
    body: Any
    question_digest: str


def partial(function: Callable[[Station, Any], Any]) -> Callable[..., dict[str, Any]]:
    """Make ``function(station, request) -> reply`` remotely callable, but only by the central function of its own job.

    Parameters
    ----------
    function : callable
        Annotated with the message classes of its request and its reply.

    Returns
    -------
    callable
        ``wrapper(message, mock_client=None, mock_data=None)``. The last two are for vantage6's `MockAlgorithmClient` and are refused in a
        real container.

    Raises
    ------
    TypeError
        If the reply class has a field whose type does not say why it may leave a station; see `federation.gate`.
    """
    name = function.__name__
    check_reply_class(typing.get_type_hints(function).get("return"))
    request_class = _request_class(function)

    @functools.wraps(function)
    def wrapper(message: Any = None, mock_client: Any = None, mock_data: Any = None) -> dict[str, Any]:
        try:
            run = platform.current_run(mock_client)
            if mock_data is not None and not run.mock:
                raise ArgumentError("mock_data is no argument of a real task; leave it out")
            origin = platform.sub_task_origin(run, mock_client)
            request: Request = decode(Request, message)
            filed = bool(request.filed) and request.sender == run.organization
            if not filed:
                request.check(name)
            memory = Memory(run, origin)
            with memory.alone(request.signature.hex()):
                # The platform runs the same request again, perhaps after what was kept of the job was wiped: give the recorded reply.
                recorded = memory.recorded(request.signature.hex(), request.reply_key)
                if recorded is not None:
                    return _once_more(request, memory, recorded)
                if filed:
                    request = whole(request, memory)
                    request.check(name)
                visit = _arrive(name, run, origin, memory, request)
                return _answer(function, request_class, visit, mock_data)
        except Exception as failure:
            log_error(log_line(failure))
            raise _public(failure) from None

    wrapper.wrapped_in_algorithm_client_decorator = True  # type: ignore[attr-defined]
    wrapper.wrapped_in_data_decorator = True  # type: ignore[attr-defined]
    wrapper.fedbayes_remote = "partial"  # type: ignore[attr-defined]
    wrapper.fedbayes_request = request_class  # type: ignore[attr-defined]
    wrapper.fedbayes_answer = function  # type: ignore[attr-defined]
    del wrapper.__wrapped__
    return wrapper


def _arrive(name: str, run: platform.Run, origin: platform.Origin, memory: Memory, request: Request) -> _Visit:
    if name == "partial_open_channel":
        memory.confirm(origin)
    if request.body is None and not memory.has_keys():
        raise MessageError("this station has no key of the job any more; start the job again")
    body = open_body(request, run.organization, memory.keys()) if request.body is None else request.body
    return _Visit(run, origin, memory, request, body, question(request, *packed_parts(body)))


def _answer(function: Callable[..., Any], request_class: type, visit: _Visit, mock_data: Any) -> dict[str, Any]:
    request, memory = visit.request, visit.memory
    recorded = memory.recorded(visit.question_digest, request.reply_key)
    if recorded is not None:
        return _once_more(request, memory, recorded)
    station: Station | None = None
    ends = _ends(request)
    try:
        station = Station(visit.run, visit.origin, memory, request, mock_data)
        station.bind(visit.question_digest)
        asked = decode(request_class, visit.body)
        with arrival.as_agreed(station.manifest, station.policy):
            refusing.asked(station, asked)
            reply = function(station, asked)
        station.gate.check(reply)
        announced.check_summed(station, reply)
        refusing.answered(station)
        if ends:
            refusing.over(station)
        content = {"reply": encode(reply, raw=True), "spent": station.spent, "token": arrival.token_of(station)}
    except Exception as failure:
        told = refusing.counted(station, failure)
        log_error(log_line(told))
        refusal = {"error": list(describe(told)), "spent": station.spent if station is not None else {}}
        if not ends or not arrival.is_centrals(memory, request):
            return _seal(visit, refusal)
        content = refusal  # of the last round: nobody asks this station again, nor tells it that the job is over
    sealed = memory.record(
        visit.question_digest, request.reply_key, _seal(visit, content), also=request.signature.hex()
    )
    if ends:
        memory.wipe()
    return dict(sealed)


def _ends(request: Request) -> bool:
    """Return whether the job is over at this station once it has answered a request."""
    return request.last or request.function == "partial_close"


def _once_more(request: Request, memory: Memory, recorded: dict[str, Any]) -> dict[str, Any]:
    """Return a recorded reply, and wipe what the job has left: the first container may have ended between the two."""
    if _ends(request):
        memory.wipe()
    return dict(recorded)


def _seal(visit: _Visit, content: dict[str, Any]) -> dict[str, Any]:
    request, memory = visit.request, visit.memory
    return dict(seal_reply(request, visit.question_digest, visit.run.organization, content, memory.keys(), memory))


def _request_class(function: Callable[..., Any]) -> type:
    """Return the message class of a partial's second parameter."""
    name = list(inspect.signature(function).parameters)[1]
    return typing.cast(type, typing.get_type_hints(function)[name])


def central(function: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Make ``function(federation, asked) -> result`` remotely callable.

    Parameters
    ----------
    function : callable
        Its second parameter is annotated with the function's class of arguments (`declare.Arguments`).

    Returns
    -------
    callable
        Takes the arguments by name, and refuses unknown and missing ones. An error ends the task with one line in the log, by which the
        researcher reads why. However the task ends, the stations are told that the job is over.
    """
    name, declared = function.__name__, arguments_of(function)
    defaults = {one.name: one.default for one in declared.declared()}

    def body(federation: Federation, /, **arguments: Any) -> dict[str, Any]:
        """Fill arguments from the study's dictionary, check all of them, warn of those that have no effect, and call the function."""
        asked = declared.read(name, dictionaries.taken(federation, defaults, arguments))
        for text in asked.unused():
            federation.warn(text)
        federation.honest_fraction = getattr(asked, "honest_fraction", HONEST_FRACTION)
        with schema_errors(StationError, "what the stations sent"):
            return function(federation, asked)

    @functools.wraps(function)
    def wrapper(*positional: Any, mock_client: Any = None, **arguments: Any) -> dict[str, Any]:
        try:
            if positional:
                raise ArgumentError(f"{name} takes named arguments only: {', '.join(defaults)}")
            arguments = _composed(arguments)
            bare, claims = without_seals(arguments)
            plain = _plain(arguments)
            task = Task(_package(function, mock_client), name, digest_of(plain), claims, plain)
            federation = _join(mock_client, task)
            log_info(f"{name} starts")
            try:
                return body(federation, **bare)
            finally:
                federation.close()
        except Exception as failure:
            log_error(log_line(failure))
            raise _public(failure) from None

    wrapper.wrapped_in_algorithm_client_decorator = True  # type: ignore[attr-defined]
    wrapper.fedbayes_remote = "central"  # type: ignore[attr-defined]
    wrapper.fedbayes_declared = declared  # type: ignore[attr-defined]
    wrapper.fedbayes_body = body  # type: ignore[attr-defined]
    del wrapper.__wrapped__
    return wrapper


def _package(function: Callable[..., Any], mock_client: Any) -> str:
    """Return the image's package: the one that defines the function, or, for functions of the library, the one that the container runs."""
    own = function.__module__.partition(".")[0]
    if own != __name__.partition(".")[0]:
        return own
    return os.environ.get("PKG_NAME") or str(getattr(mock_client, "module_name", own))


def _join(mock_client: Any, task: Task) -> Federation:
    run = platform.current_run(mock_client)
    policy = Policy.from_environment()
    policy.check_function(task.function)
    client = mock_client if mock_client is not None else platform.algorithm_client()
    entry = None if run.mock else client.task.get(run.task)
    origin = platform.own_origin(run, mock_client, entry)
    return Federation(client, run, policy, origin, Memory(run, origin), task)


def _composed(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments with composed letters, as tables are read; models, whose seals are of what they hold, as they are."""
    plain = {}
    for name, value in arguments.items():
        try:
            plain[name] = value if name in MODEL_ARGUMENTS else composed_all(value)
        except SchemaError as problem:
            raise ArgumentError(f"{name}: {problem}") from None
        except RecursionError:
            raise ArgumentError("the arguments must be plain JSON") from None
    return plain


def _plain(arguments: dict[str, Any]) -> dict[str, Any]:
    from .results import strict_json

    try:
        return dict(strict_json(arguments))
    except (TypeError, RecursionError):
        raise ArgumentError("the arguments must be plain JSON") from None


def without_seals(arguments: dict[str, Any]) -> tuple[dict[str, Any], tuple[ModelClaim, ...]]:
    """Return the arguments without the seals of the models among them, and for each model its digest and seal as a claim."""
    bare, claims = dict(arguments), []
    for name in MODEL_ARGUMENTS:
        value = arguments.get(name)
        if isinstance(value, dict):
            bare[name], claim = _claim(value)
            claims.append(claim)
        elif isinstance(value, list):
            both = [_claim(model) if isinstance(model, dict) else (model, None) for model in value]
            bare[name] = [model for model, _ in both]
            claims += [claim for _, claim in both if claim is not None]
    return bare, tuple(claims)


def _claim(model: dict[str, Any]) -> tuple[dict[str, Any], ModelClaim]:
    try:
        return claim_of(model)
    except MessageError:
        raise ArgumentError("model: its seal is malformed; give the `model` of a result as it is") from None


def _public(failure: Exception) -> Exception:
    kind, text = describe(failure)
    return failure if type(failure) is KINDS.get(kind) and str(failure) == text else rebuild(kind, text)
