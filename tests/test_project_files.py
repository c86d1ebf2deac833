"""The files that make the project findable agree with it: versions, dependencies, the article, the workflows."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DOI = "10.1007/s10994-024-06582-3"
YAML = [
    path for pattern in (".github/**/*.yml", "conda/*.yaml", ".readthedocs.yaml", ".pre-commit-config.yaml")
    for path in sorted(ROOT.glob(pattern))
]


@pytest.mark.parametrize("path", YAML, ids=lambda path: path.name)
def test_yaml_is_well_formed(path: Path) -> None:
    assert isinstance(yaml.safe_load(path.read_text(encoding="utf-8")), dict)


@pytest.mark.parametrize(
    "path", ["CITATION.cff", "README.md", "codemeta.json", "paper/paper.bib", "docs/other-names.md"]
)
def test_the_article_is_named(path: str) -> None:
    assert DOI in (ROOT / path).read_text(encoding="utf-8")


def test_versions_agree() -> None:
    version = PROJECT["version"]
    assert json.loads((ROOT / "codemeta.json").read_text(encoding="utf-8"))["version"] == version
    assert yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8"))["package"]["version"] == version
    assert f"version: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_conda_recipe_needs_what_the_project_needs() -> None:
    conda_names = {"cvxpy": "cvxpy-base", "matplotlib": "matplotlib-base"}
    wanted = {
        f"{conda_names.get(r.name, r.name)} {r.specifier}" for r in map(Requirement, PROJECT["dependencies"])
    }
    recipe = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8"))
    assert {line for line in recipe["requirements"]["run"] if not line.startswith("python ")} == wanted


def test_the_paper_cites_what_it_lists_and_shows_pictures_that_exist() -> None:
    text = (ROOT / "paper" / "paper.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"@article\{([\w-]+),", (ROOT / "paper" / "paper.bib").read_text(encoding="utf-8")))
    assert set(re.findall(r"@([\w-]+)", text)) == listed
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text)
    assert pictures and all((ROOT / "paper" / picture).is_file() for picture in pictures)


def test_workflows_test_three_systems_and_publish_without_a_password() -> None:
    tests = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8"))
    assert {name.split("-")[0] for name in tests["jobs"]["tests"]["strategy"]["matrix"]["os"]} == {
        "ubuntu", "macos", "windows"
    }
    release = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
    assert "id-token: write" in release and "password" not in release.replace("(no password)", "")
