"""What commands print fits a screen of 80 columns, and nothing is cut; reports of Python fit it too."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from partls import PartLSRegressor
from partls.cli import app
from partls.explain.report import percent, table
from partls.explain.summary import NEGATIVE_SHARE
from partls.runtime import progress
from partls.runtime.screen import folded, wrapped

LONG = "TheAreaOfTheGardenBehindTheHouse_measured in square metres"  # 58 letters
COMMANDS = ("", "fit", "predict", "explain", "compare", "verify", "demo", "groups", "groups init", "groups check")
WITH = "d.csv --target price --groups g.toml"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table whose names are long, with a text column, two groups that move together, and a file of groups."""
    rng = np.random.default_rng(3)
    area = rng.normal(10, 3, 60)
    data = pd.DataFrame({
        LONG: area, "rooms": area / 3 + rng.normal(size=60), "noise": rng.random(60), "damp": rng.random(60),
        "town": rng.choice(["A long name of a town", "Bath", "C"], 60), "half": 0.0,
    })
    data["half"] = area + 0.1 * rng.normal(size=60)
    data["price"] = 9 * area + 3 * data["rooms"] - 2 * data["half"] - 4 * data["noise"] + rng.normal(size=60)
    path = tmp_path_factory.mktemp("screen")
    data.to_csv(path / "d.csv", index=False)
    (path / "g.toml").write_text(
        f'encode = "onehot"\n[groups]\n"the size of the house and of its garden" = ["{LONG}", "rooms"]\n'
        'against = ["half"]\nbad = ["noise", "damp"]\ntown = ["town"]\n', encoding="utf-8"
    )
    return path


def lines_of(folder: Path, command: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")
    done = CliRunner().invoke(app, command.split(), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout.splitlines()


@pytest.mark.parametrize("command", [f"{name} --help".strip() for name in COMMANDS])
def test_help_fits_the_screen_and_is_not_cut(folder: Path, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = lines_of(folder, command, monkeypatch)
    assert max(map(len, lines)) <= 80
    assert not [line for line in lines if line.endswith("...") and "Usage:" not in line]


def test_what_commands_print_fits_the_screen(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All commands in their order, each with all it can print."""
    printed = {
        command: lines_of(folder, command, monkeypatch)
        for command in (
            "groups init d.csv --target price", "groups check d.csv g.toml --target price",
            f"fit {WITH} --out m.json --certificate c.json --force", "explain m.json d.csv --within 9 --bootstrap 5",
            f"compare {WITH} --relaxation active-set --relaxation perspective --depth 1", "verify c.json d.csv",
            "demo --report demo.html --force",
        )
    }
    for command, lines in printed.items():
        too_long = [line for line in lines if len(line) > 80 and "demo.html" not in line]
        assert not too_long and len(lines) > 1, command
        assert not [line for line in lines if line.endswith(("...", "…"))], command
    assert "TheAreaOfThe" in "".join(printed["explain m.json d.csv --within 9 --bootstrap 5"])


def test_reports_of_python_fit_the_screen(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    data = pd.read_csv(folder / "d.csv").drop(columns="town")
    groups = {"the size of the house and of its garden": [LONG, "rooms"], "against": ["half"], "bad": ["noise", "damp"]}
    model = PartLSRegressor(groups).fit(data.drop(columns="price"), data["price"])
    reports = [
        model.summary(), model.sign_certainty(), model.price_of_constraint(), model.bootstrap(3),
        model.contributions(data.drop(columns="price")),
    ]
    assert max(len(line) for report in reports for line in str(report).split("\n")) <= 80
    assert not [line for report in reports for line in str(report).split("\n") if line.endswith("...")]
    assert "(50 more)" in str(reports[-1])
    assert min(row.variance_share for row in model.summary().rows) < 0
    assert NEGATIVE_SHARE in " ".join(str(model.summary()).split())


def test_a_table_gives_way_in_its_text_and_never_in_its_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    headers = ("group", "a long heading", "another long heading", "1", "2", "3")
    shown = table(headers, [["one_long_name_of_a_group_of_columns", *(["123456.789"] * 5)]])
    assert max(map(len, shown.split("\n"))) <= 60
    assert shown.count("123456.789") == 5
    assert shown.count("one_long_") == 2  # the columns that do not fit beside it stand below
    monkeypatch.setenv("COLUMNS", "200")
    assert table(headers, [["a", *"12345"]]).count("\n") == 3


def test_text_is_folded_where_it_reads_best() -> None:
    assert folded("BsmtCond_(missing)", 12) == ["BsmtCond_", "(missing)"]
    assert folded("abcdefgh", 3) == ["abc", "def", "gh"]
    assert wrapped("one two three", 8) == "one two\n  three"
    assert wrapped("a" * 50, 40) == "a" * 50


def test_a_share_that_is_not_zero_is_not_shown_as_zero() -> None:
    assert [percent(share) for share in (0.0, 1e-7, -1e-7, 0.0012)] == ["0.00%", "<0.01%", ">-0.01%", "0.12%"]


def test_patterns_that_differ_in_arbitrary_signs_are_one_line() -> None:
    rng = np.random.default_rng(2)
    towns = pd.get_dummies(pd.Series(rng.choice(list("abc"), 60)), prefix="town", dtype=float)
    X = towns.assign(size=rng.normal(size=60), age=rng.normal(size=60))
    y = X["size"] + 0.02 * X["age"] + X["town_a"] + rng.normal(size=60)
    model = PartLSRegressor({"town": ["town_*"], "size": ["size"], "age": ["age"]}).fit(X, y)
    certainty = model.sign_certainty(within=0.1)
    assert [row.exact for row in certainty.rows] == [True] * 3 and certainty.rows[0].increase == 0
    printed = str(certainty).split("signs", 2)[-1].splitlines()
    patterns = [line.split()[0] for line in printed if line.startswith(("*", "+", "-")) and "---" not in line]
    assert len(certainty.near_ties) == 4 and sorted(patterns) == ["*++", "*+-"]
    assert "(* is either sign)" in str(certainty)


def test_long_work_says_what_it_does_where_nobody_watches(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports, proofs, explanations and comparisons have a line for every half minute."""
    lines: list[str] = []
    monkeypatch.setattr(progress, "heartbeat", lambda line: nullcontext(lines.append(line())))
    monkeypatch.chdir(folder)
    told = {
        f"fit {WITH} --out m2.json --certificate c2.json --report p2.html --force": (
            "searching", "writing the report", "writing the proof"
        ),
        "explain m2.json d.csv --bootstrap 3": ("certainty of the signs", "price of the constraint", "resamples"),
        f"compare {WITH} --relaxation active-set": ("searching", "comparing the relaxations"),
        "verify c2.json d.csv": ("checking the proof",),
    }
    for command, words in told.items():
        lines.clear()
        done = CliRunner().invoke(app, command.split(), catch_exceptions=False)
        assert done.exit_code == 0, done.output
        assert all(any(line.startswith(f"{word}: ") for line in lines) for word in words), (command, lines)
