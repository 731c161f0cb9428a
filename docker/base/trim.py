"""Remove from the file system that a base image is made of what no algorithm container uses; runs while the image is built, as root.

Each line of the tables says why nothing misses it; docker/base/check.py runs in every finished image and shows it. What is listed by a distribution's
RECORD or by dpkg is taken off that list too, so that a scanner of the image sees what is there.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path

SITE = Path(sysconfig.get_path("purelib"))

# Below SITE. A pattern that ends with a slash is a folder.
LIBRARIES = {
    "**/tests/": "tests of the libraries; scipy.special._precompute alone imports one, and nothing imports that",
    "scipy/special/_precompute/": "computes SciPy's tables; they are computed",
    "pyarrow/conftest.py": "tests",
    "pyarrow/_pyarrow_cpp_tests*": "tests",
    "pyarrow/include/": "headers, to compile against Arrow",
    "pyarrow/includes/": "headers, to compile against Arrow",
    "pyarrow/src/": "sources, to compile against Arrow",
    "pyarrow/*flight*": "Arrow's own network protocol; containers read files",
    "pyarrow/libarrow_s3*": "Amazon's storage; containers read files, and have no network",
    "pyarrow/_s3fs*": "Amazon's storage",
    "pyarrow/_gcsfs*": "Google's storage",
    "pyarrow/_azurefs*": "Microsoft's storage",
    "pyarrow/_hdfs*": "Hadoop's storage",
    "pyarrow/libarrow_python*.so": "a copy of the file that is loaded, under the name that linkers ask for",
    "pyarrow/libarrow_python*.so.*.*.*": "a copy of the file that is loaded, under its full version",
    "numpy/_core/include/": "headers, to compile against NumPy",
    "numpy/_core/lib/": "archives, to link against NumPy",
    "numpy/random/lib/": "archives, to link against NumPy",
    "scipy/io/_fast_matrix_market/": "matrix-market files",
    "pyfiglet/fonts/": "fonts of banners, big.flf aside, which vantage6's banner has",
    "**/*.pyi": "types, for type checkers",
    "**/*.pyx": "sources of compiled modules",
    "**/*.pxd": "sources of compiled modules",
    "**/*.pxi": "sources of compiled modules",
}
KEPT = ("pyfiglet/fonts/big.flf", "pyfiglet/fonts/__init__.py")
# Symbol tables that the dynamic loader does not read. Not the folders *.libs: their files were rewritten when the wheels were made.
STRIPPED = ("opendp/lib/*.so", "pyarrow/*.so*")

# From the root.
SYSTEM = {
    "usr/share/doc/": "documentation",
    "usr/share/man/": "documentation",
    "usr/share/info/": "documentation",
    "usr/share/locale/": "translations of messages; LANG is C.UTF-8",
    "usr/lib/x86_64-linux-gnu/gconv/": "character sets of the C library; Python brings its own",
    "usr/lib/python3*/lib2to3/": "converts Python 2",
    "usr/lib/python3*/pydoc_data/": "help texts of the interactive prompt",
    "usr/lib/python3*/test/": "tests of Python",
    "usr/local/lib/python3*/test/": "tests of Python",
    "usr/local/lib/python3*/idlelib/": "an editor",
    "usr/local/lib/python3*/ensurepip/": "installs pip, which is there",
    "usr/lib/python3/dist-packages/**/__pycache__/": "compiled pip, which runs while images are built alone",
    "var/cache/": "caches of apt and debconf",
    "var/lib/apt/lists/": "lists of apt",
    "var/log/": "logs of the installation: they hold times",
    "root/.cache/": "caches",
}
# Debian's packages that only installing needs; those of them that are there are purged.
PACKAGES = [
    "binutils",
    "binutils-common",
    "binutils-x86-64-linux-gnu",
    "libbinutils",
    "libctf0",
    "libctf-nobfd0",
    "libgprofng0",
    "libjansson4",
    "python3-setuptools",
    "python3-pkg-resources",
    "apt",
    "libapt-pkg6.0",
    "libapt-pkg7.0",
    "gpgv",
    "adduser",
    "debconf",
    "perl-base",
    "e2fsprogs",
    "libext2fs2",
    "logsave",
    "mount",
    "util-linux-extra",
    "ncurses-bin",
]


def found(root: Path, pattern: str) -> Iterator[Path]:
    """Return what matches; `Path.glob` reads a slash at the end differently from version to version."""
    folders = pattern.endswith("/")
    for path in sorted(root.glob(pattern.rstrip("/"))):
        if path.is_dir() == folders or path.is_symlink():
            yield path


def remove(root: Path, patterns: dict[str, str], kept: tuple[str, ...] = ()) -> None:
    """Remove what the patterns match, but `kept`."""
    for pattern in patterns:
        for path in found(root, pattern):
            if path.is_dir() and any((root / name).is_relative_to(path) for name in kept):
                for file in path.rglob("*"):
                    if file.is_file() and str(file.relative_to(root)) not in kept:
                        file.unlink()
            elif path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)


def strip() -> None:
    """Strip the libraries of STRIPPED."""
    for pattern in STRIPPED:
        for path in found(SITE, pattern):
            subprocess.run(["strip", "--strip-unneeded", str(path)], check=True)


def mend(record: Path) -> None:
    """Write a RECORD again: without files that are gone, with the digests of those that were stripped."""
    rows = []
    for name, digest, size in csv.reader(record.read_text(encoding="utf-8").splitlines()):
        path = SITE / name
        if not path.exists():
            continue
        if digest and path.stat().st_size != int(size):
            content = path.read_bytes()
            code = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            digest, size = f"sha256={code}", str(len(content))
        rows.append((name, digest, size))
    with record.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows(rows)


def purge() -> None:
    """Purge PACKAGES, so that dpkg does not list what is gone."""
    told = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Package}\n"], capture_output=True, text=True, check=True
    ).stdout.split()
    for script in Path("/var/lib/dpkg/info").glob("*.p*rm"):
        if script.name.split(".")[0].split(":")[0] in PACKAGES:  # they ask debconf, which goes as well
            script.unlink()
    there = [name for name in PACKAGES if name in told]
    if there:
        subprocess.run(["dpkg", "--purge", "--force-all", *there], check=True, capture_output=True)


def main() -> None:
    remove(SITE, LIBRARIES, KEPT)
    strip()
    for record in SITE.glob("*.dist-info/RECORD"):
        mend(record)
    purge()
    remove(Path("/"), SYSTEM)


if __name__ == "__main__":
    main()
