"""Distributions of one feature given the class, from counts or moments that may carry noise."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from ...typing import Array, Floats
from ..counts.smoothing import table_probabilities
from ..schema import LARGEST_BOUND, NARROWEST_RANGE, SMALLEST_RANGE, Column
from ..values.encoding import SchemaError, bin_codes

RELATIVE_VARIANCE_FLOOR = 1e-9  # of the pooled variance, as scikit-learn's var_smoothing
NOISY_STANDARD_DEVIATION_FLOOR = 0.01  # of half the range of the bounds
LARGEST_COUNT = 1e18  # below 2^63
LARGEST_MOMENT = 1e30  # of half the range: what rounding and noise can make of a mean, and no more


def _log_rows(probabilities: Floats, codes: Array) -> Floats:
    """Log P of each code (int, -1 = missing): shape (n, classes)."""
    with np.errstate(divide="ignore"):
        table = np.maximum(np.log(probabilities), -1e6)
    padded = np.vstack([table.T, np.zeros(len(probabilities))])
    return np.asarray(padded[codes])


def _finite(name: str, value: object, *, low: float = -np.inf, largest: float = LARGEST_COUNT) -> None:
    array = np.asarray(value, dtype=np.float64)
    if not bool(np.all(np.abs(array) <= largest) and np.all(array >= low)):
        limit = f", at least {low:g}" if np.isfinite(low) else ""
        raise SchemaError(f"{name} must be numbers of at most {largest:g}{limit}")


def _shaped(name: str, value: Any, shape: tuple[int, ...]) -> None:
    if np.shape(value) != shape:
        raise SchemaError(f"{name} must have shape {shape}")


class Feature(ABC):
    """A distribution of a feature given the class, for :class:`fedbayes.bayes.naive_bayes.NaiveBayes`: a frozen dataclass of arrays and numbers."""

    kind: ClassVar[str]

    @abstractmethod
    def check(self, column: Column, classes: int) -> None:
        """Raise SchemaError unless the distribution fits this column and number of classes."""

    @abstractmethod
    def log_likelihood(self, values: Array, totals: Floats) -> Floats:
        """Return log P(value | class), shape (n, classes), 0 where the value is missing.

        ``values``: what ``Column.encode`` gave; ``totals``: float64, shape (classes,), > 0.
        """

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON."""
        parts = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        plain = {n: v.tolist() if isinstance(v, np.ndarray) else float(v) for n, v in parts.items()}
        return {"kind": self.kind, **plain}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Any:
        """Read what ``to_dict`` wrote; SchemaError on missing or unknown fields."""
        names = {f.name for f in fields(cls)}  # type: ignore[arg-type]
        if set(data) != names | {"kind"}:
            raise SchemaError(f"it must have exactly these fields: {', '.join(sorted(names | {'kind'}))}")
        return cls(**{n: _number_or_array(data[n]) for n in names})


class _Tables(Feature):
    """What tables of counts share."""

    counts: Floats
    missing: Floats
    noise: float
    pseudocount: float

    def __post_init__(self) -> None:
        _finite("counts", self.counts)
        _finite("missing", self.missing)
        _finite("noise and pseudocount", [self.noise, self.pseudocount], low=0.0)
        _shaped("noise and pseudocount", [self.noise, self.pseudocount], (2,))

    def probabilities(self, totals: Floats) -> Floats:
        """Return P(value or bin | class), float64, shape (classes, values)."""
        return table_probabilities(self.counts, self.missing, totals, self.noise, self.pseudocount)


def _number_or_array(value: object) -> Any:
    return np.array(value, dtype=np.float64) if isinstance(value, list) else float(value)  # type: ignore[arg-type]


