"""A central that has stations count on more honest ones than the researcher asked for: with colluding stations' own shares it would take more noise off."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any
from unittest import mock

import pytest
from harness.inprocess import InProcess
from views_cases import CATEGORIES, COUNTED, DOMAIN, JOINED, LABELLED, LIMITS, horizontal, survivors, vertical

from fedbayes.dp import shares
from fedbayes.federation.errors import MessageError
from fedbayes.federation.guards import arrival
from fedbayes.federation.guards.installments import Installment
from fedbayes.federation.jobs import job
from fedbayes.federation.perimeter.manifest import Manifest
from fedbayes.federation.vertical.accounting import change_of, noise_parties

VALUES = {name: {"categories": values} for name, values in CATEGORIES.items()}
NETWORK = {"columns": ["x", "z", "w"], "structure": [["z", "x"]], "domain": VALUES, "epsilon": 1.0}
COX = {"time": "time", "event": "event", "epsilon": 1.0, "delta": 1e-6, "times": [0.5, 1.0, 3.0]}
TASKS: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "tables": ("dp_naive_bayes", "fit", "horizontal", {**LABELLED, "epsilon": 1.0}),
    "columns": ("dp_naive_bayes", "describe", "horizontal", {"domain": DOMAIN, "epsilon": 1.0}),
    "encrypted": ("secure_naive_bayes", "fit", "horizontal", {**LABELLED, "epsilon": 1.0, "modulus_bits": 2048}),
    "encrypted with diluted noise": (
        "secure_naive_bayes",
        "fit",
        "horizontal",
        {**LABELLED, "epsilon": 1.0, "delta": 1e-6, "noise": "diluted_geometric", "modulus_bits": 2048},
    ),
    "steps": ("discriminative_naive_bayes", "fit", "horizontal", {**LABELLED, "epsilon": 1.0, "delta": 1e-6}),
    "a count": ("scalar_product", "count", "vertical", {**COUNTED, "epsilon": 1.0}),
    "a table": (
        "scalar_product",
        "contingency",
        "vertical",
        {"columns": ["x", "z"], "epsilon": 1.0, "domain": VALUES, **JOINED},
    ),
    "a network": ("vertibayes", "fit", "vertical", {**NETWORK, **JOINED}),
    "Cox by rows": (
        "verticox",
        "fit",
        "survivors",
        {**COX, "features": ["age"], "split": "horizontal", "domain": {"age": {"bounds": [0, 1]}}},
    ),
    "Cox by columns": (
        "verticox",
        "fit",
        "vertical",
        {**COX, "features": ["z", "v"], "domain": {"z": VALUES["z"], "v": {"bounds": [-3, 3]}}, **JOINED},
    ),
}
FILES = {"horizontal": horizontal, "vertical": vertical, "survivors": survivors}


@contextmanager
def agreed(fraction: float | None) -> Iterator[None]:
    """The manifest of the job says so, as it does where the researcher asks for that; central's messages go on as if nobody had."""
    if fraction is None:
        yield
        return
    with mock.patch.object(job, "Manifest", partial(manifest_of, fraction)):
        yield


def manifest_of(fraction: float, **entries: Any) -> Manifest:
    return Manifest(**{**entries, "honest_fraction": fraction})


def run(name: str, fraction: float | None, **more: Any) -> Any:
    method, function, tables, asked = TASKS[name]
    files = {**FILES[tables](False), **({"helper": None} if tables == "vertical" else {})}
    policies = {party: dict(LIMITS) for party in files}
    with InProcess(f"v6_{method}", files, policies, "a") as running, agreed(fraction):
        return running.run(function, {**asked, **more})


@pytest.mark.few(4)
@pytest.mark.parametrize("name", TASKS)
def test_no_round_counts_on_more_stations_than_the_manifest_says(name: str) -> None:
    with pytest.raises(MessageError, match="more stations are counted on than the job's manifest says"):
        run(name, 0.5)


@pytest.mark.few(2)
@pytest.mark.parametrize("name", TASKS)
def test_control_unchecked_they_do(name: str) -> None:
    with mock.patch.object(arrival, "as_agreed", return_value=nullcontext()):
        assert run(name, 0.5)["privacy"]["epsilon"] == 1.0


