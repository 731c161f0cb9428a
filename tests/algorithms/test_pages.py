"""What the pages tell a newcomer to type runs as it stands, on files like those that it names."""

import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fedbayes.client import demo
from fedbayes.client.cli import invoke
from fedbayes.dp.ledger import Ledger
from fedbayes.federation.embedded import EmbeddedFederation
from fedbayes.federation.perimeter.peers import KnownPeers

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"```(console|python|)\n(.*?)```", re.S)
ROWS = 240


def blocks(page: Path, heading: str) -> list[tuple[str, str]]:
    """Return (language, text) of every block between a heading and the next one."""
    text = page.read_text(encoding="utf-8")
    section = text[text.index(f"## {heading}") :].partition("\n## ")[0]
    return [(language or "console", content) for language, content in BLOCK.findall(section)]


def commands(text: str) -> list[list[str]]:
    """Return the words of each command of a console block, as a shell would split them."""
    lines = text.replace("\\\n", " ").splitlines()
    return [shlex.split(line.removeprefix("$ "), comments=True) for line in lines if line.strip()]


@pytest.fixture
def check_runs(tmp_path, monkeypatch, capsys):
    """``check_runs(blocks, names)`` asserts that every block ends without an error, in the order of the page."""
    monkeypatch.chdir(tmp_path)

    def check(found: list[tuple[str, str]], names: dict[str, object] | None = None) -> None:
        assert found
        known = dict(names or {})
        for language, content in found:
            if language == "python":
                exec(compile(content, "page", "exec"), known)
                continue
            for program, *words in commands(content):
                assert program == "fedbayes"
                assert invoke(words) == 0, capsys.readouterr().err

    return check


@pytest.fixture
def people() -> pd.DataFrame:
    """Records with every column that the pages name."""
    rng = np.random.default_rng(7)
    age, smoker = rng.integers(20, 90, ROWS), rng.choice(["yes", "no"], ROWS)
    ill = rng.random(ROWS) < 1 / (1 + np.exp(-(age - 55) / 12 - (smoker == "yes")))
    months = rng.exponential(30 * np.exp(-(age - 55) / 20))
    return pd.DataFrame(
        {
            "id": range(ROWS),
            "patient": range(ROWS),
            "age": age,
            "weight": rng.integers(50, 120, ROWS),
            "smoker": smoker,
            "smoke": smoker,
            "cough": rng.choice(["yes", "no"], ROWS),
            "xray": rng.choice([0, 1], ROWS),
            "ill": np.where(ill, "yes", "no"),
            "outcome": np.where(ill, "ill", "well"),
            "class": np.where(ill, "yes", "no"),
            "colour": rng.choice(["red", "green"], ROWS),
            "months": np.minimum(months, 40).round(1),
            "died": (months < 40).astype(int),
            "stage": rng.choice(["I", "II", "III"], ROWS),
            "marker": rng.normal(size=ROWS).round(3),
        }
    )


def test_the_quick_start_of_the_readme_runs(check_runs, tmp_path):
    hospitals = tmp_path / "out" / "hospitals"
    hospitals.mkdir(parents=True)
    demo.split(demo.load(), hospitals, 0)
    check_runs(blocks(ROOT / "README.md", "Quick start: the command line"))
    assert len(pd.read_csv(tmp_path / "out" / "scored.csv")) > 50


def test_the_start_in_ten_minutes_runs(check_runs, tmp_path):
    hospitals = tmp_path / "out" / "hospitals"
    hospitals.mkdir(parents=True)
    demo.split(demo.load(), hospitals, 0)
    check_runs(blocks(ROOT / "docs" / "start.md", "From files to a model"))
    assert len(pd.read_csv(tmp_path / "out" / "new.csv")) > 20
    check_runs(blocks(ROOT / "docs" / "dossier.md", "Write one"))
    assert "officer@example.org" in (tmp_path / "out" / "dossier.html").read_text(encoding="utf-8")


HORIZONTAL = {
    "dp_naive_bayes": (("a", "b", "c"), ["age", "smoker", "outcome"]),
    "smooth_naive_bayes": (("a", "b", "c"), ["age", "smoker", "outcome"]),
    "discriminative_naive_bayes": (("a", "b", "c"), ["age", "colour", "class"]),
    "secure_naive_bayes": (tuple(f"hospital-{number}" for number in range(10)), ["age", "colour", "class"]),
}
VERTICAL = {
    "scalar_product": {"ages": ["id", "age"], "weights": ["id", "weight"]},
    "verticox": {"a": ["patient", "months", "died"], "b": ["patient", "age"], "c": ["patient", "stage", "marker"]},
    "vertibayes": {
        "gp": ["patient", "smoke", "age"],
        "hospital": ["patient", "cough", "xray"],
        "lab": ["patient", "ill"],
    },
    "bayesian_ensemble": {
        "gp": ["patient", "smoke", "age"],
        "hospital": ["patient", "xray"],
        "lab": ["patient", "ill"],
    },
}
DOMAIN = {"age": {"bounds": [0, 110]}, "class": {"categories": ["no", "yes"]}}


