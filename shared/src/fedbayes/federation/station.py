"""What a partial function has: its data behind guards, the channel, the ledger, job-local memory."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..bayes.encoding import identifier_text
from ..bayes.missing import public_part
from ..mpc.relay import KeyPair
from . import platform
from .channel import IDENTITY_FILE, KEY_FILE, Channel, own_keys
from .envelope import Request
from .errors import BudgetError, DataProblem, MessageError, PolicyError, ThresholdError
from .policy import Policy
from .reading import Source

FOLDER = "fedbayes-"
LEDGER_FILE = "fedbayes-ledger.sqlite3"


class Station:
    """One station inside one round.

    Attributes
    ----------
    organization : int
        This station's organization.
    participants : tuple of int
        Every organization that got this round.
    aggregator : int
        The organization that runs central.
    policy : Policy
        The limits of this node.
    session, round_name : str
        The job and the round.
    last : bool
        Whether central announced this as the job's last round.
    """

    def __init__(self, run: platform.Run, request: Request, policy: Policy, mock_data: list[Any] | None = None) -> None:
        self.organization = run.organization
        self.participants = request.participants
        self.aggregator = request.sender
        self.policy = policy
        self.session = request.session
        self.round_name = request.round_name
        self.last = request.last
        self._request = request
        self._run = run
        self._mock_data = mock_data
        if self.organization not in request.participants:
            raise MessageError("the request is for other stations")

    # -- data ------------------------------------------------------------------------------------------------------------

    @property
    def has_data(self) -> bool:
        """Whether this station holds the database that the task asks for."""
        return self._source.present

    @cached_property
    def _source(self) -> Source:
        return Source(self._mock_data, self._schema_file or {})

    @property
    def columns(self) -> list[str]:
        """Names of the columns that this node lets the task see."""
        denied = set(self.policy.denied_columns or ())
        allowed = self.policy.allowed_columns
        return [name for name in self._source.names if name not in denied and (allowed is None or name in allowed)]

    def data(
        self,
        columns: list[str],
        minimum: bool = True,
        domain: Mapping[str, Any] | None = None,
        identifiers: Sequence[str] = (),
    ) -> Any:
        """Return the station's table with exactly `columns`; its missing cells follow the rule in `fedbayes.bayes.missing`.

        Parameters
        ----------
        columns : list of str
            Names, in the order wanted.
        minimum : bool
            Whether `minimum_rows` of the node applies (it does not for new records that are only to be classified).
        domain : mapping, optional
            The task's domain, as far as there is one: what it lists is a value, what it declares missing is missing.
        identifiers : sequence of str
            Columns that keep their text, as ``00257``.

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        PolicyError
            If a column may not be used here.
        DataProblem
            If the table lacks a column, or has it twice.
        ThresholdError
            If the table has fewer rows than the node demands.
        """
        self.policy.check_columns(columns)
        frame = self._source.frame(domain, identifiers)
        self._check_table(columns, list(frame.columns), len(frame) if minimum else None)
        return frame[columns]

    def identifiers(self, column: str, minimum: bool = True) -> list[str]:
        """Return the identifiers in a column as they are written, one a row, empty where missing; under the guards of `data`."""
        values = self.data([column], minimum, identifiers=(column,))[column]
        return [identifier_text(value) for value in values.tolist()]

    def arrays(self, columns: list[str], domain: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        """Return `columns` of the station's table by name, each of shape (rows,), as in `data`.

        Under the same guards as `data`, without importing pandas for a small CSV file.
        """
        self.policy.check_columns(columns)
        small = self._source.arrays(columns, domain)
        if small is None:
            return self.data(columns, domain=domain)  # type: ignore[no-any-return]
        found, rows = small
        self._check_table(columns, list(found), rows)
        return found

    def _check_table(self, columns: list[str], present: list[str], rows: int | None) -> None:
        for column in columns:
            if present.count(column) != 1:
                what = "is not in" if column not in present else "is twice in"
                raise DataProblem(f"column '{column}' {what} this station's table; check the name in the task")
        if rows is not None and rows < self.policy.minimum_rows:
            raise ThresholdError("the station's table has fewer rows than the node demands; leave this station out")

    # -- privacy ---------------------------------------------------------------------------------------------------------

    def charge(
        self, epsilon: float, delta: float = 0.0, note: str = "", queries: int = 0, once: str | None = None
    ) -> None:
        """Debit the node's ledger before anything is sampled; a repeat of the same request is debited once.

        Parameters
        ----------
        epsilon, delta : float
            Cost.
        note : str
            What for, in the ledger.
        queries : int
            Questions that count for `maximum_queries`.
        once : str, optional
            One debit of this name for the whole job, whatever the round: for a budget that the caller itself divides over its rounds.

        Raises
        ------
        PolicyError
            If one release may not cost that much here.
        BudgetError
            If the ledger has less left; the message says how much.
        """
        for name, cost, limit in (
            ("epsilon", epsilon, self.policy.maximum_epsilon),
            ("delta", delta, self.policy.maximum_delta),
        ):
            if limit is not None and cost > limit:
                raise PolicyError(f"{name} is above what this node allows for one release; ask for less")
        if self.policy.ledger is None:
            return
        from ..dp.ledger import Ledger, LedgerExhausted

        path = platform.folder_database(self.policy.ledger) / LEDGER_FILE
        ledger = Ledger(
            path,
            epsilon=self.policy.budget_epsilon,
            delta=self.policy.budget_delta,
            days=self.policy.budget_days,
            queries=self.policy.maximum_queries,
        )
        try:
            place = (self.round_name, self._request.digest) if once is None else (once, f"{epsilon!r}/{delta!r}")
            ledger.charge((self._nonce(), *place), epsilon, delta, note, queries)
        except LedgerExhausted as error:
            raise BudgetError(str(error)) from None

    def require_private(self, private: bool) -> None:
        """Raise `PolicyError` if an answer without differential privacy may not leave this node."""
        if not private and not self.policy.allow_non_private:
            raise PolicyError("this node releases differentially private answers only; ask for one with an epsilon")

    def require_predictions(self) -> None:
        """Raise `PolicyError` if single records of this node may not be classified or predicted."""
        if not self.policy.allow_predictions:
            raise PolicyError(
                "this node does not let single records be predicted; ask the node administrator to set FEDBAYES_ALLOW_PREDICTIONS"
            )

    def public_schema(self) -> dict[str, Any] | None:
        """Return the public domains that the administrator keeps beside the ledger, or None."""
        return None if self._schema_file is None else public_part(self._schema_file)

    @cached_property
    def _schema_file(self) -> dict[str, Any] | None:
        if self.policy.schema is None or self.policy.ledger is None:
            return None
        path = platform.folder_database(self.policy.ledger) / Path(self.policy.schema).name
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise PolicyError("the node's schema file cannot be read; ask the node administrator") from None
        if not isinstance(content, dict):
            raise PolicyError("the node's schema file is not an object of columns; ask the node administrator")
        return content

    # -- the job's own folder --------------------------------------------------------------------------------------------

    @cached_property
    def folder(self) -> Path:
        """The job's folder at this station, mode 0700; what earlier jobs left there is removed."""
        own = self._run.folder / f"{FOLDER}{self.session[:24]}-{self.organization}"
        if not own.exists() and not self._run.mock:
            for stale in self._run.folder.glob(f"{FOLDER}*"):
                shutil.rmtree(stale, ignore_errors=True)
        own.mkdir(mode=0o700, parents=True, exist_ok=True)
        return own

    def _nonce(self) -> str:
        """Return random text that stands for this job at this node; central cannot choose it."""
        from ..randomness import secret_bytes

        return self._once("nonce", secret_bytes(16).hex().encode()).decode()

    def _once(self, name: str, content: bytes) -> bytes:
        """Write a file of the job's folder unless it is there, atomically; return what it holds then."""
        path = self.folder / name
        if not path.exists():
            draft = self.folder / f"{name}-{os.getpid()}"
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            try:
                os.link(draft, path)
            except FileExistsError:
                pass
            finally:
                draft.unlink()
        return path.read_bytes()

    def bind(self) -> None:
        """Bind the round's name to this request.

        Masks and noise depend on the round's name: who got answers to two requests under one name could subtract them.

        Raises
        ------
        MessageError
            If the job has had another request under this name.
        """
        first = self._once(f"round-{_safe(self.round_name)}", self._request.digest.encode())
        if first != self._request.digest.encode():
            raise MessageError("this round of the job has been asked with another request before; start the job again")

    def _record_name(self) -> str:
        place = f"{self.round_name}|{self._request.digest}"
        return "reply-" + hashlib.sha256(place.encode()).hexdigest()[:32]

    def recorded(self) -> dict[str, Any] | None:
        """Return the reply that this request got before, if the platform runs it again."""
        path = self.folder / self._record_name()
        return json.loads(path.read_bytes()) if path.exists() else None

    def record(self, content: dict[str, Any]) -> dict[str, Any]:
        """Record the reply before it leaves; of two runs at the same time the first one's reply is returned by both."""
        written: dict[str, Any] = json.loads(self._once(self._record_name(), json.dumps(content).encode()))
        return written

    def keep(self, name: str, **arrays: np.ndarray[Any, Any]) -> None:
        """Keep arrays for later rounds of this job at this station (the first writer wins)."""
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)  # type: ignore[arg-type]
        self._once(f"kept-{_safe(name)}", buffer.getvalue())

    def kept(self, name: str) -> dict[str, np.ndarray[Any, Any]]:
        """Return what `keep` stored.

        Raises
        ------
        MessageError
            If nothing of that name was kept in this job.
        """
        path = self.folder / f"kept-{_safe(name)}"
        if not path.exists():
            raise MessageError("an earlier round of this job is missing at this station; start the job again")
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as arrays:
            return {key: arrays[key] for key in arrays.files}

    def wipe(self) -> None:
        """Remove keys and kept arrays; recorded replies stay, for a repeat by the platform."""
        for path in self.folder.glob("kept-*"):
            path.unlink(missing_ok=True)
        (self.folder / KEY_FILE).unlink(missing_ok=True)

    @cached_property
    def channel(self) -> Channel:
        """The sealed channel; `MessageError` before `open_channel`."""
        if not self._request.directory:
            raise MessageError("the channel is not open; central must call open_channel first")
        return Channel(
            self.organization,
            own_keys(self.folder),
            self._request.directory,
            self.session,
            self.round_name,
            self.policy,
            self.identity,
        )

    @property
    def identity(self) -> KeyPair | None:
        """The node's long-term key pair, if its administrator keeps one."""
        return long_term_keys(self.policy)


def long_term_keys(policy: Policy) -> KeyPair | None:
    """Return the node's long-term key pair, made when first asked for, kept beside the ledger; None without one."""
    if not policy.long_term_key or policy.ledger is None:
        return None
    return own_keys(platform.folder_database(policy.ledger), IDENTITY_FILE)


def _safe(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:32]
