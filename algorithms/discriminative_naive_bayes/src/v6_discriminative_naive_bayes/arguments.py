"""The arguments of the central functions, and what their combinations may promise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from fedbayes.federation.declare import TARGET, argument, unless, when
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.horizontal import Budget, Columns, Members, Scoring, Target, Units, check_bins
from fedbayes.federation.horizontal.columns import REFUSALS
from fedbayes.federation.horizontal.declared import BINS, OUTSIDE, honest_fraction, neighbors
from fedbayes.federation.horizontal.planning import rows_in_all
from fedbayes.federation.kinds import EPSILON, FLAG, ONCE_PUBLISHED, choice, number, whole
from fedbayes.federation.signatures import Store

from . import plan
from .messages import CONTINUOUS, LARGEST_CLIP, MOST_ITERATIONS, MOST_ROUNDS, PRIORS, STRUCTURES, TABLES, WEIGHTS, Shape
from .settings import AGGREGATIONS, OPTIMIZERS, Settings

EVIDENCE = (
    ("statements against debits, and what the noise really hides", "tests/privacy/test_discriminative_naive_bayes.py"),
)
"""What shows that private statements hold, for dossiers: what, and where in the project."""

STORE = Store(
    "Discriminative naive Bayes",
    "Weighted naive Bayes whose weights maximise the conditional likelihood over all stations; gradients by secure sum, optional differential "
    "privacy.",
    "horizontal",
)


class Fit(Target, Budget, Units, Members):
    """Of `fit`."""

    rounds: int | None = argument(
        whole(1, MOST_ROUNDS),
        "Most steps of the optimiser, one round each; when left out 40, fewer where they converge earlier (mostly 10 to 25); 17 of fedavg, and 8 of "
        "noisy gradients of naive Bayes.",
        None,
    )
    local_iterations: int = argument(
        whole(1, MOST_ITERATIONS),
        "Iterations of L-BFGS at a station in a step of fedavg.",
        5,
        used_when=when("optimizer", "fedavg"),
    )
    prior: str = argument(choice(PRIORS, ONCE_PUBLISHED), "How the prior enters the score.", "log")
    tables: str | None = argument(
        choice(TABLES),
        "One table over all stations; one at each, which stays there, as in the paper; or one with noise, which needs epsilon. "
        "When left out secure_sum, with epsilon dp.",
        None,
    )
    optimizer: str = argument(
        choice(OPTIMIZERS),
        "Loss and gradient by secure sum with L-BFGS at central, or averaged improvements of the stations.",
        "secure_gradient",
    )
    weights: str = argument(choice(WEIGHTS), "One weight for each value and class, or for each attribute.", "value")
    regularization: float = argument(
        number(low=0, high=1e6),
        "Strength of the pull of the weights to 1, plain naive Bayes, as a multiple of the mean log-loss.",
        0.0,
    )
    aggregation: str = argument(
        choice(AGGREGATIONS),
        "How fedavg averages.",
        "mean",
        used_when=(when("optimizer", "fedavg"), unless("epsilon")),
        why="gradients are summed, and noisy improvements are averaged over the stations",
    )
    epsilon: float | None = argument(
        EPSILON,
        "Budget of the whole fit, with tables dp, or with tables local and fedavg; above 20 no result is called private.",
        None,
        rank=TARGET,
    )
    personalize: bool = argument(
        FLAG, "Whether to report the accuracy after one more local improvement as well.", False
    )
    structure: str = argument(
        choice(STRUCTURES),
        "Naive Bayes, or averaged one-dependence estimators: every attribute is once the parent of all.",
        "naive",
    )
    bins: int | dict[str, Any] | None = argument(
        BINS,
        "Bins of numeric features; when left out 10, with epsilon chosen by domain, budget and rows, never by data.",
        None,
    )
    rows: int | None = rows_in_all((when("epsilon"), unless("bins")))
    continuous: str = argument(
        choice(CONTINUOUS),
        "Numeric features are cut into bins, or normally distributed in each class (with structure naive and exact or local tables).",
        "binned",
    )
    delta: float = argument(number(low=0, below=1), "Of the budget; must be above 0.", 1e-6, used_when=when("epsilon"))
    neighbors: str = neighbors(when("epsilon"))
    honest_fraction: float = honest_fraction(when("epsilon"))
    clip: float | None = argument(
        number(above=0, high=LARGEST_CLIP),
        "Largest L2 norm of the contribution of a row, or of a station, with noise; when left out chosen by budget and noisy counts, or 1.",
        None,
        used_when=when("epsilon"),
    )
    attribute_rounds: int | None = argument(
        whole(0, MOST_ROUNDS),
        "Of the rounds of a private fit the first so many learn one weight for each attribute; when left out none; large models: a third from 12 features on.",
        None,
        used_when=(when("epsilon"), when("optimizer", "secure_gradient"), when("structure", "naive")),
    )
    tolerance: float = argument(
        number(low=0, below=1),
        "Relative change of the objective at which the optimiser stops.",
        1e-6,
        used_when=unless("epsilon"),
        why="all steps are made",
    )
    outside: str = argument(
        OUTSIDE, "Values outside the domain are clipped (numbers) or count as missing (categories), or refused.", "clip"
    )

    def check_together(self) -> None:
        """Refuse combinations that cannot keep their promise."""
        super().check_together()
        noisy, tables = self.epsilon is not None, self.kind_of_tables
        refusals = {
            'continuous="gaussian" needs structure="naive" and tables without noise; give continuous="binned"': (
                self.continuous == "gaussian" and (self.structure != "naive" or tables == "dp")
            ),
            'epsilon is needed for tables="dp"; give a number greater than 0': tables == "dp" and not noisy,
            'epsilon does not protect exact tables; give tables="dp", or leave epsilon out': (
                tables == "secure_sum" and noisy
            ),
            'epsilon with tables="local" protects whole stations, so it needs optimizer="fedavg"; or give tables="dp"': (
                tables == "local" and noisy and self.optimizer != "fedavg"
            ),
            "personalize adds an exact evaluation; leave it out with epsilon, and call evaluate": (
                self.personalize and noisy
            ),
            REFUSALS: noisy and self.outside == "refuse",
            'unit must be "row" with tables="local", where whole stations are protected; leave it out': (
                noisy and tables == "local" and self.unit != "row"
            ),
            "delta must be greater than 0 with epsilon: the noise is Gaussian": noisy and self.delta == 0,
            "attribute_rounds must be at most rounds; give fewer, or leave it out": (
                self.attribute_rounds is not None and self.attribute_rounds > self.steps
            ),
        }
        for text, holds in refusals.items():
            if holds:
                raise ArgumentError(text)

    @property
    def kind_of_tables(self) -> str:
        """Where tables are, as in `tables`; noisy ones where the budget asks for them."""
        return self.tables or ("secure_sum" if self.epsilon is None else "dp")

    @property
    def steps(self) -> int:
        """Most steps of the optimiser."""
        return self.rounds or plan.usual_rounds(self.epsilon, self.optimizer, self.structure)

    def cut(self, columns: Columns) -> dict[str, Any]:
        """Return the bins of every numeric feature."""
        bins = self.bins
        if bins is None:
            bins = plan.usual_bins(columns, self.epsilon, self.delta, self.rows)
        return check_bins(columns, bins)

    def left_to_the_plan(self, bins: dict[str, Any], clip: float | None = None) -> dict[str, Any]:
        """Return what the caller left open, as it was chosen."""
        given = {name: getattr(self, name) is not None for name in ("rounds", "bins", "clip")}
        return plan.choices(self.steps, bins, given, clip if self.epsilon is not None else None)

    @property
    def settings(self) -> Settings:
        """How the weights are learned."""
        return Settings(self, self.clip, self.attribute_rounds)

    @classmethod
    def usual_rounds(cls, given: Mapping[str, Any]) -> int:
        """Return a round an iteration, usually as many as exact gradients take to converge, and the first and the last."""
        texts = [str(given.get(name, getattr(cls, name))) for name in ("optimizer", "structure")]
        most = given.get("rounds") or plan.usual_rounds(given.get("epsilon"), *texts)
        exact = given.get("epsilon") is None and texts[0] == "secure_gradient"
        rounds = min(most, plan.USUALLY_CONVERGED) if exact and isinstance(most, int) else most
        return rounds + 2 if isinstance(rounds, int) else 0

    def foreseen(self) -> dict[str, Any]:
        """Return what is left to the plan, as far as the domain is given."""
        columns = self.foreseen_columns(self.whom)
        return {} if columns is None else self.left_to_the_plan(self.cut(columns))


class Evaluate(Scoring, Units):
    """Of `evaluate`."""

    rounds_usually: ClassVar[int] = 2

    personalize: bool = argument(
        FLAG, "Whether to score after one more local improvement as well; such scores are exact.", False
    )

    def check_together(self) -> None:
        """Refuse noise where it protects nothing."""
        super().check_together()
        if self.personalize and self.epsilon is not None:
            raise ArgumentError(
                "epsilon does not protect personalised scores, where one row changes the scores of others; "
                "give personalize=false, or leave epsilon out"
            )


def without_effect(asked: Fit, shape: Shape) -> list[str]:
    """Return a warning for every argument on features that was given though there is none of its kind."""
    numeric = [name for name in shape.columns.features if not shape.columns.schema[name].is_categorical]
    binned = [name for name in numeric if name not in shape.gaussians]
    checks = [
        ("bins", asked.bins is not None and not binned, "a binned feature"),
        ("continuous", shape.continuous != "binned" and not numeric, "a numeric feature"),
    ]
    return [f"{name} has no effect without {needed}" for name, useless, needed in checks if useless]
