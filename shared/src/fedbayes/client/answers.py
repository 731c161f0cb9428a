"""What people do with a result: the work behind the methods of `fedbayes.federation.answers.Result`, one function each."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..federation.answers import ConversionError
from .exits import UsageProblem
from .view import view_of, view_of_result, views

CONVERSIONS = ("to_sklearn", "to_pgmpy", "to_bif", "to_lifelines", "compare", "predict")
"""Methods that only some kinds have, as their views tell; `to_frame`, `summary`, `save` and `report` are for all."""


def _check(result: Mapping[str, Any], method: str) -> Any:
    """Return the result's model; ConversionError with what the result has if it is of another kind."""
    view = view_of_result(result)
    if method in view.conversions:
        return result["model"]
    kinds = [other.kind for other in views() if method in other.conversions]
    has = ["summary()", "to_frame()", "save()", *(f"{name}()" for name in CONVERSIONS if name in view.conversions)]
    told = "holds no model of a known kind" if view.kind == "other" else f"holds: {view.kind}"
    raise ConversionError(f"{method}() is for {', '.join(kinds)}; this result {told}. It has {', '.join(has)}")


def summary(result: Mapping[str, Any], width: int = 100) -> str:
    """Return the result as plain text."""
    import io

    from rich.console import Console

    from .terminal import print_result

    stream = io.StringIO()
    # Inside a notebook rich would show the text there, and return none of it.
    print_result(Console(file=stream, width=width, color_system=None, force_jupyter=False), result)
    return stream.getvalue()


def plot(result: Mapping[str, Any], **options: Any) -> Any:
    """Return the figure that shows most of a result."""
    from . import figures
    from .cox_text import is_survival_score
    from .scores import confusion_of, scores_of

    view = view_of_result(result)
    if view.figure:
        return view.part("figure")(result, **options)
    if is_survival_score(result.get("metrics")):
        return figures.survival_calibration(result["metrics"])
    confusion = confusion_of(result)
    if confusion is not None:
        return figures.confusion_matrix(*confusion)
    if isinstance((scores_of(result) or {}).get("calibration"), Mapping):
        return figures.calibration((scores_of(result) or {})["calibration"], **options)
    raise ConversionError(
        f"there is no figure of this result ({view.kind}); it has summary(), to_frame(), save(), report()"
    )


def to_frame(result: Mapping[str, Any]) -> Any:
    """Return the answer as one table; what each kind of result gives is told in ``docs/results.md``."""
    return view_of_result(result).part("frame")(result)


def predict(result: Mapping[str, Any], frame: Any, label: str | None = None, times: Any = None) -> Any:
    """Return the predictions for the rows of a frame, read by the dictionary of the fit.

    Raises
    ------
    UsageProblem
        If it is no data frame, or nearly nothing in a column is known to the model.
    """
    from .coverage import domain_of, gaps
    from .dictionaries import frame_as_fitted
    from .predictions import predict_table

    model = _check(result, "predict")
    if not hasattr(frame, "columns") or not hasattr(frame, "iloc"):
        raise UsageProblem("predict() takes a pandas data frame with a column for every feature of the model")
    asked = (result.get("provenance") or {}).get("arguments") or {}
    table = frame_as_fitted(frame, asked.get("dictionary"), domain_of(model))
    predictions = predict_table(model, table, label, times)
    for gap in gaps(model, table, label):
        if gap.is_fatal:
            raise gap.refusal()
        warnings.warn(gap.told, stacklevel=4)
    return predictions


def to_sklearn(result: Mapping[str, Any], label: str | None = None) -> Any:
    """Return a fitted scikit-learn classifier."""
    model = _check(result, "to_sklearn")
    return view_of(model).part("classifier")(model, label)


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


def dossier(result: Mapping[str, Any], path: str | Path | None = None, **stated: str) -> dict[str, Any]:
    """Return the dossier of a result, and write it if a path is given: as HTML, or as JSON if the path ends so."""
    from .dossier.build import dossier as built
    from .dossier.facts import Statements

    content = built(result, Statements(**stated))
    if path is not None:
        from .command_dossier import write

        write(content, result, Path(path))
    return content


def notebook_html(result: Mapping[str, Any]) -> str:
    """Return what a notebook shows: the sections of a report that matter at a glance."""
    from . import html
    from .report import brief, heading_of

    return html.fragment(heading_of(result), brief(result))
