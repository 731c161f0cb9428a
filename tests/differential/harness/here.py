"""Models that are used on this machine: what `fedbayes.load` makes of a fit says of records, against the twins' predictions."""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from hypothesis import strategies as st

from . import bayesian_ensemble, discriminative_naive_bayes, networks
from .cases import POSITION, Case, Interrupted, Outcome, close, same
from .cox_here import use_cox
from .exchanged import compare_bif, compare_pgmpy
from .files import csv_text, typed
from .rows import encoded, log_posterior, on_an_edge
from .tables import joined, stacked

KINDS = ("texts", "typed", "nullable", "read", "category")
"""How records reach this machine: as texts, as pyarrow or pandas types them, as pandas reads a CSV file, as categories."""
Records = dict[str, list[str | None]]


@st.composite
def here_cases(draw: Any, right: Any) -> Case:
    """A fit, whose model is then used here."""
    kind, rows = draw(st.sampled_from(KINDS)), draw(st.sampled_from(["all", "all", "one", "none"]))
    case: Case = draw(right())
    case.facts["here"] = {"kind": kind, "rows": rows, "drawn": draw(st.integers(0, 3)) == 3}
    return case


def frame_of(table: Records, kind: str) -> Any:
    """Return a table as a data frame."""
    if kind in ("texts", "category"):
        frame = pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in table.items()})
        return frame.astype("category") if kind == "category" else frame
    if kind == "read":
        text = csv_text(table) or ""
        return pd.read_csv(io.StringIO(text), keep_default_na=False, na_values=[""], skip_blank_lines=False)
    arrays = {name: pa.array(*typed(cells)) for name, cells in table.items()}
    texts = {name: array.cast(pa.string()) for name, array in arrays.items() if pa.types.is_binary(array.type)}
    frame = pa.table({**arrays, **texts}).to_pandas()  # bytes are texts in parquet alone
    return frame.convert_dtypes() if kind == "nullable" else frame


def tables_of(case: Case) -> tuple[Records, Records]:
    """Return the pooled records that are predicted, as the dictionary makes them and as they are written."""
    meant, written = {}, {}
    for entry in case.organizations:
        if entry["name"] in case.stations():
            rows = len(next(iter(entry["columns"].values())))
            place = {POSITION: list(map(str, range(rows)))} if case.id_column == POSITION else {}
            meant[entry["name"]] = {**place, **entry["columns"]}
            written[entry["name"]] = {**place, **entry["columns"], **(entry.get("written") or {})}
    if by_columns(case):
        name = case.id_column
        both = [joined(tables, name) for tables in (meant, written)]
        return tuple(
            {column: [record[column] for record in one.values()] for column in next(iter(one.values()), {})}
            for one in both
        )
    return tuple(
        stacked(tables, [n for n in next(iter(tables.values())) if all(n in t for t in tables.values())])
        for tables in (meant, written)
    )


def by_columns(case: Case) -> bool:
    """Whether the columns of a record are at several stations."""
    return (
        bool(case.id_column)
        and not any(a.get("unit") for _, a in case.steps)
        and case.arguments.get("split") in (None, "vertical")
    )


def check_here(case: Case, outcome: Outcome) -> None:
    """Use what was answered."""
    if outcome.error is not None:
        raise Interrupted(outcome.error[1])
    from fedbayes.client.result import Result

    result = Result(json.loads(json.dumps(outcome.result)))
    if "subset" in case.facts.get("dictionary", {}):
        raise Interrupted("records of which not all are the study's")
    meant, written = tables_of(case)
    rows = {"all": None, "one": 1, "none": 0}[case.facts["here"]["rows"]]
    meant, written = ({name: cells[:rows] for name, cells in table.items()} for table in (meant, written))
    _looked_at(result, case.facts["here"]["drawn"])
    USES[case.algorithm](case, result, meant, frame_of(written, case.facts["here"]["kind"]))


def _looked_at(result: Any, drawn: bool) -> None:
    """See that everything that shows a result can show it; `drawn`: figures too, which take longer."""
    same("a text", bool(result.summary()), True)
    frame = result.to_frame()
    same("rows of a frame", len(frame) > 0, True)
    if not drawn:
        return
    from fedbayes.client.pages.report import render
    from fedbayes.client.text.heading import heading_of

    render(result, heading_of(result))
    result._repr_html_()
    from fedbayes.client.kinds import ConversionError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # long names leave no room
            result.plot().canvas.draw()
    except ConversionError as problem:
        if "there is no figure" not in str(problem):
            raise


