"""Ambiguities: what the data leave open about a model, as values that read as sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from formulations.errors import counted, listing


@dataclass(frozen=True)
class Move:
    """Coefficients that may change together without changing any fit, penalty or sign.

    Adding ``t * weights`` to the coefficients of ``columns`` (and to those of free columns and the intercept what makes
    up for it) is as good for every t from ``low`` to ``high``; infinite ends are None. The largest weight is one.
    """

    columns: tuple[str, ...]
    weights: tuple[float, ...]
    low: float | None
    high: float | None

    def __str__(self) -> str:
        """Name the columns and how far they may move."""
        low, high = ("any distance" if end is None else f"{abs(end):.3g}" for end in (self.low, self.high))
        return f"{listing(self.columns)} (down {low}, up {high})"


@dataclass(frozen=True)
class Ambiguities:
    """What the data do not determine about one model.

    Attributes
    ----------
    either_sign
        Groups that fit equally well with either sign, exactly or within rounding: what they show is only how their
        columns compare with each other.
    zero_groups
        Groups that are zero, and have no sign.
    moves
        Coefficients that are not unique, for the signs of the model.
    n_loose
        How many coefficients are not unique, those beyond the ``moves`` listed among them.
    constant_columns
        Columns that the intercept and the free columns hold: they have the coefficient zero.
    repeated_columns
        Columns that are the same up to a factor and a constant, in lists.
    constant_target
        Whether the target is constant.
    exact_fit
        Whether the data are fitted exactly, up to rounding.
    n_rows, n_columns
        The sizes of the data: fewer rows than columns fit almost any target.
    proved_signs
        Groups whose sign every optimal model shares: with the other one, a bound exceeds the objective.
    proved_zeros
        Columns that are zero in every optimal model (the gap-safe rule of Ndiaye et al., 2017).
    unique
        True if the model is proved to be the only optimal one, False if another one is as good, None if neither is
        known.
    """

    either_sign: tuple[str, ...] = ()
    zero_groups: tuple[str, ...] = ()
    moves: tuple[Move, ...] = ()
    n_loose: int = 0
    constant_columns: tuple[str, ...] = ()
    repeated_columns: tuple[tuple[str, ...], ...] = ()
    constant_target: bool = False
    exact_fit: bool = False
    n_rows: int = 0
    n_columns: int = 0
    proved_signs: tuple[str, ...] = ()
    proved_zeros: tuple[str, ...] = ()
    unique: bool | None = None

    def __bool__(self) -> bool:
        """Whether the data leave anything open."""
        return bool(self.lines) and not self.unique

    def __iter__(self) -> Iterator[str]:
        """Go through the lines."""
        return iter(self.lines)

    @property
    def lines(self) -> tuple[str, ...]:
        """One line per kind, the names in a list; where the model is proved to be unique, that is the last one."""
        told = (
            self._signs(), self._coefficients(), self._columns(), self._copies(), self._target(), self._fit(),
            self._uniqueness(),
        )
        return tuple(line for line in told if line)

    def __str__(self) -> str:
        """Return the lines."""
        return "\n".join(self.lines)

    def _signs(self) -> str:
        n = len(self.either_sign)
        if not n:
            return ""
        these = f"{listing(self.either_sign)}: compare the columns of {'the' if n == 1 else 'a'} group with each other"
        return f"either sign fits equally well for {counted(n, 'group')}, {these}"

    def _coefficients(self) -> str:
        if not self.n_loose:
            return ""
        first = f", such as {self.moves[0]}" if self.moves else ""
        are = "coefficient is" if self.n_loose == 1 else "coefficients are"
        return f"{self.n_loose:,} {are} not unique: columns move against each other at no cost{first}"

    def _columns(self) -> str:
        return f"no effect of their own: {listing(self.constant_columns)}" if self.constant_columns else ""

    def _copies(self) -> str:
        if not self.repeated_columns:
            return ""
        pairs = [" = ".join(columns) for columns in self.repeated_columns]
        return f"the same column more than once, up to a factor and a constant: {listing(pairs)}"

    def _target(self) -> str:
        return "the target is constant: there is nothing to explain" if self.constant_target else ""

    def _fit(self) -> str:
        sizes = f"{counted(self.n_rows, 'row')} and {counted(self.n_columns, 'column')}"
        if self.exact_fit and self.n_rows <= self.n_columns:
            return f"an exact fit says nothing here: {sizes} fit almost any target"
        if self.n_rows <= self.n_columns:
            return f"no more rows than columns: {sizes} fit almost any target well"
        return ""

    def _uniqueness(self) -> str:
        if self.unique:
            return "the model is unique (proved): every other one has a larger objective"
        return ""
