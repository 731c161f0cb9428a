"""A station or helper that deviates in what it says: whatever that is, the job is answered, or ends by an error of the project, soon and in little memory."""

from __future__ import annotations

import pytest
from deviating_kit import Deviating
from test_plans_mutated import FURTHER, SHORT
from views_cases import DP_FIT, QUESTIONS, Question

from fedbayes.federation.jobs import transport

STEP, STEP_OF_COX = 40, 200
"""Of the changes of a task one in so many is made; all were once (20 minutes)."""
LONG = [one for one in QUESTIONS if one.method == "verticox" and one.function != "preflight"]
GOSSIP = FURTHER[-1]


def no_error(question: Question, step: int = 1) -> bool:
    """Return whether every change was answered or ended by an error that was foreseen, and some were refused; name those that were not."""
    members = Deviating(question, step).run()
    assert members.found == []
    return members.told.total() > 0


@pytest.mark.parametrize("question", [DP_FIT, GOSSIP], ids=lambda question: question.name)
def test_whatever_a_member_says_the_job_ends_by_an_error_that_was_foreseen(question: Question) -> None:
    assert no_error(question)


@pytest.mark.audit
@pytest.mark.parametrize("question", SHORT, ids=lambda question: question.name)
def test_in_every_method(question: Question) -> None:
    assert no_error(question, STEP)


@pytest.mark.audit
@pytest.mark.parametrize("question", LONG, ids=lambda question: question.name)
def test_in_cox_fits(question: Question) -> None:
    assert no_error(question, STEP_OF_COX)


def test_control_unchecked_contents_are_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "checked", lambda content: content)
    members = Deviating(DP_FIT, only="partial_statistics, reply ").run()
    assert any("unexpected TypeError" in text for text in members.found)
    assert any("unexpected OverflowError" in text for text in members.found)
