"""Formulae over the columns of a row, of data dictionaries and of models: read once by a closed grammar, never executed as code."""
