"""The data dictionary of a study: one file that every station, method and task understands.

::

    missing: ["", "NA"]
    columns:
      sex: {type: category, categories: [female, male], recode: {F: female, M: male}, reference: female}
      age: {type: integer, bounds: [18, 100], unit: years, bins: [40, 65]}
      stage: {type: category, categories: {1: early, 2: late}, missing: [9]}
      bmi: {type: number, bounds: [10, 60], derive: weight / (height / 100) ** 2}
      old: {type: category, categories: ["no", "yes"], cut: {column: age, at: [65]}}
      patient: {type: identifier}
    subset: age >= 18

What a station reads is changed in this order: missing codes, recodes, derived columns, subset. A recode, a cut or a formula looks at one row alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..formulae.formula import Formula, read_formula
from ..values.encoding import SchemaError, check_missing, composed_all
from ..values.missing import MISSING, top_missing
from .entry import IDENTIFIER, LARGEST, Cut, Entry, read_entry

TOLD = ("title", "description", "version")


@dataclass(frozen=True)
class Dictionary:
    """A study's columns, and which rows belong to it.

    Attributes
    ----------
    columns : dict of str to Entry
    missing : tuple
        Codes that stand for a missing value in every column.
    subset : Formula or None
        Rows for which it holds belong to the study.
    """

    columns: Mapping[str, Entry]
    missing: tuple[Any, ...] = ()
    subset: Formula | None = None

    @classmethod
    def from_json(cls, content: object) -> Dictionary:
        """Read a dictionary, as JSON or YAML gives it.

        Raises
        ------
        SchemaError
            Naming the column and the remedy.
        """
        if (
            not isinstance(content, Mapping)
            or not isinstance(content.get("columns"), Mapping)
            or not content["columns"]
        ):
            raise SchemaError("dictionary: give an object with columns: {name: {type: ...}, ...}")
        plain: Any = composed_all(content)
        unknown = [str(key) for key in plain if key not in ("columns", MISSING, "subset", *TOLD)]
        if unknown:
            raise SchemaError(
                f"dictionary: {unknown[0][:60]!r} is unknown; it has columns, missing, subset, {', '.join(TOLD)}"
            )
        if len(plain["columns"]) > LARGEST:
            raise SchemaError(f"dictionary: give at most {LARGEST} columns")
        columns = {str(name): read_entry(str(name), entry) for name, entry in plain["columns"].items()}
        subset = None if plain.get("subset") is None else read_formula("subset", plain["subset"])
        if subset is not None and not subset.is_condition:
            raise SchemaError("subset: give a condition, like  age >= 18")
        missing = check_missing(MISSING, plain.get(MISSING, []))
        dictionary = cls(columns, missing, subset)
        dictionary._check_sources()
        return dictionary

    def _check_sources(self) -> None:
        derived = {name for name, entry in self.columns.items() if entry.is_derived}
        wanted = {name: entry.sources for name, entry in self.columns.items() if entry.is_derived}
        wanted |= {"subset": self.subset.columns} if self.subset is not None else {}
        for name, sources in wanted.items():
            nested = derived.intersection(sources)
            if nested:
                raise SchemaError(
                    f"{name!r} uses {min(nested)!r}, which is derived itself; write it with columns of the table"
                )

    def to_json(self) -> dict[str, Any]:
        """Return what stations apply, as :meth:`from_json` reads it: without labels, units and descriptions."""
        entries = {name: entry.applied() for name, entry in self.columns.items()}
        subset = {} if self.subset is None else {"subset": self.subset.text}
        return {MISSING: list(self.missing), "columns": entries, **subset}

    def domain(self, names: Iterable[str] | None = None) -> dict[str, Any]:
        """Return the domain of these columns, or of all, as the argument ``domain`` of a method takes it."""
        chosen = self.columns if names is None else [name for name in names if name in self.columns]
        entries = {name: self.columns[name].to_domain() for name in chosen}
        common = {MISSING: list(self.missing)} if self.missing else {}
        return {**common, **{name: entry for name, entry in entries.items() if entry is not None}}

    def bins(self, names: Iterable[str] | None = None) -> dict[str, Any]:
        """Return the bins of these columns, or of all, as the argument ``bins`` of a method takes them; only those that are given."""
        chosen = self.columns if names is None else [name for name in names if name in self.columns]
        per_column = {name: self.columns[name].bins for name in chosen}
        return {
            name: list(bins) if isinstance(bins, tuple) else bins
            for name, bins in per_column.items()
            if bins is not None
        }

    def sources(self, names: Iterable[str]) -> list[str]:
        """Return the columns of a table that these are made of, with those of the subset, each once."""
        sources = [
            source for name in names for source in (self.columns[name].sources if name in self.columns else (name,))
        ]
        return list(dict.fromkeys([*sources, *(self.subset.columns if self.subset is not None else ())]))

    @cached_property
    def identifier(self) -> str | None:
        """The one column of identifiers, or None."""
        return self.identifiers[0] if len(self.identifiers) == 1 else None

    @cached_property
    def identifiers(self) -> list[str]:
        """All columns of identifiers."""
        return [name for name, entry in self.columns.items() if entry.type == IDENTIFIER]

    @property
    def has_formula(self) -> bool:
        """Whether a column is derived by a formula, or rows are left out: what a researcher could aim at single rows."""
        return self.subset is not None or any(entry.formula is not None for entry in self.columns.values())

    @cached_property
    def derived(self) -> dict[str, set[str]]:
        """Derived column -> columns of the table that it is made of."""
        return {name: set(entry.sources) for name, entry in self.columns.items() if entry.is_derived}

    @cached_property
    def rewritten(self) -> set[str]:
        """Columns of the table of which a recode, a formula or the subset may look at texts."""
        recoded = {name for name, entry in self.columns.items() if entry.recode}
        return recoded.union(*self.derived.values(), () if self.subset is None else self.subset.columns)

    @property
    def cut(self) -> dict[str, Cut]:
        """Columns that are cut from numbers of the table, by name."""
        return {name: entry.cut for name, entry in self.columns.items() if entry.cut is not None}

    def looked_at(self, names: Iterable[str]) -> list[str]:
        """Return those of these columns whose categories or bounds come from data."""
        return [name for name in names if name in self.columns and self.columns[name].looked_at]

    def reading(self, domain: Mapping[str, Any]) -> dict[str, Any]:
        """Return the domain by which a table's cells are read: of the task, and above it of the dictionary."""
        own = {name: entry.reading() for name, entry in self.columns.items() if not entry.is_derived}
        common = [*top_missing(domain), *self.missing]
        columns = {name: entry for name, entry in domain.items() if name != MISSING or isinstance(entry, Mapping)}
        for name, entry in own.items():
            entry_of_task = columns.get(name)
            columns[name] = {**entry_of_task, **entry} if isinstance(entry_of_task, Mapping) else entry
        return {**columns, **({MISSING: common} if common else {})}
