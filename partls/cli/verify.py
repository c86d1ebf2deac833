"""The command ``partls verify``: check a certificate against the data it claims to be about."""

from __future__ import annotations

import csv
import zipfile
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from formulations.data import Floats
from formulations.errors import InvalidInput, VerificationError, suggestion
from formulations.partition import Partition
from partls.verify import Verification
from partls.verify import verify as check


def verify(
    certificate: Annotated[Path, typer.Argument(help="What --certificate or solve(certificate=...) wrote.")],
    data: Annotated[Path, typer.Argument(help="The data: CSV with a header, or NPZ with arrays X and y.")],
    groups: Annotated[Path, typer.Option(help="The file of groups.")],
    target: Annotated[str, typer.Option(help="The column of a CSV file to predict.")] = "",
    weights: Annotated[str, typer.Option(help="The column of row weights, if any.")] = "",
    ungrouped: Annotated[str, typer.Option(help='"free" if columns without a group are meant.')] = "error",
    gap_tol: Annotated[float, typer.Option(help="The largest relative tolerance to accept.")] = 1e-9,
    exact: Annotated[bool, typer.Option("--exact", help="Rational arithmetic throughout.")] = False,
) -> None:
    """Check a certificate of optimality without any solver; exit 1 if it proves less than it claims.

    Example: partls verify proof.json data.csv --groups groups.csv --target price
    """
    mode = "exact" if exact else "rounding"
    try:
        X, y, names, sample_weight = _read(data, target, weights)
        partition = Partition.of(groups, n_columns=X.shape[1], columns=names, ungrouped=ungrouped)
        proved = check(certificate, X, y, partition, sample_weight=sample_weight, ungrouped="free", gap_tol=gap_tol,
                       mode=mode)
    except VerificationError as error:
        typer.echo(f"NOT verified: {error}", err=True)
        raise typer.Exit(1) from None
    except InvalidInput as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from None
    typer.echo(_summary(proved))


def _summary(proved: Verification) -> str:
    """Return in words what has been proved, its conditions included."""
    problem = proved.problem
    penalty = f", eta {problem.eta:g} ({problem.penalty})" if problem.eta else ""
    lines = [
        f"verified ({proved.mode}): {problem.n_rows} rows, {problem.n_columns} columns, {problem.n_groups} groups"
        f"{penalty}, {proved.n_boxes} boxes",
        f"the model has objective {proved.objective!r}; no solution is below {proved.lower_bound!r}",
    ]
    if proved.contribution_limit is not None:
        limit = f"{proved.contribution_limit:g} times the target's norm"
        lines.append(f"among the solutions in which no column contributes more than {limit}")
    return "\n".join(lines)


def _read(path: Path, target: str, weights: str) -> tuple[Floats, Floats, Any, Floats | None]:
    """Return (X, y, column names or None, weights or None)."""
    if path.suffix == ".npz":
        return _read_npz(path)
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            header, *rows = csv.reader(file)
        table = np.array([[float(cell) for cell in row] for row in rows]).reshape(len(rows), len(header))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path}: cannot be read ({error})") from None
    except (ValueError, csv.Error) as error:
        raise InvalidInput(f"{path}: not a table of numbers under one row of names ({error})") from None
    for option, name in (("--target", target), *([("--weights", weights)] if weights else [])):
        if name not in header:
            raise InvalidInput(f'{option} "{name}" is not a column of {path}{suggestion(name, header)}')
    features = [j for j, name in enumerate(header) if name not in (target, weights)]
    row_weights = table[:, header.index(weights)] if weights else None
    return table[:, features], table[:, header.index(target)], [header[j] for j in features], row_weights


def _read_npz(path: Path) -> tuple[Floats, Floats, Any, Floats | None]:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            read = {name: arrays[name] for name in ("X", "y", "columns", "sample_weight") if name in arrays}
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise InvalidInput(f"{path}: cannot be read ({error})") from None
    if "X" not in read or "y" not in read:
        raise InvalidInput(f"{path}: needs arrays X and y, has {sorted(read)}")
    names = [str(name) for name in read["columns"]] if "columns" in read else None
    return read["X"], read["y"], names, read.get("sample_weight")
