"""Laws of the codec: what is encoded decodes to the same; anything else is refused."""

import json
import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from fedbayes.federation.errors import MessageError
from fedbayes.federation.messages.codec import Message, Text, _unaliased, decode, encode


class Inner(Message):
    name: str
    weight: float | None


class Outer(Message):
    count: int
    flag: bool
    table: np.ndarray
    blob: bytes
    inner: list[Inner]
    pairs: dict[int, bytes]
    shape: tuple[int, ...]

    def __post_init__(self):
        if self.count < 0:
            raise ValueError("count must not be negative")


class Place(Text):
    """A text of a letter and a number, such as "c3"."""

    __slots__ = ("row",)

    def __new__(cls, row):
        place = super().__new__(cls, f"c{row}")
        place.row = row
        return place

    @classmethod
    def read(cls, text):
        if text[0] != "c" or not text[1:].isdecimal():
            raise ValueError("no place")
        return cls(int(text[1:]))


class Placed(Message):
    first: Place
    seen: dict[Place, int]


def message(**changes):
    values = {
        "count": 3,
        "flag": True,
        "table": np.arange(6, dtype=np.uint64).reshape(2, 3),
        "blob": b"\x00\xff",
        "inner": [Inner("a", 0.1), Inner("b", None)],
        "pairs": {1: b"x", 2: b""},
        "shape": (2, 3),
    }
    return Outer(**{**values, **changes})


def through(value):
    return decode(type(value), json.loads(json.dumps(encode(value), allow_nan=False)))


def test_a_message_comes_back_as_it_was():
    back = through(message())
    assert back.inner == message().inner
    assert back.pairs == {1: b"x", 2: b""}
    assert back.shape == (2, 3)
    assert back.table.dtype == np.uint64
    np.testing.assert_array_equal(back.table, message().table)


@given(arrays.arrays(arrays.integer_dtypes(endianness="="), arrays.array_shapes(max_dims=3, max_side=4)))
def test_integer_arrays_keep_every_bit(array):
    back = through(message(table=array)).table
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back, array)


@given(st.floats(allow_nan=False))
def test_floats_keep_every_bit(value):
    assert through(Inner("a", value)).weight == value


@given(arrays.arrays(np.float64, st.integers(0, 5)))
def test_float_arrays_keep_nan(array):
    np.testing.assert_array_equal(through(message(table=array)).table, array)
    assert through(message(table=array)).table.shape == array.shape


def test_nan_travels_as_null():
    assert encode(Inner("a", math.nan)) == {"name": "a", "weight": None}


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"count": "3"}, "count"),
        ({"count": True}, "count"),
        ({"count": -1}, "negative"),
        ({"flag": 1}, "flag"),
        ({"extra": 1}, "extra"),
        ({"blob": "no base64!"}, "blob"),
        ({"inner": {"name": "a"}}, "inner"),
        ({"inner": [{"name": "a"}]}, "weight"),
        ({"pairs": {"one": ""}}, "pairs"),
        ({"shape": [1, "2"]}, "shape"),
        ({"table": {"dtype": "object", "shape": [1], "data": ""}}, "table"),
        ({"table": {"dtype": "uint64", "shape": [2], "data": "AAAAAAAAAAA="}}, "table"),
        ({"table": {"dtype": "uint64", "shape": [-1], "data": ""}}, "table"),
        ({"table": [1, 2]}, "table"),
    ],
)
def test_anything_else_is_refused_by_its_field(change, text):
    with pytest.raises(MessageError, match=text):
        decode(Outer, {**encode(message()), **change})


def test_a_missing_field_is_refused():
    payload = encode(message())
    del payload["count"]
    with pytest.raises(MessageError, match="count"):
        decode(Outer, payload)


def test_objects_cannot_be_sent():
    with pytest.raises(MessageError):
        encode(message(table=np.array([object()])))
    with pytest.raises(MessageError):
        encode({"a": object()})


def test_a_text_with_parts_is_read_as_a_field_and_as_a_key():
    back = through(Placed(Place(3), {Place(12): 5}))
    assert (back.first, back.first.row, back.seen) == ("c3", 3, {"c12": 5})
    assert [place.row for place in back.seen] == [12]


@pytest.mark.parametrize(
    ("first", "seen", "text"),
    [
        ("d3", {}, "Placed.first: must be a name"),
        (3, {}, "must be a name"),
        ("c3", {"c": 1}, "Placed.seen: keys must be names"),
    ],
)
def test_a_text_that_says_nothing_is_refused(first, seen, text):
    with pytest.raises(MessageError, match=text):
        decode(Placed, {"first": first, "seen": seen})


class Tables(Message):
    counts: npt.NDArray[np.int64]
    by_name: dict[str, npt.NDArray[np.float64]]


def test_arrays_by_numpy_s_alias_travel_as_arrays():
    """``NDArray`` is a plain generic up to NumPy 2.4, and an alias of type statements from 2.5 on."""
    message = Tables(np.arange(6).reshape(2, 3), {"x": np.array([0.5])})
    again = decode(Tables, json.loads(json.dumps(encode(message))))
    assert again.counts.tolist() == message.counts.tolist()
    assert again.by_name["x"].tolist() == [0.5]


def test_an_alias_is_what_it_stands_for():
    class Alias:
        __value__ = np.ndarray

    assert _unaliased(Alias()) is np.ndarray
    assert _unaliased(list[int]) == list[int]
    assert _unaliased(int) is int
