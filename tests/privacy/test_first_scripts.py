"""The first attack scripts (docs/attacks.md), each ported to today's interface: it takes nothing, and what its row says where its guard is patched out.

Scripts whose port is a test elsewhere have none here; the page names it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from first_scripts_kit import BELIEVED, Middle, Refused, Researcher, believed, forging, unlooked
from harness.inprocess import InProcess
from mock_kit import mock_client
from one_process import OneProcess
from party_kit import with_folders

from fedbayes.federation.errors import (
    AlgorithmError,
    MessageError,
    PolicyError,
    ThresholdError,
)
from fedbayes.federation.guards.member import Member
from fedbayes.federation.horizontal import Columns
from fedbayes.federation.messages.codec import decode
from fedbayes.federation.perimeter import peers
from fedbayes.federation.perimeter.manifest import digest_of
from fedbayes.federation.perimeter.opening import Preflight
from fedbayes.federation.questions.factor_info import Wanted
from fedbayes.federation.remote import looking
from fedbayes.federation.rounds import Federation
from fedbayes.federation.vertical import partials, workspace
from fedbayes.federation.vertical.ciphers import decipher
from fedbayes.federation.vertical.messages import Setup, SubmitReply, SubmitRequest
from fedbayes.federation.vertical.replication import HASHES, PAIR
from fedbayes.federation.vertical.workspace import PURPOSE, Workspace, factor
from fedbayes.mpc import alignment, factors
from fedbayes.mpc.relay import SigningPair, fingerprint
from fedbayes.randomness import secret_bytes
from v6_secure_naive_bayes import partial
from v6_secure_naive_bayes.messages import FeaturesRequest, TablesReply, TablesRequest

ROWS = 40
DOMAIN = {"y": {"categories": ["n", "p"]}, "f": {"categories": ["a", "b", "c"]}}
FIT = {"label": "y", "domain": DOMAIN}


def people() -> pd.DataFrame:
    draw = np.random.default_rng(1)
    columns = {"hiv": draw.integers(0, 2, ROWS), "income": draw.integers(10, 90, ROWS)}
    return pd.DataFrame({"id": [f"p{row:03d}" for row in range(ROWS)], **columns})


def linked() -> InProcess:
    """Return a federation of three stations with columns of the same records and a helper."""
    table = people()
    others = {name: table[["id"]].assign(**{name: np.arange(ROWS) % 2}) for name in "bc"}
    files = {name: str(one.to_csv(index=False)) for name, one in {"a": table, **others}.items()}
    return InProcess("v6_scalar_product", {**files, "h": None}, {}, "b")


def labelled(rows: int = 60) -> dict[str, pd.DataFrame]:
    """Return tables of three stations with rows of their own."""
    draw = np.random.default_rng(5)
    return {
        name: pd.DataFrame({"y": draw.choice(["n", "p"], rows), "f": draw.choice(list("abc"), rows)}) for name in "abc"
    }


def table_of(*parts: pd.DataFrame) -> list[list[int]]:
    """Return how many records each class has of each state."""
    return [[int(sum(((one.y == y) & (one.f == f)).sum() for one in parts)) for f in "abc"] for y in "np"]


# -- poc1_rogue: a researcher's own tasks ----------------------------------------------------------------------------------

SETUP = Setup(4, [1, 2, 3], "id", False, {}, "quantile", False, guarded=True)
ANNOUNCED = Preflight(columns=("hiv", "income"), linked_by="id", functions=("partial_submit",), queries=9)


def records_taken(played: Researcher) -> dict[str, tuple[float, float]]:
    """Have columns opened to stations and masks dealt by a helper that the researcher plays; return who has what."""
    played.open(ANNOUNCED)
    wanted = [Wanted("values", ["hiv"]), Wanted("values", ["income"])]
    told: SubmitReply = decode(SubmitReply, played.ask("partial_submit", SubmitRequest(SETUP, wanted, 64)))
    station, helper = played.channel(2), played.channel(4)
    key = helper.mask_key(1, f"{PURPOSE}|{digest_of(SETUP)}")
    numbers = {}
    opened = np.frombuffer(opened_of(played, told), "<u8").reshape(-1, ROWS)
    for row, info in enumerate(told.factors.value):
        plain = (opened[row] + factors.mask_part(key, factor(info), ROWS, np.uint64)[:, 0]).astype(np.int64)
        if info.name in told.scales.value:
            power, bits, _ = told.scales.value[info.name]
            numbers[info.columns[0]] = np.ldexp(plain.astype(float), power - bits)
    hashes = np.frombuffer(helper.unseal(1, told.hashes[4].content, HASHES), "<u8")
    guesses = [f"p{row:03d}" for row in range(1000)]
    hashed = alignment.under_key(alignment.digests(guesses), station.mask_key(1, f"{PAIR}|{digest_of(SETUP)}"))
    known = dict(zip(hashed.tolist(), guesses, strict=True))
    whose = [known[one] for one in hashes[:ROWS].tolist()]
    return dict(zip(whose, zip(numbers["hiv"], numbers["income"], strict=True), strict=True))


def opened_of(played: Researcher, told: SubmitReply) -> bytes:
    topic = f"{played.session}|openings|1|0"
    letter = played.channel(2).unseal(1, told.parcel.keys[2].content, topic)
    return decipher(letter, told.parcel.content.value, topic)


@pytest.mark.parametrize("session", ["", "/../../../x", "..", "ab" * 16, "\x00", "1", "JOB-1"])
def test_poc1_rogue(session: str) -> None:
    with linked() as running:
        played = Researcher(running, 1, 4, session)
        with pytest.raises(PolicyError, match="answers only the central function"):
            records_taken(played)
        assert not [path for path in Path(running._folder.name).glob("job-*/1/fedbayes-*")]


@pytest.mark.parametrize("given", [{"mock_client": {"organization_id": 1}}, {"mock_data": [[1]]}, {"parent": 1}])
def test_poc1_rogue_by_other_arguments(given: dict[str, Any]) -> None:
    with linked() as running, pytest.raises((AlgorithmError, TypeError)):
        Researcher(running, 1, 4).task("partial_open_channel", {}, **given)


def test_control_poc1_rogue() -> None:
    """Stations that do not ask whose task it is tell everything, with identifiers."""
    table = people()
    with linked() as running, believed(2):
        taken = records_taken(Researcher(running, 1, 4))
    assert taken == dict(zip(table["id"], zip(table["hiv"], table["income"], strict=True), strict=True))
    assert not BELIEVED


@pytest.mark.parametrize("session", ["/../../../x", "ab" * 16])
def test_poc1_rogue_has_no_session_of_its_own_even_so(session: str) -> None:
    with linked() as running, believed(2), pytest.raises(Refused, match="another job"):
        records_taken(Researcher(running, 1, 4, session))


# -- poc14_direct: one station alone ---------------------------------------------------------------------------------------


def direct(played: Researcher, epsilon: float = 0.0) -> Any:
    """Ask one station, among itself alone, for its own table."""
    asked = TablesRequest(Columns("y", ["f"], DOMAIN), {}, epsilon, False, True, whole=epsilon)
    preflight = Preflight(columns=("y", "f"), functions=("partial_features", "partial_tables"), queries=9)
    played.open(preflight, [played.victim])
    played.ask("partial_features", FeaturesRequest(["y", "f"]))
    return decode(TablesReply, played.ask("partial_tables", asked)).tables.value


def hospitals(**limits: Any) -> InProcess:
    files = {name: str(one.to_csv(index=False)) for name, one in labelled().items()}
    return InProcess("v6_secure_naive_bayes", files, dict.fromkeys(files, limits), "b")


def test_poc14_direct() -> None:
    with hospitals(minimum_organizations=3) as running, pytest.raises(PolicyError, match="answers only the central"):
        direct(Researcher(running, 1))
    client = mock_client("secure_naive_bayes", list(labelled().values()))
    with pytest.raises(PolicyError, match="answers only the central"):
        client.task.create(input_={"method": "partial_tables", "kwargs": {"message": {}}}, organizations=[1])


def test_poc14_direct_counts_organizations_even_so() -> None:
    with (
        hospitals(minimum_organizations=3) as running,
        believed(2),
        pytest.raises(Refused, match="minimum_organizations=3"),
    ):
        direct(Researcher(running, 1))


def test_control_poc14_direct() -> None:
    with (
        hospitals(minimum_organizations=3) as running,
        believed(2),
        mock.patch.object(Member, "require_members", lambda member: member.manifest),
        mock.patch.object(partial, "_check_organizations"),
    ):
        taken = direct(Researcher(running, 1))
    assert taken.reshape(2, -1)[:, :3].tolist() == table_of(labelled()["a"])


def described_alone(asked: tuple[int, ...], remembers: bool, folder: Path, members: str = "abc") -> Any:
    """Have central, at the second station, ask others than all to describe their columns; return the columns of the result, by name."""
    honest = Federation._ask

    def ask(self: Federation, function: str, request: Any, organizations: Any, *rest: Any) -> Any:
        return honest(self, function, request, asked if function == "partial_describe" else organizations, *rest)

    parties = with_folders({name: labelled()[name] for name in members}, folder)
    limits = {name: {"ledger": "vault", "allow_differences": not remembers} for name in parties}
    with (
        OneProcess(parties, ["h", "i"], limits, aggregator="b") as running,
        mock.patch.object(Federation, "_ask", ask),
    ):
        return running.run("dp_naive_bayes", "describe", {"domain": DOMAIN})


@pytest.mark.parametrize("remembers", [True, False])
@pytest.mark.parametrize("asked", [(1, 4, 5), (1, 4), (2, 4, 5), (1, 2, 4), (1, 2, 4, 5)])
def test_poc14_direct_by_masks_of_helpers(asked: tuple[int, ...], remembers: bool, tmp_path: Path) -> None:
    """Organizations without data mask too: beside them one station's exact counts are the sum, or those of the other of two."""
    with pytest.raises(MessageError, match="is not asked"):
        described_alone(asked, remembers, tmp_path)
    with (
        mock.patch.object(looking, "_check_holders"),
        pytest.raises(ThresholdError, match=r"alone holds data|rows of fewer organizations"),
    ):
        described_alone(asked, remembers, tmp_path / "unchecked")


