"""The tables of one batch on their way to those who answer: each factor's name once, so that a table is a few bytes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TypeVar

import numpy as np

from ...typing import Floats
from ..messages.codec import Message

T = TypeVar("T")
MOST_AXES = 8
"""Factors of one table."""


class AskedTables(Message):
    """Tables over one to eight factors each: `names` of all factors, how many factors each table has, and their positions in `names`."""

    names: list[str]
    axes: np.ndarray
    positions: np.ndarray

    def __post_init__(self) -> None:
        axes, positions = self.axes, self.positions
        if any(array.ndim != 1 or array.dtype.kind != "u" for array in (axes, positions)):
            raise ValueError("the tables of a batch are malformed")
        if not axes.size or axes.min() < 1 or axes.max() > MOST_AXES or int(axes.sum()) != positions.size:
            raise ValueError("a batch holds one or more tables over one to eight factors")
        if int(positions.max()) >= len(self.names) or len(set(self.names)) != len(self.names):
            raise ValueError("the tables of a batch are malformed")

    @classmethod
    def of(cls, tables: Sequence[Sequence[str]]) -> AskedTables:
        """Return tables, the names of their factors each, as they are asked."""
        names = list(dict.fromkeys(chain.from_iterable(tables)))
        position_of = {name: position for position, name in enumerate(names)}
        kind = np.uint16 if len(names) <= np.iinfo(np.uint16).max else np.uint32
        positions = np.array([position_of[name] for name in chain.from_iterable(tables)], dtype=kind)
        return cls(names, np.array([min(len(table), MOST_AXES + 1) for table in tables], dtype=np.uint8), positions)

    @property
    def tables(self) -> list[tuple[str, ...]]:
        """The names of every table's factors."""
        return self.joined({name: [name] for name in self.names})

    @property
    def digest(self) -> str:
        """A digest of all names and tables."""
        arrays = [np.ascontiguousarray(array, dtype="<u4").tobytes() for array in (self.axes, self.positions)]
        return hashlib.sha256(b"".join([json.dumps(self.names).encode(), b"|", *arrays])).hexdigest()

    def joined(self, parts: Mapping[str, Iterable[T]]) -> list[tuple[T, ...]]:
        """Return of every table what its factors have, one behind the other; nothing of a factor that is not in `parts`."""
        listed = [tuple(parts.get(name, ())) for name in self.names]
        flat, stops = self.positions.tolist(), np.cumsum(self.axes, dtype=np.int64).tolist()
        starts = [0, *stops[:-1]]
        return [
            tuple(chain.from_iterable([listed[position] for position in flat[start:stop]]))
            for start, stop in zip(starts, stops, strict=True)
        ]

    def cells(self, states: Mapping[str, int]) -> Floats:
        """Return the number of cells of every table, shape (tables,); a factor that is not in `states` has one. Exact below 2^53."""
        widths = np.array([states.get(name, 1) for name in self.names], dtype=np.float64)
        starts = np.cumsum(self.axes, dtype=np.int64) - self.axes
        sizes: Floats = np.multiply.reduceat(widths[self.positions], starts)
        return sizes
