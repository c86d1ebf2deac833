"""The same least-squares problem on at most M + 1 rows: shift, fold by blocked QR, scale, eliminate.

Every solver of the toolkit works on the reduced problem

    minimise over v    ||R v - z||^2 + rest + sum_j l1_j |v_j|

whose value times ``scale`` is the objective of the original data, penalty included. The columns of R are
the columns that carry a sign constraint; the intercept and free columns are projected out exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import lapack, qr, solve_triangular

from formulations.data import Floats
from formulations.errors import InvalidInput
from formulations.signs import SignPattern
from formulations.strengths import INTERCEPT, Strengths

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from formulations.instance import Instance

_BLOCK_ROWS = 1024  # a block and its reflectors stay in cache; larger blocks gain nothing
_PANEL = 12
DEPENDENT = 1e-13  # of a column's norm: what rounding leaves of one that depends on others; more than that is data
_LARGEST = 510  # power of two, of a number whose square is one too
SMALLEST_SQUARE = 1e-250  # of columns whose squares lose nothing to the ends of the range of floats
_REACH = 1000  # power of two: a column so small beside y has coefficients that are no floating-point numbers
_EXPLAINED = 1e-13  # of a column's norm: what is left of one that the free columns explain
_RANK_TOLERANCE = 1e-12  # of a free column's own norm: below it the column repeats the free ones before it


def fold(blocks: Iterable[Floats], width: int) -> Floats:
    """Return at most ``width`` rows T with T'T = B'B, B the blocks stacked; one pass, constant memory.

    T is an upper triangle, or B itself if that has fewer rows. Blocks in column order are overwritten.
    """
    triangle: Floats | None = None
    waiting: list[Floats] = []  # too few rows so far to fill the triangle
    n_rows = 0
    for block in blocks:
        n_rows += len(block)
        if n_rows < width:
            waiting.append(block.copy())
            continue
        triangle = np.zeros((width, width), order="F") if triangle is None else triangle
        rows = np.asfortranarray(np.vstack([*waiting, block]) if waiting else block)
        waiting = []
        triangle, _, _, info = lapack.dtpqrt(0, min(_PANEL, width), triangle, rows, overwrite_a=True, overwrite_b=True)
        if info != 0:
            raise RuntimeError(f"LAPACK dtpqrt refused argument {-info}")
    if triangle is None:
        return np.vstack([np.zeros((0, width)), *waiting])
    return np.asarray(np.triu(triangle))


@dataclass(frozen=True, eq=False)
class Reduction:
    """The reduced problem of an instance and the exact map back to original units.

    Attributes
    ----------
    R, z, rest
        ``||R v - z||^2 + rest`` is the squared error plus ridge plus L2 penalty, in units of ``scale``.
    l1
        Weight of ``|v_j|`` per column: eta of its group (zero unless the penalty is "l1").
    labels
        Group of each column of R, in increasing order: the columns of a group stand together.
    names
        Names of those groups; a penalised L1 intercept adds one group of its own.
    scale
        A power of four: reduced objective times ``scale`` is the original objective.
    """

    R: Floats
    z: Floats
    rest: float
    l1: Floats
    labels: NDArray[np.intp]
    names: tuple[str, ...]
    scale: float
    _columns: NDArray[np.intp]  # original column of each reduced column (M stands for the intercept)
    _exponents: NDArray[np.intp]  # coef = ldexp(v, exponents)
    _free: _FreeBlock
    _instance: Instance

    @property
    def n_columns(self) -> int:
        """Number of sign-constrained columns."""
        return int(self.R.shape[1])

    @property
    def work(self) -> float:
        """Multiplications of one factorisation of R."""
        height, width = map(float, self.R.shape)
        return height * width * min(height, width)

    @property
    def n_groups(self) -> int:
        """Number of groups that carry a sign."""
        return len(self.names)

    @property
    def n_own_groups(self) -> int:
        """Number of groups of the instance itself: one fewer if an L1-penalised intercept is a group of its own."""
        return self._instance.n_groups

    def objective(self, v: Floats) -> float:
        """Return the objective of the original data at reduced coefficients v, free coefficients optimal."""
        residual = self.R @ v - self.z
        return float(self.scale * (residual @ residual + self.rest + self.l1 @ np.abs(v)))

    def restore(self, v: Floats, left: NDArray[np.bool_] | None = None) -> tuple[Floats, float]:
        """Return ``(coef, intercept)`` in original units; constrained signs and zeros survive exactly.

        A column of which the reduction left nothing (zero, or explained by the intercept) gets the coefficient zero;
        ``left`` says which those with something left are, if the penalties are not those of the reduction.
        """
        M = self._instance.n_columns
        v = np.where(self.R.any(axis=0) | (self.l1 > 0) if left is None else left, v, 0.0)
        full = np.zeros(M + 1)
        full[self._columns] = np.ldexp(v, self._exponents)
        full[self._free.columns] = np.ldexp(self._free.solve(v), self._free.exponents)
        intercept = full[M]
        if self._instance._shifted:
            intercept += self._instance._y_shift - self._instance._x_shift @ full[:M]
        return full[:M] + 0.0, float(intercept)  # no -0.0, which JSON would show

    def project(self, coef: Floats, intercept: float = 0.0) -> Floats:
        """Return the reduced coefficients of a model in original units (the inverse of ``restore``)."""
        full = np.append(np.asarray(coef, dtype=np.float64), intercept)
        return np.asarray(np.ldexp(full[self._columns], -self._exponents))

    def column_signs(self, signs: SignPattern | Iterable[int] | None) -> NDArray[np.int8]:
        """Return the sign of each column of R, 0 where undecided; None decides nothing.

        An intercept that counts as a group of its own may be left out of the pattern: it is undecided then.
        """
        pattern = SignPattern.free(self.n_groups) if signs is None else SignPattern.of(signs)
        if len(pattern) == self._instance.n_groups < self.n_groups:
            pattern = SignPattern((*pattern, 0))
        if len(pattern) != self.n_groups:
            raise InvalidInput(f"signs has {len(pattern)} value(s) but there are {self._instance.n_groups} group(s)")
        return pattern.per_column(self.labels)

    @property
    def penalty_rows(self) -> Floats:
        """The nonnegative (K, n) matrix C with ``||C v||^2`` the L2 penalty on the group sums, already in R."""
        strengths = self.strengths
        if strengths.kind == "l1":
            return np.zeros((self.n_groups, self.n_columns))
        root = self.in_units(np.sqrt(strengths.groups)[self.labels])
        return np.asarray(np.where(self.labels == np.arange(self.n_groups)[:, None], root, 0.0))

    def in_units(self, weights: Floats) -> Floats:
        """Return the weights of reduced coefficients whose weights as coefficients, in a squared row, are given."""
        return np.asarray(np.ldexp(weights, self._exponents - (np.frexp(self.scale)[1] - 1) // 2))

    def l1_weights(self, strengths: Strengths) -> Floats:
        """Return the weight of each ``|v_j|`` under these penalties."""
        weights = np.append(strengths.groups, strengths.intercept)[self.labels]
        return _l1_weights(weights if strengths.kind == "l1" else 0.0 * weights, self._exponents, self.scale)

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of the columns of R in the data, or their positions."""
        own = self._instance.partition.columns or [f"column {j}" for j in range(self._instance.n_columns)]
        named = [*(str(name) for name in own), INTERCEPT]
        return tuple(named[j] for j in self._columns)

    @property
    def strengths(self) -> Strengths:
        """The penalties of the instance."""
        return self._instance.strengths

    def changed(self, strengths: Strengths, eta: Any, ridge: Any) -> Strengths:
        """Return strengths with another eta or ridge, checked as those of the instance; None keeps one."""
        own = self._instance
        return strengths.changed(
            eta, ridge, own.partition, fit_intercept=own.fit_intercept, penalize_intercept=own.penalize_intercept
        )

    @property
    def has_free_columns(self) -> bool:
        """Whether columns without a sign constraint are projected out beside the intercept."""
        return bool((self._free.columns < self._instance.n_columns).any())

    @cached_property
    def data_part(self) -> Reduction:
        """The same problem, in the same coordinates and scale, without the L2 penalty on the group sums.

        Ridge is part of it: curvature that each coefficient has for itself, as if more rows had been observed. Taken
        from the data by a second pass, once: subtracting C'C from R'R would lose digits when eta is large.
        """
        penalised = self.strengths.kind == "l2" and bool(self.strengths.groups.any())
        return reduce(self._instance, like=self) if penalised else self

    @cached_property
    def bare_part(self) -> Reduction:
        """The data part without ridge, unless free columns, which are projected out, pay it too."""
        ridge = self.strengths.ridge > 0 and not self.has_free_columns
        return reduce(self._instance, like=self, ridge=False) if ridge else self.data_part