@dataclass(frozen=True)
class CategoricalTables(_Tables):
    """Counts of a categorical feature's values in each class.

    Parameters
    ----------
    counts : ndarray, float64, shape (classes, categories)
    missing : ndarray, float64, shape (classes,)
    noise : float
        Standard deviation of the noise in each cell; 0 = exact.
    pseudocount : float
    """

    counts: Floats
    missing: Floats
    noise: float = 0.0
    pseudocount: float = 1.0
    kind: ClassVar[str] = "categorical"

    def check(self, column: Column, classes: int) -> None:
        """Raise SchemaError unless the table fits this column and number of classes."""
        _shaped(f"counts of {column.name!r}", self.counts, (classes, column.cardinality))
        _shaped(f"missing of {column.name!r}", self.missing, (classes,))

    def log_likelihood(self, values: Array, totals: Floats) -> Floats:
        """Return log P(value | class) of codes (-1 = missing), shape (n, classes)."""
        return _log_rows(self.probabilities(totals), values)


@dataclass(frozen=True)
class Histogram(_Tables):
    """Counts of a numeric feature's public bins in each class.

    Parameters
    ----------
    counts : ndarray, float64, shape (classes, bins)
    missing : ndarray, float64, shape (classes,)
    edges : ndarray, float64, shape (bins + 1,)
    noise, pseudocount : float
        As in :class:`CategoricalTables`.
    """

    counts: Floats
    missing: Floats
    edges: Floats
    noise: float = 0.0
    pseudocount: float = 1.0
    kind: ClassVar[str] = "histogram"

    def __post_init__(self) -> None:
        super().__post_init__()
        _finite("edges", self.edges, largest=LARGEST_BOUND)
        if np.ndim(self.edges) != 1 or not bool(np.all(np.diff(self.edges) > 0)):
            raise SchemaError("edges must increase")

    def check(self, column: Column, classes: int) -> None:
        """Raise SchemaError unless the histogram fits this column and number of classes."""
        if column.bounds is None:
            raise SchemaError(f"column {column.name!r} has categories: a histogram needs bounds")
        _shaped(f"counts of {column.name!r}", self.counts, (classes, len(self.edges) - 1))
        _shaped(f"missing of {column.name!r}", self.missing, (classes,))

    def log_likelihood(self, values: Array, totals: Floats) -> Floats:
        """Return log P(bin | class) of numbers (NaN = missing), shape (n, classes)."""
        clipped = np.clip(values, self.edges[0], self.edges[-1])
        return _log_rows(self.probabilities(totals), bin_codes(clipped, self.edges))


