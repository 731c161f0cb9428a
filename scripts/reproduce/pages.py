"""A paper's page, from its JSON alone: no number on it is typed."""

from __future__ import annotations

from typing import Any

from .core import COLUMNS

HEADS = ("theirs", "ours, as published", "ours, by default")


def page(content: dict[str, Any]) -> str:
    """Return the page of a paper's JSON."""
    name = content["name"]
    parts = [
        f"# {content['citation'].partition(':')[0]}",
        f"{content['citation']}. Method: {content['method']}.",
        f"Every number below is read from [{name}.json]({name}.json), which `make reproduce-{name}` wrote on {content['made']}; "
        "± is one standard deviation over the repetitions.",
    ]
    parts += [part for item in content["items"] for part in section(name, item)]
    if content["missing"]:
        parts += ["## Not reproduced", "\n".join(f"- {text}" for text in content["missing"])]
    return "\n\n".join(parts) + "\n"


INDEX = """# The papers' tables and figures, and ours

Five documents are behind the methods. Each page has every table and figure of one: what is printed there or what its authors' code gives, ours with the
published settings, and ours as it is by default; with command, seeds, time and the reason where they differ, and what could not be reproduced.
`make reproduce` runs all of them on the [public data](../data.md) and writes these pages, `make reproduce-PAPER` one, `make reproduce QUICK=1` a
few repetitions of small parts into `out/reproduction`. Numbers are in the JSON file beside each page; a test makes the pages anew from them.

```{toctree}
:maxdepth: 1

%s
```

| paper | table or figure | rows | repetitions | seconds |
|---|---|--:|--:|--:|
%s
"""


def index(contents: list[dict[str, Any]]) -> str:
    """Return the page that lists all papers' tables and figures."""
    lines = [
        f"| [{content['name']}]({content['name']}.md) | {heading(item)}: {item['title']} "
        f"| {len(item['rows'])} | {item['repetitions']} | {item['seconds']:,.0f} |"
        for content in contents
        for item in content["items"]
    ]
    return INDEX % ("\n".join(content["name"] for content in contents), "\n".join(lines))


def heading(item: dict[str, Any]) -> str:
    """Return what a table or figure is called in its paper."""
    return str(item.get("head") or item["id"].replace("-", " ").capitalize())


def section(name: str, item: dict[str, Any]) -> list[str]:
    """Return the paragraphs of a table or figure."""
    head = heading(item)
    parts = [f"## {head}: {item['title']}", item["claim"]]
    if item["plot"]:
        parts.append(
            f"![{head}: {item['title']}; {item['measure']}, one column each for theirs and ours]({name}-{item['id']}.svg)"
        )
    return [*parts, table(item), facts(name, item)]


def table(item: dict[str, Any]) -> str:
    """Return the rows as a Markdown table, without a column that has no number."""
    used = [column for column in COLUMNS if any(row[column] is not None for row in item["rows"])]
    heads = [*item["keys"], *(HEADS[COLUMNS.index(column)] for column in used)]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for row in item["rows"]:
        cells = [shown(row[column], row.get(f"spread_{column}"), item["digits"]) for column in used]
        lines.append("| " + " | ".join([*row["row"], *cells]) + " |")
    return "\n".join(lines)


def shown(value: float | None, spread: float | None, digits: int) -> str:
    """Return a number as the page shows it."""
    if value is None:
        return "–"
    text = number(value, digits)
    return text if spread is None else f"{text} ± {number(spread, digits)}"


def number(value: float, digits: int) -> str:
    """Return a number with so many decimals: none from a thousand on, two significant digits where they would be zeros."""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    if value and abs(value) < 0.5 * 10**-digits:
        return f"{value:.1e}"
    return f"{value:,.{digits}f}"


def facts(name: str, item: dict[str, Any]) -> str:
    """Return what the numbers are, how they were made, and why they are away from one another."""
    time = f"{item['seconds']:,.0f} s for this item" if item["seconds"] else "from the runs of the items above"
    lines = [
        ("Numbers", item["measure"]),
        ("Theirs", item["theirs"]),
        ("Ours, as published", item["ours_as_published"]),
        ("Ours, by default", item["ours_default"]),
        ("Command", f"`make reproduce-{name}`, {time}"),
        ("Repetitions and seeds", f"{item['repetitions']}; {item['seeds']}"),
        ("Deviation", item["deviation"]),
    ]
    return "\n".join(f"- *{head}*: {text.rstrip('.')}." for head, text in lines)
