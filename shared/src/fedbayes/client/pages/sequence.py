"""The sequence of a job as an SVG picture: who was asked what in the rounds that ran, and why each field of the replies left the stations."""

from __future__ import annotations

import base64
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..html import escape

WIDTH, TOP, STEP, LINE = 880, 64, 18, 15  # of the drawing, in pixels
PLACES = {"researcher": 70, "central": 230, "stations": 620, "helper": 820}
"""Across; the names of fields have room left of the stations."""
COLORS = {
    "Public": "#5b6472",
    "Exact": "#b45309",
    "Released": "#0072b2",
    "Masked": "#00664a",
    "Share": "#00664a",
    "Sealed": "#00664a",
    "Broadcast": "#00664a",
}
"""Colour of a field by why it left: metadata, exact numbers, noisy numbers, what says nothing by itself."""
TELLING = ("Exact", "Released", "Masked", "Share", "Sealed", "Broadcast")
INK, PALE = "#1f2937", "#9ca3af"
LONGEST = 56
"""Characters of a line of fields."""


@dataclass(frozen=True)
class Step:
    """A round, or rounds of the same function at the same organizations.

    Attributes
    ----------
    function : str
        The partial function.
    roles : tuple of str
        Who was asked: stations, helper.
    fields : tuple of (str, str)
        Field of the replies, and why it left; all that occurred.
    repeated : bool
        Whether there was more than one such round.
    """

    function: str
    roles: tuple[str, ...]
    fields: tuple[tuple[str, str], ...]
    repeated: bool


def steps(federation: Mapping[str, Any]) -> list[Step]:
    """Return the rounds of a result's `federation` in the order of their first occurrence; how often one was repeated may differ between runs."""
    by_step: dict[tuple[str, tuple[str, ...]], tuple[dict[str, set[str]], int]] = {}
    rounds = federation.get("per_round") or []
    roles = _roles(federation, rounds)
    for entry in rounds:
        asked = {roles.get(number, "stations") for number in entry.get("organizations", [])}
        key = (str(entry.get("function")), tuple(role for role in PLACES if role in asked))
        fields, count = by_step.get(key, ({}, 0))
        for name, kinds in entry.get("reply", {}).items():
            fields.setdefault(name, set()).update(kinds.split(" and "))
        by_step[key] = (fields, count + 1)
    return [
        Step(
            function,
            asked,
            tuple((name, " and ".join(sorted(kinds))) for name, kinds in sorted(fields.items())),
            count > 1,
        )
        for (function, asked), (fields, count) in by_step.items()
    ]


def _roles(federation: Mapping[str, Any], rounds: Sequence[Mapping[str, Any]]) -> dict[int, str]:
    """Return organization id -> role; a result lists names by ascending id."""
    ids = sorted({number for entry in rounds for number in entry.get("organizations", [])})
    nodes = federation.get("nodes") or {}
    names = federation.get("organizations") or []
    return {
        number: "helper" if nodes.get(name, {}).get("role") == "helper" else "stations"
        for number, name in zip(ids, names, strict=False)
    }


def reveals(function: Any) -> str:
    """Return what the documentation of a partial function says that it reveals; empty where it says nothing."""
    section = re.search(r"\*\*Reveals\*\*(.*?)(?=\*\*Assumes\*\*|\n\s*\n|\Z)", inspect.getdoc(function) or "", re.S)
    return " ".join(section.group(1).split()) if section else ""


def svg(federation: Mapping[str, Any], title: str) -> str:
    """Return the picture of a job.

    Parameters
    ----------
    federation : mapping
        Of a result: its rounds, nodes and organizations.
    title : str
        What was asked, such as ``fit``.
    """
    drawn_steps = steps(federation)
    roles = [role for role in PLACES if role != "helper" or any("helper" in step.roles for step in drawn_steps)]
    drawn: list[str] = []
    height = TOP + STEP
    drawn += _arrow(height, "researcher", ("central",), INK, False)
    drawn.append(_text(150, height - 5, [(title, INK)], "middle"))
    for number, step in enumerate(drawn_steps, 1):
        pieces, height = _round(number, step, height + STEP)
        drawn += pieces
    height += STEP + 8
    drawn += _arrow(height, "central", ("researcher",), INK, True)
    drawn.append(_text(150, height - 5, [("the result", INK)], "middle"))
    return _page(height + 24, roles, drawn, title)


