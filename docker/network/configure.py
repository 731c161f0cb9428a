"""Writes everything that the dev network is started from: keys, tables, configuration of server and nodes, the compose file.

usage: configure.py STATE        STATE is a folder; what is there already (keys, passwords, the port) is kept
"""

from __future__ import annotations

import base64
import json
import os
import re
import secrets
import socket
import sys
import uuid
from pathlib import Path
from typing import Any

import tables
import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from services import container_name, database_volume, node_name, node_service, server_service

HELPER = "helper"
ORGANIZATIONS = (*tables.STATIONS, HELPER)
COLLABORATION = "dev network"
REGISTRY = os.environ.get("REGISTRY", "fedbayes.invalid")
ENCRYPTED = os.environ.get("ENCRYPTED", "yes") != "no"
LEDGER = "ledger"
POLICY = {
    "FEDBAYES_MINIMUM_ROWS": "10",
    "FEDBAYES_MINIMUM_ORGANIZATIONS": "3",
    "FEDBAYES_MINIMUM_COUNT": "5",
    "FEDBAYES_DENIED_COLUMNS": "name",
    "FEDBAYES_MAXIMUM_EPSILON": "20",
    "FEDBAYES_ALLOW_PREDICTIONS": "true",
    "FEDBAYES_LEDGER": LEDGER,
    "FEDBAYES_BUDGET_EPSILON": "10000",
    "FEDBAYES_BUDGET_DELTA": "0.01",
}
QUIET = (
    "urllib3",
    "requests",
    "engineio.client",
    "engineio.server",
    "socketio.server",
    "docker.utils.config",
    "docker.auth",
    "sqlalchemy.engine",
)


def logging_settings(name: str) -> dict[str, Any]:
    """Return vantage6's logging section."""
    return {
        "level": "INFO",
        "use_console": True,
        "backup_count": 2,
        "max_size": 1024,
        "format": "%(asctime)s.%(msecs)03d - %(name)-14s - %(levelname)-8s - %(message)s",
        "datefmt": "%Y-%m-%d %H:%M:%S",
        "loggers": [{"name": logger, "level": "warning"} for logger in QUIET],
        "file": f"{name}.log",
    }


def free_port() -> int:
    """Return a port of the loopback address that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def settings(state: Path) -> dict[str, Any]:
    """Return what must stay the same between starts: port, password, keys of the nodes; made at the first."""
    path = state / "network.json"
    if path.exists():
        return dict(json.loads(path.read_text(encoding="utf-8")))
    made = {
        "url": "http://127.0.0.1",
        "port": free_port(),
        "api_path": "/api",
        "collaboration": COLLABORATION,
        "encrypted": ENCRYPTED,
        "user": "researcher",
        "password": f"Aa1!{secrets.token_urlsafe(12)}",
        "organization": tables.STATIONS[0],
        "organizations": list(ORGANIZATIONS),
        "stations": list(tables.STATIONS),
        "helper": HELPER,
        "jwt": secrets.token_hex(16),
        "api_keys": {name: str(uuid.uuid4()) for name in ORGANIZATIONS},
        "private_key": str(state / f"keys/{tables.STATIONS[0]}.pem"),
        "tables": str(state / "tables"),
        "ledgers": {name: str(state / f"ledgers/{name}") for name in ORGANIZATIONS},
        "registry": REGISTRY,
        "policy": POLICY,
    }
    path.touch(mode=0o600)
    path.write_text(json.dumps(made, indent=1), encoding="utf-8")
    return made


def public_key(state: Path, organization: str) -> str:
    """Return the organization's public key as the server stores it; the private key is made at the first call."""
    path = state / f"keys/{organization}.pem"
    path.parent.mkdir(exist_ok=True)
    if not path.exists():
        fresh = rsa.generate_private_key(public_exponent=65537, key_size=4096)
        path.touch(mode=0o600)
        path.write_bytes(
            fresh.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.TraditionalOpenSSL,
                serialization.NoEncryption(),
            )
        )
    key = serialization.load_pem_private_key(path.read_bytes(), None)
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(public).decode("ascii")


