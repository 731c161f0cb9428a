"""Discrete Bayesian networks: the model, exact inference, parameters from incomplete records, what of its tables may be published."""

from .model import BayesianNetwork

__all__ = ["BayesianNetwork"]
