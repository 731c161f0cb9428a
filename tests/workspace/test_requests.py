"""The page on what a deviating central can say: it has every field of every request, once, and what holds it."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
import typing
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from fedbayes.federation import Message, Station
from fedbayes.federation.perimeter.opening import Preflight, Relation

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/requests.md"
METHODS = sorted(path.name for path in (ROOT / "algorithms").iterdir() if (path / "pyproject.toml").exists())
HELD = ("manifest", "station", "question", "nothing")
PROMISED = {one.name for one in dataclasses.fields(Relation)} - {"rows", "id_column"} | {
    "epsilon",
    "delta",
    "honest_fraction",
}
"""Names of what a promise consists of; numbers of rows and columns of identifiers are in other messages too."""


def requests() -> Iterator[type]:
    """Yield the message class of every partial function of every method."""
    for method in METHODS:
        package = importlib.import_module(f"v6_{method}")
        for name in package.__all__:
            request = getattr(getattr(package, name), "fedbayes_request", None)
            if request is not None:
                yield request


def messages_in(kind: Any) -> Iterator[type]:
    """Yield the message classes in a type."""
    if isinstance(kind, type) and issubclass(kind, Message):
        yield kind
    for part in typing.get_args(kind):
        yield from messages_in(part)


@cache
def fields_in_code() -> dict[str, dict[str, Any]]:
    """Return message -> field -> its type, of all that central can send; a field that is a message of its own is in that one's entry."""
    found: dict[type, dict[str, Any]] = {}
    left = list(requests())
    while left:
        one = left.pop()
        if one in found:
            continue
        hints = typing.get_type_hints(one)
        kinds = {field.name: hints[field.name] for field in dataclasses.fields(one)}
        parts = {name: list(messages_in(kind)) for name, kind in kinds.items()}
        found[one] = {name: kinds[name] for name, inner in parts.items() if not inner}
        left += [part for inner in parts.values() for part in inner]
    return {called(one): fields for one, fields in found.items()}


def called(message: type) -> str:
    """Return what the page calls a message."""
    place = f"{message.__module__}.{message.__qualname__}"
    return re.sub(r"^(fedbayes\.federation\.|v6_)", "", place)


def on_the_page() -> dict[str, dict[str, list[str]]]:
    """Return message -> what holds a field -> fields, as the page has them."""
    rows = re.findall(r"^\| `([\w.]+)` \|(.*)\|(.*)\|(.*)\|(.*)\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return {name: dict(zip(HELD, (re.findall(r"\w+", cell) for cell in cells), strict=True)) for name, *cells in rows}


@pytest.mark.parametrize("message", sorted(fields_in_code()))
def test_every_field_that_central_sends_is_on_the_page_once(message: str) -> None:
    """A new field needs an entry: who holds it to what was asked for, and if nobody does, why that is no harm."""
    listed = on_the_page().get(message, {})
    told = sorted(name for names in listed.values() for name in names)
    assert told == sorted(fields_in_code()[message]), f"docs/requests.md: the row of `{message}`"


def test_the_page_has_no_message_that_is_not_sent() -> None:
    sent = {message for message, fields in fields_in_code().items() if fields}
    assert set(on_the_page()) == sent


def test_what_a_promise_consists_of_is_held_against_the_manifest() -> None:
    """By name, whatever the message: a new one with an epsilon or a relation that nothing holds fails here."""
    promised = {(message, name) for message, fields in fields_in_code().items() for name in fields if name in PROMISED}
    held = {(message, name) for message, entry in on_the_page().items() for name in entry["manifest"]}
    assert promised <= held
    assert {name for _, name in promised} >= {"epsilon", "delta", "neighbors", "honest_fraction", "unit"}


def test_a_release_cannot_leave_out_whom_it_is_for() -> None:
    assert inspect.signature(Station.charge).parameters["relation"].default is inspect.Parameter.empty
    assert Preflight().relation is None, "a job that announces no relation pays for nothing"
