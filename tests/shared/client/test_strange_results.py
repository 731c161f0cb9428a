"""Result files of somebody else's making: whatever is inside them, the command answers in one line, and runs nothing on their word."""

import copy
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess

import fedbayes
from fedbayes.bayes.network import BayesianNetwork
from fedbayes.client.exits import UsageProblem
from fedbayes.client.kinds import SECTIONS, as_written

ODD = [None, True, -1, 10**400, 1e308, "x", "\x1b[31m", [], {}, [[[]]], {"a": {"b": [1]}}, ["a", 1, None], "fedbayes/9"]
DEEP = 900
CALLS = [
    ("vertibayes", "fit", {"columns": ["kind", "ill"], "id_column": "id"}),
    ("scalar_product", "contingency", {"columns": ["kind", "ill"], "id_column": "id"}),
    ("scalar_product", "describe", {"columns": ["number"], "domain": {"number": {"bounds": [0, 18]}}}),
    ("verticox", "fit", {"time": "time", "event": "event", "features": ["kind", "number"], "id_column": "id"}),
]
NAMES = ["network", "counts", "description", "cox"]


@pytest.fixture(scope="module")
def results():
    rows = range(120)
    ids = [f"p{row}" for row in rows]
    frames = {
        "a": pd.DataFrame({"id": ids, "kind": ["u", "v", "w"] * 40, "number": [row / 7 for row in rows]}),
        "b": pd.DataFrame(
            {
                "id": ids,
                "ill": ["no", "yes", "no", "no"] * 30,
                "time": [row * 37 % 101 + 1 for row in rows],
                "event": [int(row % 5 > 0) for row in rows],
            }
        ),
    }
    with OneProcess(frames, helpers=["h"]) as federation:
        return [dict(federation.run(*call)) for call in CALLS]


def places(value, path=()):
    """Yield the path of every part of a result, of long lists the first parts."""
    if path:
        yield path
    parts = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, part in parts:
        yield from places(part, (*path, key))


def changed(result, path, value):
    strange = copy.deepcopy(result)
    holder = strange
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return strange


COMMANDS = [
    ("show", "s.json", "--report", "r.html"),
    ("show", "s.json", "--export", "t.csv", "--force"),
    ("dossier", "s.json", "--out", "d.html", "--force"),
    ("predict", "s.json", "new.csv", "--out", "p.csv", "--force"),
]
PLACE = {"party": ["a=a.csv", "b=b.csv"], "helper": ["h"], "latency": 0.5, "aggregator": "a", "database": "default"}


def write(folder, result):
    (folder / "s.json").write_text(json.dumps(result))


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", range(len(CALLS)), ids=NAMES)
def test_what_is_of_another_kind_is_answered_in_one_line(command, tmp_path, results, kind):
    """Some pairs of a place and an odd value; what Python would say of it has the name of the file around it."""
    (tmp_path / "new.csv").write_text("kind,number\nu,1\nv,2\n")
    pairs = [(path, odd) for path in places(results[kind]) for odd in ODD][kind::151]
    said = 0
    for number, (path, odd) in enumerate(pairs):
        write(tmp_path, changed(results[kind], path, odd))
        code, out, err = command(*COMMANDS[number % len(COMMANDS)])
        assert all(one.isprintable() or one == "\n" for one in out + err), (path, odd)
        if code:
            said += 1
            assert err.splitlines()[-1].startswith("error: ")
            assert code == 2, (path, odd, err)
    assert 0 < said < len(pairs), "some are refused, and not all"


@pytest.mark.parametrize("times", [(), ("--times", "5")], ids=["", "times"])
@pytest.mark.parametrize(
    ("path", "odd"),
    [
        (("baseline", "cumulative_hazard", 0), ["a", 1, None]),
        (("baseline", "cumulative_hazard", 0), {}),
        (("baseline", "time", 0), "x"),
        (("coefficients", 0, "coefficient"), "x"),
        (("coefficients", 0, "coefficient"), []),
        (("offset",), {"a": 1}),
    ],
)
def test_a_cox_model_of_other_things_names_its_file(command, tmp_path, results, path, odd, times):
    (tmp_path / "new.csv").write_text("kind,number\nu,1\nv,2\n")
    predict = ("predict", "s.json", "new.csv", *times)
    write(tmp_path, results[NAMES.index("cox")])
    assert command(*predict)[0] == 0, "a control: the model as it was fitted"
    write(tmp_path, changed(results[NAMES.index("cox")], ("model", *path), odd))
    code, _, err = command(*predict)
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith("error: s.json holds no result: something in it is malformed")


def dense(nodes=60, parents=6):
    """Return a well-formed network of fair coins, each with the parents before it that a fixed draw says."""
    draw = np.random.default_rng(5)
    names = [f"n{node}" for node in range(nodes)]
    of = {name: draw.permutation(names[:row])[:parents].tolist() for row, name in enumerate(names)}
    return BayesianNetwork(
        {name: ("no", "yes") for name in names},
        {name: tuple(above) for name, above in of.items()},
        {name: np.full((2,) * (len(above) + 1), 0.5) for name, above in of.items()},
    ).to_dict()


def test_a_good_file_is_not_blamed_for_a_limit_of_ours(command, tmp_path, results):
    (tmp_path / "new.csv").write_text("n1,n2\nno,yes\n")
    model = dense()
    write(tmp_path, {**results[0], "model": model})
    code, _, err = command("predict", "s.json", "new.csv", "--label", "n0")
    assert (code, err) == (
        2,
        "error: the network is too densely connected for exact inference; lower max_parents\n",
    )
    model["tables"]["n0"]["probabilities"] = [0.5, 0.6]
    write(tmp_path, {**results[0], "model": model})
    code, _, err = command("show", "s.json", "--export", "n.bif")
    assert code == 2, "a control: what is wrong in the file is the file's"
    assert "s.json holds no result: something in it is malformed (ValueError: the table of n0 " in err


