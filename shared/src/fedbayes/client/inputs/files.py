"""Files in and out: read with errors that name the file, write all or nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from ..exits import UsageProblem
from ..interrupts import commit, draft

STDOUT = "-"
PAGES = (".html", ".htm")
LONGEST_NAME = 255  # bytes of a file's name on ext4, XFS, APFS and NTFS


def unless_stdout(path: Path | None) -> Path | None:
    """Return the file that an option names, or None where it is left out or ``-``: what is written goes to stdout then."""
    return None if path is None or str(path) == STDOUT else path


def check_output(option: str, path: Path, endings: Sequence[str] = (), replace: bool = True) -> Path:
    """Return an output path after seeing that it can be written, before anything runs.

    Raises
    ------
    UsageProblem
        If it ends otherwise than it may, its folder is missing or cannot be written, it is a folder itself, or it is there and may not be replaced.
    """
    folder = path.absolute().parent
    if len(os.fsencode(path.name)) > LONGEST_NAME:
        raise UsageProblem(f"{option}: the name of the file is too long ({path.name[:40]}...); give a shorter one")
    if path.is_dir():
        raise UsageProblem(f"{option}: {path} is a folder; name a file in it")
    if endings and path.suffix not in endings:
        raise UsageProblem(f"{option}: the file must end in one of: {', '.join(endings)}")
    if not folder.is_dir():
        raise UsageProblem(f"{option}: the folder {folder} does not exist; make it first")
    if path.exists() and not replace:
        raise UsageProblem(f"{option}: {path} is there already; give another name, or --force to replace it")
    try:
        handle, probe = _new_draft(folder)
    except OSError as problem:
        raise UsageProblem(
            f"{option}: {folder} cannot be written ({problem.strerror}); choose another folder"
        ) from None
    os.close(handle)
    probe.unlink()
    return path


def write_text(path: Path, text: str) -> None:
    """Write a file so that it is there wholly or not at all.

    Raises
    ------
    UsageProblem
        If it cannot be written.
    """
    write_texts({path: text})


def write_texts(texts: Mapping[Path, str]) -> None:
    """Write files so that all are there wholly, or none; an interruption comes before or after.

    Raises
    ------
    UsageProblem
        If one cannot be written.
    """
    drafts: dict[Path, Path] = {}
    path = Path()
    try:
        for path, text in texts.items():
            handle, drafts[path] = _new_draft(path.absolute().parent)
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(text)
            drafts[path].chmod(0o666 & ~_umask())
        commit()
        for path in texts:
            drafts.pop(path).replace(path)
    except OSError as problem:
        raise UsageProblem(f"{path} cannot be written ({problem.strerror}); choose another place") from None
    finally:
        for left in drafts.values():
            left.unlink(missing_ok=True)


def _new_draft(folder: Path) -> tuple[int, Path]:
    """Return a new file of this process in a folder, open for writing, and its path."""
    for number in count():
        path = draft(folder / f".fedbayes-{os.getpid()}-{number}")
        try:
            return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), path
        except FileExistsError:
            continue
    raise AssertionError


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def print_json(value: Any) -> None:
    """Print strict JSON in ASCII, so that no text in it acts on a terminal."""
    print(json.dumps(value, indent=1, allow_nan=False))


def write_json(path: Path, value: Any) -> None:
    """Write strict JSON, all or nothing."""
    write_text(path, json_text(value))


def json_text(value: Any) -> str:
    """Return strict JSON as it is written to files."""
    return json.dumps(value, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def read_text(path: Path, name: str) -> str:
    """Return the text of a file; `UsageProblem` naming it if it cannot be read or is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "it is not UTF-8 text"
        raise UsageProblem(f"{name} {path} cannot be read ({reason}); check the path") from None


def read_json(path: Path, name: str) -> Any:
    """Return the JSON value of a file.

    Raises
    ------
    UsageProblem
        If it is missing, unreadable or no JSON.
    """
    try:
        return json.loads(read_text(path, name))
    except (ValueError, RecursionError) as problem:
        position = f"line {problem.lineno}" if isinstance(problem, json.JSONDecodeError) else "somewhere"
        raise UsageProblem(f"{name} {path} is not valid JSON ({position}); correct it") from None
