"""What a vantage6 4.15 node makes of its configuration: what it ignores, what stops tasks, what is unsafe, what the limits mean.

The keys are those that the node and the command ``v6 node`` of vantage6 4.15.2 read; neither says a word of a key that it does not know.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from ...bayes.values.names import nearest
from ...federation.node.policy import PREFIX
from . import limits
from .file import IGNORED, NOTE, STOPS, UNSAFE, Finding, Place, read

INSIDE: dict[str, tuple[str, ...]] = {
    "encryption": ("enabled", "private_key"),
    "policies": (
        "allowed_algorithms",
        "allowed_algorithm_stores",
        "allow_either_whitelist_or_store",
        "allowed_users",
        "allowed_organizations",
        "allow_basics_algorithm",
        "require_algorithm_pull",
    ),
    "logging": ("level", "use_console", "backup_count", "max_size", "format", "datefmt", "file", "loggers"),
    "images": ("node", "alpine", "vpn_client", "network_config", "ssh-tunnel", "squid"),
    "prometheus": ("enabled", "report_interval_seconds"),
    "debug": ("socketio", "proxy_server"),
    "algorithm_device_requests": ("gpu",),
    "whitelist": ("domains", "ips", "ports"),
}
"""Section -> its keys."""

DATABASE = ("label", "uri", "type", "env", "mount_mode")
NEEDED = ("api_key", "server_url", "port", "task_dir", "databases", "api_path", "logging", "encryption")
FREE = (
    "algorithm_env",
    "node_extra_env",
    "node_extra_hosts",
    "node_extra_mounts",
    "docker_services",
    "docker_registries",
    "ssh-tunnels",
    "directories",
    "share_algorithm_logs",
    "share_config",
    "run_context_file",
    "vpn_subnet",
    "alpine",
)
TOP = (*NEEDED, *INSIDE, *FREE)
TYPES = ("csv", "parquet", "excel", "sql", "omop", "sparql", "folder")
EVERYTHING = re.compile(r"[\^.*+$()]*")
PLAIN_IMAGE = re.compile(r"[\w./:@-]+")
TOLD = {
    "whitelist": "algorithms reach the addresses listed here: an allowed image could send data there",
    "docker_services": "algorithms reach these containers of this machine",
    "vpn_subnet": "algorithms of several nodes reach one another directly; no image of fedbayes needs it",
    "docker_registries": "this file holds passwords of registries: its owner alone should read it",
}
"""Keys that widen what algorithms reach, or what the file gives away."""


def check(path: Path) -> list[Finding]:
    """Return what is to be said of a node's configuration, by line.

    Raises
    ------
    UsageProblem
        If the file is no YAML mapping.
    """
    root = read(path)
    parts = (
        _repeated,
        _keys,
        _unreached,
        _needed,
        _server,
        _encryption,
        _images,
        _databases,
        _reach,
        limits.check,
    )
    return sorted({finding for part in parts for finding in part(root)})


def _repeated(root: Place) -> Iterator[Finding]:
    for node in root.walk():
        for name, line in node.repeated:
            yield Finding(line, IGNORED, f"'{name}' stands again further down, where it counts; keep one")


def _keys(root: Place) -> Iterator[Finding]:
    for name in root.entries:
        if name not in TOP:
            yield Finding(root.keys[name], IGNORED, f"'{name}' is no key of a node{_belongs(name)}")
    for section, keys in INSIDE.items():
        part = root.get(section)
        for name in part.entries:
            if name not in keys:
                yield Finding(part.keys[name], IGNORED, f"'{name}' is no key of '{section}'{_belongs(name, section)}")
    for entry in root.get("databases").items:
        for name in entry.entries:
            if name not in DATABASE:
                text = f"'{name}' is no key of a database{_belongs(name, 'databases')}"
                yield Finding(entry.keys[name], IGNORED, text)


def _unreached(root: Place) -> Iterator[Finding]:
    extra = root.get("node_extra_env")
    for name in extra.entries:
        if name.startswith(PREFIX):
            text = f"'{name}' reaches the node and no algorithm; it belongs under 'algorithm_env'"
            yield Finding(extra.keys[name], IGNORED, text)


def _belongs(name: str, inside: str = "") -> str:
    """Return where a key belongs that stands at the wrong level, or what it may have meant."""
    if name.startswith(PREFIX):
        return "; limits belong under 'algorithm_env'"
    section = next((section for section, keys in INSIDE.items() if name in keys and section != inside), None)
    if section is not None:
        return f"; it belongs under '{section}'"
    if inside and name in TOP:
        return "; it belongs at the left margin, outside of all sections"
    if name in ("application", "environments"):
        return "; this file is of vantage6 3: write a new one by `v6 node new`"
    return nearest(name, DATABASE if inside == "databases" else INSIDE.get(inside, TOP))


def _needed(root: Place) -> Iterator[Finding]:
    for name in NEEDED:
        if name not in root.entries:
            yield Finding(0, STOPS, f"'{name}' is missing: the node does not start")


def _server(root: Place) -> Iterator[Finding]:
    entry = root.get("server_url")
    address = urlsplit(str(entry.value))
    if entry.empty() or address.scheme == "https":
        return
    host = address.hostname or str(entry.value)
    if "." in host and not host.startswith("127."):
        text = "the server is reached without TLS: the network reads tokens and first rounds; write https://"
        yield Finding(entry.line, UNSAFE, text)
    else:
        yield Finding(entry.line, NOTE, f"the server is reached without TLS: '{host}' must be of this machine alone")


def _encryption(root: Place) -> Iterator[Finding]:
    entry = root.get("encryption", "enabled")
    if entry.line and isinstance(entry.value, str):
        yield Finding(
            entry.line, UNSAFE, "whether encryption is on cannot be told of a text: write true without quotes"
        )
    elif entry.line and entry.value is not True:
        text = "encryption is off: the server reads arguments and results; set enabled: true, as in the collaboration"
        yield Finding(entry.line, UNSAFE, text)
    elif entry.line and root.get("encryption", "private_key").empty():
        yield Finding(entry.line, STOPS, "encryption needs 'private_key', the organization's key file")


def _images(root: Place) -> Iterator[Finding]:
    policies = root.get("policies")
    allowed, stores = policies.get("allowed_algorithms"), policies.get("allowed_algorithm_stores")
    line = root.keys.get("policies", 0)
    if allowed.empty() and stores.empty():
        text = "any image may run and read the tables: list those that may under policies: allowed_algorithms"
        yield Finding(line, UNSAFE, text)
    for entry in allowed.items_or_one():
        finding = _image(str(entry.value))
        if finding is not None:
            yield Finding(entry.line, *finding)
    if not stores.empty():
        yield Finding(line, NOTE, "what these stores approve may run here: their reviewers decide for this node")
    pull = policies.get("require_algorithm_pull")
    if pull.value is False:
        text = "images of this machine run where they cannot be pulled: whoever builds here decides what runs"
        yield Finding(pull.line, NOTE, text)


def _image(pattern: str) -> tuple[str, str] | None:
    """Return what is wrong with one allowed image; vantage6 matches an expression from its beginning, and what is none as a name."""
    if EVERYTHING.fullmatch(pattern):
        return UNSAFE, f"'{pattern}' allows every image"
    if PLAIN_IMAGE.fullmatch(pattern):
        named = ":" in pattern.rpartition("/")[2]
        return None if named else (NOTE, f"'{pattern}' allows every version of this image: add its tag or digest")
    if not pattern.startswith("^") or not pattern.endswith("$"):
        return UNSAFE, f"'{pattern}' also allows images whose names go on: begin with ^ and end with $"
    if re.search(r"(?<!\\)\.[*+]", pattern):
        return UNSAFE, f"'{pattern}' has a part that stands for anything: name registry, image and tag"
    if re.search(r"\[[^\]]*\][*+]", pattern):
        return NOTE, f"'{pattern}' allows several images or versions: whoever writes to this registry decides what runs"
    return None


def _databases(root: Place) -> Iterator[Finding]:
    listed = root.get("databases")
    if listed.entries:
        yield Finding(listed.line, STOPS, "databases must be a list of label, uri and type: the node does not start")
    labels: set[str] = set()
    for entry in listed.items:
        values = {name: str(part.plain()) for name, part in entry.entries.items() if not part.empty()}
        for name in ("label", "uri", "type"):
            if name not in values:
                yield Finding(entry.line, STOPS, f"a database without '{name}': the node does not start")
        label, kind = values.get("label", ""), values.get("type", "")
        if label in labels:
            yield Finding(entry.line, IGNORED, f"a second database '{label}': the first one counts")
        labels.add(label)
        if kind and kind not in TYPES:
            yield Finding(entry.line, STOPS, f"'{kind}' is no type of database; types are {', '.join(TYPES)}")
        if kind in ("csv", "parquet", "excel") and values.get("mount_mode", "copy") != "ro":
            text = f"'{label}' is copied into the volume that every image allowed here sees"
            yield Finding(entry.line, NOTE, text)


def _reach(root: Place) -> Iterator[Finding]:
    for name, text in TOLD.items():
        if not root.get(name).empty():
            yield Finding(root.keys[name], NOTE, text)
