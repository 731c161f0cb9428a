"""A fitted model as an argument, and where its columns are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from fedbayes.bayes.formulae.term_reader import read_terms
from fedbayes.federation import Federation, Parties
from fedbayes.federation.arguments import check_mapping, check_name, check_names, check_number
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.perimeter.manifest import outline_of
from fedbayes.federation.replies import RecordsReply
from fedbayes.federation.vertical import check_equal_rows
from fedbayes.federation.vertical.declared import Matched

from ..arguments import checked_terms
from ..cox.baseline import steps_of
from ..messages.scoring import Curve, LocateReply, LocateRequest, ScoreRequest, split_name
from ..messages.setup import Question
from ..result import warn_of_no_hazard
from ..rounds.joining import aligned, check_outcome, check_somewhere, joined


class Located:
    """Where the model's columns are in this task."""

    def __init__(
        self,
        federation: Federation,
        model: Any,
        roles: Matched,
        functions: Sequence[str] = (),
        cases: Sequence[str] = (),
    ) -> None:
        self.model = checked_model(model)
        self.federation = federation
        id_column = roles.identifier or None
        formula = str(self.model.get("formula") or "")
        terms = read_terms(formula) if formula else None
        used = self.model["features"] if terms is None else terms.columns
        outcome = [self.model.get(name) for name in ("time", "event", "strata", *cases)]
        called = ["partial_locate", "partial_score", *functions]
        derived = [] if terms is None else terms.derived_from
        parties, chosen = joined(
            federation,
            roles.organizations,
            roles.helper,
            [*outcome, *used],
            id_column,
            called,
            single_records=True,
            derived_from=derived,
            helped=id_column is not None,
        )
        self._check_columns(parties, used, ("strata", *cases) if functions else None)
        self.members = parties.members
        self.question = self._question(parties.stations, chosen, id_column, formula)
        rows, orders = aligned(federation, self.question)
        requests = {member: LocateRequest(self.question, rows, own) for member, own in orders.items()}
        replies = federation.round("partial_locate", requests, parties.stations, LocateReply)
        self.features = {member: reply.features.value for member, reply in replies.items()}
        self.rows = {member: reply.rows.value for member, reply in replies.items()}
        self.owners = [member for member, reply in replies.items() if reply.outcome.value]

    def _question(self, stations: Sequence[int], helper: int, id_column: str | None, formula: str) -> Question:
        return Question(
            self.model["time"],
            self.model["event"],
            list(self.model["features"]),
            self.model.get("strata"),
            list(stations),
            helper,
            id_column,
            formula=formula,
            missing="complete" if self.model.get("missing") == "complete" else "refuse",
        )

    def _check_columns(self, parties: Parties, used: Sequence[str], beside: Sequence[str] | None) -> None:
        """Refuse columns that no station has, and, where the outcome is looked at, one that is not at one station with what is `beside` it."""
        check_somewhere(self.federation, parties, {"model": used})
        if beside is not None:
            named = {name: self.model.get(name) for name in ("time", "event", *beside)}
            check_somewhere(self.federation, parties, {"model": list(named.values())})
            there = {name: named[name] for name in beside}
            check_outcome(self.federation, parties, self.model["time"], self.model["event"], there, "model: ")

    def score(self, receiver: int, identifiers: bool = False) -> dict[int, RecordsReply]:
        """Return all members' replies: for central (0) or sealed for the outcome holder. Who does not score adds masks alone."""
        scorers = self._scorers()
        rows = self.rows[scorers[0]]
        identify = scorers[0] if identifiers else 0
        request = ScoreRequest(scorers, receiver, rows, outline_of(self.model), identify)
        return self.federation.round("partial_score", request, self.members, RecordsReply)

    def _scorers(self) -> list[int]:
        for feature in self.model["features"]:
            holders = [member for member, features in self.features.items() if feature in features]
            if len(holders) != 1:
                self._refuse_across(feature)
                where = "no station has" if not holders else "two stations have"
                raise ArgumentError(f"model: {where} the feature '{feature[:60]}'; check the stations' columns")
        scorers = [member for member, features in self.features.items() if features]
        check_equal_rows(self.rows[member] for member in scorers + self.owners[:1])
        return scorers

    def _refuse_across(self, feature: str) -> None:
        """Refuse a product of columns at different stations, of which none has a part of a record's prediction."""
        if self.question.formula and ":" in feature and feature in self.model["features"]:
            raise ArgumentError(
                f"model: '{feature[:60]}' is of columns at different organizations, so that no station has a part of a record's prediction; "
                "evaluate with reveal='aggregates', or predict where all columns are (fedbayes predict)"
            )


