"""The times of a stratified baseline over linked records are those of single events: what their strata add up to (a gap, see docs/attacks.md)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from party_kit import by_columns, remembering

ROWS = 600
STRATA = ("sex", "stage")
FIT = {"time": "time", "event": "event", "features": ["x"], "id_column": "id"}


def table() -> pd.DataFrame:
    draw = np.random.default_rng(4)
    frame = pd.DataFrame({"id": [f"p{row:03d}" for row in range(ROWS)], "x": draw.normal(size=ROWS).round(2)})
    frame["time"] = draw.permutation(np.arange(1, ROWS + 1)) * 1.37
    frame["event"] = 1
    return frame.assign(sex=draw.choice(["f", "m"], ROWS), stage=draw.choice(["I", "II", "III"], ROWS))


def test_strata_of_two_fits_tell_both_values_of_single_records(tmp_path):
    """Every fifth event of a stratum is told by its own time, under every guard of the node."""
    frame = table()
    with remembering(by_columns(frame, {"a": ["x"], "b": ["time", "event", *STRATA]}), tmp_path) as running:
        told = {name: running.run("verticox", "fit", {**FIT, "strata": name})["model"]["baseline"] for name in STRATA}
    values = {
        name: {round(time, 2): part["stratum"] for part in baseline["strata"] for time in part["time"]}
        for name, baseline in told.items()
    }
    both = set(values["sex"]) & set(values["stage"])
    truth = frame.assign(time=frame["time"].round(2)).set_index("time")
    assert len(both) >= 10, "about one record in 25"
    assert all(truth.loc[time, name] == values[name][time] for time in both for name in STRATA)
