"""SignPattern: one of -1, 0, +1 per group, 0 for undecided: a node of the search tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from formulations.errors import InvalidInput


@dataclass(frozen=True)
class SignPattern:
    """A node of the search: group k is >= 0 (+1), <= 0 (-1) or undecided (0).

    Sign patterns cannot be changed, and are hashable.

    Parameters
    ----------
    values : tuple of {-1, 0, 1}
        One sign per group, in the order of the groups.

    Raises
    ------
    InvalidInput
        If a sign is not -1, 0 or +1.

    Examples
    --------
    >>> from formulations import SignPattern
    >>> root = SignPattern.free(3)
    >>> node = root.fix(1, -1)
    >>> node.values, node.undecided, root.contains(node)
    ((0, -1, 0), (0, 2), True)
    """

    values: tuple[int, ...]

    def __post_init__(self) -> None:
        """Refuse anything but -1, 0 and +1."""
        for k, value in enumerate(self.values):
            if value not in (-1, 0, 1):
                raise InvalidInput(f"sign {k} is {value!r}: a sign is -1, 0 (undecided) or +1")
        object.__setattr__(self, "values", tuple(int(value) for value in self.values))

    @classmethod
    def of(cls, values: Iterable[int] | SignPattern) -> SignPattern:
        """Return a pattern from one sign per group, in their order."""
        if isinstance(values, Mapping):
            raise InvalidInput("signs by group need the groups' names: give one sign per group, in their order")
        return values if isinstance(values, SignPattern) else cls(tuple(values))

    @classmethod
    def free(cls, n_groups: int) -> SignPattern:
        """Return the root: every group undecided."""
        return cls((0,) * n_groups)

    @classmethod
    def all(cls, n_groups: int) -> Iterator[SignPattern]:
        """Yield the 2^K fully decided patterns."""
        return (cls(values) for values in product((1, -1), repeat=n_groups))

    def fix(self, group: int, sign: int) -> SignPattern:
        """Return the child in which ``group`` has ``sign``."""
        if self.values[group] not in (0, sign):
            raise InvalidInput(f"group {group} already has sign {self.values[group]:+d}")
        return SignPattern((*self.values[:group], sign, *self.values[group + 1 :]))

    @property
    def parents(self) -> tuple[SignPattern, ...]:
        """The boxes around this one in which one group less is decided."""
        decided = (k for k, value in enumerate(self.values) if value)
        return tuple(SignPattern((*self.values[:k], 0, *self.values[k + 1 :])) for k in decided)

    @property
    def undecided(self) -> tuple[int, ...]:
        """Groups without a sign."""
        return tuple(k for k, value in enumerate(self.values) if value == 0)

    @property
    def is_complete(self) -> bool:
        """Whether every group has a sign."""
        return 0 not in self.values

    def contains(self, other: SignPattern) -> bool:
        """Return whether every solution allowed by ``other`` is allowed here."""
        return all(mine in (0, theirs) for mine, theirs in zip(self.values, other.values, strict=True))

    def per_column(self, labels: NDArray[np.intp]) -> NDArray[np.int8]:
        """Return the sign of each column from its group's sign; free columns (label -1) get 0."""
        return np.array((*self.values, 0), dtype=np.int8)[labels]

    def __len__(self) -> int:
        """Return the number of groups."""
        return len(self.values)

    def __iter__(self) -> Iterator[int]:
        """Iterate over the signs in group order."""
        return iter(self.values)

    def __getitem__(self, group: int) -> int:
        """Return the sign of one group."""
        return self.values[group]

    def __str__(self) -> str:
        """Show the pattern as, for example, ``+-0``."""
        return "".join("-0+"[value + 1] for value in self.values)
