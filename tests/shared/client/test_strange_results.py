"""Result files of somebody else's making: whatever is inside them, the command answers in one line, and runs nothing on their word."""

import copy
import json

import pandas as pd
import pytest
from one_process import OneProcess

import fedbayes
from fedbayes.client.kinds import SECTIONS

ODD = [None, True, -1, 10**400, 1e308, "x", "\x1b[31m", [], {}, [[[]]], {"a": {"b": [1]}}, ["a", 1, None], "fedbayes/9"]
DEEP = 900
CALLS = [
    ("vertibayes", "fit", {"columns": ["kind", "ill"], "id_column": "id"}),
    ("scalar_product", "contingency", {"columns": ["kind", "ill"], "id_column": "id"}),
    ("scalar_product", "describe", {"columns": ["number"], "domain": {"number": {"bounds": [0, 18]}}}),
]


@pytest.fixture(scope="module")
def results():
    rows = range(120)
    ids = [f"p{row}" for row in rows]
    frames = {
        "a": pd.DataFrame({"id": ids, "kind": ["u", "v", "w"] * 40, "number": [row / 7 for row in rows]}),
        "b": pd.DataFrame({"id": ids, "ill": ["no", "yes", "no", "no"] * 30}),
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


@pytest.mark.parametrize("kind", range(len(CALLS)), ids=[task for _, task, _ in CALLS])
def test_what_is_of_another_kind_is_answered_in_one_line(command, tmp_path, results, kind):
    """Some pairs of a place and an odd value; what Python would say of it has the name of the file around it."""
    (tmp_path / "new.csv").write_text("kind\nu\nv\n")
    pairs = [(path, odd) for path in places(results[kind]) for odd in ODD][kind::101]
    said = 0
    for number, (path, odd) in enumerate(pairs):
        (tmp_path / "s.json").write_text(json.dumps(changed(results[kind], path, odd)))
        code, out, err = command(*COMMANDS[number % len(COMMANDS)])
        assert all(one.isprintable() or one == "\n" for one in out + err), (path, odd)
        if code:
            said += 1
            assert err.splitlines()[-1].startswith("error: ")
            assert code == 2, (path, odd, err)
    assert 0 < said < len(pairs), "some are refused, and not all"


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
    monkeypatch.setattr("fedbayes.client.connection.connect", lambda access: asked.append(access) or 1 / 0)
    place = {"server": "https://stranger.example/api", "collaboration": 1, "image": "i"}
    provenance = {**results[0]["provenance"], "place": place}
    (tmp_path / "s.json").write_text(json.dumps({**results[0], "provenance": provenance}))
    code, _, err = command("run", "--again", "s.json", "--out", "again.json")
    assert (code, asked) == (2, [])
    assert "give --server" in err
    command("run", "--again", "s.json", "--out", "again.json", "--server", "https://mine.example/api")
    assert [access.server for access in asked] == ["https://mine.example/api"], "a control: the line says where"
