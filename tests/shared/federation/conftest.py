"""A toy algorithm and three small files."""

import sys
from pathlib import Path

import pandas as pd
import pytest
from party_kit import with_folders

PACKAGES = Path(__file__).parent / "packages"
if str(PACKAGES) not in sys.path:
    sys.path.append(str(PACKAGES))


@pytest.fixture
def files(tmp_path):
    """Return {name: {label: path}} of three stations, each with its ledger folder."""
    names = ("east", "south", "west")
    tables = {name: pd.DataFrame({"x": range(20), "y": [place] * 20}) for place, name in enumerate(names)}
    return with_folders(tables, tmp_path, "ledger")
