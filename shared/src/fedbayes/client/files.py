"""Files in and out: read with errors that name the file, write all or nothing."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from .exits import UsageProblem


def check_output(option: str, path: Path) -> Path:
    """Return an output path after seeing that it can be written, before anything runs.

    Raises
    ------
    UsageProblem
        If its folder is missing or cannot be written, or it is a folder itself.
    """
    folder = path.absolute().parent
    if path.is_dir():
        raise UsageProblem(f"{option}: {path} is a folder; name a file in it")
    if not folder.is_dir():
        raise UsageProblem(f"{option}: the folder {folder} does not exist; make it first")
    try:
        handle, name = tempfile.mkstemp(prefix=".fedbayes-", dir=folder)
    except OSError as problem:
        raise UsageProblem(
            f"{option}: {folder} cannot be written ({problem.strerror}); choose another folder"
        ) from None
    os.close(handle)
    os.unlink(name)
    return path


def write_text(path: Path, text: str) -> None:
    """Write a file so that it is there wholly or not at all.

    Raises
    ------
    UsageProblem
        If it cannot be written.
    """
    folder = path.absolute().parent
    try:
        handle, name = tempfile.mkstemp(prefix=".fedbayes-", dir=folder)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(text)
            os.chmod(name, 0o666 & ~_umask())
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as problem:
        raise UsageProblem(f"{path} cannot be written ({problem.strerror}); choose another place") from None


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def write_json(path: Path, value: Any) -> None:
    """Write strict JSON, all or nothing."""
    write_text(path, json.dumps(value, indent=1, allow_nan=False, ensure_ascii=False) + "\n")


def read_json(path: Path, what: str) -> Any:
    """Return the JSON value of a file.

    Raises
    ------
    UsageProblem
        If it is missing, unreadable or no JSON.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "it is not UTF-8 text"
        raise UsageProblem(f"{what} {path} cannot be read ({reason}); check the path") from None
    try:
        return json.loads(text)
    except ValueError as problem:
        place = f"line {problem.lineno}" if isinstance(problem, json.JSONDecodeError) else "somewhere"
        raise UsageProblem(f"{what} {path} is not valid JSON ({place}); correct it") from None