def entities(state: Path, made: dict[str, Any]) -> dict[str, Any]:
    """Return organizations, the researcher, and the one collaboration, for the server's import."""
    organizations = []
    for name in ORGANIZATIONS:
        entry: dict[str, Any] = {
            "name": name,
            "domain": f"{name}.invalid",
            "address1": "",
            "address2": "",
            "zipcode": "",
            "country": "",
            "public_key": public_key(state, name) if made["encrypted"] else "",
            "users": [],
        }
        user = made["user"] if name == made["organization"] else f"admin-{name}"
        entry["users"].append(
            {
                "username": user,
                "firstname": user,
                "lastname": name,
                "password": made["password"],
                "email": f"{user}@{name}.invalid",
            }
        )
        organizations.append(entry)
    participants = [{"name": name, "api_key": made["api_keys"][name]} for name in ORGANIZATIONS]
    collaboration = {"name": COLLABORATION, "encrypted": made["encrypted"], "participants": participants}
    return {"organizations": organizations, "collaborations": [collaboration]}


def databases(state: Path, organization: str) -> list[dict[str, str]]:
    """Return the node's databases; the helper has the ledger's folder only, and so no table of any label."""
    ledger = state / "ledgers" / organization
    ledger.mkdir(parents=True, exist_ok=True)
    ledger.chmod(0o777)  # the algorithms' user, whatever the user of this machine
    listed = [{"label": LEDGER, "uri": str(ledger), "type": "folder"}]
    if organization in tables.STATIONS:
        place = state / "tables" / organization
        listed += [
            {"label": label, "uri": str(place / f"{label}.csv"), "type": "csv"}
            for label in ("default", "vertical", "asia")
        ]
    return listed


def node_configuration(state: Path, made: dict[str, Any], organization: str) -> dict[str, Any]:
    """Return a stock node's configuration."""
    return {
        "api_key": made["api_keys"][organization],
        "server_url": "http://server",
        "port": 5000,
        "api_path": made["api_path"],
        "task_dir": "/mnt/data",
        "databases": databases(state, organization),
        "encryption": {"enabled": made["encrypted"], "private_key": "/mnt/private_key.pem"},
        "algorithm_env": dict(POLICY),
        "policies": {
            "require_algorithm_pull": False,
            "allowed_algorithms": [rf"^{re.escape(REGISTRY)}/algorithms/[a-z0-9_]+:[a-z0-9.\-]+$"],
        },
        "share_algorithm_logs": True,
        "logging": logging_settings(node_name(organization)),
    }


def write_yaml(path: Path, content: dict[str, Any]) -> None:
    """Write a YAML file that its owner alone reads."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")


def main(state: Path) -> None:
    """Write all files below `state`."""
    state.mkdir(parents=True, exist_ok=True)
    made = settings(state)
    if not (state / "tables").exists():
        tables.write_all(state / "tables")
    write_yaml(state / "config/entities.yaml", entities(state, made))
    server = {
        "description": COLLABORATION,
        "ip": "0.0.0.0",
        "port": 5000,
        "api_path": made["api_path"],
        "uri": "sqlite:////mnt/database/vantage6.sqlite",
        "allow_drop_all": False,
        "jwt_secret_key": made["jwt"],
        "logging": logging_settings("server"),
    }
    write_yaml(state / "config/server.yaml", server)
    services, volumes = {"server": server_service(state, made)}, {"database": database_volume()}
    for organization in ORGANIZATIONS:
        configuration = node_configuration(state, made, organization)
        write_yaml(state / f"config/{node_name(organization)}.yaml", configuration)
        services[f"node-{organization}"] = node_service(
            state, organization, configuration["databases"], made["encrypted"], holds_database=organization == HELPER
        )
        container = container_name(organization)
        volumes[f"data_{organization}"] = {"name": f"{container}-vol"}
        volumes[f"vpn_{organization}"] = {"name": f"{container}-vpn-vol"}
    write_yaml(state / "docker-compose.yml", {"version": "2.4", "services": services, "volumes": volumes})


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]).absolute())
