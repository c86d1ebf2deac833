"""NPZ files: NumPy arrays as columns."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from formulations.errors import InvalidInput
from partls.tables.table import BATCH_ROWS, Table, largest_unpacked

if TYPE_CHECKING:
    import pyarrow as pa


class ArrayTable(Table):
    """An NPZ file: a 1-D array is a column called by its name; a 2-D array is a matrix of columns.

    The columns of a matrix "X" are named by the array "columns", if there is one, else "X0", "X1", ...
    """

    def __init__(self, path: str) -> None:
        arrays = _load(path)
        names = arrays.pop("columns", None)
        pairs = [pair for key, array in arrays.items() for pair in _columns(path, key, array, names)]
        lengths = {name: len(column) for name, column in pairs}
        n_rows = next(iter(lengths.values()), 0)
        if odd := [name for name, length in lengths.items() if length != n_rows]:
            told = f'"{pairs[0][0]}" has {n_rows} row(s), "{odd[0]}" has {lengths[odd[0]]}'
            raise InvalidInput(f"{path}: the arrays differ in length: {told}")
        super().__init__(path, [(name, _kind(column)) for name, column in pairs], n_rows)
        self._arrays = dict(pairs)

    def _read(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for start in range(0, self.n_rows or 0, BATCH_ROWS):
            rows = slice(start, start + BATCH_ROWS)
            yield pa.record_batch({name: pa.array(self._arrays[name][rows]) for name in columns})


def _columns(path: str, key: str, array: NDArray[Any], names: NDArray[Any] | None) -> list[tuple[str, NDArray[Any]]]:
    """Return the named columns in one array."""
    if array.ndim == 1:
        return [(key, array)]
    if array.ndim != 2:
        raise InvalidInput(f'{path}: the array "{key}" has {array.ndim} dimensions; a column has one, a table two')
    called = [f"{key}{j}" for j in range(array.shape[1])] if names is None else [str(name) for name in names]
    if len(called) != array.shape[1]:
        raise InvalidInput(f'{path}: "columns" has {len(called)} name(s) for the {array.shape[1]} column(s) of "{key}"')
    return [(name, array[:, j]) for j, name in enumerate(called)]


def _kind(column: NDArray[Any]) -> str:
    return {"U": "text", "S": "text", "M": "date", "m": "date"}.get(
        column.dtype.kind, "number" if column.dtype.kind in "biuf" else "other"
    )


def _load(path: str) -> dict[str, NDArray[Any]]:
    """Return all arrays of the file, which must not unpack to much more than it is."""
    try:
        with zipfile.ZipFile(path) as archive:
            if any(name.startswith("xl/") for name in archive.namelist()):
                raise InvalidInput(f"{path} is an Excel workbook: save the sheet as CSV, and give that file")
            packed = sum(entry.compress_size for entry in archive.infolist())
            unpacked = sum(entry.file_size for entry in archive.infolist())
            if unpacked > largest_unpacked(packed):
                raise InvalidInput(
                    f"{path} unpacks to {unpacked / 2**20:,.0f} MiB, {unpacked / max(packed, 1):,.0f} times its size: "
                    "this looks like a zip bomb; if you trust it, write it again with numpy.savez"
                )
        with np.load(path, allow_pickle=False) as arrays:
            return {key: arrays[key] for key in arrays.files}
    except InvalidInput:
        raise
    except (ValueError, OSError, EOFError, MemoryError, zipfile.BadZipFile) as error:
        raise InvalidInput(f"{path} is not an NPZ file of plain arrays ({error})") from None
