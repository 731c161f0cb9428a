"""The bill of materials of an image as CycloneDX 1.5, run in it by scripts/images: `... --entrypoint python IMAGE - NAME VERSION < this file`.

Python distributions come from their own metadata and Debian's packages from dpkg: what is installed, not what was asked for. There is neither a time nor
a serial number in it, so the same image tells the same.
"""

from __future__ import annotations

import json
import platform
import sys
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any
from urllib.parse import quote


def licenses(distribution: Distribution) -> list[dict[str, Any]]:
    """Return the license as the distribution tells it: an SPDX expression, or a name."""
    metadata = distribution.metadata
    expression = metadata.get("License-Expression")
    if expression:
        return [{"expression": expression}]
    classifiers = [
        line.split(" :: ")[-1] for line in metadata.get_all("Classifier") or [] if line.startswith("License :: ")
    ]
    named = classifiers or [line.strip() for line in (metadata.get("License") or "").splitlines()[:1]]
    return [{"license": {"name": name}} for name in named if name]


def python_packages() -> list[dict[str, Any]]:
    """Return a component for every Python distribution."""
    components = {}
    for distribution in distributions():
        name, version = distribution.metadata["Name"], distribution.version
        reference = f"pkg:pypi/{quote(name.lower().replace('_', '-'))}@{quote(version)}"
        components[reference] = {
            "type": "library",
            "bom-ref": reference,
            "name": name,
            "version": version,
            "purl": reference,
        }
        if told := licenses(distribution):
            components[reference]["licenses"] = told
    return [components[reference] for reference in sorted(components)]


def debian_packages() -> list[dict[str, Any]]:
    """Return a component for every package on dpkg's list; of dpkg itself nothing else is in an image."""
    components = []
    for stanza in sorted(Path("/var/lib/dpkg/status").read_text(encoding="utf-8").strip().split("\n\n")):
        told = dict(line.split(": ", 1) for line in stanza.splitlines() if ": " in line and not line.startswith(" "))
        if told["Status"].endswith(" installed"):
            name, version = told["Package"], told["Version"]
            reference = f"pkg:deb/debian/{quote(name)}@{quote(version)}?arch={told['Architecture']}"
            components.append(
                {"type": "library", "bom-ref": reference, "name": name, "version": version, "purl": reference}
            )
    return components


def bill(name: str, version: str) -> dict[str, Any]:
    """Return the bill of materials of this image."""
    interpreter = {"type": "platform", "bom-ref": "python", "name": "python", "version": platform.python_version()}
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {"type": "container", "bom-ref": name, "name": name, "version": version}},
        "components": [interpreter, *python_packages(), *debian_packages()],
    }


if __name__ == "__main__":
    json.dump(bill(*sys.argv[1:3]), sys.stdout, indent=1)
    print()
