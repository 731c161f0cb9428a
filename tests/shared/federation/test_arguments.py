"""Every check of an argument refuses nonsense by the argument's name."""

import math

import pytest

from fedbayes.federation import arguments
from fedbayes.federation.errors import ArgumentError

NONSENSE = [
    None,
    True,
    "",
    "x" * 300,
    "a\nb",
    math.nan,
    math.inf,
    -1,
    10**400,
    [],
    {},
    [None],
    [[]],
    {"": 1},
    b"x",
    object(),
]


def refusal(check, value):
    """Return the text of the refusal, or None if the value is accepted."""
    try:
        check("epsilon", value)
    except ArgumentError as error:
        return str(error)
    return None


@pytest.mark.parametrize(
    "check",
    [
        lambda name, value: arguments.check_number(name, value, above=0),
        lambda name, value: arguments.check_number(name, value, low=0, integer=True),
        arguments.check_name,
        arguments.check_names,
        lambda name, value: arguments.check_choice(name, value, ("a", "b")),
        arguments.check_flag,
        arguments.check_mapping,
    ],
)
def test_nonsense_is_refused_by_name(check):
    refusals = [(value, refusal(check, value)) for value in NONSENSE]
    assert all(text is not None or value is True or value == {} for value, text in refusals)
    assert all(text is None or "epsilon" in text for _, text in refusals)


def test_good_values_come_back():
    assert arguments.check_number("n", 3.0, integer=True) == 3
    assert arguments.check_number("n", 1, low=1, high=1) == 1.0
    assert arguments.check_names("n", ("a", "b")) == ["a", "b"]
    assert arguments.check_choice("n", "a", ("a",)) == "a"


@pytest.mark.parametrize("limits", [{"low": 2}, {"above": 1}, {"high": 0}, {"below": 1}])
def test_limits_hold(limits):
    with pytest.raises(ArgumentError, match="n must be a number, "):
        arguments.check_number("n", 1, **limits)


def test_a_decimal_comma_is_answered_with_the_point():
    with pytest.raises(ArgumentError, match="point in the place of the comma"):
        arguments.check_number("epsilon", "0,5")
    with pytest.raises(ArgumentError, match=r"must be a number$"):
        arguments.check_number("epsilon", "half")


def test_a_name_twice_is_refused():
    with pytest.raises(ArgumentError, match="twice"):
        arguments.check_names("features", ["a", "a"])
