"""Fixtures of every test: the papers' data where they are present."""

import os
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

DATA = Path(os.environ.get("FEDBAYES_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


@pytest.fixture(scope="session")
def paper_data() -> Callable[..., pd.DataFrame]:
    """Return ``load(name, **read_csv_arguments)`` for a table of the papers; skips where the data are absent."""

    def load(name: str, **arguments: object) -> pd.DataFrame:
        path = DATA / f"{name}.csv.gz"
        if not path.exists():
            pytest.skip(
                f"the papers' data are absent ({name}.csv.gz); set FEDBAYES_DATA to their folder, see docs/data.md"
            )
        return pd.read_csv(path, **arguments)

    return load


@pytest.fixture(scope="session")
def paper_folder() -> Path:
    """Return the folder of the papers' data; skips where it is absent."""
    if not DATA.is_dir():
        pytest.skip("the papers' data are absent; set FEDBAYES_DATA to their folder")
    return DATA
