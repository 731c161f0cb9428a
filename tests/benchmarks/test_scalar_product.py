"""Counts over 2 to 8 parties: seconds, bytes and rounds, beside the published protocol and mpyc's scalar product."""

import os
import re
import subprocess
import time
from pathlib import Path

import goals
import numpy as np
import pandas as pd
import pytest

from fedbayes.federation.embedded import EmbeddedFederation
from fedbayes.mpc import alignment, factors
from fedbayes.mpc import shared_products as products
from fedbayes.mpc.prg import expand
from scalar_product import thesis

pytestmark = pytest.mark.benchmark
PUBLISHED_SECONDS = {
    2: {100: 0.26, 100_000: 1.8, 1_000_000: 12.0},
    3: {100: 1.0, 100_000: 2.9, 1_000_000: 50.0},
    4: {100_000: 8.1},
}
"""Java implementation of the publication, measured in one process."""


def vectors_of(parties: int, rows: int) -> list[np.ndarray]:
    draw = np.random.default_rng(parties)
    return [(draw.random(rows) < 0.9).astype(np.uint32) for _ in range(parties)]


def tree_seconds(parties: int, rows: int) -> tuple[float, int, int]:
    """Return (seconds of all roles together, openings in bytes, answer) of a multiplication tree in this process."""
    vectors = vectors_of(parties, rows)
    members = list(range(1, parties + 1))
    keys = {member: bytes([member]) * 32 for member in members}
    began = time.perf_counter()
    known, openings, masks, moved = {}, {}, {member: {} for member in members}, 0
    for member, vector in zip(members, vectors, strict=True):
        known[f"{member}"] = factors.Factor(f"{member}", (member,), 1)
        openings[f"{member}"] = factors.open_values(vector[:, None], keys[member], known[f"{member}"])
        masks[member][f"{member}"] = factors.mask_part(keys[member], known[f"{member}"], rows)
        moved += openings[f"{member}"].nbytes
    whole = {name: masks[int(name)][name] for name in known}
    level = list(known)
    while True:
        sides = [products.DataSide(m, members, keys[m], known, openings, masks[m]) for m in members]
        helper = products.HelperSide(keys, known, whole)
        if len(level) <= 2:
            break
        merged = []
        for left, right in zip(level[::2], level[1::2], strict=False):
            new = factors.product_factor(f"{left}*{right}", known[left], known[right])
            pieces = [s.product_part(new, left, right) for s in sides if s.own in new.holders]
            pieces.append(helper.product_part(new, left, right))
            moved += sum(piece.nbytes for piece in pieces)
            known[new.name], openings[new.name] = new, sum(pieces[1:], pieces[0])
            for holder in new.holders:
                masks[holder][new.name] = factors.mask_part(keys[holder], new, rows)
            whole[new.name] = sum(masks[h][new.name] for h in new.holders[1:]) + masks[new.holders[0]][new.name]
            merged.append(new.name)
        level = [*merged, *(level[-1:] if len(level) % 2 else [])]
    shares = [side.answers([tuple(level)], "1") for side in sides] + [helper.answers([tuple(level)], "1")]
    answer = int(products.split_answers(sum(shares[1:], shares[0]), [tuple(level)], known)[0].reshape(-1)[0])
    assert answer == int(np.prod(vectors, axis=0).sum())
    return time.perf_counter() - began, moved, answer


def test_all_roles_in_one_process_for_two_to_eight_parties() -> None:
    for rows in (1_000, 100_000, 1_000_000):
        for parties in range(2, 9):
            seconds, moved, _ = tree_seconds(parties, rows)
            published = PUBLISHED_SECONDS.get(parties, {}).get(rows)
            print(f"n={parties} rows={rows:>8}: {seconds:7.3f} s {moved / 1e6:8.1f} MB  published {published or '-'} s")
    assert seconds / 60.0 < 1.0


