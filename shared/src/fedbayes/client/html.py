"""Small pieces of accessible HTML; every text is escaped here and nowhere else: markup, and characters that turn text around or act on a terminal."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..bayes.values.written import printable

WIDEST_TEXT = 110
"""Characters of the longest cells of the columns of texts together: a table with more is read as paragraphs on a narrow screen."""
LONGEST_WORD = 24
"""Characters of a word that no column has to be as wide as."""
LONGEST_JSON = 200_000  # characters: a browser folds more slowly
NARROW, MARGINS = 56, 1.6
"""Characters side by side on a screen of 390 pixels, and those that the margins of a cell take of them."""
STYLE = """
:root{--ink:#1f2937;--muted:#5b6472;--line:#e5e7eb;--soft:#f6f7f9;--accent:#0072b2;--good:#00664a;--bad:#9a3412}
*{box-sizing:border-box}body{margin:0;color:var(--ink);background:#fff;font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main,header{max-width:64rem;margin:0 auto;padding:0 1.25rem}header{padding-top:2rem}h1{font-size:1.7rem;margin:0 0 .25rem}
h2{font-size:1.2rem;margin:2.2rem 0 .6rem;padding-bottom:.25rem;border-bottom:1px solid var(--line)}h3{font-size:1rem;margin:1.4rem 0 .4rem}
p{margin:.4rem 0 .8rem;max-width:46rem}.lead{color:var(--muted)}.cards{display:flex;flex-wrap:wrap;gap:.75rem;margin:1rem 0;padding:0;list-style:none}
.cards li{background:var(--soft);border-radius:.5rem;padding:.6rem .9rem;min-width:7.5rem}.cards strong{display:block;font-size:1.25rem}
.cards span{color:var(--muted);font-size:.85rem}.statement{border-left:.3rem solid var(--accent);background:var(--soft);padding:.7rem 1rem;border-radius:.25rem}
.statement.good{border-color:var(--good)}.statement.bad{border-color:var(--bad)}.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:.9rem;margin:.4rem 0 1rem}caption{text-align:left;color:var(--muted);padding-bottom:.3rem}
th,td{padding:.3rem .7rem;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
thead th{border-bottom:2px solid var(--line)}figure{margin:1rem 0}figure img{max-width:100%;height:auto}figcaption{color:var(--muted);font-size:.9rem}
details{margin:.5rem 0}summary{cursor:pointer;color:var(--accent)}pre{background:var(--soft);padding:.8rem;border-radius:.4rem;overflow:auto;font-size:.8rem;
max-height:30rem}
footer{color:var(--muted);font-size:.85rem;max-width:64rem;margin:3rem auto 2rem;padding:0 1.25rem}td,th{overflow-wrap:break-word}
td.n{white-space:nowrap}h1,footer,li,figcaption,p{overflow-wrap:anywhere}td:first-child:not(.n){min-width:7.5rem}td.long{overflow-wrap:anywhere}
.panels{display:flex;flex-wrap:wrap;gap:.5rem 1rem;align-items:flex-end}.panels figcaption,.panels .legend{flex-basis:100%}
.legend{display:flex;flex-wrap:wrap;gap:.2rem 1rem;margin:0;padding:0;list-style:none;font-size:.85rem}.legend b{display:inline-block;width:1.4rem;
height:.35rem;margin-right:.4rem;vertical-align:middle}.zoom{display:block}.zoom input,.zoom span{display:none}
@media (max-width:600px){body{font-size:15px}h1{font-size:1.35rem}.cards{gap:.5rem}.cards li{min-width:calc(50% - .25rem);flex:1}
table{font-size:.78rem}th,td{padding:.2rem .3rem}caption{max-width:calc(100vw - 2.5rem)}td:first-child:not(.n){min-width:5rem}
table.prose,.prose caption,.prose tbody,.prose tr,.prose td{display:block}.prose thead{display:none}
.prose tr{border-bottom:2px solid var(--line);padding:.4rem 0}
.prose td,.prose td.n{border:0;text-align:left;white-space:normal}.prose td:not(:first-child)::before{content:attr(data-head) ": ";color:var(--muted)}
.prose td.n:not(:first-child){display:inline-block;margin-right:.6rem}.prose td:first-child{font-weight:600}.prose td:empty{display:none}
.scroll{background:linear-gradient(90deg,#fff 30%,#fff0),linear-gradient(270deg,#fff 30%,#fff0) 100% 0,
linear-gradient(90deg,#0003,#0000),linear-gradient(270deg,#0003,#0000) 100% 0;background-repeat:no-repeat;
background-size:2rem 100%,2rem 100%,.6rem 100%,.6rem 100%;background-attachment:local,local,scroll,scroll}
.zoom span{display:inline;color:var(--accent);font-size:.85rem}.zoom:has(:checked){overflow-x:auto}.zoom :checked~img{max-width:none}}
@media print{body{font-size:10.5pt}main,header,footer{max-width:none;padding:0}details.raw{display:none}details::details-content{content-visibility:visible;
display:block}
summary{color:var(--ink);list-style:none;font-weight:600}.zoom span{display:none}
figure,tr,.statement,.cards,table:not(:has(tr:nth-child(15))){break-inside:avoid}h2,h3,caption,summary{break-after:avoid}
section:has(>h2+details.raw:last-child){display:none}
.scroll{overflow:visible}table{font-size:8.5pt}a{color:inherit}}
"""


_PLACES_TO_BREAK = re.compile(r"\s+|(?<=[=:_])")
_DATE, _WHOLE = re.compile(r"\d{4}-\d\d-\d\d"), r'<span style="white-space:nowrap">\g<0></span>'


def escape(text: str) -> str:
    """Return a text as it stands in a page."""
    return html.escape(printable(text, lines=True))


def page(title: str, lead: str, body: Iterable[str], footer: str) -> str:
    """Return a whole page; `body` holds pieces made by this module."""
    head = (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>"
    )
    top = f'<header><h1>{_DATE.sub(_WHOLE, escape(title))}</h1><p class="lead">{escape(lead)}</p></header>'
    return f"{head}\n<body>{top}\n<main>{''.join(body)}</main>\n<footer>{escape(footer)}</footer></body></html>\n"


def fragment(title: str, body: Iterable[str]) -> str:
    """Return pieces for a place inside another page, such as a notebook: with this module's look, and nothing of it outside."""
    inside = STYLE.split("@media", 1)[0].replace(":root{", ".fedbayes{", 1).replace("body{", ".fedbayes{", 1)
    style = "".join(_scoped(rule) for rule in inside.replace("\n", "").split("}") if rule)
    return f'<style>{style}</style><div class="fedbayes"><h2>{escape(title)}</h2>{"".join(body)}</div>'


def _scoped(rule: str) -> str:
    selectors, _, content = rule.partition("{")
    names = (name if name.startswith(".fedbayes") else f".fedbayes {name}" for name in selectors.split(","))
    return ",".join(names) + "{" + content + "}"


def section(heading: str, *pieces: str) -> str:
    """Return a section with a heading; nothing if there are no pieces."""
    content = "".join(pieces)
    return f"<section><h2>{escape(heading)}</h2>{content}</section>\n" if content else ""


def subheading(text: str) -> str:
    """Return a heading inside a section."""
    return f"<h3>{escape(text)}</h3>"


def paragraph(text: str) -> str:
    """Return a paragraph."""
    return f"<p>{escape(text)}</p>"


def statement(text: str, mood: str = "") -> str:
    """Return a marked paragraph; `mood` is "good", "bad" or nothing."""
    return f'<p class="statement {escape(mood)}">{escape(text)}</p>'


def bullets(texts: Sequence[str]) -> str:
    """Return a list."""
    return f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in texts)}</ul>" if texts else ""


def cards(entries: Sequence[tuple[str, str]]) -> str:
    """Return (name, value) pairs as cards."""
    items = "".join(f"<li><strong>{escape(value)}</strong><span>{escape(name)}</span></li>" for name, value in entries)
    return f'<ul class="cards">{items}</ul>' if entries else ""


def table(caption: str, headers: Sequence[str], rows: Iterable[Sequence[Any]], numeric: Sequence[int] = ()) -> str:
    """Return a table; columns whose position is in `numeric` are aligned to the right.

    On a narrow screen the rows of one with sentences in several columns, or with more columns than there is place for, stand as paragraphs,
    each cell after its heading.
    """
    texts = [[str(cell) for cell in row] for row in rows]
    marks = [' class="n"' if position in numeric else "" for position in range(len(headers))]
    head = "".join(f'<th scope="col"{mark}>{escape(name)}</th>' for name, mark in zip(headers, marks, strict=True))
    longest = [
        max(map(len, column)) for position, column in enumerate(zip(*texts, strict=True)) if position not in numeric
    ]
    prose = len(headers) > 2 and (
        sum(longest) > WIDEST_TEXT or (0 not in numeric and _is_wide(headers, texts, numeric))
    )
    names = [f' data-head="{escape(name)}"' if prose else "" for name in headers]
    body = "".join(
        f"<tr>{''.join(f'<td{mark or _wrapping(cell)}{name}>{_breakable(cell)}</td>' for cell, mark, name in zip(row, marks, names, strict=True))}</tr>"
        for row in texts
    )
    heading = f"<caption>{escape(caption)}</caption>" if caption else ""
    opening = '<table class="prose">' if prose else "<table>"
    return f'<div class="scroll">{opening}{heading}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _is_wide(headers: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[int]) -> bool:
    """Return whether columns as narrow as their longest word, or number, are more than a narrow screen holds."""
    widths = [max(map(len, header.split()), default=0) for header in headers]
    for row in rows:
        for position, cell in enumerate(row):
            words = [cell] if position in numeric else _PLACES_TO_BREAK.split(cell)
            widths[position] = max(widths[position], *(len(word) for word in words if len(word) <= LONGEST_WORD), 0)
    return sum(widths) + MARGINS * len(widths) > NARROW


def _wrapping(cell: str) -> str:
    """Return the class of a cell with a word that may be broken anywhere, since no column is wide enough for it."""
    return ' class="long"' if any(len(word) > LONGEST_WORD for word in cell.split()) else ""


def _breakable(cell: str) -> str:
    """Return a cell's text, which may be broken behind the = of a category, the : of a product and the _ of a name."""
    return re.sub(r"(?<=\w)(=|:(?!\d)|_)(?=\w)", r"\1<wbr>", escape(cell))


def picture(uri: str, description: str, caption: str = "", wide: bool = False) -> str:
    """Return a figure with a text for those who do not see it; one that is `wide` can be enlarged where the screen is narrow."""
    drawn = f'<img src="{escape(uri)}" alt="{escape(description)}">'
    if wide:
        drawn = f'<label class="zoom"><input type="checkbox"><span>Enlarge or shrink</span>{drawn}</label>'
    return f"<figure>{drawn}<figcaption>{escape(caption or description)}</figcaption></figure>"


def panels(uris: Mapping[str, str], caption: str, legend: Sequence[tuple[str, str]] = ()) -> str:
    """Return small pictures, by what each shows, side by side as far as the screen is wide; `legend` has names with their colours."""
    entries = "".join(f'<li><b style="background:{escape(color)}"></b>{escape(name)}</li>' for name, color in legend)
    named = f'<ul class="legend">{entries}</ul>' if entries else ""
    drawn = "".join(f'<img src="{escape(uri)}" alt="{escape(description)}">' for description, uri in uris.items())
    return f'<figure class="panels">{named}{drawn}<figcaption>{escape(caption)}</figcaption></figure>'


def fold(summary: str, *pieces: str, raw: bool = False) -> str:
    """Return pieces that open on a click; printed they are open, but for what is `raw`."""
    mark = ' class="raw"' if raw else ""
    return f"<details{mark}><summary>{escape(summary)}</summary>{''.join(pieces)}</details>"


def code(value: Any) -> str:
    """Return a value as JSON; characters that act on whoever reads them are written as JSON writes them."""
    text = json.dumps(value, indent=1, ensure_ascii=False)
    text = re.sub(r"[^\w\s!-~]", lambda sign: sign[0] if sign[0].isprintable() else json.dumps(sign[0])[1:-1], text)
    cut = "\n... cut here; see the file itself" if len(text) > LONGEST_JSON else ""
    return f"<pre>{escape(text[:LONGEST_JSON] + cut)}</pre>"
