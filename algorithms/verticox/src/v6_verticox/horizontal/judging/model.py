"""A fitted model as an argument of a judgement: its question, its numbers, its baseline at times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from fedbayes.bayes.schema import Column, Schema
from fedbayes.federation.errors import ArgumentError, schema_errors
from fedbayes.federation.perimeter.manifest import outline_of

from ..declared import checked_times
from ..messages import MOST_COLUMNS, MOST_TIMES, Question
from .messages import Applied, asked_by

Asked = TypeVar("Asked", bound=Applied)
AS_IT_IS = "give the `model` of a result of verticox.fit as it is"
MOST_STRATA = 100
"""Each adds 4,096 counts to a message."""


def applied_model(
    kind: type[Asked], model: Mapping[str, Any], grid: Sequence[float], levels: Sequence[str], **cases: str
) -> Asked:
    """Return a model with the question of its records, on a grid of times.

    Parameters
    ----------
    kind : type
        Of what is asked.
    model : mapping
        Of a fit to whole records, of which the parts of every Cox model are checked.
    grid : sequence of float
        Increasing.
    levels : sequence of str
        Strata, as the baseline names them; one without a name where there are none.
    **cases : str
        Columns of case weights and times of entry, where they count.

    Raises
    ------
    ArgumentError
        Saying what is wrong with it.
    """
    strata = model.get("strata")
    if not all(isinstance(model.get(name), Mapping) for name in ("domain", "references")):
        raise ArgumentError(f"model: it has no domain or no references; {AS_IT_IS}")
    if len(levels) > MOST_STRATA or (strata and len(set(levels)) < len(levels)):
        raise ArgumentError(f"model: it has more than {MOST_STRATA} strata, or one twice; {AS_IT_IS}")
    with schema_errors(ArgumentError):
        Schema.from_domain(dict(model["domain"]))
        within = (
            {} if not strata else Schema((Column.from_json(str(strata), {"categories": list(levels)}),)).to_domain()
        )
    try:
        question = Question(
            **{**asked_by(model), "strata": within},
            times=list(grid) * len(levels),
            sizes=[len(grid)] * len(levels),
            weights=cases.get("weights", ""),
            entry=cases.get("entry", ""),
            cluster="",
        )
        coefficients = {str(entry["feature"]): float(entry["coefficient"]) for entry in model["coefficients"]}
        if set(coefficients) == set(question.labels) and len(coefficients) <= MOST_COLUMNS:
            return kind(question, outline_of(model, baseline=True))
    except (KeyError, TypeError, ValueError):
        pass
    raise ArgumentError(f"model: its domain, references, formula and coefficients do not agree; {AS_IT_IS}")


def grid_of(model: Mapping[str, Any], more: Sequence[float] | None) -> list[float]:
    """Return the public grid of a fit, or the united one where the model does not tell it, with some times added.

    Raises
    ------
    ArgumentError
        If the model has no grid, or there are too many times.
    """
    stored = model.get("grid") or model.get("times")
    grids: list[Any] = list(stored.values()) if isinstance(stored, Mapping) else [stored]
    try:
        known = sorted({float(time) for grid in grids for time in grid} | set(more or ()))
        times = checked_times(known, 1)
    except (TypeError, ValueError, ArgumentError):
        raise ArgumentError(
            f"model: its grid of times, with those that are asked for, is not one of at most {MOST_TIMES} times; {AS_IT_IS}, or give fewer times"
        ) from None
    return times or []
