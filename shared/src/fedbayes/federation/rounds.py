"""Rounds over vantage6 tasks: what central functions are written with.

One round is one sub-task at every organization asked. All must answer; replies are matched to organizations by their
sealed content, not by their order. vantage6's own ``wait_for_results`` waits ever longer between its looks; here the status
is asked often, from the moment on at which a stock node can have answered, with a time-out.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from vantage6.algorithm.tools.util import info as log_info

from ..mpc.relay import KeyPair
from ..mpc.secure_sum import reconstruct
from .channel import KEY_BYTES
from .codec import Message, decode, encode, size_of
from .envelope import PROTOCOL, Request, open_reply
from .errors import (
    ArgumentError,
    BudgetError,
    MessageError,
    PolicyError,
    StationError,
    ThresholdError,
    rebuild,
)
from .opening import OpenReply, OpenRequest
from .platform import Run
from .policy import Policy
from .results import strict_json, versions

# A stock node looks once a second whether a container has ended, and sleeps another second before it sends the result.
FIRST_LOOK_SECONDS = 2.0
POLL_SECONDS = 0.1
EMBEDDED_POLL_SECONDS = 0.02
LONGEST_POLL_SECONDS = 1.0
POLL_FRACTION = 0.02
TIMEOUT_SECONDS = 600.0
START_SECONDS = 30.0
FINISHED = (
    "completed",
    "failed",
    "crashed",
    "killed by user",
    "not allowed",
    "unknown error",
    "start failed",
    "non-existing Docker image",
)
REFUSALS = (PolicyError, ThresholdError, BudgetError)

M = TypeVar("M", bound=Message)


def pauses(began: float) -> Iterator[float]:
    """Yield the seconds to wait before each look at a round of which `began` is the monotonic time: a look costs the server and the proxy 30 ms of work.

    On a platform, the first look is when a stock node can have answered at the earliest, and looking adds a fiftieth to the time of a long round.
    """
    if os.environ.get("FEDBAYES_EMBEDDED") == "true":
        yield 0.0
        while True:
            yield EMBEDDED_POLL_SECONDS
    yield max(0.0, began + FIRST_LOOK_SECONDS - time.monotonic())
    while True:
        yield min(max(POLL_SECONDS, POLL_FRACTION * (time.monotonic() - began)), LONGEST_POLL_SECONDS)


@dataclass(frozen=True, slots=True)
class Parties:
    """Who takes part: `stations` hold the task's data, `helpers` do not. Organization ids, ascending."""

    stations: tuple[int, ...]
    helpers: tuple[int, ...]

    @property
    def members(self) -> tuple[int, ...]:
        """Everyone who has a key in the channel."""
        return tuple(sorted(self.stations + self.helpers))


