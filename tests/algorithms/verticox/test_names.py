"""Names of what is on shares: text and value are the same thing, and nothing else is a name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from v6_verticox.messages.names import Input, Name
from v6_verticox.messages.setup import Plan
from v6_verticox.shares.agreed import inputs_of

KINDS = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=16)
PARTS = st.none() | st.integers(0, 9999)
NAMES = st.builds(Name, KINDS, st.none(), st.just(0), PARTS) | st.builds(
    Name, KINDS, st.integers(0, 9_999_999), st.integers(0, 9999), PARTS
)


@given(NAMES)
def test_a_name_is_read_as_it_was_written(name):
    assert Name.read(str(name)) == name


@given(NAMES, NAMES)
def test_two_names_have_two_texts(one, other):
    assert (str(one) == str(other)) == (one == other)


@pytest.mark.parametrize(
    "text", ["", "w/", "1/w", "1./w", "1.0w", "01.0/w", "1.00/w", "1.0/factor03", "1.0/factor/3", "w3", "1.0/W", "x y"]
)
def test_no_other_text_is_a_name(text):
    with pytest.raises(ValueError, match="malformed"):
        Name.read(text)


def test_texts_are_those_that_masks_are_drawn_for():
    """Masks of a share holder and of the dealer are drawn for these bytes."""
    plan = Plan([1, 2, 3], [2, 0, 1], 4, 10, [10], 10, [], 0, True, 0.5)
    assert [str(entry.name) for entry in inputs_of(plan, 0, [])] == [
        "features/0", "features/2", "presence/0", "presence/1", "presence/2",
    ]  # fmt: skip
    beside = inputs_of(plan, 3, [400])
    assert [str(entry.name) for entry in beside] == [
        "3.0/factor0", "3.0/factor1", "3.0/factor2", "400.0/factor0", "400.0/factor1", "400.0/factor2", "3.0/line0", "3.0/line1",
    ]  # fmt: skip
    assert beside[-1] == Input(Name("line", 3, part=1), 2, 1)
