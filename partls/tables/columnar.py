"""Parquet and Arrow (Feather) files, read by pyarrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from formulations.errors import InvalidInput
from partls.tables.table import BATCH_ROWS, Table, kind_of

if TYPE_CHECKING:
    import pyarrow as pa

_READ_AHEAD = 4  # batches that are decoded while the last one is used
_LARGEST_PIECE = 2 * 2**30  # bytes of one column in one row group, decompressed: what a reader must hold at once


class ColumnarTable(Table):
    """A Parquet or Arrow file."""

    def __init__(self, path: str, form: str) -> None:
        import pyarrow as pa
        from pyarrow import dataset

        try:
            if form == "parquet":
                _refuse_bomb(path)
            self._data = dataset.dataset(path, format=form)
            n_rows = self._data.count_rows()
        except (pa.ArrowException, OSError) as error:
            raise InvalidInput(f"{path} cannot be read as {form} ({error})") from None
        schema = self._data.schema
        super().__init__(path, zip(schema.names, map(kind_of, schema.types), strict=True), n_rows)

    def _read(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        scanner = self._data.scanner(
            columns=list(columns), batch_size=BATCH_ROWS, batch_readahead=_READ_AHEAD, fragment_readahead=1
        )
        try:
            yield from scanner.to_batches()
        except (pa.ArrowException, OSError) as error:
            raise InvalidInput(f"{self.path} is damaged ({error})") from None


def _refuse_bomb(path: str) -> None:
    """Refuse a file with a piece too large to be decompressed in memory."""
    from pyarrow import parquet

    metadata = parquet.read_metadata(path)
    for i in range(metadata.num_row_groups):
        group = metadata.row_group(i)
        for j in range(group.num_columns):
            piece = group.column(j)
            if piece.total_uncompressed_size > _LARGEST_PIECE:
                size = piece.total_uncompressed_size / 2**30
                raise InvalidInput(
                    f'{path}: column "{piece.path_in_schema}" unpacks to {size:.1f} GiB in one row group; '
                    "write the file with smaller row groups"
                )
