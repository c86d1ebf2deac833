"""Write a certificate of optimality: after the search, sign boxes and a dual point for each, as exact rationals.

The proof pass walks the tree once more with the answer known, so that it closes boxes as early as the relaxation can.
The point of each closed box is refined from the exact residual of its normal equations until the price that
``partls.verify`` puts on the rest vanishes. Every bound written is the verifier's own.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from formulations.data import Floats
from formulations.signs import SignPattern
from partls.certificate_file import LOWEST_LIMIT, Box, Certificate, write_certificate
from partls.dual_points import DualPoints, Point
from partls.exact_bounds import Checker
from partls.exact_integers import as_float, eliminate, proved_by_cholesky, unit_diagonal
from partls.fingerprint import data_of, problem_of
from partls.result import ABSOLUTE_TOLERANCE, Result, Status, target_size
from partls.search.branching import StrongBranching
from partls.search.subtree import violations
from partls.verify import spell
from relaxations.active_set import ActiveSetBounder

_SHARE = 0.5  # of the tolerance: boxes closed with this much to spare leave the rest to rounding
_SPARE_BITS = 70  # of a dual point, beyond those that the reach of the coefficients and the size of the objective take
_LIMITS = (40, 20, LOWEST_LIMIT)  # powers of two tried where columns depend on each other
_EXACT_COLUMNS = 40  # up to which definiteness is looked for by exact elimination
_EIGENVALUES = (60, 90, 120, 180, 240)


def certify(result: Result, root: SignPattern, path: str | os.PathLike[str], gap_tol: float) -> None:
    """Write the proof that no solution under ``root`` improves on the result by more than the tolerance."""
    write_certificate(_Proof(result, root, gap_tol).certificate(), path)


@dataclass(frozen=True, eq=False)
class _Leaf:
    """A closed box and the solution u of its relaxation, in floating point."""

    signs: SignPattern
    u: Floats


@dataclass(frozen=True)
class _Claim:
    """A choice of what bounds the coefficients, and of the numbers the dual points are written in."""

    eigenvalue: int | None = None
    limit: int | None = None
    rational: bool = False


class _Proof:
    """One certificate in the making."""

    def __init__(self, result: Result, root: SignPattern, gap_tol: float) -> None:
        instance = result.instance
        self._result, self._instance, self._reduction = result, instance, instance.reduction
        self._root = SignPattern(root.values[: instance.n_groups])  # an L1 intercept needs no sign of its own here
        self._problem, self._data = problem_of(instance, root), data_of(instance)
        self._checker = Checker(self._data, self._problem, exact=False)
        self._coef = [float(value) for value in result.coef]
        self._intercept = float(result.intercept) if instance.fit_intercept else 0.0
        self._objective = self._checker.objective(self._coef, self._intercept)
        self._points = DualPoints(instance, self._checker)
        self._accepted = self._checker.accepted(self._objective, gap_tol)
        # What floating point can close; the exact bounds may well prove more.
        self._tolerance = max(gap_tol * self._objective, ABSOLUTE_TOLERANCE * target_size(instance))

    def certificate(self) -> Certificate:
        """Return the certificate, with the least restrictive claim that reaches the tolerance."""
        nothing_below_zero = [Box(spell(self._root), 0.0, 1, None)]
        if self._objective <= self._accepted:
            return self._claimed(_Claim(), nothing_below_zero)
        leaves = list(self._leaves())
        attempts: list[tuple[float, _Claim, list[Box]]] = [(0.0, _Claim(), nothing_below_zero)]
        for claim in self._claims():
            boxes = self._boxes(leaves, claim)
            lowest = min((box.bound for box in boxes), default=-math.inf)
            attempts.append((lowest, claim, boxes))
            if lowest >= self._objective - self._accepted:
                break
        _, claim, boxes = max(attempts, key=lambda attempt: attempt[0])
        return self._claimed(claim, boxes)

    def _claimed(self, claim: _Claim, boxes: list[Box]) -> Certificate:
        """Return the certificate of these boxes, with the tolerance that their bounds leave."""
        missing = min(Fraction(min(box.bound for box in boxes)) - Fraction(self._objective), Fraction(0))
        return Certificate(
            self._problem, self._data.digest(self._problem), self._objective, abs(_below(missing)), self._coef,
            self._intercept, claim.eigenvalue, claim.limit, boxes,
        )

    # Boxes

    def _leaves(self) -> Iterator[_Leaf]:
        """Yield closed boxes that cover the root; after an unfinished search, the root itself."""
        reduction, finished = self._reduction, (Status.OPTIMAL, Status.GAP_REACHED, Status.PRECISION_LIMIT)
        if not len(reduction.R):
            yield _Leaf(self._root, self._restored(np.zeros(reduction.n_columns)))
            return
        bounder = ActiveSetBounder(reduction)
        cutoff = self._objective - _SHARE * self._tolerance
        open_boxes = [self._root]
        while open_boxes:
            signs = open_boxes.pop()
            padded = SignPattern((*signs, *[0] * (reduction.n_groups - len(signs))))
            bound = bounder.bound(padded)
            v = bound.coef
            assert v is not None  # this relaxation always has a point
            if bound.value >= cutoff or signs.is_complete or self._result.status not in finished:
                yield _Leaf(signs, self._restored(v))
                continue
            k = self._branch_group(signs, v, bounder)
            open_boxes += [signs.fix(k, -1), signs.fix(k, 1)]

    def _branch_group(self, signs: SignPattern, v: Floats, bounder: ActiveSetBounder) -> int:
        reduction = self._reduction
        nu = violations(v, reduction.labels, reduction.n_groups)
        groups = [k for k in signs.undecided if nu[k] > 0] or list(signs.undecided)

        def try_child(k: int, sign: int) -> float:
            child = signs.fix(k, sign)
            return bounder.bound(SignPattern((*child, *[0] * (reduction.n_groups - len(child))))).value

        return StrongBranching().choose(groups, v, reduction.labels, try_child)

    def _restored(self, v: Floats) -> Floats:
        coef, intercept = self._reduction.restore(v)
        return np.append(coef, intercept) if self._instance.fit_intercept else coef

    # What the dual points are and what bounds the coefficients

    def _claims(self) -> Iterator[_Claim]:
        """Yield claims from the least restrictive to the most."""
        if not len(self._checker.unbounded):
            yield _Claim()
            return
        eigenvalue = self._eigenvalue()
        if eigenvalue is not None:
            yield _Claim(eigenvalue)
        else:
            yield _Claim(rational=True)
        for limit in _LIMITS:
            yield _Claim(limit=limit)

    def _eigenvalue(self) -> int | None:
        """Return k with ``Q_UU - 2^-k diag(Q_UU)`` positive definite, or None if the columns depend on each other."""
        checker = self._checker
        block = checker.Q[np.ix_(checker.unbounded, checker.unbounded)]
        smallest = float(np.linalg.eigvalsh(unit_diagonal(block)).min())
        if smallest > 0 and proved_by_cholesky(block, k := 4 - math.frexp(smallest)[1]):
            return max(k, 0)
        if len(block) > _EXACT_COLUMNS or not eliminate(block):
            return None
        return next((k for k in _EIGENVALUES if checker.definite(k)), None)

    def _boxes(self, leaves: Sequence[_Leaf], claim: _Claim) -> list[Box]:
        """Return the boxes with the bounds that the verifier proves; none if a system is too large for rationals."""
        reach = self._checker.reach(self._objective, claim.eigenvalue, claim.limit)
        if claim.rational:
            points = self._rational(leaves)
        else:
            points = self._points.dyadic([leaf.u for leaf in leaves], self._precision(reach))
        if not points:
            return []
        boxes = [Box(spell(leaf.signs), 0.0, d, n) for leaf, (n, d) in zip(leaves, points, strict=True)]
        proved = self._checker.bounds(boxes, reach)
        return [replace(box, bound=_below(value)) for box, value in zip(boxes, proved, strict=True)]

    def _rational(self, leaves: Sequence[_Leaf]) -> list[Point]:
        """Return the exact points, or none at all if one of them has numbers too long."""
        points = []
        for leaf in leaves:
            point = self._points.rational(leaf.u)
            if point is None:
                return []
            points.append(point)
        return points

    def _precision(self, reach: Sequence[Fraction | None]) -> int:
        """Return p with points in units of 2^-p whose price vanishes beside the objective.

        A unit of u_i moves the slope g_j by at most sqrt(Q_ii Q_jj), which costs twice the reach of u_j.
        """
        diagonal = np.diag(self._checker.Q)
        dearest = max((size**2 * entry for size, entry in zip(reach, diagonal, strict=True) if size), default=0)
        price: Fraction = dearest * max(diagonal) / (Fraction(self._objective) * 2**self._checker.unit) ** 2
        return max(_SPARE_BITS + (price.numerator.bit_length() - price.denominator.bit_length()) // 2, 0)


def _below(value: Fraction | float) -> float:
    """Return a floating-point number that is not above the value."""
    nearest = as_float(value)
    return nearest if nearest <= value else math.nextafter(nearest, -math.inf)
