"""Vertically split records with odd arguments and odd stations: refusals by name, before any budget is spent."""

import sqlite3
from types import SimpleNamespace

import numpy as np
import pytest
from limits_kit import predicting
from one_process import OneProcess

from fedbayes.federation.embedded import EmbeddedFederation
from fedbayes.federation.errors import ArgumentError, DataProblem, PolicyError, ThresholdError
from fedbayes.federation.horizontal import Columns
from fedbayes.federation.node.policy import Policy
from v6_secure_naive_bayes import arguments, keying, model, partial, vertical
from v6_secure_naive_bayes.membership import Membership
from v6_secure_naive_bayes.messages import TablesRequest
from v6_secure_naive_bayes.records import check_list, check_records

from .conftest import DOMAIN

COLUMNS = Columns("kind", ["color", "size", "shape"], DOMAIN)
SECRET = "SECRET-VALUE"
TASK = {"label": "kind", "domain": DOMAIN, "bins": 5}
FIT = {**TASK, "split": "vertical", "epsilon": 1.0}
CLASSIFY = {**TASK, "records": [{"color": "red"}], "epsilon": 1.0, "modulus_bits": 2048}
THREE = ["C", "Z", "S"]
FEW = 3
"""No table of colours has a smaller count, one of ten bins has."""


@pytest.mark.parametrize(
    ("records", "named"),
    [
        (None, "list of 1 to"),
        ({}, "list of 1 to"),
        ([{}] * 10_001, "list of 1 to"),
        ([1], "objects"),
        ([None], "objects"),
        ([{"weight": 1}], "'weight'"),
        ([{"kind": "a"}], "label"),
        ([{1: "a"}], "'1'"),
        ([{"color": ["red"]}], "'color'"),
        ([{"color": [SECRET, "x"]}, {"color": [SECRET, "y"]}], "'color'"),
        ([{"color": {"a": SECRET}}], "'color'"),
        ([{"color": SECRET}], "'color'"),
        ([{"color": True}], "'color'"),
        ([{"size": SECRET}], "'size'"),
        ([{"size": 11}], "'size'"),
        ([{"size": float("inf")}], "'size'"),
        ([{"size": 10**400}], "'size'"),
        ([{"size": {"a": 1}}], "'size'"),
        ([{"size": [1]}], "'size'"),
    ],
)
def test_records_that_cannot_be_classified_are_refused_by_name(records, named):
    with pytest.raises(ArgumentError, match="records") as refused:
        check_records(check_list("records", records), COLUMNS, {"size": 5})
    assert named in str(refused.value)
    assert SECRET not in str(refused.value)


def test_an_identifier_that_would_link_nothing_is_refused():
    with pytest.raises(ArgumentError, match="id_column is not used with split='vertical'"):
        arguments.Fit.read("fit", {**FIT, "id_column": "patient"})
    assert arguments.Fit.read("fit", {**FIT, "id_column": "patient", "unit": "identifier"}).id_column == "patient"


def test_records_are_coded_and_gaps_are_missing():
    nan = float("nan")
    records = [
        {"color": "blue", "size": 10, "shape": "round"},
        {"size": "2.5"},
        {"size": nan, "color": None},
        {"color": ""},
    ]
    codes = check_records(records, COLUMNS, {"size": 5})
    assert codes.tolist() == [[2, 4, 0], [-1, 1, -1], [-1, -1, -1], [-1, -1, -1]]
    assert codes.dtype == np.int32


def test_equal_records_are_asked_for_once():
    codes = np.array([[1, 0], [0, 0], [1, 0], [-1, 0]], dtype=np.int32)
    found, back = vertical.distinct(codes)
    assert len(found) == 3
    assert np.array_equal(found[back], codes)


def test_more_ciphertexts_than_a_round_has_time_for_are_refused():
    assert keying.check_work("records", 20_000, 20_000, 3072) == 2400
    assert keying.check_work("records", 0, 20_000, 8192) == 600
    with pytest.raises(ArgumentError, match="records make 20001"):
        keying.check_work("records", 20_001, 20_000, 2048)
    with pytest.raises(ArgumentError, match="more than the 8437"):
        keying.check_work("records", 10_000, 20_000, 4096)


