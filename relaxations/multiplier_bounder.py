"""The Shor bound of a node from multipliers of its own making: computed in NumPy, proved by one factorisation."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cached_property
from math import inf

import numpy as np
from numpy.typing import NDArray

from formulations.builders.shor import product_signs
from formulations.data import Floats
from formulations.rows.reduction import Reduction
from formulations.signs import SignPattern
from relaxations.multipliers.flatness import most_curved
from relaxations.multipliers.shor import CENTRED, Centre, ShorProblem, shor_multipliers
from relaxations.protocol import Bound, BoundStatus
from relaxations.safe.interior_search import InteriorSearch
from relaxations.safe.least_squares import SafeBound
from relaxations.safe.lift import (
    Interior,
    LiftedProblem,
    Proof,
    lift_bound,
    multiplier_bound,
    projected_gram,
    projected_target,
)
from relaxations.safe.settling import settled
from relaxations.sign_constrained import solve_signed

_BEYOND = 1e-9  # of the target's square: how far multipliers pass the cutoff, so that what is proved of them does, too


@dataclass(frozen=True, eq=False)
class MultiplierBounder:
    """Shor bounds of one instance: never below the cheap bound, nor below a parent's that was asked for before.

    A node starts from the centre of the root's path where it suits, whatever was asked for before: bounds, and with
    them the tree, do not depend on the order of the nodes but for rounding. Not to be shared between threads.
    """

    reduction: Reduction
    cuts: bool
    accuracy: float
    _proved: dict[SignPattern, float] = field(default_factory=dict)

    def bound(self, signs: SignPattern, *, cutoff: float = inf) -> Bound:
        """Return the bound of one node; the method stops once its multipliers are worth the cutoff."""
        began = time.perf_counter()
        scale = self.reduction.scale
        problem = lifted_problem(self.reduction, self.reduction.column_signs(signs), cuts=self.cuts)
        v = solve_signed(self.reduction, problem.signs)
        value = estimate = self._safe.value(v, problem.signs, problem.size)
        known = None
        if not signs.is_complete and value * scale < cutoff:
            proof, estimate, v, flat = self._by_multipliers(problem, v, value, cutoff / scale)
            value = max(value, proof.value)
            if value * scale < cutoff:
                known = settled(problem, proof, flat, cutoff / scale, signs, self.reduction.labels)
        # A sum of squares and a penalty: no safe bound needs to be below zero.
        value = max([max(value, 0.0) * scale, *(self._proved.get(parent, -inf) for parent in signs.parents)])
        self._proved[signs] = value
        status = BoundStatus.CUTOFF if value >= cutoff else BoundStatus.OPTIMAL
        return Bound(value, estimate * scale, v, status, time.perf_counter() - began, settled=known)

    def _by_multipliers(self, problem: LiftedProblem, v: Floats, floor: float, cutoff: float
                        ) -> tuple[Proof, float, Floats, NDArray[np.bool_]]:
        """Return (proof, estimate, point, flat entries); a proof of nothing where the lift has none."""
        nothing = Proof(-inf, np.zeros(problem.products.shape), np.zeros(len(v)))
        inner = self._root
        if inner is None or inner.flat.any():  # decided signs leave fewer directions flat: look again at this node
            inner = self._search(problem, np.zeros(problem.products.shape))
        if inner is None:
            return nothing, floor, v, np.ones(len(v), bool)
        curved = np.flatnonzero(~inner.flat)
        shor, zero = _curved_problem(problem, inner, curved)
        start = self._centre if len(curved) == len(v) and self._root is inner else None
        found = shor_multipliers(
            shor, accuracy=self.accuracy, cutoff=cutoff - zero + _BEYOND * problem.size, floor=floor - zero,
            start=start, inner=inner.N[np.ix_(curved, curved)],
        )
        if found is None:
            return nothing, floor, v, inner.flat
        N, slopes, v = np.zeros(inner.N.shape), np.zeros(len(v)), v.copy()
        N[np.ix_(curved, curved)], slopes[curved], v[curved] = found.N, found.slopes, found.coef
        proof = multiplier_bound(problem, N, slopes, inner)
        proof = proof if np.isfinite(proof.value) else lift_bound(problem, N, inner, v)
        return proof, found.estimate + zero, v, inner.flat

    @cached_property
    def _safe(self) -> SafeBound:
        return SafeBound(self.reduction)

    @cached_property
    def _search(self) -> InteriorSearch:
        return InteriorSearch(lambda part, gram: most_curved(gram, part.products))

    @cached_property
    def _root_problem(self) -> LiftedProblem:
        return lifted_problem(self.reduction, np.zeros(self.reduction.n_columns, np.int8), cuts=self.cuts)

    @cached_property
    def _root(self) -> Interior | None:
        return self._search(self._root_problem, np.zeros(self._root_problem.products.shape))

    @cached_property
    def _centre(self) -> Centre | None:
        """The centre of the root's path, which ends there."""
        if self._root is None or self._root.flat.any():
            return None
        shor, _ = _curved_problem(self._root_problem, self._root, np.arange(self.reduction.n_columns))
        found = shor_multipliers(shor, accuracy=CENTRED, inner=self._root.N)
        return None if found is None else found.centre


def lifted_problem(reduction: Reduction, column_signs: NDArray[np.int8], *, cuts: bool) -> LiftedProblem:
    """Return the Shor SDP of a node as its safe bound knows it."""
    M = reduction.n_columns
    products = product_signs(reduction, column_signs, cuts=cuts)
    return LiftedProblem(
        reduction.R, reduction.z, reduction.rest, reduction.l1, column_signs, products,
        np.zeros((M, M), bool), np.arange(M),
    )


def _curved_problem(problem: LiftedProblem, inner: Interior, curved: NDArray[np.intp]) -> tuple[ShorProblem, float]:
    """Return (the problem in the columns with curvature, its objective at zero)."""
    c, zero = projected_target(problem, inner.flat)
    products = problem.products[np.ix_(curved, curved)]
    gram = projected_gram(problem, inner.flat)
    return ShorProblem(gram, c, products, problem.signs[curved], problem.cost[curved]), zero
