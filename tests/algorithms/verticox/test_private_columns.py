"""Fits of columns of the same records with noise: exact products on shares, near the pooled fit, every placement, gaps, models that are used."""

import numpy as np
import pytest
from cox_noise_kit import BETA, HALF, NAMES, pooled, simulated
from cox_noise_kit import TASK as BY_ROWS
from cox_rows_kit import table
from one_process import OneProcess
from party_kit import by_columns

from fedbayes.client.result import Result
from fedbayes.federation.errors import ArgumentError, PlacementError
from fedbayes.mpc.shared_fixed import Dealer, Party
from fedbayes.mpc.wide import Wide
from fedbayes.mpc.wires import added
from v6_verticox.messages.setup import Plan
from v6_verticox.noisy.messages import Sizes
from v6_verticox.noisy.program import Step

TASK = {name: value for name, value in BY_ROWS.items() if name != "split"}
THREE = {"s0": ["u"], "s1": ["v"], "s2": ["w", "t", "d"]}
TWO = {"s0": ["u", "v", "w"], "s1": ["t", "d"]}


def ask(frame, homes=THREE, central="s0", limits=None, function="fit", aligned=False, **arguments):
    """Ask about the frame's columns, each station's records in an order of its own."""
    frame = frame.assign(person=np.arange(len(frame)))
    tables = (
        {name: frame[columns] for name, columns in homes.items()} if aligned else by_columns(frame, homes, ["person"])
    )
    policies = {"*": {"minimum_organizations": 2, **(limits or {})}}
    matched = {"rows_aligned": True} if aligned else {"id_column": "person"}
    with OneProcess(tables, helpers=["helper", "neutral"], policies=policies, aggregator=central) as running:
        return dict(running.run("verticox", function, {**matched, "helper": "helper", **arguments}))


def played(widths, weighted):
    """Return what the products of a step reveal, and what they must be, for entries that are drawn."""
    rng, rows, holders = np.random.default_rng(1), 40, len(widths)
    plan = Plan(list(range(1, holders + 1)), widths, 99, rows, [rows], rows, [], 0, True)
    sizes, keys = Sizes(1, 3, 2, weighted), [rng.bytes(32) for _ in range(holders)]
    corrections = Step(Dealer(keys, 0), plan, sizes, {}).deal()
    parties = [
        Step(Party(place, holders, keys[place], corrections if place == 0 else None, 0), plan, sizes, {})
        for place in range(holders)
    ]
    values, openings = {}, {}
    for name, entry in parties[0].entries().items():
        shape = (rows, entry.columns)
        drawn = rng.normal(size=shape) if name.kind == "columns" else rng.uniform(0, 1, shape)
        values[name] = np.trunc(drawn * 2.0**entry.bits) / 2.0**entry.bits
        openings[name] = parties[entry.holder].engine.enter(name, Wide.encode(values[name], entry.bits))
    for stage in range(parties[0].stages):
        for party in parties:
            for name, public in openings.items():
                if stage:
                    party.receive(stage - 1, name, public)
                else:
                    party.enter(name, public)
        told = [party.run(stage) for party in parties]
        openings = {
            name: added(one.engine.open_with(name, out.opened[name]) for one, out in zip(parties, told, strict=True))
            for name in told[0].opened
        }
    found = {}
    for kind, bits in parties[0].reveals().items():
        total = told[0].revealed[kind].value
        for out in told[1:]:
            total = total + out.revealed[kind].value
        found[kind] = total.decode(bits)
    x = np.concatenate([value for name, value in values.items() if name.kind == "columns"], axis=1)
    kept, risk = (
        np.prod([value for name, value in values.items() if name.kind == kind], axis=0) for kind in ("kept", "risk")
    )
    own = {name.kind: value for name, value in values.items()}
    wanted = {
        "slope": x.T @ (kept * own["event"] - risk * own["hazard"]),
        "missed": kept.T @ own["missed"] - risk.T @ own["expected"],
        "matrix": x.T @ (x * (risk if weighted else kept) * own["matrix"]),
        "drift": x.T @ (risk * own["drift"]),
    }
    return found, wanted


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("widths", [[2, 0], [1, 2], [2, 2, 1], [1, 1, 1, 1, 0], [1] * 8])
def test_products_on_shares_are_exact(widths, weighted):
    """To the last digit of float64: nothing is cut on the way."""
    found, wanted = played(widths, weighted)
    for kind, values in wanted.items():
        np.testing.assert_allclose(found[kind], values, rtol=1e-13, atol=1e-13)


