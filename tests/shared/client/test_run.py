"""`fedbayes run` in the embedded federation: results, refusals, exit codes, nothing half-written."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fedbayes.client.commands.options import read_value


def assert_refused(answer, code, *parts):
    """The command ended with `code`, and one line that holds `parts`, without a traceback."""
    assert answer[0] == code
    last = answer[2].strip().splitlines()[-1]
    assert last.startswith("error: ")
    for part in parts:
        assert part in last
    assert "Traceback" not in answer[2]


def test_run_writes_result_and_report_and_shows_rounds(command, parties, tmp_path):
    code, out, err = command(
        "run",
        "client_toy",
        "fit",
        *parties,
        "--helper",
        "aide",
        "--arg",
        "column=x",
        "--out",
        "r.json",
        "--report",
        "r.html",
    )
    assert code == 0
    assert out == ""
    assert "partial_open_channel" in err
    assert "4 organizations" in err
    result = json.loads((tmp_path / "r.json").read_text())
    assert result["model"] == {"rows": 60, "sum": 570}
    assert [f"warning: {text}" in err for text in result["warnings"]] == [True]
    page = (tmp_path / "r.html").read_text()
    assert "Not differentially private: the sum is exact" in page
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["r.html", "r.json"]


def test_arguments_come_from_a_file_and_the_line_goes_above_it(command, parties, tmp_path):
    (tmp_path / "a.json").write_text('{"column": "y", "organizations": ["alpha", "beta", "gamma"]}')
    code, _, _ = command(
        "run", "client_toy", "fit", *parties, "--args", "a.json", "--arg", "column=x", "--out", "r.json", "--quiet"
    )
    assert code == 0
    assert json.loads((tmp_path / "r.json").read_text())["federation"]["organizations"] == ["alpha", "beta", "gamma"]


def test_model_of_a_result_is_an_argument(command, parties, tmp_path):
    (tmp_path / "m.json").write_text('{"model": {"column": "x"}}')
    (tmp_path / "none.json").write_text('{"model": null}')
    run = ("run", "client_toy", "echo", *parties, "--out", "r.json", "--quiet")
    assert command(*run, "--model", "m.json")[0] == 0
    assert json.loads((tmp_path / "r.json").read_text())["model"] == {"column": "x"}
    assert_refused(command(*run, "--model", "none.json"), 2, "no model")
    assert_refused(command(*run, "--model", "m.json", "--arg", "model=1"), 2, "twice")


def test_policies_reach_the_parties(command, parties):
    answer = command(
        "run", "client_toy", "fit", *parties, "--policy", "beta:minimum_rows=50", "--arg", "column=x", "--out", "r.json"
    )
    assert_refused(answer, 3, "beta", "fewer rows")


@pytest.mark.parametrize("setting", ["minimum_rows=few", "beta:allow_non_private=perhaps", "maximum_epsilon=-1"])
def test_a_limit_that_cannot_be_read_is_wrong_usage(command, parties, setting):
    answer = command("run", "client_toy", "fit", *parties, "--policy", setting, "--arg", "column=x", "--out", "r.json")
    assert_refused(answer, 2, "--policy", setting.partition("=")[0].rpartition(":")[2])


def test_parties_that_read_the_same_file_are_named(command, party_files, tmp_path):
    alpha, beta = party_files["alpha"], party_files["beta"]
    parties = ["--party", f"a={alpha}", "--party", f"b={alpha}", "--party", f"c={beta}"]
    code, _, err = command("run", "client_toy", "fit", *parties, "--arg", "column=x", "--out", "r.json")
    assert code == 0
    assert "warning: a, b read the same file, alpha.csv: its records count more than once" in err


def test_denied_column_is_refused_for_privacy(command, parties):
    answer = command(
        "run", "client_toy", "fit", *parties, "--policy", 'denied_columns=["x"]', "--arg", "column=x", "--out", "r.json"
    )
    assert_refused(answer, 3, "column 'x'")


def test_too_few_organizations_is_a_privacy_refusal(command, parties):
    answer = command("run", "client_toy", "fit", *parties[:4], "--arg", "column=x", "--out", "r.json")
    assert_refused(answer, 3, "fewer organizations")


def test_station_problem_is_a_failure(command, parties, tmp_path):
    answer = command("run", "client_toy", "fit", *parties, "--arg", "column=z", "--out", "r.json")
    assert_refused(answer, 1, "column 'z'")
    assert not (tmp_path / "r.json").exists()


def test_error_inside_central_is_one_line(command, parties):
    assert_refused(command("run", "client_toy", "broken", *parties, "--out", "r.json"), 1, "IndexError")


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ([], "--party"),
        (["--party", "a=/nowhere.csv"], "'a'"),
        (["--party", "nofile"], "NAME=FILE"),
        (["--server", "http://localhost:1"], "--collaboration"),
        (["--server", "http://localhost:1", "--collaboration", "1"], "--image"),
        (["--server", "http://localhost:1", "--collaboration", "1", "--image", "i"], "--username"),
        (["--server", "http://localhost:1", "--helper", "h"], "--helper"),
    ],
)
def test_wrong_places_are_wrong_usage(command, monkeypatch, options, part):
    monkeypatch.delenv("VANTAGE6_USERNAME", raising=False)
    assert_refused(command("run", "client_toy", "fit", *options, "--out", "r.json"), 2, part)


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--arg", "column"], "NAME=VALUE"),
        (["--arg", "column=x", "--arg", "column=y"], "twice"),
        (["--arg", "colunm=x"], "colunm"),
        ([], "column"),
        (["--args", "none.json"], "none.json"),
        (["--args", "list.json"], "object"),
        (["--args", "broken.json"], "line 1"),
        (["--arg", "column=x", "--policy", "alpha:minimum_row=3"], "minimum_row"),
        (["--arg", "column=x", "--policy", "nobody:minimum_rows=3"], "nobody"),
        (["--arg", "column=x", "--aggregator", "nobody"], "aggregator"),
        (["--arg", "column=x", "--helper", "alpha"], "distinct"),
        (["--arg", "column=x", "--image", "i"], "--image"),
        (["--arg", 'organizations=["nobody"]', "--arg", "column=x"], "organizations"),
        (["--arg", "column=x", "--report", "r.json"], "different"),
        (["--arg", "column=x", "--latency", "soon"], "--latency"),
        (["--arg", "column=x", "--unknown"], "--unknown"),
    ],
)
def test_wrong_options_are_wrong_usage(command, parties, tmp_path, options, part):
    (tmp_path / "list.json").write_text("[1]")
    (tmp_path / "broken.json").write_text('{"column": ')
    assert_refused(command("run", "client_toy", "fit", *parties, *options, "--out", "r.json"), 2, part)
    assert not (tmp_path / "r.json").exists()


def test_party_twice_is_refused(command, parties):
    assert_refused(command("run", "client_toy", "fit", *parties, *parties[:2], "--out", "r.json"), 2, "twice")


def test_unknown_algorithm_and_function(command, parties):
    assert_refused(command("run", "nothing", "fit", *parties, "--out", "r.json"), 2, "fedbayes algorithms")
    for name in ("nothing", "partial_sum"):
        answer = command("run", "client_toy", name, *parties, "--out", "r.json")
        assert_refused(answer, 2, f"'{name}'", "broken, disclosure_settings, echo, fit, preflight, slow")


@pytest.mark.parametrize("place", ["missing/r.json", "."])
def test_output_is_checked_before_anything_runs(command, parties, place):
    answer = command("run", "client_toy", "fit", *parties, "--arg", "column=x", "--out", place)
    assert_refused(answer, 2, "--out")
    assert "round" not in answer[2]


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_unwritable_folder_is_refused(command, parties, tmp_path):
    (tmp_path / "locked").mkdir(mode=0o500)
    answer = command("run", "client_toy", "fit", *parties, "--arg", "column=x", "--out", "locked/r.json")
    assert_refused(answer, 2, "cannot be written")


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"x|id\n1|2\n", "bars"),
        (b"x,id,x\n1,2,3\n", "two columns named 'x'"),
        (b"\0\1,\2\n", "text"),
        (b"x,id\n" + 20 * b"1,2\n" + b"1,2,3\n", "line 22"),
        (b"", "empty"),
        (b"\n\n", "empty"),
        ("x,id\n1,å\n".encode("latin-1"), "UTF-8"),
        ("x,id\n1,2\n".encode("utf-16"), "UTF-8"),
    ],
)
def test_a_file_that_is_no_table_is_told(command, parties, tmp_path, content, part):
    (tmp_path / "n.csv").write_bytes(content)
    answer = command("run", "client_toy", "fit", *parties, "--party", "n=n.csv", "--arg", "column=x", "--out", "r.json")
    assert_refused(answer, 2, part, "n.csv")


def test_a_file_with_semicolons_is_read_and_told(command, parties, tmp_path):
    (tmp_path / "n.csv").write_text("x;id\n" + "".join(f"{value},5;{value}\n" for value in range(20)))
    run = ("run", "client_toy", "fit", *parties, "--party", "n=n.csv", "--arg", "column=x", "--out")
    code, _, told = command(*run, "r.json")
    assert code == 0
    assert "note: n.csv: columns are separated by semicolons, a comma in a number is a decimal comma" in told
    text = "x,id\n" + "".join(f"{value}.5,{value}\n" for value in range(20))
    (tmp_path / "n.csv").write_text(text)
    code, _, told = command(*run, "same.json")
    assert code == 0
    assert "note" not in told
    first, second = (json.loads((tmp_path / name).read_text()) for name in ("r.json", "same.json"))
    assert first["model"] == second["model"]


def test_a_folder_or_a_locked_file_is_no_table(command, parties, tmp_path, monkeypatch):
    run = ("run", "client_toy", "fit", *parties, "--arg", "column=x", "--out", "r.json")
    assert_refused(command(*run, "--party", f"n={tmp_path}"), 2, "--party: the file of 'n'", "folder")
    assert_refused(command(*run, "--party", "n:ledger=nowhere"), 2, "--party: 'n:ledger'", "does not exist")
    (tmp_path / "n.csv").write_text("x\n1\n")

    def locked(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", locked)
    assert_refused(command(*run, "--party", "n=n.csv"), 2, "Permission denied", "rights")


@pytest.mark.few(2)
@pytest.mark.parametrize("mark", ["\ufeff", ""])
@pytest.mark.parametrize("end", ["\r\n", "\n"])
def test_byte_order_marks_and_windows_line_ends_do_no_harm(command, party_files, tmp_path, mark, end):
    text = party_files["alpha"].read_text()
    (tmp_path / "n.csv").write_bytes((mark + text.replace("\n", end)).encode())
    others = [option for name in ("beta", "gamma") for option in ("--party", f"{name}={party_files[name]}")]
    code, _, _ = command(
        "run", "client_toy", "fit", *others, "--party", "n=n.csv", "--arg", "column=x", "--out", "r.json"
    )
    assert code == 0
    assert json.loads((tmp_path / "r.json").read_text())["model"] == {"rows": 60, "sum": 570}


def test_an_argument_that_begins_like_json_must_be_json(command, parties):
    answer = command("run", "client_toy", "fit", *parties, "--arg", "column={x: 1}", "--out", "r.json")
    assert_refused(answer, 2, "--arg", "'column'", "character 2", "double quotes")


def test_existing_result_stays_whole_when_a_run_fails(command, parties, tmp_path):
    (tmp_path / "r.json").write_text("old")
    command("run", "client_toy", "fit", *parties, "--arg", "column=z", "--out", "r.json")
    assert (tmp_path / "r.json").read_text() == "old"


@pytest.mark.parametrize(("kind", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 130)])
def test_interruption_kills_the_task(algorithm_folder, parties, tmp_path, kind, code):
    environment = {**os.environ, "PYTHONPATH": str(algorithm_folder)}
    arguments = ["run", "client_toy", "slow", *parties, "--out", str(tmp_path / "r.json"), "--timeout", "50"]
    with subprocess.Popen(
        [sys.executable, "-m", "fedbayes.client", *arguments], stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        _wait_for_channel(process.pid)
        process.send_signal(kind)
        _, err = process.communicate(timeout=30)
    assert process.returncode == code
    assert err.strip().splitlines()[-1] == "error: interrupted; the task was stopped"
    assert not list(tmp_path.iterdir())


def _wait_for_channel(parent: int) -> None:
    """Wait until central sleeps: the embedded host's only container that is left has run for a while."""
    for _ in range(600):
        if any(_children(child) for child in _children(parent)):
            time.sleep(1.0)
            return
        time.sleep(0.05)


def _children(parent: int) -> list[int]:
    path = Path(f"/proc/{parent}/task/{parent}/children")
    return [int(child) for child in path.read_text().split()] if path.exists() else []


def test_a_server_needs_a_password_and_a_key_that_is_there(command, monkeypatch):
    monkeypatch.delenv("VANTAGE6_PASSWORD", raising=False)
    server = ("run", "client_toy", "fit", "--server", "https://server.invalid/api", "--collaboration", "1")
    run = (*server, "--image", "toy", "--username", "u", "--out", "r.json")
    monkeypatch.setattr("sys.stdin", None, raising=True)
    assert_refused(command(*run), 2, "VANTAGE6_PASSWORD")
    assert_refused(command(*run, "--key", "none.pem"), 2, "--key", "none.pem")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (".5", 0.5),
        ("-.25", -0.25),
        ("1.", 1.0),
        ("0,5", "0,5"),
        (".", "."),
        ("I.", "I."),
        ("NaN", "NaN"),
        ("007", "007"),
    ],
)
def test_numbers_may_lack_a_digit_before_or_behind_the_point(text, value):
    assert read_value(text) == value
    assert type(read_value(text)) is type(value)
