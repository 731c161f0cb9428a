"""Names and texts are one whether a letter is written composed (NFC) or decomposed (NFD): columns, categories, identifiers, in files and in tasks."""

import json
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess

from fedbayes.client.result import Result
from fedbayes.federation.embedded import EmbeddedFederation
from fedbayes.federation.errors import ArgumentError, DataProblem, PolicyError

FORMS = ("NFC", "NFD")
KINDS = ("csv", "large csv", "parquet", "xlsx", "frame")


def form(kind: str, value: Any) -> Any:
    """Return a value in which every text is in this form."""
    if isinstance(value, str):
        return unicodedata.normalize(kind, value)
    if isinstance(value, dict):
        return {form(kind, name): form(kind, one) for name, one in value.items()}
    return [form(kind, one) for one in value] if isinstance(value, list) else value


def stored(frame: pd.DataFrame, written: str, kind: str, path: Path) -> Any:
    """Return a station's table whose texts are in one form."""
    table = frame.rename(columns={name: form(written, name) for name in frame})
    texts = [name for name in table if not pd.api.types.is_numeric_dtype(table[name])]
    table[texts] = table[texts].map(lambda value: form(written, value))
    if kind == "frame":
        return table
    path = path.with_suffix("." + kind.split()[-1])
    if kind == "parquet":
        table.to_parquet(path, index=False)
    elif kind == "xlsx":
        table.to_excel(path, index=False)
    else:
        table.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def records() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    ill = rng.choice(["né", "mûr"], 240)
    return pd.DataFrame(
        {
            "diagnosé": ill,
            "présence": np.where(rng.random(240) < 0.8, ill == "né", rng.random(240) < 0.5),
            "größe": rng.normal(170, 9, 240).round(1) + 6 * (ill == "né"),
        }
    ).assign(présence=lambda table: table["présence"].map({True: "à la carte", False: "Überall"}))


DOMAIN = {
    "diagnosé": {"categories": ["né", "mûr"]},
    "présence": {"categories": ["à la carte", "Überall"]},
    "größe": {"bounds": [120, 220]},
}


def budget(epsilon: float | None) -> dict[str, Any]:
    return {"noise": "none"} if epsilon is None else {"epsilon": epsilon}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "large csv":
        monkeypatch.setattr("fedbayes.federation.tables.files.LARGE_BYTES", 10)
        monkeypatch.setattr("fedbayes.federation.tables.small_csv.LARGEST_BYTES", 10)
    return str(request.param)


@pytest.mark.few(10)
@pytest.mark.parametrize("asked", FORMS)
@pytest.mark.parametrize("epsilon", [None, 1e4])
def test_a_fit_is_one_however_letters_are_written(
    records: pd.DataFrame, tmp_path: Path, kind: str, asked: str, epsilon: float | None
) -> None:
    tables = {
        name: stored(records[place::3], FORMS[place % 2], kind, tmp_path / name) for place, name in enumerate("abc")
    }
    task = form(asked, {"label": "diagnosé", "domain": DOMAIN})
    with OneProcess(tables) as federation:
        result = federation.run("dp_naive_bayes", "fit", {**task, **budget(epsilon), "bins": 4})
        plain = OneProcess({name: records[place::3] for place, name in enumerate("abc")})
    with plain as federation:
        wanted = federation.run(
            "dp_naive_bayes", "fit", {"label": "diagnosé", "domain": DOMAIN, "noise": "none", "bins": 4}
        )
    assert json.dumps(result["model"], ensure_ascii=False, sort_keys=True).isprintable()
    own, other = (json.dumps(one["model"], ensure_ascii=False) for one in (result, wanted))
    assert own == form("NFC", own)
    if epsilon is None:
        assert json.loads(own) == json.loads(other)
    else:
        frame = records.drop(columns="diagnosé")
        found, expected = (Result(one).predict(frame) for one in (result, wanted))
        np.testing.assert_allclose(found.iloc[:, 1:].astype(float), expected.iloc[:, 1:].astype(float), atol=0.02)


@pytest.mark.parametrize("written", FORMS)
def test_a_model_predicts_frames_in_either_form(records: pd.DataFrame, tmp_path: Path, written: str) -> None:
    with OneProcess({name: records[place::3] for place, name in enumerate("abc")}) as federation:
        result = federation.run("dp_naive_bayes", "fit", {"label": "diagnosé", "domain": DOMAIN, "noise": "none"})
    table = stored(records.drop(columns="diagnosé"), written, "frame", tmp_path)
    pd.testing.assert_frame_equal(Result(result).predict(table), Result(result).predict(records))
    probabilities = result.to_sklearn().predict_proba(table)
    np.testing.assert_allclose(probabilities, result.to_sklearn().predict_proba(records))


