"""The map of docs/architecture.md: its arrows are the imports, and the walks through it can be gone."""

from __future__ import annotations

import ast
import functools
import graphlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
LIBRARY = ROOT / "shared/src"
METHODS = sorted(path.parent.name for path in ROOT.glob("algorithms/*/pyproject.toml"))
MOST_MODULES = 12
DOOR = ["fedbayes.federation.station", "fedbayes.federation.gate"]
"""What every value passes last: the station that makes it, and the gate."""


def bases() -> list[Path]:
    return [LIBRARY, *sorted(ROOT.glob("algorithms/*/src")), ROOT / "studies"]


def name_of(path: Path, base: Path) -> str:
    parts = path.relative_to(base).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path, base): path for base in bases() for path in base.rglob("*.py")}


@functools.cache
def named(module: str) -> list[tuple[str, str]]:
    """Return what a module imports as pairs of a module and a name in it (empty: the module itself)."""
    path = MODULES[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    found: list[tuple[str, str]] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            found += [(base, alias.name) for alias in node.names]
    return found


def home_of(module: str, name: str) -> str:
    """Return the module that an import ends at: through the packages that only hand a name on."""
    if f"{module}.{name}" in MODULES:
        return f"{module}.{name}"
    if name and MODULES.get(module, Path()).name == "__init__.py":
        for source, other in named(module):
            if other == name:
                return home_of(source, name)
    return module


@functools.cache
def imports(module: str) -> frozenset[str]:
    return frozenset(home for pair in named(module) if (home := home_of(*pair)) in MODULES)


def part_of(module: str) -> str:
    """Return where a module stands on the map."""
    if module.startswith("fedbayes."):
        return ".".join(module.split(".")[:2])
    return "algorithms/*" if module.startswith("v6_") else "studies/*" if module.split(".")[0] in METHODS else ""


def rows(title: str) -> list[list[str]]:
    """Return the cells of the first table below a heading."""
    text = PAGE.partition(f"## {title}\n")[2]
    lines = [line for line in text.partition("\n## ")[0].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_arrows_of_the_map_are_the_imports() -> None:
    known: dict[str, set[str]] = {}
    for place, _, knows in rows("The library"):
        told = set(re.findall(r"`([^`]+)`", knows))
        known[place.strip("`")] = {f"fedbayes.{name}" if f"fedbayes.{name}" in known else name for name in told}
    found: dict[str, set[str]] = {place: set() for place in known}
    for module in MODULES:
        for other in imports(module):
            place, target = part_of(module), part_of(other)
            if place in known and target in known and place != target:
                found[place].add(target)
    assert found == known


@pytest.mark.parametrize(
    ("package", "called"), [("bayes", "models"), ("federation", "federation"), ("client", "client")]
)
def test_the_floors_of_a_package_are_those_that_lint_holds(package: str, called: str) -> None:
    contracts = (ROOT / "pyproject.toml").read_text(encoding="utf-8").split("[[tool.importlinter.contracts]]")
    contract = next(text for text in contracts if f'containers = ["fedbayes.{package}"]' in text)
    layers = re.findall(r'"(.+)"', contract.partition("layers = [")[2].partition("\n]")[0])
    floors = [re.findall(r"`(\w+)`", floor) for floor, _ in rows(f"Inside the {called}")]
    assert floors == [layer.split(" | ") for layer in layers]


def test_the_arrows_inside_verticox_are_the_imports_and_have_no_circle() -> None:
    known = {place.strip("`"): set(re.findall(r"`(\w+)`", knows)) for place, _, knows in rows("Inside verticox")}
    found: dict[str, set[str]] = {place: set() for place in known}
    for module in (name for name in MODULES if name.startswith("v6_verticox.")):
        place = module.split(".")[1]
        inside = {other.split(".")[1] for other in imports(module) if other.startswith("v6_verticox.")}
        found[place] |= inside - {place}
    assert found == known
    assert len(list(graphlib.TopologicalSorter(known).static_order())) == len(known)


def test_a_method_knows_no_other() -> None:
    for module in MODULES:
        if module.startswith("v6_"):
            others = {other.split(".")[0] for other in imports(module)} - {module.split(".")[0], "fedbayes"}
            assert not others, module


def test_the_walks_are_of_all_methods() -> None:
    walked = sorted(cells[0].strip("`").partition(".")[0] for cells in rows("One call of each method"))
    assert walked == METHODS, "docs/architecture.md: one row a method under 'One call of each method'"


@pytest.mark.parametrize("cells", rows("One call of each method"), ids=lambda cells: cells[0].strip("`"))
def test_a_walk_goes_from_central_to_what_leaves(cells: list[str]) -> None:
    method = cells[0].strip("`").partition(".")[0]
    walk = [module_of(method, stop) for cell in cells[1:] for stop in re.findall(r"`([\w/]+\.py)`", cell)]
    assert walk[0] == f"v6_{method}.central"
    assert walk[-2:] == DOOR
    assert len(walk) == len(set(walk)) <= MOST_MODULES
    for place, module in enumerate(walk[1:], 1):
        assert any(leads(earlier, module) for earlier in walk[:place]), f"nothing before it leads to {module}"


def module_of(method: str, stop: str) -> str:
    """Return the module that a walk names: of the method, or of the library with its folder."""
    base = ROOT / f"algorithms/{method}/src"
    own, shared = base / f"v6_{method}" / stop, LIBRARY / "fedbayes" / stop
    assert own.is_file() != ("/" in stop and shared.is_file()), stop
    return name_of(own, base) if own.is_file() else name_of(shared, LIBRARY)


def leads(one: str, other: str) -> bool:
    """Whether a module imports the other one, or asks by name for a remote function that it has."""
    if other in imports(one):
        return True
    text = MODULES[other].read_text(encoding="utf-8")
    remote = re.findall(r"@partial\ndef (partial_\w+)", text)
    return any(f'"{name}"' in MODULES[one].read_text(encoding="utf-8") for name in remote)
