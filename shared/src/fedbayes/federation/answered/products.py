"""The record of products: how often a column was multiplied by other organizations' columns.

A product of a column of 0 and 1 with a column of long fractions is a sum of known numbers over who has the 1, and its digits say over whom: some 30 bits,
of a column that has one bit a record; of a column of many values as many products as records are a system of equations. So a node with a folder database
counts, for each column of its table, the products that it took part in. The same product again, of the same columns as the same dictionary reads them,
counts once.
"""

from __future__ import annotations

from collections.abc import Collection

from .record import Record, Remembered


class Products(Record):
    """The products of one node's columns; `Record` has the parameters."""

    table, field = "products", "factors"

    def admit(self, columns: Collection[str], factors: str, most: int) -> bool:
        """Remember a product of columns with others, by a digest of these, unless one of them had `most` other products; return whether it may be told.

        Raises
        ------
        StationError
            If the file cannot be read or written.
        """

        def remember(remembered: Remembered) -> bool:
            fresh = [name for name in columns if not remembered.has(name, factors)]
            if any(remembered.count(name) >= most for name in fresh):
                return False
            for name in fresh:
                remembered.add(name, factors)
            return True

        return self._admits(lambda earlier: all(earlier.has(name, factors) for name in columns), remember)
