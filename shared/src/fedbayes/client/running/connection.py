"""The researcher's connection to a vantage6 server: address, user, and the key of an encrypted collaboration."""

from __future__ import annotations

import logging
from base64 import b64decode
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..exits import TaskFailed, UsageProblem


@dataclass(frozen=True)
class Access:
    """Server, user and key. `server` is a URL with an optional path (``/api`` by default)."""

    server: str
    username: str
    password: str
    mfa_code: str | None = None
    key: Path | None = None


def connect(access: Access) -> Any:
    """Return an authenticated `UserClient`.

    Raises
    ------
    UsageProblem
        If the address, user or key is wrong; the organization's public key at the server is never replaced.
    TaskFailed
        If the server does not answer, or not as a vantage6 server does.
    """
    import requests
    from vantage6.client import UserClient

    host, port, path = _address(access.server)
    client = UserClient(host, port, path, log_level="critical")
    _quiet(client)
    try:
        client.authenticate(access.username, access.password, access.mfa_code)
    except requests.exceptions.RequestException:
        raise TaskFailed(f"the server {access.server} does not answer; check the address and the network") from None
    except Exception as problem:
        if type(problem).__name__ != "AuthenticationException":
            raise TaskFailed(f"the server {access.server} did not let the user in; is it a vantage6 server?") from None
        raise UsageProblem("the server refused this username and password; check them") from None
    if getattr(client, "whoami", None) is None:
        raise UsageProblem("the server asks for two-factor authentication or is not found; see --mfa-code and --server")
    _set_up_key(client, access.key)
    return client


def _address(server: str) -> tuple[str, int, str]:
    """Return (scheme and host, port, path) of a server's URL."""
    try:
        parts = urlsplit(server)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        parts, port = urlsplit(""), 0
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageProblem("--server must be an address like https://server.example:443/api")
    if parts.username is not None or parts.password is not None:
        raise UsageProblem(
            "--server must hold no user and no password, as results keep the address; give --username and VANTAGE6_PASSWORD"
        )
    return f"{parts.scheme}://{parts.hostname}", port, parts.path.rstrip("/") or "/api"


def _quiet(client: Any) -> None:
    """Take back what `UserClient` does to the root logger: it prints to stdout, where results belong."""
    root = logging.getLogger()
    for handler in list(root.handlers):
        root.removeHandler(handler)
    client.log = logging.getLogger("fedbayes.client.vantage6")
    client.log.addHandler(logging.NullHandler())
    client.log.propagate = False


def _set_up_key(client: Any, key: Path | None) -> None:
    """Use the organization's private key; refuse one that the server does not know as its own.

    vantage6's ``setup_encryption`` would upload the public key of a wrong file, after which nobody can read the organization's results.
    """
    if key is None:
        client.setup_encryption(None)
        return
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from vantage6.common.encryption import RSACryptor

    try:
        public = RSACryptor.create_public_key_bytes(load_pem_private_key(key.read_bytes(), password=None))
    except (OSError, ValueError, TypeError):
        raise UsageProblem(f"--key: {key} is not a readable private key (PEM, no password); check the path") from None
    registered = client.request(f"organization/{client.whoami.organization_id}").get("public_key")
    if registered and b64decode(registered) != public:
        raise UsageProblem("--key is not the key of your organization at this server; nothing was changed")
    # Cryptors are singletons: one that an earlier connection of this process made would keep its own key.
    getattr(type(RSACryptor), "_instances", {}).pop(RSACryptor, None)
    client.setup_encryption(str(key))
