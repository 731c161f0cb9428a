"""What an argument declares is what it takes: the ends of its range and its choices pass, what is just outside is refused by its name."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

import pytest
from harness.registry import METHODS
from harness.wrong import JSON, WRONG, beyond, declared, within

from fedbayes.federation.declare import Argument
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.signatures import central_functions


def arguments() -> Iterator[tuple[str, Argument]]:
    for method in METHODS:
        for function, _ in central_functions(importlib.import_module(f"v6_{method}")):
            for name, one in declared(method, function).items():
                yield f"{method}.{function}.{name}", one


ALL = dict(arguments())


@pytest.mark.parametrize("place", ALL)
def test_what_is_declared_is_taken(place: str) -> None:
    one = ALL[place]
    for value in within(one):
        assert one.check(value) == value
    if not one.required:
        one.check(one.default)


@pytest.mark.parametrize("place", [place for place, one in ALL.items() if beyond(one)])
def test_what_is_just_outside_is_refused_by_name(place: str) -> None:
    one = ALL[place]
    for value in beyond(one):
        with pytest.raises(ArgumentError, match=rf"^{one.name}\b"):
            one.check(value)


def test_every_argument_has_wrong_values() -> None:
    without = [
        place
        for place, one in ALL.items()
        if (one.name not in JSON if one.declared.kind.store == "json" else one.declared.kind.store not in WRONG)
    ]
    assert without == [], "give values of a form of its own that are wrong, in JSON of harness/wrong.py"
    assert set(JSON) <= {one.name for one in ALL.values()}, "wrong values of arguments that there are no more"