def test_poc14_direct_by_masks_of_helpers_beside_two_stations(tmp_path: Path) -> None:
    with pytest.raises(ThresholdError, match="rows of fewer organizations"):
        described_alone((1, 2, 3, 4), False, tmp_path, "ab")


@pytest.mark.parametrize(("asked", "taken"), [((1, 4, 5), "a"), ((1, 2, 4), "ab")])
def test_control_poc14_direct_by_masks_of_helpers(asked: tuple[int, ...], taken: str, tmp_path: Path) -> None:
    unguarded = mock.patch.object(Member, "summed_over", lambda member, whole=False: frozenset(member.participants))
    with unguarded, mock.patch.object(looking, "_check_holders"):
        told = described_alone(asked, False, tmp_path)
    counts = told["model"]["columns"]["f"]["categories"]["counts"]
    assert counts == np.sum([table_of(labelled()[name]) for name in taken], axis=(0, 1)).tolist()


# -- poc2_pins: an organization plays the others ---------------------------------------------------------------------------

FORGED = ("its own lasting key", "the true one", "a new one", "none", "exchanged")


def played_by_the_first(manner: str, pins: bool, folder: Path) -> tuple[list[Any], str]:
    """Return the second station's table, if it is taken, and the error in which the job ends."""
    parties = with_folders(labelled(), folder)
    marks = {name: fingerprint(peers.identity(one["vault"]).public_bytes) for name, one in parties.items()}
    limits: dict[str, Any] = {"ledger": "vault"} | ({"pinned_keys": marks} if pins else {})
    with OneProcess(parties, policies={"*": limits}, aggregator="a") as running:
        if not pins:
            running.run("dp_naive_bayes", "fit", {**FIT, "noise": "none"})
        with forging(manner) as taken, pytest.raises(AlgorithmError) as ended:
            running.run("dp_naive_bayes", "fit", {**FIT, "noise": "none"})
    return [told.reshape(2, -1)[:, :3].tolist() for told in taken], str(ended.value)


