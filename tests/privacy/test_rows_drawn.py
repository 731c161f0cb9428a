"""Rows that a station draws anew in every job: with next to no noise, two answers tell of the rows that one of them lacks."""

import numpy as np
import pandas as pd
import pytest
from party_kit import remembering

from fedbayes.federation import errors
from fedbayes.federation.guards import choosing
from v6_secure_naive_bayes.arguments import Fit

DOMAIN = {
    "ill": {"categories": ["no", "yes"]},
    "town": {"categories": ["north", "south"]},
    "hiv": {"categories": ["neg", "pos"]},
}
TASK = {"label": "ill", "features": ["town", "hiv"], "domain": DOMAIN, "modulus_bits": 2048}
LESS = {"unit": "party", "maximum_records": 40}
"""Station a has 41 rows, the others 40."""
NEXT_TO_NO_NOISE = [{"noise": "none"}, {"epsilon": 1e7}, {"noise": "published", "epsilon": 1e7, "delta": 1e-6}]


def tables():
    found = {}
    for name in "abc":
        draw, rows = np.random.default_rng(ord(name)), 41 if name == "a" else 40
        found[name] = pd.DataFrame({column: draw.choice(entry["categories"], rows) for column, entry in DOMAIN.items()})
    return found


def counts(federation, **more):
    model = federation.run("secure_naive_bayes", "fit", {**TASK, **more})["model"]
    return np.rint([np.array(feature["counts"]).ravel() for feature in model["features"].values()])


@pytest.fixture
def unchecked(monkeypatch):
    """Return nothing; central asks whatever it likes."""
    monkeypatch.setattr(Fit, "check_together", lambda _: None)


@pytest.mark.parametrize("noise", NEXT_TO_NO_NOISE, ids=lambda noise: noise.get("noise", "polya"))
def test_rows_are_drawn_under_noise_alone(tmp_path, unchecked, noise):
    with (
        remembering(tables(), tmp_path, helpers=()) as federation,
        pytest.raises(errors.PolicyError, match="drawn anew"),
    ):
        counts(federation, **LESS, **noise)


@pytest.mark.audit
@pytest.mark.parametrize("noise", NEXT_TO_NO_NOISE[:2], ids=["none", "polya"])
def test_control_unchecked_the_difference_is_one_row(tmp_path, unchecked, monkeypatch, noise):
    monkeypatch.setattr(choosing, "note_drawn", lambda _: None)
    with remembering(tables(), tmp_path, helpers=()) as federation:
        told = counts(federation, **noise) - counts(federation, **LESS, **noise)
    assert told.sum(axis=1).tolist() == [1, 1], "town and illness, state and illness of one row of a"
