"""The package as a whole: vantage6's mock client, what is sent, what a change on the way does."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from mock_kit import run_mocked
from party_kit import by_rows

from fedbayes.federation.embedded import EmbeddedFederation
from fedbayes.federation.errors import MessageError

from .conftest import DOMAIN

PAGE = Path(__file__).resolve().parents[3] / "algorithms" / "secure_naive_bayes" / "README.md"
TASK = {"label": "kind", "domain": DOMAIN, "bins": 5, "modulus_bits": 2048}


def test_it_runs_under_the_mock_client(table):
    tables = [table.iloc[number::3] for number in range(3)]
    result = run_mocked("secure_naive_bayes", "fit", tables, **TASK, noise="none")
    assert sum(result["model"]["class_counts"]) == 900


@pytest.fixture(scope="module")
def files(table):
    return by_rows(table, "xyz")


def test_messages_are_sealed_and_their_sizes_do_not_depend_on_the_data(files):
    sizes, seen = [], []
    with EmbeddedFederation(files, record=True) as federation:
        for noise in ({"epsilon": 1.0}, {"noise": "none"}):
            federation.run("secure_naive_bayes", "fit", {**TASK, **noise})
            functions = {entry["function"] for entry in federation.transcript}
            assert functions == {"fit", "partial_open_channel", "partial_counts"}
            sent = [
                entry["result"]["sealed"] for entry in federation.transcript if entry["function"] == "partial_counts"
            ]
            sizes.append({len(one) for one in sent})
            seen += sent
    assert sizes[0] == sizes[1]
    assert len(sizes[0]) == 1
    assert len(set(seen)) == 6


def test_a_change_on_the_way_stops_the_job(files):
    def flip(organization, function, payload):
        if function == "partial_counts" and organization == "y":
            sealed = payload["sealed"]
            return {**payload, "sealed": ("A" if sealed[40] != "A" else "B").join((sealed[:40], sealed[41:]))}
        return payload

    with EmbeddedFederation(files, tamper=flip) as federation, pytest.raises(MessageError, match="changed"):
        federation.run("secure_naive_bayes", "fit", {**TASK, "epsilon": 1.0})


def test_the_use_on_vertically_split_records_runs_as_the_page_says(tmp_path, monkeypatch, capsys):
    page = PAGE.read_text(encoding="utf-8").partition("## Vertically split records")[2]
    generator = np.random.default_rng(5)
    columns = {
        "laboratory": ("glucose", generator.uniform(3, 12, 200).round(1)),
        "clinic": ("smoker", generator.choice(["yes", "no"], 200)),
        "registry": ("age", generator.integers(20, 90, 200)),
    }
    label = generator.choice(["x", "y"], 200)
    monkeypatch.chdir(tmp_path)
    for name, (column, values) in columns.items():
        pd.DataFrame({column: values, "class": label}).to_csv(f"{name}.csv", index=False)
    domain = {
        "glucose": {"bounds": [3, 12]},
        "smoker": {"categories": ["yes", "no"]},
        "age": {"bounds": [20, 90]},
        "class": {"categories": ["x", "y"]},
    }
    code = page.partition("```python")[2].partition("```")[0]
    exec(compile(code, "page", "exec"), {"domain": domain, "EmbeddedFederation": EmbeddedFederation})
    assert "[[" in capsys.readouterr().out
