"""What travels in the rounds of the private solver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

import numpy as np

from fedbayes.federation import Broadcast, Exact, Masked, Message, Public, Sealed, Share
from fedbayes.typing import Array

from .names import START, Name
from .setup import Plan

STAGES = (
    "features",
    "gather",
    "complete",
    "observed",
    "weigh_start",
    "tied",
    "relative_risk",
    "combine",
    "weigh",
    "refine",
    "last",
    "information",
    "tally",
    "few",
    "turn",
    "turn_back",
    "residuals",
    "squares",
    "clusters",
)
MOST_COEFFICIENT = 2**20
"""Of a and b in units of 2^-12: up to 256."""
OFFSET_BITS = 40
"""Fractional bits of the linear predictor at the mean, in the sum over the stations."""
SLOPE_STAGES = ("line", "weigh_slope", "slope", "blend", "level")
MOST_REFINEMENTS = 1000  # of a reciprocal, far more than a plan has
BESIDE = 100  # steps of the solver are below it, points beside a step above
BESIDE_STAGES = ("relative_risk", "combine", "refine", *SLOPE_STAGES)
"""What is computed at a point beside a step: its slope along the line from zero, one number, and nothing else."""
SOURCES = ("reciprocal", "wide")
"""What a refinement starts from: from anything else, such as a linear predictor, what is told is made of that."""
MOST_BESIDE = 10
"""Points beside a step."""
MOST_POINTS, MOST_SEEN = 40, BESIDE - 1
"""Of the likelihood, in one job: each tells central as many numbers as there are features. Fits take five to fifteen; more where predictors are seen."""


class Stage(Message):
    """One stage of the arithmetic of a step.

    Attributes
    ----------
    kind : str
        One of `STAGES`; or of `SLOPE_STAGES` where slopes along the line from zero are wanted.
    step, version : int
        Newton step (0: at zero coefficients), and refinement of the reciprocal inside it.
    source : Name
        The reciprocals that a refinement starts from.
    coefficients : tuple of int
        Those of the refinement, a and b times 2^12.
    rows : list of int
        Rows where the baseline hazard is wanted ("information").
    """

    kind: str
    step: int = 0
    version: int = 0
    source: Name = START
    coefficients: tuple[int, int] = (0, 0)
    rows: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        if (
            self.kind not in STAGES + SLOPE_STAGES
            or not 0 <= self.version < MOST_REFINEMENTS
            or not self._is_at_a_point()
        ):
            raise ValueError("a stage is malformed")
        if not all(0 <= value < MOST_COEFFICIENT for value in self.coefficients):
            raise ValueError("coefficients of a refinement are out of range")
        if self.source.kind not in SOURCES:
            raise ValueError("a refinement starts from something else than reciprocals")

    def _is_at_a_point(self) -> bool:
        """Return whether it is of a step that a fit may take, or of a point beside one and for its slope."""
        beside, offset = divmod(self.step, BESIDE)
        at_a_step = beside == 0
        return at_a_step or (self.kind in BESIDE_STAGES and 0 < beside <= MOST_SEEN + 1 and offset < MOST_BESIDE)

    @property
    def label(self) -> str:
        """Prefix of what is dealt for this step and version."""
        return f"{self.step}.{self.version}"

    def named(self, kind: str) -> Name:
        """Return the name of something of this step and version."""
        return Name(kind, self.step, self.version)


def check_stages(plan: Plan, stages: Sequence[Stage]) -> None:
    """Raise `ValueError` for a stage that is asked for twice, or for the hazard in rows that the plan does not have."""
    if len({(stage.kind, stage.label) for stage in stages}) != len(stages):
        raise ValueError("a stage is asked for twice")
    if not all(0 <= row < plan.rows for stage in stages for row in stage.rows):
        raise ValueError("the baseline hazard is wanted in rows that there are not")


class EnterRequest(Message):
    """Stations: mask and send columns (step 0) or exp(linear predictor). Dealer: deal these stages.

    `beside`: further points by their step, with this station's coefficients there.
    """

    plan: Plan
    step: int
    coefficients: list[float]
    stages: list[Stage]
    inputs: bool
    beside: dict[int, list[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check that the job has so many points."""
        check_stages(self.plan, self.stages)
        if not 0 <= self.step <= MOST_POINTS:
            raise ValueError("a fit has more steps than it may take")
        if any(divmod(key, BESIDE)[0] != self.step + 1 or key % BESIDE >= MOST_BESIDE for key in self.beside):
            raise ValueError("a point is beside no step of the request")


