"""``partls verify``: check a certificate against the data it claims to be about."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from formulations.errors import VerificationError
from formulations.tolerances import OPTIMAL_GAP
from partls.cli import data_options as source
from partls.cli import known_signs
from partls.cli.file_kinds import check_arguments
from partls.cli.option_groups import unbundled
from partls.cli.output import guarded, print_document, say, tell
from partls.cli.proof_data import GivenColumns, ProofData
from partls.runtime.progress import working
from partls.verification import verify as check
from partls.verification.document import read_certificate

NOT_VERIFIED = 1


@guarded
@unbundled
def verify(
    certificate: Annotated[
        Path, typer.Argument(metavar="CERTIFICATE", help="What partls fit --certificate or solve(certificate=) wrote.")
    ],
    data: source.Data,
    columns: GivenColumns,
    spelling: source.Spelling,
    gap: Annotated[
        float, typer.Option(metavar="SHARE", help="The largest relative tolerance to accept.")
    ] = OPTIMAL_GAP,
    signs: known_signs.Signs = None,
    exact: Annotated[bool, typer.Option("--exact", help="Rational arithmetic throughout.")] = False,
    memory: source.Memory = source.MEMORY,
    as_json: source.AsJson = False,
) -> None:
    """Check a certificate of optimality without any solver; exit 1 if it proves less than it claims.

    A certificate of partls fit says how the table was prepared, and which groups it is about. For example:

        partls verify proof.json houses.csv

    Options that are given must agree with it. One written in Python needs all of them:

        partls verify proof.json houses.csv --target price --groups groups.toml
    """
    check_arguments("partls verify CERTIFICATE DATA", proof=certificate, data=data)
    claim = read_certificate(certificate)
    if claim.preparation is None:
        used = None
        problem = columns.complete(certificate).read(spelling.open(data), memory=memory, kept_for="partls verify")
    else:
        used = ProofData.read(claim.preparation, certificate)
        table = spelling.open(data, as_text=used.preparation.levels)
        used.check(columns, table)
        problem = used.problem(table, memory=memory)
    known_signs.check(signs, problem.partition)
    known = claim.problem.signs if signs is None and used is not None else known_signs.parsed(signs)
    rows, mode = problem.rows, "exact" if exact else "rounding"
    try:
        with working("checking the proof"):
            proved = check(
                claim, rows.X, rows.y, problem.partition, sample_weight=rows.sample_weight, ungrouped="free",
                signs=known, gap_tol=gap, mode=mode,
            )
    except VerificationError as error:
        if as_json:
            print_document({"verified": False, "reason": str(error)})
        say(f"NOT verified: {error}")
        raise typer.Exit(NOT_VERIFIED) from None
    if as_json:
        print_document({"verified": True, **asdict(proved), "used": used and used.document()})
        return
    for line in str(proved).split("\n"):
        tell(line)
    if used is not None:
        tell(f"as the proof says: {used}")
