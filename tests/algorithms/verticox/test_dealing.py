"""The helper deals for one plan a job and every stage once: who takes what is dealt twice under one name could subtract what hides it."""

from dataclasses import replace

import pytest
from cox_kit import fit_three_stations

from fedbayes.federation.errors import MessageError
from fedbayes.federation.rounds import Federation
from v6_verticox.messages.private import EnterReply, StageReply
from v6_verticox.stations import dealer, holder

HELPER = 4
TWICE = "asked for twice with other contents"


def asking_twice(monkeypatch, change, at=2):
    """Have central ask the helper once more with `change(request)` after its `at`-th request to deal; return what was dealt."""
    honest, dealt = Federation.round, []

    def round_(self, function, request, organizations, reply_type, **options):
        replies = honest(self, function, request, organizations, reply_type, **options)
        if function == "partial_enter":
            asked = request[HELPER] if isinstance(request, dict) else request
            dealt.append(replies[asked.plan.helper].dealt)
            if len(dealt) == at:
                again = honest(self, function, change(asked), [asked.plan.helper], EnterReply)
                dealt.append(again[asked.plan.helper].dealt)
        return replies

    monkeypatch.setattr(Federation, "round", round_)
    return dealt


def other_coefficients(request):
    """Return the request with a refinement by other coefficients: the product that is dealt is another one, the mask the same."""
    changed = [
        replace(stage, coefficients=(stage.coefficients[0] + 128, stage.coefficients[1]))
        if stage.kind in ("weigh", "refine")
        else stage
        for stage in request.stages
    ]
    return replace(request, stages=changed)


CHANGES = {
    "other coefficients": other_coefficients,
    "some of the stages": lambda request: replace(request, stages=request.stages[:1]),
    "another order of the share holders": lambda request: replace(
        request, plan=replace(request.plan, holders=[2, 1, 3])
    ),
    "more rows": lambda request: replace(
        request, plan=replace(request.plan, rows=request.plan.rows + 1, strata=[request.plan.rows + 1])
    ),
    "other columns": lambda request: replace(request, plan=replace(request.plan, widths=[1, 2, 0])),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_helper_deals_for_one_plan_and_a_stage_once(monkeypatch, change):
    asking_twice(monkeypatch, CHANGES[change])
    with pytest.raises(MessageError, match=TWICE):
        fit_three_stations()


def test_the_same_question_once_more_is_answered(monkeypatch):
    """As after a repeat that the platform makes."""
    dealt = asking_twice(monkeypatch, lambda request: request)
    assert len(fit_three_stations()["model"]["coefficients"]) == 3
    assert len(dealt) > 3


@pytest.mark.few(1)
@pytest.mark.parametrize("change", ["other coefficients", "another order of the share holders"])
def test_control_unbound_it_deals_twice(monkeypatch, change):
    monkeypatch.setattr(dealer, "asked_once", lambda *_: "")
    monkeypatch.setattr(dealer, "_named_once", lambda *_: None)
    dealt = asking_twice(monkeypatch, CHANGES[change])
    assert len(fit_three_stations()["model"]["coefficients"]) == 3
    assert len(dealt) > 3


def with_other_plan(monkeypatch):
    """Have central tell all share holders of another plan in its fourth stage: one that no guard of products belongs to."""
    honest, asked = Federation.round, []

    def round_(self, function, request, organizations, reply_type, **options):
        if reply_type is StageReply:
            asked.append(function)
            if len(asked) == 4:
                request = {
                    member: replace(one, plan=replace(one.plan, band=one.plan.band + 1))
                    for member, one in request.items()
                }
        return honest(self, function, request, organizations, reply_type, **options)

    monkeypatch.setattr(Federation, "round", round_)


def test_share_holders_keep_to_one_plan(monkeypatch):
    with_other_plan(monkeypatch)
    with pytest.raises(MessageError, match=TWICE):
        fit_three_stations()


@pytest.mark.audit
def test_control_unbound_they_go_on_with_another(monkeypatch):
    monkeypatch.setattr(holder, "asked_once", lambda *_: None)
    with_other_plan(monkeypatch)
    assert len(fit_three_stations()["model"]["coefficients"]) == 3
