"""The package as a whole: exports and store file, vantage6's mock client, what is sent, what a change on the way does."""

import inspect
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import v6_secure_naive_bayes as package
from fedbayes.federation.embedded import EmbeddedFederation
from fedbayes.federation.errors import MessageError

from .conftest import DOMAIN

STORE = Path(__file__).resolve().parents[3] / "algorithms" / "secure_naive_bayes" / "algorithm_store.json"
TASK = {"label": "kind", "domain": DOMAIN, "bins": 5, "modulus_bits": 2048}


def test_the_store_file_lists_exactly_the_exported_functions():
    store = json.loads(STORE.read_text(encoding="utf-8"))
    assert sorted(entry["name"] for entry in store["functions"]) == sorted(package.__all__)
    assert all(hasattr(getattr(package, name), "fedbayes_remote") for name in package.__all__)


@pytest.mark.parametrize("name", ["fit", "classify", "evaluate", "join", "leave"])
def test_the_store_file_lists_the_arguments_and_their_defaults(name):
    store = json.loads(STORE.read_text(encoding="utf-8"))
    listed = next(entry["arguments"] for entry in store["functions"] if entry["name"] == name)
    taken = list(getattr(package, name).fedbayes_arguments.parameters.values())[1:]
    assert [argument["name"] for argument in listed] == [parameter.name for parameter in taken]
    for argument, parameter in zip(listed, taken, strict=True):
        if parameter.default not in (inspect.Parameter.empty, None):
            assert argument["default_value"].lower() == str(parameter.default).lower()


def test_it_runs_under_the_mock_client(table):
    from vantage6.algorithm.tools.mock_client import MockAlgorithmClient

    datasets = [[{"database": table.iloc[number::3], "db_type": "csv"}] for number in range(3)]
    client = MockAlgorithmClient(datasets=datasets, organization_ids=[1, 2, 3], module="v6_secure_naive_bayes")
    task = client.task.create(input_={"method": "fit", "kwargs": {**TASK, "noise": "none"}}, organizations=[1])
    result = client.result.from_task(task["id"])[0]
    assert sum(result["model"]["class_counts"]) == 900


@pytest.fixture(scope="module")
def files(table, tmp_path_factory):
    folder = tmp_path_factory.mktemp("package")
    for number, name in enumerate("xyz"):
        table.iloc[number::3].to_csv(folder / f"{name}.csv", index=False)
    return {name: folder / f"{name}.csv" for name in "xyz"}


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
    page = (STORE.parent / "README.md").read_text(encoding="utf-8").partition("## Vertically split records")[2]
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
