"""``partls predict``: a saved model and new rows in, one prediction per row out, batch by batch."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, Self

import numpy as np
import typer

from formulations.data import Floats
from formulations.errors import InvalidInput, counted, listing, suggestion
from partls.cli import data_options as source
from partls.cli import model_file
from partls.cli.batch_columns import LARGEST
from partls.cli.file_kinds import check_arguments
from partls.cli.missing_values import Gaps
from partls.cli.model_file import ModelFile
from partls.cli.option_groups import unbundled
from partls.cli.output import Force, guarded, print_document, say_to_people
from partls.cli.output_paths import check_places
from partls.cli.streams import raw_output
from partls.cli.tables import Table
from partls.runtime.atomic_files import whole_file

if TYPE_CHECKING:
    import pyarrow as pa

_FORMS = (".csv", ".parquet", ".feather", ".arrow")


@guarded
@unbundled
def predict(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A model saved by partls fit --out, or by model.save in Python.")
    ],
    data: source.Data,
    spelling: source.Spelling,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A CSV, Parquet or Feather file [default: CSV on the screen].")
    ] = None,
    keep: Annotated[
        list[str] | None, typer.Option(metavar="COL", help="Column of DATA to copy to the output; may be repeated.")
    ] = None,
    contributions: Annotated[
        bool, typer.Option("--contributions", help="Add what each group adds to each prediction.")
    ] = False,
    force: Force = False,
    as_json: source.AsJson = False,
) -> None:
    """Predict the target for every row, in the order of the file; the columns are found by name.

    Rows with missing values are treated as in the fit; where it left them out, their prediction is missing: NaN in CSV,
    null in the other formats.

    For example:

        partls predict model.json new.csv > predictions.csv

        partls predict model.json new.parquet --out predictions.parquet

        partls predict model.json new.csv --keep Id --contributions
    """
    check_places({"--out": out}, {"the model": model, "the data": data}, force=force)
    if out is not None and out.suffix.lower() not in _FORMS:
        raise InvalidInput(f"--out {out}: the name must end in {', '.join(_FORMS)}")
    check_arguments("partls predict MODEL DATA", model=model, data=data)
    loaded = model_file.load(model)
    added = Added(f"predicted {loaded.preparation.target or 'target'}", tuple(dict.fromkeys(keep or ())), contributions)
    table = spelling.open(data, as_text=[*loaded.preparation.levels, *added.keep])
    if out is None and sys.stdout.isatty():
        table.watch = iter  # a progress bar would be printed between the predictions
    _require_columns(table, loaded)
    table.require(added.keep, "--keep")
    added.check(loaded)
    batches = _predictions(table, loaded, added)
    if as_json:
        print_document(_document(list(batches), loaded, added))
        return
    n_rows = _written(batches, out)
    if out is not None:
        say_to_people(f"{counted(n_rows, 'prediction')} written to {out}")


def _document(batches: list[pa.RecordBatch], loaded: ModelFile, added: Added) -> dict[str, Any]:
    """Return the output as plain data."""
    columns = {name: [value for batch in batches for value in batch.column(name).to_pylist()]
               for name in batches[0].schema.names}
    told = columns.pop(added.name)
    more = {"columns": columns} if columns else {}
    return {"target": loaded.preparation.target, "rows": len(told), "predictions": told, **more}


@dataclass(frozen=True)
class Added:
    """What stands in the output: the prediction under its name, columns of DATA before it, parts of it behind it."""

    name: str
    keep: tuple[str, ...]
    contributions: bool

    def check(self, loaded: ModelFile) -> None:
        """Refuse columns of DATA that are called as an output is."""
        computed = self.computed(np.zeros((0, len(loaded.preparation.columns))), loaded)
        if both := [name for name in self.keep if name in computed]:
            raise InvalidInput(f"--keep {listing(both)}: the output has a column of this name; rename it in the data")

    def computed(self, X: Floats, loaded: ModelFile) -> dict[str, Floats]:
        """Return the predictions and, if wanted, what each group, the other columns and the intercept add to them."""
        model = loaded.model
        found = {self.name: X @ model.coef_ + model.intercept_}
        if self.contributions:
            partition = model.partition_
            parts = {f"contribution of {name}": partition.members(k) for k, name in enumerate(partition.names)}
            if len(partition.free):
                parts["contribution of ungrouped columns"] = partition.free
            found |= {name: X[:, members] @ model.coef_[members] for name, members in parts.items()}
            found["intercept"] = np.where(np.isnan(found[self.name]), np.nan, model.intercept_)
        return found


def _require_columns(table: Table, loaded: ModelFile) -> None:
    missing = [name for name in loaded.preparation.features if name not in table.kinds]
    if missing:
        hint = suggestion(missing[0], table.columns)
        raise InvalidInput(f"{table.path} lacks {listing(missing)}, which the model needs{hint}")
    text = [
        name for name in loaded.preparation.features
        if table.kinds[name] != "number" and name not in loaded.preparation.levels
    ]
    if text:
        raise InvalidInput(f"{table.path}: the model needs numbers in {listing(text)}, and here they are none")


def _predictions(table: Table, loaded: ModelFile, added: Added) -> Iterator[pa.RecordBatch]:
    """Yield the output for each batch of rows; null where the fit would have left a row out."""
    import pyarrow as pa

    preparation, gaps = loaded.preparation, Gaps()
    names = list(dict.fromkeys([*preparation.features, *added.keep]))
    for batch in table.batches(names):
        X = preparation.matrix(batch, gaps, table.path)
        _refuse(table.path, gaps, preparation.missing)
        gaps.n_rows += len(X)
        columns = {name: batch.column(batch.schema.get_field_index(name)) for name in added.keep}
        for name, values in added.computed(X, loaded).items():
            columns[name] = pa.array(values, from_pandas=True)  # NaN becomes null
        yield pa.RecordBatch.from_pydict(columns)


def _refuse(path: str, gaps: Gaps, policy: str) -> None:
    """Refuse the first value that no prediction can be made of, before the batch that has it is written."""
    for tally, what in ((gaps.infinite, "infinite"), (gaps.too_large, f"beyond {LARGEST:g}")):
        if tally.counts:
            row, name = tally.first
            raise InvalidInput(f'{path}: column "{name}" is {what} in row {row:,}: correct it')
    if policy == "error" and gaps.missing.counts:
        row, name = gaps.missing.first
        told = "fill it in, or fit with --missing mean"
        raise InvalidInput(f'{path}: column "{name}" has no value in row {row:,}: {told}')


def _written(batches: Iterator[pa.RecordBatch], out: Path | None) -> int:
    """Write the output as it comes; the file appears complete or not at all. Return the number of rows."""
    n_rows = 0
    first = next(batches)  # if it is refused, nothing is written
    opened = raw_output() if out is None else whole_file(out)
    try:
        with opened as sink, _writer(sink, first.schema, out) as writer:
            for batch in chain([first], batches):
                writer.write(batch)
                n_rows += batch.num_rows
    except InvalidInput as error:
        if out is not None:
            raise
        told = f"the output is incomplete: it ends after {counted(n_rows, 'prediction')}"
        raise InvalidInput(f"{error}; {told}") from None
    return n_rows


def _writer(sink: IO[bytes], schema: pa.Schema, out: Path | None) -> Any:
    from pyarrow import csv, ipc, parquet

    form = ".csv" if out is None else out.suffix.lower()
    if form == ".csv":
        return csv.CSVWriter(sink, schema) if len(schema) > 1 else _LoneColumn(sink, schema)
    return parquet.ParquetWriter(sink, schema) if form == ".parquet" else ipc.new_file(sink, schema)


class _LoneColumn:
    """A CSV file of the predictions alone: nulls are written as NaN.

    A file of one column would have a blank line for an empty cell, which pandas, R and Arrow skip when they read it.
    Of all spellings, NaN is the only one that these, polars and DuckDB read in place and in a column of numbers.
    """

    def __init__(self, sink: IO[bytes], schema: pa.Schema) -> None:
        import pyarrow as pa
        from pyarrow import csv

        self._schema = pa.schema([(schema.names[0], pa.string())])
        self._writer = csv.CSVWriter(sink, self._schema, write_options=csv.WriteOptions(quoting_style="none"))

    def write(self, batch: pa.RecordBatch) -> None:
        """Write the next values."""
        import pyarrow as pa
        from pyarrow import compute

        values = compute.fill_null(batch.column(0).cast(pa.string()), "NaN")
        self._writer.write(pa.record_batch([values], schema=self._schema))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *trouble: object) -> None:
        self._writer.close()
