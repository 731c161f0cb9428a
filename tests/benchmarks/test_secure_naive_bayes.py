"""Car Evaluation as in the figure of Huai et al., and the cost of encryption beside pairwise masks.

Run as a script (``python tests/benchmarks/test_secure_naive_bayes.py CAR.csv.gz RUNS``) it prints the tables of the method's README.
"""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from party_kit import by_rows

from fedbayes.federation.embedded import EmbeddedFederation
from fedbayes.mpc.joye_libert import AGGREGATOR, deal_keys
from fedbayes.mpc.moduli import published_modulus
from fedbayes.mpc.packing import Packing
from fedbayes.mpc.secure_sum import pairwise_mask, reconstruct
from fedbayes.randomness import ResearchSampler, secret_bytes
from secure_naive_bayes.simulation import accuracies, corrected, draw_runs, published
from v6_secure_naive_bayes.messages import Noise

DELTA = 1e-5
EPSILONS = (0.1, 0.2, 0.3, 0.4)
ROWS = (100, 300, 600, 1000, 1400, 1728)
METHODS = ("ours", "claimed", "printed")
RUNS = int(os.environ.get("FEDBAYES_RUNS", "2000"))
BATCH = 20
LABELS = {
    "ours": "ours, epsilon in all",
    "claimed": "as the paper claims (7 epsilon)",
    "printed": "as printed (7 epsilon)",
}

Cells = dict[tuple[str, float], np.ndarray]


def figure_runs(frame: pd.DataFrame, rows: int, runs: int) -> Cells:
    """Return {(method, epsilon): accuracy of every run} with `rows` parties of one record each; the runs are the same for all."""
    codes = np.column_stack([pd.factorize(frame[name], sort=True)[0] for name in frame.columns])
    features, labels = codes[:, :-1], codes[:, -1]
    widths = (features.max(axis=0) + 1).tolist()
    sampler = ResearchSampler(7)
    found: dict[tuple[str, float], list[np.ndarray]] = {}
    for start in range(0, runs, BATCH):
        drawn = draw_runs(features, labels, widths, rows, min(BATCH, runs - start), sampler)
        exact = corrected(drawn.tables, Noise("none", 0.0, 0.0, 1.0, "record", 0), sampler)
        found.setdefault(("plain", 0.0), []).append(accuracies(drawn, exact))
        for epsilon in EPSILONS:
            theirs = Noise("published", epsilon, DELTA, 1.0, "record", 0)
            fits = {
                "ours": corrected(drawn.tables, Noise("polya", epsilon, 0.0, 1.0, "record", 0), sampler),
                "claimed": published(drawn.tables, theirs, rows, False, sampler),
                "printed": published(drawn.tables, theirs, rows, True, sampler),
            }
            for method, logs in fits.items():
                found.setdefault((method, epsilon), []).append(accuracies(drawn, logs))
    return {key: np.concatenate(parts) for key, parts in found.items()}


def encrypted_seconds(bits: int, counts: int, parties: int) -> tuple[float, float, int]:
    """Return (seconds of one station, seconds of the aggregator, bytes of one station)."""
    modulus = published_modulus(bits)
    keys = deal_keys([AGGREGATOR, *range(1, parties + 1)], modulus)
    packing = Packing.fitting(counts, parties, modulus, 1 << 22)
    values = np.arange(counts, dtype=np.int64)
    began = time.process_time()
    sent = [packing.encrypt(keys[party], values, "round") for party in range(1, parties + 1)]
    middle = time.process_time()
    total = packing.decrypt_sum(keys[AGGREGATOR], sent, "round")
    assert total.tolist() == (parties * values).tolist()
    return (middle - began) / parties, time.process_time() - middle, len(sent[0])


