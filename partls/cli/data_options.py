"""DATA on the command line: the options that say how to read it, and the rows, with a bar while they are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from formulations.errors import InvalidInput, counted
from formulations.instance import Instance
from formulations.partition import Partition
from formulations.partition.placement import UNGROUPED
from partls.cli.grouping import GroupsFile
from partls.cli.objective import Objective
from partls.cli.output import say_to_people
from partls.cli.preparation import MISSING, Preparation
from partls.cli.prepare import prepare
from partls.cli.tables import Table, open_table
from partls.cli.training_data import DEFAULT_MEMORY, TrainingData, fold_on_cluster, read_rows
from partls.runtime.options import chosen
from partls.runtime.progress import bar, heartbeat

if TYPE_CHECKING:
    import pyarrow as pa

Data = Annotated[
    Path, typer.Argument(metavar="DATA", help="CSV (any delimiter, gzip or not), Parquet or its folder, Arrow, NPZ, "
                         "JSON lines or Excel.")
]
TARGET: Any = typer.Option(metavar="COL", help="Column to explain.")
GROUPS: Any = typer.Option(metavar="FILE", help="TOML, JSON or a table; see groups init.")
Standardize = Annotated[
    bool, typer.Option("--standardize", help="Give all columns mean 0 and standard deviation 1.")
]
Weights = Annotated[str | None, typer.Option(metavar="COL", help="Column of row weights.")]
Drop = Annotated[list[str] | None, typer.Option(metavar="COL", help="Column to leave out; may be repeated.")]
Encode = Annotated[
    str | None, typer.Option(metavar="onehot", help="Give each value of a text column a 0/1 column.",
                             autocompletion=lambda: ["onehot"])
]
MISSING_OPTION: Any = typer.Option(
    metavar="|".join(MISSING), autocompletion=lambda: list(MISSING),
    help="Refuse missing values, drop their rows, or fill in the column's mean over all rows (for text, a code).",
)
Missing = Annotated[str, MISSING_OPTION]
Ungrouped = Annotated[
    str, typer.Option(metavar="|".join(UNGROUPED), autocompletion=lambda: list(UNGROUPED),
                      help="Refuse columns in no group, or leave their signs free.")
]
Memory = Annotated[
    float, typer.Option(metavar="MIB", help="Memory for rows; larger data are compressed while they are read.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one machine-readable document and nothing else.")]

MEMORY = DEFAULT_MEMORY  # MiB


@dataclass(frozen=True, kw_only=True)
class Spelling:
    """How a text file is written."""

    delimiter: Annotated[
        str | None, typer.Option(metavar="CHAR", help="Delimiter of a text file [default: detected].")
    ] = None
    encoding: Annotated[
        str | None, typer.Option(metavar="NAME", help="Encoding of a text file, such as latin-1.")
    ] = None
    decimal: Annotated[str, typer.Option(metavar="CHAR", help='Decimal point of a text file, "." or ",".')] = "."

    def open(self, path: Path, as_text: Iterable[str] = ()) -> Table:
        """Return the table in DATA; some columns of a text file may be known to hold text."""
        if self.decimal not in (".", ","):
            raise InvalidInput(f'--decimal "{self.decimal}" must be "." or ","')
        if any("\ud800" <= c <= "\udfff" for c in str(path)):  # how Python spells bytes that are not UTF-8
            raise InvalidInput(f"{path}: Arrow cannot open a file whose name is not UTF-8; rename it")
        table = open_table(
            path, delimiter=self.delimiter, encoding=self.encoding, decimal=self.decimal, as_text=as_text
        )
        table.watch = lambda batches: _shown(batches, table)
        return table


@dataclass(frozen=True, eq=False)
class GroupedData:
    """The rows of DATA, how they were made, and the groups of their columns."""

    preparation: Preparation
    partition: Partition
    rows: TrainingData

    def instance(self, objective: Objective) -> Instance:
        """Return the optimisation problem."""
        X, y, sample_weight = self.rows.given()
        return Instance(
            X, y, self.partition, **objective.options, sample_weight=sample_weight, columns=self.rows.columns,
            ungrouped="free",
        )


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Which columns of DATA are what, and how they become numbers."""

    target: Annotated[str, TARGET]
    groups: Annotated[Path, GROUPS]
    weights: Weights = None
    drop: Drop = None
    encode: Encode = None
    missing: Missing = "error"
    standardize: Standardize = False
    ungrouped: Ungrouped = "error"

    def read(self, table: Table, objective: Objective | None = None, *, memory: float, kept_for: str = "",
             client: Any = None) -> GroupedData:
        """Return the rows and their groups; what is wrong with these, or their penalties, is told before rows are read.

        ``kept_for`` names an option that needs every row: with it, rows that would be folded are refused. With a Dask
        client its workers fold the rows.
        """
        chosen("ungrouped", self.ungrouped, UNGROUPED)
        groups = GroupsFile.read(self.groups)
        dropped = groups.dropped(table, self.drop)
        preparation = prepare(
            table, target=self.target, weights=self.weights, drop=dropped, encode=self.encode or groups.content.encode,
            missing=self.missing,
        )
        grouped = groups.partition(preparation, dropped=dropped, ungrouped=self.ungrouped)
        if objective is not None:
            objective.of(grouped)
        rows = read(
            table, preparation, memory=memory, standardize=self.standardize, kept_for=kept_for, client=client
        )
        return GroupedData(preparation, grouped, rows)


def read(
    table: Table, preparation: Preparation, *, memory: float, standardize: bool, kept_for: str = "", client: Any = None
) -> TrainingData:
    """Return the rows of a table, prepared as they are said to be; a client's workers fold those of Parquet files."""
    if client is None or not table.pieces():
        data = read_rows(table, preparation, memory=memory, kept_for=kept_for)
    elif kept_for:
        raise InvalidInput(f"{kept_for} needs every row, but --scheduler compresses rows on its workers: leave one out")
    else:
        data = fold_on_cluster(table, preparation, client)
    if data.n_dropped:
        say_to_people(f"left out for missing values: {counted(data.n_dropped, 'row')}; used: {data.n_rows:,}")
    return data.standardised() if standardize else data


def _shown(batches: Iterable[pa.RecordBatch], table: Table) -> Iterator[pa.RecordBatch]:
    """Pass batches on behind a bar with rows and rows per second."""
    rows, told = 0, "no rows yet"
    with bar(enabled=True) as shown, heartbeat(lambda: f"{table.doing}: {told}"):
        task = shown.add_task(table.doing, total=None, told="")
        for batch in batches:
            rows += batch.num_rows
            share = rows / table.n_rows if table.n_rows else table.share_read
            speed = rows / max(shown.tasks[0].elapsed or 0.0, 1e-9)
            told = f"{rows:,} rows, {speed:,.0f} rows/s"
            total = None if share is None else 1.0
            shown.update(task, description=table.doing, total=total, completed=share or 0.0, told=told)
            yield batch