@dataclass(frozen=True, eq=False)
class _FreeBlock:
    """Unconstrained columns F, projected out: their optimal value given v solves ``R_ff u = z_f - R_fc v``."""

    columns: NDArray[np.intp]
    exponents: NDArray[np.intp]
    R_ff: Floats
    R_fc: Floats
    z_f: Floats

    def solve(self, v: Floats) -> Floats:
        rank = len(self.z_f)
        u = np.zeros(len(self.columns))
        if rank:
            u[:rank] = solve_triangular(self.R_ff, self.z_f - self.R_fc @ v)
        return u


def reduce(instance: Instance, *, like: Reduction | None = None, ridge: bool = True) -> Reduction:
    """Return the reduced problem of an instance: one pass over the rows, O(M^2) memory beyond them.

    With ``like``, in the coordinates of that reduction and without the L2 penalty on the group sums; ridge on demand.
    """
    M = instance.n_columns
    keep_intercept = instance.fit_intercept and instance._intercept_is_group
    labels = np.append(instance.partition.labels, instance.n_groups if keep_intercept else -1)
    free = np.flatnonzero(labels < 0)
    if not instance.fit_intercept:
        free = free[free < M]
    signed = np.argsort(labels, kind="stable")[np.count_nonzero(labels < 0) :]  # groups stand together
    order = np.concatenate([free[::-1], signed])  # the intercept (index M) comes first
    rows = fold(_blocks(instance, order, groups=like is None, ridge=ridge), len(order) + 1)
    exponents = _exponents(rows)
    n_free = len(free)
    if exponents[-1] > _LARGEST:
        raise InvalidInput("y is too large: the sum of its squares is beyond floating point. Divide it by a constant")
    e_y = max(int(exponents[-1]), -_LARGEST) if like is None else (int(np.frexp(like.scale)[1]) - 1) // 2
    exponents[-1] = e_y
    beyond = np.append(e_y - exponents[:-1] > _REACH, False)
    if beyond.any():
        rows, exponents = np.where(beyond, 0.0, rows), np.where(beyond, 0, exponents)
    free_block, rows = _eliminate(_scaled(rows, -exponents), n_free, order[:n_free], e_y - exponents[:n_free])
    # What the free columns explain is gone: rounding is not a column, and the rest gets norm about one again.
    rows = np.where(np.linalg.norm(rows, axis=0) > _EXPLAINED, rows, 0.0) if n_free else rows
    again = _exponents(rows)[:-1] if like is None else e_y - like._exponents - exponents[n_free:-1]
    rows[:, :-1] *= np.ldexp(1.0, -again)
    e_signed = e_y - exponents[n_free:-1] - again
    free_block = replace(free_block, R_fc=free_block.R_fc * np.ldexp(1.0, -again))
    names = instance.partition.names + ((INTERCEPT,) if keep_intercept else ())
    weights = np.append(instance.strengths.groups, instance.strengths.intercept)[labels[signed]]
    l1 = _l1_weights(weights if instance.penalty == "l1" else 0.0 * weights, e_signed, float(np.ldexp(1.0, 2 * e_y)))
    square = len(rows) > len(signed)  # the last row is then beyond the reach of every column
    height = _height(rows[:-1] if square else rows)
    return Reduction(
        R=_frozen(rows[:height, :-1]), z=_frozen(rows[:height, -1]),
        rest=float(rows[-1, -1] ** 2) if square else 0.0, l1=_frozen(l1),
        labels=labels[signed], names=names, scale=float(np.ldexp(1.0, 2 * e_y)),
        _columns=signed, _exponents=e_signed, _free=free_block, _instance=instance,
    )


