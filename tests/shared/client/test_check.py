"""What can be asked and arranged before a task runs: `fedbayes check`, `fedbayes node peers`."""

import json

import pytest

from fedbayes.federation.answered import refusals
from fedbayes.federation.perimeter.peers import KnownPeers

MARKS = {"north": "ab" * 32, "south": "CD" * 32}


@pytest.fixture
def folders(parties, tmp_path):
    """Ledger folders of the three parties, and the options that name them."""
    options = []
    for name in ("alpha", "beta", "gamma"):
        (tmp_path / name).mkdir()
        options += ["--party", f"{name}:vault={tmp_path / name}"]
    return [*parties, *options, "--policy", "ledger=vault"]


def check(command, folders, *more, column="x"):
    code, out, err = command("check", "client_toy", "fit", *folders, "--arg", f"column={column}", "--quiet", *more)
    rows = [[cell.strip() for cell in line.strip("│ ").split("│")] for line in out.splitlines() if "│" in line]
    return code, {row[0]: row[1:] for row in rows}, err


def test_check_tells_that_everyone_takes_part_and_writes_nothing(command, folders, tmp_path):
    code, rows, err = check(command, folders)
    assert (code, err) == (0, "")
    assert {name: rows[name][0] for name in ("alpha", "beta", "gamma")} == dict.fromkeys(
        ("alpha", "beta", "gamma"), "yes"
    )
    assert not list(tmp_path.glob("*.json"))
    assert command("ledger", "alpha", "--json")[0] in (0, 2)
    if (tmp_path / "alpha/fedbayes-ledger.sqlite3").exists():
        assert json.loads(command("ledger", "alpha", "--json")[1])["debits"] == []


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("limit", "told"),
    [
        ("beta:denied_columns=x", "denied_columns"),
        ("beta:allowed_columns=y", "allowed_columns"),
        ("beta:maximum_epsilon=0.1", "maximum_epsilon"),
        ("beta:budget_epsilon=0.2", "0.2"),
        ("beta:allow_non_private=false", "differentially private"),
        ("beta:allowed_functions=partial_other", "allowed_functions"),
        ("beta:minimum_organizations=9", "minimum_organizations=9"),
    ],
)
def test_check_names_the_station_and_the_limit_that_refuses(command, folders, limit, told):
    code, rows, err = check(command, folders, "--policy", limit)
    assert code == 3
    assert rows["beta"][0] == "no"
    assert told in " ".join(rows["beta"][1:])
    assert "error: beta would refuse this task; nothing was spent" in err
    assert [rows[name][0] for name in ("alpha", "gamma")] == ["yes", "yes"]


def test_what_all_stations_refuse_is_told_once(command, folders):
    words = ["client_toy", "fit", *folders, "--arg", "column=x", "--policy", "maximum_epsilon=0.1"]
    code, _, err = command("run", *words, "--out", "r.json")
    assert code == 3
    assert "error: alpha, beta, gamma: epsilon is above" in err
    assert err.count("maximum_epsilon") == 1
    code, _, err = command("check", *words)
    assert code == 3
    assert "error: alpha, beta, gamma would refuse" in err


def test_check_says_what_central_would_refuse_once_it_knows_who_takes_part(command, tmp_path):
    """A helper that is missing: every station would take part, and the run would end after the same round."""
    for name, column in (("a", "age"), ("b", "stage")):
        rows = "\n".join(f"{k},{k % 3}" for k in range(40))
        (tmp_path / f"{name}.csv").write_text(f"id,{column}\n{rows}\n")
    words = ["scalar_product", "contingency", "--party", "a=a.csv", "--party", "b=b.csv", "--quiet"]
    words += ["--policy", "minimum_organizations=2", "--arg", "id_column=id", "--arg", 'columns=["age", "stage"]']
    for more in (["check", *words], ["run", *words, "--out", "r.json"]):
        code, out, err = command(*more)
        assert (code, out) == (2, "")
        assert "helper: no organization without data takes part" in err
    code, out, _ = command("check", *words, "--helper", "notary")
    assert code == 0
    assert out.count("yes") == 3