def test_only_arguments_that_were_given_are_refused():
    asked = {"model": {}, "split": "vertical", "id_column": "person"}
    for name, value in (("delta", 0), ("noise", "none"), ("noise", None), ("max_rows_per_identifier", 1)):
        assert arguments.Evaluate.read("evaluate", {**asked, name: value}).split == "vertical"
    for name, value in (("epsilon", 1.0), ("delta", 1e-6), ("unit", "identifier"), ("max_rows_per_identifier", 2)):
        with pytest.raises(ArgumentError, match=f"{name} has no meaning here: scores of vertically split records"):
            arguments.Evaluate.read("evaluate", {**asked, name: value})


def test_margins_of_other_rows_are_noticed():
    rows = np.array([[10, 20], [30, 40]])
    assert not model.disagree([rows, rows[:, ::-1]], 0.0)
    assert model.disagree([rows, rows + 1], 0.0)
    assert not model.disagree([rows, rows + 1], 1.0)
    assert model.disagree([rows, rows + 100], 1.0)


@pytest.fixture(scope="module")
def odd(table, tmp_path_factory):
    """Stations with a ledger at one of them, without the label, with fewer rows, with text for numbers, and a helper."""
    parties = {
        "C": {"default": table[["color", "kind"]], "ledger": tmp_path_factory.mktemp("ledger")},
        "Z": table[["size", "kind"]],
        "S": table[["shape", "kind"]],
        "no label": table[["shape"]],
        "label only": table[["kind"]],
        "short": table[["color", "kind"]].iloc[:500],
        "text": table[["size", "kind"]].assign(size=SECRET),
    }
    policies = {
        "C": {"ledger": "ledger", "budget_epsilon": 1e9, "minimum_count": FEW},
        **{name: {"minimum_count": FEW} for name in ("Z", "S")},
        "no label": {"allow_non_private": False},
    }
    with OneProcess(parties=parties, helpers=["dealer"], policies=predicting(policies)) as federation:
        run = federation.run
        yield SimpleNamespace(run=lambda *task: run("secure_naive_bayes", *task), ledger=parties["C"]["ledger"])


def spent(odd):
    path = odd.ledger / "fedbayes-ledger.sqlite3"
    if not path.exists():
        return 0.0
    with sqlite3.connect(path) as ledger:
        return ledger.execute("SELECT COALESCE(SUM(epsilon), 0) FROM debits").fetchone()[0]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"keys": "dealt"}, "keys"),
        ({"honest_fraction": 2}, "honest_fraction"),
        ({"delta": "small"}, "delta"),
        ({"unit": "party", "maximum_records": 3}, "unit"),
        ({"noise": "none"}, "epsilon"),
        ({"organizations": ["C", "Z", "no label"]}, r"label: no label"),
        ({"organizations": ["C", "Z", "S", "no label"]}, "'shape' is at more than one"),
        ({"organizations": ["C", "Z", "label only"]}, "'shape' is at no station"),
    ],
)
def test_a_vertical_fit_refuses_by_name(odd, changes, named):
    before = spent(odd)
    with pytest.raises(ArgumentError, match=named):
        odd.run("fit", {**FIT, "organizations": THREE, **changes})
    assert spent(odd) == before


def test_a_label_that_a_station_lacks_is_foreseen_after_the_first_round(table):
    parts = {"a": table[["color", "kind"]], "b": table[["size"]], "c": table[["shape", "kind"]]}
    with EmbeddedFederation(parties=parts, policies=predicting(), record=True) as federation:
        for function, task in (("fit", FIT), ("classify", CLASSIFY)):
            with pytest.raises(ArgumentError, match=r"label: b does not hold the label.*vertibayes"):
                federation.run("secure_naive_bayes", function, task)
            asked = {entry["function"] for entry in federation.transcript}
            assert {"partial_open_channel"} <= asked <= {"partial_open_channel", function}