@pytest.mark.audit
def test_with_much_budget_it_is_the_pooled_fit():
    """Epsilon 20, 20,000 records: within .9 of a standard error, where the noise alone has a deviation of about .25."""
    frame = simulated(1, 20_000)
    result = ask(frame, **TASK, epsilon=20.0)
    found, peer = table(result["model"]), pooled(frame, 1.0)
    errors = peer.standard_errors_[NAMES].to_numpy()
    assert np.max(np.abs(found.loc[NAMES, "coefficient"].to_numpy() - peer.params_[NAMES].to_numpy()) / errors) < 0.9
    np.testing.assert_allclose(found.loc[NAMES, "standard_error"], errors, rtol=0.1)
    model, privacy = result["model"], result["privacy"]
    np.testing.assert_allclose(model["baseline"]["cumulative_hazard"], model["times"], rtol=0.06)
    assert abs(model["records"] - 20_000) < 200
    assert privacy["differentially_private"] is True
    assert "the honest fraction of the stations adds its noise" in privacy["reveals"]["assumption"]
    assert privacy["neighbors"] == "replace_one"
    assert not result["warnings"]
    assert result["federation"]["rounds"] == 17


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("homes", "central", "aligned", "rounds"),
    [(TWO, "s0", False, 14), (TWO, "s1", True, 12), (THREE, "s2", True, 15), (THREE, "neutral", False, 17)],
)
def test_every_placement(homes, central, aligned, rounds):
    """The same records, other roles: what hardly any noise leaves is the same model."""
    frame = simulated(2, 600)
    loud = {"epsilon": 1e6, "delta": 1e-4}
    result = ask(frame, homes, central, aligned=aligned, **TASK, **loud)
    assert result["federation"]["rounds"] == rounds
    assert result["model"]["records"] == 600
    found = table(result["model"]).loc[NAMES]
    peer = pooled(frame, 1.0)
    difference = (found["coefficient"] - peer.params_[NAMES]) / peer.standard_errors_[NAMES]
    assert np.max(np.abs(difference)) < 0.6


def test_a_record_with_a_gap_anywhere_counts_nowhere():
    """Of it no station's sums change with its other values, but for the outline, which each station makes of what it knows."""
    frame = simulated(3, 400).astype(object)
    frame.loc[:99, "u"] = None
    wild = frame.copy()
    wild.loc[:99, "v"], wild.loc[:99, "w"] = HALF, -HALF
    loud = {"epsilon": 1e8, "delta": 1e-4}
    found = [table(ask(one, **TASK, **loud)["model"]).loc[NAMES, "coefficient"] for one in (frame, wild)]
    peer = pooled(frame.iloc[100:].astype(float), 1.0)
    assert np.max(np.abs(found[0] - peer.params_[NAMES]) / peer.standard_errors_[NAMES]) < 0.6
    assert np.max(np.abs(found[0] - found[1]) / peer.standard_errors_[NAMES]) < 0.6


@pytest.mark.audit
@pytest.mark.parametrize(("fits", "least"), [(3, 5), (12, 28)])
def test_standard_errors_hold_the_noise(fits, least):
    """Three 95 % intervals a fit at epsilon 2 miss the truth seldom: of 36 at most 8, of 9 at most 4 (chance of more: 1e-3)."""
    inside = 0
    for seed in range(fits):
        found = table(ask(simulated(seed, 2000), **TASK, epsilon=2.0)["model"]).loc[NAMES]
        inside += int(np.sum((found["lower_95"].to_numpy() <= BETA) & (found["upper_95"].to_numpy() >= BETA)))
    assert inside >= least


def test_a_node_of_private_answers_only_answers_it_and_noise_that_dominates_is_told():
    result = ask(simulated(3, 300), limits={"allow_non_private": False}, **TASK, epsilon=0.1)
    assert result["model"]["noise"]["coefficients"].keys() == set(NAMES)
    assert any("the noise dominates" in warning for warning in result["warnings"])


@pytest.mark.audit
def test_a_model_is_used_as_any_other():
    frame = simulated(4, 3000)
    result = Result(ask(frame, **TASK, epsilon=5.0))
    shown = ask(frame, limits={"allow_predictions": True}, function="predict", model=result["model"])["predictions"]
    own = frame.assign(person=range(3000))
    wanted = result.predict(own)["linear_predictor"].to_numpy()
    np.testing.assert_allclose(np.sort(shown["linear_predictor"]), np.sort(wanted), atol=1e-6)
    judged = ask(frame, limits={"allow_predictions": True}, function="evaluate", model=result["model"])
    assert judged["metrics"]["concordance"] > 0.55


def test_who_has_what_is_checked_before_anything_is_spent():
    frame = simulated(5, 60)
    with pytest.raises(PlacementError, match="all features are where the outcome is"):
        ask(frame.assign(other=0), {"s0": ["other"], "s1": ["u", "v", "w", "t", "d"]}, **TASK, epsilon=1.0)
    with pytest.raises(ArgumentError, match="two stations have the column 'u'"):
        ask(frame, {"s0": ["u", "v"], "s1": ["u", "w", "t", "d"]}, **TASK, epsilon=1.0)
    with pytest.raises(ArgumentError, match="time: no station has the column 't'"):
        ask(frame, {"s0": ["u", "v"], "s1": ["w"]}, **TASK, epsilon=1.0)
    with pytest.raises(PlacementError, match="helper"):
        ask(frame, central="helper", **TASK, epsilon=1.0)