def _l1_weights(weights: Floats, exponents: NDArray[np.intp], scale: float) -> Floats:
    """Return the costs of reduced coefficients from those of coefficients.

    Columns and target have norms below two: a cost of eight leaves nothing of a column, and 2^510 no more.
    """
    wanted = exponents - (np.frexp(scale)[1] - 1)
    return np.asarray(np.ldexp(weights, np.minimum(wanted, _LARGEST - np.frexp(weights)[1])))


def _height(rows: Floats) -> int:
    """Return the number of rows up to the last that is not zero."""
    return int(np.flatnonzero(rows.any(axis=1)).max(initial=-1)) + 1


def _exponents(rows: Floats) -> NDArray[np.intp]:
    """Return e with ``2^-e`` times each column's norm in [1, 2); zero for a zero column."""
    with np.errstate(over="ignore", under="ignore"):
        squares = np.einsum("ij,ij->j", rows, rows)
    if squares.size and squares.min() > SMALLEST_SQUARE and squares.max() < 1.0 / SMALLEST_SQUARE:
        return np.asarray(np.frexp(np.sqrt(squares))[1] - 1, dtype=np.intp)
    largest = np.frexp(np.abs(rows).max(axis=0, initial=0.0))[1]  # squares of the rows as they are may be zero
    norms = np.linalg.norm(_scaled(rows, -largest), axis=0)
    return np.where(norms > 0, largest + np.frexp(norms)[1] - 1, 0).astype(np.intp)


