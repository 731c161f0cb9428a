"""Arguments that are declared once: checks, contradictions, warnings, descriptions, store files and pages follow."""

from __future__ import annotations

import inspect
import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import store_files
from fedbayes.federation import central, kinds, signatures
from fedbayes.federation.declare import PARTIES, TARGET, Arguments, argument, unless, when
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.kinds import choice, number, whole


class Group(Arguments):
    organizations: list[Any] | None = argument(kinds.ORGANIZATIONS, "Who takes part.", None, rank=PARTIES)
    noise: str = argument(choice(("whole", "shared", "none"), {"off": "none"}), "How noise is added.", "shared")

    def check_together(self) -> None:
        super().check_together()
        if self.noise == "none" and self.organizations is not None:
            raise ArgumentError("organizations need noise; leave them out")


class Fit(Group):
    bins: int = argument(whole(1, 100), "Bins of the column.", 20, unit="bins")
    honest: float = argument(
        number(above=0, high=1), "Share.", 0.8, used_when=when("noise", "shared"), why="else it is whole"
    )
    scale: float | None = argument(number(low=0), "Scale.", None, used_when=unless("noise", "none"))
    steps: int = argument(whole(1, 9), "Steps.", 3, used_when=(when("scale"), when("noise", "shared", "whole")))
    stop: float = argument(number(low=0), "Stop.", 0.5, used_when=unless("scale"))
    other: int = argument(whole(0, 9), "Of another function.", 0, used_when=when("not_here"))
    label: str = argument(kinds.COLUMN, "Class column.", rank=TARGET, formerly=("target",))


@central
def fit(federation: Any, asked: Fit) -> dict[str, Any]:
    """Fit nothing.

    Returns
    -------
    dict
        Nothing.
    """
    return {}


