"""What is asked once in a job: the first content under a name is answered, another one is refused."""

import numpy as np
import pytest

from fedbayes.federation.errors import MessageError
from fedbayes.federation.once import asked_once


class Remembering:
    """A station's memory of the job: what was kept first stays."""

    def __init__(self):
        self._arrays = {}

    def keep(self, name, **arrays):
        self._arrays.setdefault(name, arrays)

    def kept(self, name):
        return self._arrays[name]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("round 1", "round 2"),
        (np.array([[0.5, 0.0]]), np.array([[0.5, 2.0**-60]])),
        (np.zeros((2, 1)), np.zeros((1, 2))),
        ({"a": 1}, {"a": 1, "b": 2}),
    ],
)
def test_another_content_under_a_name_is_refused(first, second):
    station = Remembering()
    asked_once(station, "coefficients", first)
    asked_once(station, "coefficients", first)
    asked_once(station, "another name", second)
    with pytest.raises(MessageError, match="scored once"):
        asked_once(station, "coefficients", second, "records are scored once in a job")
