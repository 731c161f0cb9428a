"""Figures of results with matplotlib, for reports and notebooks: every function returns a `matplotlib.figure.Figure`.

::

    from fedbayes.client.figures import bayesian_network
    bayesian_network(result["model"])
"""

from .cox import forest, survival_calibration, survival_curves, survival_panels
from .naive_bayes import class_distributions, informative_features
from .network import bayesian_network, bayesian_networks
from .scores import calibration, confusion_matrix, gain_bars, named_bars, roc, score_bars, steps
from .tables import column_bars, counts_heatmap, round_costs

__all__ = [
    "bayesian_network",
    "bayesian_networks",
    "calibration",
    "class_distributions",
    "column_bars",
    "confusion_matrix",
    "counts_heatmap",
    "forest",
    "gain_bars",
    "informative_features",
    "named_bars",
    "roc",
    "round_costs",
    "score_bars",
    "steps",
    "survival_calibration",
    "survival_curves",
    "survival_panels",
]
