"""DATA on the command line: the options that say how to read it, and the rows, with a bar while they are read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from formulations.errors import InvalidInput, counted, listing
from formulations.instance import Instance
from formulations.partition import Partition
from formulations.partition.placement import UNGROUPED
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
    Path, typer.Argument(metavar="DATA", help="CSV (any delimiter, gzip or not), Parquet or its folder, Arrow or NPZ.")
]
Weights = Annotated[str | None, typer.Option(metavar="COL", help="Column of row weights.")]
Drop = Annotated[list[str] | None, typer.Option(metavar="COL", help="Column to leave out; may be repeated.")]
Encode = Annotated[
    str | None, typer.Option(metavar="onehot", help="Give each value of a text column a 0/1 column.",
                             autocompletion=lambda: ["onehot"])
]
Missing = Annotated[
    str, typer.Option(metavar="|".join(MISSING), autocompletion=lambda: list(MISSING),
                      help="Refuse missing values, drop their rows, or fill in the mean (of text, a code).")
]
Ungrouped = Annotated[
    str, typer.Option(metavar="|".join(UNGROUPED), autocompletion=lambda: list(UNGROUPED),
                      help="Refuse columns in no group, or leave their signs free.")
]
Memory = Annotated[
    float, typer.Option(metavar="MIB", help="Rows are kept up to this size; larger data are folded as they are read.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one machine-readable document and nothing else.")]

MEMORY = DEFAULT_MEMORY  # MiB


@dataclass(frozen=True, kw_only=True)
class Spelling:
    """How a text file is written."""

    delimiter: Annotated[
        str | None, typer.Option(metavar="CHAR", help="Delimiter of a text file [default: see header].")
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
class Problem:
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

    target: Annotated[str, typer.Option(metavar="COL", help="Column to explain.")]
    groups: Annotated[Path, typer.Option(metavar="FILE", help="TOML, JSON or a table; see groups init.")]
    weights: Weights = None
    drop: Drop = None
    encode: Encode = None
    missing: Missing = "error"
    standardize: Annotated[
        bool, typer.Option("--standardize", help="Give all columns mean 0 and standard deviation 1.")
    ] = False
    ungrouped: Ungrouped = "error"

    def read(self, table: Table, objective: Objective | None = None, *, memory: float, kept_for: str = "",
             client: Any = None) -> Problem:
        """Return the rows and their groups; what is wrong with these, or their penalties, is told before rows are read.

        ``kept_for`` names an option that needs every row: with it, rows that would be folded are refused. With a Dask
        client its workers fold the rows.
        """
        chosen("ungrouped", self.ungrouped, UNGROUPED)
        preparation = prepare(
            table, target=self.target, weights=self.weights, drop=self.drop or [], encode=self.encode,
            missing=self.missing,
        )
        grouped = self._partition(preparation)
        if objective is not None:
            objective.of(grouped)
        rows = read(
            table, preparation, memory=memory, standardize=self.standardize, kept_for=kept_for, client=client
        )
        return Problem(preparation, grouped, rows)

    def _partition(self, preparation: Preparation) -> Partition:
        """Return the groups of the file on the columns of X; a text column stands for all its codes.

        A column that --drop leaves out leaves its group too.
        """
        written = remaining(Partition.from_file(self.groups, ungrouped="free").to_dict(), self.drop or ())
        for option, name in (("--target", self.target), ("--weights", self.weights)):
            if owner := next((group for group, members in written.items() if name in members), None):
                told = f'group "{owner}" lists "{name}", which {option} names'
                raise InvalidInput(f"{self.groups}: {told}: take it out of the file")
        coded = in_codes(written, preparation)
        columns = preparation.columns
        try:
            return Partition.of(coded, n_columns=len(columns), columns=columns, ungrouped=self.ungrouped)
        except InvalidInput as error:
            hint = "; leave columns out of the model with --drop" if "in no group" in str(error) else ""
            listed = {member for members in written.values() for member in members}
            if hint and (loose := [name for name in preparation.levels if name not in listed]):
                hint += f"; the file lists a text column by its own name, as {listing(loose)}"
            told = str(error).replace('set ungrouped="free"', "say --ungrouped free")
            raise InvalidInput(f"{self.groups}: {told}{hint}") from None


def remaining(groups: Mapping[str, Sequence[Any]], dropped: Collection[str]) -> dict[str, list[Any]]:
    """Return the groups without the columns left out, and without those of which nothing is left."""
    left = {name: [member for member in members if member not in dropped] for name, members in groups.items()}
    return {name: members for name, members in left.items() if members or not groups[name]}


def in_codes(groups: Mapping[str, Sequence[Any]], preparation: Preparation) -> dict[str, list[Any]]:
    """Return the groups on the columns of X, where a text column stands for all its codes."""
    return {
        name: [
            code for member in members
            for code in (preparation.codes(member) if member in preparation.levels else (member,))
        ]
        for name, members in groups.items()
    }


def read(
    table: Table, preparation: Preparation, *, memory: float, standardize: bool, kept_for: str = "", client: Any = None
) -> TrainingData:
    """Return the rows of a table, prepared as they are said to be; a client's workers fold those of Parquet files."""
    if client is None or not table.pieces():
        data = read_rows(table, preparation, memory=memory, kept_for=kept_for)
    elif kept_for:
        raise InvalidInput(f"{kept_for} needs every row, which --scheduler folds on its workers: leave one of them out")
    else:
        data = fold_on_cluster(table, preparation, client)
    if data.n_dropped:
        say_to_people(f"left out for missing values: {counted(data.n_dropped, 'row')}; used: {data.n_rows:,}")
    return data.standardised() if standardize else data


def _shown(batches: Iterable[pa.RecordBatch], table: Table) -> Iterator[pa.RecordBatch]:
    """Pass batches on behind a bar with rows and rows per second."""
    with bar(enabled=True) as shown, heartbeat(lambda: f"{table.doing}: {shown.tasks[0].fields['told']}"):
        task, rows = shown.add_task(table.doing, total=None, told=""), 0
        for batch in batches:
            rows += batch.num_rows
            share = rows / table.n_rows if table.n_rows else table.share_read
            speed = rows / max(shown.tasks[0].elapsed or 0.0, 1e-9)
            told = f"{rows:,} rows, {speed:,.0f} rows/s"
            total = None if share is None else 1.0
            shown.update(task, description=table.doing, total=total, completed=share or 0.0, told=told)
            yield batch
