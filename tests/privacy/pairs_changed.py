"""Changes of a task by which it treats few records otherwise."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from pairs_drawn import Asker, Task

TRIES = 20
"""Changes that are tried of a task; some have none of a kind."""


def replaced(value: Any, names: dict[str, str]) -> Any:
    """Return arguments with other names of columns."""
    if isinstance(value, dict):
        return {names.get(key, key): replaced(one, names) for key, one in value.items()}
    if isinstance(value, list):
        return [replaced(one, names) for one in value]
    return names.get(value, value) if isinstance(value, str) else value


def _used(task: Task, names: Any) -> list[str]:
    """Return which of some columns a task is about."""
    found: list[str] = []

    def look(value: Any) -> None:
        if isinstance(value, dict):
            for key, one in value.items():
                look(key)
                look(one)
        elif isinstance(value, list):
            for one in value:
                look(one)
        elif isinstance(value, str) and value in names and value not in found:
            found.append(value)

    look(task.arguments)
    return found


def other_column(ask: Asker, task: Task) -> Task | None:
    """Return the task with a column that says nearly the same."""
    groups = {name: group for group in ask.drawn.same for name in group}
    used = [name for name in _used(task, groups) if name != ask.drawn.secret]
    if not used:
        return None
    name = ask.one(used)
    other = ask.one(one for one in groups[name] if one != name)
    arguments = {key: replaced(value, {name: other}) for key, value in task.arguments.items()}
    shift = {"age": 5.0, "later": -5.0}.get(name)
    if shift and arguments.get("bins"):
        arguments["bins"] = {
            key: [cut + shift if key == other else cut for cut in cuts] for key, cuts in arguments["bins"].items()
        }
    return Task(task.method, task.function, arguments)


def any_column(ask: Asker, task: Task) -> Task | None:
    """Return the task with another column of the federation."""
    used = _used(task, ask.drawn.columns)
    if not used:
        return None
    name, other = ask.one(used), ask.one(ask.drawn.columns)
    if other in used or (ask.drawn.kinds.get(name) != ask.drawn.kinds.get(other)):
        return None
    return Task(
        task.method, task.function, {key: replaced(value, {name: other}) for key, value in task.arguments.items()}
    )


def other_border(ask: Asker, task: Task) -> Task | None:
    """Return the task with a border elsewhere."""
    arguments = copy.deepcopy(task.arguments)
    if arguments.get("bins"):
        name = ask.one(sorted(arguments["bins"]))
        arguments["bins"][name] = sorted({ask.number(name), *([ask.number(name)] if ask.chance(0.3) else [])})
    elif "conditions" in arguments:
        place = int(ask.random.integers(len(arguments["conditions"])))
        arguments["conditions"][place] = ask.condition(arguments["conditions"][place]["column"])
    else:
        return None
    return Task(task.method, task.function, arguments)


def one_column_more(ask: Asker, task: Task) -> Task | None:
    """Return the task with one column, or condition, more."""
    arguments = copy.deepcopy(task.arguments)
    name = ask.one(ask.drawn.columns)
    if name in _used(task, ask.drawn.columns):
        return None
    if "conditions" in arguments:
        arguments["conditions"].append(ask.condition(name))
    else:
        key = next((key for key in ("columns", "features") if key in arguments), None)
        if key is None or arguments.get("structure") not in (None, "naive"):
            return None
        arguments[key] = [name, *arguments[key]]
        for part, given in ask.states([name]).items():
            if part in arguments or task.method != "verticox":
                arguments[part] = {**arguments.get(part, {}), **given}
    return Task(task.method, task.function, arguments)


def one_column_less(ask: Asker, task: Task) -> Task | None:
    """Return the task with one column, or condition, less."""
    arguments = copy.deepcopy(task.arguments)
    key = next((key for key in ("conditions", "columns", "features") if len(arguments.get(key) or ()) > 1), None)
    if key is None or arguments.get("structure") not in (None, "naive"):
        return None
    gone = arguments[key].pop(int(ask.random.integers(len(arguments[key]))))
    for part in ("bins", "domain"):
        if isinstance(arguments.get(part), dict) and isinstance(gone, str):
            arguments[part].pop(gone, None)
            if not arguments[part]:
                del arguments[part]
    return Task(task.method, task.function, arguments)


def other_dictionary(ask: Asker, task: Task) -> Task | None:
    """Return the task with a dictionary that takes a value of the odd record for another one, or for missing."""
    used = [name for name in _used(task, ask.drawn.columns) if name not in ("time", "event", ask.drawn.secret)]
    if not used or "dictionary" in task.arguments:
        return None
    name = ask.one(used)
    value = str(ask.drawn.of(name, ask.one(sorted(ask.drawn.odd))))
    if ask.drawn.kinds.get(name) == "number":
        other = str(ask.one([0, 30, float(value) + 1 if value not in ("None", "nan") else 1]))
        means: dict[str, Any] = {"type": "number"}
    else:
        other, means = ask.one(["a", "b", "0", "1"]), {}
    means |= ask.one([{"missing": [value]}, {"recode": {value: other}}, {"recode": {value: other}, "missing": [other]}])
    return Task(task.method, task.function, {**task.arguments, "dictionary": {"columns": {name: means}}})


def cut_column(ask: Asker, task: Task) -> Task | None:
    """Return the task with a column that a dictionary cuts from a number, in the place of the number."""
    used = [name for name in _used(task, ask.drawn.columns) if ask.drawn.kinds.get(name) == "number"]
    if not used or "dictionary" in task.arguments or "conditions" in task.arguments:
        return None
    name = ask.one(used)
    arguments = {key: replaced(value, {name: "group"}) for key, value in task.arguments.items()}
    for part in ("bins", "domain"):
        if isinstance(arguments.get(part), dict):
            arguments[part].pop("group", None)
            if not arguments[part]:
                del arguments[part]
    cut = {"column": name, "at": [ask.number(name)], "labels": ["low", "high"]}
    return Task(task.method, task.function, {**arguments, "dictionary": {"columns": {"group": {"cut": cut}}}})


def other_organizations(ask: Asker, task: Task) -> Task | None:
    """Return the task without the station that lacks, or has, the odd record."""
    if "organizations" in task.arguments:
        return Task(
            task.method, task.function, {key: value for key, value in task.arguments.items() if key != "organizations"}
        )
    if not ask.drawn.lacking:
        return None
    left = [name for name in ask.drawn.tables if name != ask.drawn.lacking]
    helper = [] if ask.drawn.by_rows else ["helper"]
    return Task(task.method, task.function, {**task.arguments, "organizations": [*left, *helper]})


def other_link(ask: Asker, task: Task) -> Task | None:
    """Return the task by another column of identifiers, or by the files' order."""
    if "id_column" not in task.arguments:
        return None
    arguments = dict(task.arguments)
    if ask.chance(0.3) and "rows_aligned" not in arguments and not ask.drawn.by_rows:
        del arguments["id_column"]
        return Task(task.method, task.function, {**arguments, "rows_aligned": True})
    arguments["id_column"] = "number" if arguments["id_column"] == "id" else "id"
    return Task(task.method, task.function, arguments)


