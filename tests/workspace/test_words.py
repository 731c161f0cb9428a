"""One word, one meaning: what arguments of several methods are called, and the spellings of old."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from fedbayes.dp.neighbors import NEIGHBORS, OF_RECORDS
from fedbayes.federation.declare import Argument
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.signatures import central_functions

ROOT = Path(__file__).resolve().parents[2]
METHODS = sorted(path.parent.name for path in ROOT.glob("algorithms/*/pyproject.toml"))
RETIRED = {"target": "label", "partitioning": "split"}
SPELLINGS = ("as_published", "local_as_published")


def declared() -> Iterator[tuple[str, str, Argument]]:
    for method in METHODS:
        for name, function in central_functions(importlib.import_module(f"v6_{method}")):
            assert function.fedbayes_declared is not None, f"{method}.{name} does not declare its arguments"  # type: ignore[attr-defined]
            for one in function.fedbayes_declared.declared():  # type: ignore[attr-defined]
                yield method, name, one


ARGUMENTS = list(declared())


def test_no_argument_has_a_retired_name() -> None:
    found = [f"{method}.{name}: {one.name}" for method, name, one in ARGUMENTS if one.name in RETIRED]
    assert found == []
    assert all(RETIRED[old] == one.name for _, _, one in ARGUMENTS for old in one.declared.formerly)


@pytest.mark.parametrize(
    ("method", "name", "one"),
    [entry for entry in ARGUMENTS if "published" in entry[2].declared.kind.choices],
    ids=lambda part: part if isinstance(part, str) else part.name,
)
def test_published_has_one_spelling(method: str, name: str, one: Argument) -> None:
    assert not [choice for choice in one.declared.kind.choices if choice.endswith("_published")]
    for old in SPELLINGS:
        with pytest.raises(ArgumentError, match=f"{one.name}.*published"):
            one.check(old)


def test_every_former_spelling_is_refused_with_the_new_one() -> None:
    had = {
        "dp_naive_bayes": ("fit", "sensitivity", "local_as_published"),
        "smooth_naive_bayes": ("fit", "sensitivity", "as_published"),
        "discriminative_naive_bayes": ("fit", "prior", "as_published"),
        "secure_naive_bayes": ("fit", "noise", "as_published"),
        "bayesian_ensemble": ("evaluate", "scoring", "as_published"),
    }
    for method, (name, argument, old) in had.items():
        (one,) = [one for m, n, one in ARGUMENTS if (m, n, one.name) == (method, name, argument)]
        with pytest.raises(ArgumentError, match=f"{argument}='{old}' is now called 'published'"):
            one.check(old)


@pytest.mark.parametrize("name", ["honest_fraction", "helper", "organizations", "split", "rows_aligned", "label"])
def test_a_word_is_of_one_kind(name: str) -> None:
    """The same type and range wherever it stands; of `split` the ways that a method knows."""
    kinds = {
        (one.declared.kind.store, tuple(sorted(one.declared.kind.limits.items())))
        for _, _, one in ARGUMENTS
        if one.name == name
    }
    assert len(kinds) == 1


def test_defaults_that_are_the_same_everywhere() -> None:
    for name in ("honest_fraction", "helper", "organizations", "rows_aligned", "id_column", "domain"):
        defaults = {repr(one.default) for _, _, one in ARGUMENTS if one.name == name and not one.required}
        assert len(defaults) == 1, f"{name}: {defaults}"


def test_a_neighbouring_relation_has_one_default_for_rows_and_one_for_matched_records() -> None:
    found = {(tuple(one.declared.kind.choices), one.default) for _, _, one in ARGUMENTS if one.name == "neighbors"}
    assert found == {(choices, choices[0]) for choices in (NEIGHBORS, OF_RECORDS)}


def test_ways_of_splitting_have_one_name_each() -> None:
    ways = {choice for _, _, one in ARGUMENTS if one.name == "split" for choice in one.declared.kind.choices}
    assert ways == {"vertical", "horizontal", "hybrid"}
