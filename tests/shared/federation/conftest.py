"""A toy algorithm and three small files."""

import sys
from pathlib import Path

import pandas as pd
import pytest

PACKAGES = Path(__file__).parent / "packages"
if str(PACKAGES) not in sys.path:
    sys.path.append(str(PACKAGES))


@pytest.fixture
def files(tmp_path):
    """Return {name: {label: path}} of three stations, each with its ledger folder."""
    parties = {}
    for position, name in enumerate(("east", "south", "west")):
        table = pd.DataFrame({"x": range(20), "y": [position] * 20})
        path = tmp_path / f"{name}.csv"
        table.to_csv(path, index=False)
        ledger = tmp_path / f"{name}-ledger"
        ledger.mkdir()
        parties[name] = {"default": path, "ledger": ledger}
    return parties
