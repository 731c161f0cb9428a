"""When central looks at a round."""

from __future__ import annotations

import pytest

from fedbayes.federation import waiting as rounds


def test_the_first_look_of_a_round_is_early_enough_for_all_its_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.delenv("FEDBAYES_EMBEDDED", raising=False)
    monkeypatch.setattr(rounds.time, "monotonic", lambda: clock[0])
    first = rounds.pauses(100.0)
    waited = next(first)
    clock[0] += waited + 1.5
    assert waited == rounds.FIRST_LOOK_SECONDS
    assert next(first) == rounds.POLL_SECONDS
    assert next(rounds.pauses(100.0)) == 0.0  # the next task of the same round, which others have finished meanwhile
    clock[0] += 1000.0
    assert next(first) == rounds.LONGEST_POLL_SECONDS
