"""The same least-squares problem on at most M + 1 rows: shift, fold by blocked QR, scale, eliminate.

Every solver of the toolkit works on the reduced problem

    minimise over v    ||R v - z||^2 + rest + sum_j l1_j |v_j|

whose value times ``scale`` is the objective of the original data, penalty included. The columns of R are
the columns that carry a sign constraint; the intercept and free columns are projected out exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.data import Floats
from formulations.errors import InvalidInput, counted
from formulations.partition.given_signs import given_signs
from formulations.rows.fold import fold
from formulations.rows.free_block import FreeBlock, eliminate
from formulations.rows.least_squares import LeastSquares
from formulations.rows.scaling import exponent_of, norm_exponents, scaled, scaled_costs, target_exponent, within_reach
from formulations.signs import SignPattern
from formulations.strengths import INTERCEPT, Strengths
from formulations.tolerances import DEPENDENT


@dataclass(frozen=True, eq=False)
class Reduction:
    """The reduced problem and the exact map back to original units.

    ``instance.reduction`` computes it once. Columns whose sign is constrained remain; the intercept and free columns
    are projected out.

    Attributes
    ----------
    R, z, rest
        ``||R v - z||^2 + rest`` is the squared error plus ridge plus L2 penalty, in units of ``scale``.
    l1
        Weight of ``|v_j|`` per column: eta of its group (zero unless the penalty is "l1").
    labels
        Group of each column of R, in increasing order: the columns of a group are adjacent.
    names
        Names of those groups; a penalised L1 intercept adds one group of its own.
    scale
        A power of four: reduced objective times ``scale`` is the original objective.
    independence
        The smallest share of a column's length that is left when the free columns are projected out; one if nothing is
        lost. A share as small as rounding counts as none.
    problem
        The rows, groups and penalties that were reduced.

    Examples
    --------
    >>> import numpy as np
    >>> from formulations import Instance
    >>> rng = np.random.default_rng(0)
    >>> instance = Instance(rng.normal(size=(1000, 3)), rng.normal(size=1000), ["a", "a", "b"])
    >>> reduction = instance.reduction
    >>> reduction.R.shape
    (3, 3)
    >>> coef, intercept = reduction.restore(np.ones(3))
    >>> bool(np.isclose(reduction.objective(np.ones(3)), instance.objective(coef, intercept)))
    True
    """

    R: Floats
    z: Floats
    rest: float
    l1: Floats
    labels: NDArray[np.intp]
    names: tuple[str, ...]
    scale: float
    independence: float
    _columns: NDArray[np.intp]  # original column of each reduced column (M stands for the intercept)
    _exponents: NDArray[np.intp]  # coef = ldexp(v, exponents)
    _free: FreeBlock
    problem: LeastSquares

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
    def rounding(self) -> float:
        """What share of a column rounding leaves at most, as a rule, if the column depends on others."""
        return rounding_share(self.problem.n_rows, len(self.problem.partition.labels))

    @property
    def n_groups(self) -> int:
        """Number of groups that carry a sign."""
        return len(self.names)

    @property
    def n_own_groups(self) -> int:
        """Number of groups of the partition, one fewer than ``n_groups`` if an L1-penalised intercept is a group."""
        return self.problem.n_groups

    def objective(self, v: Floats) -> float:
        """Return the objective of the original data at reduced coefficients v, free coefficients optimal."""
        residual = self.R @ v - self.z
        return float(self.scale * (residual @ residual + self.rest + self.l1 @ np.abs(v)))

    def restore(self, v: Floats, left: NDArray[np.bool_] | None = None) -> tuple[Floats, float]:
        """Return ``(coef, intercept)`` in original units; constrained signs and zeros survive exactly.

        A column of which the reduction left nothing (zero, or explained by the intercept) gets the coefficient zero;
        ``left`` says which those with something left are, if the penalties are not those of the reduction.
        """
        M = self.problem.n_columns
        v = np.where(self.R.any(axis=0) | (self.l1 > 0) if left is None else left, v, 0.0)
        full = np.zeros(M + 1)
        full[self._columns] = np.ldexp(v, self._exponents)
        full[self._free.columns] = np.ldexp(self._free.solve(v), self._free.exponents)
        intercept = full[M]
        if self.problem.is_shifted:
            intercept += self.problem.y_shift - self.problem.x_shift @ full[:M]
        return full[:M] + 0.0, float(intercept)  # no -0.0, which JSON would show

    def project(self, coef: Floats, intercept: float = 0.0) -> Floats:
        """Return the reduced coefficients of a model in original units (the inverse of ``restore``)."""
        full = np.append(np.asarray(coef, dtype=np.float64), intercept)
        return np.asarray(np.ldexp(full[self._columns], -self._exponents))

    def sizes(self, bounds: Floats) -> Floats:
        """Return bounds on ``|v|`` as bounds on each coefficient's size in original units; inf on free columns."""
        full = np.full(self.problem.n_columns + 1, np.inf)
        full[self._columns] = np.ldexp(bounds, self._exponents)
        return full[:-1]

    def pattern(self, signs: Any) -> SignPattern:
        """Return the node of signs as users give them: a pattern, one sign per group, ``{group: sign}``, or None.

        None decides nothing. An intercept that counts as a group of its own may be left out: it is undecided then.
        """
        if signs is None:
            return SignPattern.free(self.n_groups)
        given = signs if isinstance(signs, SignPattern | Mapping) else list(signs)
        if not isinstance(given, SignPattern):
            own = isinstance(given, Mapping) or len(given) == self.problem.n_groups
            given = SignPattern.of(given_signs(given, self.problem.partition) if own else given)
        if len(given) == self.problem.n_groups < self.n_groups:
            given = SignPattern((*given, 0))
        if len(given) != self.n_groups:
            groups = counted(self.problem.n_groups, "group")
            raise InvalidInput(f"signs has {counted(len(given), 'value')} but there are {groups}")
        return given

    def column_signs(self, signs: Any) -> NDArray[np.int8]:
        """Return the sign of each column of R, 0 where undecided; the signs are those of ``pattern``."""
        return self.pattern(signs).per_column(self.labels)

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
        return np.asarray(np.ldexp(weights, self._exponents - exponent_of(self.scale)))

    def l1_weights(self, strengths: Strengths) -> Floats:
        """Return the weight of each ``|v_j|`` under these penalties."""
        weights = np.append(strengths.groups, strengths.intercept)[self.labels]
        return scaled_costs(weights if strengths.kind == "l1" else 0.0 * weights, self._exponents, self.scale)

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of the columns of R in the data, or their positions."""
        own = self.problem.partition.columns or [f"column {j}" for j in range(self.problem.n_columns)]
        named = [*(str(name) for name in own), INTERCEPT]
        return tuple(named[j] for j in self._columns)

    @property
    def original_columns(self) -> NDArray[np.intp]:
        """The position in the data of each column of R; M stands for the intercept."""
        return self._columns

    @property
    def strengths(self) -> Strengths:
        """The penalties of the problem."""
        return self.problem.strengths

    def changed(self, strengths: Strengths, eta: Any, ridge: Any) -> Strengths:
        """Return strengths with another eta or ridge, checked as those of the problem; None keeps one."""
        own = self.problem
        return strengths.changed(
            eta, ridge, own.partition, fit_intercept=own.fit_intercept, penalize_intercept=own.penalize_intercept
        )

    @property
    def has_free_columns(self) -> bool:
        """Whether columns without a sign constraint are projected out beside the intercept."""
        return bool((self._free.columns < self.problem.n_columns).any())

    @cached_property
    def data_part(self) -> Reduction:
        """The same problem, in the same coordinates and scale, without the L2 penalty on the group sums.

        Ridge is part of it: curvature that each coefficient has for itself, as if more rows had been observed. Taken
        from the data by a second pass, once: subtracting C'C from R'R would lose digits when eta is large.
        """
        penalised = self.strengths.kind == "l2" and bool(self.strengths.groups.any())
        return reduce(self.problem, like=self) if penalised else self

    @cached_property
    def bare_part(self) -> Reduction:
        """The data part without ridge, unless free columns, which are projected out, pay it too."""
        ridge = self.strengths.ridge > 0 and not self.has_free_columns
        return reduce(self.problem, like=self, ridge=False) if ridge else self.data_part


def reduce(problem: LeastSquares, *, like: Reduction | None = None, ridge: bool = True) -> Reduction:
    """Return the reduced problem: one pass over the rows, O(M^2) memory beyond them.

    With ``like``, in the coordinates of that reduction and without the L2 penalty on the group sums; ridge on demand.
    """
    free, signed = problem.free_columns(), problem.signed_columns()
    order = np.concatenate((free, signed))
    rows = fold(problem.blocks(order, groups=like is None, ridge=ridge), len(order) + 1)
    rows, exponents, e_y = _scaled(rows, like)
    free_block, rows, pivots = eliminate(rows, free, e_y - exponents[: len(free)])
    wanted = None if like is None else e_y - like._exponents - exponents[len(free) : -1]
    rows, again, left = rescaled(rows, wanted, explained=len(free) > 0)
    e_signed, scale = e_y - exponents[len(free) : -1] - again, float(np.ldexp(1.0, 2 * e_y))
    strengths, labels = problem.strengths, problem.labels[signed]
    weights = np.append(strengths.groups, strengths.intercept)[labels]
    l1 = scaled_costs(weights if strengths.kind == "l1" else 0.0 * weights, e_signed, scale)
    square = len(rows) > len(signed)  # the last row is then beyond the reach of every column
    height = height_of(rows[:-1] if square else rows)
    return Reduction(
        R=frozen(rows[:height, :-1]), z=frozen(rows[:height, -1]),
        rest=float(rows[-1, -1] ** 2) if square else 0.0, l1=frozen(l1), labels=labels,
        independence=smallest(np.append(pivots, left), rounding_share(problem.n_rows, len(order))),
        names=problem.partition.names + ((INTERCEPT,) if strengths.intercept_has_sign else ()), scale=scale,
        _columns=signed, _exponents=e_signed,
        _free=replace(free_block, R_fc=free_block.R_fc * np.ldexp(1.0, -again)), problem=problem,
    )


def _scaled(rows: Floats, like: Reduction | None) -> tuple[Floats, NDArray[np.intp], int]:
    """Return the rows with columns of norm about one, the exponents taken out, and that of the target.

    The target's exponent is that of ``like``, if given. Columns beyond the reach of floats are zero.
    """
    exponents = norm_exponents(rows)
    own = target_exponent(int(exponents[-1]))
    exponents[-1] = e_y = own if like is None else exponent_of(like.scale)
    reached = np.append(within_reach(exponents[:-1], e_y), True)
    if not reached.all():
        rows, exponents = np.where(reached, rows, 0.0), np.where(reached, exponents, 0)
    return scaled(rows, -exponents), exponents, e_y


def rescaled(rows: Floats, wanted: NDArray[np.intp] | None, *, explained: bool
             ) -> tuple[Floats, NDArray[np.intp], Floats]:
    """Return the rows with columns of norm about one again, the exponents taken out, and the norms before.

    The exponents are those ``wanted``, if any. What free columns have ``explained`` is gone: rounding is not a column.
    """
    left = np.linalg.norm(rows, axis=0) if explained else np.ones(rows.shape[1])
    rows = np.where(left > DEPENDENT, rows, 0.0) if explained else rows
    exponents = norm_exponents(rows)[:-1] if wanted is None else wanted
    rows[:, :-1] *= np.ldexp(1.0, -exponents)
    return rows, exponents, left[:-1]


def rounding_share(n_rows: int, n_columns: int) -> float:
    """Return what share of a column folding leaves at most, as a rule, if the column depends on others."""
    return float(np.finfo(np.float64).eps * np.sqrt(n_rows * n_columns))


def smallest(shares: Floats, rounding: float) -> float:
    """Return the smallest share that is more than rounding; one if there is none."""
    return float(shares.min(initial=1.0, where=shares > rounding))


def height_of(rows: Floats) -> int:
    """Return the number of rows up to the last that is not zero."""
    return int(np.flatnonzero(rows.any(axis=1)).max(initial=-1)) + 1


def frozen(array: Floats) -> Floats:
    """Return the array, read-only."""
    array = np.ascontiguousarray(array)
    array.setflags(write=False)
    return array