def predicted(result: Any, frame: Any, **options: Any) -> Any:
    from fedbayes.client.exits import UsageProblem

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return result.predict(frame, **options)
        except UsageProblem as problem:
            raise Interrupted(str(problem)) from problem


def compare_classes(result: Any, frame: Any, wanted: Any, classes: Sequence[str], label: str | None = None) -> None:
    """Hold predictions, by `predict` and by the scikit-learn classifier, against log probabilities; NaN: not known."""
    found = predicted(result, frame, **({"label": label} if label else {}))
    same("columns of predictions", list(found.columns), ["prediction", *(f"P({name})" for name in classes)])
    shares = found.drop(columns="prediction").to_numpy(dtype=float)
    same("rows of predictions", shares.shape, wanted.shape)
    sure = np.isfinite(wanted).all(axis=1)
    close("probabilities", shares[sure].tolist(), np.exp(wanted[sure]).tolist(), 0.0, 1e-6)
    for row in np.flatnonzero(sure):
        best = np.sort(wanted[row])
        if len(best) > 1 and best[-1] - best[-2] > 1e-6:
            same(f"prediction of row {row}", found["prediction"][row], classes[int(wanted[row].argmax())])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classifier = result.to_sklearn(**({"label": label} if label else {}))
        again = classifier.predict_proba(frame)
        close("probabilities of the classifier", again.tolist(), shares.tolist(), 0.0, 1e-9)
        same("classes", len(classifier.predict(frame)), len(frame))


def _classes(domain: Any, label: str) -> list[str]:
    return [str(value) for value in domain[label]["categories"]]


def use_naive_bayes(case: Case, result: Any, meant: Records, frame: Any) -> None:
    model, arguments = result["model"], case.arguments
    domain, label = arguments["domain"], arguments["label"]
    if not set(model["features"]) <= set(meant):
        return
    data = encoded({"all": meant}, domain, list(model["features"]))
    if on_an_edge(model, data):
        return
    compare_classes(
        result,
        frame,
        log_posterior(model, data) if len(frame) else np.zeros((0, len(domain[label]["categories"]))),
        _classes(domain, label),
    )


def use_weighted(case: Case, result: Any, meant: Records, frame: Any) -> None:
    model, arguments = result["model"], case.arguments
    domain, label = arguments["domain"], arguments["label"]
    if not discriminative_naive_bayes.plain(arguments) or not len(frame):
        predicted(result, frame)
        result.to_sklearn().predict_proba(frame)
        return
    codes, _, near = discriminative_naive_bayes.codes_and_edges(
        case, arguments | {"bins": model["bins"]}, {"all": meant}
    )
    if near:
        return
    base, single, tables = np.array(model["tables"]["base"]), np.array(model["tables"]["single"]), []
    for _, width in codes.values():
        tables.append(single[:width])
        single = single[width:]
    compare_classes(
        result, frame, discriminative_naive_bayes.log_posterior(model, codes, base, tables), _classes(domain, label)
    )


def use_network(case: Case, result: Any, meant: Records, frame: Any) -> None:
    model = result["model"]
    label = next(name for name in (case.arguments.get("label"), next(iter(model["nodes"]))) if name)
    records = [dict(zip(meant, row, strict=True)) for row in zip(*meant.values(), strict=True)]
    compare_bif(model, result.to_bif())
    compare_pgmpy(model, result.to_pgmpy)
    if not networks.is_small(model):
        predicted(result, frame, label=label)
        return
    codes = bayesian_ensemble.known_codes(model, records)
    with np.errstate(divide="ignore", invalid="ignore"):
        wanted = np.log(networks.belief(model, codes, label))
    compare_classes(result, frame, np.where(np.isneginf(wanted), -1e9, wanted), model["nodes"][label]["states"], label)


def use_ensemble(case: Case, result: Any, meant: Records, frame: Any) -> None:
    model = result["model"]
    if any(member.get("network") is None for member in model["members"]):
        return
    records = [dict(zip(meant, row, strict=True)) for row in zip(*meant.values(), strict=True)]
    wanted = (
        bayesian_ensemble.votes(model, records, bayesian_ensemble._with_values(model, records))
        if records
        else np.zeros((0, len(model["classes"])))
    )
    compare_classes(result, frame, wanted, list(model["classes"]))


USES = {
    "dp_naive_bayes": use_naive_bayes,
    "smooth_naive_bayes": use_naive_bayes,
    "secure_naive_bayes": use_naive_bayes,
    "discriminative_naive_bayes": use_weighted,
    "vertibayes": use_network,
    "bayesian_ensemble": use_ensemble,
    "verticox": use_cox,
}
