"""The arguments of the central functions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

from fedbayes.bayes.formulae.term_reader import read_terms
from fedbayes.bayes.formulae.terms import Terms
from fedbayes.federation.declare import PARTIES, TARGET, argument, unless, when
from fedbayes.federation.errors import ArgumentError, schema_errors
from fedbayes.federation.kinds import COLUMN, COLUMNS, ORGANIZATION, Kind, choice, number, whole
from fedbayes.federation.signatures import Store
from fedbayes.federation.vertical.declared import DEALER_WORDS, Dealt

from .cox.consensus import RHO
from .cox.proportional import TRANSFORMS
from .horizontal.declared import CASES, Cases
from .horizontal.messages import MISSING, TIES
from .horizontal.private.declared import Private
from .horizontal.private.messages import STEPS

SOLVERS = ("private_newton", "bfgs", "admm")
UPDATES = ("standard", "published")
MOST_ROUNDS = {"private_newton": 160, "bfgs": 30, "admm": 2000}
"""Task rounds after which a fit is given up: more than it takes where it converges (`Fit.usual_rounds`)."""
RECORD_BYTES, FEATURE_BYTES, ROUND_BYTES = 2640, 790, 10_600
"""Of a private fit to a record, of each of its features, and of an organization in a round."""
ROBUST_BYTES, CLUSTER_BYTES = 100, 22
"""Of a record's feature with robust errors, and of these by cluster for each time that the records are halved: they are sorted by cluster."""
SANDWICH_ROUNDS, CLUSTER_ROUNDS, RECORD_ROUNDS = 5, 3, 2
"""As many as `robust` adds to a vertical fit with small ties (one fewer without); to these `cluster` (one fewer where the outcome is), or else `entry`."""
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
    with schema_errors(ArgumentError, "" if name == "formula" else name):
        terms = read_terms(value)
        return terms if entries is None else terms.with_dictionary(entries)


def _readable(name: str, value: Any) -> str:
    checked_terms(name, value)
    return str(value)


FORMULA = Kind("string", "a formula", _readable)


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
        "predictor; admm: the published method, for comparison. All nodes must let single records be predicted for these two.",
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
    rho: float = argument(number(low=RHO[0], high=RHO[1]), "Step parameter.", 0.25, used_when=when("solver", "admm"))
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
        "Most task rounds; 160, 30 or 2000 by solver when left out, 40 with split='horizontal'.",
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
        self._check_cases()
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
        if self.cluster is not None and self.cluster in identifier:
            raise ArgumentError(
                "cluster and id_column must be different columns; ask with robust=true where each record is its own cluster"
            )

    def _check_cases(self) -> None:
        """Refuse a vertical fit with weights, times of entry or robust errors where there is none."""
        wanted = {"solver": "private_newton", "missing": "refuse"}
        needs = {"weights": wanted, "entry": wanted, "robust": ["solver"], "cluster": ["solver", "missing"]}
        for case, names in needs.items():
            unlike = [f"{name}={wanted[name]!r}" for name in names if getattr(self, name) != wanted[name]]
            if getattr(self, case) and unlike and not self.by_rows:
                raise ArgumentError(
                    f"{case} of a vertical fit is for {' and '.join(unlike)}; choose this, or leave {case} out"
                )

    @classmethod
    def usual_rounds(cls, given: Mapping[str, Any]) -> int:
        """Return fewer for `bfgs`, whose stations see predictors, and where stations hold whole records."""
        if given.get("epsilon") is not None:
            return 2 + STEPS if given.get("split") == "horizontal" else 5 + 4 * STEPS
        if given.get("split") == "horizontal":
            return 12 + bool(given.get("weights")) + bool(given.get("robust") or given.get("cluster"))
        summed = CLUSTER_ROUNDS if given.get("cluster") else RECORD_ROUNDS if given.get("entry") else 0
        more = SANDWICH_ROUNDS + summed if given.get("robust") or given.get("cluster") else 0
        return 25 if given.get("solver") == "bfgs" else cls.rounds_usually + more

    @classmethod
    def usual_bytes(cls, given: Mapping[str, Any], stations: int, rows: int) -> int | None:
        """Return about the bytes of the private solver over given features; those of records for every other station, as measured over 3 and 5."""
        others = given.get("split") == "horizontal" or given.get("solver") not in (None, "private_newton")
        if others or not rows or not given.get("features") or given.get("epsilon") is not None:
            return None
        domain = given.get("domain") or {}
        widths = [max(len(domain.get(name, {}).get("categories", ())) - 1, 1) for name in given["features"]]
        robust = ROBUST_BYTES * bool(given.get("robust") or given.get("cluster"))
        sorting = CLUSTER_BYTES * bool(given.get("cluster")) * math.log2(max(rows, 2))
        record = (stations - 1) * (RECORD_BYTES + (FEATURE_BYTES + robust + round(sorting)) * sum(widths))
        return record * rows + ROUND_BYTES * cls.usual_rounds(given) * (stations + 1)
