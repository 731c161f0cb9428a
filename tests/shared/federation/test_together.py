"""Exact answers over sets of organizations that may be subtracted from one another: what a node remembers, and what it refuses."""

import itertools
import threading
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from party_kit import by_columns, remembering
from vantage6.algorithm.tools.mock_client import MockAlgorithmClient

from fedbayes.federation import errors
from fedbayes.federation.answered import organizations
from fedbayes.federation.answered.organizations import Answers, tells_of_few
from fedbayes.federation.errors import StationError

ROWS = 60
DOMAIN = {"age": {"bounds": [20, 80]}, "ill": {"categories": ["no", "yes"]}, "smoker": {"categories": ["no", "yes"]}}
REFUSED = "fewer organizations than this node demands"


def sets(*names):
    return [frozenset(name) for name in names]


@pytest.mark.parametrize(
    ("known", "new", "fewest", "refused"),
    [
        (["abcd"], "abc", 3, True),
        (["abc"], "abcd", 3, True),
        (["abcd"], "abce", 3, True),
        (["abcd"], "abcd", 3, False),
        (["abcde"], "ab", 3, False),
        (["abcde"], "abc", 3, True),
        (["abcd"], "abc", 1, False),
        (["abcd"], "ab", 2, False),
        (["abc", "def"], "abcdefg", 3, True),
        (["abcdef", "abcghi"], "abcdefghi", 3, False),
        (["abcd", "cdef"], "abefg", 4, True),  # both less the new one: twice c and d, less g
        (["abcd", "cdef"], "abefg", 3, False),
        (["ab"], "cd", 3, False),
        (["ab"], "abcde", 3, False),
        (["ab"], "ac", 3, True),
        (["abc", "defg"], "abcdefg", 3, False),
        ([], "ab", 3, False),
    ],
)
def test_what_tells_of_few(known, new, fewest, refused):
    assert tells_of_few(sets(*known), *sets(new), fewest) is refused


def rank(rows):
    """Return the rank of rows of fractions."""
    rows, found = [list(map(Fraction, row)) for row in rows], 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((row for row in range(found, len(rows)) if rows[row][column]), None)
        if pivot is None:
            continue
        rows[found], rows[pivot] = rows[pivot], rows[found]
        for row in range(found + 1, len(rows)):
            factor = rows[row][column] / rows[found][column]
            rows[row] = [one - factor * other for one, other in zip(rows[row], rows[found], strict=True)]
        found += 1
    return found


def dimension(family, everyone, group):
    """Return how many independent combinations of the sums over a family are about a group alone."""
    rows = [[int(member in one) for member in everyone] for one in family]
    outside = [[int(member in one) for member in everyone if member not in group] for one in family]
    return rank(rows) - rank(outside) if rows else 0


@given(
    st.lists(st.frozensets(st.integers(0, 6), min_size=2), max_size=4, unique=True),
    st.frozensets(st.integers(0, 6), min_size=3),
    st.integers(2, 3),
)
def test_against_exact_ranks_over_every_group(known, new, fewest):
    everyone = sorted(new.union(*known))
    groups = [group for size in range(1, fewest) for group in itertools.combinations(everyone, size)]
    wanted = bool(known) and any(
        dimension([*known, new], everyone, group) > dimension(known, everyone, group) for group in groups
    )
    assert tells_of_few(known, new, fewest) is wanted


def test_of_two_answers_at_once_one_is_refused(tmp_path):
    answers = [Answers(tmp_path, "table") for _ in range(6)]
    asked = sets("abcd", "abc", "abd", "acd", "bcd", "abcde")
    told, start = [], threading.Barrier(len(asked))

    def ask(number):
        start.wait()
        told.append(answers[number].admit(["age"], [asked[number]], 3))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(len(asked))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(told) == 1


