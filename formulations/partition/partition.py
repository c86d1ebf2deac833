"""Partition: named groups of columns, paired with the data by column name wherever names exist."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.errors import InvalidInput, counted, listing, suggestion
from formulations.partition.files import GroupFile, read_file
from formulations.partition.forms import (
    are_complete,
    is_matrix,
    is_nested,
    label_groups,
    listed_members,
    matrix_groups,
)
from formulations.partition.placement import FREE, NAME_THEM, UNGROUPED, Extent, Groups, Written, place

Indices = NDArray[np.intp]
Columns = Iterable[Any] | None


@dataclass(frozen=True, eq=False, repr=False)
class Partition:
    """The disjoint, non-empty sets P_1, ..., P_K of columns whose coefficients share one sign.

    Partitions compare and hash by content. Build one with :meth:`of`, which takes every form, or with the ``from_...``
    method of one form; there, ``ungrouped="free"`` accepts columns that belong to no group.

    Parameters
    ----------
    names : tuple of str
        The K group names.
    labels : (M,) array of int, read-only
        The group of each column; -1 marks a free column, which has no sign constraint.
    columns : tuple of str, optional
        The column names, when known.
    ordered : bool
        Whether ``columns`` follows the order of some data. Names gathered group by group (a dict or TOML file
        read without data) do not, and are never paired by position.

    Raises
    ------
    InvalidInput
        If the groups are no partition of the columns; the message names the group and the column.

    Examples
    --------
    >>> from formulations import Partition
    >>> columns = ["area", "rooms", "year"]
    >>> groups = Partition.of({"size": ["area", "rooms"], "age": ["year"]}, n_columns=3, columns=columns)
    >>> groups.names, groups.labels.tolist()
    (('size', 'age'), [0, 0, 1])
    """

    names: tuple[str, ...]
    labels: Indices
    columns: tuple[str, ...] | None = None
    ordered: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        """Own read-only labels, and refuse a value that is not a partition."""
        labels = np.array(self.labels)
        if labels.ndim != 1 or labels.dtype.kind not in "iu":
            raise InvalidInput("labels must be a 1-D array of group indices; see Partition.from_labels")
        names, extent = tuple(self.names), Extent.of(self.columns, len(labels))
        if {FREE, *labels.tolist()} != {FREE, *range(len(names))} or len(set(names)) < len(names):
            raise InvalidInput(
                f"group names must differ and labels use each of 0 to {len(names) - 1} (or -1)"
            )
        labels = labels.astype(np.intp)
        labels.setflags(write=False)
        for attribute, value in {"names": names, "labels": labels, "columns": extent.names}.items():
            object.__setattr__(self, attribute, value)

    @classmethod
    def of(
        cls, groups: object, *, n_columns: int, columns: Columns = None, ungrouped: str = "error"
    ) -> Partition:
        """Return the partition of the data's columns, in the data's order, from any accepted form of groups.

        Groups and data pair by column name, in any order, if both have names, and only otherwise by position.

        Parameters
        ----------
        groups
            A ``Partition``; one label per column; ``{name: [columns]}``; a list of lists of columns; an
            (M, K) 0/1 matrix; the path of a file (every string is a path); or None for one group "all".
            Where columns are listed, ``"Street_*"`` means all whose name fits the pattern.
        n_columns, columns
            The number of columns of the data, and their names if they have any.
        ungrouped : {"error", "free"}
            Whether columns in no group are refused or left free. Those a ``Partition`` calls free stay so.
        """
        extent = Extent.of(columns, n_columns)
        return cls._read(groups, extent, ungrouped)._paired(extent, ungrouped)

    @classmethod
    def _read(cls, groups: Written, extent: Extent, ungrouped: str) -> Partition:
        """Return the groups as a partition of their own, by the form they come in."""
        if isinstance(groups, Partition):
            return groups
        if isinstance(groups, str | os.PathLike):
            return cls.from_file(groups, ungrouped=ungrouped)
        if groups is None:
            groups = {"all": range(extent.n)}
        if isinstance(groups, Mapping):
            return cls.from_dict(groups, extent.n, extent.names, ungrouped=ungrouped)
        single = np.shape(groups) == () if isinstance(groups, np.ndarray) else isinstance(groups, Set | bytes)
        if single or not isinstance(groups, Collection):
            accepted = "labels, {name: [columns]}, lists of columns, a 0/1 matrix, a file path or a Partition"
            raise InvalidInput(f"groups cannot be a {type(groups).__name__}; give {accepted}")
        if is_matrix(groups, extent.n):
            return cls.from_matrix(groups, columns=extent.names, ungrouped=ungrouped)
        if is_nested(groups):
            return cls.from_lists(groups, extent.n, extent.names, ungrouped=ungrouped)
        return cls.from_labels(groups, extent.names, ungrouped=ungrouped)

    @classmethod
    def from_labels(
        cls, labels: Collection[Any], columns: Columns = None, *, ungrouped: str = "error"
    ) -> Partition:
        """Return the groups spelled by one label per column, each named ``str(label)``.

        Groups come in increasing order if all labels are integers, otherwise in order of first appearance.
        The labels None, NaN, -1 and "" mean no group. The string index of a pandas Series names the columns.
        """
        if columns is None and ungrouped in UNGROUPED and are_complete(labels):
            keys, indices = np.unique(np.asarray(labels), return_inverse=True)  # nothing can be wrong
            return cls(tuple(str(key) for key in keys.tolist()), indices)
        return cls._of_rows(label_groups(labels), Extent.of_rows(labels), columns, ungrouped)

    @classmethod
    def from_dict(
        cls,
        mapping: Mapping[Any, Iterable[Any]],
        n_columns: int | None = None,
        columns: Columns = None,
        *,
        ungrouped: str = "error",
    ) -> Partition:
        """Return the groups of ``{name: [column names or integer positions]}``.

        Without ``n_columns`` and ``columns``, the columns are those listed, or 0 to the largest index.
        """
        groups = [(str(name), listed_members(name, members)) for name, members in mapping.items()]
        if columns is not None or n_columns is not None:
            return cls._assemble(groups, Extent.of(columns, n_columns), ungrouped)
        listed = [member for _, members in groups for member in members]
        if listed and all(isinstance(member, str) for member in listed):
            return cls._assemble(groups, Extent.of(dict.fromkeys(listed)), ungrouped, ordered=False)
        largest = max((member for member in listed if isinstance(member, int)), default=-1)
        return cls._assemble(groups, Extent.of(None, largest + 1), ungrouped)

    @classmethod
    def from_lists(
        cls,
        lists: Iterable[Iterable[Any]],
        n_columns: int | None = None,
        columns: Columns = None,
        *,
        ungrouped: str = "error",
    ) -> Partition:
        """Return groups named "g0", "g1", ... of the listed column names or integer positions."""
        mapping = {f"g{k}": members for k, members in enumerate(lists)}
        return cls.from_dict(mapping, n_columns, columns, ungrouped=ungrouped)

    @classmethod
    def from_matrix(
        cls, matrix: Written, names: Columns = None, columns: Columns = None, *, ungrouped: str = "error"
    ) -> Partition:
        """Return the groups of an (M, K) 0/1 matrix whose entry (m, k) says that column m is in group k.

        A frame's header names the groups and its string index the columns; else groups are "g0", "g1", ...
        """
        array = np.asarray(matrix, dtype=object)  # ragged rows then show as a wrong shape
        if array.ndim != 2:
            raise InvalidInput(f"a group matrix has M rows and K columns, not the shape {array.shape}")
        names = getattr(matrix, "columns", None) if names is None else names
        return cls._of_rows(matrix_groups(array, names), Extent.of_rows(matrix), columns, ungrouped)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str] | GroupFile, *, ungrouped: str = "error") -> Partition:
        """Return the groups written in a UTF-8 file, or of a file that ``read_file`` has read.

        Either a table split by commas, semicolons or tabs: a 0/1 matrix (a header of group names, a column's
        name first in each row), or headed ``feature,group``; or TOML, with lists of names in [groups]; or JSON,
        ``{"name": ["column", ...]}``.
        """
        if isinstance(path, GroupFile):
            return cls._assemble(path.groups, Extent.of(path.columns), ungrouped, ordered=path.ordered)
        try:
            read = read_file(Path(path))
            return cls._assemble(read.groups, Extent.of(read.columns), ungrouped, ordered=read.ordered)
        except InvalidInput as error:
            is_name = isinstance(path, str) and not os.path.exists(path)  # perhaps meant as that of a group or column
            hint = " (a string is read as the path of a groups file)" if is_name else ""
            raise InvalidInput(f"{os.fspath(path)}: {error}{hint}") from None

    @classmethod
    def _assemble(cls, groups: Groups, extent: Extent, ungrouped: str, *, ordered: bool = True) -> Partition:
        labels = place(groups, extent, ungrouped)
        return cls(tuple(name for name, _ in groups), labels, extent.names, ordered=ordered)

    @classmethod
    def _of_rows(cls, groups: Groups, rows: Extent, columns: Columns, ungrouped: str) -> Partition:
        """Return groups given row by row, named by their own index if it has names, on ``columns``."""
        given = rows if columns is None else Extent.of(columns)
        extent = given if rows.names is None and given.n == rows.n else rows
        return cls._assemble(groups, extent, ungrouped)._paired(given, ungrouped)

    def align(self, columns: Iterable[str], *, ungrouped: str = "error") -> Partition:
        """Return the same groups on ``columns``, found by name and in their order."""
        extent = Extent.of(columns)
        if self.columns is None or extent.names is None:
            raise InvalidInput("to align by name, both the partition and the data need column names")
        free = [self.columns[j] for j in self.free]
        labels = place(list(self.to_dict().items()), extent, ungrouped, free)
        return Partition(self.names, labels, extent.names)

    def _paired(self, extent: Extent, ungrouped: str) -> Partition:
        """Return this partition on the data's columns: by name if both sides have names, else by position."""
        if self.columns is not None and extent.names is not None:
            same = self.columns == extent.names
            return replace(self, ordered=True) if same else self.align(extent.names, ungrouped=ungrouped)
        if self.columns is not None:
            positions = [str(j) for j in range(extent.n)]
            if set(self.columns) == set(positions):  # the names are the positions
                return self.align(positions)
        if not self.ordered:
            raise InvalidInput(f"groups list columns by name, but the data has none; {NAME_THEM}")
        if self.n_columns != extent.n:
            raise InvalidInput(f"the groups cover {counted(self.n_columns, 'column')} but the data has {extent.n}")
        return replace(self, columns=extent.names or self.columns)

    @property
    def n_groups(self) -> int:
        """Number of groups K."""
        return len(self.names)

    @property
    def n_columns(self) -> int:
        """Number of columns M, the free ones included."""
        return len(self.labels)

    @property
    def sizes(self) -> Indices:
        """Number of columns in each group."""
        return np.bincount(self.labels[self.labels != FREE], minlength=self.n_groups)

    @property
    def free(self) -> Indices:
        """Positions of the columns in no group."""
        return np.flatnonzero(self.labels == FREE)

    def index(self, name: str) -> int:
        """Return the position of the group called ``name``."""
        if name not in self.names:
            known = suggestion(str(name), self.names) or f": there are {listing(self.names)}"
            raise InvalidInput(f'there is no group "{name}"{known}')
        return self.names.index(name)

    def members(self, k: int | str) -> Indices:
        """Return the positions of the columns of one group, given by name or index."""
        k = self.index(k) if isinstance(k, str) else k
        if not 0 <= k < self.n_groups:
            raise InvalidInput(f"there is no group {k}: the {self.n_groups} groups count from 0")
        return np.flatnonzero(self.labels == k)

    def indicator(self) -> NDArray[np.float64]:
        """Return the (M, K) matrix with a 1 where the column is in the group, else 0."""
        return np.eye(self.n_groups + 1, self.n_groups)[self.labels]  # label -1 picks the zero row

    def to_dict(self) -> dict[str, list[Any]]:
        """Return ``{name: [columns]}`` by column name, or else by position; free columns are left out."""
        spell = Extent.of(self.columns, self.n_columns).spell
        return {name: [spell(j) for j in self.members(k)] for k, name in enumerate(self.names)}

    def _value(self) -> tuple[Any, ...]:
        return self.names, self.labels.tobytes(), self.columns

    def __eq__(self, other: object) -> bool:
        """Return whether the groups, their order and the column names are the same."""
        return self._value() == other._value() if isinstance(other, Partition) else NotImplemented

    def __hash__(self) -> int:
        """Return a hash of the content."""
        return hash(self._value())

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild copies and pickles from their parts, so that their labels are read-only too."""
        return partial(Partition, ordered=self.ordered), (self.names, self.labels, self.columns)

    def __repr__(self) -> str:
        """Show the groups and their sizes."""
        sizes = [f"{name}: {size}" for name, size in zip(self.names, self.sizes, strict=True)]
        sizes = [*sizes[:6], "..."] if len(sizes) > 6 else sizes
        free = f", {len(self.free)} free" if len(self.free) else ""
        told = f"{counted(self.n_columns, 'column')} in {counted(self.n_groups, 'group')}{free}"
        return f"Partition({told}; {', '.join(sizes)})"