def _scaled(rows: Floats, exponents: NDArray[np.intp]) -> Floats:
    """Return the columns times ``2^exponents``, exactly."""
    if np.abs(exponents).max(initial=0) <= _REACH:
        return np.asarray(rows * np.ldexp(1.0, exponents))
    return np.asarray(np.ldexp(rows, exponents))  # slow, but it takes every exponent


def _blocks(instance: Instance, order: NDArray[np.intp], *, groups: bool, ridge: bool) -> Iterator[Floats]:
    """Yield the rows of [intercept, free, signed, y], shifted and weighted, then those of ridge and the L2 penalty."""
    X, y, M = instance.X, instance.y, instance.n_columns
    columns = order[order < M]
    first = int(order[0] == M) if len(order) else 0
    last = len(order) - int(len(order) > 0 and order[-1] == M)  # an L1 intercept is the last signed column
    shift = instance._x_shift[columns]
    width = len(order) + 1
    # One buffer for all blocks, as fresh pages are slow; in the order of LAPACK if the rows will be factored.
    buffer = np.empty((min(_BLOCK_ROWS, len(X)), width), order="F" if len(X) >= width else "C")
    for start in range(0, len(X), _BLOCK_ROWS):
        rows = slice(start, min(start + _BLOCK_ROWS, len(X)))
        block = buffer[: rows.stop - start]
        np.subtract(X[rows][:, columns], shift, out=block[:, first:last])
        block[:, :first] = 1.0
        block[:, last:-1] = 1.0
        np.subtract(y[rows], instance._y_shift, out=block[:, -1])
        if instance.sample_weight is not None:
            block *= np.sqrt(instance.sample_weight[rows])[:, None]
        yield block
    if ridge and instance.ridge > 0:
        yield np.sqrt(instance.ridge) * np.eye(M, M + 2)[:, np.append(order, M + 1)]
    if instance.strengths.any_eta and instance.penalty == "l2":
        yield _penalty_rows(instance, order)[0 if groups else instance.n_groups :]


def _penalty_rows(instance: Instance, order: NDArray[np.intp]) -> Floats:
    """Return rows whose squares are eta_k times the squared group sums (and the squared intercept if penalised)."""
    M, K = instance.n_columns, instance.n_groups
    full = np.zeros((K + 1, M + 2))  # columns: X, intercept, y
    full[:K, :M] = instance.partition.indicator().T
    if instance.strengths.intercept > 0:
        # t = t' + y_shift - x_shift'w in the shifted coordinates t'
        full[K, :M], full[K, M], full[K, M + 1] = -instance._x_shift, 1.0, -instance._y_shift
    full *= np.sqrt(np.append(instance.strengths.groups, instance.strengths.intercept))[:, None]
    return np.asarray(full[:, np.append(order, M + 1)])


def _eliminate(rows: Floats, n_free: int, columns: NDArray[np.intp], exponents: NDArray[np.intp]
               ) -> tuple[_FreeBlock, Floats]:
    """Return the free block of full column rank and the remaining rows [R z; 0 sqrt(rest)]."""
    if n_free == 0:
        empty = np.zeros((0, rows.shape[1] - 1))
        return _FreeBlock(columns, exponents, np.zeros((0, 0)), empty, np.zeros(0)), rows
    # A triangle is zero below the free columns' own rows; plain rows are not.
    height = n_free if len(rows) == rows.shape[1] else len(rows)
    if n_free == height == 1 and abs(rows[0, 0]) > _RANK_TOLERANCE:  # an intercept alone, mostly: nothing to rotate
        return _FreeBlock(columns, exponents, rows[:1, :1], rows[:1, 1:-1], rows[:1, -1]), rows[1:, 1:]
    (reflectors, factors), R_ff, pivots = qr(rows[:height, :n_free], mode="raw", pivoting=True)
    rank = int((np.abs(np.diag(R_ff)) > _RANK_TOLERANCE).sum())
    width = rows.shape[1] - n_free
    reflectors = reflectors[:, : len(factors)]
    rotated, _, _ = lapack.dormqr("L", "T", reflectors, factors, rows[:height, n_free:], lwork=64 * width)
    block = _FreeBlock(columns[pivots], exponents[pivots], R_ff[:rank, :rank], rotated[:rank, :-1], rotated[:rank, -1])
    below, left = rows[height:, n_free:], rotated[rank:]
    return block, fold([below, left], width) if len(left) else below


def _frozen(array: Floats) -> Floats:
    array = np.ascontiguousarray(array)
    array.setflags(write=False)
    return array
