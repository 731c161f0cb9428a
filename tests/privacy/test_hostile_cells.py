"""Cells that act on whoever reads them: nothing of them is in a log or an error, and no terminal or page obeys them."""

import base64
import io
import json
import re

import numpy as np
import pandas as pd
import pytest
from mock_kit import NO_DATA, run_mocked
from one_process import OneProcess
from rich.console import Console

from fedbayes.client.cli import invoke
from fedbayes.client.commands.listing import print_table, say
from fedbayes.client.exits import line_of
from fedbayes.client.figures.style import name_axes, new_figure, to_svg
from fedbayes.client.inputs.csv_text import csv_of
from fedbayes.client.inputs.files import print_json
from fedbayes.client.labels import legible
from fedbayes.client.pages.report import render
from fedbayes.client.progress import Progress
from fedbayes.client.sections import Cost
from fedbayes.client.text.terminal import print_result
from fedbayes.federation.errors import ArgumentError, log_line, rebuild

SECRET = "owned"
HOSTILE = [
    f"\x1b[31mred\x1b]0;{SECRET}\x07",
    f"<script>alert('{SECRET}')</script>",
    f'=HYPERLINK("{SECRET}")',
    f"a\nerror > fedbayes-error: PolicyError: {SECRET}",
    f"{SECRET} {{}} %s {{0.__class__}}",
    f"\u202e{SECRET}",
    f"[bold red]{SECRET}[/]",
    f"{SECRET}\x07\x9b31m",
    SECRET * 1000,
]
"""Escape sequences, markup, a forged line of a log, formats, a text that runs from right to left, and a long one."""
EACH = 30


@pytest.fixture(scope="module")
def frames():
    rows = EACH * len(HOSTILE)
    ids = [f"p{row}" for row in range(rows)]
    ill = np.random.default_rng(0).choice(["no", "yes"], rows)
    return {
        "a": pd.DataFrame(
            {"id": ids, "kind": HOSTILE * EACH, "number": np.where(np.arange(rows) % 2, "1", HOSTILE[3])}
        ),
        "b": pd.DataFrame({"id": ids, "ill": ill}),
    }


@pytest.fixture(scope="module")
def results(frames):
    asked = {"columns": ["kind", "ill"], "id_column": "id"}
    with OneProcess(frames, helpers=["h"]) as federation:
        return [federation.run(method, task, asked) for method, task in CALLS]


CALLS = [("scalar_product", "contingency"), ("vertibayes", "fit")]


def test_no_terminal_obeys_a_category(results):
    stream = io.StringIO()
    print_result(Console(file=stream, width=200), results[0])
    shown = stream.getvalue()
    assert SECRET in shown, "exact answers name the states that were found"
    assert all(one.isprintable() for one in shown.split("\n"))
    assert not any(line.startswith("error >") for line in shown.split("\n"))


@pytest.mark.parametrize("place", range(len(CALLS)), ids=[task for _, task in CALLS])
def test_a_report_escapes_categories(results, place):
    page = render(results[place], "A report")
    assert SECRET in page
    assert "<script>alert" not in page
    assert not re.search("[\x00\x07\x1b\x9b\u202e]", page)


@pytest.mark.parametrize("place", range(len(CALLS)), ids=[task for _, task in CALLS])
def test_nor_does_a_dossier(results, place, tmp_path, capsys):
    """Those of organizations too, which a server tells."""
    (tmp_path / "r.json").write_text(json.dumps({**results[place], "warnings": HOSTILE}))
    assert invoke(["dossier", str(tmp_path / "r.json"), "--out", str(tmp_path / "d.html")]) == 0
    assert invoke(["dossier", str(tmp_path / "r.json")]) == 0
    page, told = (tmp_path / "d.html").read_text(), capsys.readouterr().out
    for text in (page, told):
        assert SECRET in text
        assert all(one.isprintable() or one == "\n" for one in text)
    assert "<script>alert" not in page
    assert set(HOSTILE) <= set(
        json.loads(told.removeprefix(f"dossier: {tmp_path / 'd.html'}\n"))["computation"]["warnings"]
    )


