"""The times of a stratified baseline over linked records: who knows when somebody died must not read the stratum from the times that are told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from party_kit import by_columns, remembering

from v6_verticox.stations import outcome as described

ROWS = 600
STRATA = ("sex", "stage")
FIT = {"time": "time", "event": "event", "features": ["x"], "id_column": "id"}
FEWEST = 10
"""Points of each fit, at least: about one in 25 events, by which values of single records were told."""


def table() -> pd.DataFrame:
    draw = np.random.default_rng(4)
    frame = pd.DataFrame({"id": [f"p{row:03d}" for row in range(ROWS)], "x": draw.normal(size=ROWS).round(2)})
    frame["time"] = draw.permutation(np.arange(1, ROWS + 1)) * 1.3719
    frame["event"] = 1
    return frame.assign(sex=draw.choice(["f", "m"], ROWS), stage=draw.choice(["I", "II", "III"], ROWS))


def told(frame: pd.DataFrame, tmp_path) -> dict[str, list[tuple[float, str]]]:
    """Return the times that two fits tell, each with its stratum."""
    with remembering(by_columns(frame, {"a": ["x"], "b": ["time", "event", *STRATA]}), tmp_path) as running:
        models = {name: running.run("verticox", "fit", {**FIT, "strata": name})["model"] for name in STRATA}
    return {
        name: [(time, part["stratum"]) for part in model["baseline"]["strata"] for time in part["time"]]
        for name, model in models.items()
    }


def guesses(frame: pd.DataFrame, points: list[tuple[float, str]], name: str) -> dict[str, bool]:
    """Of the last event up to each time take the stratum for its value; return whom it was said of, and whether that is right."""
    by_time = frame.sort_values("time", ignore_index=True)
    places = np.searchsorted(by_time["time"], [time + 1e-9 for time, _ in points], side="right") - 1
    return {
        str(by_time["id"][place]): bool(by_time[name][place] == stratum)
        for place, (_, stratum) in zip(places, points, strict=True)
    }


def own_events(outcome: Any, holder: Any, per_edge: int) -> tuple[list[float], list[int], list[int]]:
    """As before: every fifth event of a stratum, by its own time."""
    rows = [
        int(row)
        for code in range(len(outcome.strata_names))
        for row in np.flatnonzero((holder.code == code) & (holder.tied > 0.0))[per_edge - 1 :: per_edge]
    ]
    return [float(holder.when[row]) for row in rows], rows, [int(holder.code[row]) for row in rows]


def test_a_time_tells_no_stratum_of_a_record(tmp_path):
    frame = table()
    points = told(frame, tmp_path)
    own = {round(time, 6) for time in frame["time"]}
    assert not own & {round(time, 6) for name in STRATA for time, _ in points[name]}
    found = {name: guesses(frame, points[name], name) for name in STRATA}
    assert min(map(len, found.values())) >= FEWEST
    for name, chance in (("sex", 1 / 2), ("stage", 1 / 3)):
        rate = np.mean(list(found[name].values()))
        assert rate < chance + 0.2, "as often as by chance, and by the majority of a group of events"
    both = set(found["sex"]) & set(found["stage"])
    assert len(both) >= FEWEST
    assert np.mean([all(found[name][one] for name in STRATA) for one in both]) < 0.5


@pytest.mark.audit
def test_control_an_events_own_time_tells_its_stratum(tmp_path, monkeypatch):
    monkeypatch.setattr(described, "_points", own_events)
    frame = table()
    points = told(frame, tmp_path)
    found = {name: guesses(frame, points[name], name) for name in STRATA}
    both = set(found["sex"]) & set(found["stage"])
    assert len(both) >= FEWEST
    assert all(found[name][one] for one in both for name in STRATA)


@pytest.mark.parametrize("weighted", [False, True])
def test_candidates_are_the_same_whatever_the_strata(weighted):
    """So no few events lie between the times of two tasks."""
    frame, draw = table(), np.random.default_rng(5)
    weights = draw.choice([0.5, 2.0], ROWS) if weighted else None

    def times(strata: Any) -> set[float]:
        names, codes = np.unique(strata, return_inverse=True)
        outcome = described.Survival(frame["time"].to_numpy(), np.ones(ROWS, dtype=int), codes, list(names), weights)
        return set(described.describe(outcome, 5).edges)

    whole = times(np.zeros(ROWS))
    for name in STRATA:
        assert len(times(frame[name])) >= FEWEST
        assert times(frame[name]) <= whole


@pytest.mark.parametrize(("part", "least"), [(0.5, [40, 40]), (0.9, [8, 58])])
def test_what_it_costs_is_what_the_page_says(part, least):
    for seed in range(5):
        draw = np.random.default_rng(seed)
        codes, time = (draw.random(ROWS) < part).astype(int), draw.permutation(ROWS) + 1.37
        told = described.describe(described.Survival(time, np.ones(ROWS, dtype=int), codes, ["a", "b"]), 5)
        points = np.bincount(told.edge_strata, minlength=2)
        assert (points >= least).all()
        assert (points <= 60).all()
