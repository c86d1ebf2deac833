"""``partls compare``: every relaxation on one problem, what each proves and what it costs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from partls.cli import data_options as source
from partls.cli.objective import Objective
from partls.cli.option_groups import unbundled
from partls.cli.output import finite, guarded, print_document, say, show
from partls.result import Status
from partls.runtime.options import chosen, nonnegative
from partls.runtime.progress import in_terminal


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
    depth: Annotated[list[int] | None, typer.Option(metavar="N", help="Also with N signs decided at random.")] = None,
    time_limit: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="For the optimum, and as many for the relaxations.")
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
    from relaxations import kernel

    for name in relaxation or ():
        chosen("relaxation", name, _names())
    objective.check()
    nonnegative("time_limit", time_limit)
    _ = kernel.one_node  # compiled now, so that no relaxation's time is the compiler's
    instance = columns.read(spelling.open(data), objective, memory=memory).instance(objective)
    found = solve_instance(instance, time_limit=time_limit, progress=in_terminal())
    if found.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    if not found.is_optimal():
        say(f"{found.status.value}: the optimum is not proven, and shares of the gap are of {found.objective:.8g}")
    compared = relaxations.compare(
        instance, relaxations=relaxation, optimum=found.objective, depths=depth or (), time_limit=time_limit
    )
    if not as_json:
        show(compared)
        return
    lines = [
        {key: finite(value) if isinstance(value, float) else value for key, value in asdict(row).items()}
        for row in compared.rows
    ]
    print_document({"unconstrained": compared.floor, "optimum": compared.optimum, "relaxations": lines})
