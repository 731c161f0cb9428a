"""Naive Bayes over a public schema: the model, its distributions of a feature, and how both are made from one table."""

from .model import NaiveBayes

__all__ = ["NaiveBayes"]
