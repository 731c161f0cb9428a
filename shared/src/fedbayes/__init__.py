"""The library under the fedbayes algorithm images: privacy-preserving Bayesian and survival models on vantage6."""

__version__ = "0.1.0"
