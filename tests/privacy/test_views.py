"""Views on neighbouring data with equal answers: the same rounds, order, sizes and fields, and nothing differs but uniform values."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from views_cases import COUNT, DP_FIT, QUESTIONS, Question, arguments_of, question_files
from views_kit import Different, Entry, compare, looks_uniform, record

from fedbayes.federation.gate import Public
from fedbayes.federation.perimeter import channel

ALGORITHMS = Path(__file__).resolve().parents[2] / "algorithms"


def runs(question: Question, times: int, other: bool) -> list[list[Entry]]:
    files, arguments = question_files(question, other), arguments_of(question)
    return [
        record(question.method, files, question.central, question.function, arguments, question.limits)[0]
        for _ in range(times)
    ]


def check(question: Question, times: int) -> None:
    helpers = tuple(number + 1 for number, text in enumerate(question_files(question, False).values()) if text is None)
    compare(runs(question, times, False), runs(question, times, True), helpers)


@pytest.mark.few(4)
@pytest.mark.parametrize("question", [each for each in QUESTIONS if each.quick], ids=lambda question: question.name)
def test_neighbours_with_equal_answers_look_alike(question: Question) -> None:
    check(question, 2)


@pytest.mark.audit
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_neighbours_with_equal_answers_look_alike_in_many_runs(question: Question) -> None:
    check(question, question.times)


def test_every_central_function_of_every_method_has_a_question() -> None:
    known = {
        (path.name, name)
        for path in ALGORITHMS.iterdir()
        if (path / "algorithm_store.json").exists()
        for name, function in vars(importlib.import_module(f"v6_{path.name}")).items()
        if getattr(function, "fedbayes_remote", "") == "central"
    }
    assert len({method for method, _ in known}) == 8
    limits = {(method, "disclosure_settings") for method, _ in known}  # asks for limits of nodes, not of tables
    assert known - limits == {(question.method, question.function) for question in QUESTIONS if question.quick}


# -- positive controls: what leaks is noticed ----------------------------------------------------------------------------------


def test_control_masks_that_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel, "pairwise_mask", lambda own, keys, label, shape: np.zeros(shape, dtype=np.uint64))
    with pytest.raises(Different, match="the same in every run"):
        check(DP_FIT, 2)


def test_control_masks_of_half_the_width(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = channel.pairwise_mask

    def short(own: int, keys: dict[int, bytes], label: str, shape: Any) -> Any:
        total = np.zeros(shape, dtype=np.uint64)
        for peer, key in keys.items():
            mask = whole(own, {peer: key}, label, shape)
            total += mask >> np.uint64(32) if own < peer else -(-mask >> np.uint64(32))
        return total

    monkeypatch.setattr(channel, "pairwise_mask", short)
    with pytest.raises(Different, match="not uniform"):
        check(DP_FIT, 4)


def test_control_a_value_in_a_public_field() -> None:
    first, second = runs(COUNT, 2, False), runs(COUNT, 2, True)
    with pytest.raises(Different, match="the same in every run"):
        compare([telling(run, 3) for run in first], [telling(run, 4) for run in second])


def telling(run: list[Entry], value: int) -> list[Entry]:
    return [*run[:-1], replace(run[-1], reply={"told": Public(value)})]


def test_control_a_random_value_that_is_not_uniform() -> None:
    """Such as a number under a small mask: other in every run, and no share."""
    first, second = runs(COUNT, 2, False), runs(COUNT, 2, True)
    with pytest.raises(Different, match="neither a share"):
        compare([telling(run, number) for number, run in enumerate(first)], [telling(run, 9) for run in second])


def longer(run: list[Entry]) -> list[Entry]:
    return [*run[:-1], replace(run[-1], body={**run[-1].body, "more": b"x"})]


@pytest.mark.audit
@pytest.mark.parametrize(
    ("leak", "told"),
    [
        (lambda run: [*run[:3], run[4], run[3], *run[5:]], "order"),
        (lambda run: run[:-1], "rounds"),
        (longer, "sizes"),
    ],
    ids=["order", "rounds", "sizes"],
)
def test_control_what_depends_on_the_table(leak: Callable[[list[Entry]], list[Entry]], told: str) -> None:
    first, second = runs(COUNT, 2, False), runs(COUNT, 2, True)
    compare(first, second)
    with pytest.raises(Different, match=told):
        compare(first, [leak(run) for run in second])


@pytest.mark.parametrize("most", [256, 128], ids=["uniform", "half"])
def test_control_parts_of_half_the_width_are_no_whole_sums(most: int) -> None:
    """What leaves the modulus in a sum of three uniform bytes is known; of smaller ones less does."""
    parts = np.random.default_rng(7).integers(0, most, (3, 4000))
    sums = parts.sum(axis=0).astype("<u2").view(np.uint8).reshape(-1, 2)
    assert looks_uniform([sums], whole_sums=True) == (most == 256)
