"""A sum over one station would be its own numbers: it is refused before anything is debited."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess
from party_kit import with_folders

from fedbayes.dp.ledger import Ledger
from fedbayes.federation.errors import ThresholdError

DRAW = np.random.default_rng(7)
RECORDS = pd.DataFrame({name: DRAW.integers(0, 2, 120) for name in ("smoker", "ill")})
DOMAIN = {name: {"categories": [0, 1]} for name in RECORDS}
LABELLED = {"label": "ill", "domain": DOMAIN, "epsilon": 1.0}


@pytest.mark.parametrize(
    ("algorithm", "arguments"),
    [
        ("dp_naive_bayes", LABELLED),
        ("discriminative_naive_bayes", {**LABELLED, "delta": 1e-6}),
        (
            "vertibayes",
            {
                "split": "horizontal",
                "columns": [*RECORDS],
                "domain": DOMAIN,
                "structure": "private",
                "epsilon": 1.0,
                "delta": 1e-6,
            },
        ),
    ],
)
def test_nothing_is_debited_for_a_sum_over_one_station(
    tmp_path: Path, algorithm: str, arguments: dict[str, Any]
) -> None:
    parties = with_folders({"alone": RECORDS}, tmp_path, "ledger")
    limits = {"*": {"minimum_organizations": 1, "ledger": "ledger", "budget_epsilon": 5.0, "budget_delta": 1e-4}}
    with OneProcess(parties, policies=limits) as running, pytest.raises(ThresholdError, match="two or more with data"):
        running.run(algorithm, "fit", arguments)
    assert not [file for file in tmp_path.rglob("fedbayes-ledger*") if Ledger(file).entries()]
