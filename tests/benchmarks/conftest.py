"""Where benchmarks draw the figures that the pages of the methods show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def figure() -> Callable[..., AbstractContextManager[Any]]:
    """Return ``figure(method, name, columns=1, rows=1)``: draw on its axes, and it is written to the method's ``figures/<name>.svg``."""

    @contextmanager
    def draw(method: str, name: str, columns: int = 1, rows: int = 1) -> Iterator[Any]:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        # A figure that is drawn from the same numbers is the same file: no date, and identifiers from a fixed salt.
        with matplotlib.rc_context(
            {"svg.hashsalt": name, "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
        ):
            drawn, axes = pyplot.subplots(rows, columns, figsize=(4.2 * columns, 3.0 * rows), layout="constrained")
            yield axes
            folder = REPOSITORY / "algorithms" / method / "figures"
            folder.mkdir(exist_ok=True)
            drawn.savefig(folder / f"{name}.svg", metadata={"Date": None})
            pyplot.close(drawn)

    return draw
