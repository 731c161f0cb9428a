"""The result as an entry of the public registry of differential-privacy deployments, in its schema.

The registry (OpenDP, https://github.com/opendp/deployments-registry-data, ``schemas/deployments-schema.yaml``) lists deployments by `url_slug`, `status`,
`tier` and `deployment`; an entry of tier 3 fills every field. What nobody stated says so; the sector, which is one of a list, is left out then, as it may be.
"""

from __future__ import annotations

import re
from typing import Any

from ..kinds import COUNTS, DESCRIPTION, GAIN, OTHER, SAMPLE, SCORES
from ..view import view_of_result
from .facts import Facts, listed
from .questions import SIDE_CHANNELS
from .recipients import assumption, recipients

SCHEMA = "https://github.com/opendp/deployments-registry-data, schemas/deployments-schema.yaml, as of 2026"
SECTORS = ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")
UNKNOWN = "Not stated by who made this dossier."


def entry(facts: Facts) -> dict[str, Any]:
    """Return ``{"schema", "applies", "why", "entry"}``; without a promise no entry, and the reason."""
    if not facts.private:
        why = f"not differentially private, so that it is no deployment of differential privacy: {facts.reason}"
        return {"schema": SCHEMA, "applies": False, "why": why}
    deployment = {
        "basic": _basic(facts),
        "dp_variant": _variant(facts),
        "privacy_loss": _loss(facts),
        "deployment_model": _model(facts),
        "accounting": _accounting(facts),
        "implementation": _implementation(facts),
        "administrative": _administrative(facts),
    }
    content = {"url_slug": _slug(facts), "status": "Draft", "tier": 3, "deployment": deployment}
    return {"schema": SCHEMA, "applies": True, "why": "the result is differentially private", "entry": content}


def _slug(facts: Facts) -> str:
    day = str(facts.part("provenance").get("date") or "")[:10]
    return re.sub(r"[^a-z0-9]+", "-", f"{facts.algorithm}-{facts.function}-{day}".lower()).strip("-")


def _product(facts: Facts) -> str:
    kind = view_of_result(facts.result).kind
    if kind == SAMPLE:
        return "Synthetic data"
    return "Summary statistics" if kind in (COUNTS, GAIN, DESCRIPTION, OTHER, SCORES) else "Machine learning model"


def _basic(facts: Facts) -> dict[str, Any]:
    basic = {
        "name": f"{facts.function} of {facts.algorithm} over {len(facts.with_role('station'))} organizations",
        "data_curators": facts.with_role("station") or facts.organizations or ["the stations of the task"],
        "intended_use": facts.stated.purpose or UNKNOWN,
        "data_product_type": _product(facts),
        "data_product_region": facts.stated.region or UNKNOWN,
        "description": f"{facts.answer}, made by {facts.algorithm}.{facts.function} over tables that stay at their organizations.",
        "publication_date": str(facts.part("provenance").get("date") or "1900-01-01")[:10],
    }
    return {**basic, "data_product_sector": facts.stated.sector} if facts.stated.sector else basic


def _variant(facts: Facts) -> dict[str, str]:
    return {
        "variant_name": "Approximate DP" if facts.delta else "Pure DP",
        "data_domain": "Tables of the columns that the task names, with the public states and bounds of its domain; one table at each of "
        f"{len(facts.with_role('station'))} stations.",
        "unprotected_quantities": "What roles learn besides noisy numbers, in the method's words: "
        + "; ".join(f"{role}: {text}" for role, text in facts.reveals.items() if role != "assumption"),
    }


def _loss(facts: Facts) -> dict[str, Any]:
    from .differential_privacy import meaning, relation

    return {
        "privacy_unit": f"One {facts.unit} of the tables that took part",
        "privacy_unit_details": relation(facts),
        "privacy_parameters": {"epsilon": facts.epsilon, "delta": facts.delta},
        "privacy_parameters_details": meaning(facts),
    }


def _model(facts: Facts) -> dict[str, str]:
    budgets = [
        f"{name}: epsilon {limits['budget_epsilon']:g} in {limits['budget_days'] or 'all'} days"
        for name, node in facts.nodes.items()
        if (limits := node["limits"])["budget_epsilon"] is not None
    ]
    kept = f"Ledgers limit further releases: {'; '.join(budgets)}." if budgets else "No node limits further releases."
    actors = "; ".join(
        f"{one['role']} ({one['who']}): {one['received']}" for one in recipients(facts) if one["took_part"]
    )
    return {
        "model_name": "Federated",
        "model_name_details": "Each organization adds its noise, or its share of it, at its own node; sums are masked, so that central sees no "
        "station's part, where the method says so.",
        "actors": f"{actors}. Assumption: {assumption(facts)}.",
        "release_type": "One release",
        "release_type_details": f"One task. {kept}",
        "data_source_type": "Static",
        "data_source_type_details": "The tables as they were when the task ran.",
        "access_type": "Non-interactive",
        "access_type_details": "The result is fixed; further tasks are further releases, each with its own entry and debit.",
    }


def _accounting(facts: Facts) -> dict[str, str]:
    return {
        "post_processing": "Everything after the noise: probabilities, scores, models and figures are made of the noisy numbers alone.",
        "composition": str(facts.privacy.get("composition") or "the method states its total"),
    }


def _implementation(facts: Facts) -> dict[str, str]:
    versions = facts.part("provenance").get("versions") or facts.part("versions")
    version_list = ", ".join(f"{name} {value}" for name, value in versions.items())
    return {
        "preprocessing_and_hyperparameter_tuning": "Columns, states and bounds come from the task's public domain or the administrators' schema, not "
        "from the data; arguments are the "
        "researcher's. What earlier tasks on the same data cost is in the nodes' ledgers, not here.",
        "mechanisms": f"{facts.privacy.get('mechanism') or 'not stated'}. Sensitivity: {facts.privacy.get('sensitivity') or 'not stated'}. "
        f"{SIDE_CHANNELS} Versions: {version_list or 'not told'}.",
        "justification": f"Arguments of the task: {listed([f'{name}={value!r}' for name, value in facts.arguments.items() if not isinstance(value, dict)])}. "
        "Why the method's choices are as they are stands on its page.",
    }


def _administrative(facts: Facts) -> dict[str, Any]:
    return {
        "sources": f"The page of {facts.algorithm}, docs/threat-model.md and docs/attacks.md of fedbayes",
        "notes": "Generated from the result; nothing was typed but purpose, region, sector and contact.",
        "registry_authors": [facts.stated.contact or "fedbayes dossier, for the organizations named as curators"],
    }
