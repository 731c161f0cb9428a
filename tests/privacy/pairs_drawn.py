"""Exact tasks about a federation in which one group of records is odd (`pairs_federations`): what they ask is drawn from their declared arguments."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from harness.wrong import declared
from pairs_federations import Drawn

OF_FEW = ("town", "village", "site")
"""Columns of which tables hide nearly all cells, or that say nothing; they are seldom counted."""
CUT = (40.0, 50.0, 60.0)
"""Where ages are cut when nobody thinks of the odd record."""
LEFT_OUT = ("epsilon", "delta", "helper", "organizations", "model", "modulus_bits", "keys", "noise", "split", "secret")
"""Arguments that are not drawn from what they declare: those of noise, and those that a task has a reason for."""
LARGEST = 8
"""Of whole numbers that are drawn."""


@dataclass(frozen=True)
class Task:
    """One question: a method, its function and its arguments."""

    method: str
    function: str
    arguments: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.method}.{self.function} {json.dumps(self.arguments)}"


class Asker:
    """Draws tasks about a federation."""

    def __init__(self, drawn: Drawn, random: np.random.Generator, only: Sequence[str] = ()) -> None:
        self.drawn, self.random = drawn, random
        known = ROWS if drawn.by_rows else LINKED
        self.known = [
            one
            for one in known
            if (not only or one in only) and not (drawn.lacking and not drawn.by_rows and one in ALL_ROWS)
        ]

    def chance(self, part: float) -> bool:
        return bool(self.random.random() < part)

    def one(self, values: Any) -> Any:
        values = list(values)
        return values[int(self.random.integers(len(values)))]

    def some(self, values: Any, most: int) -> list[Any]:
        values = list(values)
        picked = self.random.permutation(len(values))[: int(self.random.integers(1, most + 1))]
        return [values[place] for place in picked]

    def posed(self) -> Task:
        """Return a task of any function."""
        name = self.one(self.known)
        task: Task = (ROWS if self.drawn.by_rows else LINKED)[name](self)
        if self.chance(0.2):
            task = self.with_any_argument(task)
        return task

    def with_any_argument(self, task: Task) -> Task:
        """Return a task with one more argument, of those that it declares."""
        found = {
            name: value
            for name, one in declared(task.method, task.function).items()
            if name not in LEFT_OUT and (value := self.value(one)) is not None
        }
        if not found:
            return task
        name = self.one(sorted(found))
        return Task(task.method, task.function, {**task.arguments, name: found[name]})

    def value(self, one: Any) -> Any:
        """Return a value that an argument declares to take; None for forms of its own and columns."""
        kind = one.declared.kind
        if kind.choices:
            return self.one(kind.choices)
        if kind.store == "boolean":
            return self.chance(0.5)
        if kind.store == "integer":
            low = int(kind.limits.get("low", 0))
            return low + int(self.random.integers(LARGEST)) if low <= LARGEST else None
        if kind.store == "float" and "low" in kind.limits:
            return float(kind.limits["low"]) + float(self.one([0.0, 0.1, 1.0]))
        return None

    # -- parts of questions --------------------------------------------------------------------------------------------

    def number(self, column: str) -> float:
        """Return a border of a number: anywhere, or beside the odd record."""
        if self.chance(0.5):
            return float(self.one(CUT))
        odd = float(self.drawn.of(column, self.one(sorted(self.drawn.odd))))
        return odd + float(self.one([-0.5, 0.5]))

    def condition(self, column: str) -> dict[str, Any]:
        if self.drawn.kinds.get(column) == "number":
            return {"column": column, "op": self.one(["<", ">=", "<=", ">"]), "value": self.number(column)}
        if column in ("town", "village"):
            return {"column": column, "op": "==", "value": self.drawn.of(column, "p03")}
        value = self.one("abc") if column in ("g", "g2") else "one" if column == "site" else int(self.chance(0.5))
        return {"column": column, "op": self.one(["==", "==", "!="]), "value": value}

    def states(self, columns: list[str]) -> dict[str, Any]:
        """Return domain and bins of columns that are counted."""
        numbers = [name for name in columns if self.drawn.kinds.get(name) == "number"]
        given: dict[str, Any] = {}
        if numbers:
            given = {"domain": {name: {"bounds": [0, 100]} for name in numbers}}
            given["bins"] = {name: [self.number(name)] for name in numbers}
        return given

    def domain(self, columns: list[str]) -> dict[str, Any]:
        kinds = {"number": {"bounds": [0, 100]}, "text": {"categories": list("abc")}}
        return {name: dict(kinds.get(self.drawn.kinds.get(name, ""), {"categories": [0, 1]})) for name in columns}

    def linked(self, most: int = 2) -> list[str]:
        """Return columns of several stations, the secret one of them mostly."""
        own = [name for name in self.drawn.holders["a"] if name not in OF_FEW or self.chance(0.2)]
        here = self.some(own, most if self.chance(0.4) else 1)
        last = self.drawn.secret if self.chance(0.85) else self.one(["ill", "z", "sex"])
        return list(dict.fromkeys([*here, last]))

    def by(self) -> dict[str, Any]:
        return {"id_column": "id"}


def _contingency(ask: Asker) -> Task:
    columns = ask.linked()
    arguments = {"columns": columns, "missing_state": ask.chance(0.5), **ask.states(columns), **ask.by()}
    return Task("scalar_product", "contingency", arguments)


def _count(ask: Asker) -> Task:
    return Task("scalar_product", "count", {"conditions": [ask.condition(name) for name in ask.linked()], **ask.by()})


def _product(ask: Asker) -> Task:
    numbers = [name for name in ask.drawn.holders["a"] if ask.drawn.kinds.get(name) != "text"]
    return Task("scalar_product", "scalar_product", {"columns": [*ask.some(numbers, 2), ask.drawn.secret], **ask.by()})


def _gain(ask: Asker) -> Task:
    *columns, label = ask.linked()
    columns = columns or ["x"]
    return Task(
        "scalar_product",
        "information_gain",
        {"columns": columns, "label": label, **ask.states([*columns, label]), **ask.by()},
    )


def _network(ask: Asker) -> Task:
    columns = ask.linked()
    edges = (
        [[columns[-1], name] for name in columns[:-1]]
        if ask.chance(0.5)
        else [[name, columns[-1]] for name in columns[:-1]]
    )
    arguments = {
        "columns": columns,
        "structure": edges,
        "missing": ask.one(["drop", "category"]),
        **ask.states(columns),
        **ask.by(),
    }
    return Task("vertibayes", "fit", arguments)


def _ensemble(ask: Asker) -> Task:
    *columns, label = ask.linked()
    columns = [name for name in [*columns, "z"] if name != label]
    return Task(
        "bayesian_ensemble",
        "fit",
        {"label": label, "features": columns, "structure": "naive", **ask.states([*columns, label]), **ask.by()},
    )


def _cox(ask: Asker) -> Task:
    columns = ask.some(["x", "y", "age", "g", "sex", "ward"], 2)
    more = ask.one(
        [
            {},
            {"strata": "g"},
            {"missing": "complete"},
            {"missing": "complete", "strata": "site"},
            {"ties": "efron"},
            {"strata": "sex"},
            {"weights": "weight"},
            {"cluster": "town"},
            {"strata": "town"},
        ]
    )
    return Task(
        "verticox",
        "fit",
        {"time": "time", "event": "event", "features": columns, "tolerance": 1e-9, **more, **ask.by()},
    )


def _own_tables(ask: Asker) -> Task:
    columns = [*ask.some(["x", "y", "g", "age"], 2), ask.drawn.secret, "z"]
    label = "sex"
    return Task(
        "secure_naive_bayes",
        "fit",
        {
            "label": label,
            "features": columns,
            "domain": ask.domain([*columns, label]),
            "split": "vertical",
            "noise": "none",
        },
    )


def _describe(ask: Asker) -> Task:
    columns = ask.some(ask.drawn.columns, 2)
    return Task(
        "scalar_product", "describe", {"columns": columns, "domain": ask.domain(columns), **_described(ask, columns)}
    )


def _described(ask: Asker, columns: list[str]) -> dict[str, Any]:
    numbers = [name for name in columns if ask.drawn.kinds.get(name) == "number"]
    return {"bins": {name: [ask.number(name)] for name in numbers}} if numbers else {}


LINKED: dict[str, Callable[[Asker], Task]] = {
    "contingency": _contingency,
    "count": _count,
    "product": _product,
    "gain": _gain,
    "network": _network,
    "ensemble": _ensemble,
    "own tables": _own_tables,
    "describe": _describe,
    "cox": _cox,
}


def _of_rows(method: str, **fixed: Any) -> Callable[[Asker], Task]:
    def asked(ask: Asker) -> Task:
        columns = ask.some(["x", "y", "g", "age", "z"], 2)
        bins = {name: [ask.number(name)] for name in columns if name == "age"}
        arguments = {"label": "ill", "features": columns, "domain": ask.domain([*columns, "ill"]), **fixed}
        if bins:
            arguments["bins"] = bins
        if ask.chance(0.2) and "unit" in declared(method, "fit"):
            arguments |= {"unit": "identifier", "id_column": ask.one(["id", "number"])}
        return Task(method, "fit", arguments)

    return asked


def _network_of_rows(ask: Asker) -> Task:
    columns = [*ask.some(["x", "y", "g", "age", "z"], 2), "ill"]
    given = ask.states(columns)
    arguments = {
        "columns": columns,
        "structure": [["ill", name] for name in columns[:-1]],
        "split": "horizontal",
        "missing": ask.one(["drop", "category"]),
    }
    return Task("vertibayes", "fit", {**arguments, **given, "domain": ask.domain(columns)})


def _ensemble_of_rows(ask: Asker) -> Task:
    columns = ask.some(["x", "y", "g", "age", "x2"], 2)
    given = ask.states(columns)
    return Task(
        "bayesian_ensemble",
        "fit",
        {
            "label": "ill",
            "features": columns,
            "structure": [["ill", name] for name in columns],
            "split": "horizontal",
            **given,
            "domain": ask.domain([*columns, "ill"]),
        },
    )


def _cox_of_rows(ask: Asker) -> Task:
    columns = ask.some(["x", "y", "g"], 2)
    return Task(
        "verticox",
        "fit",
        {
            "time": "time",
            "event": "event",
            "features": columns,
            "split": "horizontal",
            "times": [10.0, 20.0, 30.0, 40.0, 70.0],
            "domain": ask.domain(columns),
        },
    )


ALL_ROWS = ("own tables", "describe")
"""Of linked records: about all rows of a station, which are others than the linked ones, as docs/attacks.md says, where a station lacks the odd one."""
ROWS: dict[str, Callable[[Asker], Task]] = {
    "counts": _of_rows("dp_naive_bayes", noise="none"),
    "encrypted": _of_rows("secure_naive_bayes", noise="none"),
    "weighted": _of_rows("discriminative_naive_bayes"),
    "network": _network_of_rows,
    "ensemble": _ensemble_of_rows,
    "describe": _describe,
    "cox": _cox_of_rows,
}
