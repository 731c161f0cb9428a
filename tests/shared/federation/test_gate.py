"""Everything that leaves a station says by its type why it may; whoever forgets is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fedbayes.federation import (
    Broadcast,
    Exact,
    Masked,
    Message,
    Public,
    Released,
    Sealed,
    Share,
    Station,
    errors,
    partial,
)
from fedbayes.federation.gate import Gate, Receipt, check_reply_class
from fedbayes.federation.guards.uniform import is_uniform
from fedbayes.federation.messages.codec import encode
from fedbayes.federation.node.policy import Policy
from fedbayes.federation.perimeter.opening import Preflight, Relation
from fedbayes.randomness import secret_bytes

ROWS = Relation("add_remove")

MEMBERS = (1, 2, 3)


class Ask(Message):
    """A request."""


class Inner(Message):
    """Part of a reply."""

    share: Share[np.ndarray]


class Good(Message):
    """Every reason, and containers of them."""

    names: Public[tuple[str, ...]]
    total: Exact[int] | None
    noisy: dict[str, Released[np.ndarray]]
    masked: Masked
    letters: dict[int, Sealed]
    sent: list[Broadcast]
    inner: tuple[Inner, ...]


@pytest.mark.parametrize("kind", [np.ndarray, int, float, str, bytes, Any, dict[str, int], list[bytes], Ask | int])
def test_a_reply_with_a_bare_field_cannot_even_be_defined(kind: Any) -> None:
    Bad = type("Bad", (Message,), {"__annotations__": {"value": kind}})

    def partial_bad(station: Station, request: Ask) -> None:
        """Return something raw."""

    partial_bad.__annotations__["return"] = Bad
    partial_bad.__annotations__["station"], partial_bad.__annotations__["request"] = Station, Ask
    with pytest.raises(TypeError, match="does not say why it may leave"):
        partial(partial_bad)


def test_a_reply_of_reasons_can_be_defined() -> None:
    check_reply_class(Good)
    with pytest.raises(TypeError):
        check_reply_class(None)


def station(**limits: Any) -> Station:
    """Return a station with everything that its makers need, and a real gate."""
    made = object.__new__(Station)
    made.policy, made.gate, made.participants, made.organization = Policy(**limits), Gate(), MEMBERS, 1
    names = {member: f"organization {member}" for member in MEMBERS}
    made.manifest = SimpleNamespace(members=MEMBERS, stations=MEMBERS, names=names, models=(), algorithm="v6_toy")  # type: ignore[assignment]
    made.spent = {"epsilon": 0.0, "delta": 0.0, "queries": 0.0}
    told = json.dumps(encode(Preflight(epsilon=2.0, relation=ROWS))).encode()
    made.memory = SimpleNamespace(  # type: ignore[assignment]
        read=lambda name: told if name == "announced" else None,
        once=lambda name, content: content,
        note=lambda kind, content: None,
        noted=lambda kind: [],
    )
    made.round_name, made.function = "1:x", "partial_x"
    made.__dict__["dictionary"], made.__dict__["_source"] = None, SimpleNamespace(present=True)
    made.__dict__["history"] = SimpleNamespace(check=lambda summed: None)
    made.__dict__["channel"] = SimpleNamespace(
        mask=lambda values, participants, topic: np.asarray(values).astype(np.uint64),
        check_word=lambda participants, topic: np.zeros(1, np.uint64),
        seal=lambda receiver, payload, topic: payload,
        broadcast=lambda receivers, payload, topic: (payload, {}),
    )
    return made


def reply_of(own: Station) -> Good:
    exact = own.exact(np.arange(3), "sum")
    return Good(
        names=own.public(("a", "b")),
        total=own.exact(7, "n"),
        noisy={"x": own.released(np.arange(3), own.charge(0.5, relation=ROWS))},
        masked=own.mask(exact),
        letters={2: own.seal(2, b"x", "t")},
        sent=[own.broadcast([2, 3], b"x", "t")],
        inner=(Inner(own.share(np.frombuffer(secret_bytes(512), np.uint64))),),
    )


def test_what_the_station_made_may_leave() -> None:
    own = station()
    own.gate.check(reply_of(own))
    assert own.spent == {"epsilon": 0.5, "delta": 0.0, "queries": 2.0}


@pytest.mark.parametrize("field", ["names", "total", "noisy", "masked", "letters", "sent", "inner"])
def test_a_value_that_the_station_did_not_make_is_refused(field: str) -> None:
    """An honest looking type is not enough: the very object must come from this station in this round."""
    own, other = station(), station()
    reply = replace(reply_of(own), **{field: getattr(reply_of(other), field)})
    with pytest.raises(errors.PolicyError, match="does not say why it may leave"):
        own.gate.check(reply)


@pytest.mark.parametrize("raw", [np.arange(3), 3, "x", b"x", 1.5])
def test_a_raw_value_is_refused_when_it_would_leave(raw: Any) -> None:
    with pytest.raises(errors.PolicyError):
        station().gate.check(Inner(raw))


@pytest.mark.parametrize("value", [np.arange(3), 1.5, [1.5], {"a": np.ones(1)}, b"x" * 5000, object()])
def test_numbers_and_arrays_are_no_public_metadata(value: Any) -> None:
    with pytest.raises(errors.PolicyError, match="public"):
        station().public(value)


@pytest.mark.parametrize(
    "value",
    [np.arange(100), np.zeros(64, np.uint64), np.random.default_rng(0).normal(size=100), b"a" * 300, "text"],
)
def test_what_is_not_uniform_is_no_share(value: Any) -> None:
    with pytest.raises(errors.PolicyError, match="not uniform"):
        station().share(value)


@pytest.mark.parametrize("size", [0, 10, 256, 4096, 3_000_001])
def test_uniform_bytes_are_shares(size: int) -> None:
    content = secret_bytes(size) if size < 5000 else np.random.default_rng(1).bytes(size)
    assert is_uniform(content)
    assert is_uniform(np.frombuffer(content[: size // 8 * 8], np.uint64))


def test_indicators_under_a_mask_of_a_small_range_are_found_out() -> None:
    """The masks of the published prototypes: small whole numbers over the integers."""
    rng = np.random.default_rng(2)
    assert not is_uniform((rng.integers(0, 2, 500) + rng.integers(1, 11, 500)).astype(np.uint64))


def test_exact_numbers_stay_where_only_private_answers_leave() -> None:
    with pytest.raises(errors.PolicyError, match="private answers only"):
        station(allow_non_private=False).exact(3, "n")


def test_exact_numbers_need_the_nodes_minimum_of_organizations() -> None:
    with pytest.raises(errors.ThresholdError, match="fewer organizations"):
        station(minimum_organizations=4).exact(3, "n")
    with pytest.raises(errors.ThresholdError, match="fewer organizations"):
        station(minimum_organizations=4).share(secret_bytes(8))


@pytest.mark.parametrize(("counts", "passes"), [([0, 5, 9], True), ([0, 4], False), ([1], False), ([], True)])
def test_counts_behind_a_number_are_none_or_enough(counts: list[int], passes: bool) -> None:
    if passes:
        assert station().exact(1.0, "mean", counts=counts).value == 1.0
    else:
        with pytest.raises(errors.ThresholdError, match="fewer records"):
            station().exact(1.0, "mean", counts=counts)


def test_only_what_was_charged_is_released() -> None:
    with pytest.raises(errors.PolicyError, match="not charged"):
        station().released(np.arange(3), Receipt(1.0, 0.0))
    own = station()
    with pytest.raises(errors.PolicyError, match="not charged"):
        own.released(1, station().charge(1.0, relation=ROWS))


@pytest.mark.parametrize("content", [np.arange(3), Exact(np.arange(3)), Released(np.arange(3)), Public(3)])
def test_only_exact_or_released_numbers_are_masked(content: Any) -> None:
    with pytest.raises(errors.PolicyError, match="may be masked"):
        station().mask(content)


def test_without_a_manifest_nothing_but_metadata_leaves() -> None:
    own = station()
    own.manifest = None
    own.public("x")
    for leave in (
        lambda: own.exact(1, "n"),
        lambda: own.charge(1.0, relation=ROWS),
        lambda: own.share(b""),
        lambda: own.seal(2, b"", "t"),
    ):
        with pytest.raises(errors.MessageError, match="channel is not open"):
            leave()
