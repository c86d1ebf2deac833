"""``partls compare``: every relaxation on one problem, what each proves and what it costs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from formulations.instance import Instance
from partls.cli import source
from partls.cli.fit import TimeLimit
from partls.cli.output import console, finite, guarded, in_terminal, print_document, say
from partls.result import Status


@guarded
def compare(
    data: source.Data,
    target: source.Target,
    groups: source.Groups,
    relaxation: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A relaxation; may be repeated [default: all].")
    ] = None,
    depth: Annotated[list[int] | None, typer.Option(metavar="N", help="Also with N signs decided at random.")] = None,
    eta: source.Eta = 0.0,
    penalty: source.Penalty = "l2",
    time_limit: TimeLimit = 60.0,
    weights: source.Weights = None,
    drop: source.Drop = None,
    encode: source.Encode = None,
    missing: source.Missing = "error",
    standardize: source.Standardize = False,
    ungrouped: source.Ungrouped = "error",
    intercept: source.Intercept = True,
    delimiter: source.Delimiter = None,
    encoding: source.Encoding = None,
    decimal: source.Decimal = ".",
    memory: source.Memory = source.MEMORY,
    as_json: source.AsJson = False,
) -> None:
    """Compare lower bounds: what each relaxation proves at the root, how much of the gap it closes, how long it takes.

    For example:

        partls compare houses.csv --target price --groups groups.toml

        partls compare houses.csv --target price --groups groups.toml --relaxation active-set --depth 2
    """
    import relaxations
    from partls.solve import solve_instance

    for name in relaxation or ():
        relaxations.as_relaxation(name)  # refuse a wrong name before reading
    problem = source.read(
        data, groups, target=target, weights=weights, drop=drop, encode=encode, missing=missing,
        standardize=standardize, ungrouped=ungrouped, delimiter=delimiter, encoding=encoding, decimal=decimal,
        memory=memory,
    )
    rows = problem.rows
    instance = Instance(
        rows.X, rows.y, problem.partition, eta=eta, penalty=penalty, fit_intercept=intercept,
        sample_weight=rows.sample_weight, columns=rows.columns, ungrouped=ungrouped,
    )
    found = solve_instance(instance, time_limit=time_limit, progress=in_terminal())
    if found.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    if not found.is_optimal():
        say(f"{found.status.value}: the optimum is not proven, and shares of the gap are of {found.objective:.8g}")
    compared = relaxations.compare(instance, relaxations=relaxation, optimum=found.objective, depths=depth or ())
    if not as_json:
        console().print(compared)
        return
    lines = [
        {key: finite(value) if isinstance(value, float) else value for key, value in asdict(row).items()}
        for row in compared.rows
    ]
    print_document({"unconstrained": compared.floor, "optimum": compared.optimum, "relaxations": lines})
