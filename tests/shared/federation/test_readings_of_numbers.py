"""What of a column is a number, what is missing among numbers, and what a recode makes of them: two readings that differ so are held against each other."""

from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from party_kit import remembering

from fedbayes.federation import errors
from fedbayes.federation.answered.readings import bins_of, conditions_of, groups_of
from fedbayes.federation.tables.words import NUMBERS, words_of

ROWS = 120
REFUSED = "would set apart"
CODES = ["1", "2", "3"]
AS_CATEGORIES = {"code": {"type": "category", "categories": [*CODES, "NA"]}}


def asked_of_codes(tmp_path, study, gap, **given):
    """Return counts of the ill who do not have the first code, without a dictionary and with it; one row, of one who is ill, has a gap."""
    rng = np.random.default_rng(5)
    codes, ill = rng.choice(CODES, ROWS).astype(object), rng.choice(["no", "yes"], ROWS)
    codes[17], ill[17] = gap, "yes"
    ids = [f"p{row}" for row in range(ROWS)]
    tables = {"a": {"id": ids, "code": codes}, "b": {"id": ids, "ill": ill}}
    tests = [{"column": "code", "op": "!=", "value": 1}, {"column": "ill", "op": "==", "value": "yes"}]
    with remembering(tables, tmp_path, **given) as federation:
        return [
            federation.run("scalar_product", "count", {"conditions": tests, "id_column": "id", **more})["count"]
            for more in ({}, {"dictionary": {"columns": study}})
        ]


def test_what_is_missing_among_numbers_is_no_value_in_another_task(tmp_path):
    """`NA` among numbers is missing, but where a dictionary lists it: the second count has one person more."""
    first, second = asked_of_codes(tmp_path / "allowed", AS_CATEGORIES, "NA", allow_differences=True)
    assert second == first + 1, "a control"
    with pytest.raises(errors.ThresholdError, match=REFUSED):
        asked_of_codes(tmp_path / "held", AS_CATEGORIES, "NA")
    first, second = asked_of_codes(tmp_path / "no gap", AS_CATEGORIES, "2")
    assert first == second


@pytest.mark.parametrize(
    ("codes", "gap", "study"),
    [
        (CODES, "<5", {"type": "integer", "recode": {"nowhere": 0}}),
        (["1", "b", "c"], "NA", {"type": "number"}),
    ],
    ids=["a text beside a recode", "texts that are called numbers"],
)
def test_what_is_no_number_is_missing_where_a_dictionary_says_numbers(tmp_path, monkeypatch, codes, gap, study):
    """A recode of numbers makes all else missing, and to call a column numbers the usual texts: the second count has a person less."""
    monkeypatch.setattr(f"{__name__}.CODES", codes)
    first, second = asked_of_codes(tmp_path / "allowed", {"code": study}, gap, allow_differences=True)
    assert second == first - 1, "a control"
    with pytest.raises(errors.ThresholdError, match=REFUSED):
        asked_of_codes(tmp_path / "held", {"code": study}, gap)
    monkeypatch.setattr("fedbayes.federation.tables.node_databases.embedded_record", lambda: None)
    with pytest.raises(errors.ThresholdError, match="no folder database"):
        asked_of_codes(tmp_path / "nothing remembered", {"code": study}, gap, ledger=None)


def test_known_values_of_a_schema_file_make_no_column_one_of_numbers(tmp_path, monkeypatch):
    """Beside a text `NA` is a value, whatever the file says, but where a dictionary declares it missing."""
    monkeypatch.setattr(f"{__name__}.CODES", [*CODES, "unknown"])
    monkeypatch.setattr(
        "fedbayes.federation.node.policy.Policy.schema_content", lambda _: {"code": {"categories": CODES[:3]}}
    )
    study = {"code": {"type": "category", "missing": ["NA"]}}
    first, second = asked_of_codes(tmp_path / "allowed", study, "NA", allow_differences=True)
    assert second == first - 1, "a control"
    with pytest.raises(errors.ThresholdError, match=REFUSED):
        asked_of_codes(tmp_path / "held", study, "NA")


def test_what_a_station_declares_to_be_missing_is_no_value_in_a_task(tmp_path, monkeypatch):
    schema = {"code": {"missing": ["9"]}}
    monkeypatch.setattr("fedbayes.federation.node.policy.Policy.schema_content", lambda _: schema)
    study = {"code": {"type": "category", "categories": [*CODES, "9"]}}
    first, second = asked_of_codes(tmp_path / "allowed", study, "9", allow_differences=True)
    assert second == first + 1, "a control"
    with pytest.raises(errors.ThresholdError, match=REFUSED):
        asked_of_codes(tmp_path / "held", study, "9")


@pytest.mark.parametrize(
    ("texts", "read", "groups"),
    [
        (["1", "2", "NA"], words_of((), (), {}), [0, 1, -1]),
        (["1", "x", "NA"], words_of((), (), {}), [0, 1, 2]),
        (["1", "x", "NA"], words_of(["x"], (), {}), [0, -1, -1]),
        (["1", "2", "NA"], words_of((), ["1", "2", "NA"], {}), [0, 1, 2]),
        (["1", "2", "NA"], words_of((), (), {"NA": "2"}), [0, 1, 1]),
        (["true", "false", "NA"], words_of((), (), {}), [0, 1, 2]),
        (["NA", "None"], words_of((), (), {}), [0, 1]),
        (["a", "b", "c"], words_of((), ["a", "b", "c"], {"c": "nowhere"}), [0, 1, -1]),  # no category, so missing
        (["1", "true", "2", "<5", "7"], words_of((), (), {"<5": 2, "7": "gone"}, NUMBERS), [0, 0, 1, 1, -1]),
    ],
)
def test_usual_texts_are_missing_among_numbers(texts, read, groups):
    assert groups_of(texts, read).tolist() == groups


