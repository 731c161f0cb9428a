"""Install pip into the running virtual environment, also where neither ensurepip nor any other pip exists.

Tried in this order: ensurepip; the package index that the environment or pip's configuration names; Debian's own wheel of pip.
"""

from __future__ import annotations

import configparser
import hashlib
import html.parser
import os
import re
import ssl
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
from pathlib import Path

WHEEL = re.compile(r"pip-(\d+(?:\.\d+)+)-py3-none-any\.whl$")


class Links(html.parser.HTMLParser):
    """Collects the links of one page of a package index."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.links += [value for name, value in attrs if name == "href" and value]


def pip_settings() -> dict[str, str]:
    """Return pip's settings: the [global] and [install] sections of its files, then the environment."""
    home = Path.home()
    files = [Path("/etc/pip.conf"), home / ".pip/pip.conf", home / ".config/pip/pip.conf"]
    if os.environ.get("PIP_CONFIG_FILE"):
        files.append(Path(os.environ["PIP_CONFIG_FILE"]))
    parser = configparser.RawConfigParser()
    parser.read([path for path in files if path.is_file()])
    settings: dict[str, str] = {}
    for section in ("global", "install"):
        if parser.has_section(section):
            settings.update(parser.items(section))
    for name in ("index-url", "extra-index-url", "find-links", "cert"):
        value = os.environ.get("PIP_" + name.upper().replace("-", "_"))
        if value:
            settings[name] = value
    return settings


def newest(links: list[str]) -> str | None:
    """Return the link of the newest wheel of pip, or None."""
    found = []
    for link in links:
        match = WHEEL.search(urllib.parse.urlparse(link).path)
        if match:
            found.append((tuple(int(part) for part in match[1].split(".")), link))
    return max(found)[1] if found else None


def from_index(index: str, cert: str | None, folder: Path) -> Path | None:
    """Download the newest wheel of pip from one index, checked against the digest that the index gives."""
    context = ssl.create_default_context(cafile=cert)
    page = index.rstrip("/") + "/pip/"
    if page.startswith("file:"):
        page += "index.html"
    with urllib.request.urlopen(page, context=context, timeout=60) as answer:
        parser = Links()
        parser.feed(answer.read().decode("utf-8", "replace"))
    link = newest(parser.links)
    if link is None:
        return None
    address = urllib.parse.urljoin(page, link)
    parts = urllib.parse.urlparse(address)
    with urllib.request.urlopen(address, context=context, timeout=180) as answer:
        content = answer.read()
    algorithm, _, digest = parts.fragment.partition("=")
    if digest and hashlib.new(algorithm, content).hexdigest() != digest:
        raise ValueError(f"{parts.path.rsplit('/', 1)[-1]} does not have the digest that the index gives")
    path = folder / parts.path.rsplit("/", 1)[-1]
    path.write_bytes(content)
    return path


def from_indexes(folder: Path) -> Path | None:
    """Return a wheel of pip from the configured folder of wheels or the configured indexes, or None."""
    settings = pip_settings()
    for place in settings.get("find-links", "").split():
        if Path(place).is_dir():
            link = newest([str(path) for path in Path(place).iterdir()])
            if link is not None:
                return Path(link)
    for index in (settings.get("index-url", "") + " " + settings.get("extra-index-url", "")).split():
        try:
            wheel = from_index(index, settings.get("cert"), folder)
        except (OSError, ValueError) as error:
            print(f"pip: {type(error).__name__} at the configured index: {error}", file=sys.stderr)
            continue
        if wheel is not None:
            return wheel
    return None


def from_debian(folder: Path) -> Path | None:
    """Return Debian's wheel of pip (package python3-pip-whl), unpacked into a folder; None where apt is absent."""
    fetch = ["apt-get", "-qq", "download", "python3-pip-whl"]
    try:
        if os.geteuid() == 0:
            os.chmod(folder, 0o755)
            subprocess.run(["apt-get", "-qq", "update"], check=False, stdout=subprocess.DEVNULL)
            fetch[1:1] = ["-o", "APT::Sandbox::User=root"]
        subprocess.run(fetch, check=True, cwd=folder, stdout=subprocess.DEVNULL)
        package = next(folder.glob("python3-pip-whl_*.deb"))
        subprocess.run(["dpkg-deb", "-x", str(package), str(folder / "deb")], check=True)
    except (OSError, subprocess.CalledProcessError, StopIteration) as error:
        print(f"pip: {type(error).__name__} at Debian's package of it", file=sys.stderr)
        return None
    return next((folder / "deb/usr/share/python-wheels").glob("pip-*.whl"), None)


def main() -> int:
    if sys.prefix == sys.base_prefix:
        print("get_pip.py installs into a virtual environment only: run it with .venv/bin/python", file=sys.stderr)
        return 2
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    if subprocess.run([sys.executable, "-m", "ensurepip", "--default-pip"], check=False, **quiet).returncode == 0:
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel = from_indexes(folder) or from_debian(folder)
        if wheel is None:
            print(
                "No pip to be had: set PIP_INDEX_URL to a package index, or install python3-venv, and try again",
                file=sys.stderr,
            )
            return 1
        command = [sys.executable, f"{wheel}/pip", "install", "--quiet", "--no-index", "--no-deps", str(wheel)]
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