def test_columns_that_are_spread_over_stations_are_answered_with_the_split(command, tmp_path):
    for name, column in (("a", "x"), ("b", "y"), ("c", "z")):
        rows = "\n".join(f"{k},{'pq'[k % 2]}" for k in range(40))
        (tmp_path / f"{name}.csv").write_text(f"id,{column}\n{rows}\n")
    domain = {name: {"categories": ["p", "q"]} for name in "xyz"}
    words = ["run", "dp_naive_bayes", "fit", *(f"--party={name}={name}.csv" for name in "abc"), "--quiet"]
    words += ["--arg", "label=x", "--arg", "epsilon=1", "--out", "r.json", "--args", "args.json"]
    (tmp_path / "args.json").write_text(json.dumps({"domain": domain}))
    code, _, err = command(*words)
    assert code == 1
    assert "other columns of the same people, see which methods take a vertical split (nothing was spent)" in err
    for name in "abc":  # one name that is nobody's is a misspelt one
        (tmp_path / f"{name}.csv").write_text("id,y,z\n" + "\n".join(f"{k},p,q" for k in range(40)) + "\n")
    assert "vertical" not in command(*words)[2]


def test_check_refuses_wrong_arguments_as_run_does(command, folders):
    assert check(command, folders, "--arg", "nothing=1")[0] == 2
    assert command("check", "client_toy", "nothing", *folders)[0] == 2
    assert command("check", "client_toy", "fit", "--arg", "column=x")[0] == 2
    code, rows, _ = check(command, folders, column="absent")
    assert code == 3
    assert [rows[name][0] for name in ("alpha", "beta", "gamma")] == ["no"] * 3


def test_peers_are_listed_accepted_and_forgotten(command, tmp_path):
    assert command("node", "peers", ".")[:2] == (0, "no peers are known yet\n")
    for name, mark in MARKS.items():
        code, out, _ = command("node", "peers", ".", "--accept", name, mark, "--json")
    assert code == 0
    assert {name: entry["fingerprint"] for name, entry in json.loads(out).items()} == {
        name: mark.lower() for name, mark in MARKS.items()
    }
    assert "north" in command("node", "peers", ".")[1]
    assert list(json.loads(command("node", "peers", ".", "--forget", "north", "--json")[1])) == ["south"]
    assert [peer.name for peer in KnownPeers(tmp_path).list()] == ["south"]


def test_refusals_are_counted_by_column_and_forgotten(command, tmp_path):
    assert command("node", "refusals", ".")[:2] == (0, "no question was refused because of values\n")
    record = refusals.Refusals(tmp_path, "table")
    for question in ("first", "second"):
        assert record.refuse(["age", "income"], question, 5)
    record.answer(["age", "sex"], ["third"])
    assert "income" in command("node", "refusals", ".")[1]
    both = json.loads(command("node", "refusals", ".", "--json")[1])
    assert both == [{"column": "age", "refused": 2}, {"column": "income", "refused": 2}]
    code, _, err = command("node", "refusals", ".", "--forget", "age", "--forget", "sex")
    assert code == 2
    assert "columns are: age, income" in err
    left = json.loads(command("node", "refusals", ".", "--forget", "age", "--json")[1])
    assert left == [{"column": "income", "refused": 2}]
    assert command("node", "refusals", "nowhere")[0] == 2
    (tmp_path / "fedbayes-refusals.sqlite3").write_text("no file of SQLite")
    code, _, err = command("node", "refusals", ".")
    assert code == 1
    assert "damaged" in err


@pytest.mark.parametrize(
    "options", [["--forget", "west"], ["--accept", "north"], ["--accept", "north", "xyz"], ["--accept", "", "ab" * 32]]
)
def test_what_is_wrong_changes_no_peer(command, tmp_path, options):
    KnownPeers(tmp_path).accept("south", "ef" * 32)
    code, _, err = command("node", "peers", ".", "--forget", "south", *options)
    assert code == 2
    assert options[0] in err
    assert [peer.name for peer in KnownPeers(tmp_path).list()] == ["south"]


def test_peers_need_a_folder_and_a_file_that_can_be_read(command, tmp_path):
    assert command("node", "peers", "nowhere")[0] == 2
    (tmp_path / "fedbayes-peers.json").write_text("{")
    code, _, err = command("node", "peers", ".")
    assert code == 3
    assert "cannot be read" in err


def test_a_changed_key_stops_a_run_until_it_is_accepted(command, folders, tmp_path):
    run = ("run", "client_toy", "fit", *folders, "--arg", "column=x", "--out", "r.json", "--quiet", "--force")
    assert command(*run)[0] == 0
    known = {peer.name: peer.fingerprint for peer in KnownPeers(tmp_path / "alpha").list()}
    assert {"beta", "gamma"} <= set(known)
    assert command("node", "peers", "alpha", "--accept", "beta", "0" * 64)[0] == 0
    code, _, err = command(*run)
    assert code == 3
    assert "beta" in err
    assert "fedbayes node peers" in err
    assert command("node", "peers", "alpha", "--accept", "beta", known["beta"])[0] == 0
    assert command(*run)[0] == 0