def uri(federation: Mapping[str, Any], title: str) -> str:
    """Return the picture as a data URI, for a page without outside references."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg(federation, title).encode()).decode()


def _round(number: int, step: Step, height: int) -> tuple[list[str], int]:
    """Return the arrows of one step that begins at a height, and where it ends."""
    name = f"{number}. {step.function}" + (" (repeated)" if step.repeated else "")
    request = height + LINE
    drawn = [_text(PLACES["central"] + 10, request - 5, [(name, INK)])]
    drawn += _arrow(request, "central", step.roles, INK, False)
    reply = request
    for line in _lines(step.fields):
        reply += LINE
        drawn.append(_text(PLACES["central"] + 10, reply, line))
    reply += 7
    drawn += _arrow(reply, step.roles[-1] if step.roles else "stations", ("central", *step.roles[:-1]), PALE, True)
    return drawn, reply


def _lines(fields: Sequence[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    """Yield lines of (text, colour), as many fields on each as there is room for."""
    line: list[tuple[str, str]] = []
    for name, kind in fields or (("done", "Public"),):
        text = f"{name}: {kind}"
        if line and sum(len(part) + 3 for part, _ in line) + len(text) > LONGEST:
            yield line
            line = []
        line.append((text, _color(kind)))
    yield line


def _color(kinds: str) -> str:
    """Return the colour of what tells most."""
    reasons = kinds.split(" and ")
    return COLORS[next((kind for kind in TELLING if kind in reasons), reasons[0])]


def _arrow(height: int, start: str, ends: tuple[str, ...], color: str, dashed: bool) -> list[str]:
    """Return a line to the farthest end, with its head there or, where it comes back, at central; dots where it passes others."""
    if not ends:
        return []
    begin = PLACES[start]
    target = PLACES[ends[0]] if dashed else max(PLACES[end] for end in ends)
    mark = ' stroke-dasharray="5 4"' if dashed else ""
    head = 7 if target < begin else -7
    pieces = [
        f'<line x1="{begin}" y1="{height}" x2="{target}" y2="{height}" stroke="{color}"{mark}/>',
        f'<path d="M{target} {height}l{head} -4v8z" fill="{color}"/>',
    ]
    passed = [PLACES[end] for end in ends if PLACES[end] != target]
    return pieces + [f'<circle cx="{crossing}" cy="{height}" r="3.5" fill="{color}"/>' for crossing in passed]


def _text(x: int, y: int, parts: Sequence[tuple[str, str]], anchor: str = "start") -> str:
    spans = ", ".join(f'<tspan fill="{color}">{escape(text)}</tspan>' for text, color in parts)
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}">{spans}</text>'


def _page(height: int, roles: Sequence[str], drawn: Sequence[str], title: str) -> str:
    heads = [
        f'<rect x="{PLACES[role] - 50}" y="14" width="100" height="28" rx="5" fill="#f6f7f9" stroke="{PALE}"/>'
        f'<line x1="{PLACES[role]}" y1="42" x2="{PLACES[role]}" y2="{height}" stroke="{PALE}"/>'
        + _text(PLACES[role], 33, [(role, INK)], "middle")
        for role in roles
    ]
    start = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height + 10}" width="{WIDTH}" height="{height + 10}" '
        f'font-family="system-ui, sans-serif" font-size="12" role="img"><title>{escape(title)}: who sends what</title>'
        f'<rect width="{WIDTH}" height="{height + 10}" fill="#fff"/>'
    )
    return "\n".join([start, *heads, *drawn, "</svg>"]) + "\n"
