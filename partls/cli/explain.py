"""``partls explain``: what a saved model says, how sure its signs are, and what the constraint costs."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from formulations.errors import InvalidInput
from formulations.instance import Instance
from formulations.partition.given_signs import given_signs
from partls.cli import data_options as source
from partls.cli import model_file
from partls.cli.file_kinds import check_arguments
from partls.cli.fit_options import Jobs
from partls.cli.model_file import ModelFile
from partls.cli.option_groups import unbundled
from partls.cli.output import guarded, harmless, print_document, say
from partls.cli.streams import print_stdout
from partls.cli.training_data import TrainingData
from partls.result import Result
from partls.runtime.options import nonnegative, thread_count
from partls.runtime.progress import working


@guarded
@unbundled
def explain(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model saved by partls fit --out.")],
    data: Annotated[Path, typer.Argument(metavar="DATA", help="The data it was fitted to.")],
    spelling: source.Spelling,
    within: Annotated[float, typer.Option(metavar="SHARE", help="List sign patterns this near to the optimum.")] = 0.01,
    bootstrap: Annotated[int, typer.Option(metavar="N", help="Refit to N resamples of the rows.")] = 0,
    time_limit: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Limit for sign certainty and price, and again for the bootstrap."),
    ] = None,
    n_jobs: Jobs = 1,
    memory: source.Memory = source.MEMORY,
    as_json: source.AsJson = False,
) -> None:
    """Explain a model: its groups and features, the certainty of its signs, the price of the constraint.

    For example:

        partls explain model.json houses.csv

        partls explain model.json houses.csv --bootstrap 200 --json
    """
    from partls import explain as explained

    check_arguments("partls explain MODEL DATA", model=model, data=data)
    nonnegative("within", within)
    nonnegative("bootstrap", bootstrap)
    nonnegative("time_limit", time_limit)
    thread_count(n_jobs)
    loaded = model_file.load(model)
    if loaded.preparation.target is None:
        raise InvalidInput(f"{model} was not written by partls fit: it does not say which column is the target")
    table = spelling.open(data, as_text=loaded.preparation.levels)
    wanted = [loaded.preparation.target, *filter(None, [loaded.preparation.weights]), *loaded.preparation.features]
    table.require(wanted, str(model))
    rows = source.read(
        table, loaded.preparation, memory=memory, standardize=loaded.standardized,
        kept_for="--bootstrap" if bootstrap else "",
    )
    result = _result(loaded, rows, data)
    facts = replace(loaded.model._facts()[0], n_rows=rows.n_rows)
    signs = loaded.model.signs
    summary = explained.summarise(result.instance.partition, result.coef, result.intercept, facts, 10)
    reports: dict[str, Any] = {}

    def add(name: str, report: Any) -> None:  # and show it at once: what comes next may take long
        reports[name] = report
        if report is not None and not as_json:
            lines = [] if name == "summary" else ["", name.replace("_", " ").capitalize()]
            print_stdout("\n".join([*lines, *map(harmless, str(report).split("\n"))]))

    add("summary", summary)
    began = time.perf_counter()
    with working("certainty of the signs"):
        certainty = explained.sign_certainty(result, within=within, signs=signs, time_limit=time_limit, n_jobs=n_jobs)
    add("sign_certainty", certainty)
    left = None if time_limit is None else max(time_limit - (time.perf_counter() - began), 0.0)
    try:
        with working("price of the constraint"):
            price = explained.price_of_constraint(result, time_limit=left, n_jobs=n_jobs)
        add("price_of_constraint", price)
    except TimeoutError:
        add("price_of_constraint", None)
        say("the price of the constraint is left out: --time-limit ended before it was settled")
    if bootstrap:
        options = {"signs": signs, "n_jobs": n_jobs, "time_limit": time_limit}
        stability = explained.bootstrap(result, n_resamples=bootstrap, random_state=0, progress=True, **options)
        add("bootstrap", stability)
        if len(stability.betas) < bootstrap:
            say(f"--time-limit ended the bootstrap after {len(stability.betas)} of {bootstrap} resamples")
    if as_json:
        print_document({name: report and _plain(asdict(report)) for name, report in reports.items()})


def _plain(value: Any) -> Any:
    """Return a report as JSON has it: null for what is not finite, lists for arrays and sign patterns."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _result(loaded: ModelFile, rows: TrainingData, data: Path) -> Result:
    """Return the saved model as a result on the rows, which must be those of its fit."""
    from partls.explain import confirmed

    model = loaded.model
    X, y, sample_weight = rows.given()
    instance = Instance(
        X, y, model.partition_, eta=model.eta, penalty=model.penalty, ridge=model.ridge,
        fit_intercept=model.fit_intercept, penalize_intercept=model.penalize_intercept,
        sample_weight=sample_weight, columns=rows.columns, ungrouped="free",
    )
    coef, intercept = model.coef_, model.intercept_
    if rows.scale is not None:
        intercept = float(intercept + rows.centre @ coef)
        coef = coef * rows.scale
    found = Result(
        instance, coef, intercept, model.objective_, model.lower_bound_, model.status_, model.method,
        int(model.n_iter_), 0.0, given_signs=tuple(given_signs(model.signs, instance.partition)),
    )
    return confirmed(found, data)