@pytest.mark.parametrize("recorded", [True, False], ids=["record", "no record"])
def test_a_number_of_one_row_is_no_other_in_a_sum(tmp_path, monkeypatch, recorded):
    """Who knows one person's exact weight reads the same person's dose at another station from the difference of two products."""
    rng = np.random.default_rng(3)
    parts = {"a": {"weight": rng.uniform(40, 99, ROWS).round(2)}, "b": {"dose": rng.uniform(1, 9, ROWS).round(3)}}
    tables = {party: {"id": [f"p{row}" for row in range(ROWS)], **columns} for party, columns in parts.items()}
    weight, dose = parts["a"]["weight"][17], parts["b"]["dose"][17]
    study = {"columns": {"weight": {"type": "number", "recode": {str(weight): 0}}}}

    def both(federation):
        asked = {"columns": ["weight", "dose"], "id_column": "id"}
        first = federation.run("scalar_product", "scalar_product", asked)["scalar_product"]
        return (
            first - federation.run("scalar_product", "scalar_product", {**asked, "dictionary": study})["scalar_product"]
        )

    with remembering(tables, tmp_path, allow_differences=True) as federation:
        assert both(federation) / weight == pytest.approx(dose, abs=1e-4), "a control"
    if not recorded:
        monkeypatch.setattr("fedbayes.federation.tables.node_databases.embedded_record", lambda: None)
    refused = pytest.raises(errors.ThresholdError, match=r"would set apart|no folder database")
    with remembering(tables, tmp_path, **({} if recorded else {"ledger": None})) as federation, refused:
        both(federation)


@pytest.mark.parametrize(
    ("name", "held"), [("NA", True), ("another", True), ("inf", True), ("NA", False), ("another", False)]
)
def test_a_number_has_no_recode_to_what_is_none(tmp_path, monkeypatch, name, held):
    """It was missing: beside twenty gaps the record took the task for one that names a category, and the difference of two fits told the label."""
    if not held:
        monkeypatch.setattr("fedbayes.bayes.dictionaries.entry.as_numbers", lambda _: np.zeros(1))
    rng = np.random.default_rng(3)
    labels = {party: rng.choice(["no", "yes"], ROWS) for party in "abc"}
    tables = {party: {"ill": ill, "weight": rng.uniform(40, 99, ROWS).round(2)} for party, ill in labels.items()}
    tables["a"]["weight"][20:40] = np.nan
    study = {"weight": {"type": "number", "recode": {str(tables["a"]["weight"][17]): name}}}
    domain = {"weight": {"bounds": [30, 110]}, "ill": {"categories": ["no", "yes"]}}
    asked = {"label": "ill", "features": ["weight"], "domain": domain, "noise": "none", "statistics": "gaussian"}

    def counted(federation, **more):
        model = federation.run("dp_naive_bayes", "fit", {**asked, **more})["model"]
        return np.array(model["features"]["weight"]["count"])

    refused = pytest.raises(errors.ArgumentError, match="no number; list codes") if held else nullcontext()
    with remembering(tables, tmp_path, helpers=(), allow_differences=not held) as federation:
        first = counted(federation)
        with refused:
            gone = first - counted(federation, dictionary={"columns": study})
            assert gone.tolist() == [labels["a"][17] == "no", labels["a"][17] == "yes"], "a control"


BESIDE = 42.989259461536584
"""All its digits: `pandas.to_numeric` reads the number below it from them."""


@pytest.fixture(params=[True, False], ids=["held", "a control"])
def held(request, monkeypatch):
    """Whether the record of readings knows of every number on which side of a border it is; else it reads texts as pandas does."""
    if not request.param:
        monkeypatch.setattr(
            "fedbayes.federation.questions.conditions.numbers_of",
            lambda texts: pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce"),
        )
    return request.param


def test_the_record_has_a_number_of_all_digits_on_its_side_of_a_border(held):
    texts, read = ["1.5", repr(BESIDE), "70.25"], words_of((), (), {})
    bins = groups_of(texts, bins_of(read, [BESIDE])).tolist()
    below = groups_of(texts, conditions_of([("<", BESIDE)], read)).tolist()
    assert (bins, below) == (([0, 1, 1], [1, 0, 0]) if held else ([0, 0, 1], [1, 1, 0]))


def test_two_conditions_around_a_number_of_all_digits_set_nobody_apart(tmp_path, held):
    """Below it, and up to it: the record took both for the same people, and the difference of two counts told whether one of them is ill."""
    rng = np.random.default_rng(7)
    values, ill = rng.normal(43.0, 5.0, ROWS), rng.choice(["no", "yes"], ROWS)
    values[17], ill[17] = BESIDE, "yes"
    ids = [f"p{row}" for row in range(ROWS)]
    is_ill = {"column": "ill", "op": "==", "value": "yes"}
    counts = []
    with remembering({"a": {"id": ids, "x": values}, "b": {"id": ids, "ill": ill}}, tmp_path) as federation:
        for operator, refused in (("<", False), ("<=", held)):
            asked = {"conditions": [{"column": "x", "op": operator, "value": BESIDE}, is_ill], "id_column": "id"}
            with pytest.raises(errors.ThresholdError, match=REFUSED) if refused else nullcontext():
                counts.append(federation.run("scalar_product", "count", asked)["count"])
    assert held or counts[1] == counts[0] + 1
