"""Sums by cluster of numbers that nobody sees: they are right, and what every role receives is uniform."""

from typing import Any

import numpy as np
import pytest
from cox_kit import fit_clustered
from scipy.stats import kstest

from fedbayes.federation.errors import MessageError
from fedbayes.federation.guards.once import TWICE
from fedbayes.federation.rounds import Federation
from fedbayes.mpc.shared_fixed import Dealer, Party
from fedbayes.mpc.wide import Wide
from v6_verticox.messages.private import Stage
from v6_verticox.messages.setup import Plan
from v6_verticox.shares.clusters import (
    KIND,
    arranged,
    blocks,
    delta,
    in_common_order,
    order_name,
    places_of,
    published,
    relay_mask,
    sorted_name,
    sums,
)
from v6_verticox.shares.layout import FEATURE_BITS, Layout
from v6_verticox.shares.sorting import secret_order

STAGE, PARTIES = Stage(KIND, 3, 2), 3
RANDOM = np.random.default_rng(2)


def layout_of(rows: int, features: int, records: int, clusters: int, copies: int = 1) -> Layout:
    holders, widths, cases = (
        list(range(PARTIES)),
        [features] + [0] * (PARTIES - 1),
        {"weighted": copies > 1, "copies": copies},
    )
    return Layout(
        Plan(holders, widths, 99, rows, [rows], records * copies, [], 0, False, clusters=[0, clusters], **cases)
    )


def rehearsed(
    codes: np.ndarray, residuals: np.ndarray, blank: int, relayed: bool, copies: int = 1
) -> tuple[np.ndarray, dict[str, Any]]:
    """Return sums by cluster, the largest first, and what roles receive: the grouper is the first party, or the outcome holder, who is the last.

    Residuals are those of so many copies of the records.
    """
    keys = [RANDOM.bytes(32) for _ in range(PARTIES)]
    records, features, rows = len(codes), residuals.shape[1], len(residuals) + blank
    layout = layout_of(rows, features, records, int(codes.max()) + 1, copies)
    dealer, grouper_key = Dealer(keys), keys[0 if relayed else -1]
    mask = dealer.random("opened", (rows, features))
    filled = np.concatenate([residuals, np.full((blank, features), 1e-6)])  # rounding leaves something of blank rows
    opened = Wide.encode(filled, FEATURE_BITS)[secret_order(keys[-1], rows)] - mask
    sent = in_common_order(keys[-1], opened, layout)
    if relayed:
        sent = sent + relay_mask(keys[-1], STAGE, sent.shape)
    told = delta(dealer, layout, STAGE, mask, keys[-1], grouper_key, relayed)
    public = published(grouper_key, STAGE, sent, arranged(codes, blocks(records, layout.clusters)), told)
    shares = [sums(Party(place, PARTIES, key), layout, STAGE, public) for place, key in enumerate(keys)]
    total = shares[0] + shares[1] + shares[2]
    assert total.value is not None
    received = {"sent": sent, "told": told, "sorted": public[sorted_name(STAGE)], "tau": public[order_name(STAGE)].low}
    return total.value.decode(FEATURE_BITS), received


@pytest.mark.parametrize("relayed", [True, False])
@pytest.mark.parametrize("sizes", [[1] * 30, [28, 1, 1], [7, 7, 7, 9], [2] * 15, [1, 3, 5, 6, 15]])
def test_sums_are_those_of_the_clusters(sizes: list[int], relayed: bool) -> None:
    codes = RANDOM.permutation(np.repeat(np.arange(len(sizes)), sizes))
    residuals = RANDOM.normal(size=(len(codes), 2))
    found, _ = rehearsed(codes, residuals, 5, relayed)
    wanted = np.array([residuals[codes == code].sum(axis=0) for code in range(len(sizes))])
    np.testing.assert_allclose(np.sort(found, axis=0), np.sort(wanted, axis=0), atol=1e-6)
    np.testing.assert_allclose(found.T @ found, wanted.T @ wanted, atol=1e-5)