@pytest.mark.parametrize(
    ("path", "odd"),
    [
        (("tables", "kind", "probabilities"), "x"),
        (("tables", "kind", "parents"), ["nobody"]),
        (("nodes", "kind", "states"), []),
        (("nodes", "kind", "cuts"), "x"),
    ],
)
def test_a_network_of_other_things_names_its_file(command, tmp_path, results, path, odd):
    (tmp_path / "new.csv").write_text("kind\nu\nv\n")
    write(tmp_path, changed(results[0], ("model", *path), odd))
    code, _, err = command("predict", "s.json", "new.csv", "--label", "ill")
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith("error: s.json holds no result: something in it is malformed")


@pytest.mark.parametrize("problem", [np.exceptions.AxisError(3, 2), np.linalg.LinAlgError("singular")], ids=type)
def test_words_of_numpy_are_not_ours(problem):
    with pytest.raises(UsageProblem, match=r"s\.json holds no result"), as_written(Path("s.json")):
        raise problem


@pytest.fixture
def asked(monkeypatch, tmp_path, results):
    """The jobs that got past the command, none of which runs."""
    jobs = []
    monkeypatch.setattr("fedbayes.client.running.local.run", lambda job, *_: jobs.append(job) or dict(results[1]))
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text("id,kind,ill\n1,u,no\n")
    return jobs


def test_what_is_repeated_is_of_the_kind_that_was_written(command, tmp_path, results, asked):
    """Every odd value at every part of where a result comes from: what gets past has mappings and texts where `run` writes these."""
    provenance = {**results[0]["provenance"], "place": PLACE}
    parts = [path for path in places(provenance) if path[0] in ("algorithm", "function", "arguments", "place")]
    refused = 0
    for path, odd in [(path, odd) for path in parts for odd in ODD][::3]:
        write(tmp_path, {**results[0], "provenance": changed(provenance, path, odd)})
        code, _, err = command("run", "--again", "s.json", "--out", "-", "--quiet")
        assert code == 0 or (code, err.count("\n")) == (2, 1), (path, odd, err)
        refused += code == 2
    assert refused > 20
    assert len(asked) > 20, "a control: arguments are the algorithm's to check"
    assert all(isinstance(job.arguments, dict) for job in asked)


@pytest.mark.parametrize(
    ("path", "odd"),
    [
        (("place",), ["x"]),
        (("place", "party"), 5),
        (("place", "party"), [5]),
        (("place", "helper"), "h"),
        (("place", "latency"), "long"),
        (("place", "latency"), -1),
        (("place", "collaboration"), True),
        (("place", "aggregator"), ["a"]),
        (("arguments",), [1]),
        (("algorithm",), 5),
        (("function",), ["fit"]),
    ],
)
def test_a_malformed_provenance_names_its_file(command, tmp_path, results, asked, path, odd):
    provenance = {**results[0]["provenance"], "place": PLACE}
    write(tmp_path, {**results[0], "provenance": provenance})
    assert command("run", "--again", "s.json", "--out", "again.json")[0] == 0, "a control: as it was written"
    write(tmp_path, {**results[0], "provenance": changed(provenance, path, odd)})
    code, _, err = command("run", "--again", "s.json", "--out", "b.json")
    assert (code, err) == (
        2,
        f"error: s.json: the '{path[-1]}' in its provenance is malformed; give a result that `fedbayes run` wrote\n",
    )
    use = ("run", "vertibayes", "evaluate", "--party", "a=a.csv", "--model", "s.json", "--out", "c.json")
    assert command(*use)[0] == 2, "a model of such a file too"
    assert len(asked) == 1


@pytest.mark.parametrize("where", ["model", "warnings"])
def test_a_deep_one_too(command, tmp_path, results, where):
    deep = []
    for _ in range(DEEP):
        deep = [deep]
    (tmp_path / "s.json").write_text(json.dumps({**results[0], where: deep}))
    assert command("show", "s.json", "--report", "r.html")[0] in (0, 2)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"model": 1, "privacy": 3}', "[]", '{"a": 1}', '{"model": '])
def test_load_says_what_holds_no_result(tmp_path, text):
    (tmp_path / "s.json").write_text(text)
    with pytest.raises(ValueError, match=r"s\.json holds no result"):
        fedbayes.load(tmp_path / "s.json")
    assert set(SECTIONS) >= {"privacy", "federation"}


def test_no_file_says_where_the_password_goes(command, tmp_path, results, monkeypatch):
    """A result names the server that it ran on; whoever repeats a stranger's would tell that server their password."""
    monkeypatch.setenv("VANTAGE6_USERNAME", "alice")
    monkeypatch.setenv("VANTAGE6_PASSWORD", "secret")
    asked = []
    monkeypatch.setattr("fedbayes.client.running.connection.connect", lambda access: asked.append(access) or 1 / 0)
    place = {"server": "https://stranger.example/api", "collaboration": 1, "image": "i"}
    provenance = {**results[0]["provenance"], "place": place}
    (tmp_path / "s.json").write_text(json.dumps({**results[0], "provenance": provenance}))
    code, _, err = command("run", "--again", "s.json", "--out", "again.json")
    assert (code, asked) == (2, [])
    assert "give --server" in err
    command("run", "--again", "s.json", "--out", "again.json", "--server", "https://mine.example/api")
    assert [access.server for access in asked] == ["https://mine.example/api"], "a control: the line says where"
