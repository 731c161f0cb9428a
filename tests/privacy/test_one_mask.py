"""Central, at a data station, has two contents hidden by one mask within what a job asks once: the difference is other stations' columns, record by record."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cox_kit import fit_three_stations
from one_process import OneProcess
from party_kit import by_columns

from fedbayes.federation.errors import AlgorithmError, MessageError, StationError
from fedbayes.federation.questions import factor_info
from fedbayes.federation.questions.factor_info import Wanted, factor_name
from fedbayes.federation.rounds import Federation
from fedbayes.federation.vertical import matching, partials, sides, workspace
from fedbayes.federation.vertical.deliveries import Deliveries
from fedbayes.federation.vertical.engine import Engine
from fedbayes.federation.vertical.messages import Product
from fedbayes.federation.vertical.workspace import Workspace
from fedbayes.mpc.subset_shares import correction_pad
from v6_verticox.messages.names import START, Name
from v6_verticox.messages.private import EnterReply, EnterRequest, Stage
from v6_verticox.rounds.surface import FederatedSurface
from v6_verticox.shares import newton_step
from v6_verticox.shares.reciprocals import NEWTON
from v6_verticox.stations import dealer
from v6_verticox.stations.holder import ShareHolder

ROWS, HELPER = 60, 4
CODES = {"categories": ["v0", "v1"]}
NOISE = {"exact": {}, "noisy": {"epsilon": 1.0, "domain": dict.fromkeys("xyzw", CODES)}}


def people() -> pd.DataFrame:
    draw = np.random.default_rng(2)
    columns = {name: [f"v{code}" for code in draw.integers(0, 2, ROWS)] for name in "xzw"}
    columns["y"] = ["v1" if code == "v0" else "v0" for code in columns["x"]]
    return pd.DataFrame({"id": [f"p{row:03d}" for row in range(ROWS)], **columns})


def federation(**limits: Any) -> OneProcess:
    parties = by_columns(people(), {"a": ["x", "y"], "b": ["z"], "c": ["w"]})
    return OneProcess(parties, helpers=["helper"], policies={"*": limits})


def names_in_order(station: Workspace) -> list[str]:
    """Return whose the common records are, as the first station knows by its own identifiers."""
    own = by_columns(people(), {"a": ["x"]})["a"]["id"].to_numpy()
    return list(own[station.common_order(len(own))])


# -- products under one name -----------------------------------------------------------------------------------------------


def read_by_two_products(monkeypatch: pytest.MonkeyPatch, noise: dict[str, Any]) -> dict[str, bool]:
    """Have a column of the second station opened under one name with two of central's own, which are opposites; return who has its first state."""
    own, others = [factor_name("states", [name]) for name in "xy"], factor_name("states", ["z"])
    told, whose = list[Any](), list[str]()
    honest, pack, to = Federation.round, Workspace.pack, Deliveries.to

    def round_(self: Any, function: str, requests: Any, *rest: Any, **more: Any) -> Any:
        if function == "partial_extend":
            first = next(iter(requests.values()))
            states = next(one.states for one in first.delivery.factors if one.name == others)
            shared = {"holders": [1, 2], "contributors": [1, 2, HELPER], "sides": [states, states], "complete": True}
            made = replace(first.products[0].factor, name="one", width=(states - 1) ** 2, columns=["one"], **shared)
            twice = [Product(replace(made, made_of=[part, others]), part, others) for part in own]
            requests = {at: replace(one, products=[*one.products, *twice]) for at, one in requests.items()}
        return honest(self, function, requests, *rest, **more)

    def packed(self: Workspace, stage: int, names: Any, matrices: Any, bits: int) -> Any:
        made = [matrix for name, matrix in zip(names, matrices, strict=True) if name == "one"]
        if made:  # what the second station and the helper sent, and the first one's own part
            told.append(made)
        if made and self.own == 1:
            whose.extend(names_in_order(self))
        return pack(self, stage, names, matrices, bits)

    def everything(self: Any, member: int, asked: set[str], *rest: Any) -> Any:
        return to(self, member, {name for name in self._factors if not self._factors[name].view_of}, *rest)

    monkeypatch.setattr(Federation, "round", round_)
    monkeypatch.setattr(Workspace, "pack", packed)
    monkeypatch.setattr(Deliveries, "to", everything)
    with (
        federation() as running,
        suppress(StationError),
    ):  # this central does not describe afterwards what it had opened
        running.run("scalar_product", "contingency", {"columns": ["x", "y", "z", "w"], "id_column": "id", **noise})
    opened = [sum(parts) for parts in zip(*told, strict=True)]
    return {name: bool(value) for name, value in zip(whose, (opened[0] - opened[1])[:, 0], strict=True)}


