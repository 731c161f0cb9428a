"""The process from which every container of an embedded federation is forked.

It imports what containers need once, then forks one process for each run, gives it the environment of its container and calls vantage6's own
``wrap_algorithm``. Orders come as JSON lines on standard input, exits are told as JSON lines on standard output; when
standard input closes, everything ends.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import sys
import warnings
from contextlib import suppress
from itertools import islice
from typing import Any

PRELOAD = (
    "numpy",
    "vantage6.algorithm.tools.wrap",
    "pandas",
    "encodings.cp437",
    "encodings.utf_8_sig",
    "netrc",
    "numpy.rec",
    "fedbayes.federation",
    "fedbayes.federation.perimeter.channel",
    "fedbayes.dp.shares",
    "cryptography.hazmat.backends.openssl.backend",
    "cryptography.hazmat.primitives.ciphers.aead",
    "cryptography.hazmat.primitives.kdf.hkdf",
)
HEAVY = ("fedbayes", "gmpy2", "networkx", "scipy")
MODULES_FILE = "modules"


def _child(order: dict[str, Any]) -> None:
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setpgid(0, 0)
    log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    sys.stdout = os.fdopen(1, "w", buffering=1)
    sys.stderr = os.fdopen(2, "w", buffering=1)
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    from vantage6.algorithm.tools.wrap import wrap_algorithm

    code, modules_before = 0, len(sys.modules)
    try:
        wrap_algorithm(log_traceback=False)
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 1
    except BaseException:
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    _tell_modules(order["folder"], modules_before)
    os._exit(code)


def _tell_modules(folder: str, before: int) -> None:
    """Note which heavy packages the run imported late, so that the host has them for the next one.

    What there was before is counted, not looked at: whoever touches a name copies its page.
    """
    new = islice(reversed(sys.modules), max(len(sys.modules) - before, 0))
    late = [name for name in reversed(list(new)) if name.partition(".")[0] in HEAVY]
    with open(os.path.join(folder, MODULES_FILE), "w", encoding="utf-8") as file:
        json.dump(late, file)


def _late_modules(folder: str) -> list[str]:
    try:
        with open(os.path.join(folder, MODULES_FILE), encoding="utf-8") as file:
            return [str(name) for name in json.load(file)]
    except (OSError, ValueError):
        return []


def _preload(modules: list[str]) -> None:
    modules_before = len(sys.modules)
    for module in modules:
        try:
            importlib.import_module(module)
        except Exception:
            # The container's own import tells why.
            continue
    if len(sys.modules) > modules_before:
        _read_types()
        gc.collect()
        gc.freeze()  # what is there now is of no interest to the collectors of the runs, which would copy its pages


def _read_types() -> None:
    """Resolve the types of every message's fields, which each run would resolve again for those that it reads."""
    from ..messages.codec import Message, fields_of

    classes = [Message]
    for base in classes:
        classes += base.__subclasses__()
    for message in classes[1:]:
        with suppress(Exception):  # a toy of somebody's own: its run tells why
            fields_of(message)


def _tell(event: dict[str, Any]) -> None:
    """Write a line for the federation, if it still reads: where it has ended, standard input closes too."""
    with suppress(BrokenPipeError):
        os.write(1, json.dumps(event).encode() + b"\n")


class Host:
    """Forks, reaps and kills the runs."""

    def __init__(self) -> None:
        self._runs: dict[int, int] = {}
        self._folders: dict[int, str] = {}
        self._wake, wake = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def serve(self) -> None:
        """Obey orders until standard input closes."""
        buffer = b""
        while True:
            ready, _, _ = select.select([0, self._wake], [], [])
            if self._wake in ready:
                os.read(self._wake, 4096)
                self._reap()
            if 0 in ready:
                chunk = os.read(0, 65536)
                if not chunk:
                    break
                *lines, buffer = (buffer + chunk).split(b"\n")
                for line in lines:
                    self._obey(json.loads(line))
        for pid in self._runs:
            self._kill(pid)

    def _obey(self, order: dict[str, Any]) -> None:
        if "kill" in order:
            for pid, run in list(self._runs.items()):
                if run == order["kill"]:
                    self._kill(pid)
            return
        sys.path[:] = order["path"]
        _preload(order["preload"])
        pid = os.fork()
        if pid == 0:
            try:
                _child(order)
            finally:  # its folder is gone, as after an interruption: nobody waits for it, and nobody wants to read of it
                os._exit(1)
        self._runs[pid] = order["run"]
        self._folders[pid] = order["folder"]

    @staticmethod
    def _kill(pid: int) -> None:
        for target in (-pid, pid):
            try:
                os.kill(target, signal.SIGKILL)
            except OSError:
                continue

    def _reap(self) -> None:
        while self._runs:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            run = self._runs.pop(pid, None)
            _preload(_late_modules(self._folders.pop(pid, "")))
            if run is not None:
                _tell({"run": run, "code": os.waitstatus_to_exitcode(status)})


def _use_ciphers() -> None:
    """Use every cipher once: OpenSSL looks its implementations up at first use, which every run would pay for again."""
    from ...mpc import relay
    from ...mpc.secure_sum import pairwise_mask

    pair, signing = relay.KeyPair.generate(), relay.SigningPair.from_bytes(bytes(relay.KEY_BYTES))
    key = relay.pairwise_key(pair, relay.KeyPair.generate().public_bytes, b"")
    relay.unseal(key, relay.seal(key, b"", b""), b"")
    relay.is_signed(signing.public_bytes, signing.sign(b""), b"")
    pairwise_mask(0, {1: key}, "", (1,))


def main() -> None:
    """Run the host."""
    # Libraries that are loaded here have threads of their own, which they start anew after a fork; Python 3.12 and later warn of any.
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
    _preload(list(PRELOAD))
    _use_ciphers()
    _tell({"ready": True})
    Host().serve()


if __name__ == "__main__":
    main()
