"""The arguments of `fit`, checked where they enter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fedbayes.bayes.graph import parents_of_edges
from fedbayes.bayes.scores import SCORES
from fedbayes.bayes.structure import SearchSpace
from fedbayes.federation import arguments
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.vertical.states import check_bins

STRUCTURES = ("naive", "k2", "hill_climb")
MISSING = ("em_on_counts", "em", "drop", "category")
VALIDATIONS = ("none", "scv", "svdg", "public")
ORDERS = ("columns", "information")
MOST_SYNTHETIC_ROWS = 1_000_000
MOST_PARENTS = 7
BY_CLASS = "mdl"
FINE_BINS = 10

Edges = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Options:
    """How a network is learned; see `fit` for the meaning of each.

    Attributes
    ----------
    columns : tuple of str
        Nodes in declared order.
    structure : str or tuple of (parent, child)
        "naive", "k2", "hill_climb", or edges.
    bins : str, int or dict
        As given; `rules` is what is counted.
    """

    columns: tuple[str, ...]
    bins: Any
    structure: str | Edges
    label: str | None
    score: str
    max_parents: int
    order: str | tuple[str, ...]
    required: Edges
    forbidden: Edges
    missing: str
    synthetic_rows: int
    restarts: int
    pseudocount: float
    minimum_count: float
    smallest_probability: float
    epsilon: float | None
    validation: str
    folds: int
    public_records: Mapping[str, list[Any]] | None
    equivalent_sample_size: float

    @classmethod
    def check(cls, given: Mapping[str, Any]) -> Options:
        """Return options from the arguments of `fit`.

        Raises
        ------
        ArgumentError
            Naming the argument and the remedy.
        """
        columns = tuple(arguments.check_names("columns", given["columns"], least=2))
        label = arguments.check_name("label", given["label"], optional=True)
        check_bins(fine_rules(given["bins"]))
        options = cls(
            columns=columns,
            bins=given["bins"],
            structure=_structure(given["structure"]),
            label=label,
            score=arguments.check_choice("score", given["score"], SCORES),
            max_parents=arguments.check_number("max_parents", given["max_parents"], 0, MOST_PARENTS, integer=True),
            order=_order(given["order"]),
            required=_edges("required_edges", given["required_edges"]),
            forbidden=_edges("forbidden_edges", given["forbidden_edges"]),
            missing=arguments.check_choice("missing", given["missing"], MISSING),
            synthetic_rows=arguments.check_number(
                "synthetic_rows", given["synthetic_rows"], 100, MOST_SYNTHETIC_ROWS, integer=True
            ),
            restarts=arguments.check_number("restarts", given["restarts"], 1, 50, integer=True),
            pseudocount=arguments.check_number("pseudocount", given["pseudocount"], 0, 1e6),
            minimum_count=arguments.check_number("minimum_count", given["minimum_count"], 0, 1e9),
            smallest_probability=arguments.check_number("smallest_probability", given["smallest_probability"], 0, 0.1),
            epsilon=arguments.check_number("epsilon", given["epsilon"], above=0, optional=True),
            validation=arguments.check_choice("validation", given["validation"], VALIDATIONS),
            folds=arguments.check_number("folds", given["folds"], 2, 100, integer=True),
            public_records=_records(given["public_records"]),
            equivalent_sample_size=arguments.check_number(
                "equivalent_sample_size", given["equivalent_sample_size"], above=0, high=1e6
            ),
        )
        options._check_together()
        return options

    def _check_together(self) -> None:
        if self.structure == "naive" and self.label is None:
            raise ArgumentError('structure="naive" needs a label: the column that is the parent of all others')
        if self.validation != "none" and self.label is None:
            raise ArgumentError("validation needs a label: the column that is predicted")
        if (self.validation == "public") != (self.public_records is not None):
            raise ArgumentError('public_records and validation="public" go together; give both or neither')
        if self.epsilon is not None and self.structure == "hill_climb":
            raise ArgumentError(
                "hill climbing asks an unknown number of batches; with an epsilon use k2 or give the edges"
            )
        if self.label is not None and self.label not in self.columns:
            raise ArgumentError(f"label {self.label!r} is not among the columns; add it to columns")
        self.space()
        if isinstance(self.order, tuple) and sorted(self.order) != sorted(self.columns):
            raise ArgumentError("order must name every column exactly once")
        if not isinstance(self.structure, str):
            try:
                parents_of_edges(self.columns, self.structure)
            except ValueError as problem:
                raise ArgumentError(f"structure: {problem}") from None

    @property
    def rules(self) -> Any:
        """`bins` as they are counted: fine bins where they are merged by class."""
        return fine_rules(self.bins)

    @property
    def batches(self) -> int | None:
        """Largest number of batches of tables that are asked: what an epsilon is divided by; None: nobody knows."""
        if self.structure == "hill_climb":
            return None
        return int(self.rules != self.bins) + self._searched() + self.held_out

    @property
    def held_out(self) -> int:
        """Batches that are asked after learning."""
        return int(self.validation == "svdg")

    def _searched(self) -> int:
        if self.structure != "k2":
            return 1
        required = self.space().start()
        steps, first = 1, 0
        for node in self.columns:
            before = self.columns
            if isinstance(self.order, tuple) or self.order == "columns":
                order = self.order if isinstance(self.order, tuple) else self.columns
                before = order[: order.index(node)]
            fixed = len(required[node])
            free = sum(self.space().allows(name, node) and name not in required[node] for name in before)
            grows = min(self.max_parents - fixed, free)
            steps = max(steps, grows)
            first = max(first, 1 + fixed + (grows > 0))
        pairs_serve = first <= 2  # the tables of the order are those of the first step
        return steps + (self.order == "information" and not pairs_serve)

    def space(self) -> SearchSpace:
        """Return the search space; `ArgumentError` where the constraints contradict one another."""
        try:
            return SearchSpace(self.columns, self.max_parents, self.required, self.forbidden)
        except ValueError as problem:
            raise ArgumentError(f"required_edges, forbidden_edges: {problem}") from None


def fine_rules(bins: Any) -> Any:
    """Return `bins` with every "mdl" replaced by a number of fine bins of equal frequency."""
    if isinstance(bins, Mapping):
        return {column: FINE_BINS if rule == BY_CLASS else rule for column, rule in bins.items()}
    return FINE_BINS if bins == BY_CLASS else bins


def _structure(value: Any) -> str | Edges:
    if value is None:
        return "k2"
    if isinstance(value, str):
        return arguments.check_choice("structure", value, STRUCTURES)
    return _edges("structure", value)


def _order(value: Any) -> str | tuple[str, ...]:
    if value is None:
        return "columns"
    if isinstance(value, str):
        return arguments.check_choice("order", value, ORDERS)
    return tuple(arguments.check_names("order", value))


def _edges(name: str, value: Any) -> Edges:
    if value is None:
        return ()
    if not isinstance(value, list | tuple) or len(value) > 10_000:
        raise ArgumentError(f"{name} must be a list of edges [parent, child]")
    edges = []
    for position, edge in enumerate(value):
        place = f"{name}[{position}]"
        if not isinstance(edge, list | tuple) or len(edge) != 2:
            raise ArgumentError(f"{place} must be an edge [parent, child]")
        parent, child = (arguments.check_name(place, end) for end in edge)
        if parent == child:
            raise ArgumentError(f"{place} leads from a column to itself; remove it")
        edges.append((parent, child))
    return tuple(edges)


def _records(value: Any) -> Mapping[str, list[Any]] | None:
    if value is None:
        return None
    if not isinstance(value, Mapping) or not value:
        raise ArgumentError("public_records must be an object {column: [values]}")
    for name, column in value.items():
        arguments.check_name("a column of public_records", name)
        if not isinstance(column, list | tuple) or not column:
            raise ArgumentError(f"public_records[{name!r}] must be a list of values")
    if len({len(column) for column in value.values()}) != 1:
        raise ArgumentError("public_records must have the same number of values in every column")
    return value
