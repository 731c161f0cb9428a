"""Peers of the frontier on Adult, in a Python of their own (`frontier_peers.txt`): one JSON object a line, ``name``, ``epsilon``, ``accuracy``, ``auc``.

They hold all rows at one place. Usage: ``python frontier_peers.py TRAIN.csv TEST.csv BOUNDS.json EPSILONS SEEDS``.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

DELTA = 1e-6


def scores(truth: Any, chances: Any) -> dict[str, float]:
    """Return accuracy and area under the curve of chances of the second class, (n,)."""
    return {
        "accuracy": float(np.mean((chances > 0.5) == truth)),
        "auc": float(roc_auc_score(truth, np.nan_to_num(chances))),
    }


def tables(train: Any, test: Any, bounds: Any) -> Any:
    """Return the features of training and test rows, with a column for each category and with a code for it, in [0, 1], and the truths."""
    both = pd.concat([train, test])
    classes = sorted(both["class"].unique())
    categories = [name for name in train if name not in bounds and name != "class"]
    coded = pd.get_dummies(both[categories].astype(str), dtype=float)
    for name, (low, high) in bounds.items():
        coded[name] = (both[name].clip(low, high) - low) / (high - low)
    numbers = coded[list(bounds)].assign(**{name: both[name].astype("category").cat.codes for name in categories})
    numbers = numbers / numbers.max().clip(lower=1)
    truths = [(part["class"] == classes[1]).to_numpy().astype(int) for part in (train, test)]
    return *(one[place] for one in (coded, numbers) for place in (slice(len(train)), slice(len(train), None))), *truths


def by_diffprivlib(parts: Any, epsilon: float, seed: int) -> Iterator[Any]:
    """Yield diffprivlib's Gaussian naive Bayes, of codes, and logistic regression, of a column for each category."""
    from diffprivlib.models import GaussianNB, LogisticRegression

    coded, held, codes, held_codes, learned, truth = parts
    longest = float(np.sqrt(len(codes.columns)))  # every column of the file is at most 1
    models = {
        "diffprivlib GaussianNB": GaussianNB(
            epsilon=epsilon, bounds=(np.zeros(codes.shape[1]), np.ones(codes.shape[1])), random_state=seed
        ),
        "diffprivlib LogisticRegression": LogisticRegression(
            epsilon=epsilon, data_norm=longest, max_iter=500, random_state=seed
        ),
    }
    for name, model in models.items():
        rows, others = (codes, held_codes) if name.endswith("NB") else (coded, held)
        model.fit(rows.to_numpy(), learned)
        yield {"name": name, **scores(truth, model.predict_proba(others.to_numpy())[:, 1])}


def by_ebm(train: Any, test: Any, bounds: Any, learned: Any, truth: Any, epsilon: float, seed: int) -> Iterator[Any]:
    """Yield DP-EBM of interpret, with public bounds and categories."""
    from interpret.privacy import DPExplainableBoostingClassifier

    names = [name for name in train if name != "class"]
    both = pd.concat([train, test])
    told = {
        name: tuple(bounds[name]) if name in bounds else sorted(both[name].dropna().astype(str).unique())
        for name in names
    }
    prepared = [part[names].astype({name: str for name in names if name not in bounds}) for part in (train, test)]
    model = DPExplainableBoostingClassifier(
        feature_types=["continuous" if name in bounds else "nominal" for name in names],
        epsilon=epsilon,
        delta=DELTA,
        privacy_bounds={name: told[name] for name in names if name in bounds},
        random_state=seed,
        n_jobs=1,
    )
    model.fit(prepared[0], learned)
    yield {"name": "DP-EBM", **scores(truth, model.predict_proba(prepared[1])[:, 1])}


def main() -> None:
    """Print every result as it comes."""
    warnings.filterwarnings("ignore")
    train, test = pd.read_csv(sys.argv[1]), pd.read_csv(sys.argv[2])
    bounds = json.loads(sys.argv[3])
    parts = tables(train, test, bounds)
    learned, truth = parts[-2:]
    for epsilon in map(float, sys.argv[4].split(",")):
        for seed in range(int(sys.argv[5])):
            found = [*by_diffprivlib(parts, epsilon, seed)]
            found += by_ebm(train, test, bounds, learned, truth, epsilon, seed)
            for row in found:
                print(json.dumps({**row, "epsilon": epsilon}), flush=True)


if __name__ == "__main__":
    main()
