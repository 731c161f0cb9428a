"""The figure that shows most of a result, by kind; each kind's view names its function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from .. import figures
from ..answer_tables import gains, null_levels
from ..kinds import ConversionError
from ..models.networks import networks_of
from ..models.weighted import effects
from ..text.counts import read_counts


def naive_bayes(result: Mapping[str, Any], **options: Any) -> Any:
    """Return the distributions of the classes."""
    return figures.class_distributions(result["model"], **options)


def weighted(result: Mapping[str, Any], **_: Any) -> Any:
    """Return how much each feature moves the odds of a class.

    Raises
    ------
    ConversionError
        If the model has no table of values by class.
    """
    strongest = effects(result["model"])
    if not strongest:
        raise ConversionError(
            "there is no figure of a weighted model without a table of values (A1DE, or numbers as normal laws); it has summary(), to_frame(), report()"
        )
    return figures.named_bars(strongest, "standard deviation (log odds)")


def network(result: Mapping[str, Any], **options: Any) -> Any:
    """Return the graph."""
    return figures.bayesian_network(result["model"], **options)


def ensemble(result: Mapping[str, Any], **_: Any) -> Any:
    """Return the graphs of the members that are told.

    Raises
    ------
    ConversionError
        If all members are secret.
    """
    told = networks_of(result["model"])
    if not told:
        raise ConversionError(
            "there is no figure of an ensemble whose networks stay at their stations; it has summary(), save(), report()"
        )
    return figures.bayesian_networks(told, result["model"].get("label"))


def cox(result: Mapping[str, Any], **options: Any) -> Any:
    """Return the hazard ratios."""
    return figures.forest(result["model"], **options)


def hazards(result: Mapping[str, Any], **_: Any) -> Any:
    """Return the survival of a record at the mean, by a baseline hazard that is no part of a model."""
    return figures.survival_curves(result)


def description(result: Mapping[str, Any], **_: Any) -> Any:
    """Return the columns of a described table."""
    return figures.column_bars(result["model"]["columns"])


def gain(result: Mapping[str, Any], **_: Any) -> Any:
    """Return the information of every column."""
    return figures.gain_bars(gains(result), null_levels(result))


def counts(result: Mapping[str, Any], **_: Any) -> Any:
    """Return the counts as a map: the last axis to the right, all others downwards."""
    axes, cells = read_counts(result["model"])
    if len(axes) == 1:
        axes = [("", [""]), *axes]
    table = cells.reshape(-1, len(axes[-1][1]))
    rows = (" / ".join(name for name, _ in axes[:-1]), _joined([values for _, values in axes[:-1]]))
    return figures.counts_heatmap(table, rows, axes[-1])


def _joined(values: Sequence[Sequence[Any]]) -> list[str]:
    return [" / ".join(str(value) for value in combination) for combination in product(*values)]
