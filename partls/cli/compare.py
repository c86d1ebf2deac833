"""``partls compare``: every relaxation on one problem, what each proves and what it costs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from math import inf
from typing import Annotated

import typer

from formulations.instance import Instance
from formulations.signs import SignPattern
from partls.cli import data_options as source
from partls.cli.objective import Objective
from partls.cli.option_groups import unbundled
from partls.cli.output import finite, guarded, print_document, show
from partls.result import Result, Status
from partls.runtime.options import chosen, nonnegative
from partls.runtime.progress import working


def _names() -> list[str]:
    from relaxations import MEMBERS

    return list(MEMBERS)


@guarded
@unbundled
def compare(
    data: source.Data,
    columns: source.Columns,
    objective: Objective,
    spelling: source.Spelling,
    relaxation: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A relaxation; may be repeated [default: all].",
                                       autocompletion=_names)
    ] = None,
    depth: Annotated[list[int] | None, typer.Option(metavar="N", help="Also bound nodes with N random signs.")] = None,
    time_limit: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Limit for the optimum, and again for the relaxations.")
    ] = 60.0,
    memory: source.Memory = source.MEMORY,
    as_json: source.AsJson = False,
) -> None:
    """Compare lower bounds: what each relaxation proves at the root, how much of the gap it closes, how long it takes.

    For example:

        partls compare houses.csv --target price --groups groups.toml

        partls compare houses.csv --target price --groups groups.toml --depth 2
    """
    import relaxations
    from partls.solve import solve_instance
    from relaxations.interpreter import kernel

    for name in relaxation or ():
        chosen("relaxation", name, _names())
    objective.check()
    nonnegative("time_limit", time_limit)
    _ = kernel.one_node  # compiled now, so that no relaxation's time is the compiler's
    instance = columns.read(spelling.open(data), objective, memory=memory).instance(objective)
    found = solve_instance(instance, time_limit=time_limit, progress=True)
    if found.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    with working("comparing the relaxations"):
        compared = relaxations.compare(
            instance, relaxations=relaxation, optimum=_optimum_at(instance, found, time_limit), depths=depth or (),
            time_limit=time_limit,
        )
    if not as_json:
        show(compared)
        return
    lines = [
        {key: finite(value) if isinstance(value, float) else value for key, value in asdict(row).items()}
        for row in compared.rows
    ]
    reference = compared.reference
    print_document({
        "unconstrained": compared.floor, "optimum": reference.value if reference.is_optimum else None,
        "best_known": reference.value, "measured_against": reference.words, "relaxations": lines,
    })


def _optimum_at(instance: Instance, found: Result, seconds: float | None) -> Callable[[SignPattern], Result | None]:
    """Return what tells the optimum of a node: at the root the search's, below it that of another search, in time."""
    from partls.solve import solve_instance

    ends = inf if seconds is None else time.perf_counter() + seconds

    def at(signs: SignPattern) -> Result | None:
        own, left = signs.values[: instance.n_groups], ends - time.perf_counter()
        if not any(own):
            return found
        return solve_instance(instance, signs=list(own), time_limit=None if left == inf else left) if left > 0 else None

    return at
