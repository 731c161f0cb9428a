"""What travels in a cross-validation: fits of several folds share rounds."""

from __future__ import annotations

from fedbayes.federation import Exact, Message, Public, Sealed
from fedbayes.federation.questions.factor_info import check_records

from .private import EnterReply, EnterRequest, PermuteReply, PermuteRequest, StageReply, StageRequest
from .scoring import Curve
from .setup import Outcome, Question

MOST_FOLDS = 50
"""Every message of a fit travels once a fold."""


class DrawRequest(Message):
    """The outcome holder: draw the secret of the folds and seal it for the other share holders."""

    holders: list[int]
    folds: int

    def __post_init__(self) -> None:
        if not 2 <= self.folds <= MOST_FOLDS or len(set(self.holders)) < 2:
            raise ValueError("a cross-validation takes 2 to 50 folds and two or more share holders")


class SplitRequest(Message):
    """Keep the training records of every fold."""

    question: Question
    owner: int
    folds: int
    sealed: Sealed | None

    def __post_init__(self) -> None:
        if not 2 <= self.folds <= MOST_FOLDS:
            raise ValueError("a cross-validation takes 2 to 50 folds")


class SplitReply(Message):
    """From the outcome holder: what it tells of the training records of every fold."""

    outcomes: Exact[list[Outcome]] | None


class FoldRequest(Message):
    """One request of one fold's fit; the others are None."""

    fold: int
    partial_enter: EnterRequest | None = None
    partial_permute: PermuteRequest | None = None
    partial_stage: StageRequest | None = None

    def __post_init__(self) -> None:
        if sum(part is not None for part in (self.partial_enter, self.partial_permute, self.partial_stage)) != 1:
            raise ValueError("a fold asks for one thing at a time")


class FoldReply(Message):
    """The answer to one fold's request."""

    fold: Public[int]
    partial_enter: EnterReply | None = None
    partial_permute: PermuteReply | None = None
    partial_stage: StageReply | None = None


class FoldsRequest(Message):
    """What several folds ask of one organization in one round."""

    parts: list[FoldRequest]


class FoldsReply(Message):
    """The answers."""

    parts: list[FoldReply]


class HeldOutRequest(Message):
    """Coefficients of this station's columns (in its own scale), fold by fold; who else scores, and the question of the fits."""

    question: Question
    scorers: list[int]
    receiver: int
    rows: int
    coefficients: list[list[float]]

    def __post_init__(self) -> None:
        check_records(self.rows)


class HeldOutReply(Message):
    """The masked linear predictor of every record under the fit that did not see it, sealed for the outcome holder."""

    sealed: Sealed | None


class FoldCurves(Message):
    """The baseline of one fold's fit, by stratum."""

    curves: list[Curve]


class JudgeRequest(Message):
    """The sealed predictors of held-out records, and every fold's baseline."""

    question: Question
    scorers: list[int]
    predictors: dict[int, Sealed]
    baselines: list[FoldCurves]
    times: list[float] | None
    groups: int

    def __post_init__(self) -> None:
        if not 2 <= self.groups <= 100 or self.times == []:
            raise ValueError("an assessment is malformed")
