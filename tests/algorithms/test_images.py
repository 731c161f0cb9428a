"""Every image: nothing can be called but what it exports, and its store file keeps the platform's rules."""

import importlib
import inspect
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAMES = sorted(path.name for path in (ROOT / "algorithms").iterdir() if (path / "pyproject.toml").exists())
TYPES = {
    "column",
    "column_list",
    "string",
    "string_list",
    "integer",
    "integer_list",
    "float",
    "float_list",
    "boolean",
    "json",
}
ORGANIZATIONS = {"organization", "organization_list"}


def store(name):
    return json.loads((ROOT / "algorithms" / name / "algorithm_store.json").read_text(encoding="utf-8"))


def remote(name):
    return importlib.import_module(f"v6_{name}")


def test_all_methods_are_found():
    assert len(NAMES) >= 8


@pytest.mark.parametrize("name", NAMES)
def test_nothing_else_in_the_package_can_be_called_from_outside(name):
    """The wrapper of vantage6 calls any attribute of the package: all others must be modules or private."""
    module = remote(name)
    public = {key for key in vars(module) if not key.startswith("_") and key not in module.__all__}
    assert all(inspect.ismodule(getattr(module, key)) for key in public), public


@pytest.mark.parametrize("name", NAMES)
def test_described_defaults_are_text_and_agree(name):
    for function in store(name)["functions"]:
        called = getattr(remote(name), function["name"])
        for argument in function.get("arguments", []):
            assert argument["type"] in TYPES | ORGANIZATIONS
            assert isinstance(argument.get("default_value", ""), str)
            if called.fedbayes_remote == "central":
                assert argument["name"] in called.fedbayes_arguments.parameters


@pytest.mark.parametrize("name", NAMES)
def test_the_image_is_tagged_as_vantage6_does(name):
    assert store(name)["image"].endswith(f"/algorithms/{name}:0.1.0-v6-4.15.2")
