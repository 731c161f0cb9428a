"""Van Daalen's thesis: chapters 2 (scalar product), 3 (VertiBayes), 5 (ensembles) and 6 (Verticox+)."""

from __future__ import annotations

from ..core import Paper
from . import thesis_ensembles, thesis_networks, thesis_products, thesis_survival


def reproduce(quick: bool) -> Paper:
    return Paper(
        "thesis",
        [
            thesis_products.figure_2_1(),
            thesis_products.figure_2_2(quick),
            *thesis_networks.reproduce(quick),
            *thesis_ensembles.tables(quick),
            *thesis_survival.reproduce(quick),
        ],
    )
