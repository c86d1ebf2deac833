"""``partls demo``: the embedded example, fitted to proven optimality."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from partls.cli import data_options as source
from partls.cli.output import Force, group_document, group_table, guarded, print_document, show
from partls.cli.output_paths import check_places
from partls.runtime.progress import working


@guarded
def demo(
    report: Annotated[
        Path | None, typer.Option(metavar="page.html", help="Where to write the page [default: a temporary folder].")
    ] = None,
    force: Force = False,
    as_json: source.AsJson = False,
) -> None:
    """Fit the embedded example to proven optimality and print what each group contributes.

    Example: partls demo
    """
    from partls.demo import diabetes
    from partls.report import write_report
    from partls.solve import solve_instance
    from relaxations import kernel

    check_places({"--report": report}, force=force)
    _ = kernel.walk  # compiled now, so that the time shown is the fit's, not the compiler's
    result = solve_instance(diabetes())
    partition, audit = result.instance.partition, result.audit()
    page = report or Path(tempfile.mkdtemp(prefix="partls-")) / "demo.html"
    with working("writing the report"):
        write_report(result, page, title="The progression of diabetes", target="progression")
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
        f"{result.n_nodes} nodes in {result.seconds * 1e3:.1f} ms; audit {'passed' if audit.passed else 'FAILED'} "
        f"(optimality residual {audit.kkt_residual:.1e})"
    )
    show(f"The report to look at: {page}", soft_wrap=True, markup=False)
