"""A station or helper that deviates in what it says: whatever that is, the job is answered, or ends by an error of the project, soon and in little memory."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest
from deviating_kit import Deviating
from test_plans_mutated import FURTHER
from views_cases import (
    COUNT,
    COX,
    COX_FIT,
    COX_ROWS,
    DP_FIT,
    ENSEMBLE,
    JOINED,
    SECURE_FIT,
    SECURE_VERTICAL,
    SMOOTH_FIT,
    Question,
)

from fedbayes.federation.jobs import transport
from v6_verticox.noisy import fit
from v6_verticox.rounds import revealed

SOME, FEW, FEWEST = 15, 40, 150
"""Of the changes of a task one in so many is made; by hand every second to sixth was, of all tasks of the views."""
NOISY = {
    "domain": {"v": {"bounds": [-1, 1]}, "w": {"bounds": [0, 1]}},
    "times": [3.0, 6.0, 12.0, 40.0],
    "epsilon": 2.0,
    "delta": 1e-6,
}
COX_NOISY = Question("verticox", "fit", {**COX, **NOISY}, central="c")
ARRANGED, REVEALED = "partial_arrange, reply{}{} = False", "partial_stage, reply{}{}{} = uint64 (2, 2, 2)"
GOSSIP, WITHOUT_HELPER, UNITED = FURTHER[-1], FURTHER[1], FURTHER[4]


def no_error(question: Question, step: int) -> bool:
    """Return whether every change was answered or ended by an error that was foreseen, and there were some; name those that were not."""
    members = Deviating(question, step).run()
    assert members.found == []
    return members.told.total() > 0


@pytest.mark.few(1)
@pytest.mark.parametrize("question", [DP_FIT, GOSSIP], ids=lambda question: question.name)
def test_whatever_a_member_says_the_job_ends_by_an_error_that_was_foreseen(question: Question) -> None:
    assert no_error(question, SOME)


@pytest.mark.audit
@pytest.mark.parametrize(
    "question",
    [SMOOTH_FIT, SECURE_FIT, SECURE_VERTICAL, COUNT, WITHOUT_HELPER, UNITED, ENSEMBLE, COX_ROWS],
    ids=lambda question: question.name,
)
def test_in_every_method(question: Question) -> None:
    assert no_error(question, FEW)


@pytest.mark.audit
@pytest.mark.parametrize(
    "question",
    [
        COX_FIT,
        COX_NOISY,
        Question("verticox", "fit", {**COX, "solver": "admm", "tolerance": 1e-3}, central="c"),
        Question("verticox", "evaluate", JOINED, central="c", model=COX_FIT),
        Question("verticox", "baseline", JOINED, central="c", model=COX_FIT),
    ],
    ids=lambda question: f"{question.function} {question.arguments.get('solver', '')}",
)
def test_in_a_cox_fit_numbers_that_cannot_be_end_it_by_name(question: Question) -> None:
    assert no_error(question, FEWEST)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("question", "words"),
    [
        (COX_FIT, "partial_submit, reply{}{} short"),
        (COX_FIT, "partial_match, reply{}{} = 2147483648"),
        (COX_FIT, "partial_prepare, reply{}{}{}{} short"),
        (COX_FIT, REVEALED),
        (COX_NOISY, ARRANGED),
        (COX_NOISY, "partial_products, reply{}{}{} = uint64 (4, 2)"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.function,
)
def test_numbers_of_a_cox_fit_are_checked_where_central_takes_them(question: Question, words: str) -> None:
    """Each of these ended central by an error in its arithmetic."""
    members = Deviating(question, only=words).run()
    assert members.found == []
    assert members.told.total() > 0


def test_control_unchecked_numbers_of_a_cox_fit_are_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit, "adding_up", lambda *_: nullcontext())
    assert Deviating(COX_NOISY, only=ARRANGED).run().found
    monkeypatch.setattr(revealed, "numbers", lambda values, *_: np.asarray(values))
    assert Deviating(COX_FIT, only=REVEALED).run().found


def test_openings_of_united_records_are_of_as_many_records() -> None:
    """Two honest stations ended by an error in their arithmetic, which counted as a refusal of theirs."""
    members = Deviating(UNITED, only="partial_extend, content empty").run()
    assert members.found == []
    assert members.told == {"MessageError": 1}


def test_control_unchecked_contents_are_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "checked", lambda content: content)
    members = Deviating(DP_FIT, only="partial_statistics, reply spent").run()
    assert any("unexpected OverflowError" in text for text in members.found)
    members = Deviating(DP_FIT, only="partial_statistics, reply an error").run()
    assert any("unexpected TypeError" in text for text in members.found)
