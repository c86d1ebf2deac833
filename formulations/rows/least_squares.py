"""What a reduction is made from: rows with weights, the groups of their columns, and the penalties."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from formulations.data import Floats
from formulations.partition import Partition
from formulations.rows.fold import BLOCK_ROWS
from formulations.strengths import Strengths


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """Weighted rows (X, y) with a partition of the columns and penalties; the intercept counts as column M.

    The rows are shifted by ``x_shift`` and ``y_shift``, their rounded means: any shift is exact because the intercept
    absorbs it, and this one avoids cancellation.
    """

    X: Floats
    y: Floats
    sample_weight: Floats | None
    partition: Partition
    strengths: Strengths
    fit_intercept: bool
    penalize_intercept: bool
    n_rows: int
    x_shift: Floats
    y_shift: float

    @classmethod
    def of(cls, X: Floats, y: Floats, sample_weight: Floats | None, partition: Partition, strengths: Strengths, *,
           fit_intercept: bool, penalize_intercept: bool, n_rows: int) -> LeastSquares:
        """Return the problem with the shift that suits its rows; ``n_rows`` is how many rows of data they stand for."""
        problem = (X, y, sample_weight, partition, strengths, fit_intercept, penalize_intercept, n_rows)
        if not fit_intercept or strengths.intercept_has_sign:
            return cls(*problem, np.zeros(X.shape[1]), 0.0)
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        mean_weights = np.asarray(weights / weights.sum())
        return cls(*problem, np.asarray(mean_weights @ X), float(mean_weights @ y))

    @property
    def n_columns(self) -> int:
        """Number of columns M, the intercept aside."""
        return int(self.X.shape[1])

    @property
    def n_groups(self) -> int:
        """Number of groups of the partition."""
        return self.partition.n_groups

    @property
    def is_shifted(self) -> bool:
        """Whether there is an intercept without a sign, which absorbs the shift."""
        return self.fit_intercept and not self.strengths.intercept_has_sign

    @cached_property
    def labels(self) -> NDArray[np.intp]:
        """The group of each column and of the intercept; -1 where there is none."""
        return np.append(self.partition.labels, self.n_groups if self.strengths.intercept_has_sign else -1)

    def free_columns(self) -> NDArray[np.intp]:
        """Return the columns without a sign constraint, the intercept (index M) first."""
        free = np.flatnonzero(self.labels < 0)
        if not self.fit_intercept:
            free = free[free < self.n_columns]
        return free[::-1]

    def signed_columns(self) -> NDArray[np.intp]:
        """Return the columns with a sign constraint: groups stand together."""
        return np.argsort(self.labels, kind="stable")[np.count_nonzero(self.labels < 0) :]

    def blocks(self, order: NDArray[np.intp], *, groups: bool, ridge: bool) -> Iterator[Floats]:
        """Yield the rows of [columns in order, y], shifted and weighted, then those of ridge and the L2 penalty.

        Without ``groups`` or ``ridge``, the rows of that penalty are left out.
        """
        yield from self._data_blocks(order)
        if ridge and self.strengths.ridge > 0:
            M = self.n_columns
            yield np.sqrt(self.strengths.ridge) * np.eye(M, M + 2)[:, np.append(order, M + 1)]
        if self.strengths.any_eta and self.strengths.kind == "l2":
            yield self._penalty_rows(order)[0 if groups else self.n_groups :]

    def _data_blocks(self, order: NDArray[np.intp]) -> Iterator[Floats]:
        """Yield the rows of the data, always in the same place: to be used at once."""
        X, y, M = self.X, self.y, self.n_columns
        columns = order[order < M]
        first = int(order[0] == M) if len(order) else 0
        last = len(order) - int(len(order) > 0 and order[-1] == M)  # an L1 intercept is the last signed column
        shift = self.x_shift[columns]
        width = len(order) + 1
        # One buffer for all blocks, as fresh pages are slow; in the order of LAPACK if the rows will be factored.
        buffer = np.empty((min(BLOCK_ROWS, len(X)), width), order="F" if len(X) >= width else "C")
        for start in range(0, len(X), BLOCK_ROWS):
            rows = slice(start, min(start + BLOCK_ROWS, len(X)))
            block = buffer[: rows.stop - start]
            np.subtract(X[rows][:, columns], shift, out=block[:, first:last])
            block[:, :first] = 1.0
            block[:, last:-1] = 1.0
            np.subtract(y[rows], self.y_shift, out=block[:, -1])
            if self.sample_weight is not None:
                block *= np.sqrt(self.sample_weight[rows])[:, None]
            yield block

    def _penalty_rows(self, order: NDArray[np.intp]) -> Floats:
        """Return rows whose squares are eta_k times the squared group sums (and the squared intercept if penalised)."""
        M, K = self.n_columns, self.n_groups
        full = np.zeros((K + 1, M + 2))  # columns: X, intercept, y
        full[:K, :M] = self.partition.indicator().T
        if self.strengths.intercept > 0:
            # t = t' + y_shift - x_shift'w in the shifted coordinates t'
            full[K, :M], full[K, M], full[K, M + 1] = -self.x_shift, 1.0, -self.y_shift
        full *= np.sqrt(np.append(self.strengths.groups, self.strengths.intercept))[:, None]
        return np.asarray(full[:, np.append(order, M + 1)])
