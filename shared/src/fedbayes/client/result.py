"""`Result`: what a task returned, as an object that stays the dict it was, and what people do with it.

What a result can be turned into depends on the kind of its model, as its view tells. What takes long to import is imported where it is asked for.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .exits import UsageProblem
from .kinds import ConversionError, arguments_of, malformed, no_attribute
from .labels import frame_of, legible
from .sections import Cost, Counts, Predictions, Promise, Provenance, Scores, Survival
from .view import view_of_result, views

CONVERSIONS = ("to_sklearn", "to_pgmpy", "to_bif", "to_lifelines", "compare", "predict")
"""Methods that only some kinds have, as their views tell; `to_frame`, `summary`, `save` and `report` are for all."""


class Result(dict[str, Any]):
    """A result: the dict that the task returned, and what people do with it.

    ``result["model"]`` and all other entries are as before; ``json.dumps(result)`` writes the same file.
    """

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(no_attribute(self, name))

    @property
    def kind(self) -> str:
        """What the model is: ``"naive Bayes"``, ``"Bayesian network"``, ``"Cox regression"``, ``"counts"``, ..."""
        return view_of_result(self).kind

    @property
    def privacy(self) -> Promise:
        """What is private, and for whom; printed, it is one sentence."""
        return Promise(self.get("privacy") or {})

    @property
    def cost(self) -> Cost:
        """Rounds, bytes, seconds, debits."""
        return Cost(self.get("federation") or {})

    @property
    def provenance(self) -> Provenance:
        """When and what was computed, with which arguments and versions, and among whom."""
        return Provenance(self.get("provenance") or {})

    @property
    def scores(self) -> Scores:
        """The scores of an evaluation; empty for other results."""
        return Scores.of(self)

    @property
    def counts(self) -> Counts:
        """The table of counts; empty for other results."""
        return Counts.of(self.get("model"))

    @property
    def predictions(self) -> Predictions:
        """Class probabilities of records; empty for other results."""
        return Predictions.of(self.get("model"))

    @property
    def survival(self) -> Survival:
        """What a Cox model says of records; empty for other results."""
        return Survival.of(self.get("predictions"))

    @property
    def warnings(self) -> list[str]:
        """What the researcher should know."""
        return list(self.get("warnings") or [])

    def summary(self, width: int = 100) -> str:
        """Return the result as text: privacy, cost, warnings, scores and model, as ``fedbayes show`` prints it."""
        import io

        from rich.console import Console

        from .text.terminal import print_result

        stream = io.StringIO()
        # Inside a notebook rich would show the text there, and return none of it.
        print_result(Console(file=stream, width=width, color_system=None, force_jupyter=False), self)
        return stream.getvalue()

    def plot(self, **options: Any) -> Any:
        """Return the `matplotlib.figure.Figure` that shows most of the result; `options` go to the figure's function.

        Raises
        ------
        ConversionError
            If there is nothing to draw.
        """
        from . import figures
        from .scores import confusion_of, is_hidden, scores_of
        from .text.cox_scores import is_survival_score

        view, shown = view_of_result(self), legible(self)
        if view.figure:
            return view.part("figure")(shown, **options)
        if is_survival_score(self.get("metrics")):
            return figures.survival_calibration(self["metrics"])
        confusion, table = confusion_of(shown), scores_of(self).get("calibration")
        if isinstance(table, Mapping) and (confusion is None or is_hidden(confusion[0])):
            return figures.calibration(table, **options)
        if confusion is not None:
            return figures.confusion_matrix(*confusion)
        raise ConversionError(
            f"there is no figure of this result ({view.kind}); it has summary(), to_frame(), save(), report()"
        )

    def to_frame(self) -> Any:
        """Return the answer as a `pandas.DataFrame`: coefficients, counts, predictions, probability tables, scores or records.

        Categories have the labels of the study's dictionary, but for predictions and records, which keep their codes.
        """
        return frame_of(self)

    def to_sklearn(self, label: str | None = None) -> Any:
        """Return a fitted scikit-learn classifier; it reads tables by the dictionary of the fit, as `predict` does.

        Parameters
        ----------
        label : str, optional
            What a Bayesian network or an ensemble predicts, if it does not say itself.

        Raises
        ------
        ConversionError
            If the model is no classifier.
        """
        model = self._model_for("to_sklearn")
        from .models.estimator import of_study

        return of_study(view_of_result(self).part("classifier")(model, label), model, self._dictionary)

    def to_pgmpy(self) -> Any:
        """Return the Bayesian network as a pgmpy model with its tables, of an ensemble member -> model for those that are told.

        Raises
        ------
        ImportError, ConversionError
            Without pgmpy; for other models.
        """
        from .models.networks import to_pgmpy

        return to_pgmpy(self._model_for("to_pgmpy"))

    def to_bif(self, path: str | Path | None = None) -> str:
        """Return the Bayesian network as BIF text, and write it to `path` if given; ConversionError for other models."""
        network = self._network("to_bif")
        from ..bayes.exchange.bif import to_bif
        from .inputs.files import write_text

        text = to_bif(network)
        if path is not None:
            write_text(Path(path), text)
        return text

    def to_lifelines(self) -> Any:
        """Return a fitted `lifelines.CoxPHFitter` with the model's coefficients, errors and baseline; ConversionError for other models."""
        model = self._model_for("to_lifelines")
        from .formats import clock
        from .models.lifelines_model import convert

        return convert(model, clock(self.provenance.get("date")))

    def predict(self, frame: Any, label: str | None = None, times: Any = None) -> Any:
        """Return the predictions for the rows of a data frame, read by the dictionary of the fit, as ``fedbayes predict`` writes them.

        Warns
        -----
        UserWarning
            Of cells that the model does not know, and of its columns that the frame does not have.
        """
        from .inputs.dictionaries import frame_as_fitted
        from .models.coverage import about_absent, domain_of, gaps
        from .models.predictions import predict_table

        model = self._model_for("predict")
        if not hasattr(frame, "columns") or not hasattr(frame, "iloc"):
            raise UsageProblem("predict() takes a pandas data frame with a column for every feature of the model")
        table = frame_as_fitted(frame, self._dictionary, domain_of(model))
        try:
            predictions = predict_table(model, table, label, times)
        except UsageProblem as problem:  # an option of the command is an argument here
            raise UsageProblem(str(problem).removeprefix("--")) from None
        for gap in gaps(model, table, label):
            if gap.is_fatal:
                raise gap.refusal()
            warnings.warn(gap.sentence, stacklevel=2)
        for sentence in about_absent(model, table, label):
            warnings.warn(sentence, stacklevel=2)
        return predictions

    def compare(self, smaller: Mapping[str, Any]) -> dict[str, Any]:
        """Return the likelihood-ratio test of this Cox model against a smaller one nested in it: statistic, degrees_of_freedom, p, added."""
        from .text.cox import nested_test

        return nested_test(self._model_for("compare"), Result(smaller)._model_for("compare"))

    def save(self, path: str | Path, force: bool = False) -> Path:
        """Write the result as JSON, whole or not at all, and return the path.

        Raises
        ------
        FileExistsError
            If the file is there and `force` is not given.
        UsageProblem
            If it ends otherwise than .json (a file without an ending is taken).
        """
        from .inputs.files import write_json

        target = Path(path)
        if target.suffix not in ("", ".json"):
            raise UsageProblem(f"save(): a result is JSON; name it {target.stem}.json")
        if target.exists() and not force:
            raise FileExistsError(f"{target} is there already; give another name, or force=True")
        write_json(target, dict(self))
        return target

    def report(self, path: str | Path) -> Path:
        """Write the result as one HTML page, and return the path; `UsageProblem` if it ends otherwise than .html or .htm."""
        from .inputs.files import PAGES, check_output, write_text
        from .pages.report import render
        from .text.heading import heading_of

        target = check_output("report()", Path(path), PAGES)
        write_text(target, render(self, heading_of(self)))
        return target

    def dossier(self, path: str | Path | None = None, **stated: str) -> dict[str, Any]:
        """Return a dossier for a data-protection officer, described by ``docs/dossier.schema.json``; no field of it is empty.

        Parameters
        ----------
        path : str or pathlib.Path, optional
            Where it is written: ``.html`` as a page, ``.json`` as it is.
        **stated : str
            What only people know: purpose, region, sector (of the registry's list), contact.
        """
        from .dossier.build import dossier
        from .dossier.facts import Statements

        content = dossier(self, Statements(**stated))
        if path is not None:
            from .dossier.written import write

            write(content, self, Path(path), "dossier()")
        return content

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the sections of a report that matter at a glance."""
        from . import html
        from .pages.report import brief
        from .text.heading import heading_of

        return html.fragment(heading_of(self), brief(self))

    def _model_for(self, method: str) -> Any:
        """Return the model; ConversionError with what the result has if it is of a kind that lacks the method."""
        view = view_of_result(self)
        if method in view.conversions:
            return self["model"]
        kinds = [other.kind for other in views() if method in other.conversions]
        has = ["summary()", "to_frame()", "save()", *(f"{name}()" for name in CONVERSIONS if name in view.conversions)]
        content = "holds no model of a known kind" if view.kind == "other" else f"holds: {view.kind}"
        raise ConversionError(f"{method}() is for {', '.join(kinds)}; this result {content}. It has {', '.join(has)}")

    @property
    def _dictionary(self) -> Any:
        """The data dictionary that the task was given, None where it had none."""
        return arguments_of(self).get("dictionary")

    def _network(self, method: str) -> Any:
        from ..bayes.network import BayesianNetwork

        return BayesianNetwork.from_dict(self._model_for(method))


def load(path: str | Path) -> Result:
    """Return the result in a JSON file that `Result.save`, ``fedbayes run`` or a server wrote.

    Raises FileNotFoundError if there is no such file, ValueError if it holds no result.
    """
    file = Path(path)
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        raise ValueError(f"{file} holds no result: it is not valid JSON") from None
    if not isinstance(content, dict) or not {"model", "privacy", "federation"} & set(content) or malformed(content):
        raise ValueError(f"{file} holds no result; give a file that `fedbayes run` or `save` wrote")
    return Result(content)