def masked_seconds(counts: int, parties: int) -> tuple[float, float, int]:
    """Return the same three figures for pairwise masks."""
    pairs = {(a, b): secret_bytes(32) for a in range(1, parties + 1) for b in range(1, a)}
    keys = {
        own: {peer: pairs[max(own, peer), min(own, peer)] for peer in range(1, parties + 1) if peer != own}
        for own in range(1, parties + 1)
    }
    values = np.arange(counts, dtype=np.uint64)
    began = time.process_time()
    sent = [values + pairwise_mask(own, keys[own], "round", counts) for own in keys]
    middle = time.process_time()
    total = reconstruct(sent)
    assert total.tolist() == (parties * values).tolist()
    return (middle - began) / parties, time.process_time() - middle, sent[0].nbytes


@pytest.mark.benchmark
def test_the_figure_of_the_paper(paper_data: Callable[..., pd.DataFrame], figure: Callable[..., object]) -> None:
    frame = paper_data("car")
    found = {rows: figure_runs(frame, rows, RUNS) for rows in ROWS}
    means = {rows: {key: float(values.mean()) for key, values in cells.items()} for rows, cells in found.items()}
    print("\n" + "\n".join(lines(found)))
    with figure("secure_naive_bayes", "car", columns=3) as axes:
        for axis, method in zip(axes, METHODS, strict=True):
            axis.plot(ROWS, [means[rows]["plain", 0.0] for rows in ROWS], "k--", label="no noise", linewidth=1)
            for number, epsilon in enumerate(EPSILONS):
                line = [means[rows][method, epsilon] for rows in ROWS]
                axis.plot(ROWS, line, "o-", color=f"C{number}", markersize=3, label=f"epsilon {epsilon}")
            axis.set(title=LABELS[method], xlabel="parties of one record", ylim=(0, 0.9))
        axes[0].set_ylabel("10-fold accuracy")
        axes[0].legend(fontsize=7)
    full = means[1728]
    assert full["plain", 0.0] > 0.84
    assert full["ours", 0.4] > 0.78
    assert all(full["printed", epsilon] < full["claimed", epsilon] for epsilon in EPSILONS)
    assert full["ours", 0.4] > full["printed", 0.4] - 0.02


@pytest.mark.benchmark
def test_masks_are_far_cheaper_in_time_and_encryption_is_not_much_longer() -> None:
    station, _, size = encrypted_seconds(3072, 108, 4)
    masked, _, plain = masked_seconds(108, 4)
    assert station > 20 * masked
    assert size < 2 * plain


@pytest.mark.benchmark
def test_car_for_ten_stations_takes_under_five_seconds(paper_data: Callable[..., pd.DataFrame]) -> None:
    frame = paper_data("car")
    domain = {name: {"categories": sorted(frame[name].astype(str).unique())} for name in frame.columns}
    task = {"label": "class", "domain": domain, "epsilon": 1.0, "modulus_bits": 3072}
    with EmbeddedFederation(by_rows(frame, [f"s{number}" for number in range(10)])) as federation:
        result = federation.run("secure_naive_bayes", "fit", task)
    assert result["diagnostics"]["encryption"]["ciphertexts_per_station"] == 1
    assert result["federation"]["seconds"] < 5


def lines(found: dict[int, Cells]) -> list[str]:
    """Return the rows of the README's table, and the largest standard error."""
    rows = []
    for number, cells in found.items():
        columns = [f"{cells['plain', 0.0].mean():.3f}"]
        columns += [" / ".join(f"{cells[method, epsilon].mean():.3f}" for epsilon in EPSILONS) for method in METHODS]
        rows.append(f"| {number} | " + " | ".join(columns) + " |")
    worst = max(values.std() / np.sqrt(len(values)) for cells in found.values() for values in cells.values())
    return [*rows, f"largest standard error {worst:.4f}"]


def main() -> None:
    frame, runs = pd.read_csv(Path(sys.argv[1])), int(sys.argv[2])
    print("\n".join(lines({rows: figure_runs(frame, rows, runs) for rows in ROWS})))
    for counts in (108, 1000, 10_000):
        for bits in (2048, 3072):
            print(counts, bits, encrypted_seconds(bits, counts, 10))
        print(counts, "masks", masked_seconds(counts, 10))


if __name__ == "__main__":
    main()
