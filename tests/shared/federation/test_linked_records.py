"""Exact answers about linked records of which few are in one and not in another: what an owner remembers of its rows, and what it refuses."""

import itertools
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from party_kit import remembering

from fedbayes.federation import errors
from fedbayes.federation.answered.linked import Linked, words_of
from fedbayes.federation.answered.selections import tells_of_few
from fedbayes.mpc import alignment

ROWS = 120
REFUSED = "linked records"
TABLE = {"columns": ["sex", "ill"]}
QUESTIONS = {
    "contingency": ("scalar_product", "contingency", TABLE),
    "count": ("scalar_product", "count", {"conditions": [{"column": name, "op": "==", "value": "1"} for name in ("sex", "ill")]}),
    "network": ("vertibayes", "fit", {**TABLE, "structure": [["sex", "ill"]]}),
    "ensemble": ("bayesian_ensemble", "fit", {"label": "ill", "features": ["sex"], "members": "party"}),
    "survival": ("verticox", "fit", {"time": "time", "event": "event", "features": ["age", "dose"]}),
}  # fmt: skip


def tables(lacking=1):
    """Return columns of two organizations of the same people, and of a third one that lacks the last so many of them."""
    draw = np.random.default_rng(4)
    ids = [f"p{row:03d}" for row in range(ROWS)]
    here = {"id": ids, "other": [*ids[: ROWS - lacking], *(f"q{row}" for row in range(lacking))]}
    sex, ill, event = (draw.choice(["1", "2"], ROWS) for _ in range(3))
    a = {**here, "sex": sex, "age": draw.normal(size=ROWS)}
    b = {**here, "ill": ill, "time": draw.exponential(size=ROWS), "event": (event == "1").astype(int)}
    c = {"id": ids[: ROWS - lacking], "other": ids[: ROWS - lacking], "dose": draw.normal(size=ROWS - lacking)}
    d = {**{name: part[: ROWS - lacking - 40] for name, part in here.items()}, "later": range(ROWS - lacking - 40)}
    return {name: pd.DataFrame(part) for name, part in {"a": a, "b": b, "c": c, "d": d}.items()}


def federation(folder, lacking=1, differ=False, **limits):
    return remembering(tables(lacking), folder, allow_differences=differ, **limits)


def asked(running, question, organizations, **more):
    method, function, arguments = QUESTIONS[question]
    names = [*organizations, *(["helper"] if more.get("helper") != "none" else [])]
    features = {"features": ["age"]} if question == "survival" and "c" not in organizations else {}
    return running.run(method, function, {**arguments, "id_column": "id", "organizations": names, **features, **more})


@pytest.mark.few(2)
@pytest.mark.parametrize("question", QUESTIONS)
def test_an_organization_that_lacks_one_person_is_not_left_out(tmp_path, question):
    """Its table is in no question; only whom it has decides which records count."""
    with federation(tmp_path) as running:
        assert asked(running, question, "abc")
        with pytest.raises(errors.ThresholdError, match=REFUSED):
            asked(running, question, "ab")
        assert asked(running, question, "abc"), "the same records again"
        assert asked(running, "contingency", "abd"), "many records fewer"
        if question == "contingency":
            assert asked(
                running, question, "ab", epsilon=1.0, domain={name: {"categories": [1, 2]} for name in ("sex", "ill")}
            )


def test_without_a_helper_too(tmp_path):
    with federation(tmp_path) as running:
        assert asked(running, "contingency", "abcd", helper="none")
        assert asked(running, "contingency", "abc", helper="none")
    with federation(tmp_path / "few", lacking=0) as running:
        assert asked(running, "contingency", "abc", helper="none")
        assert asked(running, "contingency", "ab")


def test_a_helper_that_matches_one_record_less(tmp_path):
    """It knows no value, and chooses which records count."""

    def without_the_first(stations, lists):
        return {party: places[1:] for party, places in intersect(stations, lists).items()}

    intersect = alignment.intersect
    with federation(tmp_path) as running:
        assert asked(running, "contingency", "ab")
        short = mock.patch("fedbayes.mpc.alignment.intersect", without_the_first)
        with short, pytest.raises(errors.ThresholdError, match=REFUSED):
            asked(running, "contingency", "ab")


def test_another_column_of_identifiers_that_one_person_has_otherwise(tmp_path):
    with federation(tmp_path) as running:
        assert asked(running, "contingency", "ab")
        for organizations in ("ab", "abc"):  # the same people by other names, and one of them left out
            with pytest.raises(errors.ThresholdError, match=REFUSED):
                asked(running, "contingency", organizations, id_column="other")