@pytest.mark.parametrize("hostile", HOSTILE)
def test_no_list_on_the_terminal_obeys_a_name(capsys, hostile):
    """Names of tasks and organizations are others' on a server; so are those of columns in a file that is checked."""
    print_table(("name", hostile), [(hostile, None)], title="tasks")
    say(f"warning: {hostile}")
    print_json({hostile: hostile})
    print(Cost(rounds=1, bytes=1, seconds=1.0, organizations=[hostile], aggregator=hostile))
    shown = capsys.readouterr().out
    assert SECRET in shown
    assert all(one.isprintable() or one == "\n" for one in shown)
    assert not any(line.startswith("error >") for line in shown.split("\n"))


@pytest.mark.parametrize(
    ("cell", "warned"),
    [('=HYPERLINK("x")', True), ("@sum", True), ("-1+cmd", True), ("+1", False), ("-2.5e3", False), ("a=b", False)],
)
@pytest.mark.parametrize("place", ["cell", "name", "index"])
def test_formulas_in_a_csv_file_are_warned_of_and_stay_as_they_are(capsys, cell, warned, place):
    frame = pd.DataFrame({"kind": ["plain", cell if place == "cell" else "other"], "number": [-1, -2.5]})
    if place == "name":
        frame = frame.rename(columns={"kind": cell})
    if place == "index":
        frame.index = pd.Index([cell, "b"], name="class")
    text = csv_of(frame, place == "index")
    assert ("spreadsheet" in capsys.readouterr().err) is warned
    assert cell in pd.read_csv(io.StringIO(text), dtype=str).to_csv() or cell.replace('"', '""') in text


@pytest.mark.parametrize("hostile", HOSTILE)
def test_no_log_and_no_error_obeys_an_argument_or_a_refusal(frames, hostile):
    """A researcher names an argument, and a station that deviates words its refusal, for the terminal of who looks at a log."""
    with OneProcess(frames, helpers=["h"]) as federation, pytest.raises(ArgumentError, match="no argument") as refusal:
        federation.run("scalar_product", "contingency", {hostile: 1})
    shown = io.StringIO()
    Progress(Console(file=shown, width=5000), False).note(hostile)
    told = [
        line_of(ArgumentError(hostile)),
        shown.getvalue(),
        str(refusal.value),
        log_line(refusal.value),
        log_line(ArgumentError(hostile)),
        str(rebuild("ArgumentError", hostile)),
    ]
    assert all(one.isprintable() or one == "\n" for text in told for one in text)
    assert all(SECRET in text for text in told)


def test_a_result_itself_keeps_them(results):
    whole = {"model": {"states": HOSTILE}}
    assert legible(whole)["model"]["states"][0].startswith("\\x1b")
    assert whole["model"]["states"] == HOSTILE
    assert set(HOSTILE) <= set(results[1]["model"]["nodes"]["kind"]["states"])


QUESTIONS = [
    ("scalar_product", "contingency", {"columns": ["kind", "ill"]}),
    ("scalar_product", "contingency", {"columns": ["kind", "ill"], "domain": {"kind": {"categories": ["x", "y"]}}}),
    ("scalar_product", "count", {"conditions": [{"column": "kind", "op": "<", "value": 3}]}),
    ("vertibayes", "fit", {"columns": ["number", "ill"], "bins": {"number": 2}}),
    ("verticox", "fit", {"time": "number", "event": "ill", "features": ["kind"]}),
]


@pytest.mark.parametrize(
    ("method", "task", "arguments"), QUESTIONS, ids=lambda one: one if isinstance(one, str) else ""
)
def test_nothing_of_a_cell_is_in_a_log_or_an_error(frames, capfd, method, task, arguments):
    said = ""
    try:
        run_mocked(method, task, [*frames.values(), NO_DATA], **arguments, id_column="id")
    except Exception as error:
        said = str(error)
    out, err = capfd.readouterr()
    assert "starts" in out + err, "a log was looked at"
    assert SECRET not in out + err + said


def letters(word: str) -> int:
    """Return how many letters a figure draws that names its axis, a tick, a line and a legend so."""
    figure = new_figure(4.0, 3.0)
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], label=word)
    axes.set_xticks([0, 1], [word, "other"])
    axes.legend(title=word)
    name_axes(axes, x=word)
    return base64.b64decode(to_svg(figure).partition(",")[2]).count(b"xlink:href")


@pytest.mark.parametrize("word", ["$$", "$0-$50", "a $\\frac{$ b"])
def test_no_figure_takes_a_category_for_a_formula(word):
    """One category between dollar signs ended every report about its column, or was set as a formula without them."""
    assert letters(word) == letters(word.replace("$", "S"))
