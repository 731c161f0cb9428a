"""From the text of options to values: parties, policies, arguments."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..exits import UsageProblem
from ..inputs.files import read_json
from ..inputs.tables import check_table

WITHOUT_ZERO = re.compile(r"[-+]?\.\d+|\d+\.")
"""Numbers as people write them that are no JSON: .5 and 1."""


def read_value(text: str) -> Any:
    """Return the JSON value that a text is, else the text itself; NaN and infinities stay text."""
    try:
        value = json.loads(text)
    except ValueError:
        return float(text) if WITHOUT_ZERO.fullmatch(text) else text
    return text if isinstance(value, float) and not math.isfinite(value) else value


def split_pair(option: str, text: str, form: str) -> tuple[str, str]:
    """Return both sides of the first ``=``.

    Raises
    ------
    UsageProblem
        If there is none, or nothing stands before it.
    """
    name, separator, value = text.partition("=")
    if not separator or not name.strip():
        raise UsageProblem(f"{option}: '{text[:80]}' must have the form {form}")
    return name.strip(), value


def read_arguments(pairs: Sequence[str], file: Path | None) -> dict[str, Any]:
    """Return a task's arguments: those of the file, then ``K=V`` of the command line above them.

    Raises
    ------
    UsageProblem
        If the file holds no object, or an argument is given twice on the command line or looks like JSON and is none.
    """
    arguments: dict[str, Any] = {}
    if file is not None:
        content = read_json(file, "--args: the file")
        if not isinstance(content, dict):
            raise UsageProblem(f"--args: {file} must hold a JSON object with one entry for each argument")
        arguments.update(content)
    single: dict[str, Any] = {}
    for pair in pairs:
        name, value = split_pair("--arg", pair, "NAME=VALUE")
        if name in single:
            raise UsageProblem(f"--arg: '{name[:60]}' is given twice; give it once")
        single[name] = _argument(name, value)
    return {**arguments, **single}


def _argument(name: str, text: str) -> Any:
    """Return the value of ``--arg``; what begins like JSON but is none is a slip of the pen, not a text."""
    if not text.lstrip().startswith(("{", "[")):
        return read_value(text)
    try:
        return json.loads(text)
    except json.JSONDecodeError as problem:
        raise UsageProblem(
            f"--arg: the value of '{name[:60]}' is not valid JSON (character {problem.pos + 1}); names and texts need double "
            f"quotes, and the whole argument single quotes for the shell"
        ) from None


def read_parties(pairs: Sequence[str], database: str = "default") -> dict[str, dict[str, Path]]:
    """Return party -> {label: file}, from ``NAME=FILE`` or, for a further database, ``NAME:LABEL=FILE``.

    Raises
    ------
    UsageProblem
        If a file is missing or no table, or a label of a party is given twice.
    """
    parties: dict[str, dict[str, Path]] = {}
    for pair in pairs:
        name, value = split_pair("--party", pair, "NAME=FILE")
        party, _, label = name.partition(":")
        files = parties.setdefault(party, {})
        if (label or database) in files:
            raise UsageProblem(f"--party: '{name}' is given twice; names must differ")
        if "://" in value:
            raise UsageProblem(
                f"--party: the data of '{party}' are at an address, which only a node reads; give a file (a SQLite database too)"
            )
        path = Path(value).expanduser()
        if label in ("", database):
            check_table(f"--party: the file of '{party}'", path)
        elif not path.exists():
            raise UsageProblem(f"--party: '{name}' does not exist: {path}; check the path")
        files[label or database] = path
    return parties


def read_policies(pairs: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return party (or ``*``) -> {limit: value} from ``NAME:LIMIT=VALUE`` or, for all, ``LIMIT=VALUE``."""
    policies: dict[str, dict[str, Any]] = {}
    for pair in pairs:
        name, value = split_pair("--policy", pair, "NAME:LIMIT=VALUE")
        party, colon, limit = name.rpartition(":")
        policies.setdefault(party if colon else "*", {})[limit] = _limit(value)
    return policies


def _limit(text: str) -> Any:
    value = read_value(text)
    return value if isinstance(value, list) else text


def read_organizations(texts: Sequence[str]) -> list[int | str]:
    """Return organizations by id where the text is a whole number, else by name."""
    return [int(text) if text.isdigit() else text for text in texts]
