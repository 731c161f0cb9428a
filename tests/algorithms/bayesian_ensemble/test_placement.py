"""Without a helper, and with members that stay: the same ensemble."""

import numpy as np
import pytest
from one_process import OneProcess
from party_kit import with_folders

NAME = "bayesian_ensemble"
GIVEN = {"label": "ill", "id_column": "id", "structure": "naive"}


@pytest.mark.audit
def test_three_stations_need_no_helper(table, kit, federation) -> None:
    arguments = {**GIVEN, "weights": "score", "folds": 2}
    plain = federation.run(NAME, "fit", GIVEN)
    with OneProcess(parties=kit.vertical(table), policies=kit.limits) as alone:
        fitted = alone.run(NAME, "fit", {**arguments, "helper": "none"})
        asked = {"model": fitted["model"], "id_column": "id", "helper": "none"}
        scores = alone.run(NAME, "evaluate", asked)
    for ours, theirs in zip(fitted["model"]["members"], plain["model"]["members"], strict=True):
        assert ours["network"] == theirs["network"]
    assert scores["n"] == len(table)
    assert scores["auc"] > 0.9


@pytest.mark.audit
def test_secret_hybrid_members_vote_on_the_records_of_the_stations(table, kit, tmp_path) -> None:
    parts = [table.iloc[:300][["id", "smoke", "age", "ill"]], table.iloc[300:][["id", "cough", "xray", "ill"]]]
    parties = with_folders(kit.shuffled(parts), tmp_path)
    limits = {**kit.limits, **{name: {"ledger": "vault", "minimum_organizations": 2} for name in parties}}
    given = {**GIVEN, "split": "hybrid"}
    with OneProcess(parties=parties, helpers=["helper"], policies=limits) as federation:
        found = []
        for secret in (False, True):
            fitted = federation.run(NAME, "fit", {**given, "secret": secret})
            asked = {"model": fitted["model"], "id_column": "id", "identify": "station0"}
            content = federation.run(NAME, "classify", asked)["model"]
            chances = zip(content["identifiers"], content["probabilities"], strict=True)
            found.append({name: chance for name, chance in chances if name})
    assert len(found[0]) == 300
    assert all(np.asarray(found[1][name]) == pytest.approx(np.asarray(chance)) for name, chance in found[0].items())
