"""Run the code of the guide: ``python docs/blocks.py [--update] [page.md ...]``.

Python blocks of a page share one namespace, bash blocks run beside them, all in one empty folder. A block whose first
line is ``# name.py`` becomes that file. A ``text`` block right after a block of code is what it prints, in which
``...`` stands for anything; ``--update`` writes what is printed now where that differs. Only a block under a comment
``<!-- not run: why -->`` is left out.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

ROOT = Path(__file__).resolve().parents[1]
NOT_PAGES = {"gallery", "_generated"}  # made by the build
BLOCK = re.compile(
    r"(?:^<!-- not run: (?P<reason>[^\n]+) -->\n)?"
    r"^```(?P<language>python|bash)\n(?P<code>.*?)^```$"
    r"(?:\n\n?```text\n(?P<output>.*?)^```$)?",
    re.DOTALL | re.MULTILINE,
)
VARYING = re.compile(r"[\d,]+ nodes(,| in) [\d.]+ (µs|ms|s)\b")  # with the machine, or with the search
WIDTH = "110"  # of the screen that the blocks print to
FILE = re.compile(r"# (\w+\.py)\n")


@dataclass(frozen=True)
class Block:
    """One block of code, what it should print, and where both stand in the page."""

    language: str
    code: str
    line: int
    output: str | None
    output_span: tuple[int, int]
    not_run: str


class PageError(Exception):
    """A block failed or printed something else than the page says."""


def pages() -> list[Path]:
    """Return every page that people wrote."""
    folder = ROOT / "docs"
    found = (path for path in folder.rglob("*.md") if not NOT_PAGES & set(path.relative_to(folder).parts))
    return sorted(found)


def blocks(text: str) -> list[Block]:
    """Return the blocks of Python and bash code of a page."""
    return [
        Block(
            match["language"],
            match["code"],
            text.count("\n", 0, match.start("code")) + 1,
            match["output"],
            match.span("output"),
            match["reason"] or "",
        )
        for match in BLOCK.finditer(text)
    ]


def matches(expected: str, printed: str) -> bool:
    """Tell whether this was printed, spaces and line ends aside, ``...`` standing for anything."""
    if expected.strip() == "...":
        return False  # says nothing
    parts = [re.escape(" ".join(part.split())) for part in expected.split("...")]
    pattern = r"\s*.*?\s*".join(parts)
    return re.fullmatch(rf"\s*{pattern}\s*", " ".join(printed.split()), re.DOTALL) is not None


def run_page(path: Path, folder: Path) -> Iterator[tuple[Block, str]]:
    """Run the blocks of a page in a folder and yield each with what it printed."""
    names: dict[str, Any] = {"__name__": "__main__"}
    before, modules = Path.cwd(), set(sys.modules)
    sys.path.insert(0, str(folder))
    os.chdir(folder)
    try:
        with patch.dict(os.environ, COLUMNS=WIDTH):
            for block in blocks(path.read_text(encoding="utf-8")):
                if not block.not_run:
                    yield block, _run(block, path, names)
    finally:
        os.chdir(before)
        sys.path.remove(str(folder))
        for name in set(sys.modules) - modules:  # the page's own files
            if str(getattr(sys.modules[name], "__file__", "")).startswith(str(folder)):
                del sys.modules[name]


def check_page(path: Path, folder: Path, *, update: bool = False) -> list[str]:
    """Run a page; raise or, with ``update``, correct it where it prints something else. Return what was corrected."""
    text, changes = path.read_text(encoding="utf-8"), []
    for block, printed in run_page(path, folder):
        if block.output is None or matches(block.output, printed):
            continue
        if not update:
            raise PageError(
                f"{path.name}, line {block.line} prints\n{printed}\nand the page says\n{block.output}\n"
                f"If the new output is right: python docs/blocks.py --update {path.relative_to(ROOT)}"
            )
        changes.append((block, printed))
    for block, printed in reversed(changes):
        start, end = block.output_span
        lines = VARYING.sub("...", printed).strip("\n").splitlines()
        text = text[:start] + "".join(f"{line.rstrip()}\n" for line in lines) + text[end:]
    if changes:
        path.write_text(text, encoding="utf-8")
    return [f"{path.name}, line {block.line}" for block, _ in changes]


def _run(block: Block, path: Path, names: dict[str, Any]) -> str:
    where = f"{path.name}, line {block.line}"
    if block.language == "bash":
        return run_bash(block.code, where)
    named = FILE.match(block.code)
    if named:
        Path(named[1]).write_text(block.code, encoding="utf-8")
        return ""
    code = compile("\n" * (block.line - 1) + block.code, str(path), "exec")
    with contextlib.redirect_stdout(io.StringIO()) as printed, warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            exec(code, names)
        except Exception as error:
            raise PageError(f"{where}: {type(error).__name__}: {error}") from error
    return printed.getvalue()


def run_bash(code: str, where: str) -> str:
    """Run commands as the reader would, with this tree's packages and this Python's scripts."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    scripts = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "PATH": scripts, "COLUMNS": WIDTH}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", code],
        env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300,
    )
    if done.returncode:
        raise PageError(f"{where}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def main(arguments: list[str]) -> int:
    """Run the pages named, or all."""
    os.environ["MPLBACKEND"] = "Agg"
    sys.path.insert(0, str(ROOT))
    chosen = [Path(name).resolve() for name in arguments if not name.startswith("-")] or pages()
    for path in chosen:
        with tempfile.TemporaryDirectory() as folder:
            try:
                changed = check_page(path, Path(folder), update="--update" in arguments)
            except PageError as error:
                print(error)
                return 1
        print(f"{path.relative_to(ROOT)}: {'updated ' + '; '.join(changed) if changed else 'as printed'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
