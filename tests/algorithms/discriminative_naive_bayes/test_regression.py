"""With `weights="value"`, no regularization and rounds enough, the fit is multinomial logistic regression on one-hot codes."""

import warnings

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder

from discriminative_naive_bayes.simulation import simulated
from fedbayes.federation.horizontal import Columns
from v6_discriminative_naive_bayes.classifier import load_model
from v6_discriminative_naive_bayes.messages import Shape
from v6_discriminative_naive_bayes.partial import encode_rows

FEATURES = {"a": ["0", "1", "2"], "b": ["0", "1"], "c": ["0", "1", "2", "3"]}
CLASSES = ["low", "middle", "high"]
DOMAIN = {
    **{name: {"categories": values} for name, values in FEATURES.items()},
    "class": {"categories": CLASSES},
}


def frame(rows: int, seed: int) -> pd.DataFrame:
    """Return rows with so much noise that every value is seen in every class, so the optimum is finite."""
    generator = np.random.default_rng(seed)
    table = pd.DataFrame({name: generator.integers(len(values), size=rows) for name, values in FEATURES.items()})
    score = table["a"] - 1.5 * table["b"] * (table["c"] > 1) + 0.4 * table["c"] + generator.logistic(size=rows)
    table["class"] = np.array(CLASSES)[np.digitize(score, [0.3, 1.6])]
    return table


def least(table: pd.DataFrame) -> tuple[float, np.ndarray]:
    """Return scikit-learn's mean negative conditional log-likelihood, and its probabilities by our order of classes."""
    codes = OneHotEncoder(sparse_output=False).fit_transform(table[list(FEATURES)])
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=20_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(codes, table["class"])
    probabilities = model.predict_proba(codes)[:, [list(model.classes_).index(name) for name in CLASSES]]
    truth = table["class"].map(CLASSES.index).to_numpy()
    return -float(np.log(probabilities[np.arange(len(truth)), truth]).mean()), probabilities


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("clients", [1, 4])
def test_the_default_reaches_the_optimum_of_logistic_regression(seed, clients):
    table = frame(900, seed)
    shape = Shape(Columns("class", list(FEATURES), DOMAIN), {})
    codes, labels = encode_rows(shape, shape.columns.schema.encode(table))
    rows = [(codes[k::clients], labels[k::clients]) for k in range(clients)]
    _, fit = simulated(shape, rows, rounds=200, tolerance=1e-9)
    optimum, _ = least(table)
    assert fit.objective[-1] == pytest.approx(optimum, abs=1e-6)
    assert fit.objective[0] > optimum + 1e-3


@pytest.mark.audit
def test_the_federation_reaches_it_too(exact_scores):
    stations = [frame(rows, seed) for seed, rows in ((3, 150), (4, 350), (5, 200))]
    whole = pd.concat(stations)
    task = {"label": "class", "domain": DOMAIN, "rounds": 40, "tolerance": 1e-8}
    with OneProcess(dict(zip("abc", stations, strict=True))) as federation:
        result = federation.run("discriminative_naive_bayes", "fit", task)
        scores = federation.run("discriminative_naive_bayes", "evaluate", {"model": result["model"]})
    optimum, probabilities = least(whole)
    assert result["diagnostics"]["objective"][-1] == pytest.approx(optimum, abs=1e-6)
    assert scores["log_loss"] == pytest.approx(optimum, abs=1e-4)
    np.testing.assert_allclose(load_model(result["model"]).predict_proba(whole), probabilities, atol=5e-3)
