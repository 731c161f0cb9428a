"""The demonstration: five hospitals, one classifier, differential privacy.

scikit-learn's breast-cancer records are split over five hospitals of unequal size. A naive Bayes classifier is fitted over them in the embedded
federation, every station in a process of its own, and compared on records that nobody trained on: with the same model on pooled records without privacy,
and with each hospital alone under the same promise.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import demo_report
from .demo_report import Scores
from .exits import UsageProblem
from .inputs.files import json_text, write_texts
from .interrupts import draft
from .progress import Progress

if TYPE_CHECKING:
    import pandas as pd

SHARES = {"hospital-1": 0.30, "hospital-2": 0.25, "hospital-3": 0.20, "hospital-4": 0.15, "hospital-5": 0.10}
"""Of the records, so that the least hospital is small enough to gain by the others."""
LABEL = "diagnosis"
CLASSES = ("malignant", "benign")
TEST_SHARE = 0.25  # 143 records: enough that a hundredth of accuracy shows over five splits
BINS = 10  # of each measure
DOMAIN: dict[str, dict[str, list[Any]]] = {
    LABEL: {"categories": list(CLASSES)},
    "worst radius": {"bounds": [5.0, 40.0]},
    "worst texture": {"bounds": [10.0, 50.0]},
    "worst concave points": {"bounds": [0.0, 0.3]},
}
"""Public: one measure each of the nuclei's size, texture and shape, with ranges that the instrument and the definition allow. Nothing is read from the data."""
FEATURES = [name for name in DOMAIN if name != LABEL]


@dataclass(frozen=True)
class Split:
    """The hospitals' files and the records that nobody trains on."""

    files: dict[str, Path]
    test: pd.DataFrame


def load() -> pd.DataFrame:
    """Return the records: 569 rows, the features and the label.

    Raises
    ------
    UsageProblem
        If scikit-learn is not installed.
    """
    try:
        from sklearn.datasets import load_breast_cancer
    except ImportError:
        raise UsageProblem("the demo needs scikit-learn; run `make demo`, or install it") from None
    records = load_breast_cancer(as_frame=True)
    frame = records.data[FEATURES].copy()
    frame[LABEL] = [CLASSES[code] for code in records.target]
    table: pd.DataFrame = frame
    return table


def split(records: pd.DataFrame, folder: Path, number: int) -> Split:
    """Write one CSV file a hospital; `number` tells the random splits apart."""
    shuffled = records.sample(frac=1.0, random_state=number)
    held_out = round(TEST_SHARE * len(shuffled))
    train = shuffled[held_out:]
    edges = np.round(np.cumsum([0.0, *SHARES.values()]) * len(train)).astype(int)
    files = {}
    for position, name in enumerate(SHARES):
        files[name] = draft(folder / f"{name}.csv")
        train.iloc[edges[position] : edges[position + 1]].to_csv(files[name], index=False)
    return Split(files, shuffled[:held_out])


def score(probabilities: np.ndarray[Any, Any], test: pd.DataFrame) -> Scores:
    """Return the scores of P(class | row), shape (n, 2), in the order of `CLASSES`."""
    from ..bayes.evaluation.metrics import auc

    malignant = (test[LABEL] == CLASSES[0]).to_numpy()
    predicted = probabilities.argmax(axis=1) == 0
    return Scores(float((predicted == malignant).mean()), auc(malignant, probabilities[:, 0]))


def score_model(model: Mapping[str, Any], test: pd.DataFrame) -> Scores:
    """Return the scores of a result's model."""
    from ..bayes.naive_bayes import NaiveBayes

    return score(NaiveBayes.from_dict(model).predict_proba(test), test)


def score_pooled(parts: Split) -> Scores:
    """Return the scores of the same model on the pooled records, without privacy."""
    import pandas as pd

    from ..bayes.sklearn import NaiveBayesClassifier

    train = pd.concat([pd.read_csv(path) for path in parts.files.values()])
    classifier = NaiveBayesClassifier(DOMAIN, LABEL, bins=BINS).fit(train[FEATURES], train[LABEL])
    return score(classifier.predict_proba(parts.test[FEATURES]), parts.test)


