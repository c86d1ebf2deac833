"""``partls fit``: a file and a list of groups in, a proven model out."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from formulations.errors import InvalidInput
from partls.cli import model_file, source
from partls.cli.output import (
    console,
    exit_code,
    finite,
    group_document,
    group_table,
    guarded,
    in_terminal,
    print_document,
    say,
    say_to_people,
)
from partls.options import chosen
from partls.result import Status
from partls.training_data import TrainingData

if TYPE_CHECKING:
    from partls.estimator import PartLSRegressor


def _methods() -> list[str]:
    from partls.solve import METHODS

    return list(METHODS)


def _relaxations() -> list[str]:
    from relaxations import MEMBERS

    return list(MEMBERS)


Method = Annotated[str, typer.Option(metavar="NAME", help="auto, bnb, enumerate, ...", autocompletion=_methods)]
Relaxation = Annotated[
    str, typer.Option(metavar="NAME", help="Lower bound of branch and bound.", autocompletion=_relaxations)
]
TimeLimit = Annotated[float | None, typer.Option(metavar="SECONDS", help="Then the best model so far is returned.")]
Gap = Annotated[float, typer.Option(metavar="SHARE", help="Relative gap at which the search may stop.")]
Jobs = Annotated[int, typer.Option("--n-jobs", metavar="N", help="Threads; -1 is one per core.")]


@guarded
def fit(
    data: source.Data,
    target: source.Target,
    groups: source.Groups,
    method: Method = "auto",
    eta: source.Eta = 0.0,
    penalty: source.Penalty = "l2",
    relaxation: Relaxation = "active-set",
    time_limit: TimeLimit = None,
    gap: Gap = 1e-9,
    n_jobs: Jobs = 1,
    weights: source.Weights = None,
    drop: source.Drop = None,
    encode: source.Encode = None,
    missing: source.Missing = "error",
    standardize: source.Standardize = False,
    ungrouped: source.Ungrouped = "error",
    intercept: source.Intercept = True,
    out: Annotated[Path | None, typer.Option(metavar="model.json", help="Save the model.")] = None,
    report: Annotated[Path | None, typer.Option(metavar="page.html", help="Write a page to look at and share.")] = None,
    delimiter: source.Delimiter = None,
    encoding: source.Encoding = None,
    decimal: source.Decimal = ".",
    memory: source.Memory = source.MEMORY,
    scheduler: source.Scheduler = None,
    as_json: source.AsJson = False,
) -> None:
    """Fit a model to proven optimality.

    For example:

        partls fit houses.csv --target price --groups groups.toml

        partls fit houses.parquet --target price --groups groups.csv --out model.json --report model.html

        partls fit sales/ --target sold --groups groups.toml --scheduler tcp://127.0.0.1:8786

        partls fit sales.csv.gz --target sold --groups groups.toml --encode onehot --missing mean --standardize
    """
    chosen("--penalty", penalty, ["l2", "l1"])
    chosen("--method", method, _methods())
    chosen("--relaxation", relaxation, _relaxations())
    model_file.check_place(out, "--out")
    model_file.check_place(report, "--report")
    with source.cluster(scheduler) as client:
        problem = source.read(
            data, groups, target=target, weights=weights, drop=drop, encode=encode, missing=missing,
            standardize=standardize, ungrouped=ungrouped, delimiter=delimiter, encoding=encoding, decimal=decimal,
            memory=memory, client=client,
        )
        rows = problem.rows
        if report is not None and rows.folded:
            raise InvalidInput(
                f"--report shows every row, and the {rows.n_rows:,} rows of {data} were folded to save memory: "
                "allow more with --memory, or leave --report out"
            )
        model = _fitted(
            rows, problem.partition, client, method=method, eta=eta, penalty=penalty, relaxation=relaxation,
            time_limit=time_limit, gap_tol=gap, n_jobs=n_jobs, ungrouped=ungrouped, fit_intercept=intercept,
            verbose=int(in_terminal()),
        )
    if out is not None:
        model_file.save(model, rows, problem.preparation, out)
        say_to_people(f"model saved to {out}")
    if report is not None:
        from partls.report import write_report

        write_report(model, report)
        say_to_people(f"report written to {report}")
    if as_json:
        print_document(_document(model, rows))
    else:
        _show(model, rows)
    code = exit_code(model.status_)
    if code:
        saved = f"the best model so far is saved to {out}" if out else "use --out to keep the best model so far"
        say(f"{model.status_.value}: no model can be more than {model.gap_:.2%} better; {saved}")
        raise typer.Exit(code)


def _fitted(rows: TrainingData, partition: Any, executor: Any, **options: Any) -> PartLSRegressor:
    """Return the estimator, fitted; that a limit ended the search is told at the end, not as a warning."""
    import numpy as np

    from partls.estimator import PartLSRegressor
    from relaxations.kernel import load

    load("partls.search._walk")  # says that it compiles, where it must, before the search shows its line
    model = PartLSRegressor(partition, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(rows.X, rows.y, sample_weight=rows.sample_weight, executor=executor)
    model.feature_names_in_ = np.array(rows.columns, dtype=object)
    return model


def _show(model: PartLSRegressor, rows: TrainingData) -> None:
    """Print the groups and what was proved."""
    result, facts = model._one_result(None), model._facts()[0]
    units = " (standardised columns)" if rows.scale is not None else ""
    screen = console()
    screen.print(group_table(result.instance.partition, result.alpha, result.beta, units=units))
    colour = "bold green" if not exit_code(result.status) else "bold yellow"
    screen.print(
        Text(result.status.value, style=colour),
        Text(
            f"R^2 {facts.r_squared:.4f} on {rows.n_rows:,} rows; intercept {result.intercept:.6g}; objective "
            f"{result.objective:.8g}, proven gap {result.gap:.1e}, {result.n_nodes:,} nodes in {result.seconds:.3g} s"
        ),
    )


def _document(model: PartLSRegressor, rows: TrainingData) -> dict[str, Any]:
    """Return the result as plain data; coefficients are those of the standardised columns, where these were fitted."""
    result = model._one_result(None)
    return {
        "status": result.status.name,
        "proven": result.status in (Status.OPTIMAL, Status.GAP_REACHED),
        "method": result.method,
        "objective": result.objective,
        "lower_bound": finite(result.lower_bound),
        "gap": finite(result.gap),
        "r_squared": model._facts()[0].r_squared,
        "nodes": result.n_nodes,
        "seconds": result.seconds,
        "rows": rows.n_rows,
        "rows_dropped": rows.n_dropped,
        "folded": rows.folded,
        "standardized": rows.scale is not None,
        "intercept": result.intercept,
        "coef": dict(zip(rows.columns, result.coef.tolist(), strict=True)),
        "groups": group_document(result.instance.partition, result.alpha, result.beta),
    }