def test_arguments_without_effect_are_warned_of(odd):
    membership = Membership.create((1, 2, 3)).to_dict()
    given = {"keys": "dealer", "honest_fraction": 0.5, "membership": membership, "delta": 1e-6}
    warnings = odd.run("fit", {**FIT, "organizations": THREE, **given})["warnings"]
    for name in given:
        assert any(warning.startswith(f"{name} has no effect") for warning in warnings)


@pytest.mark.parametrize(
    ("changes", "kind", "named"),
    [
        ({"keys": "dealer"}, ArgumentError, "dealer"),
        ({"tables": "stale"}, ArgumentError, "tables"),
        ({"features": ["color"]}, ArgumentError, "all features are at C"),
        ({"features": ["color", "size"]}, ThresholdError, "too few organizations"),
    ],
)
def test_a_classification_is_refused_before_it_is_paid_for(odd, changes, kind, named):
    before = spent(odd)
    with pytest.raises(kind, match=named):
        odd.run("classify", {**CLASSIFY, "organizations": THREE, **changes})
    assert spent(odd) == before


def test_text_where_numbers_should_be_is_missing_under_an_epsilon(odd):
    """A refusal would tell of a value without a charge."""
    result = odd.run("fit", {**FIT, "organizations": ["C", "text", "S"]})
    assert SECRET not in str(result)


def test_what_is_charged_is_what_the_result_says(odd):
    before = spent(odd)
    result = odd.run("fit", {**FIT, "epsilon": 0.6, "organizations": [*THREE, "label only"]})
    assert spent(odd) - before == pytest.approx(0.6 / 3)
    assert result["privacy"]["epsilon"] == 0.6
    before = spent(odd)
    result = odd.run("classify", {**CLASSIFY, "epsilon": 0.6, "organizations": THREE})
    assert spent(odd) - before == pytest.approx(2 * 0.6 / 4)
    assert result["privacy"]["epsilon"] == 0.6


@pytest.mark.parametrize(
    ("changes", "warned"),
    [({"epsilon": 1e-3}, "raise epsilon"), ({"organizations": ["short", "Z", "S"]}, "the same records"), ({}, None)],
)
def test_what_the_tables_show_is_told(odd, changes, warned):
    result = odd.run("fit", {**FIT, "epsilon": 5.0, "organizations": THREE, **changes})
    assert [warned in text for text in result["warnings"]] == ([True] if warned else [])


def test_a_classification_that_drowns_in_noise_is_told(odd):
    result = odd.run("classify", {**CLASSIFY, "epsilon": 1e-4, "organizations": THREE})
    assert result["warnings"] == [model.DROWNED]


def test_exact_tables_with_small_counts_are_refused(odd, table):
    task = {**FIT, "epsilon": None, "noise": "none", "organizations": THREE}
    result = odd.run("fit", task)
    assert result["privacy"]["differentially_private"] is False
    assert sum(result["model"]["class_counts"]) == len(table)
    with pytest.raises(ThresholdError, match="the exact tables"):
        odd.run("fit", {**task, "bins": 10})


@pytest.mark.parametrize("noise", [{"epsilon": None, "noise": "none"}, {"epsilon": 1e6}])
def test_exact_tables_of_one_station_leave_only_to_as_many_organizations_as_it_demands(odd, noise):
    task = {**FIT, "features": ["size", "shape"], "organizations": THREE}
    assert odd.run("fit", task)["privacy"]["differentially_private"] is True
    with pytest.raises(ThresholdError, match="too few organizations"):
        odd.run("fit", {**task, **noise})


