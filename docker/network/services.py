"""The services of the dev network's compose file: one server, and stock nodes with the mounts and names that they expect."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

PROJECT = "fedbayes"
PLATFORM_IMAGE = os.environ.get("PLATFORM_IMAGE", "fedbayes.invalid/platform:4.15.2")


def node_name(organization: str) -> str:
    """Return the node's configuration name; its container is called `vantage6-<this>-user`."""
    return f"{PROJECT}_{organization}"


def container_name(organization: str) -> str:
    """Return the name of the node's container: the node finds itself by it."""
    return f"vantage6-{node_name(organization)}-user"


def server_service(state: Path, made: dict[str, Any]) -> dict[str, Any]:
    """Return the server's service; at its first start it imports the entities."""
    start = (
        "[ -e /mnt/database/imported ] || { vserver-local import -c /mnt/config/server.yaml /mnt/entities.yaml"
        " && touch /mnt/database/imported; }; exec python /app/serve.py /mnt/config/server.yaml 5000"
    )
    return {
        "image": PLATFORM_IMAGE,
        "container_name": f"{PROJECT}_server",
        "environment": {"VANTAGE6_CONFIG_NAME": "server", "PYTHONUNBUFFERED": "1"},
        "ports": [f"127.0.0.1:{made['port']}:5000"],
        "volumes": [
            f"{state}/config/server.yaml:/mnt/config/server.yaml:ro",
            f"{state}/config/entities.yaml:/mnt/entities.yaml:ro",
            "database:/mnt/database",
        ],
        "entrypoint": ["sh", "-ec", start],
    }


def database_volume() -> dict[str, Any]:
    """Return the volume of the server's database, in memory.

    SQLite waits for the disk at every commit, and with it the server's only process; a dev network's database ends with it anyway. It ends with the last
    container that mounts it: a node does too, so that the server can be restarted.
    """
    options = {"type": "tmpfs", "device": "tmpfs", "o": "size=256m"}
    return {"name": f"vantage6-{PROJECT}_database", "driver_opts": options}


def node_service(
    state: Path, organization: str, listed: list[dict[str, str]], encrypted: bool, holds_database: bool = False
) -> dict[str, Any]:
    """Return a node's service, with the mounts and names that the stock node expects of `v6 node start`."""
    name, container = node_name(organization), container_name(organization)
    environment = {
        "DATA_VOLUME_NAME": f"{container}-vol",
        "VPN_VOLUME_NAME": f"{container}-vpn-vol",
        "PRIVATE_KEY": "/mnt/private_key.pem",
        "PYTHONUNBUFFERED": "1",
    }
    volumes = [
        f"{state}/config/{name}.yaml:/mnt/config/{name}.yaml:ro",
        f"data_{organization}:/mnt/data",
        f"vpn_{organization}:/mnt/vpn",
        "/var/run/docker.sock:/var/run/docker.sock",
    ]
    if holds_database:
        volumes.append("database:/mnt/held")
    if encrypted:
        volumes.append(f"{state}/keys/{organization}.pem:/mnt/private_key.pem:ro")
    for database in listed:
        target = database["label"] + Path(database["uri"]).suffix
        environment[f"{database['label'].upper()}_DATABASE_URI"] = target
        volumes.append(f"{database['uri']}:/mnt/{target}")
    # A node that finds no server tries again after ten seconds only; a health check by Docker would start a process each second for ever.
    ready = "until (echo > /dev/tcp/server/5000) 2>/dev/null; do sleep 0.3; done"
    # umask: inputs and outputs of the runs belong to the node's user and are used by the algorithms' user.
    start = f"{ready}; umask 000; exec vnode-local start -c /mnt/config/{name}.yaml -n {name} --dockerized --user"
    return {
        "image": PLATFORM_IMAGE,
        "container_name": container,
        "environment": environment,
        "volumes": volumes,
        "command": ["bash", "-c", start],
        "depends_on": ["server"],
        "stop_grace_period": "3s",
        "labels": {"vantage6-type": "node", "system": "False", "name": name},
    }
