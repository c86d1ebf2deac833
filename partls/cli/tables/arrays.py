"""NPZ files: NumPy arrays as columns."""

from __future__ import annotations

import lzma
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from formulations.errors import InvalidInput, counted, listing
from partls.cli.tables.table import BATCH_ROWS, Table, largest_unpacked

if TYPE_CHECKING:
    import pyarrow as pa

# What NumPy and the unpackers raise on damaged files; RuntimeError is that of a compression they do not know.
_BROKEN = (
    ValueError, OSError, EOFError, MemoryError, RuntimeError, zipfile.BadZipFile, zlib.error, lzma.LZMAError
)


class ArrayTable(Table):
    """An NPZ file: a 1-D array is a column called by its name; a 2-D array is a matrix of columns.

    The columns of a matrix "X" are named by the array "columns", if there is one, else "X0", "X1", ...
    """

    def __init__(self, path: str) -> None:
        arrays = {key: _plain(path, key, array) for key, array in _load(path).items()}
        names = arrays.pop("columns", None)
        if names is not None and names.ndim != 1:
            raise InvalidInput(f'{path}: the array "columns" has {names.ndim} dimensions; a list of names has one')
        pairs = [pair for key, array in arrays.items() for pair in _columns(path, key, array, names)]
        lengths = {name: len(column) for name, column in pairs}
        n_rows = next(iter(lengths.values()), 0)
        if odd := [name for name, length in lengths.items() if length != n_rows]:
            rows = counted(n_rows, "row")
            told = f'"{pairs[0][0]}" has {rows}, "{odd[0]}" has {lengths[odd[0]]}'
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
        called_as, columns = counted(len(called), "name"), counted(array.shape[1], "column")
        raise InvalidInput(f'{path}: "columns" has {called_as} for the {columns} of "{key}"')
    return [(name, array[:, j]) for j, name in enumerate(called)]


def _plain(path: str, key: str, array: Any) -> NDArray[Any]:
    """Return an array as Arrow takes it: in the byte order of this machine, doubles at most, bytes as text."""
    if not isinstance(array, np.ndarray):
        raise InvalidInput(f'{path}: "{key}" is not a NumPy array; write the file again with numpy.savez')
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        with np.errstate(over="ignore"):  # what is infinite then is refused as such
            return array.astype(np.float64)
    if array.dtype.kind == "S":
        try:
            return np.asarray(np.char.decode(array, "utf-8"))
        except UnicodeDecodeError:
            raise InvalidInput(f'{path}: the array "{key}" has bytes that are not UTF-8 text: decode it') from None
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _kind(column: NDArray[Any]) -> str:
    return {"U": "text", "M": "date", "m": "duration", "c": "complex"}.get(
        column.dtype.kind, "number" if column.dtype.kind in "biuf" else "other"
    )


def _load(path: str) -> dict[str, NDArray[Any]]:
    """Return all arrays of the file, which must not unpack to much more than it is."""
    try:
        with zipfile.ZipFile(path) as archive:
            _refuse_others(path, archive)
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
    except _BROKEN as error:
        raise InvalidInput(f"{path} is not an NPZ file of plain arrays ({error})") from None


def _refuse_others(path: str, archive: zipfile.ZipFile) -> None:
    """Refuse archives of anything else than arrays, and locked ones."""
    names = archive.namelist()
    if any(entry.flag_bits & 1 for entry in archive.infolist()):
        raise InvalidInput(f"{path} is encrypted: unpack it first, and give the file inside")
    if others := [name for name in names if not name.endswith(".npy")]:
        raise InvalidInput(
            f"{path} is a zip archive with {listing(others)}, not one of NumPy arrays: unpack it first, and give the "
            "file inside"
        )
