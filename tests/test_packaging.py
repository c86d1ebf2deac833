"""The package metadata agrees with the tree, with the tested minimum versions, and with itself."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import partls

ROOT = Path(__file__).resolve().parents[1]
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = CONFIG["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
NOT_INSTALLED = {"tests", "benchmarks"}


def single_version(requirement: Requirement, operator: str) -> str:
    (specifier,) = requirement.specifier
    assert specifier.operator == operator, f"{requirement} should read {requirement.name}{operator}VERSION"
    return specifier.version


def test_minimum_pins_equal_the_lower_bounds():
    lines = (ROOT / ".ci" / "minimum.txt").read_text(encoding="utf-8").splitlines()
    pins = [Requirement(line) for line in lines if line and not line.startswith("#")]
    bounds = [Requirement(text) for text in CONFIG["project"]["dependencies"]]
    assert len(pins) == len({pin.name for pin in pins})
    assert {p.name: single_version(p, "==") for p in pins} == {b.name: single_version(b, ">=") for b in bounds}


def test_every_root_package_is_in_the_wheel():
    at_root = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert at_root - NOT_INSTALLED == set(PACKAGES)


@pytest.mark.parametrize("package", PACKAGES)
def test_package_declares_its_types(package):
    assert (ROOT / package / "py.typed").is_file()


@pytest.mark.parametrize(
    ("tool", "listed"),
    [
        ("mypy", CONFIG["tool"]["mypy"]["files"]),
        ("coverage", CONFIG["tool"]["coverage"]["run"]["source"]),
        ("import-linter", CONFIG["tool"]["importlinter"]["root_packages"]),
        ("layers", CONFIG["tool"]["importlinter"]["contracts"][0]["layers"]),
    ],
)
def test_every_tool_checks_every_package(tool, listed):
    assert set(listed) == set(PACKAGES), tool


def test_version_is_the_declared_one():
    assert partls.__version__ == CONFIG["project"]["version"]


def test_importing_the_package_loads_nothing_heavy():
    heavy = ["cvxpy", "matplotlib", "numba", "pandas", "polars", "rich", "sklearn"]
    code = f"import sys, partls; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


@pytest.mark.parametrize(("option", "printed"), [("--version", f"partls {partls.__version__}"), ("--help", "Usage: ")])
def test_the_package_can_be_run(option, printed):
    done = subprocess.run([sys.executable, "-m", "partls", option], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(printed)


def test_every_public_name_can_be_loaded():
    assert set(partls.__all__) <= set(dir(partls))
    for name in partls.__all__:
        assert getattr(partls, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getattr(partls, "nothing")  # noqa: B009
