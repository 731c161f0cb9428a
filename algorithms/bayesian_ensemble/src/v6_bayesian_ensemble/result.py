"""What the researcher gets: members, scores or predictions, and what was revealed to whom."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbayes.bayes.evaluation.coarse import COARSE
from fedbayes.federation import Federation, results

from .arguments import Fit
from .ensemble import Ensemble
from .training import Trained

LOCAL = {
    "central": "the members that stations learned from their own rows, the classes and the number of labelled rows of each station",
    "researcher": "the members",
}
SECRET = {
    "central": "the classes, the names of columns and the number of labelled rows of each station; the secret members stay there",
}
EXACT = "the members' networks are computed from exact counts: of one station where it learned alone, else of the common records"
STAYED = "the classes that occur at each station and its number of rows are exact; the members stay at their stations"
SCORED = "exact sums over records are released"
JOINED = {
    "stations": "their own members, the number of records",
    "helper": "the number of records of each station and in common",
}
"""Where the columns of records are joined over stations."""
PREDICTED = "probabilities of single records are released"


def fitted(federation: Federation, asked: Fit, trained: Trained) -> dict[str, Any]:
    """Return the result of `fit`."""
    model = trained.ensemble
    reveals = dict(SECRET if model.secret else LOCAL) if asked.split != "vertical" else {}
    for role, text in trained.reveals.items():
        reveals[role] = f"{reveals[role]}; {text}" if role in reveals else text
    if asked.weights == "score":
        tests = "how often each member is right on held-out records, by class"
        reveals["central"] = f"{reveals['central']}; {tests}" if "central" in reveals else tests
    return federation.result(
        model=model.to_json(),
        privacy=results.not_private(STAYED if model.secret else EXACT, reveals),
        diagnostics={
            "records": trained.records,
            "batches": trained.batches if trained.tables is not None else None,
            "minimum_count": trained.minimum_count if trained.tables is not None else None,
            "members": [
                {"name": m.name, "columns": len(m.columns), "rows": m.rows, "weight": m.weight} for m in model.members
            ],
        },
    )


def evaluated(
    federation: Federation, model: Ensemble, scores: dict[str, Any], scoring: str, aligned: bool
) -> dict[str, Any]:
    """Return the result of `evaluate`: accuracy, auc, log_loss, calibration, n; both ways of scoring side by side."""
    both = {"labelled": scores["auc"], "published": scores["auc_published"]}
    reveals = {"central": "sums over records: confusion, histograms of scores, log-loss", "stations": "the members"}
    if aligned:
        reveals["label_holder"] = "the combined class probabilities of the records"
        reveals |= {**JOINED, **_of_groups(model)}
    if scores["coarse"]:
        federation.warn(scores["coarse"])
    plain = {name: scores[name] for name in ("accuracy", "log_loss", "calibration", "roc", "n", "unlabelled")}
    return federation.result(
        model=None,
        privacy=results.not_private(SCORED + COARSE if scores["errors"] else SCORED, reveals),
        diagnostics={"confusion": scores["confusion"], "classes": list(model.classes), **scores["errors"]},
        **plain,
        auc=both[scoring],
        auc_by_scoring=both,
        scoring=scoring,
    )


def classified(
    federation: Federation,
    model: Ensemble,
    identifiers: list[str],
    probabilities: Any,
    stations: list[str] | None = None,
    joined: bool = False,
) -> dict[str, Any]:
    """Return the result of `classify`; `joined`: whether records' columns were joined over stations."""
    where = {} if stations is None else {"stations": stations}
    rounded = np.asarray(probabilities).round(6)
    content = results.predictions(model.label, model.classes, rounded, identifiers=identifiers, **where)
    reveals = {"central": "the combined class probabilities of each record, and its identifier; no member's own vote"}
    reveals |= {**(JOINED if joined else {}), **_of_groups(model)}
    return federation.result(content, results.not_private(PREDICTED, reveals), {"records": len(content["predicted"])})


def _of_groups(model: Ensemble) -> dict[str, str]:
    """Return what is told besides where members are groups of stations."""
    if all(len(member.stations) == 1 for member in model.members):
        return {}
    return {
        "group_leaders": "their group's class probabilities of the records",
        "everyone": "the tables of the groups' networks that hold the label",
    }
