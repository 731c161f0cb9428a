"""Noise of OpenDP, an implementation of others: the reference of the exact samplers, and in no image."""

from __future__ import annotations

import numpy as np
import pytest

from fedbayes.dp import mechanisms

PEERS = [
    (mechanisms.discrete_laplace, "make_laplace", "i64"),
    (mechanisms.discrete_gaussian, "make_gaussian", "i64"),
    (mechanisms.laplace, "make_laplace", "f64"),
]


def opendp_noise(maker: str, atom: str, size: int, scale: float) -> np.ndarray:
    """Return noise of OpenDP, an implementation of others."""
    pytest.importorskip("opendp")
    from opendp import domains, measurements, metrics
    from opendp.mod import enable_features

    enable_features("contrib")
    cells = domains.atom_domain(T=atom, nan=False) if atom == "f64" else domains.atom_domain(T=atom)
    metric = metrics.l1_distance(T=atom) if maker == "make_laplace" else metrics.l2_distance(T="f64")
    measure = getattr(measurements, maker)(domains.vector_domain(cells), metric, scale=scale)
    return np.asarray(measure([0.0 if atom == "f64" else 0] * size))