def arguments(epsilon: float) -> dict[str, Any]:
    """Return the task's arguments."""
    return {"label": LABEL, "features": FEATURES, "domain": DOMAIN, "epsilon": epsilon, "bins": BINS}


def compare(parts: Split, epsilon: float, progress: Any) -> tuple[dict[str, Any], dict[str, Scores]]:
    """Return the federated result of one split, and everyone's scores."""
    from ..federation.embedded import EmbeddedFederation

    scores = {demo_report.POOLED: score_pooled(parts)}
    with EmbeddedFederation(parts.files) as federation:
        result = federation.run("dp_naive_bayes", "fit", arguments(epsilon), on_progress=progress)
    scores[demo_report.FEDERATED] = score_model(result["model"], parts.test)
    with ThreadPoolExecutor(max_workers=2) as pool:
        models = pool.map(lambda name: fit_alone(name, parts.files[name], epsilon), parts.files)
        for name, model in zip(parts.files, models, strict=True):
            scores[demo_report.alone(name)] = score_model(model, parts.test)
    return dict(result), scores


def fit_alone(name: str, path: Path, epsilon: float) -> dict[str, Any]:
    """Return the model of one hospital under the same promise."""
    from ..federation.embedded import EmbeddedFederation

    with EmbeddedFederation({name: path}, policies={"*": {"minimum_organizations": 1}}) as alone:
        return dict(alone.run("dp_naive_bayes", "fit", {**arguments(epsilon), "noise": "local"})["model"])


def execute(out: Path, repeats: int, epsilon: float) -> None:
    """Run the demonstration and write its files.

    Raises
    ------
    UsageProblem
        If the folder cannot be written.
    """
    from rich.console import Console

    from ..federation.embedded.processes import processes

    began = time.monotonic()
    hospitals = out / "hospitals"
    for folder in (*reversed(out.absolute().parents), out, hospitals):
        if not folder.exists():
            draft(folder)
    try:
        hospitals.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise UsageProblem(f"--out: {out} cannot be written ({problem.strerror}); choose another folder") from None
    console = Console(stderr=True)
    processes()  # the embedded host imports what containers need while scikit-learn is imported here
    records = load()
    console.print(f"{len(records)} records, {len(SHARES)} hospitals, epsilon {epsilon:g}", highlight=False)
    result, table = _repeat(records, hospitals, repeats, epsilon, console)
    page = demo_report.render(result, table, epsilon)
    write_texts({out / "result.json": json_text(result), out / "report.html": page})
    demo_report.print_table(Console(), table, epsilon)
    for name, content in (("result.json", "result"), ("report.html", "report"), ("hospitals", "the hospitals' files")):
        print(f"{content}: {out / name}")
    print(
        f"done in {time.monotonic() - began:.1f} s; try: fedbayes predict {out / 'result.json'} {hospitals / 'hospital-1.csv'}",
        file=sys.stderr,
    )


def _repeat(
    records: pd.DataFrame, hospitals: Path, repeats: int, epsilon: float, console: Any
) -> tuple[dict[str, Any], demo_report.Table]:
    """Compare on `repeats` random splits; the files and the result of the first are kept."""
    with tempfile.TemporaryDirectory(prefix="fedbayes-demo-") as scratch:
        progress = Progress(console)
        try:
            result, first = compare(split(records, hospitals, 0), epsilon, progress)
        finally:
            progress.finish()
        table: demo_report.Table = {name: [scores] for name, scores in first.items()}
        for number in range(1, repeats):
            console.print(f"random split {number + 1} of {repeats}", highlight=False)
            _, further = compare(split(records, Path(scratch), number), epsilon, None)
            for name, scores in further.items():
                table[name].append(scores)
    return result, table
