"""A small algorithm in a folder of its own, three parties' files, and the command."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest

from fedbayes.bayes.sklearn import NaiveBayesClassifier
from fedbayes.client.cli import invoke

ALGORITHM = '''"""A toy: the sum of a column."""
import time
import numpy as np
from fedbayes.federation import Federation, Masked, Message, Preflight, Relation, Station, central, partial, results
from fedbayes.federation.declare import Arguments, argument
from fedbayes.federation.kinds import COLUMN, MODEL, ORGANIZATIONS
from fedbayes.federation.remote import disclosure_settings, partial_close, partial_open_channel, preflight

__all__ = ["broken", "echo", "disclosure_settings", "fit", "partial_close", "partial_open_channel", "partial_sum", "preflight", "slow"]

ROWS = Relation("add_remove")


class Ask(Message):
    column: str


class Tell(Message):
    masked: Masked


@partial
def partial_sum(station: Station, request: Ask) -> Tell:
    frame = station.data([request.column])
    station.charge(0.5, note="sum", relation=ROWS)
    sums = np.array([len(frame), int(frame[request.column].sum())], dtype=np.int64)
    return Tell(masked=station.mask(station.exact(sums, "sum")))


class Fit(Arguments):
    reads_table = False
    column: str = argument(COLUMN, "What is summed.")
    organizations: list | None = argument(ORGANIZATIONS, "Who takes part.", None)


class Echo(Arguments):
    reads_table = False
    model: dict = argument(MODEL, "What is returned.")


@central
def fit(federation: Federation, asked: Fit) -> dict:
    """Sum a column over all stations."""
    ahead = Preflight(columns=(asked.column,), everywhere=True, functions=("partial_sum",), epsilon=0.5, queries=1, relation=ROWS)
    parties = federation.open_channel(asked.organizations, ahead)
    total = federation.secure_sum("partial_sum", Ask(column=asked.column), parties.stations, Tell)
    federation.warn("a toy")
    return federation.result(
        model={"rows": total[0], "sum": total[1]}, privacy=results.not_private("the sum is exact", {"central": "the sum"})
    )


@central
def echo(federation: Federation, asked: Echo) -> dict:
    """Return a model."""
    return federation.result(model=asked.model, privacy=results.not_private("an echo"))


@central
def slow(federation: Federation, asked: Arguments) -> dict:
    """Wait."""
    federation.open_channel(None)
    time.sleep(60)
    return {}


@central
def broken(federation: Federation, asked: Arguments) -> dict:
    """Fail inside."""
    return {"value": [][1]}
'''


@pytest.fixture(scope="session")
def algorithm_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Install the toy algorithm for this session by putting its folder on the path."""
    folder = tmp_path_factory.mktemp("algorithms")
    package = folder / "v6_client_toy"
    package.mkdir()
    (package / "__init__.py").write_text(ALGORITHM)
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))


@pytest.fixture(scope="session")
def party_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Files of three parties with 20 rows each."""
    folder = tmp_path_factory.mktemp("parties")
    files = {name: folder / f"{name}.csv" for name in ("alpha", "beta", "gamma")}
    for path in files.values():
        pd.DataFrame({"x": range(20), "id": [f"p{k}" for k in range(20)]}).to_csv(path, index=False)
    return files


@pytest.fixture
def parties(party_files: dict[str, Path]) -> list[str]:
    """``--party`` options of the three parties."""
    return [text for name, path in party_files.items() for text in ("--party", f"{name}={path}")]


@pytest.fixture
def command(
    algorithm_folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., tuple[int, str, str]]:
    """``command(*arguments) -> (exit code, stdout, stderr)`` inside a temporary folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: object) -> tuple[int, str, str]:
        code = invoke([str(argument) for argument in arguments])
        told = capsys.readouterr()
        return code, told.out, told.err

    return run


@pytest.fixture(scope="module")
def bayes_model() -> dict:
    """A naive Bayes model over one numeric and one categorical feature."""
    domain = {
        "y": {"categories": ["a", "b"]},
        "x": {"bounds": [0, 10]},
        "c": {"categories": ["red", "blue"]},
    }
    frame = pd.DataFrame({"x": [1, 2, 8, 9] * 5, "c": ["red", "red", "blue", "blue"] * 5})
    return NaiveBayesClassifier(domain, "y", bins=5).fit(frame, pd.Series(["a", "a", "b", "b"] * 5)).model_.to_dict()
