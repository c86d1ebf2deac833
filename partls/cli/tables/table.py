"""Table: a file of named columns that is read in batches of rows, as often as needed, and never as a whole."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from formulations.errors import InvalidInput, listing, suggestion

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 32_768
UNPACKED, EXPANSION = 64 * 2**20, 250  # bytes any file may unpack to; larger files to so many times their own size


class Table(ABC):
    """Named columns in a file.

    Attributes
    ----------
    path
        The file, as messages call it.
    kinds
        For each column, in the order of the file: "number", "text", "date", "duration", "complex" or "other".
    n_rows
        The number of rows where the file says it, else None.
    hint
        What else a message on columns that are no numbers should say.
    watch
        Sees the batches of every pass go by, to show progress.
    doing
        What the pass is for, in words.
    """

    def __init__(self, path: str, kinds: Iterable[tuple[str, str]], n_rows: int | None = None) -> None:
        pairs = list(kinds)
        repeated = [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]
        if repeated:
            raise InvalidInput(f"{path}: several columns are called {listing(repeated)}; give each a name of its own")
        if not pairs:
            raise InvalidInput(f"{path} has no columns")
        self.path, self.kinds, self.n_rows = path, dict(pairs), n_rows
        self.watch: Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]] = iter
        self.doing, self.hint = "reading", ""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in the order of the file."""
        return tuple(self.kinds)

    def require(self, names: Iterable[str], what: str) -> None:
        """Refuse names that no column has; ``what`` says where they were given."""
        for name in names:
            if name not in self.kinds:
                hint = suggestion(name, self.kinds) or f"; the columns are {listing(self.kinds, limit=12)}"
                raise InvalidInput(f'{what}: {self.path} has no column "{name}"{hint}')

    def batches(self, columns: Sequence[str]) -> Generator[pa.RecordBatch]:
        """Yield the rows of some columns, batch by batch; refuse a file without rows."""
        n_rows = 0
        for batch in self.watch(self._read(columns)):
            n_rows += batch.num_rows
            if batch.num_rows:
                yield batch
            del batch  # before the next is decoded
        if not n_rows:
            raise InvalidInput(f"{self.path} has a header but no rows")

    def pieces(self) -> list[Table]:
        """Return tables that hold all rows, in their order, and can be read elsewhere; none if that cannot be."""
        return []

    @abstractmethod
    def _read(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield all batches."""

    @property
    def share_read(self) -> float | None:
        """How much of the file the current pass has read, where that is known before the end."""
        return None


def largest_unpacked(packed: int) -> int:
    """Return the number of bytes that a file of this size may unpack to before it counts as a bomb."""
    return max(UNPACKED, EXPANSION * packed)


def dropped(name: str) -> str:
    """Return what to do with a column that cannot be used."""
    return f'leave the column out with --drop "{name}"'


def kind_of(dtype: pa.DataType) -> str:
    """Return what a type of Arrow holds: numbers (truth values and empty columns included), text, dates or neither."""
    from pyarrow import types

    number = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    if any(is_kind(dtype) for is_kind in number):
        return "number"
    if types.is_dictionary(dtype):
        return kind_of(dtype.value_type)
    if types.is_string(dtype) or types.is_large_string(dtype) or types.is_string_view(dtype):
        return "text"
    if types.is_duration(dtype):
        return "duration"
    return "date" if types.is_temporal(dtype) else "other"
