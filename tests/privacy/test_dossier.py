"""A dossier of a real result of every method: no empty field, every role, the limits that held, debits as in the ledgers; and what it must not claim."""

from __future__ import annotations

import importlib
import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import views_cases as cases
from one_process import OneProcess

from fedbayes.client.dossier import differential_privacy, registry
from fedbayes.client.dossier.build import dossier
from fedbayes.client.dossier.facts import Facts, Statements
from fedbayes.client.dossier.page import render
from fedbayes.client.pages import sequence
from fedbayes.client.text.limits import SET, UNSET
from fedbayes.dp.ledger import Ledger
from fedbayes.federation.node import limits
from fedbayes.federation.results import ROLES

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs/dossier.schema.json").read_text(encoding="utf-8"))
DP = {**cases.LABELLED, "epsilon": 1.0}


def asked(method: str, function: str) -> cases.Question:
    """Return the question of a function."""
    return next(one for one in cases.QUESTIONS if (one.method, one.function) == (method, function))


PUBLISHED = ("published", "thesis")
"""How arguments call what a paper or the thesis did."""
VARIANTS = {
    "dp_naive_bayes, sensitivity=published": replace(
        cases.DP_FIT,
        arguments={**DP, "noise": "local", "statistics": "gaussian", "sensitivity": "published"},
    ),
    "smooth_naive_bayes, sensitivity=published": replace(
        cases.SMOOTH_FIT, arguments={**DP, "sensitivity": "published"}
    ),
    "discriminative_naive_bayes, prior=published": replace(
        cases.DISCRIMINATIVE_FIT, arguments={**DP, "rounds": 2, "prior": "published"}
    ),
    "discriminative_naive_bayes, exact, prior=published": replace(
        cases.DISCRIMINATIVE_FIT, arguments={**cases.LABELLED, "rounds": 2, "prior": "published"}
    ),
    "secure_naive_bayes, noise=published": replace(
        cases.SECURE_FIT, arguments={**DP, "delta": 1e-6, "noise": "published", "modulus_bits": 2048}
    ),
    "scalar_product, protocol=thesis": replace(cases.COUNT, arguments={**cases.COUNTED, "protocol": "thesis"}),
    "bayesian_ensemble, scoring=published": replace(
        asked("bayesian_ensemble", "evaluate"),
        arguments={**asked("bayesian_ensemble", "evaluate").arguments, "scoring": "published"},
    ),
    "verticox, gamma_update=published": replace(
        cases.COX_FIT, arguments={**cases.COX, "solver": "admm", "gamma_update": "published", "tolerance": 0.1}
    ),
}
"""Every choice of an argument that reproduces a paper."""
QUESTIONS = {
    **VARIANTS,
    "dp_naive_bayes": replace(cases.DP_FIT, arguments=DP),
    "dp_naive_bayes, Gaussian noise": replace(
        cases.DP_FIT, arguments={**DP, "delta": 1e-6, "mechanism": "gaussian", "noise": "local"}
    ),
    "dp_naive_bayes, exact": cases.DP_FIT,
    "smooth_naive_bayes": cases.SMOOTH_FIT,
    "discriminative_naive_bayes": cases.DISCRIMINATIVE_FIT,
    "secure_naive_bayes": cases.SECURE_FIT,
    "scalar_product": cases.COUNT,
    "scalar_product, noisy": replace(cases.COUNT, arguments={**cases.COUNTED, "epsilon": 1.0}),
    "vertibayes": cases.NETWORK,
    "vertibayes, records": asked("vertibayes", "classify"),
    "bayesian_ensemble": cases.ENSEMBLE,
    "bayesian_ensemble, records": asked("bayesian_ensemble", "classify"),
    "verticox": cases.COX_FIT,
    "verticox, records": asked("verticox", "predict"),
}
PRIVATE = {
    "dp_naive_bayes",
    "dp_naive_bayes, Gaussian noise",
    "smooth_naive_bayes",
    "scalar_product, noisy",
    "discriminative_naive_bayes, prior=published",  # the prior alone is the paper's; noise and accounting are ours
}
CLAIM = re.compile(r"epsilon|delta|budget|differential|noisy|noise(?! that is no guarantee)", re.IGNORECASE)
BUDGET = {"budget_epsilon": 9.0, "maximum_queries": 1000}


