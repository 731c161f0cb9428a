"""Scores of classifiers: from predictions, from sums over rows, and so that no single record shows."""