@dataclass(frozen=True)
class Gaussian(Feature):
    """Moments of a numeric feature in each class, in public units.

    With the bounds [low, high], a value counts as ``u = (x - middle) / half`` in [-1, 1], and its square as
    ``u**2 - 1/2``: both centred, which halves what one row can change.

    Parameters
    ----------
    count : ndarray, float64, shape (classes,)
        Rows with a value.
    total : ndarray, float64, shape (classes,)
        Sum of u.
    squares : ndarray, float64, shape (classes,)
        Sum of u**2 - 1/2.
    bounds : ndarray, float64, shape (2,)
    noise : float
        Standard deviation of the noise in ``total``; 0 = exact.
    """

    count: Floats
    total: Floats
    squares: Floats
    bounds: Floats
    noise: float = 0.0
    kind: ClassVar[str] = "gaussian"

    def __post_init__(self) -> None:
        for name in ("count", "total", "squares"):
            _finite(name, getattr(self, name))
        _finite("bounds", self.bounds, largest=LARGEST_BOUND)
        _finite("noise", self.noise, low=0.0)
        _shaped("noise", self.noise, ())
        _shaped("bounds", self.bounds, (2,))
        if not self.bounds[1] - self.bounds[0] >= max(NARROWEST_RANGE * np.abs(self.bounds).max(), SMALLEST_RANGE):
            raise SchemaError(
                "bounds must increase, and not be so near one another that numbers between them cannot be told apart"
            )
        if np.shape(self.count) != np.shape(self.total) or np.shape(self.count) != np.shape(self.squares):
            raise SchemaError("count, total and squares must have one shape")
        self._refuse_absurd()

    def _refuse_absurd(self) -> None:
        """Raise SchemaError unless every class has a finite mean and a finite variance above 0, so that no density is without a number."""
        with np.errstate(all="ignore"):
            mean, variance = self._unit_moments()
        if not bool(
            np.all(np.abs(mean) <= LARGEST_MOMENT) and np.all((variance > 0) & (variance <= LARGEST_MOMENT**2))
        ):
            raise SchemaError("count, total and squares give no mean and variance that a column could have")

    @classmethod
    def from_parameters(cls, count: Floats, mean: Floats, variance: Floats, bounds: tuple[float, float]) -> Gaussian:
        """Make it from means and (biased) variances in the units of the column; arrays of shape (classes,)."""
        low, high = bounds
        half = (high - low) / 2
        u = (np.asarray(mean, dtype=np.float64) - (low + high) / 2) / half
        second = np.asarray(variance, dtype=np.float64) / half**2 + u**2
        rows = np.asarray(count, dtype=np.float64)
        return cls(rows, rows * u, rows * (second - 0.5), np.array([low, high], dtype=np.float64))

    def check(self, column: Column, classes: int) -> None:
        """Raise SchemaError unless the moments fit this column and number of classes."""
        if column.bounds is None:
            raise SchemaError(f"column {column.name!r} has categories: a Gaussian needs bounds")
        for name in ("count", "total", "squares"):
            _shaped(f"{name} of {column.name!r}", getattr(self, name), (classes,))

    def moments(self) -> tuple[Floats, Floats]:
        """Return (mean, variance) of each class in the units of the column, each float64, shape (classes,).

        Under noise a class is drawn towards the moments of all classes with the weight of the noise, its mean
        is kept within the bounds, and its variance above what the noise alone could make (a smaller one would
        turn noise into certainty) and below the square of half the range.
        Without noise the variance floor is 1e-9 of the largest variance over all rows, as in ``GaussianNB``.
        """
        middle, half = self.bounds.mean(), (self.bounds[1] - self.bounds[0]) / 2
        mean, variance = self._unit_moments()
        return np.asarray(middle + half * mean), np.asarray(half**2 * variance)

    def _unit_moments(self) -> tuple[Floats, Floats]:
        """Return (mean, variance) of u in [-1, 1] of each class (see `moments`)."""
        rows = np.maximum(self.count, 0.0)
        everything = max(float(rows.sum()), 1.0)
        pooled_mean = np.clip(self.total.sum() / everything, -1.0, 1.0)
        # Moments that a method has bounded itself may lie a deviation beyond the bounds; a class without rows needs that deviation.
        most = 1.0 if self.noise > 0 else pooled_mean**2 + 1.0
        pooled_second = np.clip(self.squares.sum() / everything + 0.5, pooled_mean**2, most)
        weight = np.maximum(rows + self.noise, np.where(rows > 0, 0.0, 1.0))
        prior = weight - rows
        mean = (self.total * (rows > 0) + prior * pooled_mean) / weight
        second = (self.squares * (rows > 0) + 0.5 * rows + prior * pooled_second) / weight
        floor = np.full_like(mean, RELATIVE_VARIANCE_FLOOR * max(float(pooled_second - pooled_mean**2), 1e-12))
        if self.noise > 0:
            mean = np.clip(mean, -1.0, 1.0)
            floor = np.clip(self.noise / weight, NOISY_STANDARD_DEVIATION_FLOOR**2, 1.0)
        variance = np.clip(second - mean**2, floor, 1.0 if self.noise > 0 else None)
        return np.asarray(mean), np.asarray(variance)

    def log_likelihood(self, values: Array, totals: Floats) -> Floats:
        """Return the log density of numbers (NaN = missing) in each class, shape (n, classes)."""
        mean, variance = self.moments()
        deviations = (np.asarray(values, dtype=np.float64)[:, None] - mean) ** 2 / variance
        density = -0.5 * (np.log(2 * np.pi * variance) + deviations)
        return np.where(np.isnan(density), 0.0, density)


FEATURE_KINDS: dict[str, type[Any]] = {
    CategoricalTables.kind: CategoricalTables,
    Histogram.kind: Histogram,
    Gaussian.kind: Gaussian,
}
