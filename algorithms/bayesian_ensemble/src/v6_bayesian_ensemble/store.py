"""Members that stay at their station: files in the node's ledger folder, which outlives a job."""

from __future__ import annotations

import json
from dataclasses import replace

from fedbayes.federation import Station
from fedbayes.federation.errors import DataProblem, MessageError, PolicyError
from fedbayes.federation.node.secrets import once
from fedbayes.federation.tables import node_databases
from fedbayes.randomness import secret_bytes

from .ensemble import Member

PREFIX = "fedbayes-member-"
ID_LENGTH = 32  # hexadecimal digits: 128 random bits


def hidden(station: Station, member: Member) -> Member:
    """Keep a member's network at this station and return the member without it, with the id to find it by.

    Raises
    ------
    PolicyError
        The node has no ledger folder, so nothing outlives the job.
    """
    if station.policy.ledger is None:
        raise PolicyError(
            "secret members need a folder that outlives the job; ask the node administrator to set FEDBAYES_LEDGER, or fit with secret=false"
        )
    name = secret_bytes(ID_LENGTH // 2).hex()
    folder = node_databases.folder_database(station.policy.ledger)
    once(folder / f"{PREFIX}{name}.json", json.dumps(replace(member, secret_id=name).to_json()).encode())
    return replace(member, network=None, cuts={}, secret_id=name)


def recalled(station: Station, member: Member) -> Member:
    """Return the member itself, or what this station keeps of it, under the weight of this job.

    Raises
    ------
    DataProblem
        The station does not keep it.
    """
    if member.network is not None:
        return member
    name = member.secret_id
    if len(name) != ID_LENGTH or not set(name) <= set("0123456789abcdef"):
        raise MessageError("the id of a secret member is malformed")
    if station.policy.ledger is None:
        raise PolicyError("this node keeps no secret members: it has no ledger folder")
    path = node_databases.folder_database(station.policy.ledger) / f"{PREFIX}{name}.json"
    try:
        kept = Member.from_json(json.loads(path.read_bytes()))
    except (OSError, ValueError, KeyError, TypeError):
        raise DataProblem("this station does not keep the secret member of the model; fit again") from None
    return replace(kept, weight=member.weight)
