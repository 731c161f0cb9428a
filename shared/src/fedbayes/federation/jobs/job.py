"""A job as central sees it: the organizations, the channel that its first round opens, and the result.

The first round brings the stations' keys. From then on requests are sealed for their stations and bound to the job's manifest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from ...mpc.relay import KeyPair
from ..errors import MessageError, StationError, describe, rebuild
from ..guards import announced, arrival, dictionaries
from ..guards.table_reader import ABSENT
from ..messages.codec import Message, decode, encode
from ..node.memory import Memory
from ..node.platform import Origin, Run
from ..node.policy import Policy
from ..perimeter import acquaintance, peers
from ..perimeter.manifest import Manifest
from ..perimeter.opening import Checked, OpenReply, OpenRequest, Parties, Preflight, Task
from ..results import provenance, strict_json, versions
from ..tables import node_databases
from .loudness import noise_warnings
from .nodes import Nodes
from .outset import Outset
from .round_log import RoundLog
from .transport import Transport
from .waiting import TIMEOUT_SECONDS

M = TypeVar("M", bound=Message)


def _listed(client: Any) -> dict[int, str]:
    """Return the collaboration's organizations by id."""
    listed = client.organization.list()
    if not isinstance(listed, list) or not listed:
        raise StationError("the server does not list the collaboration's organizations; try again")
    return {int(entry["id"]): str(entry.get("name") or entry["id"]) for entry in listed}


