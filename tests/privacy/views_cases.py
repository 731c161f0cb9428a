"""One question or more of every central function, on two neighbouring data sets that have the same answer.

Rows change places between two horizontal stations, or whole tables where answers are means over stations: the sums stay. Of vertical records two
exchange all their values, and identifiers that only one station has are others: counts, tables, models and curves stay. Where an answer is about
single records (`classify`, `predict`), a column changes that the model does not look at.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from views_kit import record

ROWS, OWN = 120, 5
SWAPPED = (3, 77)
CATEGORIES = {"x": ["0", "1"], "z": ["0", "1"], "w": ["0", "1"]}
DOMAIN = {"y": {"categories": ["n", "p"]}, "f": {"categories": ["a", "b", "c"]}, "g": {"bounds": [0, 1]}}
LABELLED = {"label": "y", "domain": DOMAIN}
LIMITS = {"minimum_rows": 1, "minimum_organizations": 1, "minimum_count": 1, "allow_predictions": True}
JOINED = {"id_column": "id"}


@dataclass(frozen=True)
class Question:
    """What is asked.

    Attributes
    ----------
    method, function, arguments
        The task.
    tables : str
        Name of a maker of files.
    model : Question or None
        A fit whose model is the argument `model`, the same for both data sets.
    craft : callable, optional
        Changes that model.
    result : str
        Name of another argument that the fit's result gives.
    quick : bool
        Whether it belongs to `make test`, not to the audit alone.
    times : int
        Runs of the audit on each table.
    limits : dict
        Limits of all nodes.
    """

    method: str
    function: str
    arguments: Mapping[str, Any]
    tables: str = "vertical"
    central: str = "a"
    model: Question | None = None
    craft: Callable[[Any], Any] = lambda model: model
    result: str = "model"
    quick: bool = True
    times: int = 4
    limits: Mapping[str, Any] = field(default_factory=lambda: dict(LIMITS))

    @property
    def name(self) -> str:
        told = [str(value) for key, value in self.arguments.items() if isinstance(value, str) and key != "id_column"]
        return "-".join([self.method, self.function, self.tables, *told])


def vertical(other: bool) -> dict[str, str]:
    """Return files of three stations with parts of the same records and of a helper; `other` for the neighbour."""
    rng = np.random.default_rng(4)
    z, w = rng.integers(0, 2, (2, ROWS))
    x = z ^ (rng.random(ROWS) < 0.2)
    time = np.round(rng.exponential(np.exp(-0.4 * z)), 3) + 0.001
    event = (rng.random(ROWS) < 0.8).astype(int)
    number = np.round(rng.normal(size=ROWS), 3)
    columns = {
        "a": {"x": x.astype(int), "time": time, "event": event},
        "b": {"z": z, "v": number, "family": np.arange(ROWS) // 3},
        "c": {"w": w, "y": np.where(x ^ (rng.random(ROWS) < 0.2), "p", "n")},
    }
    columns["a"] |= {"since": -np.round(rng.random(ROWS), 3), "weight": rng.choice([1.0, 2.0, 3.0], ROWS)}
    for part in columns.values():
        for values in part.values():
            values[list(SWAPPED)] = np.unique(values)[[-1, 0] if other else [0, -1]]
    return {name: _joined(name, part, other) for name, part in columns.items()}


def _joined(name: str, part: Mapping[str, Any], other: bool) -> str:
    frame = pd.DataFrame({"id": [f"p{number:04d}" for number in range(ROWS)], **part})
    alone = frame.iloc[-OWN:].assign(  # none that change places: a station alone with a column shows what it counts
        id=[f"{name}{number + 10 * other:04d}" for number in range(OWN)]
    )
    return str(pd.concat([frame, alone]).to_csv(index=False))


def beside(other: bool) -> dict[str, str]:
    """Return the vertical files, of which the neighbour has other values in `v` alone."""
    files = vertical(False)
    if other:
        frame = pd.read_csv(io.StringIO(files["b"]))
        frame["v"] = frame["v"].to_numpy()[::-1]
        files["b"] = frame.to_csv(index=False)
    return files


def labelled(other: bool) -> dict[str, str]:
    """Return files of three stations that hold the label each, and parts of the same records, in one order."""
    files = vertical(other)
    parts = {name: pd.read_csv(io.StringIO(files[name])).head(ROWS) for name in "abc"}
    label = parts["c"]["y"]
    return {name: str(part.assign(y=label).to_csv(index=False)) for name, part in parts.items()}


def horizontal(other: bool) -> dict[str, str]:
    """Return files of three stations with rows of their own; two rows of the first and the second change places in the neighbour."""
    rng = np.random.default_rng(5)
    frames = {}
    for name in "abc":
        drawn = {
            "y": rng.choice(["n", "p"], 60),
            "f": rng.choice(list("abc"), 60),
            "g": rng.random(60).round(3),
            "h": rng.random(60).round(3),
        }
        frames[name] = pd.DataFrame(
            {"id": [f"{name}{number}" for number in range(60)], "person": np.arange(60) // 2, **drawn}
        )
    frames["a"].loc[:1, ["y", "f", "g"]] = [["n", "a", 0.125]] * 2
    frames["b"].loc[:1, ["y", "f", "g"]] = [["p", "c", 0.875]] * 2
    if other:
        first, second = frames["a"].iloc[:2].copy(), frames["b"].iloc[:2].copy()
        frames["a"].iloc[:2], frames["b"].iloc[:2] = second, first
    return {name: str(frame.to_csv(index=False)) for name, frame in frames.items()}


def exchanged(other: bool) -> dict[str, str]:
    """Return the horizontal files, of which the first two change places in the neighbour."""
    files = horizontal(False)
    return {**files, "a": files["b"], "b": files["a"]} if other else files


def survivors(other: bool) -> dict[str, str]:
    """Return files of three stations with whole records and an outcome; the first two change places in the neighbour."""
    rng = np.random.default_rng(6)
    files = {}
    for name in "abc":
        age = rng.random(60).round(3)
        drawn = {"age": age, "time": np.ceil(9 * rng.exponential(np.exp(-age))), "event": rng.integers(0, 2, 60)}
        files[name] = str(pd.DataFrame(drawn).to_csv(index=False))
    return {**files, "a": files["b"], "b": files["a"]} if other else files


TABLES: dict[str, Callable[[bool], dict[str, str]]] = {
    "vertical": vertical,
    "beside": beside,
    "labelled": labelled,
    "horizontal": horizontal,
    "exchanged": exchanged,
    "survivors": survivors,
}


def arguments_of(question: Question) -> dict[str, Any]:
    """Return what a question's task is given, the model of an earlier one included."""
    if question.model is None:
        return dict(question.arguments)
    earlier = _fitted(question.model, question.result)
    return {**question.arguments, question.result: question.craft(earlier)}


