"""The data dictionary of a study: how it is read, and a table as it means it."""
