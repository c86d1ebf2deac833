"""The command with standard streams that are closed, full, narrow or read by nobody."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.test_cli import FIT, folder, houses  # noqa: F401

NOWHERE = "/dev/full"  # takes nothing
FULL = "error: standard output cannot be used (No space left on device)\n"


def shell(line: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a line of bash in which PARTLS stands for the command and its arguments; its code is that of the command."""
    untraced = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    settings = {**untraced, "PYTHONPATH": str(Path(__file__).parents[1]), **environment}
    line = line.replace("PARTLS", '"$@"') + "; exit ${PIPESTATUS[0]}"
    command = ["bash", "-c", line, "bash", sys.executable, "-W", "error", "-m", "partls", *arguments]
    return subprocess.run(command, capture_output=True, env=settings, timeout=120, encoding="latin-1")


def test_files_are_written_though_nobody_reads_the_result(folder: Path) -> None:  # noqa: F811
    done = shell("PARTLS | true", *FIT, "--out", "m.json", "--report", "r.html", "--certificate", "c.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert {"m.json", "r.html", "c.json"} <= {path.name for path in folder.iterdir()}
    done = shell("PARTLS | true", "predict", "m.json", "houses.csv")
    assert (done.returncode, done.stderr) == (0, "")
    Path("bad.toml").write_text('[groups]\np = ["are"]\n', encoding="utf-8")
    for line in ("PARTLS 2>&1 | true", "PARTLS --json | true"):
        assert shell(line, "groups", "check", "houses.csv", "bad.toml").returncode == 2


def test_a_full_disk_costs_what_is_printed_alone(folder: Path) -> None:  # noqa: F811
    done = shell(f"PARTLS > {NOWHERE}", *FIT, "--out", "m.json", "--report", "r.html")
    assert (done.returncode, done.stderr) == (2, FULL)
    assert {"m.json", "r.html"} <= {path.name for path in folder.iterdir()}
    done = shell(f"PARTLS > {NOWHERE}", "predict", "m.json", "houses.csv")
    assert (done.returncode, done.stderr) == (2, FULL)
    assert shell(f"PARTLS 2> {NOWHERE}", "predict", "nowhere.json", "houses.csv").returncode == 2


def test_closed_streams_are_silent(folder: Path) -> None:  # noqa: F811
    done = shell("PARTLS >&- 2>&-", *FIT, "--out", "m.json")
    assert (done.returncode, done.stderr) == (0, "")
    done = shell("PARTLS >&-", "predict", "m.json", "houses.csv")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    done = shell("PARTLS 2>&-", "predict", "m.json", "houses.csv")
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 81)
    assert shell("PARTLS 2>&-", "predict", "nowhere.json", "houses.csv").returncode == 2


def test_what_an_alphabet_lacks_is_spelled(folder: Path) -> None:  # noqa: F811
    houses().rename(columns={"area": "größe\U0001f600"}).to_csv("u.csv", index=False)
    Path("u.toml").write_text(
        Path("groups.toml").read_text(encoding="utf-8").replace("area", "größe\U0001f600"), encoding="utf-8"
    )
    fit = ("fit", "u.csv", "--target", "price", "--groups", "u.toml", "--drop", "times")
    done = shell("PARTLS", "groups", "init", "u.csv", "--by", "column", PYTHONIOENCODING="latin-1")
    assert "größe\\U0001f600" in done.stdout and done.stderr == ""
    done = shell("PARTLS", *fit, PYTHONIOENCODING="ascii")
    assert "gr\\xf6\\xdfe\\U0001f600 " in done.stdout and done.stderr == ""
    done = shell("PARTLS", *fit, "--json", PYTHONIOENCODING="ascii")
    assert "größe\U0001f600" in json.loads(done.stdout)["coef"]


def test_names_that_are_not_unicode(folder: Path) -> None:  # noqa: F811
    os.rename("groups.toml", b"g\xff.toml")
    done = shell("PARTLS --groups $'g\\xff.toml' --out $'m\\xff.json'", *FIT[:4], *FIT[6:])
    assert (done.returncode, done.stderr) == (0, "")
    os.rename("houses.csv", b"h\xff.csv")
    done = shell("PARTLS $'m\\xff.json' $'h\\xff.csv'", "predict")
    assert done.returncode == 2
    assert done.stderr == "error: h\\udcff.csv: Arrow cannot open a file whose name is not UTF-8; rename it\n"
