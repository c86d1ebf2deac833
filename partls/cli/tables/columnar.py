"""Parquet and Arrow (Feather) files, read by pyarrow."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from copy import copy
from typing import TYPE_CHECKING

from formulations.errors import InvalidInput
from partls.cli.tables.table import BATCH_ROWS, Table, kind_of, largest_unpacked

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet

_BUFFER = 1 << 16  # bytes read at once of each column
_LARGEST_PIECE = 2 * 2**30  # bytes of one column in one row group, decompressed: what a reader must hold at once


class ParquetTable(Table):
    """A Parquet file."""

    def __init__(self, path: str) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        try:
            metadata = parquet.read_metadata(path)
            _refuse_bomb(path, metadata)
            schema = parquet.read_schema(path)
        except (pa.ArrowException, OSError) as error:
            raise InvalidInput(f"{path} cannot be read as Parquet ({error})") from None
        super().__init__(path, _kinds(schema), metadata.num_rows)

    def pieces(self) -> list[Table]:
        """Return the file as one piece, which a worker with access to it can read."""
        piece = copy(self)
        piece.watch = iter
        return [piece]

    def _read(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        from pyarrow import parquet

        try:
            # Buffered ahead, the bytes of a file would stay in memory until its last row is read.
            with parquet.ParquetFile(self.path, pre_buffer=False, buffer_size=_BUFFER) as file:
                yield from file.iter_batches(BATCH_ROWS, columns=list(columns))
        except (pa.ArrowException, OSError) as error:
            raise InvalidInput(f"{self.path} is damaged ({error})") from None


class ParquetFolder(Table):
    """A folder of Parquet files, as Dask and Spark write one; folders named ``year=2020`` are a column too."""

    def __init__(self, path: str) -> None:
        import pyarrow as pa
        from pyarrow import dataset

        try:
            files = dataset.dataset(path, format="parquet", partitioning="hive")
            self._fragments = list(files.get_fragments())
            for fragment in self._fragments:
                _refuse_bomb(fragment.path, fragment.metadata)
        except (pa.ArrowException, OSError) as error:
            raise InvalidInput(f"{path} cannot be read as a folder of Parquet files ({error})") from None
        self._schema = files.schema
        super().__init__(path, _kinds(files.schema), sum(fragment.metadata.num_rows for fragment in self._fragments))

    def pieces(self) -> list[Table]:
        """Return tables of one file each, which can be read elsewhere."""
        pieces: list[Table] = []
        for fragment in self._fragments:
            piece = copy(self)
            piece._fragments, piece.n_rows, piece.watch = [fragment], fragment.metadata.num_rows, iter
            pieces += [piece] if piece.n_rows else []
        return pieces or [self]

    def _read(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        from pyarrow import dataset

        lean = dataset.ParquetFragmentScanOptions(pre_buffer=False, use_buffered_stream=True, buffer_size=_BUFFER)
        for fragment in self._fragments:
            try:
                yield from fragment.to_batches(
                    schema=self._schema, columns=list(columns), batch_size=BATCH_ROWS, batch_readahead=1,
                    fragment_scan_options=lean,
                )
            except (pa.ArrowException, OSError) as error:
                raise InvalidInput(f"{fragment.path} is damaged ({error})") from None


class ArrowTable(Table):
    """An Arrow or Feather file, mapped into memory."""

    def __init__(self, path: str) -> None:
        import pyarrow as pa
        from pyarrow import dataset

        try:
            with pa.memory_map(path) as source, pa.ipc.open_file(source) as reader:
                self._schema, self._n_batches = reader.schema, reader.num_record_batches
            n_rows = dataset.dataset(path, format="ipc").count_rows()  # from the headers of the batches
        except (pa.ArrowException, OSError) as error:
            raise InvalidInput(f"{path} cannot be read as Arrow ({error})") from None
        packed, unpacked = os.path.getsize(path), 8 * n_rows * len(self._schema)
        if unpacked > largest_unpacked(packed):  # a batch is unpacked as a whole
            raise InvalidInput(
                f"{path} unpacks to {unpacked / 2**20:,.0f} MiB, {unpacked / packed:,.0f} times its size: this looks "
                "like a zip bomb; if you trust it, write it again without compression"
            )
        super().__init__(path, _kinds(self._schema), n_rows)

    def _read(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        wanted = pa.ipc.IpcReadOptions(included_fields=[self._schema.get_field_index(name) for name in columns])
        try:
            with pa.memory_map(self.path) as source, pa.ipc.open_file(source, options=wanted) as reader:
                for i in range(self._n_batches):
                    batch = reader.get_batch(i)
                    for start in range(0, batch.num_rows, BATCH_ROWS):
                        yield batch.slice(start, BATCH_ROWS)
        except (pa.ArrowException, OSError) as error:
            raise InvalidInput(f"{self.path} is damaged ({error})") from None


def _kinds(schema: pa.Schema) -> list[tuple[str, str]]:
    return list(zip(schema.names, map(kind_of, schema.types), strict=True))


def _refuse_bomb(path: str, metadata: parquet.FileMetaData) -> None:
    """Refuse a file with a piece too large to be decompressed in memory."""
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
