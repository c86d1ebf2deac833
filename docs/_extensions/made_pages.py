"""Pages made from what the repository holds: one per benchmark study, and the help of every command.

They are written anew by every build, so that no figure and no option is ever copied by hand.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]


def make(app: Sphinx) -> None:
    folder = Path(app.srcdir) / "_generated"
    wanted = {"command-line.md": _commands()}
    results = ROOT / "benchmarks" / "results"
    for study in (ROOT / "benchmarks" / "studies").glob("[!_]*.py"):
        command = f"python -m benchmarks --study {study.stem}"
        wanted[f"results/{study.stem}.md"] = f"# {study.stem}\n\nNot run yet: `{command}`.\n"
    for page in results.glob("*.md"):
        wanted[f"results/{page.name.lower()}"] = _moved(page, folder / "results")
    for name, text in wanted.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for path in folder.rglob("*.md"):
        if str(path.relative_to(folder)) not in wanted:
            path.unlink()
    examples = {path.stem for path in (ROOT / "examples" / "gallery").glob("*.py")}
    for path in (Path(app.srcdir) / "gallery").glob("plot_*"):  # what a renamed example has left behind
        if path.name.partition(".")[0] not in examples:
            path.unlink()


def _moved(page: Path, folder: Path) -> str:
    """Return a page as it reads from another folder: other pages are there too, tables and pictures are not."""
    back = os.path.relpath(page.parent, folder)

    def moved(link: re.Match[str]) -> str:
        target = link[1]
        if "://" in target or target.startswith("#"):
            return link[0]
        if target.endswith(".md") and "/" not in target:
            return f"]({target.lower()})"
        return f"]({back}/{target})"

    text = page.read_text(encoding="utf-8").replace("$PARTLS", r"\$PARTLS")  # a variable, not a formula
    return re.sub(r"\]\(([^)\s]+)\)", moved, text)


def _commands() -> str:
    lines = ["# Command line", "", "What `partls --help` and its commands print.", ""]
    for name, text in _help("partls"):
        lines += [f"## {name}", "", "```text", text.rstrip(), "```", ""]
    return "\n".join(lines)


def _help(program: str) -> Iterator[tuple[str, str]]:
    """Yield each command, parents first, with its help on eighty columns."""
    from typer.main import get_command

    from partls.cli import app as commands

    def walk(command, name: str, parent=None) -> Iterator[tuple[str, str]]:
        context = command.context_class(command, info_name=name.rpartition(" ")[2], parent=parent, terminal_width=80)
        yield name, command.get_help(context)
        for child, sub in getattr(command, "commands", {}).items():
            yield from walk(sub, f"{name} {child}", context)

    yield from walk(get_command(commands), program)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("config-inited", lambda app, config: make(app))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
