"""Cells of tables: when two values are the same, what is missing, numbers and dates as people wrote them, columns as codes."""
