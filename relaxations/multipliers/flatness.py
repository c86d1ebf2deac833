"""How much curvature multipliers can give a Gram matrix, and along which entries it stays flat."""

from __future__ import annotations

from math import inf

import numpy as np
from numpy.typing import NDArray

from formulations.data import Floats
from relaxations.multipliers.interior_point import central, follow
from relaxations.multipliers.iterate import Iterate
from relaxations.multipliers.program import PairProgram

_FIRST = 1e-2  # first multipliers, beside the geometric mean of two diagonal entries
_ROUGH = 0.2  # of the curvature: the gap at which it is known well enough
_FLAT = 1e-9  # of the largest diagonal entry: no curvature


def most_curved(gram: Floats, products: NDArray[np.int8]) -> tuple[Floats, Floats]:
    """Return N of the signs of the products that (nearly) maximises the least eigenvalue of ``gram - N``.

    And the diagonal of the matrix A that shows no other N to be better: psd, of trace one, its entries of the signs of
    the products. Where the curvature is zero, its large entries are the columns that can grow at no cost.
    """
    rows, columns = np.nonzero(np.triu(products, 1))
    sign = products[rows, columns].astype(np.float64)
    # Multipliers of products <= 0 are negative: turned round, they are limited from above.
    free = np.full(len(rows), inf)
    program = PairProgram(
        gram, np.ones(len(gram)), rows, columns, np.where(sign > 0, 0.0, free), np.where(sign > 0, free, 0.0)
    )
    root = np.sqrt(np.maximum(np.diag(gram), _FLAT))
    y = _FIRST * sign * root[rows] * root[columns]
    size = float(np.diag(gram).max())
    t = float(np.linalg.eigvalsh(gram - program.combined(0.0, y))[0]) - size

    def enough(at: Iterate) -> bool:
        if at.gap <= _FLAT * size and at.infeasibility <= _FLAT:
            return True
        return at.t > 0 and at.gap <= _ROUGH * at.t

    start = central(program, t, y, size / len(gram))
    if start is None:  # not a number among the data
        return np.zeros_like(gram), np.ones(len(gram))
    last = follow(start, enough).last
    return program.combined(0.0, last.y), np.diag(last.Y)
