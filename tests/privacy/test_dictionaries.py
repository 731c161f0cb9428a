"""A central that hands out different data dictionaries: the manifest has the dictionary's digest, so that nobody adds up different tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import pytest
from harness.inprocess import InProcess
from views_cases import COUNT, DP_FIT, Question, arguments_of, question_files

from fedbayes.federation.errors import MessageError
from fedbayes.federation.guards import dictionaries
from fedbayes.federation.rounds import Federation

STUDY: dict[str, Any] = {"columns": {"unused": {"type": "category", "categories": ["no", "yes"]}}}
OTHER: dict[str, Any] = {"columns": {"unused": {"type": "category", "categories": ["yes", "no"]}}}


@contextmanager
def sent(others: dict[int, dict[str, Any] | None], agreed: dict[str, Any] | None) -> Iterator[None]:
    """Have central send some stations other dictionaries in the first round, and write that of `agreed` into the manifest."""
    ask = Federation._ask

    def asking(self: Federation, function: str, request: Any, organizations: Any, *rest: Any) -> Any:
        if function == "partial_open_channel":
            request = {
                member: type(request)(request.members, request.preflight, others.get(member, request.dictionary))
                for member in organizations
            }
        return ask(self, function, request, organizations, *rest)

    digest = dictionaries.digest
    with (
        mock.patch.object(Federation, "_ask", asking),
        mock.patch.object(Federation, "_make_manifest", _making(digest(agreed))),
    ):
        yield


def _making(digest: str) -> Any:
    make = Federation._make_manifest

    def making(self: Federation, *rest: Any) -> Any:
        with mock.patch.object(dictionaries, "digest", return_value=digest):
            return make(self, *rest)

    return making


def run(question: Question) -> Any:
    """Run a question with the dictionary `STUDY`."""
    files, policies = question_files(question, False), {name: dict(question.limits) for name in "abc"}
    with InProcess(f"v6_{question.method}", files, policies, question.central) as running:
        return running.run(question.function, {**arguments_of(question), "dictionary": STUDY})


@pytest.mark.parametrize("question", [COUNT, DP_FIT], ids=lambda question: question.method)
@pytest.mark.parametrize(
    ("others", "agreed"),
    [({2: OTHER}, STUDY), ({2: None}, STUDY), ({}, None), ({}, OTHER), ({1: None, 2: None, 3: None, 4: None}, STUDY)],
    ids=["another", "none", "manifest without", "manifest of another", "manifest alone"],
)
def test_a_station_that_was_sent_another_dictionary_than_the_manifest_says_stops_the_job(
    question: Question, others: dict[int, Any], agreed: Any
) -> None:
    with sent(others, agreed), pytest.raises(MessageError, match="another dictionary"):
        run(question)


@pytest.mark.parametrize("question", [COUNT, DP_FIT], ids=lambda question: question.method)
def test_control_one_dictionary_is_answered(question: Question) -> None:
    with sent({}, STUDY):
        assert run(question)["federation"]["rounds"] >= 2