def first_section(method: str) -> list[tuple[str, str]]:
    """Return the blocks of the section on use of a method's page, or of its beginning."""
    page = ROOT / "algorithms" / method / "README.md"
    text = page.read_text(encoding="utf-8")
    heading = next((name for name in ("Usage", "Use") if f"## {name}\n" in text), None)
    if heading is not None:
        return blocks(page, heading)
    return [(language or "console", content) for language, content in BLOCK.findall(text.partition("\n## ")[0])]


@pytest.mark.few(1)
@pytest.mark.parametrize("method", HORIZONTAL)
def test_the_use_of_a_horizontal_method_runs(check_runs, method, people, tmp_path):
    names, columns = HORIZONTAL[method]
    for position, name in enumerate(names):
        people[columns].iloc[position :: len(names)].to_csv(tmp_path / f"{name}.csv", index=False)
    check_runs(first_section(method), {"domain": DOMAIN})


@pytest.mark.few(1)
@pytest.mark.parametrize("method", VERTICAL)
def test_the_use_of_a_vertical_method_runs(check_runs, method, people, tmp_path):
    for name, columns in VERTICAL[method].items():
        people[columns].sample(frac=1.0, random_state=1).to_csv(tmp_path / f"{name}.csv", index=False)
    check_runs(first_section(method))


def test_the_vertical_use_of_secure_naive_bayes_runs(check_runs, people, tmp_path):
    people["glucose"] = np.random.default_rng(3).uniform(3.0, 12.0, len(people)).round(1)
    for name, feature in (("laboratory", "glucose"), ("clinic", "smoker"), ("registry", "age")):
        people[["class", feature]].to_csv(tmp_path / f"{name}.csv", index=False)
    known = {
        "EmbeddedFederation": EmbeddedFederation,
        "domain": DOMAIN | {"glucose": {"bounds": [2, 15]}, "smoker": {"categories": ["yes", "no"]}},
    }
    check_runs(blocks(ROOT / "algorithms" / "secure_naive_bayes" / "README.md", "Vertically split records"), known)


def test_a_fit_to_whole_records_runs(check_runs, people, tmp_path):
    for place, name in enumerate(("north", "south", "west")):
        people[["age", "stage", "months", "died"]].iloc[place::3].to_csv(tmp_path / f"{name}.csv", index=False)
    check_runs(blocks(ROOT / "algorithms" / "verticox" / "README.md", "Whole records at every station"))


def test_the_page_of_data_dictionaries_runs(check_runs, people, tmp_path):
    page = ROOT / "docs" / "data-dictionary.md"
    (tmp_path / "study.yaml").write_text(re.search(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.S)[1])
    rng = np.random.default_rng(5)
    people["sex"], people["height"] = rng.choice(["F", "M"], len(people)), rng.integers(150, 190, len(people))
    people["stage"] = rng.choice([1, 2], len(people))
    for position, name in enumerate(("north", "south", "west")):
        part = people[["patient", "sex", "age", "stage", "weight", "height", "ill"]].iloc[position::3]
        part.to_csv(tmp_path / f"{name}.csv", index=False)
    check_runs(blocks(page, "Write one") + blocks(page, "Use it"))


def test_the_commands_for_administrators_run(check_runs, tmp_path):
    Ledger(tmp_path / "fedbayes-ledger.sqlite3").charge(("job", "1:partial_sum", "digest"), 0.25, 0.0, "counts")
    peers = KnownPeers(tmp_path)
    peers.accept("NAME", "ab" * 32)
    check_runs(
        [
            (language, text.replace("/data/fedbayes", str(tmp_path)).replace("FINGERPRINT", "cd" * 32))
            for language, text in blocks(ROOT / "docs" / "node-administrators.md", "The ledger")
        ]
    )


ELSEWHERE = {
    ("README.md", ""): "make demo and make test: .ci/run",
    ("README.md", "Quick start: real vantage6 nodes"): "a server: tests/network",
    ("docs/node-administrators.md", "What is in an image"): "an image: tests/network/test_images.py",
    ("docs/node-administrators.md", "The record of readings"): "tests/shared/client/test_check.py",
    ("docs/node-administrators.md", "Check the configuration"): "tests/shared/client/test_node_check.py",
    ("docs/differential.md", ""): "make differential: .ci/run",
    ("docs/sources.md", "OMOP"): "tests/shared/federation/test_databases.py",
}
RUN_HERE = {
    ("README.md", "Quick start: the command line"),
    ("docs/data-dictionary.md", "Use it"),
    ("docs/data-dictionary.md", "Write one"),
    ("docs/dossier.md", "Write one"),
    ("docs/node-administrators.md", "The ledger"),
    ("docs/start.md", "From files to a model"),
    ("algorithms/verticox/README.md", "Whole records at every station"),
    ("algorithms/secure_naive_bayes/README.md", "Vertically split records"),
}


def test_no_block_is_forgotten():
    """Whatever a page says to type is run by a test."""
    found = set()
    for page in (ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("algorithms/*/README.md")):
        text, name = page.read_text(encoding="utf-8"), page.relative_to(ROOT).as_posix()
        for block in re.finditer(r"^```(?:console|python)$", text, re.M):
            found.add((name, (["", *re.findall(r"^## (.*)$", text[: block.start()], re.M)])[-1]))
    uses = {
        (f"algorithms/{method}/README.md", heading)
        for method in (*HORIZONTAL, *VERTICAL)
        for heading in ("Use", "Usage", "")
    }
    assert found - uses == RUN_HERE | set(ELSEWHERE)