_results: dict[int, Any] = {}


def _fitted(question: Question, wanted: str) -> Any:
    if id(question) not in _results:
        files = question_files(question, False)
        _, _results[id(question)] = record(
            question.method, files, question.central, question.function, arguments_of(question), question.limits
        )
    return _results[id(question)][wanted]


@cache
def _files(tables: str, other: bool) -> dict[str, str | None]:
    helper = {} if tables in ("horizontal", "exchanged", "survivors") else {"helper": None}
    return {**TABLES[tables](other), **helper}


def question_files(question: Question, other: bool) -> dict[str, str | None]:
    """Return the files of a question's stations and helper, or of their neighbours."""
    return dict(_files(question.tables, other))


DP_FIT = Question("dp_naive_bayes", "fit", {**LABELLED, "noise": "none"}, "horizontal")
SMOOTH_FIT = Question("smooth_naive_bayes", "fit", {**LABELLED, "features": ["g"], "epsilon": 1.0}, "horizontal")
DISCRIMINATIVE_FIT = Question("discriminative_naive_bayes", "fit", {**LABELLED, "rounds": 2}, "horizontal")
SECURE_FIT = Question("secure_naive_bayes", "fit", {**LABELLED, "noise": "none", "modulus_bits": 2048}, "horizontal")
SECURE_PAIR = Question(
    "secure_naive_bayes",
    "fit",
    {**SECURE_FIT.arguments, "organizations": ["a", "b"]},
    "horizontal",
)
SECURE_VERTICAL = Question(
    "secure_naive_bayes",
    "fit",
    {
        "label": "y",
        "domain": {"y": DOMAIN["y"], **{name: {"categories": CATEGORIES[name]} for name in "xzw"}},
        "noise": "none",
        "split": "vertical",
    },
    "labelled",
)
COUNTED = {"conditions": [{"column": "z", "op": "==", "value": 1}, {"column": "w", "op": "==", "value": 1}], **JOINED}
COUNT = Question("scalar_product", "count", COUNTED)
NETWORK = Question(
    "vertibayes", "fit", {"columns": ["x", "z", "w", "y"], "structure": [["z", "x"], ["x", "y"]], **JOINED}
)
ENSEMBLE = Question("bayesian_ensemble", "fit", {"label": "y", "features": ["x", "z", "w"], **JOINED})
COX = {"time": "time", "event": "event", "features": ["v", "w"], **JOINED}
COX_FIT = Question("verticox", "fit", {**COX, "solver": "bfgs"}, central="c")
COX_ROWS = Question(
    "verticox",
    "fit",
    {
        "time": "time",
        "event": "event",
        "features": ["age"],
        "split": "horizontal",
        "times": [3.0, 6.0, 12.0, 40.0],
        "domain": {"age": {"bounds": [0, 1]}},
    },
    "survivors",
)
COX_PRODUCT = {"time": "time", "event": "event", "formula": "~ v*w + z", **JOINED}
COX_TWO = Question("verticox", "fit", {**COX, "features": ["z", "w"], "solver": "bfgs"}, central="c")