class EnterReply(Message):
    """Sealed for the outcome holder: masked inputs, or from the helper what sorts them. `dealt`, from the helper: sealed for who takes corrections."""

    sealed: Sealed | None
    dealt: Sealed | None


class PermuteRequest(Message):
    """The stations' masked vectors and what the dealer tells for sorting them, sealed for the outcome holder."""

    plan: Plan
    step: int
    inputs: dict[int, Sealed]
    corrections: Sealed | None
    beside: list[int] = field(default_factory=list)


class PermuteReply(Message):
    """Sorted under a new mask; sealed for the share holders."""

    published: Broadcast


class Opened(Message):
    """What a stage opened: sums of the share holders' parts, as central added them.

    Attributes
    ----------
    sums : dict of Name to ndarray of uint8
        Whole numbers along the last axis: for the verifier one byte more than a part has, for the others cut.
    checksums : list of bytes
        For the verifier, one a share holder, in the order of the plan.
    """

    sums: dict[Name, Array] = field(default_factory=dict)
    checksums: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        if any(total.dtype != np.uint8 or total.ndim < 1 for total in self.sums.values()):
            raise ValueError("a sum of openings is malformed")


class StageRequest(Message):
    """What the previous stage opened, or nothing, and the stages to compute (the main one first, others beside it).

    `corrections`: the dealer's, for who takes them. `for_stations`: what the other share holders told this one in the previous stage, sealed (see `complete`).
    """

    plan: Plan
    stages: list[Stage]
    openings: Opened
    permuted: Broadcast | None
    corrections: Sealed | None
    for_stations: dict[int, Sealed] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_stages(self.plan, self.stages)
        if not self.stages:
            raise ValueError("no stage is asked for")


class StageReply(Message):
    """The station's part of every opening, their checksum, and shares of what central may know.

    `for_stations`: shares of what single stations may know, sealed for them; `counts`: from the outcome holder, complete records and events.
    """

    openings: dict[Name, Share[Array]]
    checksum: Share[bytes] | None
    revealed: dict[str, Share[Array]]
    frac_bits: Public[dict[str, int]]
    for_stations: dict[int, Sealed] = field(default_factory=dict)
    counts: Exact[list[int]] | None = None


class GroupRequest(Message):
    """Bring the residuals that a stage sums by cluster from the rows' order to that of the clusters.

    Attributes
    ----------
    plan : Plan
    stage : Stage
        The one that sums.
    openings : Opened
        To the outcome holder: the residuals.
    residuals : Sealed or None
        To the grouper, if it is another: what the outcome holder sent it.
    dealt : Sealed or None
        To the grouper: what the dealer tells it for sorting.
    """

    plan: Plan
    stage: Stage
    openings: Opened
    residuals: Sealed | None
    dealt: Sealed | None


class GroupReply(Message):
    """From the outcome holder residuals in the common order, sealed for the grouper; from this one what it publishes, sealed for the share holders."""

    residuals: Sealed | None
    published: Broadcast | None


class FinishRequest(Message):
    """The final coefficients of this station's columns (in its own scale)."""

    plan: Plan
    coefficients: list[float]


class FinishReply(Message):
    """Masked sum of coefficient times mean over the station's columns, 40 fractional bits; nothing from the helper."""

    masked: Masked
