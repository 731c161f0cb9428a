"""``fedbayes node``: what a node's administrator looks after besides the ledger."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ..exits import TaskFailed, UsageProblem
from ..inputs.files import print_json
from .listing import print_table, say

if TYPE_CHECKING:
    from ...federation.perimeter.peers import Peer


def peers(folder: Path, accept: tuple[str, str] | None, forget: list[str], as_json: bool) -> None:
    """Accept and forget peers, then list those that are known.

    Raises
    ------
    UsageProblem
        If the folder or an option is wrong; nothing is changed then.
    """
    from ...federation.perimeter.peers import KnownPeers
    from ..node.limits import FINGERPRINT

    _check_folder(folder)
    if accept is not None and not (accept[0] and FINGERPRINT.fullmatch(accept[1])):
        raise UsageProblem(
            "--accept must be NAME FINGERPRINT, the latter as `disclosure_settings` of that node tells it"
        )
    known = KnownPeers(folder)
    names = {peer.name for peer in known.list()}
    unknown = [name for name in forget if name not in names]
    if unknown:
        raise UsageProblem(
            f"--forget: '{unknown[0][:100]}' is not known here; known are: {', '.join(sorted(names)) or 'none'}"
        )
    for name in forget:
        known.forget(name)
    if accept is not None:
        known.accept(accept[0], accept[1].lower())
    _print(known.list(), as_json)


def refusals(folder: Path, forget: list[str], as_json: bool) -> None:
    """Forget the refused questions about columns, then list how many there are of each.

    Raises
    ------
    UsageProblem
        If the folder or an option is wrong; nothing is changed then.
    """
    from ...federation.answered import refusals as record

    _check_folder(folder)
    columns = sorted({name for name, _ in record.counted(folder)})
    unknown = [name for name in forget if name not in columns]
    if unknown:
        listed = ", ".join(columns) or "none"
        raise UsageProblem(f"--forget: no question about '{unknown[0][:100]}' was refused; columns are: {listed}")
    if forget:
        record.forget(folder, forget)
    counts = record.counted(folder)
    if as_json:
        print_json([{"column": name, "refused": count} for name, count in counts])
    elif counts:
        print_table(("column", "refused questions"), counts, title="Refused because of values")
    else:
        print("no question was refused because of values")


def _check_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise UsageProblem(f"{folder} is no folder; name the node's folder database")


def check(path: Path, as_json: bool) -> None:
    """Print what a vantage6 node makes of its configuration, line by line.

    Raises
    ------
    TaskFailed
        If something is unsafe, ignored or stops every task; it is printed before.
    """
    from ..node.check import check as found_in
    from ..node.file import WRONG

    findings = found_in(path)
    if as_json:
        print_json([asdict(finding) for finding in findings])
    for finding in [] if as_json else findings:
        where = f"line {finding.line}" if finding.line else "file"
        say(f"{where:>9}  {finding.level:<8} {finding.text}")
    counts = {level: sum(finding.level == level for finding in findings) for level in WRONG}
    summary = ", ".join(f"{count} {level}" for level, count in counts.items() if count)
    if summary:
        raise TaskFailed(f"{path}: {summary}")
    if not as_json:
        print(f"{path}: nothing unsafe, nothing ignored")


def _print(known: list[Peer], as_json: bool) -> None:
    if as_json:
        content = {peer.name: {"fingerprint": peer.fingerprint, "first_seen": peer.first_seen} for peer in known}
        print_json(content)
    elif known:
        rows = [(peer.name, peer.fingerprint, peer.first_seen.removesuffix("+00:00")) for peer in known]
        print_table(("organization", "fingerprint", "first seen (UTC)"), rows, title="Known peers")
    else:
        print("no peers are known yet")
