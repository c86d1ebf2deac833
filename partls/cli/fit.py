"""``partls fit``: a file and a list of groups in, a proven model out."""

from __future__ import annotations

import warnings
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.text import Text

from formulations.errors import InvalidInput, counted
from partls.cli import data_options as source
from partls.cli import known_signs, model_file
from partls.cli.cluster import cluster
from partls.cli.file_kinds import check_arguments
from partls.cli.fit_options import Output, Search
from partls.cli.objective import Objective
from partls.cli.option_groups import unbundled
from partls.cli.output import (
    NOT_PROVEN,
    exit_code,
    finite,
    group_document,
    group_table,
    guarded,
    harmless,
    print_document,
    say,
    say_to_people,
    show,
)
from partls.cli.output_paths import check_places
from partls.cli.proof_data import ProofData
from partls.cli.training_data import TrainingData
from partls.cli.unlike_scales import unlike_scales
from partls.explain.report import EXACT_FIT
from partls.result import PROVEN, Result, Status
from partls.runtime.progress import working

if TYPE_CHECKING:
    from partls.estimators.regressor import PartLSRegressor


_CERTAINTY = 30.0  # seconds at most for the certainty of the signs on the page


@guarded
@unbundled
def fit(
    data: source.Data,
    columns: source.Columns,
    objective: Objective,
    search: Search,
    output: Output,
    spelling: source.Spelling,
    memory: source.Memory = source.MEMORY,
    as_json: source.AsJson = False,
) -> None:
    """Fit a model to proven optimality.

    For example:

        partls fit houses.csv --target price --groups groups.toml

        partls fit houses.csv --target price --groups g.toml --report page.html

        partls fit sales.csv.gz --target sold --groups g.csv --encode onehot

        partls fit sales/ --target sold --groups g.csv --scheduler tcp://h:8786

    Exit codes: 0 proven optimal or within --gap, 2 bad input, 3 not proven, or no proof written (the model is usable),
    130 Ctrl-C (the best model so far is saved to --out).
    """
    check_arguments("partls fit DATA --groups GROUPS", data=data, groups=columns.groups)
    objective.check()
    search.check()
    output.check(search.method)
    check_places(
        {**output.places, "--checkpoint": search.checkpoint}, {"the data": data, "the groups": columns.groups},
        force=output.force,
    )
    with cluster(search.scheduler) as client:
        problem = columns.read(
            spelling.open(data), objective, memory=memory, kept_for=output.needs_rows, client=client
        )
        known_signs.check(search.signs, problem.partition)
        model, rows = _fitted(problem, objective, search, columns.ungrouped, client), problem.rows
    units = " (standardised columns)" if columns.standardize else ""
    try:
        if output.out is not None:
            model_file.save(model, rows, problem.preparation, output.out)
            say_to_people(f"model saved to {output.out}")
    finally:  # what was found is seen, even where it cannot be saved
        if as_json:
            print_document(_document(model, rows))
        else:
            _show(model, rows, units, search.gap)
            if told := unlike_scales(problem.partition, rows):
                show(Text(harmless(told)))
    written = _write(model, problem, output, f"What explains {columns.target}{units}", columns.target, search)
    code = exit_code(model.status_, model.gap_, search.gap)
    if code:
        _tell_unproven(model, output, search.checkpoint)
    if code or not written:
        raise typer.Exit(code or NOT_PROVEN)


