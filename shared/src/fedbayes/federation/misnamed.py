"""What an argument that a function has not may have meant."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ..bayes.values.names import nearest

SIMILAR = {
    "features": ["columns", "covariates", "variables", "predictors", "x", "X"],
    "columns": ["features", "variables", "nodes", "rows", "cols", "index", "x"],
    "label": ["target", "outcome", "class", "class_name", "y", "response"],
    "time": ["duration", "durations", "duration_col", "time_col", "stop"],
    "event": ["status", "event_col", "event_observed", "observed", "dead"],
    "entry": ["entry_col", "start"],
    "weights": ["weights_col", "sample_weight"],
    "cluster": ["cluster_col"],
    "penalty": ["penalizer", "l2", "regularization"],
    "regularization": ["penalty", "penalizer", "l2", "C", "alpha"],
    "pseudocount": ["alpha", "laplace", "smoothing"],
    "epsilon": ["eps", "budget", "privacy_budget", "privacy"],
    "id_column": ["id", "identifier", "key", "index"],
    "domain": ["bounds", "categories", "state_names", "levels", "ranges"],
    "organizations": ["stations", "parties", "nodes", "sites"],
    "conditions": ["where", "query", "filter", "subset"],
    "max_parents": ["max_indegree"],
    "score": ["scoring", "scoring_method"],
    "structure": ["edges", "estimator"],
    "required_edges": ["white_list", "fixed_edges"],
    "forbidden_edges": ["black_list"],
    "folds": ["cv", "n_splits", "k"],
    "max_rounds": ["max_iter", "rounds", "epochs"],
    "rounds": ["max_iter", "max_rounds", "epochs"],
    "tolerance": ["tol", "precision"],
    "robust": ["robust_errors"],
}
"""Ours, and names that other functions and packages have for the same."""
SEED = ("seed", "random_state", "random_seed")
CONFIDENCE = ("conf_level", "confidence_level", "confidence", "level", "ci")
NOT_HERE = {
    **dict.fromkeys(SEED, "noise and masks come from the operating system: there is no seed"),
    **dict.fromkeys(CONFIDENCE, "intervals are of 95 %; others follow from the standard errors"),
}
"""What there is no argument for, and why."""
NEAR, NEARER = 0.7, 0.76
"""Likeness of a name to what was meant: where names are less alike the guess was odd; the second for names that another function has."""


def meant(name: str, names: Sequence[str], package: str) -> str:
    """Return what is put behind a name that is none of a function's: one of `names` that is near, or that other functions of the package have it."""
    if name in NOT_HERE:
        return f" ({NOT_HERE[name]})"
    similar = next((ours for ours, others in SIMILAR.items() if name in others and ours in names), None)
    if similar is not None:
        return f" (did you mean '{similar}'?)"
    functions = {
        key: one.fedbayes_declared
        for key, one in vars(sys.modules[package]).items()
        if hasattr(one, "fedbayes_declared")
    }
    having = sorted(key for key, kind in functions.items() if name in [one.name for one in kind.declared()])
    near = nearest(name, names, NEARER if having else NEAR)
    if not having:
        return near
    others = f"{' and '.join(having)} {'have' if having[1:] else 'has'} one"
    return near.replace("(", f"({others}; ", 1) or f" ({others})"
