"""Records as hospitals have them: laboratory values with long tails, counts, indicators of a few patients, one wrong entry."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import numpy as np
import pandas as pd

Vector = np.ndarray
EFFECTS = {"none": 0.0, "harm": 0.4, "good": -0.4}  # a standard deviation; of an indicator, twice that
TAILED: dict[str, Callable[[np.random.Generator, int], Vector]] = {
    "lognormal 1": lambda rng, rows: np.exp(rng.normal(size=rows)),
    "lognormal 2": lambda rng, rows: np.exp(2.0 * rng.normal(size=rows)),
    "pareto 1.5": lambda rng, rows: rng.pareto(1.5, rows),
    "pareto 1.1": lambda rng, rows: rng.pareto(1.1, rows),
    "one far away": lambda rng, rows: np.where(rng.permutation(rows) == 0, 60.0, rng.normal(size=rows)),
}
RARE = {
    f"{ones} ones": (lambda rng, rows, ones=ones: (rng.permutation(rows) < ones).astype(float)) for ones in (3, 5, 10)
}
SEVERAL: dict[str, Callable[[np.random.Generator, int], Vector]] = {
    "fifth power": lambda rng, rows: rng.normal(size=rows) ** 5,
    "cube": lambda rng, rows: rng.normal(size=rows) ** 3,
    "student 2": lambda rng, rows: rng.standard_t(2.0, size=rows),
    "lognormal 1": TAILED["lognormal 1"],
}
PAIRS = (("lognormal 2", "5 ones"), ("pareto 1.5", "lognormal 1"), ("3 ones", "10 ones"), ("pareto 1.1", "pareto 1.5"))


def single(kind: str, effect: str, seed: int, rows: int = 500) -> pd.DataFrame:
    """Return a table with one such feature beside two normal ones; "log": its logarithm has the effect, the fit gets the feature."""
    rng = np.random.default_rng([seed, zlib.crc32(f"{kind} {effect}".encode())])
    values = {**TAILED, **RARE}[kind](rng, rows)
    if effect == "log":
        return _observed(rng, {"first": values}, 0.5 * _standardised(np.log(values + 1e-3)))
    return _observed(
        rng, {"first": values}, EFFECTS[effect] * (2.0 * values if kind in RARE else _standardised(values))
    )


def pair(kinds: tuple[str, str], seed: int, rows: int = 500) -> pd.DataFrame:
    """Return a table with two such features, both with an effect."""
    rng = np.random.default_rng([seed, zlib.crc32(" ".join(kinds).encode())])
    columns = [{**TAILED, **RARE}[kind](rng, rows) for kind in kinds]
    effects = [0.8 * v if kind in RARE else 0.4 * _standardised(v) for kind, v in zip(kinds, columns, strict=True)]
    return _observed(rng, {"first": columns[0], "second": columns[1]}, effects[0] + effects[1])


def several(kind: str, seed: int, rows: int = 300) -> pd.DataFrame:
    """Return a table with four such features, all with an effect, beside two normal ones."""
    rng = np.random.default_rng([seed, zlib.crc32(f"several {kind}".encode())])
    columns = {f"first{place}": SEVERAL[kind](rng, rows) for place in range(4)}
    return _observed(rng, columns, 0.3 * sum(_standardised(values) for values in columns.values()))


def followed(kind: str, seed: int, rows: int = 300) -> pd.DataFrame:
    """Return six such features; records are lost at any time, so that the last of them are alone at risk."""
    rng = np.random.default_rng([seed, zlib.crc32(f"followed {kind}".encode())])
    columns = {f"first{place}": SEVERAL[kind](rng, rows) for place in range(6)}
    predictor = 0.4 * sum(_standardised(values) for values in columns.values())
    times = rng.exponential(np.exp(-np.clip(predictor, -20.0, 20.0)))
    return pd.DataFrame({**columns, "time": times, "event": (rng.uniform(size=rows) > 0.4).astype(int)})


def hospital(seed: int, rows: int = 500) -> pd.DataFrame:
    """Return age, sex, creatinine with one entry in other units, CRP, troponin, days, dialysis and a rare diagnosis of four patients; days of survival."""
    rng = np.random.default_rng([seed, 7])
    normal = rng.normal(size=(4, rows))
    frame = pd.DataFrame({"age": 65.0 + 11.0 * normal[0], "sex": rng.integers(0, 2, rows).astype(float)})
    frame["creatinine"], frame["crp"] = 90.0 * np.exp(0.4 * normal[1]), np.exp(1.5 + 1.6 * normal[2])
    frame["troponin"] = np.exp(2.0 + 1.5 * normal[3]) * np.where(rng.uniform(size=rows) < 0.05, 40.0, 1.0)
    frame["days"] = rng.geometric(0.2, rows).astype(float)
    frame["dialysis"] = (rng.permutation(rows) < 6).astype(float)
    frame["rare"] = (rng.permutation(rows) < 4).astype(float)
    predictor = 0.05 * (frame["age"] - 65.0) + 0.3 * frame["sex"] + 0.4 * np.log(frame["creatinine"] / 90.0)
    predictor += 0.2 * (np.log(frame["crp"]) - 1.5) + 0.1 * (np.log(frame["troponin"]) - 2.0)
    predictor += 0.9 * frame["dialysis"] + 0.7 * frame["rare"]
    frame.loc[int(rng.integers(rows)), "creatinine"] = 3000.0
    time, event = _outcome(rng, predictor.to_numpy())
    return frame.assign(time=np.ceil(365.0 * time), event=event)


def _standardised(values: Vector) -> Vector:
    return (values - values.mean()) / values.std()


def _observed(rng: np.random.Generator, columns: dict[str, Vector], predictor: Vector) -> pd.DataFrame:
    """Add two normal features and the outcome."""
    plain = rng.normal(size=(2, len(predictor)))
    time, event = _outcome(rng, predictor + 0.5 * plain[0] - 0.3 * plain[1])
    return pd.DataFrame({**columns, "x": plain[0], "y": plain[1], "time": time, "event": event})


def _outcome(rng: np.random.Generator, predictor: Vector) -> tuple[Vector, Vector]:
    """Return times and events; relative risks up to e^8."""
    death = rng.exponential(np.exp(-np.clip(predictor, -8.0, 8.0)))
    censored = rng.exponential(2.0, len(predictor))
    return np.minimum(death, censored), (death <= censored).astype(int)
