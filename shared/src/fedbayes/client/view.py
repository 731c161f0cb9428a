"""How the client reads, shows and uses a model: its kind's view, which all parts of the client ask.

`VIEWS` has those of the kinds that the methods here make. A method that is installed beside the client can bring its own, or one in the place of those: it
declares ``name = "module:VIEW"`` in the entry point group ``fedbayes.views``. VIEW is a mapping with the fields of `View`; it imports nothing of the client.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from . import kinds

GROUP = "fedbayes.views"
Part = str | Callable[..., Any]


@dataclass(frozen=True, kw_only=True)
class View:
    """What the client does with models of one kind; the defaults are for a model of no known kind.

    Every part is a function, or where in the client it is (``module:function``), imported when it is asked; none is "".

    Attributes
    ----------
    kind : str
        Its name.
    fits : function of the model
        Whether a model is of this kind.
    html, text, facts : function of the model
        Pieces of HTML; rows of text; names and texts that belong beside the scores.
    frame : function of the result
        The answer as one table.
    figure : function of the result and options
        The figure that shows most of the model.
    predict : function of model, frame, label and times
        Predictions for every row of a frame.
    classifier : function of model and label
        A fitted scikit-learn classifier.
    networks : function of the model
        The Bayesian networks that it is made of.
    gaps : function of model and frame
        Columns with cells that the model does not understand, where its domain does not tell.
    conversions : tuple of str
        Methods of a `Result` that it has beyond those of all results.
    takes : tuple of str
        Options of predictions that it has: label, times.
    """

    kind: str = kinds.OTHER
    fits: Callable[[Mapping[str, Any]], bool] = lambda model: False
    html: Part = "views.plain:generic"
    text: Part = "text.model:plain"
    facts: Part = ""
    frame: Part = "answer_tables:plain"
    figure: Part = ""
    predict: Part = ""
    classifier: Part = "models.estimator:fitted"
    networks: Part = ""
    gaps: Part = ""
    conversions: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()

    def part(self, name: str) -> Callable[..., Any]:
        """Return the function of a part that it has."""
        value: Part = getattr(self, name)
        if not isinstance(value, str):
            return value
        module, _, function = value.partition(":")
        return getattr(import_module(f"{__package__}.{module}"), function)  # type: ignore[no-any-return]


def _format(name: str) -> Callable[[Mapping[str, Any]], bool]:
    return lambda model: str(model.get("format", "")).startswith(name)


VIEWS = (
    View(
        kind=kinds.NAIVE_BAYES,
        fits=_format("fedbayes.naive_bayes/"),
        html="views.naive_bayes:pieces",
        text="text.model:naive_bayes",
        frame="answer_tables:naive_bayes",
        figure="figures.model:naive_bayes",
        predict="models.predictions:by_naive_bayes",
        classifier="models.estimator:naive_bayes",
        conversions=("to_sklearn", "predict"),
    ),
    View(
        kind=kinds.WEIGHTED,
        fits=_format("fedbayes-weighted-naive-bayes-"),
        html="views.answers:weighted_pieces",
        text="text.model:weighted",
        frame="answer_tables:weighted",
        figure="figures.model:weighted",
        conversions=("to_sklearn", "predict"),
    ),
    View(
        kind=kinds.NETWORK,
        fits=lambda model: {"nodes", "edges", "tables"} <= set(model) and isinstance(model["nodes"], Mapping),
        html="views.network:pieces",
        text="text.model:network",
        frame="answer_tables:network",
        figure="figures.model:network",
        predict="models.predictions:by_network",
        networks="models.networks:alone",
        conversions=("to_sklearn", "to_pgmpy", "to_bif", "predict"),
        takes=("label",),
    ),
    View(
        kind=kinds.ENSEMBLE,
        fits=lambda model: isinstance(model.get("members"), list | Mapping),
        html="views.network:ensemble_pieces",
        text="text.model:ensemble",
        frame="answer_tables:ensemble",
        figure="figures.model:ensemble",
        predict="models.predictions:by_ensemble",
        networks="models.networks:of_members",
        conversions=("to_sklearn", "to_pgmpy", "predict"),
        takes=("label",),
    ),
    View(
        kind=kinds.COX,
        fits=lambda model: isinstance(model.get("coefficients"), list),
        html="views.cox:pieces",
        text="text.model:cox",
        facts="text.cox:facts_of",
        frame="answer_tables:cox",
        figure="figures.model:cox",
        predict="models.predictions:by_cox",
        gaps="models.coverage:cox_gaps",
        conversions=("to_lifelines", "compare", "predict"),
        takes=("times",),
    ),
    View(
        kind=kinds.COUNTS,
        fits=lambda model: "counts" in model and "axes" in model,
        html="views.counts:pieces",
        text="text.model:counts",
        frame="answer_tables:counts",
        figure="figures.model:counts",
    ),
    View(
        kind=kinds.PREDICTIONS,
        fits=lambda model: {"predicted", "probabilities", "states"} <= set(model),
        html="views.answers:predicted_pieces",
        text="text.model:records",
        frame="answer_tables:predictions",
    ),
    View(
        kind=kinds.SAMPLE,
        fits=lambda model: isinstance(model.get("records"), Mapping),
        html="views.answers:sample_pieces",
        text="text.model:records",
        frame="answer_tables:sample",
    ),
    View(
        kind=kinds.GAIN,
        fits=lambda model: isinstance(model.get("information_gain"), Mapping),
        html="views.answers:gain_pieces",
        text="text.model:gains",
        frame="answer_tables:gain",
        figure="figures.model:gain",
    ),
    View(
        kind=kinds.DESCRIPTION,
        fits=_format("fedbayes.description/"),
        html="views.description:pieces",
        text="text.model:columns",
        frame="answer_tables:description",
        figure="figures.model:description",
    ),
    View(
        kind=kinds.HAZARD,  # never a model's: of results that tell a baseline beside one
        frame="answer_tables:hazards",
        figure="figures.model:hazards",
    ),
    View(
        kind=kinds.SCORES,
        fits=lambda model: {"accuracy", "auc"} <= set(model),
        html="views.plain:nothing",  # the scores' own section shows them
        frame="answer_tables:scores",
    ),
)
"""The first that fits is a model's."""


@functools.cache
def views() -> tuple[View, ...]:
    """Return the views of all kinds: those that installed methods bring, then the client's."""
    from importlib.metadata import entry_points

    return (*(View(**point.load()) for point in entry_points(group=GROUP)), *VIEWS)


def named(kind: str) -> View:
    """Return the view of a kind."""
    return next((view for view in views() if view.kind == kind), View())


def view_of(model: Any) -> View:
    """Return the view of a result's `model`: the first that fits, else the plain one."""
    if not isinstance(model, Mapping):
        return View()
    return next((view for view in views() if view.fits(model)), View())


def view_of_result(result: Mapping[str, Any]) -> View:
    """Return the view of a result: that of its model, or of what it tells beside one."""
    view = view_of(result.get("model"))
    if view.kind != kinds.OTHER:
        return view
    if isinstance(result.get("predictions"), Mapping):
        return named(kinds.PREDICTIONS)
    if isinstance(result.get("metrics"), Mapping) or {"accuracy", "auc"} <= set(result):
        return named(kinds.SCORES)
    if isinstance(result.get("baseline"), Mapping):
        return named(kinds.HAZARD)
    return named(kinds.GAIN) if isinstance(result.get("information_gain"), Mapping) else View()
