"""The databases of this node that a task may read, as vantage6 tells of them by the container's environment."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ...bayes.values.encoding import composed_all, is_number
from ..errors import PolicyError
from .dialect import of_file

ADDRESSED = ("sql", "omop")  # kinds of databases that may be at an address instead of in a file
RECORD = "FEDBAYES_RECORD"
FILTER = "filter_range"
"""The one step of preprocessing that vantage6 4.15 has."""
LIMITS, INCLUDED = ("min_", "max_"), ("include_min", "include_max")
"""Its parameters beside the column."""
SAID = ("QUERY", "SHEET_NAME", "PREPROCESSING")
"""What a task may say of a database beside its label, as vantage6 4.15 names it in a container's environment."""


def asked() -> dict[str, str]:
    """Return the label of the database that the task asks for, whether this node has it or not, and what it says of it; the same in all containers of a job."""
    label = next((label for label in os.environ.get("USER_REQUESTED_DATABASE_LABELS", "").split(",") if label), "")
    said = {name.lower(): os.environ.get(f"{label.upper()}_{name}", "") for name in SAID}
    return {name: text for name, text in {"label": label, **said}.items() if text}


def requested_label() -> str | None:
    """Return the label of the database that the task asks for, if this node has it."""
    label = asked().get("label", "")
    uri = os.environ.get(f"{label.upper()}_DATABASE_URI", "") if label else ""
    return label if uri and (os.path.exists(uri) or database_kind(label) in ADDRESSED) else None


def database_kind(label: str) -> str:
    """Return the kind of a database of the node: csv, parquet, excel, sql, omop, folder, ..."""
    return os.environ.get(f"{label.upper()}_DATABASE_TYPE", "csv").lower()


def preprocessing() -> list[dict[str, Any]]:
    """Return the steps of vantage6's preprocessing that the task wants of its database; each leaves out rows by a column.

    Raises
    ------
    PolicyError
        If they cannot be read, or are another than `filter_range` of a column, by numbers or texts.
    """
    label = (requested_label() or "").upper()
    try:
        steps = json.loads(os.environ.get(f"{label}_PREPROCESSING") or "[]")
        if all(step["function"] == FILTER and _are_parameters(step["parameters"]) for step in steps):
            return [{**step, "parameters": composed_all(step["parameters"])} for step in steps]
    except (ValueError, TypeError, KeyError, AttributeError):
        pass
    raise PolicyError("the task's preprocessing cannot be read; leave it out")


def _are_parameters(asked: dict[str, Any]) -> bool:
    limits = [asked[name] for name in LIMITS if asked.get(name) is not None]
    known = isinstance(asked["column"], str) and set(asked) <= {"column", *LIMITS, *INCLUDED}
    return known and all(isinstance(limit, str) or is_number(limit) for limit in limits)


def plain_file(kind: str) -> Path | None:
    """Return the requested database's path if it is a file of this kind that the task wants as it is, without vantage6's preprocessing."""
    name = (requested_label() or "").upper()
    plain = os.environ.get(f"{name}_DATABASE_TYPE") == kind and os.environ.get(f"{name}_PREPROCESSING") is None
    return Path(os.environ[f"{name}_DATABASE_URI"]) if plain else None


def has_decimal_commas(separator: str | None, decimal: str | None) -> bool:
    """Return whether the requested database is a CSV file in which a comma in a number is a decimal comma; the parameters are those of `of_file`."""
    name = (requested_label() or "").upper()
    if os.environ.get(f"{name}_DATABASE_TYPE") != "csv":
        return False
    return of_file(Path(os.environ[f"{name}_DATABASE_URI"]), separator, decimal).comma


def folder_database(label: str) -> Path:
    """Return the folder of a `folder` database of the node.

    Raises
    ------
    PolicyError
        If the node has no such database.
    """
    uri = os.environ.get(f"{label.upper()}_DATABASE_URI")
    if not uri or not Path(uri).is_dir():
        raise PolicyError(
            "the node's ledger folder is missing; ask the node administrator to configure a folder database"
        )
    return Path(uri)


def embedded_record() -> Path | None:
    """Return the folder in which a party of an embedded federation remembers its exact answers while the federation lives; None on other platforms."""
    folder = os.environ.get(RECORD)
    return Path(folder) if folder and os.environ.get("FEDBAYES_EMBEDDED") == "true" else None
