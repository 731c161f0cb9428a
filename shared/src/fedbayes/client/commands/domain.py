"""``fedbayes domain draft`` and ``fedbayes domain check``: the data dictionary of a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...federation.tables.dialect import of_file
from ..exits import UsageProblem
from ..inputs import files
from ..inputs.dictionaries import SUFFIXES, dictionary_text, read_dictionary
from ..inputs.tables import check_table, header_of, read_table, tell_reading
from .listing import print_table, say

if TYPE_CHECKING:
    from ...bayes.dictionaries.dictionary import Dictionary
    from ..inputs.held import Finding

HEAD = """Proposed by looking at data, so it is not public: `looked_at` marks what was read from values.
State categories and bounds from public knowledge (a codebook, what is possible at all), then remove `looked_at`;
until then a promise of differential privacy does not cover them, and results say so."""
DECIMAL_COMMA = r"^\s*([-+]?\d*),(\d+)\s*$"
DATABASES = (".sqlite", ".db")
HEADING = ("column", "rows", "missing", "unknown", "outside", "remedy")


class DoesNotFit(Exception):
    """A file does not fit its dictionary; the table that was printed tells where."""


def draft(paths: Sequence[Path], out: Path | None, force: bool = False) -> None:
    """Propose a dictionary for files of one study, and write or print it.

    Raises
    ------
    UsageProblem
        If a file cannot be read, or `out` cannot be written or is there already.
    """
    from ..inputs.drafting import draft as proposed

    out = files.unless_stdout(out)
    if out is not None:
        files.check_output("--out", out, SUFFIXES, replace=force)
    for path in paths:
        _check(path)
        tell_reading(path)
    tables = [_as_written(path) for path in paths]
    if not any(len(table) for table in tables):
        raise UsageProblem(f"{', '.join(map(str, paths))} holds no record to look at; name a file with records")
    content, notes = proposed(tables)
    text = (
        files.json_text(content) if out is not None and out.suffix == ".json" else dictionary_text(content, notes, HEAD)
    )
    if out is None:
        print(text, end="")
    else:
        files.write_text(out, text)


def _as_written(path: Path) -> Any:
    """Return a table whose columns keep the text of the file: ``00257`` is no number; a decimal comma is a point, as it is to stations."""
    if path.suffix.lower() != ".csv":
        return read_table(path, identifiers=tuple(map(str, read_table(path).columns)))
    table = read_table(path, identifiers=header_of(path))
    if not of_file(path).comma:
        return table
    return table.apply(
        lambda column: column.astype("string").str.replace(DECIMAL_COMMA, r"\1.\2", regex=True).astype(object)
    )


def _check(path: Path) -> None:
    if path.suffix.lower() in DATABASES and path.is_file():
        raise UsageProblem(f"{path} is a database; save its table or view as CSV first, and name that file")
    check_table("the table", path)


def check(dictionary: Path, paths: Sequence[Path], as_json: bool) -> None:
    """Hold files against a dictionary and print a line for each, and a table of the columns that do not fit and of what helps.

    Raises
    ------
    UsageProblem
        If the dictionary or a file cannot be read.
    DoesNotFit
        If something does not fit.
    """
    from ...bayes.dictionaries.dictionary import Dictionary
    from ..inputs.held import held_against

    for path in paths:
        _check(path)
        tell_reading(path)
    study = Dictionary.from_json(read_dictionary(dictionary))
    tables = {path: read_table(path, study.reading({})) for path in paths}
    held = {path: held_against(study, table) for path, table in tables.items()}
    for path, others in _elsewhere(study, tables).items():
        held[path] = [one for one in held[path] if one.column not in others]
    if as_json:
        files.print_json({str(path): [asdict(finding) for finding in findings] for path, findings in held.items()})
    else:
        for path, findings in held.items():
            _print_findings(path, findings)
    wrong = [str(path) for path, findings in held.items() if any(finding.remedy for finding in findings)]
    if wrong:
        raise DoesNotFit(f"not all of {', '.join(wrong)} fits {dictionary}; correct the dictionary or the file")


def _elsewhere(study: Dictionary, tables: Mapping[Path, Any]) -> dict[Path, set[str]]:
    """Return the columns that another file has, if the files share nothing but identifiers: then each has other columns of the same records."""
    from ...bayes.dictionaries.entry import IDENTIFIER

    entries = [entry for entry in study.columns.values() if entry.type != IDENTIFIER]
    held = {
        path: {entry.name for entry in entries if set(entry.sources) <= set(table.columns)}
        for path, table in tables.items()
    }
    united = set().union(*held.values())
    if not all(held.values()) or len(united) < sum(map(len, held.values())):
        return {}
    return {path: united - own for path, own in held.items()}


def _print_findings(path: Path, findings: Sequence[Finding]) -> None:
    """Print one line about the file, and a table of the columns that do not fit."""
    wrong = [finding for finding in findings if finding.remedy]
    gaps = [f"{finding.column} {finding.missing}" for finding in findings if finding.missing and not finding.remedy]
    rows = max((finding.rows for finding in findings), default=0)
    missing = f"; missing: {', '.join(gaps)}" if gaps else ""
    columns = "1 column" if len(findings) == 1 else f"{len(findings)} columns"
    if not wrong:
        say(f"{path} fits: {columns}, {rows} rows{missing}")
        return
    say(f"{path} does not fit in {len(wrong)} of {columns}, {rows} rows{missing}")
    print_table(HEADING, [list(asdict(finding).values()) for finding in wrong], right=HEADING[1:-1])