@pytest.mark.parametrize("relayed", [True, False])
def test_a_record_has_the_sum_of_its_rows(relayed: bool) -> None:
    codes, residuals = np.arange(30) // 2, RANDOM.normal(size=(60, 2))
    found, received = rehearsed(codes, residuals, 5, relayed, copies=2)
    wanted = (residuals[:30] + residuals[30:]).reshape(15, 2, 2).sum(axis=1)
    np.testing.assert_allclose(np.sort(found, axis=0), np.sort(wanted, axis=0), atol=1e-6)
    assert received["sent"].shape == (30, 2), "nothing of single rows is moved"


def test_blocks_hold_any_clusters_and_follow_from_two_counts() -> None:
    for _ in range(300):
        records = int(RANDOM.integers(2, 200))
        codes = np.unique(RANDOM.integers(0, RANDOM.integers(1, records + 1), records), return_inverse=True)[1]
        sizes = blocks(records, int(codes.max()) + 1)
        largest_first = np.sort(np.bincount(codes))[::-1]
        assert np.all(largest_first <= sizes)
        assert sorted(place for place in arranged(codes, sizes) if place < records) == list(range(records))
    layout = layout_of(10_000, 1, 10_000, 4_000)
    assert places_of(layout) < 10_000 * (1 + np.log(4_000))


@pytest.mark.parametrize("relayed", [True, False])
def test_what_roles_receive_is_uniform(relayed: bool) -> None:
    """Whatever the residuals are: here they are large, and all clusters but one have one record."""
    codes, found = np.r_[np.zeros(170, dtype=int), np.arange(1, 31)], []
    for _ in range(8):
        found.append(rehearsed(codes, np.full((200, 2), 1000.0), 0, relayed)[1])
    for name in ("sent", "told", "sorted") if relayed else ("told", "sorted"):
        words = np.concatenate([one[name].high.ravel() for one in found]).astype(np.float64) / 2.0**64
        assert kstest(words, "uniform").pvalue > 1e-6, name
    places = np.array([one["tau"] for one in found]) / len(found[0]["tau"])
    for place in (0, 1, -1):  # a record at the block's beginning, what fills up at its end
        assert len(set(places[:, place])) > 4
    assert kstest(np.concatenate([one[:170] for one in places]), "uniform").pvalue > 1e-6


def lie(monkeypatch: pytest.MonkeyPatch, change: Any) -> None:
    """Have central change what it tells the outcome holder of the residuals."""
    honest = Federation.round

    def round_(self: Any, function: str, request: Any, organizations: Any, reply_type: Any, **options: Any) -> Any:
        if function == "partial_group" and request.openings.sums:
            request = change(self, request, lambda one: honest(self, function, one, organizations, reply_type))
        return honest(self, function, request, organizations, reply_type, **options)

    monkeypatch.setattr(Federation, "round", round_)


def one_bit(request: Any) -> Any:
    """Return a request with another opening."""
    changed = {name: opening.copy() for name, opening in request.openings.sums.items()}
    next(iter(changed.values())).reshape(-1)[0] ^= 1
    return type(request)(request.plan, request.stage, type(request.openings)(changed), request.residuals, request.dealt)


def test_without_a_lie_the_fit_ends() -> None:
    model = fit_clustered()["model"]
    assert (model["cluster"], model["clusters"]) == ("family", 20)


def test_other_residuals_for_the_outcome_holder_end_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the sum of a cluster with a number that central chose would be revealed, and two of these tell the cluster's sum."""
    lie(monkeypatch, lambda self, request, ask: one_bit(request))
    with pytest.raises(MessageError, match=TWICE):
        fit_clustered()


def test_residuals_are_moved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def twice(self: Any, request: Any, ask: Any) -> Any:
        ask(one_bit(request))
        return request

    lie(monkeypatch, twice)
    with pytest.raises(MessageError, match="twice"):
        fit_clustered()


def test_a_stage_that_sums_nothing_moves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def other(self: Any, request: Any, ask: Any) -> Any:
        return type(request)(request.plan, Stage("turn", 1, 1), request.openings, None, None)

    lie(monkeypatch, other)
    with pytest.raises(MessageError, match="no stage that sums by cluster"):
        fit_clustered()
