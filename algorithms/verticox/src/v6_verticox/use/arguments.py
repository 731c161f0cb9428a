"""The arguments of the functions that take a fitted model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from fedbayes.federation.declare import TARGET, argument, when
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.kinds import EPSILON, FLAG, MODEL, NAME, choice, number, whole
from fedbayes.federation.vertical.declared import Dealt

from ..horizontal.declared import times
from ..horizontal.private.declared import Promised
from ..messages.folds import MOST_FOLDS

REVEALED = ("predictors", "aggregates")


def of_rows(model: Any) -> bool:
    """Say whether a model, which may be none, is one of whole records."""
    return isinstance(model, Mapping) and model.get("split") == "horizontal"


class Judging(Dealt):
    """Of every function that takes a fitted model."""

    idle_by_rows: ClassVar[tuple[str, ...]] = ("helper",)
    """Arguments that have no effect with a model of whole records."""

    by_columns: ClassVar[bool] = True
    """Whether the model must be one of columns of the same records."""

    of_whole_records: ClassVar[str] = ""
    """What to do instead with a model of whole records."""

    model: dict[str, Any] = argument(MODEL, "What is judged.", rank=TARGET)

    @property
    def by_rows(self) -> bool:
        """Whether the model is one of whole records."""
        return of_rows(self.model)

    @property
    def identifier(self) -> str:
        """The identifier's column, "" where the files are aligned, or stations hold whole records."""
        return "" if self.by_rows else super().identifier

    def unused(self) -> list[str]:
        """Warn of a helper, too, and of identifiers, which whole records do not need."""
        given = [name for name in self.idle_by_rows if self.by_rows and getattr(self, name) is not None]
        return super().unused() + [f"{name} has no effect with a model of whole records" for name in given]

    def refuse_of_columns(self, given: Mapping[str, Any]) -> None:
        """Refuse arguments that were given with a model of whole records, and are for columns of the same records."""
        other = [name for name, value in {**given, "rows_aligned": self.rows_aligned}.items() if value]
        if self.by_rows and other:
            raise ArgumentError(
                f"{other[0]} is for columns of the same records at several stations, and this model is one of whole records; leave it out"
            )

    @classmethod
    def check_model(cls, function: str, model: Mapping[str, Any]) -> None:
        """Refuse a model of another method, or of another split."""
        specified = "coefficients" in model or {"time", "event"} <= set(model)  # the latter is what folds fit
        kind = model.get("kind", "cox" if specified else None)
        if kind is None:
            raise ArgumentError("model must be the `model` of a result of verticox.fit")
        if kind != "cox":
            raise ArgumentError("model is not one of verticox.fit; give the `model` of its result")
        if cls.by_columns and model.get("split") == "horizontal":
            raise ArgumentError(
                f"model: it is one of whole records (split='horizontal'), and {function} is for columns of the same records at several stations; "
                f"{cls.of_whole_records}"
            )


class Evaluate(Promised, Judging):
    """Of `evaluate`; a model of whole records is judged on whole records."""

    by_columns: ClassVar[bool] = False
    rounds_usually: ClassVar[int] = 6

    epsilon: float | None = argument(
        EPSILON,
        "Privacy budget of the whole answer, for every row, of a model of whole records: one table with noise; above 20 no result is called private.",
        None,
        rank=TARGET,
    )
    times: list[float] | None = argument(
        times(2),
        "Where Brier scores, calibration and concordance by time are taken; quantiles of the event times when left out (with epsilon some of the model's "
        "times). Of a model of whole records they join its grid.",
        None,
        used_when=when("reveal", "predictors"),
    )
    groups: int = argument(
        whole(2, 100),
        "Most groups of predicted survival whose calibration is returned: of linked records 2, 4, 8, ... of them; equal predictions stay in one group.",
        5,
        used_when=when("reveal", "predictors"),
    )
    folds: int | None = argument(
        whole(2, MOST_FOLDS),
        "Cross-validate the model's specification (time, event, features or formula, ties, penalty, strata, weights, entry) in as many folds, in the same "
        "rounds, instead of judging its coefficients.",
        None,
    )
    reveal: str = argument(
        choice(REVEALED),
        "The outcome holder sees one number a record, or nobody does: then calibration and a test of fit, no concordance.",
        "predictors",
    )

    def check_together(self) -> None:
        """Refuse folds of a given model, and what is for the other split."""
        super().check_together()
        if self.folds is not None and self.reveal == "aggregates":
            raise ArgumentError("reveal='aggregates' judges a given model; leave folds out")
        if not self.by_rows and self.epsilon is not None:
            raise ArgumentError(
                "epsilon is for split='horizontal', models of whole records: an evaluation over columns of the same records is exact; leave epsilon out"
            )
        self.check_budget()
        self.refuse_of_columns({"folds": self.folds, "reveal": self.reveal == "aggregates"})

    @classmethod
    def usual_rounds(cls, given: Mapping[str, Any]) -> int:
        """Return fewer where stations hold whole records."""
        if of_rows(given.get("model")):
            return 3 if given.get("epsilon") is None else 2
        return cls.rounds_usually


class Predict(Judging):
    """Of `predict`; with `rows_aligned` the records come in the order of the stations' rows, else in an order that is random."""

    rounds_usually: ClassVar[int] = 5
    of_whole_records: ClassVar[str] = (
        "`fedbayes predict`, or .predict(frame) of the result, applies it to any file with its columns, by its own baseline and without a task; "
        "evaluate judges it"
    )

    model: dict[str, Any] = argument(MODEL, "What predicts.", rank=TARGET)
    times: list[float] | None = argument(
        times(1), "Where survival is wanted; the baseline's times when left out.", None
    )
    alive_at: float | None = argument(
        number(low=0.0),
        "Time that the records are known to have reached without the event: survival is given that, and 1 up to it.",
        None,
    )
    stratum: str = argument(NAME, "Whose baseline to use, for a stratified model.", "all")
    identifiers: bool = argument(
        FLAG, "Whether the records' identifiers are returned too; they leave the station.", False
    )


class Baseline(Judging):
    """Of `baseline`; that of a model of whole records is taken on whole records."""

    rounds_usually: ClassVar[int] = 5
    by_columns: ClassVar[bool] = False
    idle_by_rows: ClassVar[tuple[str, ...]] = ("helper", "id_column")

    model: dict[str, Any] = argument(MODEL, "Whose baseline.", rank=TARGET)

    def check_together(self) -> None:
        """Refuse what is for the other split."""
        super().check_together()
        self.refuse_of_columns({})

    @classmethod
    def usual_rounds(cls, given: Mapping[str, Any]) -> int:
        """Return fewer where stations hold whole records."""
        return 3 if of_rows(given.get("model")) else cls.rounds_usually
