"""Write a certificate of optimality: after the search, sign boxes and a dual point for each, as exact rationals.

The proof pass walks the tree once more with the answer known, so that it closes boxes as early as the relaxation can.
Most boxes close with room to spare, and the solution in floating point, cut to a few digits, proves as much. Where it
does not, it is refined from the exact residual of its normal equations until the price that ``partls.verify`` puts on
the rest vanishes. Every bound written is the verifier's own.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from formulations.signs import SignPattern
from partls.explore.subtree import Tolerances
from partls.prove.dual_points import AT_ONCE, DualPoints, Point
from partls.prove.leaves import ClosedBoxes, Leaf
from partls.result import PROVEN, Result, Status, target_size
from partls.verification.document import (
    LOWEST_LIMIT,
    Box,
    Certificate,
    Strategy,
    TooLarge,
    checked_preparation,
    write_certificate,
)
from partls.verification.exact_bounds import EXACT_COLUMNS, Checker
from partls.verification.exact_integers import as_float, eliminate, proved_by_cholesky, unit_diagonal
from partls.verification.fingerprint import data_of, problem_of
from partls.verification.verifier import spelled

_PRODUCTS = 5e7  # exact products of two numbers per second
_SHORT = 0.1  # seconds: data read as quickly are read however short the time
_FIRST = 1.5  # times what reading took: kept for the first bound alone
_QUICK = 100  # columns up to which that bound is refined however late it is
_SHARE = 0.5  # of the tolerance: boxes closed with this much to spare leave the rest to rounding
# Of a dual point, beyond those that the reach of the coefficients and the size of the objective take.
_FEW_BITS, _SPARE_BITS = 24, 70  # at first, and refined
_LIMITS = (40, 20, LOWEST_LIMIT)  # powers of two tried where columns depend on each other
_EIGENVALUES = (60, 90, 120, 180, 240)


def certify(
    result: Result, root: SignPattern, path: str | os.PathLike[str], gap_tol: float, time_limit: float | None = None,
    *, strategy: Strategy | None = None, preparation: dict[str, Any] | None = None,
) -> str:
    """Write the proof that no solution under ``root`` improves on the result by more than the tolerance.

    A proof that takes too long, or is too large for any reader, is given up for that of the first bound alone; so is
    that of a search that did not end. Returns what is missing, and why, or nothing; raises ``TimeoutError`` where there
    is not even time to read the data exactly.

    ``strategy`` (by default the method's name alone) and ``preparation`` are written beside the proof;
    ``document.checked_preparation`` tells whether there is room for a preparation.
    """
    began = time.monotonic()
    if time_limit is not None and _seconds_to_read(result) > max(time_limit, _SHORT):
        raise TimeoutError(f"exact arithmetic on data of this size takes more than {time_limit:g} s")
    given_up = "" if result.status in (*PROVEN, Status.PRECISION_LIMIT) else "the search did not end"
    proof = _Proof(result, root, gap_tol)
    proof.strategy, proof.preparation = strategy or Strategy(result.method), checked_preparation(preparation)
    if not given_up:
        if time_limit is not None:  # the first bound alone takes about as long as reading the data
            proof.deadline = began + time_limit - _FIRST * (time.monotonic() - began)
        try:
            certificate = proof.certificate(proof.boxes.all(proof.look_at_the_clock))
            write_certificate(certificate, path)
            return proof.missing(certificate)
        except _OutOfTime:
            given_up = f"it takes more than {time_limit:g} s"
        except TooLarge as error:
            given_up = str(error)
    proof.deadline, proof.hurried = math.inf, time_limit is not None
    write_certificate(proof.certificate([proof.boxes.first()]), path)
    return f"the first bound alone: {given_up}"


def _seconds_to_read(result: Result) -> float:
    """Return the seconds that the products of all pairs of columns take in exact arithmetic, on a usual machine."""
    return result.instance.n_rows * (result.instance.n_columns + 1.0) ** 2 / _PRODUCTS


class _OutOfTime(Exception):  # noqa: N818
    """The time for the proof is up."""


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
        self.deadline, self.hurried = math.inf, False  # in a hurry, points stay as rounded
        self.strategy: Strategy | None = None
        self.preparation: dict[str, Any] | None = None
        self._instance = instance
        self._root = SignPattern(root.values[: instance.n_groups])  # an L1 intercept needs no sign of its own here
        self._problem, self._data = problem_of(instance, root), data_of(instance)
        self._checker = Checker(self._data, self._problem, exact=False)
        self._coef = [float(value) for value in result.coef]
        self._intercept = float(result.intercept) if instance.fit_intercept else 0.0
        self._objective = self._checker.objective(self._coef, self._intercept)
        self._points = DualPoints(instance, self._checker)
        self._wanted, self._accepted = gap_tol * self._objective, self._checker.accepted(self._objective, gap_tol)
        # What floating point can close; the exact bounds may well prove more.
        rounding = Tolerances(0.0, target_size(instance)).cutoff(self._objective)
        cutoff = min(self._objective - _SHARE * self._wanted, rounding)
        names = instance.partition.names
        freed = [names.index(name) for name in result.presolve.arbitrary] if result.presolve else []
        self.boxes = ClosedBoxes(instance, self._root, self._objective, cutoff, freed)

    def certificate(self, leaves: Iterable[Leaf]) -> Certificate:
        """Return the certificate of closed boxes, with the least restrictive claim that reaches the tolerance."""
        nothing_below_zero = [Box(spelled(self._root), 0.0, 1, None)]
        if self._checker.rounds_to_zero(self._objective):
            return self._claimed(_Claim(), nothing_below_zero)
        leaves = list(leaves)
        attempts: list[tuple[float, _Claim, list[Box]]] = [(0.0, _Claim(), nothing_below_zero)]
        for claim in self._claims():
            boxes = self._boxes(leaves, claim)
            lowest = min((box.bound for box in boxes), default=-math.inf)
            attempts.append((lowest, claim, boxes))
            if lowest >= self._objective - self._wanted:
                break
        _, claim, boxes = max(attempts, key=lambda attempt: attempt[0])
        return self._claimed(claim, boxes)

    def missing(self, certificate: Certificate) -> str:
        """Return what a certificate lacks of a proof that will be accepted, or nothing."""
        if certificate.tolerance <= self._accepted:
            return ""
        return f"only that no solution is better by more than {certificate.tolerance:.3g}"

    def _claimed(self, claim: _Claim, boxes: list[Box]) -> Certificate:
        """Return the certificate of these boxes, with the tolerance that their bounds leave."""
        missing = min(Fraction(min(box.bound for box in boxes)) - Fraction(self._objective), Fraction(0))
        return Certificate(
            self._problem, self._data.digest(self._problem), self._objective, abs(_below(missing)), self._coef,
            self._intercept, claim.eigenvalue, claim.limit, boxes, self.strategy, self.preparation,
        )

    def look_at_the_clock(self) -> None:
        """Raise ``_OutOfTime`` after the deadline."""
        if time.monotonic() > self.deadline:
            raise _OutOfTime

    # What the dual points are and what bounds the coefficients

    def _claims(self) -> Iterator[_Claim]:
        """Yield claims from the least restrictive to the most; a limit is a last resort, where it may be one."""
        checker = self._checker
        eigenvalue = self._eigenvalue if len(checker.unbounded) else None
        if eigenvalue is not None or not len(checker.unbounded):
            yield _Claim(eigenvalue)
        if self.hurried and len(checker.Q) > _QUICK:
            return
        yield _Claim(eigenvalue, rational=True)
        if len(checker.unbounded) and not checker.independent:
            for limit in _LIMITS:
                if not checker.contributes_more(self._coef, self._intercept, limit):
                    yield _Claim(limit=limit)

    @cached_property
    def _eigenvalue(self) -> int | None:
        """Return k with ``Q_UU - 2^-k diag(Q_UU)`` positive definite, or None if the columns depend on each other."""
        checker = self._checker
        block = checker.Q[np.ix_(checker.unbounded, checker.unbounded)]
        smallest = float(np.linalg.eigvalsh(unit_diagonal(block)).min())
        if smallest > 0 and proved_by_cholesky(block, k := 4 - math.frexp(smallest)[1]):
            return max(k, 0)
        if len(block) > EXACT_COLUMNS or not eliminate(block):
            return None
        return next((k for k in _EIGENVALUES if checker.definite(k)), None)

    def _boxes(self, leaves: Sequence[Leaf], claim: _Claim) -> list[Box]:
        """Return the boxes with the bounds that the verifier proves; none if a system is too large for rationals."""
        reach = self._checker.reach(self._objective, claim.eigenvalue, claim.limit)
        if claim.rational:
            return self._proved(leaves, self._rational(leaves), reach)
        precision = self._precision(reach)
        rough = self._points.rounded([leaf.relaxed for leaf in leaves], max(precision - _SPARE_BITS + _FEW_BITS, 0))
        boxes = self._proved(leaves, rough, reach)
        if self.hurried and len(self._checker.Q) > _QUICK:
            return boxes
        short = [i for i, box in enumerate(boxes) if box.bound < self._objective]
        some = [leaves[i] for i in short]
        for i, box in zip(short, self._proved(some, self._refined(some, precision), reach), strict=True):
            boxes[i] = max(boxes[i], box, key=lambda box: box.bound)
        return sorted(boxes, key=lambda box: box.denominator)  # numbers of a length are read fastest together

    def _proved(self, leaves: Sequence[Leaf], points: Sequence[Point], reach: list[Fraction | None]) -> list[Box]:
        """Return the boxes with the bounds of their points; none without points."""
        if not points:
            return []
        boxes = [
            Box(spelled(leaf.signs), 0.0, d, n, bool(leaf.relaxed.strengthened))
            for leaf, (n, d) in zip(leaves, points, strict=True)
        ]
        proved = []
        for box, value in zip(boxes, self._checker.bounds(boxes, reach), strict=True):
            self.look_at_the_clock()
            proved.append(replace(box, bound=_below(value)))
        return proved

    def _refined(self, leaves: Sequence[Leaf], precision: int) -> list[Point]:
        points: list[Point] = []
        while len(points) < len(leaves):
            self.look_at_the_clock()
            some = leaves[len(points) : len(points) + AT_ONCE]
            points += self._points.refined([leaf.relaxed for leaf in some], precision, self.look_at_the_clock)
        return points

    def _rational(self, leaves: Sequence[Leaf]) -> list[Point]:
        """Return the exact points, or none at all if one of them has numbers too long."""
        points = []
        for leaf in leaves:
            self.look_at_the_clock()
            point = self._points.rational(leaf.relaxed)
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