@pytest.mark.parametrize("pins", [True, False])
@pytest.mark.parametrize("manner", FORGED)
def test_poc2_pins(manner: str, pins: bool, tmp_path: Path) -> None:
    taken, told = played_by_the_first(manner, pins, tmp_path)
    assert taken == []
    assert "b: " in told


def test_control_poc2_pins(tmp_path: Path) -> None:
    with unlooked():
        assert played_by_the_first(FORGED[0], True, tmp_path)[0] == [table_of(labelled()["b"])]


# -- poc7_server: a server in the middle -----------------------------------------------------------------------------------


@contextmanager
def middle(signer: SigningPair | None = None, cards: bool = False) -> Iterator[list[Middle]]:
    """Have the server put itself between central and the stations of jobs."""
    made, honest = list[Middle](), InProcess.create

    def create(self: InProcess, *asked: Any) -> Any:
        if not made or made[-1].running is not self:
            made.append(Middle(self, honest.__get__(self), signer, cards))
        return made[-1].create(*asked)

    with mock.patch.object(InProcess, "create", create):
        yield made


def asked_through(folder: Path, limits: dict[str, Any], met: bool, *how: Any) -> tuple[Any, Any]:
    """Return the result of a private fit through such a server, and the exact table that it took."""
    parties = with_folders(labelled(), folder)
    if limits.pop("pins", False):
        marks = {name: fingerprint(peers.identity(one["vault"]).public_bytes) for name, one in parties.items()}
        limits = {**limits, "pinned_keys": marks}
    with OneProcess(parties, policies={"*": limits}, aggregator="a") as running:
        if met:
            running.run("dp_naive_bayes", "fit", {**FIT, "epsilon": 0.05})
        with middle(*how) as made:
            result = running.run("dp_naive_bayes", "fit", {**FIT, "epsilon": 0.05})
    return result, made[-1].exact.view(np.int64).reshape(2, -1)[:, :3].tolist()


