"""The arguments of the central functions, and what follows of several of them together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.bayes.naive_bayes.counting import DEFAULT_BINS
from fedbayes.federation import Preflight
from fedbayes.federation.declare import TARGET, Arguments, argument, unless
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.horizontal import (
    Budget,
    Columns,
    CountNoise,
    Members,
    Placed,
    PlacedScores,
    Scoring,
    Target,
    Unit,
    Units,
    check_bins,
    preflight,
)
from fedbayes.federation.horizontal.declared import BINS
from fedbayes.federation.horizontal.planning import rows_in_all
from fedbayes.federation.kinds import MODEL, ONCE_PUBLISHED, choice, number
from fedbayes.federation.signatures import Store

from . import binning
from .binning import chosen
from .model import MECHANISMS, SENSITIVITIES, STATISTICS, Plan, plan_of, settled

ROBUST = ("median", "trimmed_mean", "krum", "bulyan")
AGGREGATION_NAMES = ("sum", *ROBUST, "gossip")

EVIDENCE = (
    ("statement and ledger agree, for every combination of arguments", "tests/privacy/test_statements.py"),
    (
        "lower bounds of the loss by sampling, over worst-case neighbours, with controls",
        "tests/privacy/test_sampled.py",
    ),
    ("what one unit changes in every query, for any model, bounds and values", "tests/privacy/test_sensitivity.py"),
)
"""What shows that private statements hold, for dossiers: what, and where in the project."""

STORE = Store(
    "Differentially private naive Bayes",
    "Naive Bayes over horizontally partitioned tables with one privacy budget: noise inside a secure sum, online updates, robust merging, "
    "gossip, evaluation.",
    "horizontal",
)


class Outside(Arguments):
    """What becomes of values outside the domain."""

    outside: str = argument(
        choice(("clip", "refuse")),
        "Values outside the domain are clipped (numbers) or count as missing (categories), or refused; then no result is called private.",
        "clip",
    )


class Mechanism(Budget):
    """Which law the noise has."""

    mechanism: str = argument(
        choice(MECHANISMS),
        "The law of the noise: gaussian needs a delta; auto takes whichever makes less noise with this epsilon and delta for so many queries, "
        "and spends no delta where that is laplace. It looks at the task, never at data.",
        "auto",
        used_when=unless("noise", "none"),
        why="an exact answer has no noise",
    )

    def check_together(self) -> None:
        """Refuse Gaussian noise without a delta."""
        super().check_together()
        if self.mechanism == "gaussian" and self.placement != "none" and self.delta == 0:
            raise ArgumentError(
                "mechanism='gaussian' needs a delta above 0; give delta, such as 1e-6, or mechanism='laplace'"
            )

    @property
    def added(self) -> CountNoise:
        """The noise; a delta is not spent on Laplace noise."""
        noise = super().added
        return replace(noise, delta=0.0) if self.mechanism == "laplace" else noise


class Fit(Mechanism, Placed, Target, Outside, Units, Members):
    """Of `fit`."""

    rounds_usually: ClassVar[int] = 2
    releases_tables: ClassVar[bool] = True

    bins: int | dict[str, Any] | None = argument(
        BINS,
        f"Bins of numeric features; when left out {DEFAULT_BINS}, or fewer where by domain, budget and rows the noise asks for it, which also counts "
        "many neighbouring states that are numbers together; never by data.",
        None,
    )
    rows: int | None = rows_in_all((unless("bins"), unless("noise", "none"), unless("statistics", "gaussian")))
    statistics: str = argument(
        choice(STATISTICS),
        "Tables for every feature (numeric ones in public bins), or sums and sums of squares for the numeric ones (the paper's).",
        "histogram",
    )
    sensitivity: str = argument(
        choice(SENSITIVITIES, ONCE_PUBLISHED),
        "Public bounds, or the paper's data-dependent scale, for reproduction: not private, and says so.",
        "bounds",
    )
    aggregation: str = argument(
        choice(AGGREGATION_NAMES),
        "How stations' answers become one model; all but sum need local noise, because they look at each station's own statistics.",
        "sum",
    )
    pseudocount: float = argument(
        number(low=1e-9, high=1e6), "Smoothing of tables, beside what the noise asks for.", 1.0, unit="rows"
    )

    def check_together(self) -> None:
        """Refuse choices that do not go together."""
        super().check_together()
        placement = self.added.placement
        if self.aggregation != "sum" and placement != "local":
            raise ArgumentError(
                f"aggregation='{self.aggregation}' looks at each station's own statistics, which a share of distributed noise "
                "does not protect and no noise leaves bare; give noise='local', or aggregation='sum'"
            )
        as_paper = (placement, self.statistics, self.aggregation, self.delta) == ("local", "gaussian", "sum", 0)
        if self.sensitivity == "published" and not as_paper:
            raise ArgumentError(
                "sensitivity='published' reproduces the paper: give noise='local', statistics='gaussian', "
                "aggregation='sum' and delta=0 with it"
            )

    def foreseen(self) -> dict[str, Any]:
        """Return what is left to the plan, as far as the domain is given."""
        columns = self.columns
        return {} if self.bins is not None or columns is None else binning.choices(planned(self, columns))

    @property
    def columns(self) -> Columns | None:
        """The columns, where the domain is given."""
        return self.foreseen_columns(self.whom, self.outside)


class Update(Mechanism, Placed, Outside, Units, Members):
    """Of `update`: the budget is that of the rows that are added now."""

    rounds_usually: ClassVar[int] = 2

    model: dict[str, Any] = argument(MODEL, "Made by aggregation sum or gossip.", rank=TARGET)


class Evaluate(Scoring, PlacedScores, Units):
    """Of `evaluate`."""

    rounds_usually: ClassVar[int] = 2


def planned(asked: Fit, columns: Columns) -> Plan:
    """Return what stations are asked: bins as they were given, or by the plan; the law of the noise by the plan too."""
    bins = check_bins(columns, DEFAULT_BINS if asked.bins is None else asked.bins)
    plan = Plan(columns, bins, asked.statistics, asked.sensitivity, asked.added, asked.pseudocount)
    plan = settled(plan, asked.mechanism)
    return chosen(plan, asked.rows) if asked.bins is None else plan


def before_fit(
    asked: list[str], noise: CountNoise, unit: Unit, sensitivity: str, outside: Any, aggregation: str
) -> Preflight:
    """Return what every station checks before anything is spent; `asked` are the columns that are known by then."""
    debited = noise if sensitivity == "bounds" else CountNoise(rows=noise.rows, id_column=noise.id_column)
    private = debited.promises and outside == "clip"
    functions = ["partial_gossip" if aggregation == "gossip" else "partial_statistics"]
    return preflight(asked, functions, debited, private, unit)


def unused_arguments(plan: Plan, bins: Any) -> list[str]:
    """Return a warning for every argument on how features are modelled that was given but is not used."""
    schema, found = plan.columns.schema, []
    numeric = [name for name in plan.columns.features if not schema[name].is_categorical]
    if bins not in (None, DEFAULT_BINS) and (plan.statistics == "gaussian" or not numeric):
        found.append("bins has no effect without a numeric feature that is modelled by a histogram")
    if plan.statistics == "gaussian" and not numeric:
        found.append("statistics='gaussian' only costs a query more without a numeric feature; take 'histogram'")
    if plan.pseudocount != 1.0 and not plan.tabled:
        found.append("pseudocount has no effect without a table; statistics='gaussian' has none of numeric features")
    return found


def unspent_delta(plan: Plan, delta: float) -> list[str]:
    """Return a warning if a delta was given that the noise of the plan does not need."""
    if not plan.noise.private or plan.noise.delta > 0 or delta == 0:
        return []
    return ["delta is not spent: the noise is discrete Laplace, of which epsilon alone says how wide it is"]


def outside_promise(plan: Plan) -> list[str]:
    """Return a warning if the promise leaves something out: a refusal of values outside the domain is an answer without noise."""
    beyond = plan.columns.beyond_promise
    return [beyond] if plan.noise.private and beyond is not None else []


def updating_plan(model: NaiveBayes, noise: CountNoise, outside: Any, unit: Unit) -> Plan:
    """Return the plan by which stations join a model; ArgumentError if it cannot be added to."""
    try:
        return plan_of(model, noise, outside, unit)
    except ValueError as problem:
        text = str(problem)
    raise ArgumentError(f"model cannot be updated: {text}")