@pytest.mark.parametrize("noise", NOISE)
def test_no_two_products_have_one_name(monkeypatch: pytest.MonkeyPatch, noise: str) -> None:
    with pytest.raises(MessageError, match="have one name"):
        read_by_two_products(monkeypatch, NOISE[noise])


@pytest.mark.parametrize("noise", NOISE)
def test_control_under_one_mask_two_products_tell_a_column(monkeypatch: pytest.MonkeyPatch, noise: str) -> None:
    monkeypatch.setattr(workspace, "opened_once", lambda *_: None)
    assert read_by_two_products(monkeypatch, NOISE[noise]) == (people().set_index("id")["z"] == "v0").to_dict()


def test_a_product_has_the_masks_of_its_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else two rounds open products under the masks of one."""
    honest = Engine._product

    def product(self: Engine, *asked: Any) -> Product:
        made = honest(self, *asked)
        return replace(made, factor=replace(made.factor, stage=made.factor.stage + 1))

    monkeypatch.setattr(Engine, "_product", product)
    with federation() as running, pytest.raises(AlgorithmError):
        running.run("scalar_product", "contingency", {"columns": ["x", "z", "w"], "id_column": "id"})


# -- dealt twice -----------------------------------------------------------------------------------------------------------


def read_by_two_deals(monkeypatch: pytest.MonkeyPatch, epsilon: float | None) -> dict[str, tuple[int, int]]:
    """Have the helper match once more, and deal for masks that central's own station has; return both other columns of every record."""
    honest, side_of, dealt, found = Federation.round, sides.data_side, list[Any](), dict[str, tuple[int, int]]()

    def round_(self: Any, function: str, request: Any, *rest: Any, **more: Any) -> Any:
        replies = honest(self, function, request, *rest, **more)
        if function == "partial_match":
            own = replace(request, factors=[replace(one, holders=[1]) for one in request.factors])
            dealt.extend([replies, honest(self, function, own, *rest)])
        return replies

    def data_side(station: Workspace, delivery: Any, names: Any, bits: int) -> Any:
        side = side_of(station, delivery, names, bits)
        if station.own == 1:
            letters = [station.station.unseal(HELPER, one[HELPER].corrections[1], "corrections") for one in dealt]
            true, known = (np.frombuffer(letter, dtype="<u4")[: delivery.rows] for letter in letters)
            pair, infos = delivery.dealt[0][1:], {one.name: one for one in delivery.factors}
            own = [station.mask(replace(infos[name], holders=[1]), infos, 1, delivery.rows, bits) for name in pair]
            masks = true - known + own[0][:, 0] * own[1][:, 0]
            opened = [side._openings[name][:, 0] for name in pair]
            cases = {(i, j): (np.uint32(i) - opened[0]) * (np.uint32(j) - opened[1]) for i in (0, 1) for j in (0, 1)}
            for row, name in enumerate(names_in_order(station)):
                (found[name],) = (case for case, product in cases.items() if product[row] == masks[row])
        return side

    monkeypatch.setattr(Federation, "round", round_)
    monkeypatch.setattr(partials, "data_side", data_side)
    conditions = [{"column": name, "op": "==", "value": "v1"} for name in "xzw"]
    with federation(minimum_count=1) as running:
        running.run("scalar_product", "count", {"conditions": conditions, "id_column": "id", "epsilon": epsilon})
    return found


@pytest.mark.parametrize("epsilon", [None, 1.0])
def test_records_are_matched_once(monkeypatch: pytest.MonkeyPatch, epsilon: float | None) -> None:
    with pytest.raises(MessageError, match="matched once"):
        read_by_two_deals(monkeypatch, epsilon)