@pytest.mark.few(3)
@pytest.mark.parametrize("asked", FORMS)
def test_linked_records_are_matched_and_categories_found(tmp_path: Path, kind: str, asked: str) -> None:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"prénom": [f"Zoé-{row}" for row in range(200)], "âge": rng.normal(60, 9, 200).round(1)})
    frame["stade"], frame["durée"] = rng.choice(["né", "mûr"], 200), rng.exponential(9, 200).round(3)
    frame["décès"] = (rng.random(200) < 0.6).astype(int)
    tables = {
        "a": stored(frame[["prénom", "âge"]].sample(frac=1.0, random_state=1), "NFD", kind, tmp_path / "a"),
        "b": stored(frame[["prénom", "stade", "durée", "décès"]], "NFC", kind, tmp_path / "b"),
    }
    task = {"time": "durée", "event": "décès", "id_column": "prénom", "formula": "~ âge + C(stade, reference='né')"}
    with OneProcess(tables, helpers=["h"]) as federation:
        fitted = federation.run("verticox", "fit", form(asked, task))["model"]
        counts = federation.run(
            "scalar_product",
            "contingency",
            form(
                asked,
                {
                    "columns": ["stade", "âge"],
                    "id_column": "prénom",
                    "domain": {"stade": {"categories": ["né", "mûr"]}, "âge": {"bounds": [0, 120]}},
                    "bins": 2,
                },
            ),
        )
    assert [entry["feature"] for entry in fitted["coefficients"]] == ["âge", "stade=mûr"]
    assert fitted["records"] == 200
    assert json.dumps(counts, ensure_ascii=False) == form("NFC", json.dumps(counts, ensure_ascii=False))


def test_two_forms_of_one_category_in_a_file_are_one(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    stage = rng.choice(["né", "mûr"], 200)
    frame = pd.DataFrame({"âge": rng.normal(60, 9, 200)})
    other = pd.DataFrame({"t": rng.exponential(9, 200).round(3), "e": (rng.random(200) < 0.6).astype(int)})
    other["stage"] = [form(FORMS[row % 2], value) for row, value in enumerate(stage)]
    with OneProcess({"a": frame, "b": other}, helpers=["h"]) as federation:
        task = {"time": "t", "event": "e", "features": ["âge", "stage"], "rows_aligned": True}
        model = federation.run("verticox", "fit", task)["model"]
    assert [entry["feature"] for entry in model["coefficients"]] == ["âge", "stage=né"]


@pytest.mark.parametrize("kind", KINDS, indirect=True)
def test_two_columns_of_one_name_are_refused(records: pd.DataFrame, tmp_path: Path, kind: str) -> None:
    double = records.assign(**{form("NFD", "größe"): 1.0})
    path = tmp_path / f"t.{kind.split()[-1]}"
    if kind == "frame":
        table: Any = double
    else:
        {"csv": double.to_csv, "parquet": double.to_parquet, "xlsx": double.to_excel}[path.suffix[1:]](
            path, index=False
        )
        table = path
    asked = {"label": "diagnosé", "domain": DOMAIN, "noise": "none"}
    with (
        OneProcess({"a": table, "b": records, "c": records}) as federation,
        pytest.raises(DataProblem, match="a: column 'größe' is twice"),
    ):
        federation.run("dp_naive_bayes", "fit", asked)


def test_two_forms_of_one_name_in_an_argument_are_refused(records: pd.DataFrame) -> None:
    domain = {**DOMAIN, form("NFD", "größe"): {"bounds": [0, 1]}}
    with (
        OneProcess({"a": records, "b": records}) as federation,
        pytest.raises(ArgumentError, match=r"domain: 'größe' is there twice"),
    ):
        federation.run("dp_naive_bayes", "fit", {"label": "diagnosé", "domain": domain, "noise": "none"})


@pytest.mark.parametrize("written", FORMS)
def test_limits_name_columns_in_either_form(records: pd.DataFrame, tmp_path: Path, written: str) -> None:
    task = {"label": "diagnosé", "domain": DOMAIN, "noise": "none"}
    tables = {name: stored(records, written, "csv", tmp_path / name) for name in "abc"}
    for other in FORMS:
        allowed = {"allowed_columns": form(other, list(DOMAIN))}
        with OneProcess(tables, policies={"*": allowed}) as federation:
            assert federation.run("dp_naive_bayes", "fit", form(written, task))["model"]
        denied = {"denied_columns": form(other, ["größe"])}
        with (
            OneProcess(tables, policies={"*": denied}) as federation,
            pytest.raises(PolicyError, match="denied_columns"),
        ):
            federation.run("dp_naive_bayes", "fit", form(written, task))


def test_organizations_and_dictionaries_are_named_in_either_form(records: pd.DataFrame) -> None:
    dictionary = {
        "columns": {
            name: {"type": "category" if "categories" in entry else "number", **entry} for name, entry in DOMAIN.items()
        }
    }
    for other, place in zip(FORMS, FORMS[::-1], strict=True):
        with OneProcess({form(place, f"hôpital {one}"): records for one in "abcd"}) as federation:
            task = {"label": "diagnosé", "dictionary": dictionary, "noise": "none"}
            chosen = {"organizations": [f"hôpital {one}" for one in "abc"]}
            result = federation.run("dp_naive_bayes", "fit", form(other, {**task, **chosen}))
        assert len(result["federation"]["organizations"]) == 3
        assert set(result["model"]["schema"]) >= set(DOMAIN) if "schema" in result["model"] else True


def test_a_sealed_model_comes_back_from_real_containers(records: pd.DataFrame, tmp_path: Path) -> None:
    parties = {}
    for place, name in enumerate("abc"):
        (tmp_path / f"ledger-{name}").mkdir()
        table = stored(records, FORMS[place % 2], "csv", tmp_path / name)
        parties[name] = {"default": table, "ledger": tmp_path / f"ledger-{name}"}
    with EmbeddedFederation(parties, policies={"*": {"ledger": "ledger"}}) as federation:
        task = form("NFD", {"label": "diagnosé", "domain": DOMAIN, "noise": "none"})
        result = federation.run("dp_naive_bayes", "fit", task)
        scores = federation.run("dp_naive_bayes", "evaluate", {"model": result["model"], "noise": "none"})
    assert "seal" in result["model"]
    assert scores.scores["accuracy"] > 0.7
