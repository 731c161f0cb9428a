"""`central` and `partial`: the only way in and out of a container.

A partial decodes its request, applies the node's policy, looks whether the platform runs it a second time, computes, records the reply, seals it. Whatever
goes wrong becomes a sealed reply with the error's kind and message, so that the researcher reads the cause at once; the message is made by
`errors.describe` and carries no data.
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable
from typing import Any

from vantage6.algorithm.tools.util import error as log_error
from vantage6.algorithm.tools.util import info as log_info

from . import platform
from .channel import KEY_FILE, own_keys
from .codec import decode, encode
from .envelope import Request, seal_reply
from .errors import KINDS, ArgumentError, describe, log_line, rebuild
from .policy import Policy
from .rounds import Federation
from .station import Station


def partial(function: Callable[[Station, Any], Any]) -> Callable[..., dict[str, Any]]:
    """Make ``function(station, request) -> reply`` remotely callable.

    Parameters
    ----------
    function : callable
        Annotated with its request's and its reply's message class.

    Returns
    -------
    callable
        ``wrapper(message, mock_client=None, mock_data=None)``; the last two belong to vantage6's `MockAlgorithmClient`
        and are refused inside a real container.
    """
    name = function.__name__

    @functools.wraps(function)
    def wrapper(message: Any = None, mock_client: Any = None, mock_data: Any = None) -> dict[str, Any]:
        try:
            run = platform.current_run(mock_client)
            if mock_data is not None and not run.mock:
                raise ArgumentError("mock_data is no argument of a real task; leave it out")
            request: Request = decode(Request, message)
            request.check(name)
        except Exception as failure:
            log_error(log_line(failure))
            raise _public(failure) from None
        return _answer(function, run, request, mock_data)

    wrapper.wrapped_in_algorithm_client_decorator = True  # type: ignore[attr-defined]
    wrapper.wrapped_in_data_decorator = True  # type: ignore[attr-defined]
    wrapper.fedbayes_remote = "partial"  # type: ignore[attr-defined]
    del wrapper.__wrapped__
    return wrapper


def _answer(function: Callable[..., Any], run: platform.Run, request: Request, mock_data: Any) -> dict[str, Any]:
    from ..mpc.relay import KeyPair

    station: Station | None = None
    try:
        policy = Policy.from_environment()
        policy.check_function(request.function)
        station = Station(run, request, policy, mock_data)
        station.bind()
        content = station.recorded()
        if content is None:
            kind = next(iter(_message_types(function)))
            reply = function(station, decode(kind, request.body))
            content = station.record({"reply": encode(reply)})
    except Exception as failure:
        log_error(log_line(failure))
        kind_name, text = describe(failure)
        content = {"error": [kind_name, text]}
    open_channel = station is not None and (station.folder / KEY_FILE).exists()
    keys = own_keys(station.folder) if station is not None and open_channel else KeyPair.generate()
    sealed = seal_reply(request, run.organization, content, keys)
    if station is not None and request.last and "error" not in content:
        station.wipe()
    return sealed


def _message_types(function: Callable[..., Any]) -> list[type]:
    hints = typing.get_type_hints(function)
    return [hints[parameter] for parameter in list(inspect.signature(function).parameters)[1:]]


def central(function: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Make ``function(federation, **arguments) -> result`` remotely callable.

    Unknown and missing arguments are refused by name; an error ends the task, and its one line in the log tells
    the researcher why.
    """
    name = function.__name__
    signature = inspect.signature(function)
    known = list(signature.parameters)[1:]

    @functools.wraps(function)
    def wrapper(*positional: Any, mock_client: Any = None, **arguments: Any) -> dict[str, Any]:
        try:
            if positional:
                raise ArgumentError(f"{name} takes named arguments only: {', '.join(known)}")
            _check_arguments(name, signature, known, arguments)
            run = platform.current_run(mock_client)
            policy = Policy.from_environment()
            policy.check_function(name)
            federation = Federation(
                mock_client if mock_client is not None else platform.algorithm_client(), run, policy
            )
            log_info(f"{name} starts")
            return function(federation, **arguments)
        except Exception as failure:
            log_error(log_line(failure))
            raise _public(failure) from None

    wrapper.wrapped_in_algorithm_client_decorator = True  # type: ignore[attr-defined]
    wrapper.fedbayes_remote = "central"  # type: ignore[attr-defined]
    wrapper.fedbayes_arguments = signature  # type: ignore[attr-defined]
    del wrapper.__wrapped__
    return wrapper


def _public(failure: Exception) -> Exception:
    kind, text = describe(failure)
    return failure if type(failure) is KINDS.get(kind) else rebuild(kind, text)


def _check_arguments(name: str, signature: inspect.Signature, known: list[str], arguments: dict[str, Any]) -> None:
    unknown = [argument for argument in arguments if argument not in known]
    if unknown:
        raise ArgumentError(f"{name} has no argument '{unknown[0][:60]}'; it takes: {', '.join(known)}")
    for argument in known:
        if argument not in arguments and signature.parameters[argument].default is inspect.Parameter.empty:
            raise ArgumentError(f"{name} needs the argument '{argument}'")
