"""The command line: ``partls demo`` and ``partls verify``."""

from __future__ import annotations

import json

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from partls.cli_verify import verify
from partls.result import Result

app = typer.Typer(help="Partitioned Least Squares: regression in which the features of a group share one sign.")


@app.callback()
def commands() -> None:
    """Partitioned Least Squares: regression in which the features of a group share one sign."""


@app.command()
def demo(
    as_json: bool = typer.Option(False, "--json", help="Print one machine-readable document and nothing else."),
) -> None:
    """Fit the embedded example to proven optimality and print what each group contributes.

    Example: partls demo
    """
    from partls.demo import diabetes
    from partls.solve import solve_instance
    from relaxations.kernel import load

    load("partls.search._walk")  # so that the time shown is the fit's, not the compiler's
    result = solve_instance(diabetes())
    if as_json:
        typer.echo(json.dumps(as_document(result), indent=2))
        return
    console = Console()
    console.print(group_table(result))
    audit = result.audit()
    console.print(
        f"[bold]{result.status.value}[/]: squared error {result.objective:.6g}, proven gap {result.gap:.1e}, "
        f"{result.n_nodes} nodes in {result.seconds * 1e3:.1f} ms; audit {'passed' if audit.passed else 'FAILED'} "
        f"(optimality residual {audit.kkt_residual:.1e})"
    )


app.command()(verify)


def group_table(result: Result) -> Table:
    """Return one row per group: its sign and weight, and the share of each of its features."""
    partition = result.instance.partition
    columns = partition.columns or tuple(str(j) for j in range(partition.n_columns))
    table = Table(title="Groups and the features that carry them")
    table.add_column("group", style="bold")
    table.add_column("sign", justify="center")
    table.add_column("beta", justify="right")
    table.add_column("alpha: share of each feature")
    for k, name in enumerate(partition.names):
        members = partition.members(k)
        order = members[np.argsort(-result.alpha[members], kind="stable")]
        shares = ", ".join(f"{columns[m]} {result.alpha[m]:.0%}" for m in order)
        table.add_row(name, "-0+"[int(result.signs[k]) + 1], f"{result.beta[k]:.4g}", shares)
    return table


def as_document(result: Result) -> dict[str, object]:
    """Return the result as plain data for JSON."""
    partition = result.instance.partition
    columns = partition.columns or tuple(str(j) for j in range(partition.n_columns))
    return {
        "status": result.status.name,
        "objective": result.objective,
        "lower_bound": result.lower_bound,
        "gap": result.gap,
        "intercept": result.intercept,
        "coef": dict(zip(columns, result.coef.tolist(), strict=True)),
        "groups": {
            name: {
                "beta": float(result.beta[k]),
                "sign": int(result.signs[k]),
                "alpha": {columns[m]: float(result.alpha[m]) for m in partition.members(k)},
            }
            for k, name in enumerate(partition.names)
        },
    }


def main() -> None:
    """Run the command line."""
    app()