def answered(question: cases.Question, folder: Path) -> dict[str, Any]:
    """Return the result of a question, and what the ledgers of the stations hold after it."""
    parties, policies = {}, {}
    files = cases.question_files(question, False)
    for name, content in files.items():
        if content is not None:
            (folder / name).mkdir()
            (folder / f"{name}.csv").write_text(content, encoding="utf-8")
            parties[name] = {"default": folder / f"{name}.csv", "ledger": folder / name}
            policies[name] = {**question.limits, **BUDGET, "ledger": "ledger", "allow_foreign_models": True}
    helpers = [name for name, content in files.items() if content is None]
    policies |= {name: dict(question.limits) for name in helpers}
    arguments = cases.arguments_of(question)
    with OneProcess(parties, helpers=helpers, policies=policies, aggregator=question.central) as federation:
        result = federation.run(question.method, question.function, arguments)
    spent = {name: Ledger(folder / name / "fedbayes-ledger.sqlite3").spent() for name in parties}
    return {"result": result, "spent": spent, "stations": set(parties), "helpers": set(helpers)}


@pytest.fixture(scope="module", params=QUESTIONS)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return a question's name, its result, the ledgers and the dossier."""
    name = request.param
    found = answered(QUESTIONS[name], tmp_path_factory.mktemp("case"))
    return {"name": name, **found, "dossier": found["result"].dossier()}


def test_all_methods_are_here() -> None:
    methods = {path.parent.name for path in ROOT.glob("algorithms/*/pyproject.toml")}
    assert {question.method for question in QUESTIONS.values()} == methods


def test_it_is_as_its_schema_says_and_no_field_is_empty(case: dict[str, Any]) -> None:
    problem = next(jsonschema.Draft202012Validator(SCHEMA).iter_errors(case["dossier"]), None)
    assert problem is None, f"{problem.json_path}: {problem.message}"[:400]
    assert list(empty(case["dossier"])) == []


def test_every_role_is_there_in_the_methods_own_words(case: dict[str, Any]) -> None:
    found = {entry["role"]: entry for entry in case["dossier"]["recipients"]}
    assert set(ROLES) - {"assumption"} <= set(found)
    assert {"vantage6 server and network", "node administrators"} <= set(found)
    told = case["result"]["privacy"]["reveals"]
    for role in set(told) - {"assumption"}:
        assert found[role]["received"] == told[role]
        assert found[role]["took_part"]
    assert case["dossier"]["assumption"].startswith(told.get("assumption", "no assumption beyond"))
    in_shares = case["name"] in PRIVATE and "share" in case["result"]["privacy"]["mechanism"]
    assert ("honest_fraction" in case["dossier"]["assumption"]) == in_shares
    assert not [role for role, entry in found.items() if entry["stated_by"].startswith("nobody")]
    assert set(found["stations"]["who"].split(", ")) == case["stations"]
    assert found["central"]["who"] == QUESTIONS[case["name"]].central
    relative = {entry["recipient"]: entry for entry in case["dossier"]["identifiability"]["recipients"]}
    assert {role: entry["receives"] for role, entry in relative.items()} == {
        role: found[role]["received"] for role in relative
    }


def test_limits_are_those_of_the_nodes(case: dict[str, Any]) -> None:
    assert set(SET) >= {*limits.TOLD, *limits.WHETHER}
    assert set(UNSET) <= set(SET)
    found = {entry["organization"]: entry for entry in case["dossier"]["limits"]}
    assert {name for name, entry in found.items() if entry["role"] == "station"} == case["stations"]
    assert {name for name, entry in found.items() if entry["role"] == "helper"} == case["helpers"]
    for name in case["stations"]:
        told = {one["name"]: one for one in found[name]["limits"]}
        assert set(told) == {*limits.TOLD, *limits.WHETHER}
        assert told["budget_epsilon"]["value"] == "9"
        assert "epsilon of 9" in told["budget_epsilon"]["meaning"]
        assert told["ledger"]["value"] == "set"
        assert told["allowed_columns"]["value"] == told["cohort"]["value"] == "not set"
        assert told["allow_predictions"]["value"] in ("yes", "no")
    for name in case["helpers"]:
        assert {one["name"]: one["value"] for one in found[name]["limits"]}["budget_epsilon"] == "no limit"


