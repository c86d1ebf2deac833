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
    force: Force = False,
    as_json: source.AsJson = False,
) -> None:
    """Predict the target for every row, in the order of the file; the columns are found by name.

    Rows with missing values are treated as in the fit; where it left them out, their prediction is missing: NaN in CSV,
    null in the other formats.

    For example:

        partls predict model.json new.csv > predictions.csv

        partls predict model.json new.parquet --out predictions.parquet
    """
    check_places({"--out": out}, {"the model": model, "the data": data}, force=force)
    if out is not None and out.suffix.lower() not in _FORMS:
        raise InvalidInput(f"--out {out}: the name must end in {', '.join(_FORMS)}")
    loaded = model_file.load(model)
    table = spelling.open(data, as_text=loaded.preparation.levels)
    if out is None and sys.stdout.isatty():
        table.watch = iter  # a bar would stand between the predictions
    _require_columns(table, loaded)
    name = f"predicted {loaded.preparation.target or 'target'}"
    if as_json:
        values = np.concatenate(list(_predictions(table, loaded)))
        told = [float(value) if np.isfinite(value) else None for value in values]
        print_document({"target": loaded.preparation.target, "rows": len(told), "predictions": told})
        return
    n_rows = _written(table, loaded, name, out)
    if out is not None:
        say_to_people(f"{counted(n_rows, 'prediction')} written to {out}")


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


def _predictions(table: Table, loaded: ModelFile) -> Iterator[Floats]:
    """Yield the predictions of each batch; NaN for a row that the fit would have left out."""
    preparation, gaps = loaded.preparation, Gaps()
    for batch in table.batches(preparation.features):
        X = preparation.matrix(batch, gaps, table.path)
        _refuse(table.path, gaps, preparation.missing)
        gaps.n_rows += len(X)
        yield X @ loaded.model.coef_ + loaded.model.intercept_


def _refuse(path: str, gaps: Gaps, policy: str) -> None:
    """Refuse the first value that no prediction can be made of, before the batch that has it is written."""
    if gaps.infinite.counts:
        row, name = gaps.infinite.first
        raise InvalidInput(f'{path}: column "{name}" is infinite, or beyond {LARGEST:g}, in row {row:,}: correct it')
    if policy == "error" and gaps.missing.counts:
        row, name = gaps.missing.first
        told = "fill it in, or fit with --missing mean"
        raise InvalidInput(f'{path}: column "{name}" has no value in row {row:,}: {told}')


def _written(table: Table, loaded: ModelFile, name: str, out: Path | None) -> int:
    """Write the predictions as they come; the file appears complete or not at all. Return their number."""
    import pyarrow as pa

    n_rows = 0
    predictions = _predictions(table, loaded)
    first = next(predictions)  # if it is refused, nothing is written
    opened = raw_output() if out is None else whole_file(out)
    try:
        with opened as sink, _writer(sink, name, out) as writer:
            for values in chain([first], predictions):
                writer.write(pa.array(values, from_pandas=True))  # NaN becomes null
                n_rows += len(values)
    except InvalidInput as error:
        if out is not None:
            raise
        told = f"the output is incomplete: it ends after {counted(n_rows, 'prediction')}"
        raise InvalidInput(f"{error}; {told}") from None
    return n_rows


def _writer(sink: IO[bytes], name: str, out: Path | None) -> _Column:
    import pyarrow as pa
    from pyarrow import csv, ipc, parquet

    form = ".csv" if out is None else out.suffix.lower()
    if form == ".csv":
        schema = pa.schema([(name, pa.string())])
        return _TextColumn(csv.CSVWriter(sink, schema, write_options=csv.WriteOptions(quoting_style="none")), schema)
    schema = pa.schema([(name, pa.float64())])
    return _Column(parquet.ParquetWriter(sink, schema) if form == ".parquet" else ipc.new_file(sink, schema), schema)


@dataclass(frozen=True)
class _Column:
    """A file of one column, written piece by piece."""

    writer: Any
    schema: pa.Schema

    def write(self, values: pa.Array) -> None:
        """Write the next values."""
        import pyarrow as pa

        self.writer.write(pa.record_batch([values], schema=self.schema))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *trouble: object) -> None:
        self.writer.close()


class _TextColumn(_Column):
    """A column of CSV: nulls are written as NaN.

    A file of one column would have a blank line for an empty cell, which pandas, R and Arrow skip when they read it.
    Of all spellings, NaN is the only one that these, polars and DuckDB read in place and in a column of numbers.
    """

    def write(self, values: pa.Array) -> None:
        """Write the next values."""
        import pyarrow as pa
        from pyarrow import compute

        super().write(compute.fill_null(values.cast(pa.string()), "NaN"))
