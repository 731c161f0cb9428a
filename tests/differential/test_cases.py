"""Cases that once differed stay mended; a sample of them also runs in the embedded federation."""

import json
from pathlib import Path

import pytest
from harness.cases import Case, Interrupted, run
from harness.embedded import Embedded
from harness.files import csv_text
from harness.registry import check

FOLDER = Path(__file__).parent / "cases"
CASES = sorted(FOLDER.glob("*.json"))
LONG = ("verticox_fit_admm_collinear",)
"""Cases of hundreds of rounds."""


@pytest.mark.few(12)
@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=pytest.mark.audit if path.stem in LONG else ()) for path in CASES],
    ids=lambda path: path.stem,
)
def test_a_case_that_differed(path: Path) -> None:
    reason = json.loads(path.read_text(encoding="utf-8")).get("xfail")
    case = Case.load(path)
    try:
        check(case, run(case))
    except (AssertionError, Interrupted):
        if reason:
            pytest.xfail(reason)
        raise
    assert not reason, "the case has no difference any more: take its xfail out"


EMBEDDED = [path for path in CASES if path.stem.startswith(("smooth_", "vertibayes_"))][:2]


@pytest.mark.parametrize("path", EMBEDDED, ids=lambda path: path.stem)
def test_a_case_in_the_embedded_federation(path: Path) -> None:
    case = Case.load(path)
    check(case, run(case, Embedded))


def test_a_cell_survives_the_file() -> None:
    """What is written is what was drawn: quotes only where a cell needs them, missing cells empty."""
    text = csv_text({"a,b": ["None", None, 'say "x"'], "n": ["007", "1.0", "two\nlines"]})
    assert text == '"a,b",n\nNone,007\n,1.0\n"say ""x""","two\nlines"\n'
