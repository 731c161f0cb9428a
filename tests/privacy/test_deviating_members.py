"""A station or helper that deviates in what it says: whatever that is, the job is answered, or ends by an error of the project, soon and in little memory."""

from __future__ import annotations

import pytest
from deviating_kit import Deviating
from test_plans_mutated import FURTHER
from views_cases import COUNT, COX_FIT, COX_ROWS, DP_FIT, ENSEMBLE, SECURE_FIT, SECURE_VERTICAL, SMOOTH_FIT, Question

from fedbayes.federation.jobs import transport

SOME, FEW, FEWEST = 15, 40, 150
"""Of the changes of a task one in so many is made; by hand every second to sixth was, of all tasks of the views."""
GOSSIP, WITHOUT_HELPER, UNITED = FURTHER[-1], FURTHER[1], FURTHER[4]


def no_error(question: Question, step: int) -> bool:
    """Return whether every change was answered or ended by an error that was foreseen, and there were some; name those that were not."""
    members = Deviating(question, step).run()
    assert members.found == []
    return members.told.total() > 0


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
def test_in_a_cox_fit_no_other_member_ends_by_an_error_that_nobody_foresaw() -> None:
    """Central may: it computes with numbers that cannot be."""
    members = Deviating(COX_FIT, FEWEST).run()
    assert members.told.total() > 0
    assert members.at_others == []


def test_control_unchecked_contents_are_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "checked", lambda content: content)
    members = Deviating(DP_FIT, only="partial_statistics, reply spent").run()
    assert any("unexpected OverflowError" in text for text in members.found)
    members = Deviating(DP_FIT, only="partial_statistics, reply an error").run()
    assert any("unexpected TypeError" in text for text in members.found)
