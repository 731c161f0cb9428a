"""Fixtures of every test: the papers' data where they are present; every result is held against the documented schema."""

import copy
import gc
import json
import math
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any
from unittest import mock

import pandas as pd
import pytest
from hypothesis import settings
from vantage6.algorithm.tools.mock_client import MockAlgorithmClient

from fedbayes.federation.results import not_private

# A slow machine fails no test. Examples are the same every time unless FRESH_EXAMPLES is set, as `make audit` does: a change is not judged by chance.
settings.register_profile("fedbayes", deadline=None, derandomize=not os.environ.get("FRESH_EXAMPLES"))
settings.load_profile("fedbayes")

MEMORY, ROOM = Path("/dev/shm"), 2**31
if "TMPDIR" not in os.environ and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM:
    # Stations sync what they keep, for which a disk would be waited; workers and stations inherit it.
    os.environ["TMPDIR"] = str(MEMORY)
    tempfile.tempdir = None

DATA = Path(os.environ.get("FEDBAYES_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
METHODS = {folder.name for folder in (Path(__file__).resolve().parents[1] / "algorithms").iterdir()}
SELDOM = (20_000, 50, 50)
"""Objects of a generation after which a search for garbage follows; Python's own 700, 10 and 10 cost 2 % of the tests' time."""
BEGAN = pytest.StashKey[float]()
HISTORY = ("results", "runs", "tasks")
NO_PROMISE = not_private("a toy of the tests makes no statement")


@pytest.fixture(scope="session")
def paper_data() -> Callable[..., pd.DataFrame]:
    """Return ``load(name, **read_csv_arguments)`` for a table of the papers; skips where the data are absent."""

    def load(name: str, **arguments: object) -> pd.DataFrame:
        path = DATA / f"{name}.csv.gz"
        if not path.exists():
            pytest.skip(
                f"the papers' data are absent ({name}.csv.gz); set FEDBAYES_DATA to their folder, see docs/data.md"
            )
        return pd.read_csv(path, **arguments)

    return load


@pytest.fixture(scope="session")
def paper_folder() -> Path:
    """Return the folder of the papers' data; skips where it is absent."""
    if not DATA.is_dir():
        pytest.skip("the papers' data are absent; set FEDBAYES_DATA to their folder")
    return DATA


@pytest.fixture
def fine_scores() -> Iterator[None]:
    """Tell scores of Cox models to all their digits, for tests of what is computed; how coarsely, `tests/privacy/test_outcomes_decoded.py` shows."""
    with mock.patch("v6_verticox.cox.scores.RECORDS", 1e-12):
        yield


@pytest.fixture
def fine_hazards() -> Iterator[None]:
    """Tell hazards to all their digits, for tests of what is computed; how coarsely they are told is `tests/privacy/test_hazards_decoded.py`'s to show."""
    with mock.patch("v6_verticox.cox.coarse.RECORDS", 1e-12):
        yield


@pytest.fixture
def exact_scores() -> Iterator[None]:
    """Tell exact scores to all their digits, for tests of what is computed; how they are told is `tests/privacy/test_scores_decoded.py`'s to show."""
    with mock.patch.multiple(
        "fedbayes.bayes.evaluation.coarse",
        PART=1e-12,
        gathered=lambda confusion, minimum: confusion,
        kept_losses=lambda tallies, *_: (tallies.loss, 1e-9),
        tied=lambda curves, minimum: list(curves),
    ):
        yield


@lru_cache(maxsize=1)
def _schema() -> Any:
    import jsonschema

    text = (Path(__file__).resolve().parents[1] / "docs" / "result.schema.json").read_text(encoding="utf-8")
    return jsonschema.Draft202012Validator(json.loads(text))


def _checked(result: Any) -> Any:
    """Return a result that `docs/result.schema.json` describes; a test that makes another one fails."""
    if isinstance(result, dict) and "federation" in result:
        toy = result["provenance"]["algorithm"] not in METHODS and result["privacy"] is None
        problem = next(_schema().iter_errors({**result, "privacy": NO_PROMISE} if toy else result), None)
        assert problem is None, f"{problem.json_path}: {problem.message}"[:400]
    return result


def _light_copy(client: MockAlgorithmClient, memo: dict[int, Any]) -> MockAlgorithmClient:
    """Return a copy of a mock client with lists of its own, whose entries it shares.

    vantage6 copies the client for every sub-task, with all messages and tables until then. Messages are dicts that nobody changes;
    of a table every station gets a copy of its own besides.
    """
    made = memo[id(client)] = type(client).__new__(type(client))
    for name, value in vars(client).items():
        if name == "datasets_per_org":
            kept: Any = {station: list(tables) for station, tables in value.items()}
        else:
            kept = list(value) if name in HISTORY else copy.deepcopy(value, memo)
        setattr(made, name, kept)
    return made


@pytest.fixture(autouse=True, scope="session")
def mock_clients_are_copied_lightly() -> Iterator[None]:
    """Make the price of a mock round independent of the rounds before it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MockAlgorithmClient, "__deepcopy__", _light_copy, raising=False)
        yield


@pytest.fixture(autouse=True, scope="session")
def mock_clients_ask_what_they_like() -> Iterator[None]:
    """Leave every question to organizations of a mock client, which have no folder database to remember answers in."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FEDBAYES_ALLOW_DIFFERENCES", "true")
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--within`: a busy machine leaves tests out, and says how many, where else everything would take too long."""
    parser.addoption("--within", type=float, default=math.inf, help="seconds after which no further test begins")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Note when the tests of this process began."""
    session.config.stash[BEGAN] = time.monotonic()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what would begin after the time of `--within`."""
    if time.monotonic() - item.config.stash[BEGAN] > item.config.getoption("--within"):
        pytest.skip("left out: the time of --within is over")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave to `make audit` what `few(count)` does not keep of a test's cases."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("few") is not None and item.get_closest_marker("audit") is None:
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for same in cases.values():
        marker = same[0].get_closest_marker("few")
        for place in _spread(len(same))[marker.args[0] if marker else 0 :]:
            same[place].add_marker(pytest.mark.audit)


def _spread(cases: int) -> list[int]:
    """Return the places of cases in the order in which they are kept: the first one, then by the golden ratio, so that no parameter's period falls in step."""
    return sorted(range(cases), key=lambda place: place * (5**0.5 - 1) / 2 % 1)


def pytest_collection_finish() -> None:
    """Keep the tests themselves, which live until the end, out of every search for garbage, and search seldom: tests make many objects and few cycles."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*SELDOM)


@pytest.fixture(autouse=True, scope="session")
def every_result_is_as_documented() -> Iterator[None]:
    """Check what central functions return, here under the mock client and out of the embedded federation."""
    from fedbayes.federation.embedded import EmbeddedFederation
    from fedbayes.federation.rounds import Federation

    with pytest.MonkeyPatch.context() as patch:
        for owner, name in ((Federation, "result"), (EmbeddedFederation, "run")):
            made = getattr(owner, name)
            patch.setattr(owner, name, lambda *a, made=made, **k: _checked(made(*a, **k)))
        yield