def test_other_columns_tables_and_organizations_are_other_questions(tmp_path):
    first, second = sets("abcd", "abc")
    assert Answers(tmp_path, "table").admit(["age", "ill"], [first], 3)
    assert Answers(tmp_path, "table").admit(["smoker"], [second], 3)
    assert Answers(tmp_path, "another").admit(["age"], [second], 3)
    assert Answers(tmp_path, "of another organization").admit(["age"], [second], 3)
    assert not Answers(tmp_path, "table").admit(["smoker", "age"], [second], 3)
    assert not Answers(tmp_path, "table").admit(["smoker"], [first], 3), "what was refused is not remembered"


def test_a_record_that_is_damaged_lets_nothing_out(tmp_path):
    path = tmp_path / "fedbayes-answers.sqlite3"
    for content in (b"", b"no database at all " * 100):
        path.write_bytes(content)
        with pytest.raises(StationError, match="record of answers"):
            Answers(tmp_path, "table").admit(["age"], sets("abc"), 3)


def test_nobody_fills_the_record(tmp_path):
    """Of all sets of eleven organizations that are admitted, and of any order, no more are kept than there are organizations."""
    record, rng = Answers(tmp_path, "table"), np.random.default_rng(3)
    admitted = [
        record.admit(["age"], [frozenset(map(str, np.flatnonzero(rng.random(11) < 0.7)))], 1) for _ in range(400)
    ]
    assert sum(admitted) > organizations.MOST_SETS
    with Answers(tmp_path, "table").reading() as remembered:
        assert 1 <= len(remembered.of("age")) <= 11


def test_too_many_sets_end_in_a_refusal_within_a_moment():
    rng = np.random.default_rng(1)
    known = [frozenset(np.flatnonzero(rng.random(70) < 0.5).tolist()) for _ in range(organizations.MOST_SETS)]
    assert tells_of_few(known, frozenset(range(70)), 3)
    assert tells_of_few(known[:40], frozenset(range(61)), 8) in (True, False)


# -- whole tasks -------------------------------------------------------------------------------------------------------


def table(name):
    rng = np.random.default_rng(ord(name))
    return pd.DataFrame(
        {
            "id": [f"{name}{row}" for row in range(ROWS)],
            "age": rng.integers(20, 80, ROWS),
            "ill": rng.choice(["no", "yes"], ROWS),
            "smoker": rng.choice(["no", "yes"], ROWS),
            "week": rng.integers(1, 9, ROWS),
            "event": rng.integers(0, 2, ROWS),
        }
    )


@pytest.fixture(scope="module")
def federation(tmp_path_factory):
    with remembering({name: table(name) for name in "abcde"}, tmp_path_factory.mktemp("together")) as found:
        yield found


def ask(federation, algorithm, function, organizations, **arguments):
    return federation.run(algorithm, function, {**arguments, "organizations": list(organizations)})


