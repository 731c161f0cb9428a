"""The research simulation gives the members, weights and scores of the federation, in all three splits."""

import numpy as np
import pytest
from exact_kit import weighted_auc
from one_process import OneProcess

from bayesian_ensemble import simulation
from fedbayes.bayes.evaluation import metrics
from v6_bayesian_ensemble.ensemble import Ensemble
from v6_bayesian_ensemble.model import Learning, column_codes

NAME = "bayesian_ensemble"
GIVEN = {"label": "ill", "id_column": "id", "structure": "augmented", "vote": "log_pool", "bound": 0.01}
LEARNING = Learning(structure="augmented")


def check_equal(model, members, weights) -> None:
    for ours, simulated, weight in zip(Ensemble.read(model).members, members, weights, strict=True):
        assert ours.network.parents == simulated.network.parents
        for node, table in simulated.network.tables.items():
            assert ours.network.tables[node] == pytest.approx(table, abs=1e-12)
        assert ours.classes == simulated.classes
        assert ours.weight == pytest.approx(weight)


@pytest.mark.audit
def test_vertical(federation, table) -> None:
    fitted = federation.run(NAME, "fit", GIVEN)
    scores = federation.run(NAME, "evaluate", {"model": fitted["model"], "id_column": "id"})
    members = simulation.vertical(table, "ill", [["smoke", "age"], ["cough", "xray"], ["fever"]], LEARNING)
    check_equal(fitted, members, [1 / 3] * 3)
    model = simulation.ensemble(members, "ill", "log_pool", "uniform", "vertical", 0.01)
    logs = model.predict_log_proba({name: table[name] for name in table}, len(table))
    truth = column_codes(table["ill"], model.classes, None)
    assert scores["log_loss"] == pytest.approx(metrics.row_losses(truth, logs).mean(), abs=1e-8)
    assert scores["auc"] == pytest.approx(weighted_auc(truth, logs), abs=2e-3)


def test_horizontal_weighed_by_score(rows_federation, table) -> None:
    fitted = rows_federation.run(NAME, "fit", {**GIVEN, "split": "horizontal", "weights": "score"})
    frames = [table.iloc[at::3].drop(columns="id") for at in range(3)]
    members = simulation.horizontal(frames, "ill", LEARNING, {})
    model = simulation.ensemble(members, "ill", "log_pool", "uniform", "horizontal")
    check_equal(fitted, members, [member.weight for member in simulation.tested(model, frames).members])


@pytest.mark.audit
def test_hybrid(table, kit) -> None:
    parts = [
        table.iloc[:300][["id", "smoke", "age", "ill"]],
        table.iloc[300:][["id", "smoke", "age", "ill"]],
        table[["id", "cough", "xray", "fever"]],
    ]
    domain = {"smoke": {"categories": ["no", "yes"]}, "ill": {"categories": ["no", "yes"]}}
    given = {**GIVEN, "split": "hybrid", "domain": domain, "bins": {"age": [40, 60]}}
    with OneProcess(parties=kit.shuffled(parts), helpers=["helper"], policies=kit.limits) as federation:
        fitted = federation.run(NAME, "fit", given)
        scores = federation.run(NAME, "evaluate", {"model": fitted["model"], "id_column": "id"})
    frames = [part.set_index("id") for part in parts]
    members = simulation.hybrid(frames, "ill", LEARNING, domain, {"age": [40, 60]})
    check_equal(fitted, members, [1 / 3] * 3)
    model = simulation.ensemble(members, "ill", "log_pool", "uniform", "hybrid", 0.01)
    found = [m.posterior("ill", model.classes, {c: table[c] for c in m.columns}, len(table)) for m in members]
    present = [np.asarray(table["id"].isin(frame.index)) for frame in frames]
    truth = column_codes(table["ill"], model.classes, None)
    assert scores["log_loss"] == pytest.approx(metrics.row_losses(truth, model.elect(found, present)).mean(), abs=1e-8)
