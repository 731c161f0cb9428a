"""Remove from the file system that an image is made of what no algorithm container uses; runs while the image is built, as root.

    python trim.py                 the whole system of the base image
    python trim.py ROOT            what pip installed below a folder: the library, or a method and what it needs besides

Each line of the tables says why nothing misses it; docker/base/check.py runs in every finished image and shows it. What is listed by a distribution's
RECORD or by dpkg is taken off that list too, so that a scanner of the image sees what is there.

Of Debian stays what Python and the libraries load, by `ldd`, and CARRIED; there is no shell and no installer in what is left.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path

SITE = Path(sysconfig.get_path("purelib"))
STANDARD = Path(sysconfig.get_path("stdlib"))
DPKG = Path("/var/lib/dpkg")

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
    "pyarrow/_orc*": "another kind of file, as the next ones",
    "pyarrow/_dataset_orc*": "ORC files",
    "pyarrow/_feather*": "Feather files",
    "pyarrow/_json*": "JSON files",
    "pyarrow/_*parquet_encryption*": "encrypted parquet files, for which a node has no key",
    "pyarrow/libarrow_python_parquet_encryption*": "encrypted parquet files",
    "pyarrow/_substrait*": "plans of queries in a form that other programs read",
    "pyarrow/libarrow_python*.so": "a copy of the file that is loaded, under the name that linkers ask for",
    "pyarrow/libarrow_python*.so.*.*.*": "a copy of the file that is loaded, under its full version",
    "numpy/_core/include/": "headers, to compile against NumPy",
    "numpy/_core/lib/": "archives, to link against NumPy",
    "numpy/random/lib/": "archives, to link against NumPy",
    "numpy/_core/_simd*": "tests of NumPy's kernels",
    "numpy/_core/*_tests.*": "tests",
    "numpy/distutils/": "compiles extensions",
    "numpy/typing/mypy_plugin.py": "a plugin of a type checker",
    "scipy/cluster/": "not used, as the next ones; tests/workspace/test_trimmed.py asks what the code of stations imports",
    "scipy/datasets/": "not used",
    "scipy/differentiate/": "not used",
    "scipy/fftpack/": "not used",
    "scipy/integrate/": "not used",
    "scipy/io/": "not used",
    "scipy/misc/": "not used",
    "scipy/ndimage/": "not used",
    "scipy/odr/": "not used",
    "scipy/signal/": "not used",
    "scipy/stats/": "not used: tails of chi-squared are scipy.special's",
    "scipy/_lib/cobyqa/": "methods of scipy.optimize.minimize that nothing asks for; it imports them when asked",
    "scipy/_lib/pyprima/": "as before",
    "scipy/special/cython_special*": "for compiled callers, of which there is none",
    "sqlalchemy/dialects/firebird/": "a database without a driver here, as the next ones",
    "sqlalchemy/dialects/mssql/": "no driver",
    "sqlalchemy/dialects/mysql/": "no driver",
    "sqlalchemy/dialects/oracle/": "no driver",
    "sqlalchemy/dialects/sybase/": "no driver",
    "sqlalchemy/orm/": "classes for tables; queries are read as they are",
    "sqlalchemy/ext/": "additions to sqlalchemy.orm",
    "sqlalchemy/testing/": "what tests of dialects are written with",
    "pandas/plotting/_matplotlib/": "figures, by a library that is not there",
    "rdflib/contrib/": "not used: answers in SPARQL are read as CSV",
    "rdflib/extras/": "not used",
    "rdflib/tools/": "commands",
    "../../../bin/*rdf*": "those commands",
    "fedbayes/client/": "what a researcher's machine needs: the command, reports, figures",
    "fedbayes/__main__.py": "the command",
    "../../../bin/fedbayes": "the command",
    "gmpy2/*.h": "headers, to compile against gmpy2",
    "pyfiglet/fonts/": "fonts of banners, big.flf aside, which vantage6's banner has",
    "**/*.pyi": "types, for type checkers",
    "**/*.pyx": "sources of compiled modules",
    "**/*.pxd": "sources of compiled modules",
    "**/*.pxi": "sources of compiled modules",
}
KEPT = ("pyfiglet/fonts/big.flf", "pyfiglet/fonts/__init__.py")
# Distributions that only installing needs.
INSTALLERS = ("pip", "setuptools", "wheel")
# Symbol tables that the dynamic loader does not read. Not the folders *.libs: their files were rewritten when the wheels were made.
STRIPPED = (
    "pyarrow/*.so*",
    "cryptography/**/*.so",
    "gmpy2/*.so",
    "greenlet/*.so",
    "scipy/**/*.so",
    "yaml/*.so",
)

# From the root.
SYSTEM = {
    "usr/share/doc/": "documentation",
    "usr/share/man/": "documentation",
    "usr/share/info/": "documentation",
    "usr/share/zoneinfo/right/": "time zones with leap seconds",
    "usr/share/locale/": "translations of messages; LANG is C.UTF-8",
    "usr/lib/x86_64-linux-gnu/gconv/": "character sets of the C library; Python brings its own",
    "usr/lib/python3*/lib2to3/": "converts Python 2",
    "usr/lib/python3*/distutils/": "compiles extensions",
    "usr/lib/python3*/pydoc_data/": "help texts of the interactive prompt",
    "usr/lib/python3*/test/": "tests of Python",
    "usr/local/lib/python3*/test/": "tests of Python",
    "usr/local/lib/python3*/idlelib/": "an editor",
    "usr/local/lib/python3*/ensurepip/": "installs pip",
    "usr/lib/python3/dist-packages/": "Debian's own distributions: pip and what it needs",
    "var/cache/": "caches of apt and debconf",
    "var/lib/apt/": "lists of apt",
    "var/log/": "logs of the installation: they hold times",
    "root/.cache/": "caches",
    "opt/fedbayes/": "this file, and what the libraries were installed by",
}
# Below the standard library: modules that load libraries of Debian's which nothing else does.
DYNLOAD = (
    "nis",
    "_dbm",
    "_gdbm",
    "_curses",
    "_curses_panel",
    "readline",
    "_tkinter",
    "_ctypes_test",
    "_test*",
    "_xxtest*",
)
# Debian's packages of which no library is loaded and which stay: the interpreter, what hosts trust, what names the system, and time zones: without them
# pandas looks for UTC in a distribution, which takes a tenth of its import.
CARRIED = ("base-files", "base-passwd", "ca-certificates", "media-types", "netbase", "python*", "libpython*", "tzdata")
LEFT = (
    "python3-pip",
    "python3-wheel",
    "python3-setuptools",
    "python3-pkg-resources",
    "python3-distutils",
    "python3-lib2to3",
)
"""Of those that CARRIED matches, what goes all the same."""
# Of two files of the same content the second becomes a link to the first: NumPy and SciPy bring the same runtime of Fortran.
TWICE = ("scipy.libs/lib*.so*", "numpy.libs/lib*.so*")


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


def strip(site: Path) -> None:
    """Strip the libraries of STRIPPED."""
    for pattern in STRIPPED:
        for path in found(site, pattern):
            subprocess.run(["strip", "--strip-unneeded", str(path)], check=True)


def link(site: Path) -> None:
    """Make links of TWICE: where names and content are the same, libraries find the same file beside themselves."""
    first, second = ({path.name: path for path in found(site, pattern)} for pattern in TWICE)
    for name in first.keys() & second.keys():
        if first[name].read_bytes() == second[name].read_bytes():
            second[name].unlink()
            second[name].symlink_to(Path("..") / first[name].relative_to(site))


def mend(record: Path) -> None:
    """Write a RECORD again: without files that are gone, with the digests of those that were stripped."""
    rows = []
    for name, digest, size in csv.reader(record.read_text(encoding="utf-8").splitlines()):
        path = record.parents[1] / name
        if not path.exists():
            continue
        if digest and path.stat().st_size != int(size):
            content = path.read_bytes()
            code = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            digest, size = f"sha256={code}", str(len(content))
        rows.append((name, digest, size))
    with record.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows(rows)


def uninstall() -> None:
    """Remove the INSTALLERS, by their RECORD."""
    for name in INSTALLERS:
        for record in SITE.glob(f"{name}-*.dist-info/RECORD"):
            listed = [row[0] for row in csv.reader(record.read_text(encoding="utf-8").splitlines())]
            for file in listed:
                (SITE / file).unlink(missing_ok=True)
            for top in {Path(file).parts[0] for file in listed if not file.startswith("..")}:
                if (SITE / top).is_dir():
                    shutil.rmtree(SITE / top)


def loaded() -> set[Path]:
    """Return the system's libraries that the interpreter, its modules and the installed libraries load."""
    modules = [*(STANDARD / "lib-dynload").glob("*.so"), *SITE.rglob("*.so*"), Path(sys.executable).resolve()]
    libraries = set()
    for module in modules:
        told = subprocess.run(["ldd", str(module)], capture_output=True, text=True).stdout
        for line in told.splitlines():
            path = line.partition("=>")[2].split("(")[0].strip() or line.split("(")[0].strip()
            if path.startswith("/"):
                libraries.add(Path(path).resolve())
    return libraries


