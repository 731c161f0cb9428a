"""The arguments of the central functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar

from fedbayes.bayes.network.graph import Edges
from fedbayes.bayes.search.scores import SCORES
from fedbayes.federation import arguments
from fedbayes.federation.declare import PARTIES, TARGET, argument, unless, when
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.kinds import (
    COLUMN,
    COLUMNS,
    FLAG,
    MODEL,
    ONCE_PUBLISHED,
    ORGANIZATION,
    choice,
    json_value,
    number,
    whole,
)
from fedbayes.federation.signatures import Store
from fedbayes.federation.vertical import check_alignment
from fedbayes.federation.vertical.declared import (
    BINS,
    BINS_WORDS,
    DOMAIN,
    RECORDS,
    Helped,
    Identified,
    Split,
    orders,
    structures,
)
from fedbayes.federation.vertical.states import check_binned

from .model import GAPS, STRUCTURES, Learning
from .votes import VOTES, WEIGHTS

HYBRIDS = ("local", "shared")
SCORINGS = ("labelled", "published")
MOST_PARENTS = 5  # a family of six columns with five states each has 15,625 cells
SEARCHED = when("structure", "k2", "augmented")

STORE = Store(
    "Bayesian network ensemble",
    "One Bayesian network a party (or group of parties) that vote on a label, for records split by columns, by rows, or both; votes are added by a secure sum.",
    "vertical",
)


def check_members(name: str, value: Any) -> Any:
    """Return "party", or groups of organizations as a list of lists or an object of lists; a list gets names later."""
    if value == "party":
        return value
    groups = list(value.values()) if isinstance(value, dict) else value
    if not isinstance(groups, list | tuple) or not groups:
        raise ArgumentError(
            f'{name} must be "party", a list of lists of organizations, or an object {{group: organizations}}'
        )
    if any(not isinstance(group, list | tuple) or not group for group in groups):
        raise ArgumentError(f"{name}: every group must be a list of one or more organizations")
    if isinstance(value, dict):
        arguments.check_mapping(name, value)
    return value


class Fit(Split):
    """Of `fit`: what is learned from whom."""

    rounds_usually: ClassVar[int] = 5

    label: str = argument(
        COLUMN,
        "The column that is predicted; at one station (horizontal, hybrid: at one or more).",
        rank=TARGET,
        formerly=("target",),
    )
    features: list[str] | None = argument(
        COLUMNS,
        "Columns that members may use; all when left out. Naming them saves a round.",
        None,
        rank=TARGET,
    )
    structure: str | Edges = argument(
        structures(STRUCTURES, "k2", "k2, naive, augmented, or edges [[parent, child], ...]"),
        "How edges are found within a member: k2 starts with the label; in augmented the label is a parent of every column and K2 adds more.",
        "k2",
    )
    max_parents: int = argument(
        whole(1, MOST_PARENTS), "Most parents of a node, the label included.", 2, used_when=SEARCHED, unit="parents"
    )
    score: str = argument(choice(SCORES), "Of the search.", "k2", used_when=SEARCHED)
    order: str | tuple[str, ...] = argument(
        orders("information", "information (with the label, mutual), columns, or a list of all features"),
        "Order of the columns for K2, after the label.",
        "information",
        used_when=SEARCHED,
    )
    bins: Any = argument(BINS, BINS_WORDS, "published")
    domain: dict[str, Any] | None = argument(
        DOMAIN, "Public states; what is not in it is found by its column's owner and revealed.", None
    )
    missing: str = argument(
        choice(GAPS),
        "Each family's table counts the records that have its columns (the search sees a gap as a state, so that it compares scores of the same "
        "records), or a gap stays a state. A vote sums over what a record lacks.",
        "drop",
    )
    pseudocount: float = argument(number(low=0, high=1e6), "Added to every cell.", 0.5, unit="records")
    minimum_count: float = argument(
        number(low=0, high=1e9),
        "Parent configurations with fewer records are published as the node's margin; the nodes' own minimum holds too.",
        0,
        unit="records",
    )
    members: Any = argument(
        json_value("party, or groups [[organization, ...], ...] or {name: [organization, ...]}", check_members),
        "Whose columns one network is over: each party's, or each group's; an organization in no group has no vote.",
        "party",
    )
    hybrid: str = argument(
        choice(HYBRIDS),
        "A party that has the label learns from its own rows, and the others by products over the columns that only they have; or everyone learns "
        "by products from all records, so that shared columns are learned from all of them (their states need a domain or cut points).",
        "local",
        used_when=when("split", "hybrid"),
    )
    vote: str = argument(
        choice(VOTES),
        "How posteriors are combined: their geometric mean, their mean, or one vote for the likeliest class (ties are split).",
        "log_pool",
    )
    weights: str = argument(
        choice(WEIGHTS),
        "What a member's vote weighs: as much as any other's; its records; how well it does on records that it has not learned from; or, record "
        "by record, one less the normalised entropy of its posterior.",
        "uniform",
    )
    bound: float = argument(
        number(low=0, high=0.5),
        "Share of the uniform distribution in every vote, so that no member alone decides a record.",
        0.01,
    )
    folds: int = argument(
        whole(2, 20),
        "Of the cross-validation behind the weights of vertical members.",
        5,
        used_when=(when("weights", "score"), unless("split", "horizontal")),
    )
    secret: bool = argument(FLAG, "Whether members that a station learns alone stay there.", False)

    @property
    def learning(self) -> Learning:
        """How members are learned."""
        return Learning(self.structure, self.max_parents, self.score, self.order, self.pseudocount, self.missing)

    @property
    def learning_json(self) -> dict[str, Any]:
        """`learning` as a JSON value."""
        return asdict(self.learning)

    @property
    def states(self) -> dict[str, Any]:
        """The public domains; {} where none are given."""
        return self.domain or {}

    @property
    def identifier(self) -> str:
        """The identifier's column, "" where there is none: the files are aligned, or records are split by rows."""
        if self.split == "horizontal":
            return self.id_column or ""
        return check_alignment(self.id_column, self.rows_aligned)

    def check_together(self) -> None:
        """Refuse what contradicts itself."""
        super().check_together()
        self._check_roles()
        if self.split == "horizontal" and self.members != "party":
            raise ArgumentError('members: groups need records in common; with split="horizontal" use "party"')
        if self.split == "hybrid" and self.missing != "drop":
            raise ArgumentError(
                'missing="category" does not fit split="hybrid": absent records would be a state; use drop'
            )
        if self.weights == "score" and (self.split == "hybrid" or self.members != "party"):
            raise ArgumentError(
                'weights="score" needs members="party" and a vertical or horizontal split; use other weights'
            )
        self._check_edges()
        self._check_secret()

    def _check_roles(self) -> None:
        names, identifier = self.features or (), self.identifier
        if self.features is not None:
            check_binned([*names, self.label], self.bins, self.domain)
        if self.label in names:
            raise ArgumentError("features must not hold the label; leave it out")
        if self.split == "hybrid" and not identifier:
            raise ArgumentError("rows_aligned: united records are matched by an identifier; name the id_column")
        if identifier and identifier in (*names, self.label):
            raise ArgumentError("id_column must be neither the label nor among the features")
        if isinstance(self.order, tuple) and (self.features is None or sorted(self.order) != sorted(names)):
            raise ArgumentError("order must name every column of features exactly once; give both")

    def _check_edges(self) -> None:
        if isinstance(self.structure, str):
            return
        if not self.structure:
            raise ArgumentError("structure: a list of edges must hold one or more; or name a way to find them")
        if self.features is None:
            raise ArgumentError("structure: edges need features, the list of columns that they join")
        unknown = [end for edge in self.structure for end in edge if end not in (*self.features, self.label)]
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


class Evaluate(Identified, Helped):
    """Of `evaluate`."""

    rounds_usually: ClassVar[int] = 4

    model: dict[str, Any] = argument(MODEL, "What is scored.", rank=TARGET)
    scoring: str = argument(
        choice(SCORINGS, ONCE_PUBLISHED),
        "Which of the two areas under the curve is `auc`: over labelled records, or as in the paper; both are in `auc_by_scoring`.",
        "labelled",
    )


class Classify(Helped):
    """Of `classify`."""

    rounds_usually: ClassVar[int] = 4

    model: dict[str, Any] = argument(MODEL, "What votes.", rank=TARGET)
    id_column: str | None = argument(
        COLUMN,
        "The identifier at every station; needed unless records are given, or members are of a horizontal split.",
        None,
        used_when=unless("records"),
        rank=TARGET,
    )
    records: Mapping[str, Sequence[Any]] | None = argument(
        RECORDS, "Records that the researcher gives, by column; the stations see them.", None, rank=TARGET
    )
    identify: int | str | None = argument(
        ORGANIZATION,
        "The station whose identifiers name the records; central's own, else the first, when left out.",
        None,
        used_when=unless("records"),
        rank=PARTIES,
    )
