"""``partls verify``: check a certificate against the data it claims to be about."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from formulations.errors import VerificationError
from formulations.tolerances import OPTIMAL_GAP
from partls.cli import data_options as source
from partls.cli.option_groups import unbundled
from partls.cli.output import guarded, print_document, say
from partls.cli.streams import print_stdout
from partls.runtime.progress import working
from partls.verification import verify as check

NOT_VERIFIED = 1


@guarded
@unbundled
def verify(
    certificate: Annotated[
        Path, typer.Argument(metavar="CERTIFICATE", help="What partls fit --certificate or solve(certificate=) wrote.")
    ],
    data: source.Data,
    columns: source.Columns,
    spelling: source.Spelling,
    gap: Annotated[
        float, typer.Option(metavar="SHARE", help="The largest relative tolerance to accept.")
    ] = OPTIMAL_GAP,
    signs: Annotated[
        str | None, typer.Option(metavar="+-0", help="What solve(signs=) was given: a character for each group.")
    ] = None,
    exact: Annotated[bool, typer.Option("--exact", help="Rational arithmetic throughout.")] = False,
    memory: source.Memory = source.MEMORY,
    as_json: source.AsJson = False,
) -> None:
    """Check a certificate of optimality without any solver; exit 1 if it proves less than it claims.

    Columns, groups and their treatment are given as to partls fit. For example:

        partls verify proof.json houses.csv --target price --groups groups.toml
    """
    problem = columns.read(spelling.open(data), memory=memory, kept_for="partls verify")
    rows, mode = problem.rows, "exact" if exact else "rounding"
    try:
        with working("checking the proof"):
            proved = check(
                certificate, rows.X, rows.y, problem.partition, sample_weight=rows.sample_weight, ungrouped="free",
                signs=signs, gap_tol=gap, mode=mode,
            )
    except VerificationError as error:
        if as_json:
            print_document({"verified": False, "reason": str(error)})
        say(f"NOT verified: {error}")
        raise typer.Exit(NOT_VERIFIED) from None
    if as_json:
        print_document({"verified": True, **asdict(proved)})
    else:
        print_stdout(str(proved))