@pytest.mark.few(2)
@pytest.mark.parametrize("name", TASKS)
def test_control_fewer_are_answered(name: str) -> None:
    assert run(name, 0.9)["privacy"]["epsilon"] == 1.0


@pytest.mark.parametrize("name", ["tables", "a count"])
def test_what_the_researcher_asks_for_is_what_the_manifest_says(name: str) -> None:
    assert run(name, None, honest_fraction=1.0)["privacy"]["epsilon"] == 1.0
    assert run(name, None, honest_fraction=0.3)["privacy"]["epsilon"] == 1.0
    with pytest.raises(MessageError, match="counted on"):
        run(name, 0.3, honest_fraction=0.8)


def test_all_stations_have_one_number_or_no_key_in_common() -> None:
    """Those that central tells another number have another manifest, to whose hash every key is bound."""
    kept = []
    check = arrival._check_new

    def noted(station: Any, *rest: Any) -> None:
        check(station, *rest)
        kept.append(rest[-1])

    with mock.patch.object(arrival, "_check_new", noted):
        run("tables", None, honest_fraction=0.4)
    assert [one.honest_fraction for one in kept] == [0.4] * 3
    assert kept[0].hash != replace(kept[0], honest_fraction=1.0).hash


def test_every_sampler_of_shares_holds_to_it() -> None:
    draws = {
        "polya": lambda fraction: shares.polya(3, 4.0, 5, fraction),
        "diluted_geometric": lambda fraction: shares.diluted_geometric(3, 4.0, 5, fraction, 1e-3),
        "discrete_gaussian": lambda fraction: shares.discrete_gaussian(3, 4.0, 5, fraction),
    }
    assert set(draws) == {
        one
        for one, value in vars(shares).items()
        if getattr(value, "__module__", "") == shares.__name__ and one.endswith(("geometric", "polya", "gaussian"))
    }
    for draw in draws.values():
        with shares.trusting_at_most(0.6):
            draw(0.6)
            with pytest.raises(shares.UntrustedFraction):
                draw(0.7)
        draw(0.7)
    with shares.trusting_at_most(0.6):
        assert shares.honest_parties(1, 1.0) == 1, "local noise is whole at every station"


@pytest.mark.parametrize("fraction", [0.3, 0.5, 0.8, 1.0])
def test_where_the_helper_adds_noise_as_many_may_deviate_and_there_is_less_in_all(fraction: float) -> None:
    def spare(parties: int) -> int:
        return parties - shares.honest_parties(parties, fraction)

    for stations in range(2, 40):
        parties = noise_parties(stations, True, fraction)
        widening = [number / shares.honest_parties(number, fraction) for number in (stations, parties)]
        assert noise_parties(stations, False, fraction) == stations
        assert spare(parties) == spare(stations)
        assert (parties > stations) == (widening[1] < widening[0])


@pytest.mark.parametrize("helper", [True, False])
def test_every_share_of_the_noise_of_tables_is_one_of_as_many_as_are_drawn(helper: bool) -> None:
    """Of three stations and a helper each adds a fourth of noise of which three fourths suffice, and the result tells that."""
    drawn = []
    draw = Installment.shares

    def noted(part: Installment, shape: Any, change: Any, parties: int, fraction: float) -> Any:
        noise = draw(part, shape, change, parties, fraction)
        drawn.extend([parties] * (noise.size > 0))
        return noise

    method, function, tables, asked = TASKS["a table"]
    files = {**FILES[tables](False), **({"helper": None} if helper else {})}
    stations = len(files) - helper
    with mock.patch.object(Installment, "shares", noted), InProcess(f"v6_{method}", files, {}, "a") as running:
        result = running.run(function, {**asked, "helper": "helper" if helper else "none"})
    assert drawn == [stations + helper] * (stations + helper)
    cells = len(VALUES["x"]["categories"]) + 1, len(VALUES["z"]["categories"]) + 1
    stated = Installment(1.0).deviation(change_of([cells], "replace_one"), stations + helper, 0.8)
    assert result["diagnostics"]["noise"] == pytest.approx(stated)
