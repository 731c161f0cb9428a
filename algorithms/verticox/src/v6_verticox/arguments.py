"""The arguments of the central functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from fedbayes.bayes.encoding import SchemaError
from fedbayes.bayes.term_reader import read_terms
from fedbayes.bayes.terms import Terms
from fedbayes.federation.declare import (
    COLUMN,
    COLUMNS,
    EPSILON,
    FLAG,
    MODEL,
    NAME,
    ORGANIZATION,
    PARTIES,
    TARGET,
    Kind,
    argument,
    choice,
    number,
    unless,
    when,
    whole,
)
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.signatures import Store
from fedbayes.federation.vertical.declared import DEALER_WORDS, Dealt

from .cox.proportional import TRANSFORMS
from .horizontal.declared import CASES, Cases, times
from .horizontal.private.declared import Private, Promised
from .horizontal.private.messages import STEPS
from .messages.folds import MOST_FOLDS

SOLVERS = ("private_newton", "bfgs", "admm")
TIES = ("breslow", "efron")
MISSING = ("refuse", "complete")
UPDATES = ("standard", "published")
REVEALED = ("predictors", "aggregates")
MOST_ROUNDS = {"private_newton": 80, "bfgs": 30, "admm": 2000}
RECORD_BYTES, FEATURE_BYTES, ROUND_BYTES = 2640, 790, 10_600
"""Of a private fit to a record, of each of its features, and of an organization in a round."""
BY_ROWS, VERTICAL, EXACT = 40, unless("split", "horizontal"), unless("epsilon")
COEFFICIENTS = ["feature", "coefficient", "hazard_ratio", "standard_error", "z", "p", "lower_95", "upper_95"]

EVIDENCE = (
    (
        "statements against debits, sensitivities by brute force, and what the noise really hides",
        "tests/privacy/test_verticox.py",
    ),
    (
        "the same of columns of the same records, through the whole protocol, with cuts and noise on shares",
        "tests/privacy/test_verticox_columns.py",
    ),
)
"""What shows that private statements hold, for dossiers: what, and where in the project."""

STORE = Store(
    "Cox regression",
    "Proportional hazards on vertically split records: gradient and information matrix by arithmetic on shares, nobody sees a value of one record; "
    "on horizontally split ones by secure sums over risk sets.",
    "vertical",
    {
        "fit": [
            {
                "name": "Coefficients",
                "type": "table",
                "description": "Coefficients, hazard ratios, intervals.",
                "schema": {"location": ["model", "coefficients"], "columns": COEFFICIENTS},
            }
        ]
    },
)


def checked_terms(name: str, value: Any, entries: Mapping[str, Any] | None = None) -> Terms:
    """Return the terms of a formula, with `entries` those bounds and references told that it leaves open; `ArgumentError` saying what is wrong."""
    try:
        terms = read_terms(value)
        return terms if entries is None else terms.with_dictionary(entries)
    except SchemaError as problem:
        text = str(problem)
    raise ArgumentError(text if name == "formula" else f"{name}: {text}")


def _readable(name: str, value: Any) -> str:
    checked_terms(name, value)
    return str(value)


FORMULA = Kind("string", "a formula", _readable)


@dataclass(frozen=True, kw_only=True)
class Fit(Cases, Private, Dealt):
    """Of `fit`."""

    rounds_usually: ClassVar[int] = 45

    time: str = argument(COLUMN, "Times of the outcome, at least 0.", rank=TARGET)
    event: str = argument(COLUMN, "At the same station: 1 for an event, 0 for a censored record.", rank=TARGET)
    features: list[str] | None = argument(
        COLUMNS,
        "Columns of any stations, unless there is a formula. Text is coded as one indicator a category, the dictionary's reference or the "
        "alphabetically first left out.",
        None,
        rank=TARGET,
    )
    formula: str | None = argument(
        FORMULA,
        'In the place of features: ~ age + C(stage, reference="I") + age:treatment + bs(bmi, df=4) + log(marker); the columns of an '
        "expression are at one station. With split='horizontal' the domain gives the bounds of numbers, and of an expression under its text.",
        None,
        rank=TARGET,
    )
    solver: str = argument(
        choice(SOLVERS),
        "private_newton: nobody sees a record-level value; bfgs: fewer rounds, but the outcome holder sees every record's total linear "
        "predictor; admm: the published method, for comparison.",
        "private_newton",
        used_when=VERTICAL,
    )
    ties: str = argument(
        choice(TIES),
        "How tied events are treated; admm knows breslow only.",
        "breslow",
        used_when=EXACT,
        why="the likelihood of a private fit has no ties",
    )
    penalty: float = argument(
        number(low=0.0, high=1e9),
        "Ridge: penalty / 2 times the sum of squared coefficients is subtracted from the log partial likelihood.",
        0.0,
    )
    strata: str | None = argument(
        COLUMN, "Column of the outcome holder, or one of the domain with categories; one baseline for each value.", None
    )
    rho: float = argument(number(above=0.0, high=1e6), "Step parameter.", 0.25, used_when=when("solver", "admm"))
    gamma_update: str = argument(
        choice(UPDATES),
        "Update of the multiplier, or as in the published program; both end at the same coefficients.",
        "standard",
        used_when=when("solver", "admm"),
    )
    tolerance: float = argument(
        number(low=1e-9, high=0.1),
        "Wanted accuracy of the coefficients; for admm the norm of the residuals.",
        1e-7,
        used_when=EXACT,
        unit="standard deviations of a feature",
    )
    max_rounds: int | None = argument(
        whole(12, 100_000),
        "Most task rounds; 80, 30 or 2000 by solver when left out, 40 with split='horizontal'.",
        None,
        used_when=EXACT,
        unit="rounds",
    )
    time_transform: str | None = argument(
        choice(TRANSFORMS),
        "Function of time in the check of proportional hazards; null: no check.",
        "rank",
        used_when=(unless("solver", "admm"), EXACT),
        optional=True,
    )
    missing: str = argument(
        choice(MISSING),
        "A gap in a column that is used is an error; or the records without a gap at any station count, and nobody sees which "
        "(private_newton, ties as breslow). Always so with epsilon, as a refusal would reveal that there are gaps.",
        "refuse",
        used_when=EXACT,
    )

    helper: int | str | None = argument(ORGANIZATION, DEALER_WORDS, None, used_when=VERTICAL, rank=PARTIES)

    @property
    def identifier(self) -> str:
        """The identifier's column, "" where the files are aligned, or records are split by rows."""
        return "" if self.by_rows else super().identifier

    @cached_property
    def terms(self) -> Terms | None:
        """The formula's terms, None without one."""
        return None if self.formula is None else checked_terms("formula", self.formula)

    @property
    def columns(self) -> list[str]:
        """Columns of the features."""
        return list(self.features or []) if self.terms is None else self.terms.columns

    @property
    def limit(self) -> int:
        """Most task rounds."""
        usual = BY_ROWS if self.by_rows else MOST_ROUNDS[self.solver]
        return usual if self.max_rounds is None else self.max_rounds

    @property
    def checked(self) -> bool:
        """Whether proportional hazards can be checked in a vertical fit."""
        return self.solver != "admm" and self.missing == "refuse" and self.weights is None

    def check_together(self) -> None:
        """Refuse a column in two roles."""
        super().check_together()
        exact = [name for name in (*CASES, "strata", "formula") if getattr(self, name)]
        self.check_private(self.times, exact)
        if self.epsilon is not None and not self.by_rows and self.solver != "private_newton":
            raise ArgumentError(f"solver={self.solver!r} has no noise; leave it out, or epsilon")
        private = self.solver == "private_newton" and self.ties == "breslow" and self.missing == "refuse"
        cases = [name for name in ("weights", "entry", "robust") if getattr(self, name)]
        if cases and not self.by_rows and not private:
            raise ArgumentError(
                f"{cases[0]} of a vertical fit is for solver='private_newton' with ties='breslow' and missing='refuse'; choose these, or leave it out"
            )
        if self.missing == "complete" and self.solver != "private_newton" and not self.by_rows:
            raise ArgumentError(
                f"missing='complete' is for solver='private_newton': with {self.solver} a station would see which records are complete; "
                "choose that solver, or fill in or leave out the records with gaps"
            )
        if self.solver == "admm" and not self.by_rows and (self.penalty or self.strata or self.ties != "breslow"):
            raise ArgumentError(
                "solver='admm' takes neither penalty nor strata nor Efron's ties; choose another solver"
            )
        if (self.features is None) == (self.formula is None):
            raise ArgumentError(
                'features and formula: give one of them, such as features=["age", "stage"] or formula="~ age + C(stage)"'
            )
        outcome = [self.time, self.event, *filter(None, (self.strata, self.weights, self.entry))]
        identifier = [self.id_column] if self.id_column else []
        twice = [name for name in self.columns if name in outcome or name in identifier]
        if twice:
            raise ArgumentError(
                f"{'features' if self.terms is None else 'formula'}: '{twice[0]}' is named for another role too; take it out"
            )
        if len(set(outcome + identifier)) != len(outcome + identifier):
            raise ArgumentError("time, event, strata, weights, entry and id_column must be different columns")

    @classmethod
    def usual_rounds(cls, given: Mapping[str, Any]) -> int:
        """Return fewer for `bfgs`, whose stations see predictors, and where stations hold whole records."""
        if given.get("epsilon") is not None:
            return 2 + STEPS if given.get("split") == "horizontal" else 5 + 4 * STEPS
        if given.get("split") == "horizontal":
            return 12 + bool(given.get("weights")) + bool(given.get("robust") or given.get("cluster"))
        return 25 if given.get("solver") == "bfgs" else cls.rounds_usually

    @classmethod
    def usual_bytes(cls, given: Mapping[str, Any], stations: int, rows: int) -> int | None:
        """Return about the bytes of the private solver over given features; those of records for every other station, as measured over 3 and 5."""
        others = given.get("split") == "horizontal" or given.get("solver") not in (None, "private_newton")
        if others or not rows or not given.get("features") or given.get("epsilon") is not None:
            return None
        domain = given.get("domain") or {}
        widths = [max(len(domain.get(name, {}).get("categories", ())) - 1, 1) for name in given["features"]]
        record = (stations - 1) * (RECORD_BYTES + FEATURE_BYTES * sum(widths))
        return record * rows + ROUND_BYTES * cls.usual_rounds(given) * (stations + 1)