def _fitted(problem: source.GroupedData, objective: Objective, search: Search, ungrouped: str, executor: Any
            ) -> PartLSRegressor:
    """Return the fitted estimator; the summary at the end says that a limit ended the search, not a warning."""
    import numpy as np

    from partls.estimators.regressor import PartLSRegressor

    rows = problem.rows
    model = PartLSRegressor(
        problem.partition, method=search.strategy(), presolve=search.presolve, **objective.options,
        time_limit=search.time_limit, gap_tol=search.gap, n_jobs=search.n_jobs,
        signs=known_signs.parsed(search.signs), ungrouped=ungrouped, random_state=0, verbose=1,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X, y, sample_weight = rows.given()
        model.fit(X, y, sample_weight=sample_weight, executor=executor)
    model.feature_names_in_ = np.array(rows.columns, dtype=object)
    return model


def _write(
    model: PartLSRegressor, problem: source.GroupedData, output: Output, title: str, target: str, search: Search
) -> bool:
    """Write the page and the proof, if they are wanted, and return whether the proof is there.

    After Ctrl-C there is no wait for the signs' certainty.
    """
    if output.report is not None:
        from partls.report import write_report

        limit = min(_CERTAINTY, _CERTAINTY if search.time_limit is None else search.time_limit)
        limit = 0.0 if model.status_ is Status.INTERRUPTED else limit
        with working("writing the report"):
            write_report(model, output.report, title=title, target=target, time_limit=limit, units=problem.rows.units)
        say_to_people(f"report written to {output.report}")
    if output.certificate is not None:
        return _write_proof(model._one_result(None), ProofData.of(problem), output.certificate, search)
    return True


def _write_proof(result: Result, data: ProofData, path: Path, search: Search) -> bool:
    """Write the proof of the model, and say what it lacks; return whether it was written."""
    from partls.prove.proof_file import write_proof
    from partls.runtime.interrupts import keyboard
    from partls.runtime.options import a_priori_signs

    root = a_priori_signs(result.instance, known_signs.parsed(search.signs))
    with working("writing the proof"), keyboard() as keys:
        written = write_proof(
            result, root, path, search.gap, search.time_limit, keys, preparation=_that_fits(data)
        )
    if written.interrupted:
        raise KeyboardInterrupt
    if written.problem:
        say(written.problem)
    else:
        say_to_people(f"proof written to {path}: check it with partls verify {path} DATA")
    return not written.not_written


def _that_fits(data: ProofData) -> dict[str, Any] | None:
    """Return what a proof says of its table, or None and a word on it where that is too much for a proof."""
    from partls.verification.document import checked_preparation

    try:
        return checked_preparation(data.document())
    except InvalidInput as error:
        say(f"{error}: partls verify will need --target, --groups and the other options of this fit")
        return None


def _tell_unproven(model: PartLSRegressor, output: Output, checkpoint: Path | None) -> None:
    out = output.out
    saved = f"the best model so far is saved to {out}" if out else "use --out to keep the best model so far"
    forced = " with --force" if any(output.places.values()) and not output.force else ""
    more = f"; the same command{forced} resumes from {checkpoint}" if checkpoint else ""
    say(f"{model.status_.value}: no model can be more than {model.gap_:.2%} better; {saved}{more}")


def _show(model: PartLSRegressor, rows: TrainingData, units: str, gap: float) -> None:
    """Print the groups and what was proved."""
    result, facts = model._one_result(None), model._facts()[0]
    show(group_table(result, units=units))
    dropped = f" ({rows.n_dropped:,} with missing values left out)" if rows.n_dropped else ""
    nodes = f"{result.n_nodes:,} node{'s' * (result.n_nodes != 1)}"
    proved = EXACT_FIT if result.rounded.vanishes else f"objective {result.objective:.8g}, proven {result.told_gap}"
    colour = "bold yellow" if exit_code(result.status, result.gap, gap) else "bold green"
    show(
        Text(result.status.value, style=colour),
        Text(
            f"R^2 {facts.r_squared:.4f} on {counted(rows.n_rows, 'row')}{dropped}; intercept "
            f"{result.intercept:.6g}; {proved}, {nodes} in {result.seconds:.3g} s"
        ),
    )
    for line in (*([str(result.presolve)] if result.presolve else []), *result.ambiguities.lines):
        show(Text(harmless(line)))


def _document(model: PartLSRegressor, rows: TrainingData) -> dict[str, Any]:
    """Return the result as plain data; coefficients are those of the standardised columns, where these were fitted."""
    result = model._one_result(None)
    return {
        "status": result.status.name,
        "proven": result.status in PROVEN,
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
        "presolve": None if result.presolve is None else asdict(result.presolve),
        "ambiguities": asdict(result.ambiguities),
    }
