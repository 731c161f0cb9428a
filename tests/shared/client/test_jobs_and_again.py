"""`--again`, `--force`, `--out -`, `--version`, completion, `jobs`, `attach`, the time that is left, identifiers in predictions."""

import json
import os
import re
import subprocess
import sys
from types import SimpleNamespace

import pandas as pd
import pytest

from fedbayes.client.commands import jobs as command_jobs
from fedbayes.client.exits import TaskFailed, UsageProblem
from fedbayes.client.progress import Progress
from fedbayes.client.running import remote
from fedbayes.client.running.catalogue import rounds_of
from fedbayes.client.running.local import Job

RUN = ("run", "client_toy", "fit", "--arg", "column=x", "--quiet")


@pytest.fixture
def first(command, parties, tmp_path):
    """A result of the toy in ``r.json``."""
    code, _, err = command(*RUN, *parties, "--out", "r.json")
    assert code == 0, err
    return tmp_path / "r.json"


def test_a_result_repeats_itself(command, first, tmp_path):
    code, _, err = command("run", "--again", "r.json", "--out", "again.json", "--quiet")
    assert code == 0, err
    old, new = (json.loads((tmp_path / name).read_text()) for name in ("r.json", "again.json"))
    assert new["model"] == old["model"]
    assert new["provenance"]["arguments"] == old["provenance"]["arguments"] == {"column": "x"}
    assert new["provenance"]["place"] == old["provenance"]["place"]


def test_what_the_line_gives_goes_above_the_repeated(command, first, parties, tmp_path):
    command(
        "run",
        "--again",
        "r.json",
        *parties,
        "--arg",
        'organizations=["alpha", "beta", "gamma"]',
        "--out",
        "2.json",
        "--quiet",
    )
    told = json.loads((tmp_path / "2.json").read_text())["provenance"]
    assert told["arguments"] == {"column": "x", "organizations": ["alpha", "beta", "gamma"]}


def test_a_written_result_holds_no_user_and_no_key(command, first):
    place = json.loads(first.read_text())["provenance"]["place"]
    assert set(place) == {"party"}


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (lambda told: told.pop("provenance"), "provenance"),
        (lambda told: told["provenance"].pop("place"), "--party"),
        (lambda told: told["provenance"]["arguments"].update(model={"omitted": "too long", "sha256": "0"}), "--model"),
    ],
)
def test_what_cannot_be_repeated_says_what_is_missing(command, first, change, part):
    told = json.loads(first.read_text())
    change(told)
    first.write_text(json.dumps(told))
    code, _, err = command("run", "--again", "r.json", "--out", "2.json")
    assert code == 2
    assert part in err


def test_a_result_that_exists_is_not_replaced_before_force(command, parties, first):
    before = first.read_text()
    code, _, err = command(*RUN, *parties, "--out", "r.json")
    assert (code, first.read_text()) == (2, before)
    assert "--force" in err
    assert command(*RUN, *parties, "--out", "r.json", "--force")[0] == 0
    assert first.read_text() != before


def test_a_result_on_stdout(command, parties, tmp_path):
    code, out, err = command(*RUN, *parties, "--out", "-")
    assert code == 0, err
    assert json.loads(out)["model"] == {"rows": 60, "sum": 570}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("program", [["-m", "fedbayes"], ["-m", "fedbayes.client"]])
