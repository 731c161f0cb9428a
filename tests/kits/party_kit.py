"""Parties of embedded federations, which take data frames as well as files: one table spread over them, and folders in which nodes remember."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from one_process import OneProcess


def by_columns(
    table: pd.DataFrame, split: Mapping[str, Sequence[str]], shared: Sequence[str] = ("id",)
) -> dict[str, pd.DataFrame]:
    """Return each party's columns of the same records, in an order of its own, with those that all have."""
    return {
        name: table.sample(frac=1.0, random_state=place)[[*shared, *columns]]
        for place, (name, columns) in enumerate(split.items())
    }


def by_rows(table: pd.DataFrame, names: Iterable[str]) -> dict[str, pd.DataFrame]:
    """Return whole records, dealt out to the parties in turn."""
    parties = list(names)
    return {name: table.iloc[place :: len(parties)] for place, name in enumerate(parties)}


def with_folders(tables: Mapping[str, Any], folder: Path, label: str = "vault") -> dict[str, dict[str, Path]]:
    """Write each party's table (a data frame, or its columns), one file for several federations, and make the folder in which its node remembers."""
    parties = {}
    for name, table in tables.items():
        parties[name] = {"default": folder / f"{name}.csv", label: folder / name}
        parties[name][label].mkdir(parents=True, exist_ok=True)
        pd.DataFrame(table).to_csv(parties[name]["default"], index=False)
    return parties


def remembering(
    tables: Mapping[str, Any], folder: Path, helpers: Sequence[str] = ("helper",), **limits: Any
) -> OneProcess:
    """Return a federation whose nodes remember their exact answers, so that no later one tells of few rows or organizations beside them."""
    policies = {name: {"ledger": "vault", "allow_differences": False, **limits} for name in tables}
    return OneProcess(with_folders(tables, folder), helpers, policies)
