"""A server whose database was reset gives new jobs the numbers of old ones, and nodes may still have the folders of these."""

import pytest
from one_process import OneProcess

from fedbayes.dp.ledger import Ledger
from fedbayes.federation.errors import MessageError, ThresholdError
from fedbayes.federation.guards.member import Member
from fedbayes.federation.node import platform
from fedbayes.federation.node.memory import Memory
from fedbayes.federation.node.platform import Origin, Run

ORIGIN = Origin(7, 21, "registry.example/algorithms/dp_naive_bayes", 1, "")
OLD, NEW = "2026-01-01T10:00:00.000001", "2026-06-01T10:00:00.000001"


@pytest.fixture
def node(tmp_path, monkeypatch):
    """Return a function that gives the memory of job 7 at a station, as of a central task that was made then."""

    def memory(created: str, opens: bool = True) -> Memory:
        monkeypatch.setattr(
            platform, "confirmed", lambda one: Origin(one.job, one.parent, one.image, one.organization, created)
        )
        made = Memory(Run(2, 22, tmp_path, False), ORIGIN)
        if opens:
            made.confirm(ORIGIN)
        return made

    monkeypatch.setattr(platform, "is_running", lambda _: True)
    return memory


def left_by(memory: Memory) -> tuple[str, bytes, str]:
    """Return what a job has: its session, its key, and the name of its debits."""
    return memory.session, memory.keys().public_bytes, memory.once("nonce", memory.session.encode()).decode()


def test_a_job_with_the_numbers_of_an_old_one_begins_anew(node, tmp_path):
    before = left_by(node(OLD))
    node(OLD).record("question", b"key", {"reply": 1}, also="signature")
    after = node(NEW)
    assert after.recorded("question", b"key") is None
    assert all(one != other for one, other in zip(before, left_by(after), strict=True))
    ledger = Ledger(tmp_path / "ledger.sqlite3", epsilon=1.5)
    debits = [
        ledger.charge((nonce, "2:partial", "digest"), 0.5, 0.0, "the same question")
        for nonce in (before[2], left_by(after)[2])
    ]
    assert debits == [True, True]


def test_control_the_same_job_goes_on(node):
    before = left_by(node(OLD))
    node(OLD).record("question", b"key", {"reply": 1}, also="signature")
    assert left_by(node(OLD)) == before
    assert node(OLD).recorded("question", b"key") == {"reply": 1}


def test_a_round_that_does_not_open_the_job_finds_the_old_one_over(node):
    node(OLD).wipe()
    with pytest.raises(MessageError, match="over"):
        node(NEW, opens=False).keys()


def ask(folder, organizations, before=(), alone="c"):
    """Return of how many records a task tells, on a server whose numbers of its organizations come after those of others; `alone` has no folder."""
    names = (*before, "a", "b", alone, "d")
    parties = {name: {"default": folder / f"{name}.csv", "vault": folder / name} for name in names}
    del parties[alone]["vault"]
    policies = {name: {"ledger": "vault", "allow_differences": False} for name in parties if name != alone}
    for name, paths in parties.items():
        paths["default"].write_text("\n".join(["ill", *["no", "yes"] * 30, name]))
        if name != alone:
            paths["vault"].mkdir(exist_ok=True)
    with OneProcess(parties, policies=policies) as federation:
        asked = {"domain": {"ill": {"categories": ["no", "yes"]}}, "organizations": list(organizations)}
        return federation.run("dp_naive_bayes", "describe", asked)["model"]["columns"]["ill"]["records"]


OTHERS = ("w", "x", "y", "z")


def test_what_was_answered_is_remembered_whatever_numbers_a_server_gives(tmp_path):
    """A server that gives organizations other numbers, or a second one: the difference of the two tasks is d's table."""
    assert ask(tmp_path, "abcd") == 244
    with pytest.raises(ThresholdError, match="fewer organizations"):
        ask(tmp_path, "abc", before=OTHERS)


def test_and_whatever_it_calls_one_without_a_lasting_key(tmp_path):
    assert ask(tmp_path, "abcd") == 244
    with pytest.raises(ThresholdError, match="fewer organizations"):
        ask(tmp_path, ["a", "b", "another"], alone="another")


@pytest.mark.parametrize("name", ["", "itself", "peer a"])
def test_no_name_stands_for_the_node_itself(name):
    """Else two sets of organizations would be taken for one."""
    member = object.__new__(Member)
    member.organization = 1
    names = {1: "a", 2: name, 3: "b"}
    assert all(len(naming) == len(names) for naming in member.namings(names, names))


@pytest.mark.parametrize(
    ("kind", "second"),
    [
        (0, {"organizations": ["a", "b", "another"], "alone": "another"}),
        (1, {"organizations": "abc", "before": OTHERS}),
    ],
    ids=["by names alone", "by numbers alone"],
)
def test_control_by_one_of_both_it_is_not(tmp_path, monkeypatch, kind, second):
    both = Member.namings
    monkeypatch.setattr(Member, "namings", lambda *given: [both(*given)[kind]])
    assert ask(tmp_path, "abcd") - ask(tmp_path, **second) > 60
