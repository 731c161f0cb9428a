"""Fixtures of this method's tests."""

from weighted_tables import parties, tables

__all__ = ["parties", "tables"]