class Job(Outset, ABC):
    """The organizations, how the channel to them is opened, and the result; `rounds.Federation` adds the rounds.

    Parameters
    ----------
    client : AlgorithmClient or MockAlgorithmClient
        vantage6's own client.
    run : Run
        Identity of this container.
    policy : Policy
        The limits of the node that runs central.
    origin : Origin
        What the platform says of this task.
    memory : Memory
        The job's folder at this node. Central keeps its keys of the job there, so that it can go on if the node restarts it.
    task : Task
        What the researcher asked for.

    Attributes
    ----------
    dry : bool
        Whether the job is a preflight alone: then `Checked` ends it, in `open_channel` if a station refuses, else where central would ask the next round.
    checked : dict or None
        What the stations said to a preflight, when none refused.
    nodes : Nodes
        Roles and limits of the members.
    """

    def __init__(self, client: Any, run: Run, policy: Policy, origin: Origin, memory: Memory, task: Task) -> None:
        super().__init__(_listed(client), run.organization, policy)
        self._client = client
        self._run = run
        self.session = memory.session
        self.dry = False
        self.checked: dict[str, str | None] | None = None
        self._origin, self._task = origin, task
        self._transport = Transport(client, run, policy, memory, self.name)
        self._log = RoundLog()
        self._ended: set[int] = set()
        self.nodes = Nodes()

    @property
    def public_key(self) -> bytes:
        """Central's X25519 key of the job, which stations seal their replies for."""
        return self._transport.public_key

    def key_pair(self, purpose: str) -> KeyPair:
        """Return a key pair of central for one purpose of the job, the same if central is run again."""
        return self._transport.key_pair(purpose)

    @property
    def package(self) -> str:
        """The package of the image, as the mock client tells it; a container has it in PKG_NAME."""
        return str(getattr(self._client, "module_name", self._task.algorithm))

    @property
    def rounds(self) -> int:
        """Rounds so far."""
        return len(self._log.entries)

    def open_channel(self, organizations: Any = None, preflight: Preflight | None = None) -> Parties:
        """Have every organization make fresh keys, and learn which of them hold data and whether any refuses the task; one round.

        Parameters
        ----------
        organizations : list, optional
            By id or name; all of the collaboration by default.
        preflight : Preflight, optional
            What the task will ask for. Every station checks it before any budget is spent at any of them.

        Returns
        -------
        Parties

        Raises
        ------
        AlgorithmError
            If stations refuse the task; the message has their names and reasons.
        StationError
            If no organization holds the task's database.
        ThresholdError
            If fewer organizations take part than one of the nodes demands.

        Notes
        -----
        **Reveals** to central which organizations have the task's database. **Assumes** that central hands out the true keys of those
        members that have no lasting key.
        """
        members = self.resolve(organizations)
        self._transport.start(None)
        request = OpenRequest(len(members), preflight, self.dictionary)
        answers = self._ask("partial_open_channel", request, members, TIMEOUT_SECONDS, False)
        replies = self._read(OpenReply, {member: one for member, one in answers.items() if "error" not in one})
        strangers = acquaintance.strangers(self.policy, self.organization, self.names, replies)
        answers |= {member: {"error": list(describe(refusal))} for member, refusal in strangers.items()}
        if self.dry:
            self._check(request, answers, replies)
        self._raise_refusals(answers, " (nothing was spent)")
        parties = Parties(
            tuple(member for member in members if replies[member].has_data.value),
            tuple(member for member in members if not replies[member].has_data.value),
            self._holders(preflight, {m: reply.columns.value for m, reply in replies.items()}),
            self._holders(preflight, {m: reply.alike.value for m, reply in replies.items()}),
        )
        if not parties.stations:
            raise StationError("no organization holds the database that the task asks for; check its label")
        self.nodes = Nodes(parties, replies)
        self.nodes.check_enough(preflight, parties, self.policy.minimum_organizations)
        if self.dry:
            return parties
        cards = {member: reply.card.value for member, reply in replies.items()}
        self._transport.start(self._make_manifest(parties, cards, preflight))
        return parties

    def _check(self, request: OpenRequest, answers: dict[int, Any], replies: Mapping[int, OpenReply]) -> None:
        """Keep what the stations say to a preflight, as central may still refuse, now that it knows who takes part; `Checked` if one of them refuses."""
        asked = request.preflight
        if asked is not None and asked.summed and not asked.private and not self._refused(answers):
            # Only now is it known over which stations the answer would be summed: ask again, so that each can compare this set with earlier ones.
            stations = {member: self.name(member) for member, reply in replies.items() if reply.has_data.value}
            again = replace(request, stations=stations)
            answers = self._ask("partial_open_channel", again, sorted(answers), TIMEOUT_SECONDS, False)
        said = {self.name(member): self._refusal(answers[member]) for member in sorted(answers)}
        if self._refused(answers):
            raise Checked(said)
        self.checked = said

    @staticmethod
    def _holders(preflight: Preflight | None, told: dict[int, list[str]]) -> dict[str, list[int]]:
        """Return, for each announced column, who names it, ascending."""
        columns = () if preflight is None else preflight.columns
        return {name: [member for member, names in sorted(told.items()) if name in names] for name in columns}

    def _make_manifest(self, parties: Parties, cards: dict[int, Any], preflight: Preflight | None) -> Manifest:
        try:
            manifest = Manifest(
                session=self.session,
                image=self._origin.image,
                algorithm=self._task.algorithm,
                function=self._task.function,
                arguments=self._task.digest,
                aggregator=self.organization,
                names={member: self.name(member) for member in parties.members},
                roles={member: parties.role(member) for member in parties.members},
                cards=cards,
                models=self._task.models,
                dictionary=dictionaries.digest(self.dictionary),
                announced=announced.digest(preflight),
                honest_fraction=self.honest_fraction,
                database=node_databases.asked(),
                minimum_count=self.minimum_count,
            )
        except ValueError as problem:
            raise MessageError(f"{problem}; the job stops") from None
        manifest.check_cards()
        marks = peers.marks_of(manifest, self.organization)
        peers.believe(self.policy, marks, peers.ids_of(manifest.names))
        return manifest

    @staticmethod
    def _refusal(answer: dict[str, Any]) -> str | None:
        return str(answer["error"][1]) if "error" in answer else None

    @staticmethod
    def _refused(answers: dict[int, Any]) -> dict[int, Any]:
        return {member: answer["error"] for member, answer in sorted(answers.items()) if "error" in answer}

    def _raise_refusals(self, answers: dict[int, Any], spent: str) -> None:
        """Raise one error for all refusals: of the first one's class, with every distinct message once, after the names of who sent it."""
        failures = self._refused(answers)
        if failures:
            saying: dict[str, list[str]] = {}
            for member, (_, text) in failures.items():
                saying.setdefault(text, []).append(self.name(member))
            words = "; ".join(f"{', '.join(names)}: {text}" for text, names in saying.items())
            if len(saying) > 1 and all(ABSENT in text for text in saying):
                words += (
                    "; where stations have other columns of the same people, see which methods take a vertical split"
                )
            raise rebuild(str(next(iter(failures.values()))[0]), words + spent)

    def _read(self, reply_type: type[M], answers: Mapping[int, Any]) -> dict[int, M]:
        """Return the replies of the last round, and note why their parts left the stations."""
        replies: dict[int, M] = {member: decode(reply_type, answers[member].get("reply")) for member in sorted(answers)}
        self._log.note_replies(replies, self._transport.spent)
        return replies

    @abstractmethod
    def _ask(
        self, function: str, request: Any, organizations: Sequence[int], timeout: float, last: bool
    ) -> dict[int, Any]:
        """Ask organizations in one round, and return organization -> what it answered or why it refuses."""

    def result(
        self,
        model: Any = None,
        privacy: dict[str, Any] | None = None,
        diagnostics: dict[str, Any] | None = None,
        **fields: Any,
    ) -> dict[str, Any]:
        """Return the task's result: model, privacy, federation, diagnostics, warnings, versions, provenance and further `fields`.

        The model is sealed if this node has a lasting key: stations then recognise it when it comes back as an argument. What is made of a
        model among the arguments, as by an update, is sealed if that one is.
        """
        plain, task = strict_json(model), self._task
        own = arrival.are_own(task.models, self.policy.folder(), self.organization, task.algorithm)
        seal = self._transport.seal_of(task.algorithm, plain) if own and isinstance(plain, dict) else None
        if seal is not None:
            plain = {**plain, "seal": encode(seal)}
        report = self.report()
        return dict(
            strict_json(
                {
                    **fields,
                    "model": plain,
                    "privacy": privacy,
                    "federation": report,
                    "diagnostics": diagnostics or {},
                    "warnings": [
                        *self.warnings,
                        *noise_warnings(self._task.algorithm, plain, privacy, self.warnings),
                    ],
                    "versions": versions(),
                    "provenance": provenance(
                        self._task.algorithm, self._task.function, self._task.arguments, report["organizations"]
                    ),
                }
            )
        )

    @property
    def minimum_count(self) -> int:
        """Smallest count of records that all stations of the task allow to be shown; a helper has no records."""
        return self.nodes.minimum_count

    def report(self) -> dict[str, Any]:
        """Return rounds, bytes, seconds, organizations, the nodes' roles and limits, and what each round carried."""
        transport, log = self._transport, self._log
        debits = {member: costs for member, costs in sorted(transport.spent.items()) if any(costs.values())}
        return {
            **log.totals(),
            "organizations": [self.name(member) for member in sorted(log.asked)],
            "aggregator": self.name(self.organization),
            "debits": {self.name(member): costs for member, costs in debits.items()},
            "nodes": self.nodes.named(self.name),
            "without_lasting_key": transport.without_lasting_key(log.asked),
            "per_round": log.entries,
        }
