"""The dev network as a researcher sees it, and the embedded federation over the same files."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from researcher import ROOT, STATE, Network, docker

from fedbayes.federation.embedded import EmbeddedFederation

SCRIPT = ROOT / "scripts/network"


@pytest.fixture(scope="session")
def network() -> Network:
    """The running dev network; absent, the tests are skipped, or fail under make network-test."""
    path = STATE / "network.json"
    if not path.exists():
        told = "the dev network is not up: make network-up"
        (pytest.fail if os.environ.get("FEDBAYES_NETWORK") else pytest.skip)(told)
    return Network(json.loads(path.read_text(encoding="utf-8")))


@pytest.fixture(autouse=True)
def everyone_is_online(network: Network) -> None:
    """A test that follows a broken one fails at once instead of waiting for a node that is gone."""
    missing = network.offline()
    if missing:
        pytest.fail(f"not online: {', '.join(missing)}")


@pytest.fixture(scope="session")
def engine() -> Callable[..., str]:
    """The docker command."""
    return docker


@pytest.fixture
def node_control(network: Network) -> Iterator[Callable[[str, str], None]]:
    """``control(command, organization)`` of scripts/network; nodes that were taken down are started again at the end."""
    touched: list[str] = []

    def control(command: str, organization: str) -> None:
        touched.append(organization)
        subprocess.run([str(SCRIPT), command, organization], check=True, timeout=120)

    yield control
    for organization in dict.fromkeys(touched):
        subprocess.run([str(SCRIPT), "start-node", organization], check=True, timeout=120)
        network.wait_online(organization)


@pytest.fixture
def embedded(network: Network) -> Callable[..., Any]:
    """``run(algorithm, function, arguments, label, at)`` in the embedded federation over the network's files and limits."""
    limits = {
        name: value for name, value in network.made["policy"].items() if "LEDGER" not in name and "BUDGET" not in name
    }

    def run(
        algorithm: str, function: str, arguments: dict[str, Any], label: str = "default", at: str | None = None
    ) -> Any:
        parties, helpers = network.tables(label), [network.helper]
        with EmbeddedFederation(parties=parties, helpers=helpers, policies={"*": limits}) as federation:
            return federation.run(algorithm, function, arguments, organization=at or network.helper)

    return run
