"""What travels in the rounds of the solvers that show the outcome holder linear predictors: "bfgs" and "admm"."""

from __future__ import annotations

from fedbayes.federation import Broadcast, Exact, Message, Sealed, Share
from fedbayes.typing import Array

from ..cox.consensus import RHO
from .private import MOST_SEEN, Stage, check_stages
from .setup import Plan

RESIDUAL_BITS = 40
"""Fractional bits of the residual vectors that the outcome holder shows under a mask."""
TOO_MANY = "a fit has more steps than it may take"
MOST_ITERATIONS = 1000
"""Of the published consensus: as many as 2000 task rounds have room for (`arguments.MOST_ROUNDS`), twice as many as the thesis takes."""
LAST = 1
"""The only step of solver "admm" on shares."""


class PredictRequest(Message):
    """Coefficients of this station's columns; with `columns`, also open the columns to the outcome holder. Dealer: deal these stages."""

    plan: Plan
    step: int
    coefficients: list[float]
    columns: bool
    stages: list[Stage]

    def __post_init__(self) -> None:
        """Check that the job has so many points."""
        check_stages(self.plan, self.stages)
        if not 1 <= self.step <= MOST_SEEN:
            raise ValueError(TOO_MANY)


class PredictReply(Message):
    """For the outcome holder: masked linear predictor, opened columns, corrections. For central: the columns' mask key, or dealt numbers."""

    predictor: Sealed | None
    columns: Sealed | None
    key: Share[bytes] | None
    dealt: Share[Array] | None
    corrections: Sealed | None


class ResidualRequest(Message):
    """The stations' sealed predictors (and columns, once); coefficients of the outcome holder's own columns.

    With `searches` the outcome holder moves to the best combination of all steps so far.
    """

    plan: Plan
    step: int
    predictors: dict[int, Sealed]
    columns: dict[int, Sealed]
    coefficients: list[float]
    rows: list[int]
    searches: bool

    def __post_init__(self) -> None:
        """Check that the job has so many points."""
        if not 1 <= self.step <= MOST_SEEN:
            raise ValueError(TOO_MANY)


class ResidualReply(Message):
    """Masked residuals (rows, vectors), shares of the others' products with them, own products, likelihood, baseline.

    Also the combination of the steps at which all this is, and what an information matrix there needs, sealed for the share holders.
    """

    masked: Share[Array]
    shares: Share[Array]
    own_products: Exact[Array]
    log_likelihood: Exact[float]
    hazard: Exact[list[float]]
    combination: Exact[list[float]]
    published: Broadcast


def check_iteration(step: int, rho: float) -> None:
    """Raise `ValueError` unless a fit has so many iterations, and the step parameter is a number that a researcher can give."""
    if not 1 <= step <= MOST_ITERATIONS:
        raise ValueError(TOO_MANY)
    if not RHO[0] <= rho <= RHO[1]:
        raise ValueError("rho is out of range")


class AdmmRequest(Message):
    """One iteration at a station: step parameter, sums of its columns over the events, what the outcome holder sealed.

    With `report` the station returns the coefficients of this iteration instead, the outcome holder what an information matrix there needs,
    and the dealer deals these stages.
    """

    plan: Plan
    step: int
    rho: float
    observed: list[float]
    broadcast: Sealed | None
    report: bool
    update: str
    stages: list[Stage]

    def __post_init__(self) -> None:
        check_stages(self.plan, self.stages)
        check_iteration(self.step, self.rho)


class AdmmReply(Message):
    """The masked linear predictor, sealed for the outcome holder; or coefficients, published risks, corrections."""

    predictor: Sealed | None
    coefficients: Exact[list[float]] | None
    published: Broadcast | None
    corrections: Sealed | None


class AuxiliaryRequest(Message):
    """The stations' sealed predictors, and the sums of the outcome holder's own columns over the events."""

    plan: Plan
    step: int
    rho: float
    observed: list[float]
    predictors: dict[int, Sealed]
    update: str

    def __post_init__(self) -> None:
        check_iteration(self.step, self.rho)


class AuxiliaryReply(Message):
    """What each station needs next, sealed; norms of the residuals; likelihood."""

    broadcast: dict[int, Sealed]
    primal: Exact[float]
    dual: Exact[float]
    log_likelihood: Exact[float]
