"""What the result promises, what is charged, and that the noise has the promised size."""

from dataclasses import replace

import numpy as np
import pytest
from one_process import OneProcess
from party_kit import with_folders
from weighted_tables import DOMAIN, table

from fedbayes.dp.gaussian import mu_of
from fedbayes.dp.ledger import Ledger
from fedbayes.dp.shares import discrete_gaussian
from fedbayes.federation.horizontal import Columns, check_noise
from v6_discriminative_naive_bayes.messages import CountsRequest, Shape, StepRequest
from v6_discriminative_naive_bayes.model import count
from v6_discriminative_naive_bayes.partial import (
    TABLE_BITS,
    encode_rows,
    families,
    honest_deviation,
    sensitivity,
    table_deviation,
)

ALGORITHM = "discriminative_naive_bayes"
BASE = {"label": "class", "domain": DOMAIN, "rounds": 3, "delta": 1e-6}


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("extra", "unit", "charges"),
    [
        ({"tables": "dp", "epsilon": 2.0}, "row", [2.0]),
        ({"epsilon": 2.0}, "row", [2.0]),
        ({"tables": "local", "optimizer": "fedavg", "epsilon": 2.0}, "party", [2.0]),
    ],
)
def test_the_whole_budget_is_charged_once_whatever_the_steps(parties, tmp_path, extra, unit, charges):
    files = with_folders(parties, tmp_path, "ledger")
    policies = {"*": {"ledger": "ledger", "budget_epsilon": 2.0, "budget_delta": 1e-6, "allow_non_private": False}}
    with OneProcess(files, policies=policies) as federation:
        result = federation.run(ALGORITHM, "fit", {**BASE, **extra})
    privacy = result["privacy"]
    assert privacy["differentially_private"] is True
    assert (privacy["unit"], privacy["epsilon"], privacy["delta"]) == (unit, 2.0, 1e-6)
    entries = Ledger(tmp_path / "east" / "fedbayes-ledger.sqlite3").entries()
    assert sorted(entry.epsilon for entry in entries) == charges
    told = privacy["reveals"]["central"]
    assert "noisy sum" in told
    assert "loss" not in told  # of noisy steps no loss is summed
    assert ("noisy tables" in told) == (extra.get("tables") != "local")
    # The number of noisy steps is fixed beforehand: that they ran out is no failure.
    assert result["diagnostics"]["converged"] is None
    assert "Converged" not in result.summary()
    assert not any("had not converged" in warning for warning in result["warnings"])


def test_a_node_without_a_ledger_tells_the_budget_once_too(parties):
    with OneProcess(parties) as federation:
        result = federation.run(ALGORITHM, "fit", {**BASE, "tables": "dp", "epsilon": 2.0})
    assert result["federation"]["debits"] == {name: {"epsilon": 2.0, "delta": 1e-6, "queries": 0.0} for name in parties}


def test_exact_fits_are_refused_where_only_private_answers_may_leave(parties):
    from fedbayes.federation.errors import PolicyError

    with (
        OneProcess(parties, policies={"west": {"allow_non_private": False}}) as federation,
        pytest.raises(PolicyError, match="west"),
    ):
        federation.run(ALGORITHM, "fit", {"label": "class", "domain": DOMAIN})


def step(clip, steps):
    shape = Shape(Columns("class", ["a", "b", "c", "z"], DOMAIN), {"z": 4}, tables="dp")
    layout = shape.layout
    noise = check_noise("distributed", 1.0, 1e-6, "add_remove", 1.0)
    counts = np.zeros(layout.counts, dtype=np.int64)
    return StepRequest(shape, np.ones((1, layout.parameters)), counts, 0, 0.0, False, noise, clip, 1, steps)


def test_the_noise_of_all_steps_fits_the_budget():
    request = step(1.0, 10)
    change = sensitivity(request)
    steps = 10 * (change / honest_deviation(request, 5)) ** 2
    tables = CountsRequest(request.shape, request.noise)
    rows = families(request.shape.layout) / (table_deviation(tables, 5) ** 2 - 4.0**-TABLE_BITS / 12)
    assert 0.998 * mu_of(1.0, 1e-6) ** 2 < steps + rows <= mu_of(1.0, 1e-6) ** 2
    assert change >= 2**16


def test_joint_accounting_needs_less_noise_than_halves_of_epsilon_and_delta():
    """Halves of epsilon and delta, as they were once taken, need 1.4 times the noise."""
    request = step(1.0, 10)
    halves = check_noise("distributed", 0.5, 0.5e-6, "add_remove", 1.0)
    change, entries = sensitivity(request), request.shape.layout.parameters
    assert honest_deviation(request, 5) < 0.72 * halves.width(10, halves.change(change, change, entries), 5)


def test_one_row_is_in_one_cell_of_every_family():
    frame = table(40, 1)
    for structure in ("naive", "a1de"):
        shape = Shape(Columns("class", ["a", "b", "c", "z"], DOMAIN), {"z": 4}, structure=structure, tables="dp")
        parts = [encode_rows(shape, shape.columns.schema.encode(part)) for part in (frame, frame.iloc[1:])]
        change = count(shape.layout, *parts[0]) - count(shape.layout, *parts[1])
        assert 0 < np.square(change).sum() <= families(shape.layout)


def test_shares_add_up_to_the_promised_deviation():
    shares = sum(discrete_gaussian(20000, 1000.0, 5, 1.0) for _ in range(4))
    deviation = float(np.std(shares))
    assert 950 < deviation < 1050


def test_replacing_a_row_costs_twice_as_much_noise():
    request = step(1.0, 5)
    other = check_noise("distributed", 1.0, 1e-6, "replace_one", 1.0)
    first, second = (noise.width(5, noise.change(100.0, 100.0, 10), 3) for noise in (request.noise, other))
    assert second == pytest.approx(2 * first, rel=0.02)


def test_one_row_may_turn_a_whole_improvement_round():
    request = step(1.0, 5)
    averaged = replace(request, iterations=5)
    whole = replace(averaged, shape=replace(request.shape, tables="local"), counts=None)
    rounding = np.sqrt(request.shape.layout.parameters)
    assert sensitivity(request) - rounding == pytest.approx(2**16)
    assert sensitivity(averaged) - rounding == pytest.approx(2**17)
    assert sensitivity(whole) == sensitivity(request)


def test_a_private_evaluation_of_shared_tables_is_charged_once(parties, tmp_path):
    files = with_folders(parties, tmp_path, "ledger")
    policies = {"*": {"ledger": "ledger", "budget_epsilon": 50.0}}
    with OneProcess(files, policies=policies) as federation:
        model = federation.run(ALGORITHM, "fit", {"label": "class", "domain": DOMAIN, "rounds": 1})["model"]
        result = federation.run(ALGORITHM, "evaluate", {"model": model, "epsilon": 40.0})
    assert result["privacy"]["epsilon"] == 40.0
    entries = Ledger(tmp_path / "east" / "fedbayes-ledger.sqlite3").entries()
    assert sum(entry.epsilon for entry in entries) == pytest.approx(40.0)
    assert 0.5 < result["accuracy"] <= 1
