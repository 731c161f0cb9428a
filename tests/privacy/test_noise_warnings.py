"""Every answer with noise warns where the noise dominates, and says what would help; with next to no noise it does not."""

from dataclasses import replace

import pytest
from test_variants import answer, arguments_of
from views_cases import CATEGORIES, COX_ROWS, JOINED, LABELLED, QUESTIONS, SMOOTH_FIT, Question

STATES = {name: {"categories": keys} for name, keys in CATEGORIES.items()}
TABLES = {**JOINED, "domain": STATES, "epsilon": 1.0}
MORE = [
    Question("discriminative_naive_bayes", "fit", {**LABELLED, "epsilon": 1.0, "delta": 1e-6}, "horizontal"),
    Question("secure_naive_bayes", "fit", {**LABELLED, "epsilon": 1.0, "modulus_bits": 2048}, "horizontal"),
    Question("smooth_naive_bayes", "fit", {**SMOOTH_FIT.arguments, "sensitivity": "global"}, "horizontal"),
    Question("smooth_naive_bayes", "fit", {**SMOOTH_FIT.arguments, "noise": "student_t"}, "horizontal"),
    Question("scalar_product", "contingency", {"columns": ["x", "z"], **TABLES}),
    Question("scalar_product", "information_gain", {"label": "x", "columns": ["z", "w"], **TABLES}),
    Question("vertibayes", "fit", {"columns": ["x", "z", "w"], "structure": "private", "delta": 1e-6, **TABLES}),
    Question("vertibayes", "fit", {"columns": ["x", "z", "w"], "structure": "k2", **TABLES}),
    replace(COX_ROWS, arguments={**COX_ROWS.arguments, "epsilon": 1.0}),
]
ASKED_AGAIN = 4
"""Noise alone passes for records once in 600 answers (a count of one cell that exceeds four of its deviations), four times running once in 10^11."""
REMEDIES = ("epsilon", "delta", "bins", "features", "rows", "states")
BUDGETED = {
    (question.method, question.function, question.tables, str(sorted(question.arguments))): question
    for question in (*QUESTIONS, *MORE)
    if "epsilon" in question.arguments and question.function not in ("preflight", "describe")
}


def warnings(question: Question, epsilon: float) -> list[str]:
    kind, result = answer(question, {**arguments_of(question), "epsilon": epsilon})
    if kind == "DataProblem" and "the noise dominates" in result:  # it outweighs all rows, so there is no answer
        return [result]
    assert not kind, result
    return [text for text in result["warnings"] if "noise" in text.lower()]


@pytest.mark.few(8)
@pytest.mark.parametrize("question", BUDGETED.values(), ids=lambda question: question.name)
def test_noise_that_dominates_is_told_with_what_would_help(question: Question) -> None:
    asked = [warnings(question, 1e-3)]
    while not asked[-1] and len(asked) < ASKED_AGAIN:
        asked.append(warnings(question, 1e-3))
    assert any(word in text for text in asked[-1] for word in REMEDIES), asked


@pytest.mark.few(8)
@pytest.mark.parametrize("question", BUDGETED.values(), ids=lambda question: question.name)
def test_little_noise_is_no_reason_to_warn(question: Question) -> None:
    assert not [text for text in warnings(question, 1e3) if "dominates" in text]
