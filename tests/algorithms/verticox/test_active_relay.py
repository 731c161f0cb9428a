"""Central relays the openings: where it tells two stations different things they reveal nothing, and the job ends."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from mock_kit import NO_DATA, run_mocked

from fedbayes.federation.errors import MessageError
from fedbayes.federation.rounds import Federation
from fedbayes.mpc.wide import Wide
from v6_verticox.rounds import surface

ROWS = 60
TASK = {"time": "time", "event": "event", "features": ["x", "y", "z"], "rows_aligned": True, "time_transform": None}


def run():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(ROWS, 3)), columns=["x", "y", "z"])
    frame["time"], frame["event"] = rng.exponential(np.exp(-frame["x"])), (rng.random(ROWS) < 0.8).astype(int)
    frames = [frame[["x"]], frame[["y"]], frame[["z", "time", "event"]], NO_DATA]
    return run_mocked("verticox", "fit", [part.copy() for part in frames], **TASK)


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
    name, opening = next(iter(sorted(request.openings.items())))
    changed = opening.copy()
    changed.reshape(-1)[0] ^= 1
    return replace(request, openings={**request.openings, name: changed})


def other_stage(request):
    stage, *others = request.stages
    first, second = stage.coefficients
    return replace(request, stages=[replace(stage, coefficients=(first + 128, second)), *others])


def test_without_a_lie_the_fit_ends(monkeypatch):
    asked = lie_to(monkeypatch, 2, lambda request: request, 3)
    assert len(run()["model"]["coefficients"]) == 3
    assert len(asked) > 10


@pytest.mark.parametrize(
    ("member", "change", "at"), [(2, one_bit, 2), (3, one_bit, 3), (2, one_bit, 6), (2, other_stage, 6)]
)
def test_different_openings_reveal_nothing(monkeypatch, member, change, at):
    asked = lie_to(monkeypatch, member, change, at)
    with pytest.raises(MessageError, match="were not told the same"):
        run()
    assert len(asked) >= at


def test_what_is_added_up_after_a_lie_is_uniform(monkeypatch):
    """A central that does not stop sees a sum that depends on no data: it is another one every time, over the whole ring."""
    seen = []
    monkeypatch.setattr(surface, "check_bound", lambda total: None)
    honest = Wide.decode

    def decode(self, bits):
        seen.append(self.high.ravel().copy())
        return honest(self, bits)

    for _ in range(3):
        monkeypatch.undo()
        monkeypatch.setattr(surface, "check_bound", lambda total: None)
        lie_to(monkeypatch, 2, one_bit, 2)
        monkeypatch.setattr(Wide, "decode", decode)
        with pytest.raises(Exception, match=r".+"):
            run()
    firsts = [words for words in seen if words.size == 3]
    assert len(firsts) >= 3
    bits = np.unpackbits(np.concatenate(firsts[:3]).view(np.uint8))
    assert len(np.unique(np.concatenate(firsts[:3]))) == 9
    assert 0.35 < bits.mean() < 0.65