def owned(package: str) -> list[Path]:
    """Return the files that dpkg lists of a package, folders left out."""
    lists = [*(DPKG / "info").glob(f"{package}.list"), *(DPKG / "info").glob(f"{package}:*.list")]
    lines = [line for file in lists for line in file.read_text(encoding="utf-8").splitlines()]
    return [path for path in map(Path, lines) if path.is_symlink() or not path.is_dir()]


def kept(packages: Iterable[str]) -> set[str]:
    """Return which of Debian's packages stay: those of CARRIED, and the owners of what is loaded."""
    libraries = loaded()
    carried = {name for name in packages if any(Path(name).match(pattern) for pattern in CARRIED) and name not in LEFT}
    return carried | {name for name in packages if any(path.resolve() in libraries for path in owned(name))}


def purge() -> None:
    """Remove the files of Debian's packages that do not stay, and take them off dpkg's lists."""
    status = DPKG / "status"
    stanzas = {
        stanza.splitlines()[0].removeprefix("Package: "): stanza
        for stanza in status.read_text(encoding="utf-8").strip().split("\n\n")
    }
    stay = kept(stanzas)
    needed = {path.resolve() for name in stay for path in owned(name)}
    for name in stanzas.keys() - stay:
        for path in owned(name):
            if path.resolve() not in needed:
                path.unlink(missing_ok=True)
    for file in (DPKG / "info").iterdir():
        name, _, kind = file.name.rpartition(".")
        if name.split(":")[0] not in stay or kind not in ("list", "md5sums"):
            file.unlink()
    status.write_text("\n\n".join(stanzas[name] for name in stanzas if name in stay) + "\n", encoding="utf-8")
    for link in [path for folder in ("/usr/bin", "/usr/sbin", "/etc/alternatives") for path in Path(folder).iterdir()]:
        if link.is_symlink() and not link.exists():
            link.unlink()


def lighten(site: Path) -> None:
    """Trim what pip installed in a folder of libraries."""
    remove(site, LIBRARIES, KEPT)
    strip(site)
    link(site)
    for record in site.glob("*.dist-info/RECORD"):
        mend(record)


def main(root: str = "") -> None:
    if root:
        lighten(Path(root) / SITE.relative_to("/"))
        return
    uninstall()
    lighten(SITE)
    remove(STANDARD / "lib-dynload", {f"{name}.*": "" for name in DYNLOAD})
    purge()
    remove(Path("/"), SYSTEM)


if __name__ == "__main__":
    main(*sys.argv[1:])