@pytest.mark.parametrize("release", [True, False])
@pytest.mark.parametrize("epsilon", [0.0, 1e6])
def test_a_station_that_is_asked_alone_tells_no_table(release, epsilon):
    """What a direct call asks for, without a job and other organizations: refused before the table is read."""
    if epsilon == 0 and not release:
        pytest.skip("cannot be asked for")
    station = SimpleNamespace(
        participants=(1,),
        policy=Policy(),
        require_private=lambda private: None,
        require_predictions=lambda: None,
        check_columns=lambda names: None,
    )
    columns = Columns("kind", ["shape"], {name: DOMAIN[name] for name in ("shape", "kind")})
    request = TablesRequest(columns, {}, epsilon, True, release, "fresh", 2 * epsilon)
    with pytest.raises(ThresholdError, match="too few organizations"):
        partial.partial_tables.fedbayes_answer(station, request)


def test_an_epsilon_that_hides_nobody_is_not_called_private(odd, table):
    result = odd.run("classify", {**CLASSIFY, "epsilon": 25.0, "bins": 2, "organizations": THREE})
    assert result["privacy"]["differentially_private"] is False
    assert result["privacy"]["epsilon"] == 25.0
    with pytest.raises(ThresholdError, match="the exact tables"):
        odd.run("classify", {**CLASSIFY, "epsilon": 25.0, "bins": 10, "organizations": THREE})


def test_records_are_classified_only_where_every_node_allows_it(table):
    parties = {name: table[[name, "kind"]] for name in ("color", "size", "shape")}
    policies = predicting({"size": {"allow_predictions": "false"}})
    with OneProcess(parties=parties, policies=policies) as federation:
        with pytest.raises(PolicyError, match="size: this node does not let single records"):
            federation.run("secure_naive_bayes", "classify", CLASSIFY)
        assert federation.run("secure_naive_bayes", "fit", FIT)["privacy"]["differentially_private"] is True


@pytest.fixture(scope="module")
def fitted(odd):
    return odd.run("fit", {**FIT, "epsilon": 20.0, "organizations": THREE})["model"]


@pytest.mark.few(6)
@pytest.mark.parametrize(
    ("changes", "kind", "named"),
    [
        ({"epsilon": 1.0}, ArgumentError, "epsilon"),
        ({"noise": "local"}, ArgumentError, "noise"),
        ({"delta": 1e-6}, ArgumentError, "delta"),
        ({"neighbors": "replace_one"}, ArgumentError, "neighbors"),
        ({"honest_fraction": 0.5}, ArgumentError, "honest_fraction"),
        ({"model": {"format": "fedbayes.membership/1"}}, ArgumentError, "model"),
        ({"label": "color"}, ArgumentError, "label"),
        ({"label": "age"}, ArgumentError, "label"),
        ({"organizations": ["C", "Z", "label only"]}, ArgumentError, "'shape' is at no station"),
        ({"organizations": ["C", "Z", "S", "short"]}, ArgumentError, "'color' is at more than one"),
        ({"organizations": ["short", "Z", "S"]}, DataProblem, "same number of rows"),
        ({"rows_aligned": False}, ArgumentError, "id_column"),
        ({"id_column": "key"}, ArgumentError, "rows_aligned"),
        ({"id_column": "key", "rows_aligned": False}, DataProblem, "'key'"),
        ({"unit": "identifier", "id_column": "key", "rows_aligned": False}, ArgumentError, "unit"),
        ({"organizations": ["C", "Z", "no label"]}, PolicyError, "no label: .*epsilon"),
    ],
)
def test_a_vertical_evaluation_refuses_by_name(odd, fitted, changes, kind, named):
    task = {"model": fitted, "split": "vertical", "rows_aligned": True, "organizations": THREE}
    with pytest.raises(kind, match=named):
        odd.run("evaluate", {**task, **changes})


def test_a_vertical_evaluation_answers_like_a_horizontal_one(odd, fitted, table):
    result = odd.run(
        "evaluate",
        {"model": fitted, "split": "vertical", "rows_aligned": True, "organizations": THREE, "noise": "none"},
    )
    assert type(result["n"]) is int
    assert result["n"] == len(table)
    assert result["diagnostics"]["classes"] == ["a", "b"]
