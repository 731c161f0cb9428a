"""`central` and `partial`: the only way in and out of a container.

A partial learns from the platform whose task it is, decodes its request, applies the node's policy, looks whether the platform runs it a second
time, computes, passes the gate, seals and records the reply. Whatever goes wrong becomes a sealed reply with the error's kind and message, so that the
researcher reads the cause at once; the message is made by `errors.describe` and carries no data. The seals of central's models are taken off here, and
the job is closed here, however it ends.
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

from . import arrival, dictionaries, platform
from .codec import decode, encode
from .declare import arguments_of
from .envelope import Request, open_body, question, seal_reply, whole
from .errors import KINDS, ArgumentError, MessageError, describe, log_line, rebuild
from .gate import check_reply_class
from .manifest import ModelClaim, claim_of, digest_of
from .memory import Memory
from .opening import Task
from .policy import Policy
from .rounds import Federation
from .station import Station

MODEL_ARGUMENTS = ("model", "models")


@dataclass(frozen=True, slots=True)
class _Visit:
    """One run of a partial: who runs it, for whom, what is asked."""

    run: platform.Run
    origin: platform.Origin
    memory: Memory
    request: Request
    body: Any
    asked: str


def partial(function: Callable[[Station, Any], Any]) -> Callable[..., dict[str, Any]]:
    """Make ``function(station, request) -> reply`` remotely callable, by the central function of its own job only.

    Parameters
    ----------
    function : callable
        Annotated with its request's and its reply's message class.

    Returns
    -------
    callable
        ``wrapper(message, mock_client=None, mock_data=None)``; the last two belong to vantage6's `MockAlgorithmClient`
        and are refused inside a real container.

    Raises
    ------
    TypeError
        If a field of the reply does not say why it may leave a station; see `federation.gate`.
    """
    name = function.__name__
    check_reply_class(typing.get_type_hints(function).get("return"))

    @functools.wraps(function)
    def wrapper(message: Any = None, mock_client: Any = None, mock_data: Any = None) -> dict[str, Any]:
        try:
            run = platform.current_run(mock_client)
            if mock_data is not None and not run.mock:
                raise ArgumentError("mock_data is no argument of a real task; leave it out")
            origin = platform.sub_task_origin(run, mock_client)
            request: Request = decode(Request, message)
            if request.filed and request.sender == run.organization:
                request = whole(request, Memory(run, origin))
            request.check(name)
            memory = Memory(run, origin)
            with memory.alone(request.signature.hex()):
                # The same request once more: the platform runs it again, perhaps after the job's keys were wiped.
                recorded = memory.recorded(request.signature.hex(), request.reply_key)
                if recorded is not None:
                    return dict(recorded)
                visit = _arrive(name, run, origin, memory, request)
                return _answer(function, visit, mock_data)
        except Exception as failure:
            log_error(log_line(failure))
            raise _public(failure) from None

    wrapper.wrapped_in_algorithm_client_decorator = True  # type: ignore[attr-defined]
    wrapper.wrapped_in_data_decorator = True  # type: ignore[attr-defined]
    wrapper.fedbayes_remote = "partial"  # type: ignore[attr-defined]
    del wrapper.__wrapped__
    return wrapper


def _arrive(name: str, run: platform.Run, origin: platform.Origin, memory: Memory, request: Request) -> _Visit:
    if name == "partial_open_channel":
        memory.confirm(origin)
    if request.body is None and not memory.has_keys():
        raise MessageError("this station has no key of the job any more; start the job again")
    body = open_body(request, run.organization, memory.keys()) if request.body is None else request.body
    return _Visit(run, origin, memory, request, body, question(request, body))


def _answer(function: Callable[..., Any], visit: _Visit, mock_data: Any) -> dict[str, Any]:
    request, memory = visit.request, visit.memory
    recorded = memory.recorded(visit.asked, request.reply_key)
    if recorded is not None:
        return dict(recorded)
    station: Station | None = None
    try:
        station = Station(visit.run, visit.origin, memory, request, mock_data)
        station.bind(visit.asked)
        reply = function(station, decode(_request_class(function), visit.body))
        station.gate.check(reply)
        content = {"reply": encode(reply, raw=True), "spent": station.spent, "token": arrival.token_of(station)}
    except Exception as failure:
        log_error(log_line(failure))
        spent = station.spent if station is not None else {}
        return _seal(visit, {"error": list(describe(failure)), "spent": spent})
    sealed = memory.record(visit.asked, request.reply_key, _seal(visit, content), also=request.signature.hex())
    if request.last or function.__name__ == "partial_close":
        memory.wipe()
    return dict(sealed)


def _seal(visit: _Visit, content: dict[str, Any]) -> dict[str, Any]:
    request, memory = visit.request, visit.memory
    return dict(seal_reply(request, visit.asked, visit.run.organization, content, memory.keys(), memory))


def _request_class(function: Callable[..., Any]) -> type:
    """Return the message class of a partial's second parameter."""
    name = list(inspect.signature(function).parameters)[1]
    return typing.cast(type, typing.get_type_hints(function)[name])


def central(function: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Make ``function(federation, asked) -> result`` remotely callable, `asked` annotated with its class of arguments.

    Callers give the arguments by name; see `declare`. Unknown and missing arguments are refused by name; an error ends the task, and its one line in the
    log tells the researcher why. However it ends, the stations are told that the job is over.
    """
    name, declared = function.__name__, arguments_of(function)
    known = {one.name: one.default for one in declared.declared()}

    def body(federation: Federation, **arguments: Any) -> dict[str, Any]:
        """Check the arguments, those that the study's dictionary fills among them, warn of what is not used, and hand them on."""
        asked = declared.read(name, dictionaries.taken(federation, known, arguments))
        for text in asked.unused():
            federation.warn(text)
        return function(federation, asked)

    @functools.wraps(function)
    def wrapper(*positional: Any, mock_client: Any = None, **arguments: Any) -> dict[str, Any]:
        try:
            if positional:
                raise ArgumentError(f"{name} takes named arguments only: {', '.join(known)}")
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
    """Return the image's package: that of the function; of the library's functions, which every image has, the one that runs."""
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


def _plain(arguments: dict[str, Any]) -> dict[str, Any]:
    from .results import strict_json

    try:
        return dict(strict_json(arguments))
    except (TypeError, RecursionError):
        raise ArgumentError("the arguments must be plain JSON") from None


def without_seals(arguments: dict[str, Any]) -> tuple[dict[str, Any], tuple[ModelClaim, ...]]:
    """Return the arguments with the seals taken off the models among them, and what is claimed of each model."""
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
    return failure if type(failure) is KINDS.get(kind) else rebuild(kind, text)