class Judging(Dealt):
    """Of every function that takes a fitted model."""

    by_columns: ClassVar[bool] = True
    """Whether the model must be one of columns of the same records."""

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
                "fedbayes predict applies it to a file, evaluate judges it"
            )


@dataclass(frozen=True, kw_only=True)
class Evaluate(Promised, Judging):
    """Of `evaluate`; a model of whole records is judged on whole records."""

    by_columns: ClassVar[bool] = False
    rounds_usually: ClassVar[int] = 6

    model: dict[str, Any] = argument(MODEL, "What is judged.", rank=TARGET)
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
        "Groups of predicted survival whose calibration is returned; equal predictions stay in one group, so there may be fewer.",
        5,
        used_when=when("reveal", "predictors"),
    )
    folds: int | None = argument(
        whole(2, MOST_FOLDS),
        "Cross-validate the model's specification (time, event, features or formula, ties, penalty, strata) in as many folds, in the same rounds, instead "
        "of judging its coefficients.",
        None,
    )
    reveal: str = argument(
        choice(REVEALED),
        "The outcome holder sees one number a record, or nobody does: then calibration and a test of fit, no concordance.",
        "predictors",
    )

    @property
    def by_rows(self) -> bool:
        """Whether the model is one of whole records."""
        return self.model.get("split") == "horizontal"

    @property
    def identifier(self) -> str:
        """The identifier's column, "" where the files are aligned, or stations hold whole records."""
        return "" if self.by_rows else super().identifier

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
        if not self.by_rows:
            return
        other = [name for name, given in (("folds", self.folds), ("rows_aligned", self.rows_aligned)) if given]
        if other or self.reveal == "aggregates":
            raise ArgumentError(
                f"{'reveal' if not other else other[0]} is for columns of the same records at several stations, and this model is one of whole records; "
                "leave it out"
            )

    @classmethod
    def usual_rounds(cls, given: Mapping[str, Any]) -> int:
        """Return fewer where stations hold whole records."""
        model = given.get("model")
        if isinstance(model, Mapping) and model.get("split") == "horizontal":
            return 3 if given.get("epsilon") is None else 2
        return cls.rounds_usually


@dataclass(frozen=True, kw_only=True)
class Predict(Judging):
    """Of `predict`; with `rows_aligned` the records come in the order of the stations' rows, else in an order that is random."""

    rounds_usually: ClassVar[int] = 5

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


@dataclass(frozen=True, kw_only=True)
class Baseline(Judging):
    """Of `baseline`."""

    rounds_usually: ClassVar[int] = 5

    model: dict[str, Any] = argument(MODEL, "Whose baseline.", rank=TARGET)
