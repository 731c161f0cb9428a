"""Ctrl-C at any moment: exit 130, one line, and nothing left behind.

The command runs in a child process, whose temporary files all lie in one folder. The parent blocks the signals before anything else is imported and looks at
them when it is ready to: an interruption never meets it in the middle of something. It then kills the child with everything that the child has
started, removes the folder and what the child had begun to write, and says so in one line. A child that has started to put finished files in their places is
let finish; one that has a task at a server is asked to kill it first, and is not waited for longer than `PATIENCE`.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .exits import INTERRUPTED

LINE = "error: interrupted; the task was stopped"
LINE_OF_WATCHERS = "error: interrupted; the task goes on at the server"
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PATIENCE = 20.0  # seconds, that a server may take to kill a task
COMMITTED, ASKS, DRAFTS = "committed", "asks", "drafts"
SUBREAPER = 36
"""Linux' PR_SET_CHILD_SUBREAPER: who loses its parent becomes this process's child."""


class _Child:
    """What the child process knows of its parent: the folder, and whether an interruption has to wait; `deaf`: started by nohup."""

    folder: Path | None = None
    deaf = False
    shields = 0
    pending = False


def supervised(work: Callable[[], int], line: str = LINE) -> int:
    """Run `work` in a child process and return its exit code, or 130 once everything of it is gone.

    Parameters
    ----------
    work : callable
        Returns the exit code; imports what it needs.
    line : str
        What an interruption says.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, {*STOPS, signal.SIGCHLD})
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _Child.deaf = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    folder = _new_folder()
    terminal = _terminal()
    alive, held = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(held)
        _be_child(work, folder, alive)
    os.close(alive)
    try:
        code = _wait(child, folder)
        if code is None:
            _restore(terminal)
            print(line, file=sys.stderr, flush=True)
        return INTERRUPTED if code is None else code
    finally:
        _remove(folder)
        os.close(held)


def _new_folder() -> Path | None:
    import tempfile

    try:
        return Path(tempfile.mkdtemp(prefix="fedbayes-"))
    except OSError:
        return None


def _remove(folder: Path | None) -> None:
    import shutil

    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


# -- the parent ----------------------------------------------------------------------------------------------------------


def _wait(child: int, folder: Path | None) -> int | None:
    """Return the child's exit code, or None once it is interrupted and gone."""
    while True:
        received = signal.sigwait({*STOPS, signal.SIGCHLD})
        if received == signal.SIGHUP and _Child.deaf:
            continue
        if received != signal.SIGCHLD:
            return _stopped(child, folder)
        code = _ended(child)
        if code is not None:
            return code


def _ended(child: int) -> int | None:
    done, status = os.waitpid(child, os.WNOHANG)
    if done == 0:
        return None
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _stopped(child: int, folder: Path | None) -> int | None:
    """Stop the child and all that it started; return its exit code if it had finished or is finishing, else None.

    A child that is to be killed stays stopped until then: it would put finished files in their places in between.
    """
    os.kill(child, signal.SIGSTOP)
    _, status = os.waitpid(child, os.WUNTRACED)
    if not os.WIFSTOPPED(status):  # it had ended by itself
        code = os.waitstatus_to_exitcode(status)
        return code if code >= 0 else 128 - code
    committed, asks = _told(folder, COMMITTED), _told(folder, ASKS)
    if asks and not committed:
        os.kill(child, signal.SIGTERM)
    if committed or asks:
        os.kill(child, signal.SIGCONT)
    ended = _patiently(child) if committed or asks else None
    if committed and ended is not None:
        return ended
    _kill_all(child if ended is None else None)
    for draft in _drafts(folder):
        _remove_draft(draft)
    return None


def _told(folder: Path | None, name: str) -> bool:
    return folder is not None and (folder / name).exists()


def _patiently(child: int) -> int | None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        code = _ended(child)
        if code is not None:
            return code
        time.sleep(0.02)
    return None


def _kill_all(child: int | None) -> None:
    """Kill the child and whatever it started, in other process groups and sessions too."""
    _adopt_orphans()
    if child is not None:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        for orphan in _children(os.getpid()):
            with suppress(OSError):
                os.kill(orphan, signal.SIGKILL)
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.005)
        except ChildProcessError:
            return


def _adopt_orphans() -> None:
    """On Linux, become the parent of the child's children when it dies; elsewhere the embedded host ends by itself when it loses its parent."""
    with suppress(ImportError, OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)


def _children(parent: int) -> list[int]:
    children = []
    for path in Path(f"/proc/{parent}/task").glob("*/children"):
        with suppress(OSError):
            children += [int(number) for number in path.read_text().split()]
    return children


def _drafts(folder: Path | None) -> list[Path]:
    """Return what the child noted before it made it, the last first."""
    path = folder / DRAFTS if folder is not None else None
    if path is None or not path.exists():
        return []
    return [Path(os.fsdecode(line)) for line in reversed(path.read_bytes().split(b"\0")) if line]


def _remove_draft(path: Path) -> None:
    """Remove a file, or a folder if it is empty."""
    with suppress(OSError):
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()


def _terminal() -> Any:
    """Return the terminal's settings: a child that is killed at a password prompt cannot restore them."""
    try:
        import termios

        return termios.tcgetattr(0)
    except Exception:
        return None


def _restore(terminal: Any) -> None:
    if terminal is not None:
        import termios

        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        termios.tcsetattr(0, termios.TCSADRAIN, terminal)
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[2K\x1b[?25h")


# -- the child -----------------------------------------------------------------------------------------------------------


def _be_child(work: Callable[[], int], folder: Path | None, alive: int) -> None:
    """Run `work` and exit; of signals only the parent's request to stop is heard, once."""
    _Child.folder = folder
    if folder is not None:
        os.environ["TMPDIR"] = str(folder)
        import tempfile

        tempfile.tempdir = None
    for number in STOPS:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _asked_to_stop)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {*STOPS, signal.SIGCHLD})
    _watch_parent(alive)
    sys.exit(work())


def _watch_parent(alive: int) -> None:
    """End this process when its parent is gone without a word, killed: the embedded host then ends by itself."""
    import threading

    def watch() -> None:
        os.read(alive, 1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _asked_to_stop(*_: Any) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # the parent tells
    if _Child.shields:
        _Child.pending = True
        return
    raise KeyboardInterrupt


@contextmanager
def shield() -> Iterator[None]:
    """Let nothing be interrupted inside; an interruption comes at the end."""
    _Child.shields += 1
    try:
        yield
    finally:
        _Child.shields -= 1
    if _Child.pending and not _Child.shields:
        _Child.pending = False
        raise KeyboardInterrupt


@contextmanager
def asks_to_stop() -> Iterator[None]:
    """Inside, an interruption arrives as KeyboardInterrupt: there is something elsewhere that has to be stopped too."""
    if _Child.folder is None:
        yield
        return
    (_Child.folder / ASKS).touch()
    try:
        yield
    finally:
        (_Child.folder / ASKS).unlink(missing_ok=True)


def draft(path: Path) -> Path:
    """Note that a file or folder is about to be made, so that an interruption removes it; return it."""
    if _Child.folder is not None:
        with (_Child.folder / DRAFTS).open("ab") as file:
            file.write(os.fsencode(path.absolute()) + b"\0")
    return path


def commit() -> None:
    """From now on the finished files are put in their places: this is not interrupted any more."""
    if _Child.folder is not None:
        (_Child.folder / COMMITTED).touch()
