"""Rounds over vantage6 tasks: what central functions are written with.

One round is one vantage6 sub-task at every organization that is asked, and all of them must answer. A reply names its organization inside
its seal, so the order in which the platform returns replies does not matter.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from vantage6.algorithm.tools.util import info as log_info

from ..typing import Array
from .errors import (
    BudgetError,
    PolicyError,
    StationError,
    ThresholdError,
)
from .jobs.job import Job
from .jobs.transport import summed
from .jobs.waiting import TIMEOUT_SECONDS
from .messages.codec import Message
from .perimeter.opening import Checked
from .replies import Empty

CLOSING = "close"
REFUSALS = (PolicyError, ThresholdError, BudgetError)


M = TypeVar("M", bound=Message)


class Federation(Job):
    """The federation as a central function sees it: a `Job`, and rounds over its organizations."""

    def round(
        self,
        function: str,
        request: Message | Mapping[int, Message],
        organizations: Sequence[int],
        reply_type: type[M],
        timeout: float = TIMEOUT_SECONDS,
        last: bool = False,
    ) -> dict[int, M]:
        """Ask organizations, wait for all of them, and return their replies.

        Parameters
        ----------
        function : str
            The remote partial function.
        request : Message, or mapping of int to Message
            One request for all, or one for each organization.
        organizations : sequence of int
            Who is asked.
        reply_type : type
            Message class of the reply.
        timeout : float
            Seconds after which a silent station ends the job.
        last : bool
            Whether stations may wipe the job's keys and kept arrays after this round.

        Returns
        -------
        dict of int to Message
            Organization -> its reply.

        Raises
        ------
        StationError
            If a station is silent or crashes; the message names it.
        MessageError
            If a reply is malformed, is of another round, or was changed on its way.
        AlgorithmError
            If a station refuses; the message has its name and its reason.
        """
        answers = self._ask(function, request, organizations, timeout, last)
        self._raise_refusals(answers, self._transport.costs())
        return self._read(reply_type, answers)

    def secure_sum(
        self,
        function: str,
        request: Message | Mapping[int, Message],
        organizations: Sequence[int],
        reply_type: type[Message],
        field: str = "masked",
        survivors: bool = False,
        last: bool = False,
    ) -> Array:
        """Return the sum, modulo 2^64, of arrays that stations send masked; one round.

        Parameters
        ----------
        function, request, organizations, reply_type, last
            As of `round`.
        field : str
            The masked field of the reply.
        survivors : bool
            Whether to go on without stations that stay silent, crash or refuse. The round is then repeated **once**, under a fresh name, over
            the stations that answered, if they are as many as every node demands. Otherwise a missing station ends the job.

        Returns
        -------
        ndarray of uint64

        Raises
        ------
        ThresholdError
            As of `Nodes.check_summable`, before anything is asked.

        Notes
        -----
        **Reveals** the sum over the participants to central, and nothing else. **Assumes** that at least two participants do not collude with central.
        """
        participants = tuple(organizations)
        self.nodes.check_summable(participants)
        try:
            replies = self.round(function, request, participants, reply_type, last=last)
        except (StationError, *REFUSALS):
            left = tuple(member for member in participants if member in self._transport.answered)
            if not survivors or len(left) in (0, len(participants)):
                raise
            gone = ", ".join(self.name(member) for member in participants if member not in left)
            self.warn(f"repeated once without: {gone}")
            if isinstance(request, Mapping):
                request = {member: request[member] for member in left}
            replies = self.round(function, request, left, reply_type, last=last)
        return summed([getattr(reply, field) for reply in replies.values()])

    def _ask(
        self, function: str, request: Any, organizations: Sequence[int], timeout: float, last: bool
    ) -> dict[int, Any]:
        if self.checked is not None:
            raise Checked(self.checked)
        began = time.monotonic()
        participants = tuple(sorted(organizations))
        round_name = f"{self.rounds + 1}:{function}"
        self._transport.answered = set()
        log_info(f"round {round_name} at {len(participants)} organizations")
        sent = self._transport.prepare(function, round_name, request, participants, last)
        entry = self._log.start(function, participants, sum(part.size for part in sent))
        tasks = [self._transport.create(part, round_name) for part in sent]
        answers: dict[int, Any] = {}
        try:
            for task, part in zip(tasks, sent, strict=True):
                answers.update(self._transport.collect(task, part, began, timeout, entry))
        finally:
            if last:
                self._ended.update(answers, self._transport.answered)
        entry["seconds"] = round(time.monotonic() - began, 4)
        for member in sorted(self._transport.repeated):
            self.warn(f"{self.name(member)} was asked again in a round: the platform had lost its reply")
        return answers

    def close(self) -> None:
        """Have the stations wipe the job's keys, unless their last request did so already; do not wait for them.

        vantage6 does not tell nodes when a job ends, so this is a sub-task. It does not count as a round.
        """
        left = tuple(sorted(self._log.asked - self._ended))
        manifest = self._transport.manifest
        if manifest is not None:
            left = tuple(member for member in left if member in manifest.cards)
        try:
            for sent in self._transport.prepare("partial_close", CLOSING, Empty(), left, True):
                self._transport.create(sent, CLOSING)
        except Exception as failure:
            log_info(f"the stations were not told that the job is over: {type(failure).__name__}")
        self._transport.forget()
