"""One linear system per iterate: the step towards a point of the central path.

The direction of Helmberg, Rendl, Vanderbei and Wolkowicz (1996), with Mehrotra's second-order terms.

With ``V = Z^-1`` and ``dZ = -dt diag(b) - sum_k dy_k E_k``, the equations of the path at mu, linearised, leave one
system in (dt, dy) with the matrix ``<E_k, Y E_l V>`` plus a diagonal: four products of entries for each pair (k, l).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, lapack

from formulations.data import Floats
from relaxations.multipliers.iterate import Iterate, inner, limit_step, matrix_step


class Direction(NamedTuple):
    """A change of every part of an iterate."""

    t: float
    y: Floats
    Z: Floats
    Y: Floats
    p: Floats
    r: Floats


class NewtonSystem:
    """The factored system at one iterate; raises LinAlgError where rounding leaves it indefinite."""

    def __init__(self, at: Iterate) -> None:
        self._at = at
        system = _schur(at)
        diagonal = np.arange(1, len(system))
        system[diagonal, diagonal] += at.p / at.s + at.r / at.w
        self._factor, fault = lapack.dpotrf(system.T, lower=1, clean=0, overwrite_a=1)
        if fault:
            raise LinAlgError("the Newton system is not positive definite")

    def direction(self, mu: float, before: Direction | None = None) -> Direction:
        """Return the step towards the path at mu; ``before``, a step to zero, supplies its second-order terms."""
        at, program = self._at, self._at.program
        inverse = at.slack_inverse
        G = mu * inverse
        below, above = np.full_like(at.y, mu), np.full_like(at.y, mu)
        if before is not None:
            G = G - _symmetric(before.Y @ before.Z @ inverse)
            below, above = mu - before.p * before.y, mu + before.r * before.y
        right = -program.measured(G)
        right[0] += 1.0
        right[1:] += below / at.s - above / at.w
        step = lapack.dpotrs(self._factor, right, lower=1)[0]
        dt, dy = float(step[0]), step[1:]
        dZ = -program.combined(dt, dy)
        dY = G - at.Y - _symmetric(at.Y @ dZ @ inverse)
        return Direction(dt, dy, dZ, dY, (below - at.p * dy) / at.s - at.p, (above + at.r * dy) / at.w - at.r)


def longest(at: Iterate, step: Direction) -> tuple[float, float]:
    """Return nearly the longest (primal, dual) steps that stay inside the cones."""
    primal = min(matrix_step(at.K, step.Y), limit_step(at.p, step.p), limit_step(at.r, step.r))
    return primal, min(matrix_step(at.L, step.Z), limit_step(at.s, step.y), limit_step(at.w, -step.y))


def gap_after(at: Iterate, step: Direction, primal: float, dual: float) -> float:
    """Return the gap that steps of these lengths leave."""
    matrices = np.vdot(at.Y + primal * step.Y, at.Z + dual * step.Z)
    below = inner(at.p + primal * step.p, at.s + dual * step.y)
    return float(matrices) + below + inner(at.r + primal * step.r, at.w - dual * step.y)


def _symmetric(matrix: Floats) -> Floats:
    return (matrix + matrix.T) / 2


def _schur(at: Iterate) -> Floats:
    """Return the upper triangle of ``<E_k, Y E_l V>``, with diag(b) as the first E."""
    i, j, b, n = at.program.rows, at.program.columns, at.program.weights, len(at.y)
    V = at.slack_inverse
    system, buffer = np.empty((n + 1, n + 1)), np.empty(n)
    Y_i, Y_j, V_i, V_j = at.Y.take(i, axis=1), at.Y.take(j, axis=1), V.take(i, axis=1), V.take(j, axis=1)
    for k, (a, c) in enumerate(zip(i.tolist(), j.tolist(), strict=True)):
        row, other = system[k + 1, k + 1 :], buffer[k:]
        np.multiply(Y_i[c, k:], V_j[a, k:], out=row)
        for left, right in ((Y_j[c, k:], V_i[a, k:]), (Y_i[a, k:], V_j[c, k:]), (Y_j[a, k:], V_i[c, k:])):
            np.multiply(left, right, out=other)
            row += other
    border = (at.Y * b) @ V
    system[0, 0] = b @ (at.Y * V) @ b
    system[0, 1:] = border[i, j] + border[j, i]
    return system
