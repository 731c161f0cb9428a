"""Markov networks fitted to tables that were measured with noise: what is measured, which cliques are worth it, the fit."""

from .model import MarkovNetwork

__all__ = ["MarkovNetwork"]