def other_unit(ask: Asker, task: Task) -> Task | None:
    """Return the task with identifiers as its unit, or without."""
    arguments = dict(task.arguments)
    if not ask.drawn.by_rows and task.function != "describe":
        return None
    if "unit" in arguments:
        arguments = {name: value for name, value in arguments.items() if name not in ("unit", "id_column")}
    elif (
        task.method in ("dp_naive_bayes", "secure_naive_bayes", "discriminative_naive_bayes")
        or task.function == "describe"
    ):
        arguments |= {"unit": "identifier", "id_column": ask.one(["id", "number"])}
    else:
        return None
    return Task(task.method, task.function, arguments)


def fewer_categories(ask: Asker, task: Task) -> Task | None:
    """Return the task with a category that its domain does not list, or narrower bounds."""
    domain = copy.deepcopy(task.arguments.get("domain"))
    if not domain:
        return None
    name = ask.one(sorted(domain))
    if len(domain[name].get("categories", ())) > 2:
        domain[name]["categories"].pop(int(ask.random.integers(3)))
    elif "bounds" in domain[name]:
        domain[name]["bounds"][int(ask.random.integers(2))] = ask.number(name)
    else:
        return None
    return Task(task.method, task.function, {**task.arguments, "domain": domain})


def any_argument(ask: Asker, task: Task) -> Task | None:
    """Return the task with one argument anywhere in what it declares."""
    return ask.with_any_argument(task)


def other_function(ask: Asker, task: Task) -> Task | None:
    """Return another function about the same columns."""
    used = [name for name in _used(task, ask.drawn.columns) if name != ask.drawn.secret]
    other = ask.posed()
    theirs = [
        name for name in _used(other, ask.drawn.columns) if name != ask.drawn.secret and name not in ("time", "event")
    ]
    names = dict(zip(theirs, (name for name in used if name not in theirs), strict=False))
    if any(ask.drawn.kinds.get(one) != ask.drawn.kinds.get(two) for one, two in names.items()):
        return other
    return Task(other.method, other.function, {key: replaced(value, names) for key, value in other.arguments.items()})


CHANGES: tuple[Callable[[Asker, Task], Task | None], ...] = (
    other_column,
    other_column,
    other_column,
    any_column,
    other_border,
    other_border,
    one_column_more,
    one_column_more,
    one_column_less,
    other_dictionary,
    other_dictionary,
    cut_column,
    other_organizations,
    other_link,
    other_unit,
    fewer_categories,
    any_argument,
    other_function,
    other_function,
)


def changed(ask: Asker, task: Task, names: Sequence[str] = ()) -> tuple[str, Task]:
    """Return a task that is another one but for one thing, and the name of what was changed, one of `names` if there are any."""
    for _ in range(TRIES):
        change = ask.one(one for one in CHANGES if not names or one.__name__ in names)
        found = change(ask, task)
        if found is not None and found != task:
            return change.__name__, found
    return "posed", ask.posed()
