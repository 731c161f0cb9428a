"""What the papers' modules share: items of numbers, their JSON, where data and results lie."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DATA = Path(os.environ.get("FEDBAYES_DATA", ROOT.parent / "shared" / "data"))
DOCS = ROOT / "docs" / "reproduction"
QUICK = ROOT / "out" / "reproduction"
PAPERS = ("marchioro", "zafarani", "torrijos", "huai", "thesis")
COLUMNS = ("theirs", "ours_as_published", "ours_default")
Number = float | None


@dataclass
class Item:
    """The numbers of one table or figure; its words are in ``words/PAPER.json``.

    Parameters
    ----------
    id : str
        Such as ``figure-1``.
    repetitions : int
    rows : list of dict
        ``row`` (cells), one number a column or None, and ``spread_...`` (standard deviations) where there are several repetitions.
    seconds : float
    """

    id: str
    repetitions: int = 1
    rows: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0

    def add(
        self, row: Sequence[Any], theirs: Number = None, published: Any = None, default: Any = None
    ) -> dict[str, Any]:
        """Add a row; of an array of repetitions the mean and the standard deviation are kept."""
        made: dict[str, Any] = {"row": [str(cell) for cell in row]}
        for name, value in zip(COLUMNS, (theirs, published, default), strict=True):
            values = np.ravel(np.array([] if value is None else value, dtype=float))
            made[name] = significant(values.mean()) if values.size else None
            if values.size > 1:
                made[f"spread_{name}"] = significant(values.std(ddof=1))
        self.rows.append(made)
        return made

    @contextmanager
    def timed(self) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self.seconds = round(self.seconds + time.perf_counter() - began, 1)


@dataclass
class Paper:
    """The numbers of one paper."""

    name: str
    items: list[Item] = field(default_factory=list)

    def as_dict(self, quick: bool) -> dict[str, Any]:
        """Return what the JSON file holds."""
        made = datetime.now(timezone.utc).date().isoformat()
        return told({"name": self.name, "made": made, "quick": quick, "items": [asdict(item) for item in self.items]})


def told(content: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a paper's file with the words of ``words/PAPER.json`` beside its numbers.

    The words of an item: ``title`` and ``claim`` (what it shows, what the paper concludes), ``keys`` (what the cells of a row are), ``measure`` (what the
    numbers are), ``theirs``, ``ours_as_published``, ``ours_default`` (where each column comes from), ``seeds``, ``deviation`` (why ours are away from theirs),
    and perhaps ``digits`` and ``plot`` (how its figure is drawn, see `figures.draw`).
    """
    words = json.loads((HERE / "words" / f"{content['name']}.json").read_text(encoding="utf-8"))
    texts = words.pop("items")
    items = [{"digits": 3, "plot": {}, **item, **texts[item["id"]]} for item in content["items"]]
    return {**content, **words, "items": items}


def significant(value: float) -> float:
    """Return a number with six significant digits, as the files hold it."""
    return float(f"{float(value):.6g}")


def table(name: str, **arguments: Any) -> pd.DataFrame:
    """Return a table of the papers' data."""
    path = DATA / f"{name}.csv.gz"
    if not path.exists():
        raise SystemExit(
            f"the papers' data are absent ({path.name}); set FEDBAYES_DATA to their folder, see docs/data.md"
        )
    frame: pd.DataFrame = pd.read_csv(path, **arguments)
    return frame


def published_numbers(name: str) -> pd.DataFrame:
    """Return a committed table of a paper's or its code's numbers, `scripts/reproduce/theirs/NAME.csv`."""
    return pd.read_csv(HERE / "theirs" / f"{name}.csv", dtype={"stations": str, "epsilon": str})


def save(content: dict[str, Any], folder: Path) -> None:
    """Write the JSON file of a paper."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    (folder / f"{content['name']}.json").write_text(text, encoding="utf-8")


def load(folder: Path, name: str) -> dict[str, Any]:
    """Return the content of the JSON file of a paper."""
    return dict(json.loads((folder / f"{name}.json").read_text(encoding="utf-8")))
