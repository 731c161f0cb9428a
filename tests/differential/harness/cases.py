"""One case: a federation, its files, a chain of questions; and how its outcome is judged."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fedbayes.client.exits import code_of

from .files import WRITERS
from .inprocess import InProcess

USAGE = ("ArgumentError", "PlacementError")
PERSON = "the person"
"""The column of identifiers where these are the unit of a promise."""
COVERING_EPSILON = 20.0
"""Above it noise stands in for no guard of exact answers."""
POSITION = "\x00position"
"""Stands for the identifier where files are aligned."""


class Difference(AssertionError):
    """The federation's answer is not the pooled one."""


@dataclass
class Case:
    """A federation and what is asked of it; plain JSON.

    Attributes
    ----------
    algorithm, function : str
        What is tested.
    organizations : list of dict
        ``{"name", "columns": {column: [text or None]} or None, "policy": {limit: value}}``; None: a helper;
        ``"file"``: "excel" (all cells are texts), "excel typed" or "parquet" where it is no CSV file; ``"written"``:
        what the file holds where a dictionary explains it; ``"early"``: which of these were others in the steps
        before the last one.
    central : str
        Who runs central.
    steps : list of [function, arguments]
        In turn; ``{"$model": i}`` as an argument stands for the model of step i. The last one is judged.
    invalid : dict or None
        ``{"argument", "kinds"}`` where the last step has a wrong argument, which must be refused so.
    facts : dict
        What the twin is told of how the case was made; ``"dictionary"`` goes with every step in place of the
        arguments that it ``"gives"``.
    """

    algorithm: str
    function: str
    organizations: list[dict[str, Any]]
    central: str
    steps: list[list[Any]]
    invalid: dict[str, Any] | None = None
    facts: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> Case:
        content = json.loads(path.read_text(encoding="utf-8"))
        content.pop("note", None)
        content.pop("xfail", None)
        return cls(**content)

    def save(self, path: Path, **notes: str) -> None:
        path.write_text(json.dumps({**notes, **asdict(self)}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of the question that is judged."""
        return dict(self.steps[-1][1])

    def stations(self) -> dict[str, dict[str, list[str | None]]]:
        """Return the tables of those that take part with data: organization -> column -> cells."""
        named = self.arguments.get("organizations")
        found = {
            entry["name"]: to_last_value(entry) if entry.get("file", "").startswith("excel") else entry["columns"]
            for entry in self.organizations
            if entry["columns"] is not None and (named is None or entry["name"] in named)
        }
        if self.id_column != POSITION:
            return found
        rows = {name: len(next(iter(columns.values()))) for name, columns in found.items()}
        return {name: {POSITION: [str(row) for row in range(rows[name])], **found[name]} for name in found}

    @property
    def id_column(self) -> str:
        """The column that matches records, or `POSITION`."""
        if any(arguments.get("rows_aligned") for _, arguments in self.steps):
            return POSITION
        return str(next((arguments["id_column"] for _, arguments in self.steps if arguments.get("id_column")), ""))

    def used(self) -> dict[str, dict[str, list[str | None]]]:
        """Return the rows that stations use: with identifiers as the unit only the first so many of each."""
        return {name: bounded(columns, self.arguments) for name, columns in self.stations().items()}

    def members(self) -> list[str]:
        """Return everyone who takes part."""
        named = self.arguments.get("organizations")
        names = [entry["name"] for entry in self.organizations]
        helper = self.arguments.get("helper")
        return names if named is None else [name for name in names if name in named or name == helper]

    def helpers(self) -> list[str]:
        """Return those that take part without data."""
        data = self.stations()
        return [name for name in self.members() if name not in data]

    def limit(self, name: str, default: Any, everywhere: bool = True) -> Any:
        """Return the largest value of a limit among those that take part."""
        members = self.members()
        return max(entry["policy"].get(name, default) for entry in self.organizations if entry["name"] in members)

    @property
    def least_told(self) -> int:
        """The largest minimum count of those that have records."""
        return max(
            (self.limit_of(name, "minimum_count", 5) for name in self.stations() if name in self.members()), default=0
        )

    def limit_of(self, name: str, limit: str, default: Any) -> Any:
        """Return a limit of one organization."""
        return next(entry["policy"].get(limit, default) for entry in self.organizations if entry["name"] == name)

    def files(self, early: bool = False) -> dict[str, str | bytes | None]:
        """Return each organization's file: CSV, or what its entry's ``"file"`` says; `early`: of the steps before the last one."""
        entries = [{**entry, **(entry.get("early") or {})} if early else entry for entry in self.organizations]
        return {
            entry["name"]: WRITERS[entry.get("file", "csv")](entry.get("written") or entry["columns"])
            for entry in entries
        }

    def asked(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return a step's arguments as they are sent: with the dictionary, without what it gives."""
        if "dictionary" not in self.facts:
            return arguments
        gives = set(self.facts["gives"]) - {(self.invalid or {}).get("argument")}
        rest = {name: value for name, value in arguments.items() if name not in gives}
        return {**rest, "dictionary": self.facts["dictionary"]}


@dataclass
class Outcome:
    """What came of a case: the results of its steps, or the error of the last one."""

    results: list[Any]
    error: tuple[str, str, int] | None = None

    @property
    def result(self) -> Any:
        return self.results[-1]


def bounded(columns: dict[str, list[str | None]], arguments: dict[str, Any]) -> dict[str, list[str | None]]:
    """Return the rows of a table that count: with identifiers as the unit only the first so many of each."""
    if arguments.get("unit") != "identifier":
        return columns
    seen: Counter[str] = Counter()
    kept = []
    for row, person in enumerate(columns[arguments["id_column"]]):
        if person is not None and seen[person] < arguments["max_rows_per_identifier"]:
            seen[person] += 1
            kept.append(row)
    return {name: [cells[row] for row in kept] for name, cells in columns.items()}


def to_last_value(entry: dict[str, Any]) -> dict[str, list[str | None]]:
    """Return a table up to the last row in which its file holds a value: an Excel sheet knows of no rows below it."""
    written = (entry.get("written") or entry["columns"]).values()
    rows = max((row + 1 for cells in written for row, cell in enumerate(cells) if cell is not None), default=0)
    return {name: cells[:rows] for name, cells in entry["columns"].items()}


class Interrupted(Exception):
    """An earlier step of a case was refused, so that there is nothing to judge."""


def run(case: Case, platform: Callable[..., Any] = InProcess) -> Outcome:
    """Ask a case's questions in turn."""
    results: list[Any] = []
    policies = {entry["name"]: entry["policy"] for entry in case.organizations}
    several = len(case.steps) > 1
    with platform(f"v6_{case.algorithm}", case.files(early=several), policies, case.central) as federation:
        for place, (function, arguments) in enumerate(case.steps):
            if several and place == len(case.steps) - 1 and any(entry.get("early") for entry in case.organizations):
                federation.replace(case.files())
            given = {name: filled(value, results) for name, value in case.asked(arguments).items()}
            try:
                results.append(federation.run(function, given))
            except Exception as error:
                if place < len(case.steps) - 1:
                    text = f"{function}: {type(error).__name__}: {error}"
                    if not _is_refusal(error):
                        raise Difference(f"an exception instead of an answer or a refusal: {text}") from error
                    raise Interrupted(text) from error
                return Outcome(results, (type(error).__name__, str(error), code_of(error)))
    return Outcome(results)


def filled(value: Any, results: Sequence[Any]) -> Any:
    if isinstance(value, dict) and set(value) == {"$model"}:
        return results[value["$model"]]["model"]
    if isinstance(value, dict) and set(value) == {"$membership"}:
        return results[value["$membership"]]["membership"]
    return value


KINDS = (
    "ArgumentError",
    "PlacementError",
    "PolicyError",
    "ThresholdError",
    "BudgetError",
    "DataProblem",
    "ConvergenceError",
    "StationError",
    "MessageError",
)


def _is_refusal(error: BaseException) -> bool:
    return type(error).__name__ in KINDS and "unexpected " not in str(error)


def judge(
    case: Case,
    outcome: Outcome,
    refuse: Sequence[tuple[str, str]],
    compare: Callable[[Any], None],
    may: Sequence[tuple[str, str]] = (),
) -> None:
    """Hold an outcome against what the twin expects.

    Parameters
    ----------
    refuse, may : sequence of (kind, part of the reason)
        Why the question must be, or may be, refused.
    compare : callable
        Raises `Difference` where an answer is not the pooled one.
    """
    barred = (
        [("PolicyError", "a node lets no exact answer use a formula")] if case.invalid is None and _barred(case) else []
    )
    if len(case.steps) == 1 and case.arguments.get("epsilon") is None:
        refuse = [*refuse, *barred]
    if "unseen" in case.facts:
        refuse = [
            (kind, "a record has a category that the fit did not know") for kind in ("DataProblem", "ArgumentError")
        ]
    may = [*may, *barred, *_naming(case), *_few_identified(case)]
    if outcome.error is not None:
        kind, text, code = outcome.error
        failed = kind in ("StationError", "MessageError") and kind not in {entry[0] for entry in (*refuse, *may)}
        if kind not in KINDS or "unexpected " in text or failed:
            raise Difference(f"an exception instead of an answer or a refusal: {kind}: {text}")
        if case.invalid is not None:
            if kind not in case.invalid["kinds"]:
                raise Difference(
                    f"{case.invalid['argument']}: {kind} (exit {code}) instead of {case.invalid['kinds']}: {text}"
                )
            return
        if kind == "DataProblem" and "hardly any" in text and hardly_understood(case):
            return
        if kind not in {entry[0] for entry in (*refuse, *may)}:
            raise Difference(f"refused without a reason: {kind}: {text}; reasons there are: {list(refuse)}")
        return
    if case.invalid is not None:
        raise Difference(f"accepted, though {case.invalid['argument']} = {case.invalid['value']!r:.200} is wrong")
    if refuse:
        raise Difference(f"answered, though {refuse[0][1]}")
    compare(outcome.result)


def _barred(case: Case) -> bool:
    """Whether the dictionary derives a column by a formula, or has a subset, and a node does not allow it."""
    dictionary = case.facts.get("dictionary", {})
    aimed = "subset" in dictionary or any("derive" in one for one in dictionary.get("columns", {}).values())
    policies = [entry["policy"] for entry in case.organizations if entry["name"] in case.members()]
    return aimed and any(one.get("allow_formulas") == "false" for one in policies)


def _few_identified(case: Case) -> list[tuple[str, str]]:
    """Return why an answer with identifiers as the unit that is exact, or as good as, may be refused: bounded rows set a few apart."""
    arguments = case.arguments
    if (
        case.invalid is not None
        or arguments.get("unit") != "identifier"
        or (arguments.get("epsilon") or math.inf) <= COVERING_EPSILON
    ):
        return []
    for entry in case.organizations:
        columns, policy = entry["columns"], entry["policy"]
        if columns is None or arguments["id_column"] not in columns:
            continue
        most, least = arguments["max_rows_per_identifier"], policy.get("minimum_count", 5)
        sizes = Counter(person for person in columns[arguments["id_column"]] if person is not None)
        without = len(columns[arguments["id_column"]]) - sum(sizes.values())
        crowded = sum(size > most for size in sizes.values())
        used = sum(min(size, most) for size in sizes.values())
        if 0 < without < least or 0 < crowded < least or used < max(least, policy.get("minimum_rows", 10)):
            return [("ThresholdError", "identifiers set few rows apart")]
    return []


def _naming(case: Case) -> list[tuple[str, str]]:
    """Return why exact answers may be refused where a recode names many values of few rows each, by the nodes that do not allow formulae."""
    columns = case.facts.get("dictionary", {}).get("columns", {})
    for entry in case.organizations:
        policy = entry["policy"]
        least = int(policy.get("minimum_count", 5))
        if least < 2 or str(policy.get("allow_formulas")) == "true":
            continue
        for name, cells in (entry.get("written") or {}).items():
            present = Counter(cell.strip() for cell in cells if cell is not None)
            hit = [present[code] for code in columns.get(name, {}).get("recode", ()) if code in present]
            if len(hit) >= least and (2 * len(hit) > sum(hit) or 2 * len(present) > present.total()):
                return [("PolicyError", f"a recode of {name!r} names values of few rows each")]
    return []


def hardly_understood(case: Case) -> bool:
    """Whether nine in ten of the values that a station holds in some column are none of its categories."""
    domain = next((arguments["domain"] for _, arguments in case.steps if isinstance(arguments.get("domain"), dict)), {})
    for organization in case.organizations:
        for name, cells in (organization["columns"] or {}).items():
            categories = {str(value) for value in (domain.get(name) or {}).get("categories") or ()}
            values = [str(cell) for cell in cells if cell is not None]
            if categories and values and sum(value not in categories for value in values) >= 0.9 * len(values):
                return True
    return False


def close(what: str, found: Any, wanted: Any, tolerance: float = 1e-9, absolute: float | None = None) -> None:
    """Raise `Difference` unless numbers, or nested lists of numbers, are equal up to a relative (and absolute) tolerance."""
    if isinstance(wanted, list | tuple):
        if not isinstance(found, list | tuple) or len(found) != len(wanted):
            raise Difference(f"{what}: {found!r:.300} instead of {wanted!r:.300}")
        for place, (left, right) in enumerate(zip(found, wanted, strict=True)):
            close(f"{what}[{place}]", left, right, tolerance, absolute)
        return
    if wanted is None or found is None:
        if found is not wanted:
            raise Difference(f"{what}: {found!r} instead of {wanted!r}")
        return
    margin = tolerance * max(1.0, abs(wanted)) if absolute is None else tolerance * abs(wanted) + absolute
    if not abs(found - wanted) <= margin:
        raise Difference(f"{what}: {found!r} instead of {wanted!r}")


def same(what: str, found: Any, wanted: Any) -> None:
    """Raise `Difference` unless both are equal."""
    if found != wanted:
        raise Difference(f"{what}: {found!r:.500} instead of {wanted!r:.500}")
