"""The arguments of the central functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from fedbayes.bayes.network.graph import Edges, parents_of_edges
from fedbayes.bayes.search.scores import SCORES
from fedbayes.bayes.search.structure import SearchSpace, predecessors
from fedbayes.bayes.values.names import nearest
from fedbayes.federation.declare import TARGET, argument, unless, when
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.kinds import COLUMN, EPSILON, choice, columns, json_value, number, whole
from fedbayes.federation.signatures import Store
from fedbayes.federation.vertical.declared import (
    DOMAIN,
    DOMAIN_WORDS,
    EDGES,
    RECORDS,
    Split,
    neighbors,
    orders,
    structures,
)
from fedbayes.federation.vertical.states import check_binned, check_bins
from fedbayes.federation.vertical.traffic import states_of, tables_bytes

STRUCTURES = ("naive", "k2", "hill_climb", "private")
MISSING = ("em_on_counts", "em", "drop", "category")
VALIDATIONS = ("none", "scv", "svdg", "public")
MOST_SYNTHETIC_ROWS = 1_000_000  # EM on as many takes minutes
MOST_PARENTS = 7  # eight columns of five states have 390,625 cells
BY_CLASS = "mdl"
FINE_BINS = 10  # of equal frequency, which the criterion merges
PSEUDOCOUNT = 0.5
"""Of Krichevsky and Trofimov, 1981."""
NOISY_RECORDS = (when("epsilon"), unless("split", "horizontal"))
BATCHES = {"vertical": [1.0, 5.2, 3.8], "horizontal": [3.0, 3.5, 3.5], "hybrid": [3.0, 3.5, 3.5]}
"""Weights of the three batches of structure="private", single columns, pairs and cliques: chosen on Child and Alarm, two of the sets that
the page compares with AIM. Where the number of records is public, single columns are measured with the pairs again."""


def _check_rules(_: str, bins: Any) -> Any:
    check_bins(fine_rules(bins))
    return bins


EVIDENCE = (("what one record can change in noisy tables, by sampling", "tests/privacy/test_vertibayes.py"),)
"""What shows that private statements hold, for dossiers: what, and where in the project."""

STORE = Store(
    "VertiBayes",
    "Bayesian networks (structure and parameters, with missing values) from records whose columns lie at several stations, "
    "by private products; also for records split by rows.",
    "vertical",
)


class Fit(Split):
    """Of `fit`: how a network is learned."""

    rounds_usually: ClassVar[int] = 8

    @classmethod
    def usual_bytes(cls, given: Mapping[str, Any], stations: int, rows: int) -> int | None:
        """Return about the bytes of a fit to linked records: all pairs, and where a search may take two parents one product for every four columns."""
        names, structure = list(given["columns"]), given.get("structure", "k2")
        exact = structure in ("k2", "hill_climb", "naive") and given.get("split") in (None, "vertical")
        sizes = {name: states_of(name, given.get("domain"), given.get("bins")) for name in names}
        if not exact or given.get("helper") == "none" or None in sizes.values():
            return None
        deep = structure != "naive" and given.get("max_parents", 3) > 1
        joint = deep * len(names) / 4 * (sum(size or 0 for size in sizes.values()) / len(names)) ** 2
        return tables_bytes([], sizes, stations, rows, joint)

    columns: list[str] = argument(
        columns(2), "The nodes, in declared order; each lives at one station (hybrid: at one or more).", rank=TARGET
    )
    structure: str | Edges = argument(
        structures(
            STRUCTURES,
            "k2",
            "k2, hill_climb, naive (needs a label), private (needs an epsilon and a delta), or edges [[parent, child], ...]",
        ),
        "How edges are found, or the edges; private: by noisy tables of single columns and all pairs, then of the cliques that these suggest.",
        "k2",
    )
    label: str | None = argument(COLUMN, "The node to predict.", None, rank=TARGET)
    score: str = argument(choice(SCORES), "Of the search.", "k2")
    max_parents: int = argument(whole(0, MOST_PARENTS), "Most parents of a node in the search.", 3, unit="parents")
    order: str | tuple[str, ...] = argument(
        orders("columns", "columns, information (a tree of greatest mutual information), or a list of all columns"),
        "Order of the nodes for K2.",
        "columns",
        used_when=when("structure", "k2"),
    )
    required_edges: Edges = argument(EDGES, "Edges that the search keeps; cycles and contradictions are refused.", None)
    forbidden_edges: Edges = argument(EDGES, "Edges that the search leaves out.", None)
    bins: Any = argument(
        json_value(
            "published, quantile, width, mdl (needs a label), a number, or {column: rule, number or cut points}",
            _check_rules,
        ),
        "How numeric columns become states; published: from the smallest value up, at least 10 records and 10 % a bin; mdl: Fayyad-Irani.",
        "published",
    )
    domain: dict[str, Any] | None = argument(DOMAIN, f"{DOMAIN_WORDS[:-1]}, and with records split by rows.", None)
    missing: str = argument(choice(MISSING), "What becomes of missing values.", "em_on_counts")
    synthetic_rows: int = argument(
        whole(100, MOST_SYNTHETIC_ROWS), "Of em, and of synthetic validation.", 10_000, unit="rows"
    )
    restarts: int = argument(whole(1, 50), "Starts of EM.", 3)
    pseudocount: float | None = argument(
        number(low=0, high=1e6),
        "Added to every cell; 0.5 when left out, but 0 where structure is private, whose tables are fitted.",
        None,
        unit="records",
    )
    minimum_count: float = argument(
        number(low=0, high=1e9),
        "Parent configurations with fewer records, and those that would give them back by subtraction, are published as the node's margin; the "
        "nodes' own minimum holds too.",
        0,
        unit="records",
    )
    smallest_probability: float = argument(
        number(low=0, high=0.1), "No published probability is smaller, and none is 1.", 0.0
    )
    epsilon: float | None = argument(
        EPSILON,
        "Budget of all tables together, divided over the most batches there can be; without it they are exact.",
        None,
    )
    delta: float = argument(
        number(low=0, below=1),
        "Above 0 the noise is Gaussian, far smaller for many tables; above 0.001 no result is called private.",
        0.0,
        used_when=when("epsilon"),
    )
    neighbors: str = neighbors(NOISY_RECORDS)
    validation: str = argument(
        choice(VALIDATIONS),
        "How the network is validated: by synthetic records, by held-out folds, or on public records.",
        "none",
    )
    folds: int = argument(whole(2, 100), "Of the validation.", 10, used_when=when("validation", "scv", "svdg"))
    public_records: Mapping[str, Sequence[Any]] | None = argument(
        RECORDS,
        "Records that the researcher gives, for validation public.",
        None,
        used_when=when("validation", "public"),
    )
    equivalent_sample_size: float = argument(
        number(low=1e-6, high=1e6), "Of the score bdeu.", 10.0, used_when=when("score", "bdeu"), unit="records"
    )

    def check_together(self) -> None:
        """Refuse what contradicts itself."""
        super().check_together()
        check_binned(self.columns, self.bins, self.domain)
        self._check_label()
        if (self.validation == "public") != (self.public_records is not None):
            raise ArgumentError('public_records and validation="public" go together; give both or neither')
        if self.epsilon is not None and self.structure == "hill_climb":
            raise ArgumentError(
                "hill climbing asks an unknown number of batches; with an epsilon use k2 or give the edges"
            )
        self._check_measured()
        space = self.space()
        if isinstance(self.order, tuple) and sorted(self.order) != sorted(self.columns):
            raise ArgumentError("order must name every column exactly once")
        if self.structure == "k2" and self._listed is not None:
            try:
                predecessors(space, self._listed)
            except ValueError as problem:
                raise ArgumentError(f"order, required_edges: {problem}") from None
        if not isinstance(self.structure, str):
            try:
                parents_of_edges(self.columns, self.structure)
            except ValueError as problem:
                raise ArgumentError(f"structure: {problem}") from None

    def _check_measured(self) -> None:
        if self.structure != "private":
            return
        if self.epsilon is None or self.delta == 0:
            raise ArgumentError(
                'structure="private" measures tables with Gaussian noise; give epsilon, and delta, such as 1e-6'
            )
        if self.required_edges or self.forbidden_edges:
            raise ArgumentError(
                'required_edges, forbidden_edges: structure="private" finds an undirected graph first; leave them out, or use k2'
            )
        if self.rules != self.bins:
            raise ArgumentError(
                'bins: "mdl" merges bins by noisy tables; with structure="private" give a number or cut points'
            )

    def _check_label(self) -> None:
        if self.structure == "naive" and self.label is None:
            raise ArgumentError('structure="naive" needs a label: the column that is the parent of all others')
        if self.validation != "none" and self.label is None:
            raise ArgumentError("validation needs a label: the column that is predicted")
        if self.label is not None and self.label not in self.columns:
            near = nearest(self.label, self.columns)
            raise ArgumentError(f"label {self.label!r} is not among the columns{near}; add it to columns")

    @property
    def rules(self) -> Any:
        """`bins` as they are counted: fine bins where they are merged by class."""
        return fine_rules(self.bins)

    @property
    def added(self) -> float:
        """`pseudocount`, or what it is when left out."""
        if self.pseudocount is not None:
            return self.pseudocount
        return 0.0 if self.structure == "private" else PSEUDOCOUNT

    @property
    def batches(self) -> int | None:
        """Largest number of batches of tables that are asked: what an epsilon is divided by; None: nobody knows."""
        if self.structure == "hill_climb":
            return None
        return int(self.rules != self.bins) + self._searched() + self.held_out

    @property
    def weights(self) -> list[float] | None:
        """Parts of the budget that the batches have, in proportion; None: equal ones, or nobody knows how many."""
        return [*BATCHES[self.split], *[1.0] * self.held_out] if self.structure == "private" else None

    @property
    def held_out(self) -> int:
        """Batches that are asked after learning."""
        return int(self.validation == "svdg")

    @property
    def _listed(self) -> Sequence[str] | None:
        """The order of k2's columns, where it follows from no data."""
        if isinstance(self.order, tuple):
            return self.order
        return self.columns if self.order == "columns" else None

    def _searched(self) -> int:
        if self.structure == "private":
            return 3
        if self.structure != "k2":
            return 1
        space = self.space()
        required = space.start()
        steps, first = 1, 0
        for node in self.columns:
            before: Sequence[str] = self.columns
            if self._listed is not None:
                before = self._listed[: self._listed.index(node)]
            fixed = len(required[node])
            free = sum(space.allows(name, node) and name not in required[node] for name in before)
            grows = min(self.max_parents - fixed, free)
            steps = max(steps, grows)
            first = max(first, 1 + fixed + (grows > 0))
        pairs_serve = first <= 2  # the tables of the order are those of the first step
        return steps + (self.order == "information" and not pairs_serve)

    def space(self) -> SearchSpace:
        """Return the search space; `ArgumentError` where the constraints contradict one another."""
        try:
            return SearchSpace(
                tuple(self.columns), self.max_parents, self.required_edges or (), self.forbidden_edges or ()
            )
        except ValueError as problem:
            raise ArgumentError(f"required_edges, forbidden_edges: {problem}") from None


def fine_rules(bins: Any) -> Any:
    """Return `bins` with every "mdl" replaced by a number of fine bins of equal frequency."""
    if isinstance(bins, Mapping):
        return {column: FINE_BINS if rule == BY_CLASS else rule for column, rule in bins.items()}
    return FINE_BINS if bins == BY_CLASS else bins
