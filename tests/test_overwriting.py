"""Commands replace no file unless they are told to; functions in Python replace files as numpy.save does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import partls
from partls.cli import app
from tests.test_cli import COLUMNS, FIT, GROUPS, folder, houses, message, run  # noqa: F401

GROUPS_INIT = ("groups", "init", "houses.csv", "--target", "price")
OUTPUTS = {
    "model": (*FIT, "--out", "old.json"),
    "report": (*FIT, "--report", "old.html"),
    "certificate": (*FIT, "--certificate", "old.json"),
    "packed certificate": (*FIT, "--certificate", "old.json.gz"),
    "csv": ("predict", "model.json", "houses.csv", "--out", "old.csv"),
    "parquet": ("predict", "model.json", "houses.csv", "--out", "old.parquet"),
    "groups": (*GROUPS_INIT, "--out", "old.toml"),
    "demo": ("demo", "--report", "old.html"),
}
CHECKPOINT = (*FIT, "--checkpoint", "state.json")


@pytest.fixture
def fitted(folder: Path) -> Path:  # noqa: F811
    partls.PartLSRegressor(GROUPS).fit(houses()[COLUMNS], houses()["price"]).save("model.json")
    return folder


@pytest.mark.parametrize("command", OUTPUTS.values(), ids=OUTPUTS)
def test_a_file_is_replaced_only_with_force(
    command: tuple[str, ...], fitted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    option, path = command[-2], Path(command[-1])
    path.write_text("old", encoding="utf-8")
    refusal = f"error: {option} {path} is there already; replace it with --force, or give another name\n"
    with monkeypatch.context() as patched:  # before any work is done
        for work in ("cli.data_options.open_table", "cli.model_file.load", "demo.diabetes"):
            patched.setattr(f"partls.{work}", None)
        assert message(*command) == refusal
        assert message(*command, "--json") == refusal
        link = Path(f"link{path.suffix}")
        link.symlink_to(path)
        assert message(*command[:-1], link) == refusal.replace(f" {path} ", f" {link} ")
    assert path.read_text(encoding="utf-8") == "old"
    path.chmod(0o444)
    told = f"error: {option} {path} is read-only: give another name, or make it writable\n"
    assert message(*command) == message(*command, "--force") == told
    assert path.read_text(encoding="utf-8") == "old"
    path.chmod(0o644)
    assert run(*command, "--force").exit_code == 0
    assert path.read_bytes() != b"old"


def test_all_files_that_are_there_are_named_at_once(fitted: Path) -> None:
    for name in ("a.json", "b.html", "c.json"):
        Path(name).write_text("old", encoding="utf-8")
    told = message(*FIT, "--out", "a.json", "--report", "b.html", "--certificate", "c.json")
    assert told == (
        "error: --out a.json, --report b.html, --certificate c.json are there already; replace them with --force, or "
        "give other names\n"
    )


def test_force_replaces_no_input_and_no_other_output(fitted: Path) -> None:
    for option, name in (("--out", "houses.csv"), ("--report", "groups.toml"), ("--certificate", "houses.csv")):
        assert "give another name" in message(*FIT, option, name, "--force")
    told = message("predict", "model.json", "houses.csv", "--out", "model.json", "--force")
    assert "is the file of the model" in told
    assert "is the file of --out" in message(*FIT, "--out", "new", "--report", "new", "--force")


def test_a_checkpoint_is_state_and_is_gone_on_from(fitted: Path) -> None:
    assert run(*CHECKPOINT).exit_code == 0
    first = json.loads(Path("state.json").read_text(encoding="utf-8"))
    assert run(*CHECKPOINT).exit_code == 0
    assert json.loads(Path("state.json").read_text(encoding="utf-8"))["format"] == first["format"]
    Path("state.json").chmod(0o444)
    assert message(*CHECKPOINT) == (
        "error: --checkpoint state.json is read-only: give another name, or make it writable\n"
    )
    Path("state.json").chmod(0o644)
    Path("state.json").write_text("{}", encoding="utf-8")
    assert "checkpoint" in message(*CHECKPOINT, "--force")  # what is no checkpoint is not replaced
    assert Path("state.json").read_text(encoding="utf-8") == "{}"


@pytest.mark.parametrize(("given", "again"), [((), "the same command"), (("--out", "m.json"), "--force")])
def test_a_search_that_was_cut_short_says_how_to_go_on(given: tuple[str, ...], again: str, fitted: Path) -> None:
    cut = (*CHECKPOINT, "--time-limit", "0", *given)
    first = run(*cut)
    if again == "--force":
        assert (first.exit_code, "the same command with --force resumes from state.json" in first.stderr) == (3, True)
        assert run(*cut).exit_code == 2
        assert run(*CHECKPOINT, *given, "--force").exit_code == 0
    else:
        assert (first.exit_code, "the same command resumes from state.json" in first.stderr) == (3, True)
        assert run(*CHECKPOINT).exit_code == 0


def test_names_of_open_streams_are_no_files_to_replace(fitted: Path) -> None:
    command = [sys.executable, "-m", "partls", *FIT, "--out", "/dev/stderr"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    with Path("stream").open("wb") as file:  # a file is there, as the shell makes one for >
        done = subprocess.run(command, stderr=file, stdout=subprocess.PIPE, env=environment, timeout=120)
    assert done.returncode == 0
    assert json.loads(Path("stream").read_text(encoding="utf-8"))["format"] == "partls-model"


def test_every_command_with_an_output_takes_force() -> None:
    """A command that learns to write a file cannot forget to ask."""
    writers = set()

    def look(command: typer.core.TyperCommand, name: str) -> None:
        for child, inner in getattr(command, "commands", {}).items():
            look(inner, f"{name} {child}".strip())
        options = {option for parameter in command.params for option in parameter.opts}
        if options & {"--out", "--report", "--certificate"}:
            writers.add(name)
            assert "--force" in options, name

    look(typer.main.get_command(app), "")
    assert writers == {"fit", "predict", "demo", "groups init"}


def test_the_demo_runs_twice(folder: Path) -> None:  # noqa: F811
    for _ in range(2):
        assert CliRunner().invoke(app, ["demo"]).exit_code == 0


def test_functions_in_python_replace_files_but_no_read_only_ones(folder: Path) -> None:  # noqa: F811
    data = houses()
    model = partls.PartLSRegressor(GROUPS).fit(data[COLUMNS], data["price"])

    def certify(path: str) -> None:
        partls.solve(data[COLUMNS], data["price"], GROUPS, certificate=path)

    for write, path in ((model.save, "model.json"), (model.report, "page.html"), (certify, "proof.json")):
        Path(path).write_text("old", encoding="utf-8")
        write(path)
        written = Path(path).read_text(encoding="utf-8")
        assert written != "old"
        Path(path).chmod(0o444)
        with pytest.raises((PermissionError, partls.InvalidInput), match=r"Permission denied|read-only"):
            write(path)
        assert Path(path).read_text(encoding="utf-8") == written
