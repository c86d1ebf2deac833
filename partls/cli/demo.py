"""``partls demo``: the embedded example, fitted to proven optimality."""

from __future__ import annotations

import os
import tempfile
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from formulations.errors import InvalidInput, counted
from partls.cli import data_options as source
from partls.cli.output import Force, group_document, group_table, guarded, print_document, show
from partls.cli.output_paths import check_places
from partls.runtime.progress import working

_PAGE, _TITLE = "partls-demo.html", "The progression of diabetes"
_HEAD = 4096  # bytes that hold the title of a page


@guarded
def demo(
    report: Annotated[
        Path | None, typer.Option(metavar="page.html", help=f"Where to write the page [default: {_PAGE}].")
    ] = None,
    show_page: Annotated[bool, typer.Option("--open", help="Show the page in a browser.")] = False,
    force: Force = False,
    as_json: source.AsJson = False,
) -> None:
    """Fit the embedded example to proven optimality and print what each group contributes.

    Example: partls demo
    """
    from partls.demo import diabetes
    from partls.report import write_report
    from partls.solve import solve_instance

    page = report or _own_page()
    check_places({"--report": page}, force=force or report is None)
    result = solve_instance(diabetes())
    partition, audit = result.instance.partition, result.audit()
    with working("writing the report"):
        write_report(result, page, title=_TITLE, target="progression")
    if as_json:
        columns = partition.columns or ()
        print_document({
            "status": result.status.name, "objective": result.objective, "lower_bound": result.lower_bound,
            "gap": result.gap, "audit_passed": audit.passed, "report": str(page),
            "intercept": result.intercept, "coef": dict(zip(columns, result.coef.tolist(), strict=True)),
            "groups": group_document(partition, result.alpha, result.beta),
        })
        return
    show(group_table(result))
    show(
        f"[bold]{result.status.value}[/]: squared error {result.objective:.6g}, proven gap {result.gap:.1e}, "
        f"{counted(result.n_nodes, 'node')} in {result.seconds * 1e3:.1f} ms; "
        f"audit {'passed' if audit.passed else 'FAILED'} "
        f"(optimality residual {audit.kkt_residual:.1e})"
    )
    show(f"report written to {page.resolve()}", soft_wrap=True, markup=False)
    if show_page:
        webbrowser.open(page.resolve().as_uri())


def _own_page() -> Path:
    """Return where the page goes unasked: into the folder that people are in, but never over a file of theirs."""
    page = Path(_PAGE)
    if not os.access(page.parent, os.W_OK):
        return Path(tempfile.mkdtemp(prefix="partls-")) / _PAGE
    if page.exists() and not _is_ours(page):
        raise InvalidInput(f"{page} is not a page of partls demo: move it, or give --report another name")
    return page


def _is_ours(page: Path) -> bool:
    """Return whether an earlier demo has written this page."""
    if not page.is_file():
        return False
    head = page.read_bytes()[:_HEAD]
    return b'<meta name="generator" content="partls">' in head and f"<title>{_TITLE}</title>".encode() in head
