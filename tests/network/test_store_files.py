"""Every algorithm_store.json is what the 4.15 store itself accepts."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from researcher import ROOT

pytestmark = pytest.mark.network
FILES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("algorithms/*/algorithm_store.json"))


@pytest.fixture(scope="module")
def verdicts(engine: Callable[..., str]) -> dict[str, Any]:
    mount = f"{ROOT / 'algorithms'}:/mnt/check/algorithms:ro"
    command = ["python", "/app/validate_store.py", *FILES]
    printed = engine("run", "--rm", "-v", mount, "-w", "/mnt/check", "fedbayes.invalid/platform:4.15.2", *command)
    return dict(json.loads(printed.splitlines()[-1])) if FILES else {}


@pytest.mark.parametrize("file", FILES)
def test_the_store_accepts(file: str, verdicts: dict[str, Any]) -> None:
    assert verdicts[file] == {}


@pytest.mark.parametrize("file", FILES)
def test_image_is_the_one_that_is_built(file: str, network: Any) -> None:
    content = json.loads((ROOT / file).read_text(encoding="utf-8"))
    assert content["image"] == network.image(file.split("/")[1])
