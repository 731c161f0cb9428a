"""Who received what: the method's own statement of each role, and the organizations that played it."""

from __future__ import annotations

from typing import Any

from ...federation.results import ROLES
from .facts import Facts, listed

ABSENT = {
    "helper": "no organization without data took part",
    "label_holder": "the method states nothing for the holder of the label or outcome beyond what every station learns",
    "group_leaders": "no stations formed groups with a leader",
    "everyone": "the method states nothing that all of them learn beyond what stands at their roles",
    "assumption": "no assumption beyond those of the threat model: stations, central and helper follow the protocol, and the helper colludes with nobody",
}
RESULT = "the result of the task, as it stands in its file, and nothing else"
HONEST = "the stated fraction of the stations (honest_fraction, 0.8 unless the task says otherwise) adds its share of the noise and keeps it secret"
OPENED = "nothing but the opening of the channel: it was asked in no other round"
UNSTATED = "the method's statement names nothing for this role: no more than the requests of the rounds that it was asked in, which are listed with the rounds"
SERVER = "sizes, times and names of functions of every message, and the first round, which is public; contents are sealed from the second round on"
ADMINISTRATOR = "what its own organization's stations, central or helper learn, taken together: the node's containers are under its hands"


def recipients(facts: Facts) -> list[dict[str, Any]]:
    """Return one entry a role: who played it, what it received, and where that is stated."""
    entries = [_entry(facts, role) for role in ROLES if role != "assumption"]
    return [*entries, _platform("vantage6 server and network", SERVER), _platform("node administrators", ADMINISTRATOR)]


def assumption(facts: Facts) -> str:
    """Return what the statement rests on."""
    stated = facts.reveals.get("assumption", ABSENT["assumption"])
    if facts.private and "share" in str(facts.privacy.get("mechanism")).lower():
        return f"{stated}; {HONEST}"
    return stated


def _platform(role: str, received: str) -> dict[str, Any]:
    return {"role": role, "who": "the platform" if "server" in role else "of each organization", "took_part": True} | {
        "received": received,
        "stated_by": "the threat model, the same for all methods",
    }


def _entry(facts: Facts, role: str) -> dict[str, Any]:
    received_text = facts.reveals.get(role)
    who = _who(facts, role)
    took_part = bool(received_text) or role in ("researcher", "central", "stations") or (role == "helper" and bool(who))
    if received_text is not None:
        received, stated = received_text, "the method, in the result's privacy.reveals"
    elif role == "researcher":
        received, stated = RESULT, "the platform: a researcher receives the result alone"
    elif who and facts.only_opened(who):
        received, stated = OPENED, "the rounds that ran"
    elif role in ABSENT and not who:
        received, stated = f"nothing: {ABSENT[role]}", "the result"
    else:
        received, stated = UNSTATED, "nobody; see the rounds"
    return {
        "role": role,
        "who": listed(who) if who else _anybody(role),
        "took_part": took_part,
        "received": received,
        "stated_by": stated,
    }


def _who(facts: Facts, role: str) -> list[str]:
    if role == "central":
        return [facts.central]
    if role == "stations":
        return facts.with_role("station")
    return facts.with_role("helper") if role == "helper" else []


def _anybody(role: str) -> str:
    return {
        "researcher": "whoever submitted the task, and whom they show the result",
        "stations": "organizations with data; the result does not name them",
        "helper": "nobody",
        "label_holder": "the station with the label or outcome, where the method has one",
        "group_leaders": "one station of each group, where the method has groups",
        "everyone": "all organizations that took part",
    }[role]