UNITED = {"split": "hybrid", "domain": {name: {"categories": [1, 2]} for name in ("sex", "ill")}, "pseudocount": 0.0}


@pytest.mark.parametrize("first", ["united", "linked"])
def test_united_records_of_which_few_are_not_linked(tmp_path, first):
    """A network of united records counts whom the organization that is left out lacks: nobody took note of a union's rows."""
    asks = {"united": ("ab", UNITED), "linked": ("abc", {})}
    second = next(name for name in asks if name != first)
    with federation(tmp_path, minimum_organizations=2) as running:
        assert asked(running, "network", asks[first][0], **asks[first][1])
        assert asked(running, "network", asks[first][0], **asks[first][1]), "the same records again"
        with pytest.raises(errors.ThresholdError, match=REFUSED):
            asked(running, "network", asks[second][0], **asks[second][1])
        assert asked(running, "network", "abd"), "many records fewer"


def test_control_the_difference_of_united_and_linked_records_is_one_person(tmp_path):
    table, shares = tables(), {}
    with federation(tmp_path, differ=True, minimum_organizations=2) as running:
        for name, organizations, more in (("united", "ab", UNITED), ("linked", "abc", {"pseudocount": 0.0})):
            result = asked(running, "network", organizations, **more)
            sex, ill = (np.array(result["model"]["tables"][column]["probabilities"]) for column in ("sex", "ill"))
            shares[name] = np.rint(sex[:, None] * ill * result["diagnostics"]["records"])
    left = np.argwhere(shares["united"] - shares["linked"])
    assert left.tolist() == [[int(table["a"]["sex"].iloc[-1]) - 1, int(table["b"]["ill"].iloc[-1]) - 1]]


def test_another_column_is_another_question(tmp_path):
    with federation(tmp_path) as running:
        assert asked(running, "contingency", "abc")
        assert asked(running, "survival", "ab"), "of columns that no answer was about"


def test_control_the_difference_is_one_person(tmp_path):
    table = tables()
    with federation(tmp_path, differ=True) as running:
        both = [asked(running, "contingency", organizations)["counts"] for organizations in ("ab", "abc")]
    left = np.argwhere(np.subtract(*both))
    assert left.tolist() == [[int(table["a"]["sex"].iloc[-1]) - 1, int(table["b"]["ill"].iloc[-1]) - 1]]


def test_as_many_as_the_node_demands_are_told(tmp_path):
    with federation(tmp_path, lacking=10) as running:
        assert asked(running, "contingency", "abc")
        assert asked(running, "contingency", "ab")


@given(st.lists(st.lists(st.booleans(), min_size=7, max_size=7), min_size=1, max_size=4), st.integers(2, 4))
def test_against_every_sum_one_by_one(sets, minimum):
    """Sums over linked records and earlier ones; that over all rows is none of them."""
    *known, new = np.array(sets)
    found = False
    for first, second in itertools.combinations([*known, np.zeros(7, dtype=bool), np.zeros(7, dtype=bool)], 2):
        for a, b in itertools.product((-1, 0, 1), repeat=2):
            about = new.astype(int) + a * first + b * second
            found |= bool(known) and 0 < np.count_nonzero(about) < minimum
    assert tells_of_few(known, new, minimum, whole=False) is bool(found)


def test_what_is_remembered(tmp_path, monkeypatch):
    record, every = Linked(tmp_path, "table"), np.arange(20)

    def admit(columns, places, total=20):
        return record.admit(columns, words_of(places, total), total, 5)

    assert admit(["x"], every)
    assert not admit(["x"], every[:18])
    assert admit(["y"], every[:18]), "of another column"
    assert not admit(["x", "y"], every)
    assert admit(["x"], every[:18], 30), "of a table with other rows"
    assert admit(["x"], every[::-1]), "the same rows in another order"
    assert record.admit(["z"], words_of(every, 20), 20, 5, "id")
    assert not record.admit(["z"], words_of(every, 20), 20, 5, ""), "linked by their places"
    assert record.admit(["z"], words_of(every, 20), 20, 5), "of this station alone"
    assert not admit(["x"], every[:2]), "of the few alone"
    monkeypatch.setattr("fedbayes.federation.answered.linked.MOST_LINKED", 1)
    assert not admit(["x"], every[:8])
    (tmp_path / "fedbayes-linked.sqlite3").write_bytes(b"no database at all " * 100)
    with pytest.raises(errors.StationError, match="record of linked"):
        admit(["x"], every)