QUESTIONS = {
    "describe": ("scalar_product", "describe", {"domain": DOMAIN}),
    "tables": (
        "discriminative_naive_bayes",
        "fit",
        {"label": "ill", "features": ["smoker"], "domain": DOMAIN, "rounds": 1},
    ),
    "sums": ("dp_naive_bayes", "fit", {"label": "ill", "features": ["smoker"], "domain": DOMAIN, "noise": "none"}),
    "ciphers": (
        "secure_naive_bayes",
        "fit",
        {"label": "ill", "features": ["smoker"], "domain": DOMAIN, "noise": "none", "modulus_bits": 2048},
    ),
    "networks": (
        "vertibayes",
        "fit",
        {"columns": ["ill", "smoker"], "domain": DOMAIN, "split": "horizontal", "structure": [["smoker", "ill"]]},
    ),
    "risks": (
        "verticox",
        "fit",
        {
            "time": "week",
            "event": "event",
            "features": ["age"],
            "domain": DOMAIN,
            "times": [3, 6],
            "split": "horizontal",
        },
    ),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("question", QUESTIONS)
def test_an_organization_that_drops_out_is_not_told(federation, question):
    algorithm, function, arguments = QUESTIONS[question]
    ask(federation, algorithm, function, "abcd", **arguments)
    others = "abc" if question != "describe" else "abce"
    for members, refused in ((others, True), ("abcd", False)):
        asked = {"function": function, "arguments": {**arguments, "organizations": list(members)}}
        told = federation.run(algorithm, "preflight", asked)["stations"]
        assert any(REFUSED in str(word) for word in told.values()) is refused, "foreseen, and nothing is remembered"
    with pytest.raises(errors.ThresholdError, match=REFUSED):
        ask(federation, algorithm, function, others, **arguments)


def test_one_method_remembers_for_another_and_noise_is_the_remedy(federation):
    ask(federation, "scalar_product", "describe", "abcd", domain=DOMAIN)
    algorithm, function, arguments = QUESTIONS["tables"]
    with pytest.raises(errors.ThresholdError, match=REFUSED):
        ask(federation, algorithm, function, "abc", **arguments)
    assert ask(federation, "scalar_product", "describe", "abc", domain=DOMAIN, epsilon=1.0)["privacy"]["epsilon"] == 1.0
    with pytest.raises(errors.ThresholdError, match=REFUSED):
        ask(federation, "scalar_product", "describe", "abc", domain=DOMAIN, epsilon=1e6)
    algorithm, function, arguments = QUESTIONS["risks"]
    with pytest.raises(errors.ThresholdError, match=REFUSED):
        ask(federation, algorithm, function, "abc", **arguments)


def test_linked_records_are_not_sums_over_organizations(tmp_path):
    """Of columns that one station each holds, answers over fewer stations are about the same people."""
    tables = by_columns(table("a"), {"a": ["age"], "b": ["ill"], "c": ["smoker"]})
    given = {"id_column": "id", "domain": DOMAIN, "missing_state": False}
    with remembering(tables, tmp_path) as federation:
        asked = {"columns": ["ill", "smoker"], **given}
        over_three = ask(federation, "scalar_product", "contingency", ["a", "b", "c", "helper"], **asked)
        over_two = ask(federation, "scalar_product", "contingency", ["b", "c", "helper"], **asked)
    assert over_two["counts"] == over_three["counts"]


def test_the_administrator_may_allow_it_and_settings_tell(tmp_path):
    tables = {name: table(name) for name in "abcd"}
    for allowed in (False, True):
        with remembering(tables, tmp_path, helpers=(), allow_differences=allowed) as federation:
            told = federation.run("scalar_product", "disclosure_settings")
            assert told["answers_are_remembered"] is not allowed
            assert told["settings"]["allow_differences"] is allowed
            ask(federation, "scalar_product", "describe", "abcd", domain=DOMAIN)
            if allowed:
                ask(federation, "scalar_product", "describe", "abc", domain=DOMAIN)


def test_the_mock_client_remembers_too(tmp_path, monkeypatch):
    monkeypatch.setenv("FEDBAYES_LEDGER", "vault")
    monkeypatch.setenv("VAULT_DATABASE_URI", str(tmp_path))
    client = MockAlgorithmClient(
        datasets=[[{"database": table(name), "db_type": "csv"}] for name in "abcd"],
        organization_ids=[1, 2, 3, 4],
        module="v6_scalar_product",
    )

    def describe(organizations):
        given = {"domain": DOMAIN, "organizations": organizations}
        task = client.task.create(input_={"method": "describe", "kwargs": given}, organizations=[1])
        return client.result.from_task(task["id"])[0]

    monkeypatch.delenv("FEDBAYES_ALLOW_DIFFERENCES")
    monkeypatch.setenv("FEDBAYES_LONG_TERM_KEY", "false")  # one folder for four: they would share the key
    describe([1, 2, 3, 4])
    describe([1, 2, 3, 4])
    with pytest.raises(errors.ThresholdError, match=REFUSED):
        describe([1, 2, 3])
    assert (Path(tmp_path) / "fedbayes-answers.sqlite3").exists()
