"""Iterate: a point between the two cones, with the factors that every step from it needs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import blas, lapack

from formulations.data import Floats
from relaxations.multipliers.program import PairProgram

_RITZ_STEPS = 12  # Lanczos steps of a step length: within a few percent
_RITZ_DONE = 0.02


@dataclass(frozen=True, eq=False)
class Iterate:
    """Multipliers (t, y) strictly inside their cone, and a positive definite Y with p, r > 0 beside it.

    ``L`` is the Cholesky factor of Z, ``K`` that of Y. The multipliers are feasible at every iterate, so each of them
    is worth a bound; Y need not satisfy its equations before the end.
    """

    program: PairProgram
    t: float
    y: Floats
    Z: Floats
    L: Floats
    Y: Floats
    K: Floats
    p: Floats
    r: Floats

    @classmethod
    def at(cls, program: PairProgram, dual: tuple[float, Floats], primal: tuple[Floats, Floats, Floats]
           ) -> Iterate | None:
        """Return the iterate, or None if it is not inside: Z or Y not definite, a multiplier at its limit."""
        t, y = dual
        Y, p, r = primal
        if (y <= -program.lower).any() or (y >= program.upper).any():
            return None
        Z = program.cost - program.combined(t, y)
        L, K = factor(Z), factor(Y)
        return None if L is None or K is None else cls(program, t, y, Z, L, Y, K, p, r)

    @cached_property
    def slack_inverse(self) -> Floats:
        """The inverse of Z."""
        return inverse(self.L)

    @cached_property
    def s(self) -> Floats:
        """The distances of the multipliers from their lower limits."""
        return self.y + self.program.lower

    @cached_property
    def w(self) -> Floats:
        """Their distances from the upper limits."""
        return self.program.upper - self.y

    @cached_property
    def gap(self) -> float:
        """``Y . Z + p's + r'w``: what is left between the two sides if Y satisfies its equations."""
        return float(np.vdot(self.Y, self.Z)) + inner(self.p, self.s) + inner(self.r, self.w)

    @cached_property
    def mu(self) -> float:
        """The gap per complementary pair."""
        return self.gap / self.program.degree

    @cached_property
    def residual(self) -> Floats:
        """What Y, p and r lack to their equations."""
        return np.append(1.0, self.p - self.r) - self.program.measured(self.Y)

    @property
    def infeasibility(self) -> float:
        """The size of the residual beside that of Y."""
        return float(np.linalg.norm(self.residual) / (1.0 + np.linalg.norm(self.Y)))

    @property
    def best_t(self) -> float:
        """The largest t that goes with y, if t stands at the corner alone."""
        return self.t + (1.0 / float(self.slack_inverse[0, 0]) if self.program.weights[0] else 0.0)


def inner(multiplier: Floats, distance: Floats) -> float:
    """Return the scalar product; a multiplier of an infinite distance is zero."""
    finite = np.isfinite(distance)
    return float(multiplier[finite] @ distance[finite])


def factor(matrix: Floats) -> Floats | None:
    """Return the lower Cholesky factor, or None if rounding finds the matrix not to be positive definite."""
    L, fault = lapack.dpotrf(matrix, lower=1, clean=1)
    return None if fault else np.asarray(L)


def inverse(L: Floats) -> Floats:
    """Return the inverse of ``LL'``."""
    lower = np.tril(lapack.dpotri(L, lower=1)[0])
    return np.asarray(lower + np.tril(lower, -1).T)


def matrix_step(L: Floats, D: Floats) -> float:
    """Return nearly the largest a with ``LL' + a D`` positive semidefinite, by Lanczos' method; else inf."""
    n = len(L)
    basis, diagonal, beside = np.zeros((_RITZ_STEPS + 1, n)), np.zeros(_RITZ_STEPS), np.zeros(_RITZ_STEPS)
    D = np.asfortranarray(D)
    basis[0] = np.cos(np.arange(n) * 1.7) + 0.5  # any vector that no structure makes orthogonal to the wanted one
    basis[0] /= np.linalg.norm(basis[0])
    bound = 0.0
    for k in range(min(_RITZ_STEPS, n)):
        image = blas.dtrsv(L, blas.dsymv(-1.0, D, blas.dtrsv(L, basis[k], lower=1, trans=1)), lower=1)
        diagonal[k] = image @ basis[k]
        for _ in range(2):
            image -= (basis[: k + 1] @ image) @ basis[: k + 1]
        beside[k] = np.linalg.norm(image)
        if k % 3 == 2 or k + 1 == n or beside[k] == 0.0:
            values, vectors, _ = lapack.dstev(diagonal[: k + 1], beside[: max(k, 1)])
            miss = beside[k] * abs(float(vectors[k, -1]))
            bound = float(values[-1]) + miss
            if miss <= _RITZ_DONE * abs(float(values[-1])):
                break
        basis[k + 1] = image / beside[k]
    return 1.0 / bound if bound > 0 else np.inf


def limit_step(distance: Floats, change: Floats) -> float:
    """Return the largest a with ``distance + a change >= 0``; inf if any a will do."""
    falling = change < 0
    return float(np.min(distance[falling] / -change[falling], initial=np.inf))
