"""What is asked once in a job: the first content under a name is answered, another one is refused."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from fedbayes.federation.errors import MessageError
from fedbayes.federation.guards.once import asked_once
from fedbayes.federation.node import secrets


class Remembering:
    """A station's memory of the job: what was kept first stays."""

    def __init__(self):
        self._contents = {}

    def once(self, name, content):
        return self._contents.setdefault(name, content)


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


def test_lines_are_added_once_and_what_a_crash_left_of_one_goes(tmp_path):
    path = tmp_path / "noted"
    assert secrets.lines(path) == []
    for line in (b'["a"]', b'["b"]', b'["a"]'):
        secrets.append(path, line)
    path.write_bytes(path.read_bytes() + b'["torn')
    assert secrets.lines(path) == [b'["a"]', b'["b"]']
    secrets.append(path, b'["c"]')
    assert path.read_bytes() == b'["a"]\n["b"]\n["c"]\n'
    assert path.stat().st_mode & 0o777 == 0o600


def test_writers_at_the_same_time_lose_no_line(tmp_path):
    wanted = [str(number).encode() for number in range(60)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda line: secrets.append(tmp_path / "noted", line), wanted * 2))
    assert sorted(secrets.lines(tmp_path / "noted")) == sorted(wanted)
