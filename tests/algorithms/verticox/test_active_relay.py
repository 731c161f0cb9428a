"""Central relays the openings: where it tells two stations different things they reveal nothing, where it changes a sum alike for all one of them sees it.

Central is here at the first station, and the second is the one that sees it (`agreed.verifier`).
"""

from dataclasses import replace

import numpy as np
import pytest
from cox_kit import fit_three_stations

from fedbayes.federation.errors import MessageError
from fedbayes.federation.rounds import Federation
from fedbayes.mpc.wide import Wide
from v6_verticox.rounds import stages, surface
from v6_verticox.stations import openings


def lie_to(monkeypatch, member, change, at):
    """Have central change what it tells one station in its `at`-th round of openings; return the rounds of openings that were asked."""
    honest, asked = Federation.round, []

    def round_(self, function, request, organizations, reply_type, **options):
        if function == "partial_stage":
            asked.append(reply_type)
            if len(asked) == at:
                told = dict(request)
                told[member] = change(told[member])
                request = told
        return honest(self, function, request, organizations, reply_type, **options)

    monkeypatch.setattr(Federation, "round", round_)
    return asked


def one_bit(request):
    name, opening = next(iter(sorted(request.openings.sums.items())))
    changed = opening.copy()
    changed.reshape(-1)[0] ^= 1
    return replace(request, openings=replace(request.openings, sums={**request.openings.sums, name: changed}))


def one_bit_for_all(monkeypatch, at):
    """Have central change the lowest bit that is left of one opening alike for all, in its `at`-th round that opens something."""
    honest, rounds = stages._added_up, []

    def added_up(replies):
        whole = honest(replies)
        if whole.sums:
            rounds.append(whole.sums)
        if whole.sums and len(rounds) == at:
            name = min(whole.sums)
            form = stages.forms(surface_layout[0], [name])[name]
            total = whole.sums[name]
            flat = total.reshape(-1, total.shape[-1]).copy()
            number = int.from_bytes(flat[0].tobytes(), "little") + 2**form.dropped
            flat[0] = np.frombuffer(number.to_bytes(flat.shape[1], "little"), dtype=np.uint8)
            whole = replace(whole, sums={**whole.sums, name: flat.reshape(total.shape)})
        return whole

    surface_layout, prepare = [], surface.FederatedSurface.__init__

    def prepared(self, *given):
        prepare(self, *given)
        surface_layout.append(self._layout)

    monkeypatch.setattr(surface.FederatedSurface, "__init__", prepared)
    monkeypatch.setattr(stages, "_added_up", added_up)
    return rounds


def other_stage(request):
    stage, *others = request.stages
    first, second = stage.coefficients
    return replace(request, stages=[replace(stage, coefficients=(first + 128, second)), *others])


def test_without_a_lie_the_fit_ends(monkeypatch):
    asked = lie_to(monkeypatch, 2, lambda request: request, 3)
    assert len(fit_three_stations()["model"]["coefficients"]) == 3
    assert len(asked) > 10


@pytest.mark.parametrize(
    ("member", "change", "at"), [(1, one_bit, 2), (3, one_bit, 3), (3, one_bit, 6), (2, other_stage, 6)]
)
def test_different_openings_reveal_nothing(monkeypatch, member, change, at):
    asked = lie_to(monkeypatch, member, change, at)
    with pytest.raises(MessageError, match="were not told the same"):
        fit_three_stations()
    assert len(asked) >= at


@pytest.mark.parametrize("at", [2, 3, 6])
def test_the_station_that_gets_whole_sums_sees_a_change_of_its_own(monkeypatch, at):
    lie_to(monkeypatch, 2, one_bit, at)
    with pytest.raises(MessageError, match="not the sum of what the stations sent"):
        fit_three_stations()


@pytest.mark.parametrize("at", [1, 3, 4, 7])
def test_an_opening_that_is_changed_alike_for_all_ends_the_job(monkeypatch, at):
    rounds = one_bit_for_all(monkeypatch, at)
    with pytest.raises(MessageError, match="not the sum of what the stations sent"):
        fit_three_stations()
    assert len(rounds) == at


@pytest.mark.audit
def test_control_without_checksums_it_is_not_noticed(monkeypatch):
    monkeypatch.setattr(openings, "is_sum", lambda *_: True)
    rounds = one_bit_for_all(monkeypatch, 3)
    assert len(fit_three_stations()["model"]["coefficients"]) == 3
    assert len(rounds) > 10


@pytest.mark.parametrize("way", ["none", "one left out", "two exchanged", "those of the stage before"])
def test_other_checksums_are_refused(monkeypatch, way):
    honest, before = stages._added_up, []

    def added_up(replies):
        whole = honest(replies)
        before.append(whole.checksums)
        found = {
            "none": [],
            "one left out": whole.checksums[:-1],
            "two exchanged": [whole.checksums[0]] * 2 + whole.checksums[2:],
            "those of the stage before": before[-2] if len(before) > 1 else whole.checksums,
        }
        return replace(whole, checksums=found[way])

    monkeypatch.setattr(stages, "_added_up", added_up)
    with pytest.raises(MessageError, match="not the sum of what the stations sent"):
        fit_three_stations()


def test_openings_of_an_earlier_stage_are_refused(monkeypatch):
    """Those of a stage that was checked before, with its checksums: a station knows which stage it answered last."""
    seen = []

    def earlier(request):
        return replace(request, openings=seen[0])

    honest = Federation.round

    def round_(self, function, request, organizations, reply_type, **options):
        if function == "partial_stage":
            if request[2].openings.sums:
                seen.append(request[2].openings)
            if len(seen) == 3:
                request = {member: earlier(one) if member == 2 else one for member, one in request.items()}
        return honest(self, function, request, organizations, reply_type, **options)

    monkeypatch.setattr(Federation, "round", round_)
    with pytest.raises(MessageError, match="not the sum of what the stations sent"):
        fit_three_stations()


def test_what_is_added_up_after_a_lie_is_uniform(monkeypatch):
    """A central that does not stop sees a sum that depends on no data: it is another one every time, over the whole ring."""
    seen = []
    monkeypatch.setattr(stages, "check_bound", lambda total: None)
    honest = Wide.decode

    def decode(self, bits):
        seen.append(self.high.ravel().copy())
        return honest(self, bits)

    for _ in range(3):
        monkeypatch.undo()
        monkeypatch.setattr(stages, "check_bound", lambda total: None)
        lie_to(monkeypatch, 3, one_bit, 2)
        monkeypatch.setattr(Wide, "decode", decode)
        with pytest.raises(Exception, match=r".+"):
            fit_three_stations()
    firsts = [words for words in seen if words.size == 3]
    assert len(firsts) >= 3
    bits = np.unpackbits(np.concatenate(firsts[:3]).view(np.uint8))
    assert len(np.unique(np.concatenate(firsts[:3]))) == 9
    assert 0.35 < bits.mean() < 0.65