def read(**changes: Any) -> Fit:
    return Fit.read("fit", {"label": "class", **changes})


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"labl": 1}, r"fit has no argument 'labl' \(did you mean 'label'\?\); it takes: label, "),
        ({"zzzz": 1}, r"fit has no argument 'zzzz'; it takes: label, "),
        ({"x" * 10_000: 1}, "fit has no argument 'x{60}'"),
        ({"target": "class"}, "fit has no argument 'target': it is now called 'label'; give label"),
        ({"noise": "off"}, "noise='off' is now called 'none'; give noise='none'"),
        ({"noise": "loud"}, "noise must be one of: whole, shared, none"),
        ({"noise": None}, "noise must be one of"),
        ({"label": None}, "label must be a name"),
        ({"bins": 0}, "bins must be a whole number, at least 1 and at most 100"),
        ({"honest": "SECRET"}, "honest must be a number, greater than 0 and at most 1"),
        ({"organizations": []}, "organizations must be a list"),
        ({"noise": "none", "organizations": [1]}, "organizations need noise"),
    ],
)
def test_wrong_arguments_are_refused_by_name(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(ArgumentError, match=text) as refused:
        read(**changes)
    assert "SECRET" not in str(refused.value)
    assert len(str(refused.value)) < 300


def test_a_missing_argument_is_named() -> None:
    with pytest.raises(ArgumentError, match="fit needs the argument 'label': give a column"):
        Fit.read("fit", {})


def test_values_come_as_they_were_checked() -> None:
    asked = read(bins=3.0, organizations=("a", 2))
    assert (asked.bins, type(asked.bins)) == (3, int)
    assert asked.organizations == ["a", 2]
    assert (asked.honest, asked.scale, asked.noise) == (0.8, None, "shared")


@pytest.mark.parametrize(
    ("changes", "warnings"),
    [
        ({}, []),
        ({"honest": 0.8, "noise": "none"}, []),
        ({"honest": 0.5, "noise": "whole"}, ["honest has no effect without noise='shared': else it is whole"]),
        ({"scale": 2, "noise": "none"}, ["scale has no effect with noise='none'"]),
        ({"scale": 2, "noise": "whole", "steps": 4}, []),
        ({"steps": 4}, ["steps has no effect without scale"]),
        ({"steps": 4, "noise": "none"}, ["steps has no effect without scale and without noise='shared' or 'whole'"]),
        ({"stop": 1, "scale": 2}, ["stop has no effect with scale"]),
        ({"other": 4}, []),
    ],
)
def test_what_was_given_and_is_not_used_is_told(changes: dict[str, Any], warnings: list[str]) -> None:
    assert read(**changes).unused() == warnings


def test_the_order_is_target_own_unit_parties() -> None:
    names = [one.name for one in Fit.declared()]
    assert names[0] == "label"
    assert names[-1] == "organizations"
    assert list(inspect.signature(fit).parameters) == ["positional", "mock_client", "arguments"]
    assert fit.fedbayes_declared is Fit  # type: ignore[attr-defined]
    assert [one.name for one in Fit.declared() if one.required] == ["label"]


def test_the_body_warns_and_hands_on_what_was_checked() -> None:
    warned: list[str] = []
    federation = SimpleNamespace(warn=warned.append)
    assert fit.fedbayes_body(federation, label="class", steps=4) == {}  # type: ignore[attr-defined]
    assert warned == ["steps has no effect without scale"]
    with pytest.raises(ArgumentError, match="now called 'label'"):
        fit.fedbayes_body(federation, target="class")  # type: ignore[attr-defined]


def test_a_description_is_json_and_complete() -> None:
    told = signatures.describe(fit)
    assert json.loads(json.dumps(told)) == told
    assert told["summary"] == "Fit nothing."
    named = {one["name"]: one for one in told["arguments"]}
    assert named["label"]["required"]
    assert named["bins"]["limits"] == {"low": 1, "high": 100}
    assert named["bins"]["unit"] == "bins"
    assert named["noise"]["choices"] == ["whole", "shared", "none"]
    assert named["stop"]["used_when"] == [{"argument": "scale", "is": "left out"}]
    assert named["scale"]["used_when"] == [{"argument": "noise", "is": "none of", "values": ["none"]}]
    assert named["steps"]["used_when"][0] == {"argument": "scale", "is": "given"}
    assert named["other"]["used_when"] == []


def test_the_store_is_told_choices_defaults_and_one_condition() -> None:
    module = SimpleNamespace(
        __name__="v6_made",
        __all__=["fit", "partial_close"],
        fit=fit,
        partial_close=print,
        arguments=SimpleNamespace(STORE=signatures.Store("Made", "Made up.", "horizontal")),
    )
    content = store_files.store_of(module, "image:1", "4.15")  # type: ignore[arg-type]
    assert [function["type"] for function in content["functions"]] == ["central", "federated"]
    named = {one["name"]: one for one in content["functions"][0]["arguments"]}
    assert "has_default_value" not in named["label"]
    assert named["bins"]["default_value"] == "20"
    assert named["noise"]["allowed_values"] == ["whole", "shared", "none"]
    assert "default_value" not in named["scale"]
    assert list(named)[-1] == "dictionary"
    assert named["dictionary"]["has_default_value"]
    assert "default_value" not in named["dictionary"]
    conditions = {
        name: (one["conditional_on"], one["conditional_operator"], one.get("conditional_value"))
        for name, one in named.items()
        if "conditional_on" in one
    }
    assert conditions == {
        "honest": ("noise", "==", "shared"),
        "scale": ("noise", "!=", "none"),
        "steps": ("scale", "!=", None),
        "stop": ("scale", "==", None),
    }


def test_a_page_names_what_is_as_before_below_the_table() -> None:
    module = SimpleNamespace(__all__=["again", "fit"], fit=fit, again=fit)
    text = store_files.page_of(module)  # type: ignore[arg-type]
    assert text.count("| `label` |") == 1
    assert "`again` takes `label`, " in text


@settings(deadline=None, max_examples=60)
@given(
    st.dictionaries(
        st.sampled_from([one.name for one in Fit.declared()]),
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.none()),
        max_size=4,
    )
)
def test_whatever_is_given_is_accepted_or_refused_by_name(changes: dict[str, Any]) -> None:
    try:
        read(**changes)
    except ArgumentError as error:
        assert any(name in str(error) for name in changes)  # noqa: PT017
