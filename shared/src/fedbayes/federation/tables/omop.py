"""Columns of an OMOP common data model (5.3 and 5.4), one row a person, by a small file of the node's administrator.

::

    {"cohort": 7,
     "columns": {"person": "identifier",
                 "sex": {"gender": {"8507": "male", "8532": "female"}},
                 "age": {"age_at": 2020},
                 "diabetes": {"condition": [201820], "descendants": true},
                 "metformin": {"drug": [1503297]},
                 "surgery": {"procedure": [4301351]},
                 "hba1c": {"measurement": [3004410], "take": "last"},
                 "died": "death"}}

``cohort`` is the id of a definition in the table ``cohort``; without it everybody in ``person`` is in. What is recorded of a person becomes ``yes`` or ``no``,
a measurement its first, last, smallest, largest or mean value. The file becomes one SELECT, which SQLite and PostgreSQL understand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

EVENTS = {
    "condition": ("condition_occurrence", "condition_concept_id"),
    "drug": ("drug_exposure", "drug_concept_id"),
    "procedure": ("procedure_occurrence", "procedure_concept_id"),
    "observation": ("observation", "observation_concept_id"),
}
ENDS = {"first": "ASC", "last": "DESC"}
SUMMARIES = {"mean": "AVG", "least": "MIN", "largest": "MAX"}
PLAIN = {"identifier": "p.person_id", "year_of_birth": "p.year_of_birth"}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
LARGEST = 2**31  # identifiers of concepts are 32-bit integers in OMOP


def query_of(content: Any, schema: str | None = None) -> str:
    """Return the SELECT that a cohort file stands for.

    Parameters
    ----------
    content : dict
        The file's JSON.
    schema : str, optional
        Of the common data model's tables.

    Raises
    ------
    ValueError
        If it says something that the format lacks.
    """
    if not isinstance(content, Mapping) or set(content) - {"cohort", "columns"} or not content.get("columns"):
        raise ValueError("cohort file: a cohort file has columns, and perhaps a cohort")
    if schema and not _NAME.fullmatch(schema):
        raise ValueError("cohort file: the schema's name")
    prefix = f'"{schema}".' if schema else ""
    columns = [f'{_column(entry, prefix)} AS "{_checked(name)}"' for name, entry in content["columns"].items()]
    cohort = content.get("cohort")
    members = ""
    if cohort is not None:
        wanted = f"cohort_definition_id = {_whole(cohort)}"
        members = f" WHERE p.person_id IN (SELECT subject_id FROM {prefix}cohort WHERE {wanted})"
    return f"SELECT {', '.join(columns)} FROM {prefix}person AS p{members}"


def _checked(name: Any) -> str:
    if not isinstance(name, str) or not 0 < len(name) <= 60 or not name.isprintable() or '"' in name:
        raise ValueError("cohort file: a column's name")
    return name


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not re.fullmatch("[0-9]{1,10}", str(value)) or int(value) >= LARGEST:
        raise ValueError("cohort file: a whole number")
    return int(value)


def _column(entry: Any, prefix: str) -> str:
    if entry == "death":
        return _recorded(f"SELECT 1 FROM {prefix}death AS e WHERE e.person_id = p.person_id")
    if isinstance(entry, str) and entry in PLAIN:
        return PLAIN[entry]
    if not isinstance(entry, Mapping):
        raise ValueError("cohort file: a column")
    keys = set(entry)
    if keys == {"gender"}:
        cases = " ".join(f"WHEN {_whole(concept)} THEN '{_text(label)}'" for concept, label in entry["gender"].items())
        return f"CASE p.gender_concept_id {cases} END"
    if keys == {"age_at"}:
        return f"({_whole(entry['age_at'])} - p.year_of_birth)"
    kind = next((name for name in EVENTS if name in keys), None)
    if kind is not None and keys <= {kind, "descendants"}:
        table, concept = EVENTS[kind]
        wanted = _concepts(f"e.{concept}", entry[kind], entry.get("descendants", False), prefix)
        return _recorded(f"SELECT 1 FROM {prefix}{table} AS e WHERE e.person_id = p.person_id AND {wanted}")
    if "measurement" in keys and keys <= {"measurement", "take", "descendants"}:
        return _measured(entry, prefix)
    raise ValueError("cohort file: a column")


def _measured(entry: Mapping[str, Any], prefix: str) -> str:
    wanted = _concepts("e.measurement_concept_id", entry["measurement"], entry.get("descendants", False), prefix)
    source = (
        f"FROM {prefix}measurement AS e WHERE e.person_id = p.person_id AND e.value_as_number IS NOT NULL AND {wanted}"
    )
    take = entry.get("take", "last")
    if take in SUMMARIES:
        return f"(SELECT {SUMMARIES[take]}(e.value_as_number) {source})"
    if take not in ENDS:
        raise ValueError("cohort file: take")
    order = f"e.measurement_date {ENDS[take]}, e.measurement_id {ENDS[take]}"
    return f"(SELECT e.value_as_number {source} ORDER BY {order} LIMIT 1)"


def _concepts(column: str, concepts: Any, descendants: Any, prefix: str) -> str:
    if not isinstance(concepts, list) or not concepts or not isinstance(descendants, bool):
        raise ValueError("cohort file: concepts")
    listed = ", ".join(str(_whole(concept)) for concept in concepts)
    if not descendants:
        return f"{column} IN ({listed})"
    below = f"SELECT descendant_concept_id FROM {prefix}concept_ancestor WHERE ancestor_concept_id IN ({listed})"
    return f"({column} IN ({listed}) OR {column} IN ({below}))"


def _recorded(select: str) -> str:
    return f"CASE WHEN EXISTS ({select}) THEN 'yes' ELSE 'no' END"


def _text(label: Any) -> str:
    if not isinstance(label, str) or not label.isprintable() or "'" in label or "\\" in label:
        raise ValueError("cohort file: a label")
    return label
