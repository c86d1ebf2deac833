"""Pages made from what the repository holds: one per page of benchmark results, and the help of every command.

They include or quote their source, so that no figure and no option is ever copied by hand.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]


def make(app: Sphinx) -> None:
    folder = Path(app.srcdir) / "_generated"
    wanted = {"command-line.md": _commands()}
    for page in sorted((ROOT / "benchmarks" / "results").glob("*.md")):
        wanted[f"results/{page.name.lower()}"] = _included(page, folder / "results")
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


def _included(page: Path, folder: Path) -> str:
    source = os.path.relpath(page, folder)
    return f"```{{include}} {source}\n:relative-images:\n:relative-docs: ./\n```\n"


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
        context = command.context_class(command, info_name=name.rpartition(" ")[2], parent=parent, terminal_width=96)
        yield name, command.get_help(context)
        for child, sub in getattr(command, "commands", {}).items():
            yield from walk(sub, f"{name} {child}", context)

    yield from walk(get_command(commands), program)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("config-inited", lambda app, config: make(app))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
