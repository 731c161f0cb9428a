"""The dev network's tables: made here, the same on every machine.

``default``: the same columns about other people at each station, a time and whether it ended in a relapse among them. ``vertical``: other columns about
the same people (survival after release from prison; the `rossi` data of lifelines). ``asia``: 5,000 people of the Asia network (Lauritzen and Spiegelhalter
1988), split by columns.
"""

from __future__ import annotations

import csv
import math
import random
from pathlib import Path
from typing import Any

STATIONS = ("hospital-a", "hospital-b", "hospital-c")
ROWS = 400
ASIA_ROWS = 5000

VERTICAL = {
    "hospital-a": ("week", "arrest"),
    "hospital-b": ("fin", "age", "race"),
    "hospital-c": ("wexp", "mar", "paro", "prio"),
}
ASIA = {
    "hospital-a": ("asia", "smoke", "bronc"),
    "hospital-b": ("tub", "lung", "either"),
    "hospital-c": ("xray", "dysp"),
}

Rows = list[dict[str, Any]]


def people(seed: int, rows: int = ROWS) -> Rows:
    """Return records with mixed columns, an outcome and a time that depend on them, some missing values, and a column no task may use."""
    draw, course = random.Random(seed), random.Random(f"course {seed}")
    table: Rows = []
    for number in range(rows):
        age = round(min(90.0, max(18.0, draw.gauss(55, 15))), 1)
        weight = round(min(160.0, max(40.0, draw.gauss(80, 14))), 1)
        smoker = draw.random() < 0.35
        exercise = draw.choices(("low", "medium", "high"), (4, 4, 2))[0]
        risk = 0.06 * (age - 55) + 0.04 * (weight - 80) + 1.2 * smoker - 0.8 * (exercise == "high")
        ill = draw.random() < 1 / (1 + math.exp(-risk))
        days = math.ceil(course.expovariate(math.exp(0.5 * risk) / 200))
        table.append(
            {
                "name": f"person {seed}-{number}",
                "age": age,
                "weight": "" if draw.random() < 0.02 else weight,
                "smoker": "yes" if smoker else "no",
                "exercise": exercise,
                "outcome": "ill" if ill else "well",
                "days": min(days, 365),
                "relapse": int(days <= 365),
            }
        )
    return table


def asia(seed: int = 1, rows: int = ASIA_ROWS) -> Rows:
    """Return people of the Asia network, states "yes" and "no"."""
    draw = random.Random(seed)

    def state(probability: float) -> bool:
        return draw.random() < probability

    table: Rows = []
    for number in range(rows):
        visit, smoke = state(0.01), state(0.5)
        tuberculosis, cancer = state(0.05 if visit else 0.01), state(0.1 if smoke else 0.01)
        bronchitis, either = state(0.6 if smoke else 0.3), tuberculosis or cancer
        dyspnoea = state({(0, 0): 0.1, (0, 1): 0.8, (1, 0): 0.7, (1, 1): 0.9}[int(either), int(bronchitis)])
        states = {
            "asia": visit,
            "smoke": smoke,
            "tub": tuberculosis,
            "lung": cancer,
            "bronc": bronchitis,
            "either": either,
            "xray": state(0.98 if either else 0.05),
            "dysp": dyspnoea,
        }
        table.append({"id": number, **{name: "yes" if value else "no" for name, value in states.items()}})
    return table


def rossi() -> Rows:
    """Return lifelines' `rossi` data with an identifier."""
    from lifelines.datasets import load_rossi

    return [{"id": number, **row} for number, row in enumerate(load_rossi().to_dict("records"))]


def write(path: Path, table: Rows, columns: tuple[str, ...] | None = None) -> None:
    """Write a table, or `id` and some of its columns, as CSV."""
    names = list(table[0]) if columns is None else ["id", *columns]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(table)


def write_all(folder: Path) -> dict[str, dict[str, Path]]:
    """Write every station's tables below `folder`.

    Returns
    -------
    dict
        Station -> label -> path, as `EmbeddedFederation` takes it.
    """
    asia_table, rossi_table = asia(), rossi()
    written: dict[str, dict[str, Path]] = {}
    for number, station in enumerate(STATIONS):
        place = folder / station
        place.mkdir(parents=True, exist_ok=True)
        paths = {label: place / f"{label}.csv" for label in ("default", "vertical", "asia")}
        write(paths["default"], people(seed=number + 1))
        write(paths["vertical"], rossi_table, VERTICAL[station])
        # The same people in another order: alignment has something to do.
        shuffled = list(asia_table)
        random.Random(number).shuffle(shuffled)
        write(paths["asia"], shuffled, ASIA[station])
        written[station] = paths
    return written