@pytest.mark.parametrize("cards", [True, False], ids=["whole", "apart"])
@pytest.mark.parametrize("lasting", [True, False], ids=["with a lasting key", "without"])
@pytest.mark.parametrize("keys", ["known", "pinned"])
def test_poc7_server(keys: str, lasting: bool, cards: bool, tmp_path: Path) -> None:
    """`whole`: it puts a card of its own in the place of central's station too."""
    limits = {"ledger": "vault", "pins": keys == "pinned"}
    signer = SigningPair.from_bytes(secret_bytes(32)) if lasting else None
    with pytest.raises((PolicyError, MessageError), match=r"lasting key|not signed by"):
        asked_through(tmp_path, limits, keys == "known", signer, cards)


def test_control_poc7_server(tmp_path: Path) -> None:
    """Nodes without a folder database believe the server, as the threat model says: the exact table, of which the result says .05."""
    result, taken = asked_through(tmp_path, {}, True)
    assert taken == table_of(*labelled().values())
    assert result["privacy"]["differentially_private"] is True
    assert result["privacy"]["epsilon"] == 0.05


# -- poc11_stage: two contents under one mask ------------------------------------------------------------------------------

CUT = replace(SETUP, bins={"income": [30.0]})
OTHERWISE: dict[str, tuple[Setup, int]] = {
    "bins": (replace(CUT, bins={"income": [60.0]}), 32),
    "domain": (replace(CUT, domain={"income": {"bounds": [0, 60]}}), 32),
    "a missing state": (replace(CUT, missing_state=True), 32),
    "no guard": (replace(CUT, private=True, guarded=False, domain={"income": {"bounds": [0, 60]}}), 32),
    "another helper": (replace(CUT, helper=3, stations=[1, 2, 4]), 32),
    "no helper": (replace(CUT, helper=0), 32),
    "another order": (replace(CUT, stations=[1, 3, 2]), 32),
    "a union": (replace(CUT, union=True), 32),
    "another ring": (CUT, 16),
    "the same": (CUT, 32),
}


def opened_twice(played: Researcher, setup: Setup, bits: int) -> np.ndarray:
    """Return by what two openings of one column differ, in the victim's own secret order of rows."""
    played.open(replace(ANNOUNCED, columns=("income",)))
    found = []
    for one, ring in ((CUT, 32), (setup, bits)):
        told = decode(
            SubmitReply, played.ask("partial_submit", SubmitRequest(one, [Wanted("states", ["income"])], ring))
        )
        found.append(np.frombuffer(opened_of(played, told), f"<u{ring // 8}"))
    return (found[1] - found[0]).astype(np.int32)


@pytest.mark.parametrize("changed", OTHERWISE)
def test_poc11_stage(changed: str) -> None:
    """The researcher is believed here: it is a central that deviates, at a station that gets the openings."""
    with linked() as running, believed(2), pytest.raises(Refused, match="before; start the job again"):
        opened_twice(Researcher(running, 1, 4), *OTHERWISE[changed])


@pytest.mark.parametrize("masks", ["one", "of each setup"])
def test_control_poc11_stage(masks: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked twice under one mask, the difference is who lies between the points; other bins have other masks, though."""
    for module in (workspace, partials):
        monkeypatch.setattr(module, "asked_once", lambda *_: None)
    monkeypatch.setattr(workspace, "opened_once", lambda *_: None)
    if masks == "one":
        monkeypatch.setattr(Workspace, "_setup_digest", "")
    with linked() as running, believed(2):
        taken = opened_twice(Researcher(running, 1, 4), *OTHERWISE["bins"])
    between = int(people()["income"].between(30, 60, inclusive="left").sum())
    assert bool(np.isin(taken, (0, 1)).all() and taken.sum() == between) is (masks == "one")
