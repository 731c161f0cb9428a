"""Sums over members of an ensemble are over enough of their stations: those without a member add zeros, which hide nobody's votes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess
from party_kit import with_folders

from fedbayes.federation.errors import MessageError, ThresholdError
from fedbayes.federation.rounds import Federation
from fedbayes.federation.station import Station
from v6_bayesian_ensemble import local

BINARY: dict[str, Any] = {"categories": ["no", "yes"]}
FIT = {
    "label": "ill",
    "features": ["x", "z"],
    "domain": {name: BINARY for name in ("x", "z", "ill")},
    "split": "horizontal",
}
RECORDS = {"x": ["no", "yes", "no", "yes"], "z": ["no", "no", "yes", "yes"]}


def federation(folder: Path, central: str = "d") -> OneProcess:
    """Return six stations with data, the second three of which have other columns, and a helper."""
    tables = {}
    for place, name in enumerate("abcdef"):
        draw = np.random.default_rng(place)
        columns = {
            column: draw.choice(BINARY["categories"], 60, p=(0.3 + place / 20, 0.7 - place / 20))
            for column in ("x", "z", "ill")
        }
        tables[name] = pd.DataFrame(columns).rename(columns={} if name in "abc" else {"x": "u", "ill": "well"})
    limits = {name: {"ledger": "vault", "allow_predictions": True} for name in tables}
    return OneProcess(with_folders(tables, folder), ["h"], limits, aggregator=central)


def asking(function: str, members: tuple[int, ...]) -> Any:
    """Central asks others than all."""
    honest = Federation._ask

    def ask(self: Federation, asked: str, request: Any, organizations: Any, *rest: Any) -> Any:
        return honest(self, asked, request, members if asked == function else organizations, *rest)

    return mock.patch.object(Federation, "_ask", ask)


def secret(running: OneProcess, organizations: str) -> Any:
    """Return an ensemble whose members stay at these stations."""
    return running.run("bayesian_ensemble", "fit", {**FIT, "secret": True, "organizations": list(organizations)})[
        "model"
    ]


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[OneProcess, Any]]:
    """Return a federation and an ensemble whose members stayed at the first three of its stations."""
    with federation(tmp_path_factory.mktemp("nodes")) as running:
        yield running, secret(running, "abc")


def votes(fitted: tuple[OneProcess, Any], organizations: str) -> list[list[float]]:
    running, model = fitted
    asked = {"model": model, "records": RECORDS, "organizations": list(organizations)}
    found: list[list[float]] = running.run("bayesian_ensemble", "classify", asked)["model"]["probabilities"]
    return found


@pytest.mark.parametrize("organizations", ["abc", "abcdef", "abch"])
def test_stations_with_members_vote_whoever_is_asked_too(fitted: tuple[OneProcess, Any], organizations: str) -> None:
    assert votes(fitted, organizations) == pytest.approx(np.array(votes(fitted, "abc")), abs=1e-6)


@pytest.mark.parametrize("organizations", ["ade", "bdef", "abde"])
def test_stations_without_a_member_do_not_count(fitted: tuple[OneProcess, Any], organizations: str) -> None:
    with pytest.raises(ThresholdError, match="have a secret member"):
        votes(fitted, organizations)


def test_all_of_two_members_vote_together(fitted: tuple[OneProcess, Any]) -> None:
    """The researcher fits over two and a helper, which nodes allow; no node's votes are told alone."""
    two = fitted[0], secret(fitted[0], "abh")
    assert len(votes(two, "abd")) == len(RECORDS["x"])
    with pytest.raises(ThresholdError, match="have a secret member"):
        votes(two, "ade")


def test_nor_where_central_asks_fewer_than_the_researcher(fitted: tuple[OneProcess, Any]) -> None:
    with asking("partial_outside", (1, 4, 5)), pytest.raises(ThresholdError, match="have a secret member"):
        votes(fitted, "abcdef")


def test_control_unlooked_at_one_station_votes_alone(fitted: tuple[OneProcess, Any]) -> None:
    with mock.patch.object(local, "_check_voters"):
        alone = votes(fitted, "ade")
    assert np.abs(np.array(alone) - votes(fitted, "abc")).max() > 0.01


def in_a_fit(folder: Path, asked: tuple[int, ...]) -> tuple[Any, dict[int, Any]]:
    """Return the sum that central at the second of four stations makes of how often members are right, and each station's part of it."""
    tables = {
        party: pd.DataFrame({name: draw.choice(BINARY["categories"], 60) for name in FIT["domain"]})
        for party, draw in zip("abcd", map(np.random.default_rng, range(4)), strict=True)
    }
    summing, mask, sums, parts = Federation.secure_sum, Station.mask, list[Any](), dict[int, Any]()

    def noted_sum(self: Federation, function: str, *rest: Any, **named: Any) -> Any:
        sums.append(summing(self, function, *rest, **named))
        return sums[-1]

    def noted(self: Station, content: Any, *rest: Any, **named: Any) -> Any:
        if self.function == "partial_tested":
            parts[self.organization] = content.value.view(np.uint64)
        return mask(self, content, *rest, **named)

    with (
        OneProcess(with_folders(tables, folder), ["h"], aggregator="b") as running,
        asking("partial_tested", asked),
        mock.patch.object(Federation, "secure_sum", noted_sum),
        mock.patch.object(Station, "mask", noted),
    ):
        running.run("bayesian_ensemble", "fit", {**FIT, "weights": "score"})
    return np.asarray(sums[0]).view(np.uint64), parts


def test_members_are_tested_by_all_other_stations(tmp_path: Path) -> None:
    with pytest.raises(MessageError, match="is not asked of all"):
        in_a_fit(tmp_path, (1, 2, 3))
    found, parts = in_a_fit(tmp_path, (1, 2, 3, 4))
    assert (found == sum(parts.values())).all()


def test_control_unlooked_at_one_stations_test_of_a_member_is_told(tmp_path: Path) -> None:
    """The third station's member is tested by the first and the second alone, of which central knows the second's."""
    with mock.patch.object(Station, "require_asked"):
        found, parts = in_a_fit(tmp_path, (1, 2, 3))
    third = slice(2 * 4, 3 * 4)
    assert (found - parts[2])[third].tolist() == parts[1][third].tolist() != [0] * 4
