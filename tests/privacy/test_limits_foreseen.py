"""What a node's limits refuse is refused before anything is spent anywhere, and `preflight` says it: every function, every limit that looks at no value."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from one_process import OneProcess
from party_kit import with_folders
from views_cases import QUESTIONS, SECURE_VERTICAL, Question, arguments_of, question_files

from fedbayes.federation.errors import AlgorithmError

OPEN = {"minimum_rows": 1, "minimum_organizations": 1, "minimum_count": 1, "allow_predictions": True}
LIMITS: dict[str, Any] = {
    "minimum_organizations": 9,
    "allowed_columns": ["nothing"],
    "maximum_epsilon": 0.1,
    "maximum_delta": 1e-12,
    "allow_non_private": False,
    "allow_predictions": False,
    "allowed_functions": ["partial_other"],
    "budget_epsilon": 0.01,  # a helper has no ledger
    "maximum_honest_fraction": 0.1,
    "id_columns": ["other"],
}
KEPT = "classify-labelled"
"""Its tables may have been paid for before: only in its third round a station knows what it debits."""
TASKS = {
    f"{position}-{question.name}": question
    for position, question in enumerate(QUESTIONS)
    if question.function not in ("preflight", "sample") and question.quick
}
SOME = (
    "secure_naive_bayes-evaluate-labelled",
    "vertibayes-classify",
    "count-vertical-none",
    "dp_naive_bayes-fit-horizontal-y-local",
)


class Asked:
    """One task, asked again and again of nodes with other limits."""

    def __init__(self, question: Question, folder: Path) -> None:
        self.question, self.arguments = question, arguments_of(question)
        files = question_files(question, False)
        tables = {name: pd.read_csv(io.StringIO(text)) for name, text in files.items() if text is not None}
        self.parties, self.helpers = (
            with_folders(tables, folder),
            [name for name, text in files.items() if text is None],
        )

    def _running(self, limited: str, limits: Mapping[str, Any]) -> OneProcess:
        policies = {name: {**OPEN, "ledger": "vault", "allow_foreign_models": True} for name in self.parties}
        policies |= dict.fromkeys(self.helpers, OPEN)
        return OneProcess(self.parties, self.helpers, {**policies, limited: {**policies[limited], **limits}})

    def run(self, limited: str, limits: Mapping[str, Any]) -> Any:
        """Return the task's result, where one organization has these limits."""
        with self._running(limited, limits) as running:
            return running.run(self.question.method, self.question.function, self.arguments, self.question.central)

    def told(self, limited: str, limits: Mapping[str, Any]) -> str | None:
        """Return what that organization says beforehand."""
        asked = {"function": self.question.function, "arguments": self.arguments}
        with self._running(limited, limits) as running:
            stations = running.run(self.question.method, "preflight", asked, self.question.central)["stations"]
        return str(stations[limited]) if stations[limited] else None


def of_audits(name: str) -> Any:
    return name if any(part in name for part in SOME) else pytest.param(name, marks=pytest.mark.audit)


@pytest.mark.few(2)
@pytest.mark.parametrize("name", [of_audits(name) for name in TASKS])
def test_limits_are_told_beforehand_and_refuse_before_anything_is_spent(name: str, tmp_path: Path) -> None:
    asked = Asked(TASKS[name], tmp_path)
    for limited in ("b", *asked.helpers):
        limits = {limit: value for limit, value in LIMITS.items() if limited == "b" or limit != "budget_epsilon"}
        said = {limit: asked.told(limited, {limit: value}) for limit, value in limits.items()}
        refusing = [limit for limit, told in said.items() if told]
        limit = refusing[int(name.partition("-")[0]) % len(refusing)]  # each preflight is the first round of such a run
        with pytest.raises(AlgorithmError, match=r"\(nothing was spent\)") as refused:
            asked.run(limited, {limit: limits[limit]})
        assert str(said[limit]) in str(refused.value)
        allowed = {limit: value for limit, value in limits.items() if not said[limit]}
        if KEPT in name:
            allowed = {limit: value for limit, value in allowed.items() if "epsilon" not in limit}
        assert asked.run(limited, allowed)["federation"]["rounds"] > 1


def test_a_helper_has_no_records_that_limits_could_keep(tmp_path: Path) -> None:
    asked = Asked(TASKS[next(name for name in TASKS if SOME[0] in name)], tmp_path)
    limited, unlimited = (
        asked.run("helper", limits) for limits in ({"allow_predictions": False, "allow_non_private": False}, {})
    )
    for score in ("accuracy", "auc", "log_loss", "n"):
        assert limited[score] == unlimited[score]


@pytest.mark.parametrize("limits", [{"maximum_epsilon": 0.3}, {"budget_epsilon": 0.3}], ids=str)
def test_a_part_of_a_shared_budget_is_foreseen_too(limits: Mapping[str, float], tmp_path: Path) -> None:
    """Each station of a fit of `secure_naive_bayes` over columns debits what its own features need: here a third of 1.2."""
    exact = {name: value for name, value in SECURE_VERTICAL.arguments.items() if name != "noise"}
    asked = Asked(replace(SECURE_VERTICAL, arguments={**exact, "epsilon": 1.2}), tmp_path)
    assert asked.told("b", limits)
    with pytest.raises(AlgorithmError, match=r"epsilon.*\(nothing was spent\)"):
        asked.run("b", limits)
    assert asked.run("b", {name: 0.5 for name in limits})["privacy"]["differentially_private"]


def test_a_column_without_a_name_is_no_column_of_identifiers(tmp_path: Path) -> None:
    """Parquet files may have one; a subset, which linked records may not have, is then refused no more than of another file."""
    asked = Asked(next(question for name, question in TASKS.items() if SOME[-1] in name), tmp_path)
    for paths in asked.parties.values():
        table = pd.read_csv(paths["default"])
        paths["default"] = paths["default"].with_suffix(".parquet")
        table.assign(**{"": 1}).to_parquet(paths["default"])
    study = {"columns": {"g": {"type": "number", "bounds": [0, 1]}}, "subset": "g < 0.9"}
    asked.arguments = {**asked.arguments, "dictionary": study}
    limits = {"id_columns": ["id"], "allow_formulas": True}
    assert asked.told("b", limits) is None
    assert asked.run("b", limits)["privacy"]["differentially_private"]
