"""What people do with a result: the work behind the methods of `fedbayes.federation.answers.Result`, one function each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..federation.answers import ConversionError
from .kinds import (
    COUNTS,
    COX,
    DESCRIPTION,
    ENSEMBLE,
    GAIN,
    NAIVE_BAYES,
    NETWORK,
    PREDICTIONS,
    SAMPLE,
    SCORES,
    WEIGHTED,
    kind_of,
    whole_kind,
)

CLASSIFIERS = (NAIVE_BAYES, WEIGHTED, NETWORK, ENSEMBLE)
CONVERSIONS: dict[str, tuple[str, ...]] = {
    "to_sklearn": CLASSIFIERS,
    "to_pgmpy": (NETWORK,),
    "to_bif": (NETWORK,),
    "to_lifelines": (COX,),
    "compare": (COX,),
    "predict": (*CLASSIFIERS, COX),
}
"""Method -> kinds of models that have it; `to_frame`, `summary`, `save` and `report` are for all."""


def _check(result: Mapping[str, Any], method: str) -> Any:
    """Return the result's model; ConversionError with what the result has if it is of another kind."""
    kind = whole_kind(result)
    if kind in CONVERSIONS[method]:
        return result["model"]
    has = ["summary()", "to_frame()", "save()", *(f"{name}()" for name, kinds in CONVERSIONS.items() if kind in kinds)]
    told = "holds no model of a known kind" if kind == "other" else f"holds: {kind}"
    raise ConversionError(
        f"{method}() is for {', '.join(CONVERSIONS[method])}; this result {told}. It has {', '.join(has)}"
    )


def summary(result: Mapping[str, Any], width: int = 100) -> str:
    """Return the result as plain text."""
    import io

    from rich.console import Console

    from .terminal import print_result

    stream = io.StringIO()
    print_result(Console(file=stream, width=width, color_system=None), result)
    return stream.getvalue()


def plot(result: Mapping[str, Any], **options: Any) -> Any:
    """Return the figure that shows most of a result."""
    from . import figures
    from .cox_text import is_survival_score
    from .scores import confusion_of, scores_of

    model: Any = result.get("model")
    drawers: dict[str, Callable[..., Any]] = {
        NAIVE_BAYES: lambda **kw: figures.class_distributions(model, **kw),
        NETWORK: lambda **kw: figures.bayesian_network(model, **kw),
        COX: lambda **kw: figures.forest(model, **kw),
        COUNTS: lambda **_: _counts_figure(model),
        DESCRIPTION: lambda **_: figures.column_bars(model["columns"]),
        GAIN: lambda **_: figures.named_bars(_gain(result), "information gain (bits)"),
    }
    kind = whole_kind(result)
    if kind in drawers:
        return drawers[kind](**options)
    if is_survival_score(result.get("metrics")):
        return figures.survival_calibration(result["metrics"])
    confusion = confusion_of(result)
    if confusion is not None:
        return figures.confusion_matrix(*confusion)
    if isinstance((scores_of(result) or {}).get("calibration"), Mapping):
        return figures.calibration((scores_of(result) or {})["calibration"], **options)
    raise ConversionError(f"there is no figure of this result ({kind}); it has summary(), to_frame(), save(), report()")


def _counts_figure(model: Any) -> Any:
    import numpy as np

    from .count_text import axes_of
    from .figures import counts_heatmap

    axes = axes_of(model)
    if len(axes) == 1:
        axes = [("", [""]), *axes]
    table = np.array(model["counts"], dtype=np.float64).reshape(-1, len(axes[-1][1]))
    rows = (" / ".join(name for name, _ in axes[:-1]), _joined([values for _, values in axes[:-1]]))
    return counts_heatmap(table, rows, axes[-1])


def _joined(values: Sequence[Sequence[Any]]) -> list[str]:
    from itertools import product

    return [" / ".join(str(value) for value in combination) for combination in product(*values)]


def _gain(result: Mapping[str, Any]) -> dict[str, float]:
    gain: Any = result.get("information_gain") or (result.get("model") or {}).get("information_gain")
    return {str(name): float(value or 0.0) for name, value in dict(gain).items()}


def to_frame(result: Mapping[str, Any]) -> Any:
    """Return the answer as one table; what each kind of result gives is told in ``docs/results.md``."""
    from . import answer_tables as tables

    makers: dict[str, Any] = {
        COX: tables.cox,
        NAIVE_BAYES: tables.naive_bayes,
        NETWORK: tables.network,
        ENSEMBLE: tables.ensemble,
        COUNTS: tables.counts,
        PREDICTIONS: tables.predictions,
        SAMPLE: tables.sample,
        SCORES: tables.scores,
        DESCRIPTION: tables.description,
        GAIN: lambda found: tables.named(_gain(found), "column", "information_gain"),
    }
    return makers.get(whole_kind(result), tables.plain)(result)


def predict(result: Mapping[str, Any], frame: Any, label: str | None = None, times: Any = None) -> Any:
    """Return the predictions for the rows of a frame."""
    from .predictions import predict_table

    return predict_table(_check(result, "predict"), frame, label, times)


def to_sklearn(result: Mapping[str, Any], label: str | None = None) -> Any:
    """Return a fitted scikit-learn classifier."""
    model = _check(result, "to_sklearn")
    if kind_of(model) == NAIVE_BAYES:
        from ..bayes.sklearn import NaiveBayesClassifier

        return NaiveBayesClassifier.from_model(dict(model))
    from .estimator import ModelClassifier

    return ModelClassifier(model, label).fit()


def _network(result: Mapping[str, Any], method: str) -> Any:
    from ..bayes.network import BayesianNetwork

    return BayesianNetwork.from_dict(_check(result, method))


def to_pgmpy(result: Mapping[str, Any]) -> Any:
    """Return the network as a pgmpy model."""
    network = _network(result, "to_pgmpy")
    from ..bayes.conversion import to_pgmpy as convert

    try:
        return convert(network)
    except ImportError:
        raise ImportError("to_pgmpy() needs the package pgmpy: pip install pgmpy") from None


def to_bif(result: Mapping[str, Any], path: str | Path | None = None) -> str:
    """Return the network as BIF text."""
    network = _network(result, "to_bif")
    from ..bayes.bif import to_bif as convert
    from .files import write_text

    text = convert(network)
    if path is not None:
        write_text(Path(path), text)
    return text


def to_lifelines(result: Mapping[str, Any]) -> Any:
    """Return a fitted `lifelines.CoxPHFitter`."""
    model = _check(result, "to_lifelines")
    from .lifelines_model import convert

    return convert(model)


def compare(result: Mapping[str, Any], smaller: Mapping[str, Any]) -> dict[str, Any]:
    """Return the likelihood-ratio test of a Cox model against one that is nested in it."""
    from .cox_text import nested_test

    return nested_test(_check(result, "compare"), _check(smaller, "compare"))


def save(result: Mapping[str, Any], path: str | Path, force: bool = False) -> Path:
    """Write the result as JSON."""
    from .files import write_json

    target = Path(path)
    if target.exists() and not force:
        raise FileExistsError(f"{target} is there already; give another name, or force=True")
    write_json(target, dict(result))
    return target


def report(result: Mapping[str, Any], path: str | Path) -> Path:
    """Write the result as one HTML page."""
    from .files import write_text
    from .report import heading_of, render

    write_text(Path(path), render(result, heading_of(result)))
    return Path(path)


def notebook_html(result: Mapping[str, Any]) -> str:
    """Return what a notebook shows: the sections of a report that matter at a glance."""
    from . import html
    from .report import brief, heading_of

    return html.fragment(heading_of(result), brief(result))