def test_debits_are_those_of_the_ledgers(case: dict[str, Any]) -> None:
    told = {entry["organization"]: entry for entry in case["dossier"]["debits"]}
    for name, spent in case["spent"].items():
        entry = told.get(name, {"epsilon": 0.0, "delta": 0.0, "queries": 0.0})
        for cost in ("epsilon", "delta", "queries"):
            assert math.isclose(entry[cost], getattr(spent, cost), rel_tol=1e-9, abs_tol=1e-15), (name, cost)
    if case["name"] in PRIVATE:
        assert all(spent.epsilon > 0 for spent in case["spent"].values())


def test_privacy_is_said_plainly(case: dict[str, Any]) -> None:
    told, private = case["dossier"]["differential_privacy"], case["name"] in PRIVATE
    assert told["differentially_private"] == case["result"]["privacy"]["differentially_private"] == private
    assert case["dossier"]["registry"]["applies"] == private
    method = {where for _, where in Facts(case["result"]).declared("EVIDENCE")}
    assert method <= {one["where"] for one in told["evidence"]} or not private
    assert method or not private
    if private:
        assert (told["epsilon"], told["delta"]) == (1.0, case["result"]["privacy"]["delta"] or 0.0)
        parameters = case["dossier"]["registry"]["entry"]["deployment"]["privacy_loss"]["privacy_parameters"]
        assert parameters == {"epsilon": told["epsilon"], "delta": told["delta"]}
    else:
        assert told["statement"].startswith("Not differentially private: ")
        assert {told[name] for name in ("unit", "epsilon", "delta", "mechanism", "accountant", "sensitivity")} == {
            "not differentially private"
        }
        assert "entry" not in case["dossier"]["registry"]
        assert all("0.7" not in one["bound"] for one in case["dossier"]["identifiability"]["recipients"])


def test_every_published_variant_is_here() -> None:
    """A choice of an argument that is called published or thesis has a result and a dossier here."""
    found = set()
    for path in ROOT.glob("algorithms/*/pyproject.toml"):
        module = importlib.import_module(f"v6_{path.parent.name}")
        for function in module.__all__:
            declared = getattr(getattr(module, function), "fedbayes_declared", None)
            arguments = declared.declared() if declared is not None else ()
            found |= {
                (path.parent.name, function, one.name, word)
                for one in arguments
                for word in PUBLISHED
                if word in one.declared.kind.choices
            }
    shown = {
        (question.method, question.function, *words.partition("=")[::2])
        for name, question in VARIANTS.items()
        for words in [name.rpartition(", ")[2]]
    }
    assert found == shown


def test_without_a_promise_no_word_claims_one(case: dict[str, Any]) -> None:
    """Who receives noise that promises nothing is told so, and no budget is spoken of; unless the ledgers were debited what is stated."""
    told, result = case["result"]["privacy"], case["result"]
    stated = (told["epsilon"] or 0.0, told["delta"] or 0.0)
    assert {(spent.epsilon, spent.delta) for spent in case["spent"].values()} == {stated}
    if told["differentially_private"] or stated != (0.0, 0.0):
        return
    assert {told[name] for name in ("neighbors", "mechanism", "composition", "sensitivity")} == {None}
    assert not [text for text in told["reveals"].values() if CLAIM.search(text)]
    assert not [one["received"] for one in case["dossier"]["recipients"] if CLAIM.search(one["received"])]
    releases = (result.get("model") or {}).get("provenance", {}).get("releases", [])
    assert not [one for one in releases if one["private"] or one["epsilon"] is not None]
    assert (result.get("diagnostics") or {}).get("epsilon_of_one_query") is None


def test_control_a_statement_that_says_more_is_found() -> None:
    for text in ("every station's noisy statistics, each under the stated epsilon", "sums with the noise on them"):
        assert CLAIM.search(text)
    assert not CLAIM.search("every station's statistics, with noise that is no guarantee")


