"""The images that scripts/images built on this machine: size, what they hold, what they tell; skipped where there are none."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.network

ROOT = Path(__file__).resolve().parents[2]
REGISTRY = os.environ.get("REGISTRY", "fedbayes.invalid")
ALGORITHMS = sorted(path.parent.name for path in ROOT.glob("algorithms/*/Dockerfile"))
LARGEST_BYTES = 350_000_000
PACKAGES = "print(*[line[9:] for line in open('/var/lib/dpkg/status') if line.startswith('Package: ')])"
DISTRIBUTIONS = "import importlib.metadata as m, json; print(json.dumps([[d.metadata['Name'], d.version] for d in m.distributions()]))"


def engine(*arguments: str, given: str | None = None) -> str:
    """Run the docker command; skip where there is no engine, fail where the command does."""
    if shutil.which("docker") is None:
        pytest.skip("no Docker engine")
    done = subprocess.run(["docker", *arguments], input=given, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def in_image(image: str, *arguments: str, given: str | None = None) -> str:
    """Run Python in the image, without a network, as the user of the image."""
    return engine(
        "run", "--rm", "--interactive", "--network", "none", "--entrypoint", "python", image, *arguments, given=given
    )


@pytest.fixture(params=ALGORITHMS)
def image(request: pytest.FixtureRequest) -> str:
    """The newest image of a method that scripts/images labelled."""
    if shutil.which("docker") is None or subprocess.run(["docker", "info"], capture_output=True).returncode:
        pytest.skip("no Docker engine")
    name = f"{REGISTRY}/algorithms/{request.param}"
    told = engine(
        "images", "--format", "{{.Repository}}:{{.Tag}}", "--filter", "label=org.opencontainers.image.title", name
    )
    tags = [tag for tag in told.split() if tag.count("-") == 2]
    if not tags:
        pytest.skip("no image: scripts/images")
    return tags[0]


def inspected(image: str) -> dict[str, Any]:
    return dict(json.loads(engine("image", "inspect", image))[0])


def test_an_image_is_small_and_says_what_it_is(image: str) -> None:
    told = inspected(image)
    assert told["Size"] <= LARGEST_BYTES
    labels = {key.removeprefix("org.opencontainers.image."): text for key, text in told["Config"]["Labels"].items()}
    assert {"title", "description", "version", "revision", "licenses", "source", "base.name"} <= labels.keys()
    assert all(labels.values())
    assert told["Config"]["User"] == "1000:1000"


def test_an_image_does_what_it_has_to_and_holds_no_tests(image: str) -> None:
    assert "modules import" in in_image(image, "-", given=(ROOT / "docker/base/check.py").read_text(encoding="utf-8"))


def test_the_bill_of_materials_lists_every_distribution(image: str) -> None:
    script = (ROOT / "docker/base/sbom.py").read_text(encoding="utf-8")
    bill = json.loads(in_image(image, "-", "a", "1", given=script))
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    listed = {(part["name"], part["version"]) for part in bill["components"]}
    installed = {(name, version) for name, version in json.loads(in_image(image, "-c", DISTRIBUTIONS))}
    assert installed <= listed
    packages = set(in_image(image, "-c", PACKAGES).split())
    assert "libc6" in packages
    assert packages == {part["name"] for part in bill["components"] if part.get("purl", "").startswith("pkg:deb/")}
    assert not {"perl-base", "binutils", "apt", "dpkg", "dash", "bash"} & packages
    assert not {"pip", "setuptools", "wheel", "opendp"} & {name for name, _ in installed}
    references = [part["bom-ref"] for part in bill["components"]]
    assert len(set(references)) == len(references)


def test_files_of_an_image_are_those_of_the_lists_of_their_distributions(image: str) -> None:
    script = "\n".join(
        (
            "import base64, hashlib, importlib.metadata as m, sysconfig",
            "for d in m.distributions(path=[sysconfig.get_path('purelib')]):",
            "    for file in d.files or ():",
            "        path = d.locate_file(file)",
            "        if file.hash and '__pycache__' not in str(file):",
            "            code = base64.urlsafe_b64encode(hashlib.sha256(path.read_bytes()).digest()).rstrip(b'=').decode()",
            "            assert code == file.hash.value, file",
            "print('same')",
        )
    )
    assert in_image(image, "-c", script).strip() == "same"
