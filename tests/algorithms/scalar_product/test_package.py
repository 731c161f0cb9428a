"""vantage6's mock client, the tree of the published protocol, repeats by the platform, changed messages."""

import json

import pytest
from mock_kit import NO_DATA, run_mocked
from one_process import OneProcess

from fedbayes.federation.embedded import EmbeddedFederation
from fedbayes.federation.errors import MessageError
from scalar_product.thesis import protocol_runs
from v6_scalar_product.chain import protocols

AGE = {"column": "age", "op": ">=", "value": 50}
WEIGHT = {"column": "weight", "op": "<", "value": 75}


def test_it_runs_under_the_mock_client(parties, table):
    tables = [*parties.values(), NO_DATA]
    result = run_mocked("scalar_product", "count", tables, conditions=[AGE, WEIGHT], id_column="id")
    assert result["count"] == int(((table.age >= 50) & (table.weight < 75)).sum())


@pytest.mark.parametrize("owners", [2, 3, 4, 5])
def test_tree_of_the_published_protocol(owners):
    runs = protocols(list(range(1, owners + 1)), 99)
    assert len(runs) == protocol_runs(owners)
    for run in runs.values():
        assert run.server not in run.owners
        assert len(set(run.owners)) == len(run.owners)
        around, serving = run, set()
        while around.path:
            around = runs[around.parent]
            serving.add(around.server)
        assert run.server not in serving


def test_without_a_helper_the_count_is_the_same(parties, table):
    with OneProcess(parties) as federation:
        result = federation.run(
            "scalar_product", "count", {"conditions": [AGE, WEIGHT], "id_column": "id", "helper": "none"}
        )
    assert result["count"] == int(((table.age >= 50) & (table.weight < 75)).sum())


def test_sizes_and_rounds_do_not_depend_on_the_data(parties):
    """The same question on other people: every message has its size, and no two sealed contents are alike."""
    shapes, contents = [], []
    for seed in (1, 2):
        files = {}
        for name, table in parties.items():
            changed = {one: table[one].sample(frac=1, random_state=seed).to_numpy() for one in table.columns[1:]}
            files[name] = table.assign(**changed)
        with EmbeddedFederation(files, helpers=["helper"], record=True) as federation:
            federation.run("scalar_product", "count", {"conditions": [AGE, WEIGHT], "id_column": "id"})
            replies = [entry for entry in federation.transcript if entry["function"].startswith("partial")]
        shapes.append(sorted((e["organization"], e["function"], len(e["result"]["sealed"])) for e in replies))
        contents += [entry["result"]["sealed"] for entry in replies]
        text = json.dumps(replies)
        assert "p0001" not in text
        assert "s0-1" not in text
    assert shapes[0] == shapes[1]
    assert len(set(contents)) == len(contents)
    assert {function for _, function, _ in shapes[0]} == {
        "partial_open_channel",
        "partial_submit",
        "partial_match",
        "partial_tables",
    }


@pytest.mark.few(1)
@pytest.mark.parametrize("function", ["partial_submit", "partial_match", "partial_tables"])
def test_a_change_on_the_way_stops_the_job(parties, function):
    def flip(organization, asked, payload):
        if asked == function and organization in ("station1", "helper"):
            sealed = payload["sealed"]
            return {**payload, "sealed": ("A" if sealed[40] != "A" else "B").join((sealed[:40], sealed[41:]))}
        return payload

    with (
        EmbeddedFederation(parties, helpers=["helper"], tamper=flip) as federation,
        pytest.raises(MessageError, match="changed"),
    ):
        federation.run("scalar_product", "count", {"conditions": [AGE, WEIGHT], "id_column": "id"})