def test_rounds_are_those_that_ran(case: dict[str, Any]) -> None:
    ran = case["result"]["federation"]["per_round"]
    assert [(one["round"], one["function"]) for one in case["dossier"]["rounds"]] == [
        (one["round"], one["function"]) for one in ran
    ]
    assert set(case["dossier"]["rounds"][0]["asked"]) == case["stations"] | case["helpers"]
    for told, one in zip(case["dossier"]["rounds"], ran, strict=True):
        assert set(told["replies"]) == {f"{field}: {kind}" for field, kind in one["reply"].items()} or not one["reply"]


def test_the_page_is_well_formed_and_tells_everything(case: dict[str, Any]) -> None:
    drawn = sequence.uri(case["result"]["federation"], "fit")
    page = render(case["dossier"], "a <b>title</b>", drawn)
    reader = WellFormed()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    assert reader.wrong == []
    assert "<b>title" not in page
    assert set(re.findall(r"(?:src|href)=.(.{19})", page)) == {"data:image/svg+xml;"}
    text = " ".join(reader.text.split())
    for entry in case["dossier"]["recipients"]:
        assert " ".join(entry["received"].split()) in text
    for question in case["dossier"]["nist_sp_800_226"]["questions"]:
        assert question["question"] in text
        assert " ".join(question["answer"].split()) in text


def test_what_nobody_stated_is_asked_for_and_what_somebody_did_is_told(case: dict[str, Any]) -> None:
    stated = Statements("a cancer study", "the Netherlands", "Healthcare", "officer@example.org")
    assert sum("Not stated" in line for line in case["dossier"]["open_questions"]) == 4
    told = dossier(case["result"], stated)
    assert told["data"]["purpose"] == "a cancer study"
    assert len(told["open_questions"]) == 1
    if told["registry"]["applies"]:
        basic = told["registry"]["entry"]["deployment"]["basic"]
        assert basic["data_product_sector"] == "Healthcare"
        assert basic["data_product_region"] == "the Netherlands"


def test_evidence_is_there() -> None:
    methods = {question.method for question in QUESTIONS.values()}
    groups = [
        differential_privacy.EVIDENCE,
        differential_privacy.OF_PRIVATE,
        *(Facts({"provenance": {"algorithm": method}}).declared("EVIDENCE") for method in methods),
        *differential_privacy.OF_A_MECHANISM.values(),
    ]
    named = [where for group in groups for _, where in group]
    assert [where for where in named if not (ROOT / where).exists()] == []


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_the_best_guess_is_that_of_the_hardest_pair_of_answers(epsilon: float, delta: float) -> None:
    """The pair of laws that meets (epsilon, delta) with equality: no test tells them apart better, and the best one attains it."""
    kept = (1.0 - delta) / (1.0 + math.exp(epsilon))
    first = [delta, kept * math.exp(epsilon), kept, 0.0]
    second = first[::-1]
    for one, other in ((first, second), (second, first)):  # they are (epsilon, delta)-neighbours
        assert sum(max(p - math.exp(epsilon) * q, 0.0) for p, q in zip(one, other, strict=True)) <= delta + 1e-12
    attained = 0.5 + 0.25 * sum(abs(p - q) for p, q in zip(first, second, strict=True))
    assert math.isclose(differential_privacy.guess(epsilon, delta), attained, rel_tol=1e-12)


def test_the_registry_has_no_sector_that_its_schema_lacks() -> None:
    basic = SCHEMA["properties"]["registry"]["properties"]["entry"]["properties"]["deployment"]["properties"]["basic"]
    assert tuple(basic["properties"]["data_product_sector"]["enum"]) == registry.SECTORS


def empty(value: Any, place: str = "") -> Iterator[str]:
    """Yield the places of empty fields."""
    if value is None or value in ("", [], {}) or (isinstance(value, str) and not value.strip(" .;:")):
        yield place
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in entries:
        yield from empty(entry, f"{place}/{key}")


class WellFormed(HTMLParser):
    """Notes elements that are closed in another order than they were opened."""

    VOID = ("meta", "img", "br", "hr", "input", "link", "wbr")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data