@pytest.mark.parametrize("epsilon", [None, 1.0])
def test_control_dealt_twice_every_record_is_told(monkeypatch: pytest.MonkeyPatch, epsilon: float | None) -> None:
    monkeypatch.setattr(matching, "asked_once", lambda *_: None)
    monkeypatch.setattr(matching, "check_told", lambda *_: None)
    table, found = people().set_index("id"), read_by_two_deals(monkeypatch, epsilon)
    assert found == {name: tuple(int(table[one][name] == "v1") for one in "zw") for name in table.index}


def test_no_two_subsets_have_one_pad() -> None:
    """Names hold what a researcher writes, a stroke among it."""
    key = bytes(range(32))
    one, other = (correction_pad(key, names, (4, 1), np.uint32) for names in (("a|b", "c"), ("a", "b|c")))
    assert (one != other).any()


# -- openings of a Cox fit under one name ----------------------------------------------------------------------------------


def words(wide: Any) -> list[int]:
    return [int(high) << 64 | int(low) for high, low in zip(wide.high.ravel(), wide.low.ravel(), strict=True)]


def read_by_two_kinds(monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    """Have reciprocals refined by stages of two kinds under one name; return the sums of risks at each time, where they are told, in the order of times."""
    refined, seen, sums = newton_step.refined, dict[str, list[int]](), list[Any]()
    monkeypatch.setattr(newton_step, "refined", lambda *asked: (seen.update(publics(*asked)), refined(*asked))[1])

    def publics(engine: Any, stage: Any, at_risk: Any, previous: Any) -> dict[str, list[int]]:
        if at_risk.public is None:
            return {}
        return {"risk": words(at_risk.public), "start": words(previous.public)}  # every share holder has these

    async def evaluate(surface: Any, step: int, *_: Any, **__: Any) -> Any:
        surface._stages.forget()
        surface._coefficients, surface._source, surface._step, surface._beside = (
            np.array([0.0, 0.7, 0.0]),
            START,
            step,
            {},
        )
        combined = [[Stage("combine", step, turn)] for turn in range(len(surface._layout.multiplications()))]
        rounds = [[Stage("relative_risk", step)], *combined, [Stage("weigh", step, 1, START, NEWTON)]]
        await surface._through(rounds, [stage for part in rounds for stage in part])
        sums.append(surface._stages._whole.sums)
        again = Stage("refine", step, 1, START, (NEWTON[0], NEWTON[1] + 128))
        request = EnterRequest(surface.plan, step, [], [again], False, {})
        dealt = await surface.federation.round("partial_enter", request, [HELPER], EnterReply)
        await surface._stages.run([again], corrections=dealt[HELPER].dealt)
        sums.append(surface._stages._whole.sums)
        raise InterruptedError

    monkeypatch.setattr(FederatedSurface, "evaluate", evaluate)
    with pytest.raises(AlgorithmError) as ended:
        fit_three_stations()
    if len(sums) < 2:
        raise ended.value
    first, second = (one[Name("reciprocal", 1, 1)][:, 0, :-1] for one in sums)
    told = [
        int.from_bytes(bytes(b), "little") - int.from_bytes(bytes(a), "little")
        for a, b in zip(first, second, strict=True)
    ]
    return np.array(
        [
            risk_of(row, len(told), *numbers)
            for row, numbers in enumerate(zip(told, seen["risk"], seen["start"], strict=True))
        ]
    )


def risk_of(row: int, rows: int, told: int, risk: int, start: int) -> float:
    """Solve -told = S r r - m n n for S = risk + m, where r = start + n is 1 / (at risk) or, without an event, 0; NaN where no small S fits."""
    for reciprocal in (round(2**34 / (rows - row)), 0):
        factor, target = reciprocal**2 - (reciprocal - start) ** 2, -told - risk * reciprocal**2
        zeros = (factor & -factor).bit_length() - 1
        mask = (target >> zeros) * pow(factor >> zeros, -1, 1 << (128 - zeros))
        for top in range(1 << min(zeros, 6)):
            found = (risk + mask % (1 << (128 - zeros)) + (top << (128 - zeros))) % (1 << 128)
            if 0 < found < 1000 << 26:
                return found / 2.0**26
    return float("nan")


def kept_without_a_look(holder: ShareHolder, name: str, arrays: Any) -> None:
    holder.station.keep(name, **{str(place): array.to_words() for place, array in enumerate(arrays.values())})


def test_the_helper_deals_no_name_for_two_kinds_of_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MessageError, match="asked for twice"):
        read_by_two_kinds(monkeypatch)