class Federation:
    """The federation as a central function sees it.

    Parameters
    ----------
    client : AlgorithmClient or MockAlgorithmClient
        vantage6's own client.
    run : Run
        Identity of this container.
    policy : Policy
        The limits of the node that runs central.
    """

    def __init__(self, client: Any, run: Run, policy: Policy) -> None:
        self._client = client
        self._run = run
        self.policy = policy
        self.organization = run.organization
        self._keys = KeyPair.generate()
        self._directory: dict[int, bytes] = {}
        self._per_round: list[dict[str, Any]] = []
        self._warnings: list[str] = []
        self._asked: set[int] = set()
        self._began = time.monotonic()
        self.session = self._session()
        self.names = self._names()

    def _session(self) -> str:
        if self._run.task is None:
            from ..randomness import secret_bytes

            return secret_bytes(16).hex()
        task = self._client.task.get(self._run.task)
        parts = (task.get("job_id"), task.get("created_at"), task.get("id"))
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]

    def _names(self) -> dict[int, str]:
        listed = self._client.organization.list()
        if not isinstance(listed, list) or not listed:
            raise StationError("the server does not list the collaboration's organizations; try again")
        return {int(entry["id"]): str(entry.get("name") or entry["id"]) for entry in listed}

    @property
    def rounds(self) -> int:
        """Rounds so far."""
        return len(self._per_round)

    def warn(self, text: str) -> None:
        """Add a warning to the result, once."""
        if text not in self._warnings:
            self._warnings.append(text)

    def name(self, organization: int) -> str:
        """Return an organization's name."""
        return self.names.get(organization, f"organization {organization}")

    # -- organizations ---------------------------------------------------------------------------------------------------

    def resolve(self, organizations: Any, argument: str = "organizations") -> tuple[int, ...]:
        """Return ids of organizations given by id or name; None means all of the collaboration.

        Raises
        ------
        ArgumentError
            If one is not in the collaboration, or comes twice.
        """
        if organizations is None:
            return tuple(sorted(self.names))
        if not isinstance(organizations, list | tuple) or not organizations:
            raise ArgumentError(f"{argument} must be a list of organization ids or names")
        found = [self._resolve_one(entry, argument) for entry in organizations]
        if len(set(found)) != len(found):
            raise ArgumentError(f"{argument} names an organization twice")
        return tuple(sorted(found))

    def _resolve_one(self, entry: Any, argument: str) -> int:
        if isinstance(entry, int) and not isinstance(entry, bool) and entry in self.names:
            return entry
        matches = [key for key, name in self.names.items() if name == entry]
        if len(matches) != 1:
            known = ", ".join(f"{key} ({name})" for key, name in sorted(self.names.items()))
            raise ArgumentError(
                f"{argument} holds an entry that is no organization of this collaboration; it has: {known}"[:600]
            )
        return matches[0]

    def open_channel(self, organizations: Any = None) -> Parties:
        """Make fresh channel keys at every organization and learn which of them hold data. One round.

        **Reveals** to central which organizations have the task's database. **Assumes** that central hands out the true directory
        (administrators can pin keys).

        Raises
        ------
        ThresholdError
            If fewer take part than a node demands.
        """
        members = self.resolve(organizations)
        self._directory = {}
        replies = self.round("partial_open_channel", OpenRequest(), members, OpenReply)
        self._directory = {member: reply.public_key for member, reply in replies.items()}
        parties = Parties(
            tuple(member for member in members if replies[member].has_data),
            tuple(member for member in members if not replies[member].has_data),
        )
        if not parties.stations:
            raise StationError("no organization holds the database that the task asks for; check its label")
        needed = max(self.policy.minimum_organizations, *(reply.minimum_organizations for reply in replies.values()))
        if len(members) < needed:
            raise ThresholdError("fewer organizations take part than a node demands; include more of them")
        return parties

    # -- rounds ----------------------------------------------------------------------------------------------------------

    def round(
        self,
        function: str,
        request: Message | Mapping[int, Message],
        organizations: Sequence[int],
        reply_type: type[M],
        timeout: float = TIMEOUT_SECONDS,
        last: bool = False,
    ) -> dict[int, M]:
        """Ask every organization, wait for all, return their replies.

        Parameters
        ----------
        function : str
            The remote partial function.
        request : Message, or mapping of int to Message
            The same for everyone, or one for each.
        organizations : sequence of int
            Who is asked.
        reply_type : type
            Message class of the reply.
        timeout : float
            Seconds after which a silent station ends the job.
        last : bool
            Whether stations may wipe the job's keys and kept arrays after this round.

        Raises
        ------
        StationError
            If a station is silent or crashes; the message names it.
        MessageError
            If a reply is malformed, stale or was changed.
        AlgorithmError
            Whatever a station refused, with its name in front.
        """
        answers = self._ask(function, request, organizations, timeout, last)
        failures = {member: answer["error"] for member, answer in answers.items() if "error" in answer}
        for member, (kind, text) in failures.items():
            raise rebuild(str(kind), f"{self.name(member)}: {text}")
        return {member: decode(reply_type, answers[member].get("reply")) for member in sorted(answers)}

    def secure_sum(
        self,
        function: str,
        request: Message | Mapping[int, Message],
        organizations: Sequence[int],
        reply_type: type[Message],
        field: str = "masked",
        survivors: bool = False,
        last: bool = False,
    ) -> np.ndarray[Any, Any]:
        """Ask for masked arrays in one round and return their sum modulo 2^64 as uint64.

        With `survivors`, a station that stays silent, crashes or refuses may be left out **once**: the round is repeated under
        a fresh name over those that are left, if there are still as many as every node demands. Otherwise it fails closed.

        **Reveals** the sum over the participants to central, and nothing else. **Assumes** that at least two participants do not collude with central.
        """
        asked = tuple(organizations)
        try:
            replies = self.round(function, request, asked, reply_type, last=last)
        except (StationError, *REFUSALS):
            left = tuple(member for member in asked if member in self._answered)
            if not survivors or len(left) in (0, len(asked)):
                raise
            gone = ", ".join(self.name(member) for member in asked if member not in left)
            self.warn(f"repeated once without: {gone}")
            if isinstance(request, Mapping):
                request = {member: request[member] for member in left}
            replies = self.round(function, request, left, reply_type, last=last)
        return reconstruct([np.asarray(getattr(reply, field)) for reply in replies.values()])

    def _ask(
        self, function: str, request: Any, organizations: Sequence[int], timeout: float, last: bool
    ) -> dict[int, Any]:
        began = time.monotonic()
        asked = tuple(sorted(organizations))
        round_name = f"{self.rounds + 1}:{function}"
        self._answered: set[int] = set()
        log_info(f"round {round_name} at {len(asked)} organizations")
        bodies = {member: request[member] if isinstance(request, Mapping) else request for member in asked}
        groups: list[tuple[Message, list[int]]] = []
        for member in asked:
            same = next((group for group in groups if group[0] is bodies[member]), None)
            if same is None:
                groups.append((bodies[member], [member]))
            else:
                same[1].append(member)
        requests = [self._request(function, round_name, asked, body, last) for body, _ in groups]
        record = {
            "round": self.rounds + 1,
            "function": function,
            "organizations": list(asked),
            "seconds": 0.0,
            "bytes": sum(
                size_of(part.body) * len(members) for part, (_, members) in zip(requests, groups, strict=True)
            ),
        }
        self._per_round.append(record)
        self._asked.update(asked)
        tasks = [
            self._create(function, envelope, members, round_name)
            for envelope, (_, members) in zip(requests, groups, strict=True)
        ]
        answers: dict[int, Any] = {}
        for task, envelope, (_, members) in zip(tasks, requests, groups, strict=True):
            answers.update(self._collect(task, envelope, members, began, timeout, record))
        record["seconds"] = round(time.monotonic() - began, 4)
        return answers

    def _request(self, function: str, round_name: str, asked: tuple[int, ...], body: Message, last: bool) -> Request:
        return Request(
            protocol=PROTOCOL,
            session=self.session,
            round_name=round_name,
            function=function,
            sender=self.organization,
            participants=asked,
            directory=self._directory,
            reply_key=self._keys.public_bytes,
            last=last,
            body=encode(body),
        ).sign()

    def _create(self, function: str, envelope: Request, members: list[int], round_name: str) -> int:
        task = self._client.task.create(
            input_={"method": function, "kwargs": {"message": encode(envelope)}},
            organizations=members,
            name=f"round {round_name}",
            description=f"fedbayes {function}",
        )
        if not isinstance(task, dict) or "id" not in task:
            raise StationError(
                "the server did not accept a sub-task; check that every organization is in the collaboration and online"
            )
        return int(task["id"])

    def _collect(
        self, task: int, envelope: Request, members: list[int], began: float, timeout: float, record: dict[str, Any]
    ) -> dict[int, Any]:
        payloads = self._wait(task, members, began, timeout)
        answers: dict[int, Any] = {}
        for payload in payloads:
            member, content, public_key = open_reply(envelope, payload, self._keys)
            if member not in members or member in answers:
                raise MessageError(
                    "a reply comes from an organization that was not asked, or came twice; the job stops"
                )
            known = self._directory.get(member)
            if known is not None and known[:KEY_BYTES] != public_key and not envelope.last and "error" not in content:
                raise MessageError(
                    f"{self.name(member)}: the reply was not sealed with the station's key; the job stops"
                )
            answers[member] = content
            if "reply" in content:
                self._answered.add(member)
            record["bytes"] += len(str(payload.get("sealed", "")))
        missing = [self.name(member) for member in members if member not in answers]
        if missing and not any("error" in answer for answer in answers.values()):
            raise StationError(
                f"no answer from {', '.join(missing)}: its node crashed, refused or stopped the round; see the node's log"
            )
        return answers

    def _wait(self, task: int, members: list[int], began: float, timeout: float) -> list[Any]:
        if self._run.mock:
            return list(self._client.wait_for_results(task))
        deadline = began + timeout
        look = time.monotonic() + START_SECONDS
        for pause in pauses(began):
            time.sleep(pause)
            status = self._client.request(f"task/{task}/status").get("status")
            if status in FINISHED:
                break
            if time.monotonic() > look:
                self._check_started(task)
                look += START_SECONDS
            if time.monotonic() > deadline:
                raise StationError(
                    f"no answer in time from one of {', '.join(self.name(member) for member in members)}; is its node online?"
                )
        results = self._client.result.from_task(task)
        if status != "completed":
            results = self._settle(task, members, min(deadline, time.monotonic() + 10.0), results)
        return [result for result in results if isinstance(result, dict)]

    def _check_started(self, task: int) -> None:
        """Raise `StationError` naming the organizations whose node has not even taken up the sub-task: such a node is off."""
        runs = [run for run in self._client.run.from_task(task) if run.get("status") == "pending"]
        if runs:
            names = ", ".join(sorted(self.name(int(run["organization"]["id"])) for run in runs))
            raise StationError(
                f"the node of {names} does not take up the task: it is off or out of reach; leave it out or try later"
            )

    def _settle(self, task: int, members: list[int], deadline: float, results: list[Any]) -> list[Any]:
        """After one failure give the siblings, which may still run, a moment: their refusals tell more than a crash."""
        while time.monotonic() < deadline:
            runs = self._client.run.from_task(task)
            if all(run.get("status") in FINISHED for run in runs):
                break
            time.sleep(POLL_SECONDS)
        return list(self._client.result.from_task(task))

    # -- the result ------------------------------------------------------------------------------------------------------

    def result(
        self,
        model: Any = None,
        privacy: dict[str, Any] | None = None,
        diagnostics: dict[str, Any] | None = None,
        **fields: Any,
    ) -> dict[str, Any]:
        """Return the task's result: model, privacy, federation, diagnostics, warnings, versions and further `fields`."""
        return dict(
            strict_json(
                {
                    **fields,
                    "model": model,
                    "privacy": privacy,
                    "federation": self.report(),
                    "diagnostics": diagnostics or {},
                    "warnings": list(self._warnings),
                    "versions": versions(),
                }
            )
        )

    def report(self) -> dict[str, Any]:
        """Return rounds, bytes, seconds, organizations, and the same round by round."""
        return {
            "rounds": self.rounds,
            "bytes": sum(entry["bytes"] for entry in self._per_round),
            "seconds": round(time.monotonic() - self._began, 3),
            "organizations": [self.name(member) for member in sorted(self._asked)],
            "aggregator": self.name(self.organization),
            "per_round": self._per_round,
        }