def test_published_protocol_explodes_and_ours_does_not() -> None:
    ratios = []
    for parties in (2, 3, 4, 5):
        vectors = vectors_of(parties, 1_000)
        began = time.perf_counter()
        count = iter(range(10**9))
        _, transcript = thesis.n_party(
            vectors, lambda rows, name, count=count: expand(bytes(32), f"{name}{next(count)}", rows, np.uint32)
        )
        published = time.perf_counter() - began
        ours, _, _ = tree_seconds(parties, 1_000)
        ratios.append(published / ours)
        print(f"n={parties}: {transcript.protocols} runs {published:.3f} s, ours {ours:.3f} s")
    assert ratios[-1] > ratios[0]


@pytest.mark.parametrize("helped", [True, False], ids=["with a helper", "without one"])
def test_eight_stations_and_a_hundred_thousand_people(helped: bool) -> None:
    people, parties = 100_000, {}
    flags = vectors_of(8, people)
    for number, flag in enumerate(flags):
        order = np.random.default_rng(number).permutation(people)
        parties[f"station{number}"] = pd.DataFrame({"id": order, f"flag{number}": flag[order]})
    conditions = [{"column": f"flag{number}", "op": "==", "value": 1} for number in range(8)]
    asked = {"conditions": conditions if helped else conditions[:2], "id_column": "id"}
    before = goals.spent()
    with EmbeddedFederation(parties, helpers=["helper"] if helped else []) as federation:
        result = federation.run("scalar_product", "count", {**asked, **({} if helped else {"helper": "none"})})
    report = result["federation"]
    print(f"8 stations: {report['seconds']:.1f} s, {report['rounds']} rounds, {report['bytes'] / 1e6:.0f} MB")
    assert result["model"]["count"] == int(np.prod(flags if helped else flags[:2], axis=0).sum())
    assert report["rounds"] <= 6
    computing = goals.spent() - before
    assert computing < 15.0
    counted = f"a count over {8 if helped else 2}, {report['rounds']} rounds"
    passed = f"{report['seconds']:.0f} s passed at a load of {os.getloadavg()[0]:.0f}"
    goals.note("matching" if helped else "matching_alone", computing, note=f"{counted}; {passed}")


def test_a_million_identifiers_are_aligned() -> None:
    names = [f"person-{number:07d}" for number in range(1_000_000)]
    began = time.perf_counter()
    alignment.check_identifiers(names)
    own = alignment.under_key(alignment.digests(names), bytes(32))
    places = alignment.intersect([1, 2], {(1, 2): own, (2, 1): own[::-1].copy()})
    seconds = time.perf_counter() - began
    print(f"a million identifiers hashed and matched: {seconds:.1f} s")
    assert np.array_equal(places[2], np.arange(len(names))[::-1])
    assert seconds / 20.0 < 2.0


MPYC = """
import sys, time
import numpy as np
from mpyc.runtime import mpc
rows = int(sys.argv[1])
field = mpc.SecFld(2**31 - 1)
async def main():
    await mpc.start()
    values = [mpc.input(field.array(np.ones(rows, dtype=object)), senders=s) for s in range(2)]
    began = time.perf_counter()
    total = await mpc.output(mpc.np_sum(mpc.np_multiply(*values)))
    if mpc.pid == 0:
        print("seconds", time.perf_counter() - began, int(total), flush=True)
    await mpc.shutdown()
mpc.run(main())
"""


@pytest.mark.skipif("FEDBAYES_PEERS" not in os.environ, reason="FEDBAYES_PEERS names no Python with mpyc")
def test_beside_mpyc(tmp_path: Path) -> None:
    script = tmp_path / "product.py"
    script.write_text(MPYC)
    for rows in (10_000, 100_000):
        command = [os.environ["FEDBAYES_PEERS"], str(script), "-M3", str(rows)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        told = re.search(r"seconds (\S+) (\d+)", done.stdout)
        assert told is not None, done.stderr[-500:]
        assert int(told[2]) == rows
        ours, _, _ = tree_seconds(2, rows)
        print(f"mpyc, 3 parties, {rows} rows: {float(told[1]):.3f} s; ours, 2 parties and a helper: {ours:.4f} s")
        assert ours < float(told[1])
    goals.note(
        "product",
        ours / float(told[1]),
        note=f"{ours:.4f} s and {float(told[1]):.2f} s, 2 parties and a helper in one process",
    )