def test_stations_open_a_name_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dealer, "_named_once", lambda *_: None)
    with pytest.raises(MessageError, match="asked for twice"):
        read_by_two_kinds(monkeypatch)


def test_control_under_one_name_two_kinds_tell_a_column(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another station's numbers, in the order of the times, to seven digits."""
    monkeypatch.setattr(dealer, "_named_once", lambda *_: None)
    monkeypatch.setattr(ShareHolder, "once", kept_without_a_look)
    at_risk = read_by_two_kinds(monkeypatch)
    draw = np.random.default_rng(0)
    frame = pd.DataFrame(draw.normal(size=(60, 3)), columns=["x", "y", "z"])
    order = np.argsort(draw.exponential(np.exp(-frame["x"])))
    scaled = (frame["y"] - frame["y"].mean()) / 2.0 ** np.round(np.log2(frame["y"].std(ddof=0)))
    column = np.log(at_risk - np.append(at_risk[1:], 0.0)) / 0.7
    told = np.isfinite(column)
    assert told.sum() > 30
    assert np.allclose(column[told], scaled[order].to_numpy()[told], atol=1e-6)


# -- predictions by other columns ------------------------------------------------------------------------------------------


def predicted_by(monkeypatch: pytest.MonkeyPatch, change: Callable[[pytest.MonkeyPatch], None]) -> float:
    """Return how often what central is told of a record follows from a column that the model does not have."""
    draw = np.random.default_rng(3)
    codes = {name: draw.integers(0, states, 200) for name, states in {"x": 2, "w": 2, "z": 3}.items()}
    codes["y"] = codes["x"] ^ codes["w"] ^ (draw.random(200) < 0.1)
    table = pd.DataFrame(
        {"id": [f"p{row:03d}" for row in range(200)]} | {k: [f"v{c}" for c in v] for k, v in codes.items()}
    )
    parties = by_columns(table, {"a": ["x"], "b": ["w", "z"], "c": ["y"]})
    with OneProcess(parties, helpers=["helper"], policies={"*": {"allow_predictions": True}}) as running:
        question = {"columns": ["x", "w", "y"], "structure": [["x", "y"], ["w", "y"]], "label": "y", "id_column": "id"}
        model = running.run("vertibayes", "fit", question)["model"]
        change(monkeypatch)
        answer = running.run("vertibayes", "classify", {"model": model, "id_column": "id"})["model"]
    rows = table.set_index("id", drop=False).index.get_indexer(answer["identifiers"])
    guess = np.array(answer["probabilities"])[:, answer["states"].index("v1")] > 0.5
    other = codes["z"] == 1  # states are in one order
    return float(np.mean((guess == (codes["x"][rows] ^ other[rows]))[codes["z"][rows] < 2]))


def with_another_column(monkeypatch: pytest.MonkeyPatch) -> None:
    """Central has the product of the model's columns made with another column in the place of one."""
    submit, product, other = Engine.submit, Engine._product, factor_name("states", ["z"])
    hidden: dict[str, Any] = {}

    def submitted(self: Engine, wanted: Any, *rest: Any, **more: Any) -> Any:
        replies = submit(self, [*wanted, Wanted("states", ["z"])], *rest, **more)
        hidden[other] = self.factors.pop(other)
        return replies

    def made(self: Engine, name: str, left: str, right: str, bits: int) -> Product:
        self.factors.update(hidden)
        swapped = [other if '"w"' in part else part for part in (left, right)]
        asked, states = product(self, name, *swapped, bits), [self.factors[part].states for part in (left, right)]
        columns = [*self.factors[left].columns, *self.factors[right].columns]
        whole = {"made_of": [], "sides": [], "complete": False, "width": states[0] * states[1]}
        return replace(asked, factor=replace(asked.factor, columns=columns, **whole))

    monkeypatch.setattr(Engine, "submit", submitted)
    monkeypatch.setattr(Engine, "_product", made)


def test_records_are_scored_by_the_columns_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    assert predicted_by(monkeypatch, lambda _: None) < 0.7
    with pytest.raises(AlgorithmError):
        predicted_by(monkeypatch, with_another_column)


def test_control_unchecked_predictions_tell_another_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(factor_info, "check_named", lambda *_: None)
    assert predicted_by(monkeypatch, with_another_column) > 0.95
