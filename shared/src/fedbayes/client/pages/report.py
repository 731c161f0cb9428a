"""A result as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .. import html, kinds
from ..figures.style import to_svg
from ..formats import clock, counted, number, promise, relation, size, title
from ..kinds import extras_of
from ..labels import legible
from ..models.survival import baselines_of
from ..scores import confusion_of, scores_of
from ..view import view_of
from ..views import view
from ..views.answers import hazard_pieces, prediction_pieces
from ..views.cox_scores import survival_scores
from ..views.plain import entry, mapping
from ..views.scores import pieces as score_pieces
from . import study

HEADINGS = {
    kinds.COUNTS: "Counts",
    kinds.PREDICTIONS: "Predictions",
    kinds.SAMPLE: "Synthetic records",
    kinds.GAIN: "Information",
    kinds.DESCRIPTION: "Columns",
}
"""Of what stands in a model's place and is none."""
SCORES = ("accuracy", "auc", "log_loss", "concordance", "n")


def render(result: Mapping[str, Any], heading: str, introduction: Sequence[str] = ()) -> str:
    """Return the report of a result.

    Parameters
    ----------
    result : dict
        What a task returned; parts that are missing are left out.
    heading : str
        Title of the page.
    introduction : sequence of str
        Pieces of `fedbayes.client.html` that go first, such as a comparison.

    Returns
    -------
    str
        HTML without any outside reference: styles and figures are inside.
    """
    whole, result = result, legible(result)
    privacy = result.get("privacy") if isinstance(result.get("privacy"), Mapping) else {}
    pieces = [
        html.cards(_cards(result)),
        html.section("Privacy", *_privacy(privacy or {})),
        html.section("Warnings", html.bullets([str(text) for text in result.get("warnings") or []])),
        *introduction,
        html.section("Scores", *score_pieces(result), *survival_scores(result.get("metrics"))),
        html.section(HEADINGS.get(view_of(result.get("model")).kind, "Model"), *view(result.get("model"))),
        html.section("Answer", *_answer(result)),
        html.section("Diagnostics", *_diagnostics(result)),
        html.section("Question", *_question(result)),
        html.section("Rounds", *_rounds(result.get("federation") or {})),
        html.section("The whole result", html.fold("JSON", html.code(whole), raw=True)),
    ]
    versions = result.get("versions") or {}
    footer = "Made by fedbayes. " + ", ".join(f"{name} {value}" for name, value in versions.items())
    return html.page(heading, promise(privacy), pieces, footer)


def brief(result: Mapping[str, Any]) -> list[str]:
    """Return the pieces of a report that matter at a glance: cost, promise, warnings, scores and model."""
    result = legible(result)
    private = (result.get("privacy") or {}).get("differentially_private")
    return [
        html.cards(_cards(result)),
        html.statement(promise(result.get("privacy")), "good" if private else "bad"),
        html.bullets([str(text) for text in result.get("warnings") or []]),
        *score_pieces(result),
        *survival_scores(result.get("metrics")),
        *view(result.get("model")),
    ]


def _cards(result: Mapping[str, Any]) -> list[tuple[str, str]]:
    federation = result.get("federation") or {}
    scores = scores_of(result)
    entries = [(title(name), number(scores[name])) for name in SCORES if scores.get(name) is not None]
    if federation.get("rounds"):
        entries += [
            ("organizations", str(len(federation.get("organizations") or []))),
            ("rounds", number(federation.get("rounds"))),
            ("sent", size(federation.get("bytes"))),
            ("seconds", number(federation.get("seconds"))),
        ]
    return entries


def _privacy(privacy: Mapping[str, Any]) -> list[str]:
    if not privacy:
        return []
    private = bool(privacy.get("differentially_private"))
    names = ("unit", "neighbors", "epsilon", "delta", "mechanism", "composition", "sensitivity")
    told = {**privacy, **({"neighbors": relation(privacy)} if privacy.get("neighbors") else {})}
    rows = [(title(name), number(told[name])) for name in names if told.get(name) is not None]
    pieces = [html.statement(promise(privacy), "good" if private else "bad")]
    if private and rows:
        pieces.append(html.table("", ("Part", "Value"), rows))
    reveals = privacy.get("reveals") or {}
    if reveals:
        pieces.append(
            html.table(
                "Who learns what, beyond its own input",
                ("Role", "Learns"),
                [(title(role), text) for role, text in reveals.items()],
            )
        )
    return pieces


def _answer(result: Mapping[str, Any]) -> list[str]:
    if isinstance(result.get("predictions"), Mapping):
        return prediction_pieces(result)
    model = result.get("model")
    shown = model if isinstance(model, Mapping) else {}
    shown_above = (
        *SCORES,
        "calibration",
        "roc",
        *(("metrics",) if survival_scores(result.get("metrics")) else ()),
        *(("baseline",) if baselines_of(result) else ()),
    )
    extras = {name: value for name, value in extras_of(result).items() if name not in shown_above}
    return [
        *hazard_pieces(result),
        *mapping({name: value for name, value in extras.items() if shown.get(name) != value}),
    ]


def _diagnostics(result: Mapping[str, Any]) -> list[str]:
    shown = ("confusion", "classes") if confusion_of(result) is not None else ()
    return mapping({name: value for name, value in (result.get("diagnostics") or {}).items() if name not in shown})


def _question(result: Mapping[str, Any]) -> list[str]:
    """Return what was asked: algorithm, function, date and arguments; a model among them is named only."""
    provenance: Any = result.get("provenance") or {}
    if not provenance:
        return []
    arguments = {
        name: f"a model ({view_of(value).kind})" if name in ("model", "models") else value
        for name, value in (provenance.get("arguments") or {}).items()
    }
    facts = [(title(name), number(provenance.get(name))) for name in ("algorithm", "function")]
    facts.append(("Date", clock(provenance.get("date"))))
    parties = [", ".join(str(name) for name in provenance.get("parties") or [])]
    facts += [("Parties", names) for names in parties if names]
    tables = study.tables_of(arguments)
    others = {name: value for name, value in arguments.items() if name not in tables}
    return [
        html.table("", ("Part", "Value"), facts),
        *entry("arguments", others),
        *(piece for pieces in tables.values() for piece in pieces),
    ]


def _rounds(federation: Mapping[str, Any]) -> list[str]:
    from ..figures import round_costs

    per_round = federation.get("per_round") or []
    if not per_round:
        return []
    rows = [
        (
            entry.get("round"),
            entry.get("function"),
            len(entry.get("organizations", [])),
            number(entry.get("seconds")),
            size(entry.get("bytes")),
        )
        for entry in per_round
    ]
    table = html.table("", ("Round", "Function", "Organizations", "Seconds", "Bytes"), rows, numeric=(0, 2, 3, 4))
    organizations = ", ".join(str(name) for name in federation.get("organizations") or [])
    return [
        html.paragraph(
            f"Organizations: {organizations}. Central ran at {federation.get('aggregator', 'one of them')}."
        ),
        html.fold(
            counted(len(rows), "round"),
            table,
            html.picture(to_svg(round_costs(per_round)), "Seconds and kilobytes of every round, as bars."),
        ),
    ]
