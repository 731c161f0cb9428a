"""The method without a federation: ``finalise(plan, vector of summarise(a) + vector of summarise(b), stations)``.

``summarise`` is Algorithm 1 before its noise, the sum of vectors and ``finalise`` are Algorithm 2, and :func:`add` is
Algorithm 3: because the model keeps the released statistics themselves, an update is a sum, in any order.

References
----------
.. [1] Marchioro, Giaretta, Markatos, Girdzijauskas (2022), Federated Naive Bayes under Differential Privacy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

import numpy as np

from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.bayes.naive_bayes.counting import class_counts, feature_table, table_feature, table_width, unit_values
from fedbayes.bayes.naive_bayes.features import CategoricalTables, Feature, Gaussian, Histogram
from fedbayes.federation import Message
from fedbayes.federation.horizontal import ROW, Columns, CountNoise, Query, Unit, class_counts_from_margins
from fedbayes.federation.horizontal.counts import check_asked
from fedbayes.typing import Array, Floats, Integers

from .grouping import grouped, ungrouped

STATISTICS = ("histogram", "gaussian")
MECHANISMS = ("auto", "laplace", "gaussian")
SENSITIVITIES = ("bounds", "published")
UNITS = 2**16  # a sum of values in [-1, 1] is counted in 65,536ths
EXACT_UNITS = 2**32
"""The same without noise, which hides what a coarse grid takes from a small variance; a billion rows fit 63 bits."""
TINY = 1e-6  # of a count that noise made negative, as published


class Plan(Message):
    """Everything that a station must know to answer; the method's one configuration object.

    Parameters
    ----------
    columns : Columns
    bins : dict
        Bins or edges of every numeric feature; used by ``histogram``.
    statistics : str
        ``histogram`` (a table for every feature) or ``gaussian`` (sums and sums of squares of numeric ones).
    sensitivity : str
        ``bounds``, or ``published`` (not differentially private).
    noise : CountNoise
    pseudocount : float
        Smoothing of tables; a matter of central alone.
    groups : dict
        Categorical feature -> in how many groups of neighbouring states it is counted; every state by itself where it is not named.
    """

    columns: Columns
    bins: dict[str, Any]
    statistics: str
    sensitivity: str
    noise: CountNoise
    pseudocount: float
    groups: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.statistics not in STATISTICS or self.sensitivity not in SENSITIVITIES:
            raise ValueError("statistics or sensitivity is unknown")
        if not 0 < self.pseudocount < 1e9:
            raise ValueError("pseudocount must be positive")
        check_asked(self.columns, self.bins)
        self.noise.check_unit(self.columns.unit)
        for name, groups in self.groups.items():
            if name not in self.columns.features or not 1 <= groups <= self.columns.schema[name].cardinality:
                raise ValueError("groups must be of the features' states, at most as many as these")

    @property
    def published(self) -> bool:
        """Whether noise follows the data, as in the paper: not differentially private."""
        return self.sensitivity == "published"

    @property
    def private(self) -> bool:
        """Whether the release is differentially private."""
        return self.noise.promises and not self.published and self.columns.beyond_promise is None

    @property
    def gaussian(self) -> list[str]:
        """The features that are modelled by moments."""
        schema = self.columns.schema
        return [n for n in self.columns.features if self.statistics == "gaussian" and not schema[n].is_categorical]

    @property
    def tabled(self) -> list[str]:
        """The features that are modelled by tables."""
        moments = set(self.gaussian)
        return [name for name in self.columns.features if name not in moments]

    @property
    def units(self) -> int:
        """What 1 is counted as in sums of values in [-1, 1]."""
        return UNITS if self.noise.private else EXACT_UNITS

    @property
    def counts_classes(self) -> bool:
        """Whether the classes are a query of their own: not where every feature's table has them as margins."""
        return self.statistics == "gaussian"

    @property
    def sizes(self) -> list[int]:
        """Length of every query, in their order."""
        classes, schema = self.columns.classes, self.columns.schema
        widths = [
            self.groups[name] + 1 if name in self.groups else table_width(schema, name, self.bins)
            for name in self.tabled
        ]
        moments = [2 * classes, classes] * len(self.gaussian)
        return [classes] * self.counts_classes + [classes * width for width in widths] + moments

    @property
    def queries(self) -> int:
        """Number of queries that share the budget: 1 + F_cat + 2 F_num of the paper, or F for histograms."""
        return len(self.sizes)

    def deviations(self, stations: int) -> list[float]:
        """Return the standard deviation of the noise in a cell of each query, summed over the stations."""
        sizes, moments = self.sizes, 2 * len(self.gaussian)
        if self.published:
            return [0.0] * len(sizes)
        changes = [1.0] * (len(sizes) - moments) + [float(self.units), self.units / 2] * (moments // 2)
        return [
            self.noise.deviation(len(sizes), change, change, size, stations, place < len(sizes) - moments)
            for place, (change, size) in enumerate(zip(changes, sizes, strict=True))
        ]


def settled(plan: Plan, mechanism: str) -> Plan:
    """Return the plan, with ``auto`` under the law that makes less noise (see `CountNoise.narrower`): from the plan alone, never from data."""
    if mechanism != "auto":
        return plan
    return replace(plan, noise=plan.noise.narrower(lambda noise: replace(plan, noise=noise).deviations(1)))


def summarise(plan: Plan, encoded: Mapping[str, Array]) -> list[Query]:
    """Return the queries of a table (Algorithm 1 without noise).

    Parameters
    ----------
    plan : Plan
        What is counted.
    encoded : mapping of str to ndarray
        The columns as ``Columns.read`` gives them.

    Returns
    -------
    list of Query
        int64 each. Class counts and tables change by 1 when a row comes or goes. For a numeric feature of
        ``gaussian``, with u the value mapped on [-1, 1]: the sums of u by class and, for rows without a value,
        their number (a row adds to one of the two, so together they change by one unit); and the sums of
        u**2 - 1/2 (half a unit). u is cut at 1 after it was scaled and before it is a whole number, so these hold for any bounds and value.
    """
    columns = plan.columns
    schema, labels = columns.schema, encoded[columns.label]
    queries = [Query(class_counts(labels, columns.classes), nonnegative=True)] if plan.counts_classes else []
    for name in plan.tabled:
        table = feature_table(schema, columns.label, name, encoded, plan.bins)
        queries.append(Query(grouped(table, plan.groups[name]) if name in plan.groups else table, nonnegative=True))
    for name in plan.gaussian:
        first, second = _moments(encoded[name], labels, columns.classes, schema[name].bounds or (0.0, 1.0), plan.units)
        queries += [Query(first, plan.units, plan.units), Query(second, plan.units / 2, plan.units / 2)]
    return queries


def _moments(
    values: Floats, labels: Array, classes: int, bounds: tuple[float, float], units: int
) -> tuple[Integers, Integers]:
    unit = np.rint(unit_values(values, bounds) * units)
    there = ~np.isnan(unit) & (labels >= 0)
    group, present = labels[there], unit[there]
    totals = np.bincount(group, weights=present, minlength=classes)
    absent = class_counts(labels[np.isnan(unit)], classes) * units
    squares = np.rint(present**2 / units) - units / 2
    sums = np.bincount(group, weights=squares, minlength=classes)
    return np.concatenate([totals, absent]).astype(np.int64), sums.astype(np.int64)


def finalise(plan: Plan, vector: Array, stations: int) -> NaiveBayes:
    """Return the model of a summed vector (Algorithm 2).

    Parameters
    ----------
    plan : Plan
        What was counted.
    vector : ndarray
        Sum of the stations' vectors, shape (sum of the queries' sizes,).
    stations : int
        How many stations' noise it carries.
    """
    columns, schema = plan.columns, plan.columns.schema
    parts = np.split(np.asarray(vector, dtype=np.float64), np.cumsum(plan.sizes)[:-1])
    offset, noises = int(plan.counts_classes), plan.deviations(stations)
    tables = {name: parts[offset + place].reshape(columns.classes, -1) for place, name in enumerate(plan.tabled)}
    spread = dict(zip(tables, noises[offset:], strict=False))
    if plan.counts_classes:
        counts, noise = parts[0], noises[0]
    else:
        counts, noise = class_counts_from_margins(tables, max(spread.values()))
    features: dict[str, Feature] = {}
    for name, table in tables.items():
        features[name] = _table(plan, name, table, spread[name])
    for place, name in enumerate(plan.gaussian):
        query = offset + len(tables) + 2 * place
        bounds, deviation = schema[name].bounds, noises[query] / plan.units
        features[name] = _gaussian(counts, parts[query], parts[query + 1], bounds, deviation, plan.units)
    ordered = {name: features[name] for name in columns.features}
    return NaiveBayes(schema, columns.label, counts, ordered, noise)


def _table(plan: Plan, name: str, table: Floats, noise: float) -> Feature:
    """Return a feature of a table; states of a group have equal parts of its count and of its noise."""
    schema = plan.columns.schema
    if name in plan.groups:
        states = schema[name].cardinality
        table, noise = ungrouped(table, states), noise * plan.groups[name] / states
    return table_feature(schema, name, table, plan.bins, noise, plan.pseudocount)


def _gaussian(
    counts: Floats, first: Floats, second: Floats, bounds: tuple[float, float] | None, noise: float, units: int
) -> Gaussian:
    totals, absent = np.split(first / units, 2)
    return Gaussian(counts - absent, totals, second / units, np.array(bounds), noise)


def add(first: NaiveBayes, second: NaiveBayes) -> NaiveBayes:
    """Return the model of both models' rows together (Algorithm 3), associative and in any order.

    The paper's recurrences for the means and second moments (lines 7 to 9) are those of running sums; keeping the
    sums gives the batch result exactly.
    """
    features = {name: _add(feature, second.features[name]) for name, feature in first.features.items()}
    return replace(
        first,
        class_counts=first.class_counts + second.class_counts,
        class_noise=_quadrature(first.class_noise, second.class_noise),
        features=features,
    )


def _quadrature(first: float, second: float) -> float:
    return float(np.hypot(first, second))


def _add(first: Feature, second: Feature) -> Feature:
    if isinstance(first, Gaussian) and isinstance(second, Gaussian):
        return replace(
            first,
            count=first.count + second.count,
            total=first.total + second.total,
            squares=first.squares + second.squares,
            noise=_quadrature(first.noise, second.noise),
        )
    tables = (CategoricalTables, Histogram)
    if not isinstance(first, tables) or not isinstance(second, tables) or type(first) is not type(second):
        raise ValueError("the models are of different kinds")
    return replace(
        first,
        counts=first.counts + second.counts,
        missing=first.missing + second.missing,
        noise=_quadrature(first.noise, second.noise),
    )


def plan_of(model: NaiveBayes, noise: CountNoise, outside: str, unit: Unit = ROW) -> Plan:
    """Return the plan by which further stations can be added to a model.

    Raises
    ------
    ValueError
        If the model was merged in a way that sums cannot be added to.
    """
    if model.provenance.get("aggregation") not in ("sum", "gossip"):
        raise ValueError("model was not made by summing (aggregation sum or gossip), so nothing can be added to it")
    gaussian = any(isinstance(feature, Gaussian) for feature in model.features.values())
    bins: dict[str, Any] = {}
    pseudocount = 1.0
    for name, feature in model.features.items():
        if isinstance(feature, Histogram):
            bins[name] = feature.edges.tolist()
            if not np.array_equal(model.schema[name].edges(bins[name]), feature.edges):
                raise ValueError(f"the edges of {name!r} are not from bound to bound; give the model as it was made")
        if isinstance(feature, (CategoricalTables, Histogram)):
            pseudocount = feature.pseudocount
    groups = model.provenance.get("groups", {})
    if not isinstance(groups, Mapping) or any(type(size) is not int for size in groups.values()):
        raise ValueError("its provenance.groups must name features with whole numbers; give the model as it was made")
    statistics = "gaussian" if gaussian or model.provenance.get("statistics") == "gaussian" else "histogram"
    if bins and statistics == "gaussian":
        raise ValueError("its provenance.statistics says gaussian of features in bins; give the model as it was made")
    columns = Columns(model.label, list(model.features), model.schema.to_domain(), outside, unit)
    return Plan(columns, bins, statistics, "bounds", noise, pseudocount, dict(groups))
