"""Fixtures of this method's tests; the tables are in `weighted_tables`."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))

from weighted_tables import parties, tables

__all__ = ["parties", "tables"]