def checked_model(model: Any) -> dict[str, Any]:
    """Return the model, or raise `ArgumentError` saying what is wrong with it."""
    checked = dict(check_mapping("model", model))
    needed = ("coefficients", "baseline", "features", "time", "event", "offset")
    missing = [key for key in needed if key not in checked]
    if missing or not isinstance(checked["coefficients"], list) or not isinstance(checked["baseline"], dict):
        raise ArgumentError("model must be the `model` of a result of verticox.fit")
    if checked.get("kind", "cox") != "cox":
        raise ArgumentError("model is not one of verticox.fit; give the `model` of its result")
    for key in ("time", "event"):
        check_name(f"model: {key}", checked[key])
    for key in ("strata", "weights", "entry"):
        if checked.get(key) is not None:
            check_name(f"model: {key}", checked[key])
    check_names("model: features", checked["features"])
    check_number("model: offset", checked["offset"])
    for entry in checked["coefficients"]:
        if not isinstance(entry, dict) or not isinstance(entry.get("feature"), str):
            raise ArgumentError("model: every coefficient needs a feature and a coefficient")
        check_number("model: coefficient", entry.get("coefficient"))
    if checked.get("formula"):
        _check_formula(checked)
    _check_roles(checked)
    _check_together(checked)
    return checked


def _check_roles(model: dict[str, Any]) -> None:
    """Raise `ArgumentError` where one column has two roles, as in no fit."""
    terms = read_terms(str(model["formula"])).columns if model.get("formula") else model["features"]
    roles = [*filter(None, map(model.get, ("time", "event", "strata", "weights", "entry"))), *terms]
    twice = [name for name in roles if roles.count(name) > 1]
    if twice:
        raise ArgumentError(
            f"model: '{twice[0][:60]}' is named for two of time, event, strata, weights, entry and features; "
            "give the `model` of a result of verticox.fit as it is"
        )


def _check_formula(model: dict[str, Any]) -> None:
    """Raise `ArgumentError` where a formula, its terms and its categories are not those of a fit."""
    terms = checked_terms("model", model["formula"], {})
    categories, levels = (check_mapping(f"model: {key}", model.get(key)) for key in ("terms", "levels"))
    lists = [*categories.values(), *levels.values()]
    texts = all(isinstance(one, list) and all(isinstance(text, str) for text in one) for one in lists)
    if (
        terms.names != model["features"]
        or set(categories) != set(terms.names)
        or not texts
        or not set(levels) <= set(terms.factors)
    ):
        raise ArgumentError(
            "model: formula, features, terms and levels do not agree; give the `model` of a result of verticox.fit as it is"
        )


def _check_together(model: dict[str, Any]) -> None:
    """Raise `ArgumentError` where features and coefficients contradict each other."""
    named = [entry["feature"] for entry in model["coefficients"]]
    if len(set(named)) != len(named):
        raise ArgumentError(
            "model: a feature has two coefficients; give the `model` of a result of verticox.fit as it is"
        )
    parts = [_split(model, entry) for entry in model["coefficients"]]
    meant = {feature for feature, _ in parts}
    other = sorted(meant ^ set(model["features"]))
    if other:
        raise ArgumentError(
            f"model: features and coefficients do not agree, see '{other[0][:60]}'; give the `model` of a result of verticox.fit as it is"
        )
    references = check_mapping("model: references", model.get("references") or {})
    without = [feature for feature, category in parts if category is not None and feature not in references]
    if without and not model.get("formula"):
        raise ArgumentError(
            f"model: it has no reference category of '{without[0][:60]}'; give the `model` of a result of verticox.fit as it is"
        )


def _split(model: dict[str, Any], entry: dict[str, Any]) -> tuple[str, str | None]:
    """Return feature and category of a coefficient; of a formula the term and its design column."""
    name = str(entry["feature"])
    if model.get("formula"):
        return next((term for term, labels in model["terms"].items() if name in labels), name), name
    return split_name(model["features"], name)


def warn_of_cases(federation: Federation, model: Mapping[str, Any], fitted: str = "the model was fitted") -> None:
    """Warn where a model, or what is `fitted`, has weights or times of entry, which judging it does not use."""
    unused = [name for name in ("weights", "entry") if model.get(name)]
    if unused:
        federation.warn(
            f"{fitted} with {' and '.join(unused)}; these metrics use neither case weights nor times of entry: "
            "each record counts once, from time 0"
        )


def warn_of_end(federation: Federation, curves: Sequence[Curve], times: Sequence[float] | None) -> None:
    """Warn where times lie beyond the end of every one of these baselines, or one has no point: no hazard is known there."""
    warn_of_no_hazard(federation, [curve.stratum for curve in curves if not curve.times])
    end = max((curve.times[-1] for curve in curves if curve.times), default=math.inf)
    late = [f"{time:g}" for time in times or [] if time > end]
    if late:
        federation.warn(
            f"times beyond the model's baseline, which ends at {end:g}: {', '.join(late[:5])}{', ...' if len(late) > 5 else ''}; "
            "its survival there is that at the end"
        )


def curves_of(model: dict[str, Any]) -> list[Curve]:
    """Return the model's baseline by stratum, or raise `ArgumentError`."""
    try:
        return [Curve(*one) for one in steps_of(model)]
    except ValueError:
        raise ArgumentError(
            "model: the baseline needs increasing times with a cumulative hazard for each, which does not fall"
        ) from None
