"""Named arrays in one file, for the rounds of a job: a station reads dozens in every round, and NumPy's own archives take longer to open than to read.

Four bytes tell the length of a header, JSON of every array's name, dtype and shape; the arrays' bytes follow. Both sides are the same image on one machine.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import IO

import numpy as np

from ...typing import Array
from ..errors import StationError

CUT_OFF = "what an earlier round of this job kept at this station is cut off; start the job again"
LENGTH_BYTES = 4  # of the number in front of the header, least significant byte first
Arrays = dict[str, Array]


def write_arrays(file: IO[bytes], arrays: Mapping[str, Array]) -> None:
    """Write arrays into an open file; arrays of Python objects raise `TypeError`.

    Parameters
    ----------
    file : binary file
        Open for writing.
    arrays : mapping of str to ndarray
        Of any shapes and dtypes of fixed size.
    """
    parts = {name: np.asarray(array) for name, array in arrays.items()}
    head = json.dumps([(name, part.dtype.str, part.shape) for name, part in parts.items()]).encode()
    file.write(len(head).to_bytes(LENGTH_BYTES, "little") + head)
    for part in parts.values():
        file.write(np.ascontiguousarray(part).reshape(-1).view(np.uint8).data)


def read_arrays(path: str | Path) -> Arrays:
    """Return what `write_arrays` wrote into a file, each array with memory of its own.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    StationError
        If it ends early.
    """
    arrays: Arrays = {}
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(LENGTH_BYTES), "little")
        for name, dtype, shape in json.loads(file.read(length)):
            array = arrays[name] = np.empty(shape, dtype=dtype)
            if file.readinto(array.reshape(-1).view(np.uint8).data) != array.nbytes:
                raise StationError(CUT_OFF)
    return arrays