def test_version_of_the_module(program):
    done = subprocess.run([sys.executable, *program, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("fedbayes 0.")


@pytest.mark.parametrize(
    ("words", "expected"), [("run dp_", "dp_naive_bayes"), ("run dp_naive_bayes ev", "evaluate"), ("att", "attach")]
)
def test_completion_of_the_shell(words, expected):
    told = {
        "_FEDBAYES_COMPLETE": "complete_bash",
        "COMP_WORDS": f"fedbayes {words}",
        "COMP_CWORD": str(len(words.split())),
    }
    done = subprocess.run(
        [sys.executable, "-m", "fedbayes"], capture_output=True, text=True, env={**os.environ, **told}
    )
    assert expected in done.stdout.split()


def listed(*entries):
    """Return a client whose server lists tasks."""
    return SimpleNamespace(
        whoami=SimpleNamespace(id_=5),
        request=lambda endpoint, params=None, attempts_on_timeout=None: {"data": list(entries)},
    )


TASKS = [
    {"id": 3, "name": "verticox fit", "status": "active", "created_at": "2026-01-02", "init_user": {"id": 5}},
    {"id": 2, "name": "dp fit", "status": "completed", "created_at": "2026-01-01", "init_user": {"id": 5}},
    {"id": 1, "name": "other", "status": "active", "created_at": "2026-01-01", "init_user": {"id": 6}},
]


def test_jobs_are_mine_and_running(command, monkeypatch):
    monkeypatch.setattr(command_jobs, "_client", lambda options: listed(*TASKS))
    code, out, _ = command("jobs", "--server", "http://s", "--json")
    assert code == 0
    assert [entry["id"] for entry in json.loads(out)] == [3]
    assert [entry["id"] for entry in json.loads(command("jobs", "--server", "http://s", "--json", "--all")[1])] == [
        3,
        2,
        1,
    ]
    assert "verticox fit" in command("jobs", "--server", "http://s")[1]


class Attached:
    """A server with one task of the whole, and its rounds."""

    def __init__(self, statuses, parent=None):
        self.statuses, self.killed, self.parent = list(statuses), [], parent
        self.whoami = SimpleNamespace(id_=5, organization_id=1)
        self.cryptor = SimpleNamespace()
        self.task = SimpleNamespace(kill=self.killed.append)
        self.result = SimpleNamespace(from_task=lambda task: {"data": [{"result": '{"model": 1}'}]})

    def request(self, endpoint, params=None, attempts_on_timeout=None):
        if endpoint == "task/7":
            return {"id": 7, "parent": self.parent, "collaboration": {"id": 1}}
        if endpoint == "task/7/status":
            status = self.statuses.pop(0) if self.statuses else "active"
            if isinstance(status, BaseException):
                raise status
            return {"status": status}
        if endpoint == "organization":
            return {"data": [{"id": 1, "name": "north"}]}
        return {"encrypted": False} if endpoint == "collaboration/1" else {"data": []}


@pytest.fixture(autouse=True)
def _fast(monkeypatch):
    monkeypatch.setattr(remote, "POLL_SECONDS", 0.0)


def test_attach_waits_and_returns_the_result():
    assert remote.attach(Attached(["active", "completed"]), 7, 5.0) == {"model": 1}


@pytest.mark.parametrize("end", [KeyboardInterrupt(), None])
def test_attach_never_kills(end):
    server = Attached(["active", end] if end else [])
    with pytest.raises((KeyboardInterrupt, TaskFailed), match=None if end else "goes on"):
        remote.attach(server, 7, 0.05)
    assert server.killed == []


@pytest.mark.parametrize(("task", "parent", "part"), [(8, None, "no task 8"), (7, {"id": 4}, "attach to 4")])
def test_attach_to_what_is_no_task_of_mine(task, parent, part):
    with pytest.raises(UsageProblem, match=part):
        remote.attach(Attached([], parent), task, 1.0)


def test_attach_writes_a_file(command, monkeypatch, tmp_path):
    monkeypatch.setattr(command_jobs, "_client", lambda options: Attached(["completed"]))
    assert command("attach", "7", "--server", "http://s", "--out", "r.json", "--quiet")[0] == 0
    assert json.loads((tmp_path / "r.json").read_text()) == {"model": 1}


def test_the_time_that_is_left_is_told_from_the_rounds_so_far():
    lines = []
    console = SimpleNamespace(is_terminal=False, print=lambda text, **_: lines.append(text))
    progress = Progress(console, expected=4)
    for number in (1, 2):
        for event in ("start", "end"):
            progress(
                {
                    "event": event,
                    "task": number,
                    "name": f"round {number}:f",
                    "organization": "a",
                    "status": "completed",
                }
            )
    progress.finish()
    assert ["s left" in line for line in lines] == [True, True]
    assert rounds_of(Job("verticox", "fit", {"solver": "bfgs"})) < rounds_of(Job("v6_verticox", "fit"))
    assert rounds_of(Job("client_toy", "fit")) == 0


def test_identifiers_stay_as_they_are_in_predictions(command, tmp_path, bayes_model):
    result = {"model": bayes_model, "provenance": {"arguments": {"id_column": "id"}}}
    (tmp_path / "m.json").write_text(json.dumps(result))
    (tmp_path / "d.csv").write_text("id,other,x,c\n00257,007,1,red\n0,008,9,blue\n")
    code, out, err = command("predict", "m.json", "d.csv")
    assert code == 0, err
    assert [line.split(",")[0] for line in out.splitlines()] == ["id", "00257", "0"]
    assert command("predict", "m.json", "d.csv", "--id-column", "other")[1].splitlines()[1].startswith("007,a")
    code, _, err = command("predict", "m.json", "d.csv", "--id-column", "nobody")
    assert code == 2
    assert "no column 'nobody'" in err


def test_an_answer_is_exported_as_a_table(command, tmp_path):
    model = {"predicted": ["x"], "probabilities": [[0.75, 0.25]], "states": ["x", "y"], "identifiers": ["00257"]}
    (tmp_path / "p.json").write_text(json.dumps({"model": model}))
    assert command("show", "p.json", "--export", "p.csv")[0] == 0
    assert (tmp_path / "p.csv").read_text() == "record,prediction,P(x),P(y)\n00257,x,0.75,0.25\n"
    assert list(pd.read_csv(tmp_path / "p.csv", dtype=str)["record"]) == ["00257"]


def test_a_model_that_is_judged_by_its_own_records_is_told(tmp_path):
    from fedbayes.client.commands.run_options import Options

    (tmp_path / "m.json").write_text(
        json.dumps({"model": {}, "provenance": {"place": {"party": ["a=x.csv", "b=y.csv"]}}})
    )
    seen = [("evaluate", ["n=y.csv"]), ("evaluate", ["n=z.csv"]), ("update", ["n=y.csv"]), ("evaluate", None)]
    told = [
        Options("dp", function, model=tmp_path / "m.json", party=party).judges_its_own_records()
        for function, party in seen
    ]
    assert told == [True, False, False, False]


def test_times_beyond_the_baseline_are_told(command, tmp_path):
    model = {
        "coefficients": [{"feature": "x", "coefficient": 0.1}],
        "baseline": {"time": [1, 2], "cumulative_hazard": [0.1, 0.2]},
    }
    (tmp_path / "m.json").write_text(json.dumps({"model": model}))
    (tmp_path / "d.csv").write_text("x\n1\n")
    code, out, err = command("predict", "m.json", "d.csv", "--times", "2,30")
    assert code == 0
    assert out.startswith("linear_predictor")
    assert err.count("30 is beyond the model's baseline, which ends at 2;") == 1
    assert err.count("warning") == 1


def test_a_ledger_shows_whole_dates_on_a_narrow_terminal(tmp_path):
    from fedbayes.dp.ledger import Ledger

    Ledger(tmp_path / "l.sqlite").charge(
        ("s" * 32, "1:partial_collect_a_long_name", "d"), 0.5, 0.0, "naive Bayes statistics and more of them"
    )
    done = subprocess.run(
        [sys.executable, "-m", "fedbayes", "ledger", str(tmp_path / "l.sqlite")],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "80"},
    )
    assert re.search(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", done.stdout)
    for word in ("naive", "Bayes", "statistics", "(round", "collect"):
        assert word in done.stdout, "folded between words, not within"


@pytest.mark.parametrize(
    ("algorithm", "given", "taken"),
    [
        ("verticox", [], {"dictionary": {"columns": {}}, "id_column": "id"}),
        ("verticox", ["id_column=other"], {"dictionary": {"columns": {}}}),
        ("verticox", ["rows_aligned=true"], {"dictionary": {"columns": {}}}),
        ("verticox", ["dictionary={}"], {"id_column": "id"}),
        ("dp_naive_bayes", [], {"dictionary": {"columns": {}}}),
    ],
)
def test_a_models_use_takes_from_its_fit_how_records_are_matched(tmp_path, algorithm, given, taken):
    from fedbayes.client.commands.run_options import Options

    told = {
        "id_column": "id",
        "time": "t",
        "dictionary": {"columns": {}},
        "rows_aligned": {"omitted": 9, "sha256": "x"},
    }
    (tmp_path / "m.json").write_text(json.dumps({"model": {"kind": "x"}, "provenance": {"arguments": told}}))
    options = Options(algorithm, "evaluate", arg=given, model=tmp_path / "m.json")
    assert options.inherited() == taken
    assert options.arguments().items() >= {"model": {"kind": "x"}, **taken}.items()