def preflight(question: Question) -> Question:
    """Return the preflight of a question."""
    asked = {"function": question.function, "arguments": dict(question.arguments)}
    return Question(question.method, "preflight", asked, question.tables, question.central)


HORIZONTAL = ("dp_naive_bayes", "smooth_naive_bayes", "discriminative_naive_bayes", "secure_naive_bayes")
VERTICAL = ("scalar_product", "vertibayes", "bayesian_ensemble", "verticox")


def described(method: str, **more: Any) -> Question:
    """Return what columns hold, asked of a method's image."""
    domain = {"z": {"categories": ["0", "1"]}, "v": {"bounds": [-1, 1]}} if method in VERTICAL else DOMAIN
    return Question(method, "describe", {"domain": domain, **more}, "vertical" if method in VERTICAL else "horizontal")


QUESTIONS = [
    *(described(method) for method in (*HORIZONTAL, *VERTICAL)),
    described("dp_naive_bayes", epsilon=1.0),
    DP_FIT,
    Question("dp_naive_bayes", "fit", {**LABELLED, "epsilon": 1.0}, "horizontal"),
    Question("dp_naive_bayes", "fit", {**LABELLED, "epsilon": 1.0, "noise": "local"}, "horizontal"),
    Question(
        "dp_naive_bayes",
        "fit",
        {**LABELLED, "noise": "none", "unit": "identifier", "id_column": "person", "max_rows_per_identifier": 2},
        "horizontal",
    ),
    Question("dp_naive_bayes", "update", {"noise": "none"}, "horizontal", model=DP_FIT),
    Question("dp_naive_bayes", "evaluate", {}, "horizontal", model=DP_FIT),
    Question("dp_naive_bayes", "evaluate", {"epsilon": 1.0}, "horizontal", model=DP_FIT),
    preflight(DP_FIT),
    SMOOTH_FIT,
    Question("smooth_naive_bayes", "evaluate", {}, "horizontal", model=SMOOTH_FIT),
    preflight(SMOOTH_FIT),
    DISCRIMINATIVE_FIT,
    Question("discriminative_naive_bayes", "fit", {**LABELLED, "rounds": 2, "optimizer": "fedavg"}, "exchanged"),
    Question("discriminative_naive_bayes", "evaluate", {}, "horizontal", model=DISCRIMINATIVE_FIT),
    preflight(DISCRIMINATIVE_FIT),
    SECURE_FIT,
    Question(
        "secure_naive_bayes",
        "fit",
        {**SECURE_FIT.arguments, "unit": "identifier", "id_column": "person", "max_rows_per_identifier": 2},
        "horizontal",
    ),
    SECURE_VERTICAL,
    Question(
        "secure_naive_bayes",
        "classify",
        {
            **{key: SECURE_VERTICAL.arguments[key] for key in ("label", "domain")},
            "records": [{"x": "1", "z": "0"}, {"x": "0"}],
            "epsilon": 1.0,
            "modulus_bits": 2048,
        },
        "labelled",
    ),
    Question("secure_naive_bayes", "evaluate", {}, "horizontal", model=SECURE_FIT),
    Question(
        "secure_naive_bayes",
        "evaluate",
        {"split": "vertical", **JOINED},
        "labelled",
        model=SECURE_VERTICAL,
    ),
    Question(
        "secure_naive_bayes",
        "evaluate",
        {"split": "vertical", "rows_aligned": True},
        "labelled",
        model=SECURE_VERTICAL,
    ),
    Question(
        "secure_naive_bayes",
        "join",
        {"organization": "c", "modulus_bits": 2048},
        "horizontal",
        model=SECURE_PAIR,
        result="membership",
    ),
    Question(
        "secure_naive_bayes",
        "leave",
        {"organization": "c", "modulus_bits": 2048},
        "horizontal",
        model=SECURE_FIT,
        result="membership",
    ),
    preflight(SECURE_FIT),
    COUNT,
    Question("scalar_product", "count", {**COUNTED, "epsilon": 1.0}),
    Question("scalar_product", "count", {**COUNTED, "helper": "none"}),
    Question("scalar_product", "contingency", {"columns": ["x", "z", "w"], **JOINED}),
    Question("scalar_product", "information_gain", {"label": "y", "columns": ["x", "z"], **JOINED}),
    Question("scalar_product", "scalar_product", {"columns": ["x", "v"], **JOINED}),
    preflight(COUNT),
    NETWORK,
    Question("vertibayes", "fit", {"columns": ["x", "z", "w", "y"], "structure": "k2", "max_parents": 2, **JOINED}),
    Question("vertibayes", "evaluate", {"label": "y", **JOINED}, model=NETWORK),
    Question("vertibayes", "classify", {"label": "y", "identify": "a", **JOINED}, "beside", model=NETWORK),
    Question("vertibayes", "sample", {"rows": 20}, model=NETWORK),
    preflight(NETWORK),
    ENSEMBLE,
    Question("bayesian_ensemble", "evaluate", JOINED, model=ENSEMBLE),
    Question("bayesian_ensemble", "classify", {"identify": "a", **JOINED}, "beside", model=ENSEMBLE),
    preflight(ENSEMBLE),
    COX_FIT,
    COX_ROWS,
    Question("verticox", "evaluate", {"groups": 2, "times": [3.0, 7.0]}, "survivors", model=COX_ROWS),
    Question("verticox", "evaluate", {"epsilon": 1.0}, "survivors", model=COX_ROWS),
    Question("verticox", "baseline", {}, "survivors", model=COX_ROWS),
    Question("verticox", "fit", {**COX, "solver": "private_newton"}, central="c", quick=False),
    Question("verticox", "fit", COX_PRODUCT, central="c"),
    Question("verticox", "fit", {**COX, "cluster": "family"}, central="c", quick=False),
    Question(
        "verticox", "fit", {**COX, "robust": True, "entry": "since", "weights": "weight"}, central="c", quick=False
    ),
    Question("verticox", "fit", {**COX, "solver": "admm", "tolerance": 1e-3}, central="c", quick=False, times=2),
    Question("verticox", "evaluate", JOINED, central="c", model=COX_FIT),
    Question("verticox", "baseline", JOINED, central="c", model=COX_FIT),
    Question("verticox", "predict", JOINED, "beside", central="c", model=COX_TWO),
    preflight(COX_FIT),
]
