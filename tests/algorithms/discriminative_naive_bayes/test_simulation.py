"""The research simulation gives what the federation gives."""

import numpy as np
import pytest
from one_process import OneProcess
from weighted_tables import DOMAIN

from discriminative_naive_bayes.simulation import Clients, simulated
from fedbayes.federation.horizontal import Columns
from v6_discriminative_naive_bayes.messages import Shape
from v6_discriminative_naive_bayes.partial import encode_rows

ALGORITHM = "discriminative_naive_bayes"
DEFAULTS = {"regularization": 0.0, "prior": "log", "tables": "secure_sum", "optimizer": "secure_gradient"}
PUBLISHED = {"prior": "published", "tables": "local", "optimizer": "fedavg", "aggregation": "mean"}


@pytest.mark.few(1)
@pytest.mark.parametrize("chosen", [DEFAULTS, {**DEFAULTS, "regularization": 0.01}, PUBLISHED])
def test_the_simulation_equals_the_embedded_federation(parties, tables, chosen):
    with OneProcess(parties) as federation:
        result = federation.run(ALGORITHM, "fit", {"label": "class", "domain": DOMAIN, "rounds": 3, **chosen})
    columns = Columns("class", ["a", "b", "c", "z"], DOMAIN)
    shape = Shape(columns, {"z": 10}, prior=chosen["prior"], tables=chosen["tables"])
    rows = [encode_rows(shape, columns.schema.encode(frame)) for frame in tables]
    clients, fit = simulated(shape, rows, rounds=3, **chosen)
    np.testing.assert_allclose(fit.weights, result["model"]["weights"], atol=1e-6)
    np.testing.assert_allclose(fit.objective, result["diagnostics"]["objective"], atol=1e-6)
    assert result["warnings"] == clients.warnings
    assert len(clients.asked) == 3
    assert (clients.asked[0] == (0.0 if chosen is PUBLISHED else 1.0)).all()


def test_the_simulation_refuses_noise(tables):
    columns = Columns("class", ["a", "b", "c", "z"], DOMAIN)
    shape = Shape(columns, {"z": 10}, tables="dp")
    rows = [encode_rows(shape, columns.schema.encode(frame)) for frame in tables]
    with pytest.raises(ValueError, match="noise"):
        simulated(shape, rows, tables="dp", epsilon=1.0)
    assert Clients(shape, rows).asked == []
