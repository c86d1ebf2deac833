"""DATA on the command line: the options that say how to read it, and the rows, with a bar while they are read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from formulations.equivalent_rows import Chunk
from formulations.errors import InvalidInput
from formulations.partition import Partition
from partls.cli.output import in_terminal, say_to_people
from partls.preparation import Preparation, prepare
from partls.tables import Table, open_table
from partls.training_data import DEFAULT_MEMORY, TrainingData, fold_on_cluster, read_rows

Data = Annotated[
    Path, typer.Argument(help="CSV (any delimiter, gzip or not), Parquet (file or folder), Arrow/Feather or NPZ.")
]
Target = Annotated[str, typer.Option(metavar="COL", help="Column to explain.")]
Groups = Annotated[Path, typer.Option(metavar="FILE", help="Groups: TOML, a feature,group table or a 0/1 table.")]
Weights = Annotated[str | None, typer.Option(metavar="COL", help="Column of row weights.")]
Drop = Annotated[list[str] | None, typer.Option(metavar="COL", help="Column to leave out; may be repeated.")]
Encode = Annotated[str | None, typer.Option(metavar="onehot", help="Give each value of a text column a 0/1 column.")]
Missing = Annotated[
    str, typer.Option(metavar="error|drop|mean", help="Refuse missing values, drop their rows, or fill in the mean.")
]
Ungrouped = Annotated[
    str, typer.Option(metavar="error|free", help="Refuse columns in no group, or leave their signs free.")
]
Delimiter = Annotated[str | None, typer.Option(metavar="CHAR", help="Delimiter of a text file [default: see header].")]
Encoding = Annotated[str | None, typer.Option(metavar="NAME", help="Encoding of a text file, such as latin-1.")]
Decimal = Annotated[str, typer.Option(metavar="CHAR", help='Decimal point of a text file, "." or ",".')]
Memory = Annotated[
    float, typer.Option(metavar="MIB", help="Rows are kept up to this size; larger data are folded as they are read.")
]
Eta = Annotated[float, typer.Option(metavar="NUMBER", help="Strength of the penalty on the effects of the groups.")]
Penalty = Annotated[str, typer.Option(metavar="l2|l1", help="Kind of the penalty.")]
Intercept = Annotated[bool, typer.Option("--intercept/--no-intercept", help="Whether the model has an intercept.")]
Standardize = Annotated[bool, typer.Option("--standardize", help="Give all columns mean 0 and standard deviation 1.")]
Scheduler = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Fold the rows and search on a Dask cluster, e.g. tcp://host:8786.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one machine-readable document and nothing else.")]

MEMORY = DEFAULT_MEMORY  # MiB
_PATIENCE = 10  # seconds until a scheduler must have answered


def opened(path: Path, *, delimiter: str | None, encoding: str | None, decimal: str) -> Table:
    """Return the table in DATA."""
    if decimal not in (".", ","):
        raise InvalidInput(f'--decimal "{decimal}" must be "." or ","')
    return open_table(path, delimiter=delimiter, encoding=encoding, decimal=decimal)


@dataclass(frozen=True, eq=False)
class Problem:
    """The rows of DATA, how they were made, and the groups of their columns."""

    preparation: Preparation
    partition: Partition
    rows: TrainingData


def read(
    path: Path, groups: Path, *, target: str, weights: str | None, drop: list[str] | None, encode: str | None,
    missing: str, standardize: bool, ungrouped: str, delimiter: str | None, encoding: str | None, decimal: str,
    memory: float, client: Any = None,
) -> Problem:
    """Return DATA and its groups; what is wrong with the groups is told before the rows are read."""
    table = opened(path, delimiter=delimiter, encoding=encoding, decimal=decimal)
    preparation = prepare(table, target=target, weights=weights, drop=drop or [], encode=encode, missing=missing)
    grouped = partition(groups, preparation, ungrouped)
    rows = read_again(table, preparation, memory=memory, standardize=standardize, client=client)
    return Problem(preparation, grouped, rows)


def read_again(
    table: Table, preparation: Preparation, *, memory: float, standardize: bool, client: Any = None
) -> TrainingData:
    """Return the rows of a table, prepared as they are said to be; with a Dask client, folded by its workers."""
    if client is None:
        data = read_rows(table, preparation, memory=memory, watch=lambda chunks: _shown(chunks, table))
    else:
        data = fold_on_cluster(table, preparation, client)
    if data.n_dropped:
        say_to_people(f"{data.n_dropped:,} rows with missing values were left out, {data.n_rows:,} are used")
    return data.standardised() if standardize else data


def partition(path: Path, preparation: Preparation, ungrouped: str) -> Partition:
    """Return the groups of a file on the columns of X; a text column stands for all its codes."""
    written = Partition.from_file(path, ungrouped=ungrouped).to_dict()
    coded = {
        name: [code for member in members for code in _codes(preparation, member)] for name, members in written.items()
    }
    columns = preparation.columns
    try:
        return Partition.of(coded, n_columns=len(columns), columns=columns, ungrouped=ungrouped)
    except InvalidInput as error:
        hint = "; leave columns out of the model with --drop" if "in no group" in str(error) else ""
        told = str(error).replace('set ungrouped="free"', "say --ungrouped free")
        raise InvalidInput(f"{os.fspath(path)}: {told}{hint}") from None


def _codes(preparation: Preparation, member: Any) -> tuple[str, ...]:
    return preparation.codes(member) if member in preparation.levels else (member,)


def _shown(chunks: Iterable[Chunk], table: Table) -> Iterator[Chunk]:
    """Pass chunks on behind a bar with rows and rows per second; without one where there is no terminal."""
    if not in_terminal():
        yield from chunks
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    parts = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[told]}"), TimeElapsedColumn())
    with Progress(*parts, console=Console(stderr=True), transient=True) as progress:
        task, rows = progress.add_task("reading and compressing", total=None, told=""), 0
        for chunk in chunks:
            rows += len(chunk[1])
            share = rows / table.n_rows if table.n_rows else table.share_read
            speed = rows / max(progress.tasks[0].elapsed or 0.0, 1e-9)
            told = f"{rows:,} rows, {speed:,.0f} rows/s"
            progress.update(task, total=None if share is None else 1.0, completed=share or 0.0, told=told)
            yield chunk


@contextmanager
def cluster(address: str | None) -> Iterator[Any]:
    """Connect to a Dask scheduler; nothing without an address."""
    if address is None:
        yield None
        return
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        raise InvalidInput("--scheduler needs Dask: pip install 'partls[dask]'") from None
    try:
        client = distributed.Client(address, timeout=_PATIENCE)
    except (OSError, ValueError, TypeError) as error:
        raise InvalidInput(f"--scheduler {address}: no Dask scheduler answers there ({error})") from None
    with client:
        yield client
