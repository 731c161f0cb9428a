"""The arguments of `fit`, checked where they enter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from fedbayes.bayes.scores import SCORES
from fedbayes.federation import Federation, arguments
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.vertical import check_alignment
from fedbayes.federation.vertical.states import check_bins, check_domain

from .ensemble import SPLITS
from .model import Edges, Learning
from .votes import VOTES, WEIGHTS

STRUCTURES = ("k2", "naive", "augmented")
ORDERS = ("columns", "information")
MISSING = ("drop", "category")
HYBRIDS = ("local", "shared")
MOST_PARENTS = 5


@dataclass(frozen=True)
class Options:
    """What is learned from whom; see `fit` for the meaning of each."""

    target: str
    id_column: str | None
    features: tuple[str, ...] | None
    split: str
    hybrid: str
    learning: Learning
    bins: Any
    domain: dict[str, Any]
    members: Any
    vote: str
    weights: str
    bound: float
    minimum_count: float
    secret: bool
    folds: int

    @classmethod
    def check(cls, given: Mapping[str, Any]) -> Options:
        """Return options from the arguments of `fit`.

        Raises
        ------
        ArgumentError
            Naming the argument and the remedy.
        """
        features = arguments.check_names("features", given["features"], optional=True)
        options = cls(
            target=arguments.check_name("target", given["target"]),
            id_column=_identifier(given),
            features=None if features is None else tuple(features),
            split=arguments.check_choice("split", given["split"], SPLITS),
            hybrid=arguments.check_choice("hybrid", given["hybrid"], HYBRIDS),
            learning=_learning(given),
            bins=check_bins(given["bins"]),
            domain=check_domain(given["domain"]),
            members=_members(given["members"]),
            vote=arguments.check_choice("vote", given["vote"], VOTES),
            weights=arguments.check_choice("weights", given["weights"], WEIGHTS),
            bound=arguments.check_number("bound", given["bound"], 0, 0.5),
            minimum_count=arguments.check_number("minimum_count", given["minimum_count"], 0, 1e9),
            secret=arguments.check_flag("secret", given["secret"]),
            folds=arguments.check_number("folds", given["folds"], 2, 20, integer=True),
        )
        options._check_together()
        return options

    def _check_together(self) -> None:
        names = self.features or ()
        if self.target in names:
            raise ArgumentError("features must not hold the target; leave it out")
        if self.split == "hybrid" and not self.id_column:
            raise ArgumentError("rows_aligned: united records are matched by an identifier; name the id_column")
        if self.id_column and self.id_column in (*names, self.target):
            raise ArgumentError("id_column must be neither the target nor among the features")
        if self.split == "horizontal" and self.members != "party":
            raise ArgumentError('members: groups need records in common; with split="horizontal" use "party"')
        if self.split == "hybrid" and self.learning.missing != "drop":
            raise ArgumentError(
                'missing="category" does not fit split="hybrid": absent records would be a state; use drop'
            )
        order = self.learning.order
        if isinstance(order, tuple) and (self.features is None or sorted(order) != sorted(names)):
            raise ArgumentError("order must name every column of features exactly once; give both")
        if self.weights == "score" and (self.split == "hybrid" or self.members != "party"):
            raise ArgumentError(
                'weights="score" needs members="party" and a vertical or horizontal split; use other weights'
            )
        if not isinstance(self.learning.structure, str):
            self._check_edges(self.learning.structure)
        self._check_secret()

    def _check_edges(self, edges: Edges) -> None:
        if self.features is None:
            raise ArgumentError("structure: edges need features, the list of columns that they join")
        unknown = [end for edge in edges for end in edge if end not in (*self.features, self.target)]
        if unknown:
            raise ArgumentError(f"structure names '{unknown[0]}', which is not among features; add it or drop the edge")

    def _check_secret(self) -> None:
        if not self.secret:
            return
        if self.split == "vertical" or (self.split == "hybrid" and self.hybrid == "shared"):
            raise ArgumentError(
                'secret members are learned by one station from its own rows; that needs split="horizontal", or "hybrid" with hybrid="local"'
            )
        if self.weights == "score":
            raise ArgumentError(
                'weights="score" needs members that other stations can test; use other weights, or secret=false'
            )

    @property
    def learning_json(self) -> dict[str, Any]:
        """`learning` as a JSON value."""
        return asdict(self.learning)


def _identifier(given: Mapping[str, Any]) -> str | None:
    """Return the identifier's column, "" where the files are aligned; None where records are split by rows and none is named."""
    if given["split"] == "horizontal":
        return arguments.check_name("id_column", given["id_column"], optional=True)  # type: ignore[no-any-return]
    return check_alignment(given["id_column"], given.get("rows_aligned", False))


def _learning(given: Mapping[str, Any]) -> Learning:
    structure, order = given["structure"], given["order"]
    named = isinstance(structure, str)
    structure = arguments.check_choice("structure", structure, STRUCTURES) if named else _edges(structure)
    order = (
        arguments.check_choice("order", order, ORDERS)
        if isinstance(order, str)
        else tuple(arguments.check_names("order", order))
    )
    return Learning(
        structure=structure,
        max_parents=arguments.check_number("max_parents", given["max_parents"], 1, MOST_PARENTS, integer=True),
        score=arguments.check_choice("score", given["score"], SCORES),
        order=order,
        pseudocount=arguments.check_number("pseudocount", given["pseudocount"], 0, 1e6),
        missing=arguments.check_choice("missing", given["missing"], MISSING),
    )


def _edges(value: Any) -> Edges:
    if not isinstance(value, list | tuple) or not 0 < len(value) <= 10_000:
        raise ArgumentError(f"structure must be one of {', '.join(STRUCTURES)}, or a list of edges [parent, child]")
    edges = []
    for position, edge in enumerate(value):
        if not isinstance(edge, list | tuple) or len(edge) != 2:
            raise ArgumentError(f"structure[{position}] must be an edge [parent, child]")
        parent, child = (arguments.check_name(f"structure[{position}]", end) for end in edge)
        if parent == child:
            raise ArgumentError(f"structure[{position}] leads from a column to itself; remove it")
        edges.append((parent, child))
    return tuple(edges)


def _members(value: Any) -> Any:
    """Return "party", or {group: [organizations]}; a list of lists gets names later."""
    if value == "party":
        return value
    groups = list(value.values()) if isinstance(value, dict) else value
    if not isinstance(groups, list | tuple) or not groups:
        raise ArgumentError(
            'members must be "party", a list of lists of organizations, or an object {group: organizations}'
        )
    if any(not isinstance(group, list | tuple) or not group for group in groups):
        raise ArgumentError("members: every group must be a list of one or more organizations")
    if isinstance(value, dict):
        arguments.check_mapping("members", value)
    return value


def groups_of(federation: Federation, members: Any, stations: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    """Return the name and the organizations of each member.

    Raises
    ------
    ArgumentError
        A group names an unknown organization or one without data, two groups overlap, or an organization is in none.
    """
    if members == "party":
        return {federation.name(station): (station,) for station in stations}
    named = list(members.items()) if isinstance(members, dict) else [(None, group) for group in members]
    found: dict[str, tuple[int, ...]] = {}
    for name, group in named:
        chosen = federation.resolve(list(group), "members")
        outside = [federation.name(member) for member in chosen if member not in stations]
        if outside:
            raise ArgumentError(f"members: {outside[0]} does not take part or holds no data of this task; leave it out")
        found[name or "+".join(federation.name(member) for member in chosen)] = chosen
    everyone = [member for group in found.values() for member in group]
    if len(everyone) != len(set(everyone)) or len(found) != len(named):
        raise ArgumentError("members: groups must not overlap; name each organization in one group")
    left = [federation.name(station) for station in stations if station not in everyone]
    if left:
        federation.warn(f"in no group, so without a vote: {', '.join(left)}")
    return found
