"""Among models that fit equally well, the one with the shortest coefficients: one answer where many are optimal.

Dependent columns (one-hot codes, more columns than rows) leave the coefficients open. The fitted values A u of an
optimal u >= 0 (columns turned by their signs) are all that the objective sees, so the shortest equivalent solves

    minimise ||u||^2    s.t.  A u = A u_0,  u >= 0,

whose solution is unique. The answer then does not depend on the order, the repetition or the weights of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from math import inf

import numpy as np
from scipy.linalg import cho_factor, cho_solve, qr
from scipy.optimize import nnls

from formulations.data import Floats
from formulations.rounding import rounded
from formulations.rows.reduction import Reduction
from formulations.signs import SignPattern
from formulations.tolerances import DEPENDENT
from partls.explore.incumbents import solve_pattern
from partls.explore.subtree import round_to_signs
from partls.result import Result, kkt_residual
from partls.runtime.blas_threads import single_threaded_blas
from relaxations.clock import OutOfTime, check, check_ahead, factorisation, until

_STEPS, _HALVINGS = 100, 40  # of Newton's method; it needs about ten
_DAMPING, _CAUTION = 1e-14, 1e-3  # of the mean squared row: a singular second derivative is no guide far away
_PRICES = (1e-4, 1e-3, 1e-5)  # of length beside error, tried in turn where Newton's method had too few digits
_FEW = 1000  # columns up to which that takes seconds at most
_NO_COEFFICIENT = 1e-13  # of the largest coefficient
_WORSE = 1e-12  # of the objective: what a shorter solution may be worse beyond rounding
_OPTIMAL = 1e-9  # relative: what the equations and the length of an accepted solution may miss


def shortest(result: Result, fixed: SignPattern, deadline: float = inf) -> Result:
    """Return the result with the shortest coefficients of the same objective, for its signs or with one flipped.

    ``fixed`` holds the given signs, which are not flipped. Independent columns leave nothing to choose. What is not
    done by the ``deadline`` is left out: of a large problem, the coefficients then stay as they are.
    """
    with single_threaded_blas(), until(deadline):
        try:
            return _shortest(result, fixed)
        except OutOfTime:
            return result


def _shortest(result: Result, fixed: SignPattern) -> Result:
    reduction = result.instance.reduction
    if not is_dependent(reduction):
        return result
    best, gains = _shortest_for(result, reduction.project(result.coef, result.intercept), fixed)
    flippable = [k for k in range(result.instance.n_groups) if fixed[k] == 0]
    for k in flippable if result.rounded.vanishes else ():
        # An exact fit: other signs may fit exactly too, with shorter coefficients.
        if gains[k] <= 0:
            continue
        v = reduction.project(best.coef, best.intercept)
        signs = round_to_signs(v, reduction.labels, fixed)
        flipped = SignPattern((*signs.values[:k], -signs[k], *signs.values[k + 1 :]))
        try:
            trial, its_gains = _shortest_for(result, solve_pattern(reduction, flipped).v, flipped)
        except OutOfTime:
            break
        if trial.rounded.vanishes and _length(trial) < _length(best):
            best, gains = trial, its_gains
    return best


def _length(result: Result) -> float:
    largest = float(np.abs(result.coef).max(initial=0.0)) or 1.0
    return largest * float(np.linalg.norm(result.coef / largest))


def is_dependent(reduction: Reduction) -> bool:
    """Return whether some columns of the reduced problem are combinations of the others, up to rounding."""
    if not reduction.R.any():
        return False
    rows, columns = reduction.R.shape
    if rows < columns:
        return True
    check(factorisation(rows, columns))
    norms = np.linalg.norm(reduction.R, axis=0)
    diagonal = np.abs(np.diag(qr(reduction.R / np.where(norms > 0, norms, 1.0), mode="r", pivoting=True)[0]))
    return bool((diagonal <= DEPENDENT).any())


def _shortest_for(result: Result, v: Floats, root: SignPattern) -> tuple[Result, Floats]:
    """Return the shortest model with the fitted values of v and the signs of v, if it is as good.

    Also returned is what turning each group can take from the squared length at most, by the same multipliers, beside
    the largest of their slopes.
    """
    reduction, instance = result.instance.reduction, result.instance
    signs = reduction.column_signs(round_to_signs(v, reduction.labels, root)).astype(np.float64)
    # Lengths are measured in the data's own units: those of the reduced columns would depend on the weights.
    units = signs * reduction.project(np.ones(instance.n_columns), 1.0)
    A = reduction.R * units
    if reduction.l1.any():  # the cost counts sizes, whatever their signs
        A = np.vstack([A, reduction.l1 * np.abs(units)])
    found = shortest_nonnegative(A, A @ (v / units))
    if found is None:
        return result, np.full(instance.n_groups, np.inf)
    u, slopes = found
    slopes = slopes / (np.abs(slopes).max(initial=0.0) or 1.0)
    turned = np.square(np.maximum(-slopes, 0.0)) - np.square(np.maximum(slopes, 0.0))
    gains = np.asarray(np.bincount(reduction.labels, turned, reduction.n_groups), np.float64)
    coef, intercept = reduction.restore(u * units)
    objective = instance.objective(coef, intercept)
    rounding = rounded(instance, coef, intercept, objective).error + result.rounded.error
    # An error of 1e-7 in a coefficient changes the objective by 1e-14 only, but its slope shows it.
    stationary = kkt_residual(instance, coef, intercept)
    if objective > result.objective * (1 + _WORSE) + rounding or stationary > max(_OPTIMAL, _stationary(result)):
        return result, gains
    return replace(result, coef=coef, intercept=intercept, objective=objective), gains


def _stationary(result: Result) -> float:
    return kkt_residual(result.instance, result.coef, result.intercept)


def shortest_nonnegative(A: Floats, b: Floats) -> tuple[Floats, Floats] | None:
    """Return u = argmin ||u||^2 s.t. A u = b, u >= 0, and A'mu with its multipliers mu, or None without a proof.

    By duality no solution is shorter than ``||u||^2 >= 2 mu'b - ||max(A'mu, 0)||^2``, whatever mu is. At the best mu,
    ``max(A'mu, 0)`` is the solution: its support is what is wanted, and the equations are solved on it once more.
    """
    if not A.any() or not b.any():
        return np.zeros(A.shape[1]), np.zeros(A.shape[1])
    width, height = np.abs(A).max(), np.abs(b).max()
    found = _scaled(A / width, b / height)  # units of 1e-150 have squares that vanish
    return None if found is None else (found[0] * (height / width), found[1] * (height / width))


def _scaled(A: Floats, b: Floats) -> tuple[Floats, Floats] | None:
    """Return the shortest solution of equations whose largest numbers are one."""
    for multipliers in _proposals(A, b):
        slopes = A.T @ multipliers
        support = slopes > 0
        u = np.zeros(A.shape[1])
        u[support] = np.linalg.lstsq(A[:, support], b, rcond=DEPENDENT)[0]
        u[np.abs(u) <= _NO_COEFFICIENT * np.abs(u).max()] = 0.0
        bound = 2 * multipliers @ b - np.square(slopes[support]).sum()
        solves = u.min() >= 0 and np.linalg.norm(A @ u - b) <= _OPTIMAL * np.linalg.norm(b)
        if solves and u @ u - bound <= _OPTIMAL * (u @ u):
            return u, slopes
    return None


def _proposals(A: Floats, b: Floats) -> Iterator[Floats]:
    """Yield multipliers: by Newton's method on the dual, and for few columns by pricing length beside the error."""
    yield _newton(A, b)
    check(factorisation(*A.shape))
    size, n = float(np.linalg.norm(A, 2)), A.shape[1]
    for price in _PRICES if n <= _FEW else ():
        check_ahead(factorisation(len(A) + n, n))
        with suppress(RuntimeError):  # too many iterations
            priced = nnls(np.vstack([A, price * size * np.eye(n)]), np.append(b, np.zeros(n)))[0]
            yield (b - A @ priced) / (price * size) ** 2


def _newton(A: Floats, b: Floats) -> Floats:
    """Return mu that maximises the concave ``2 mu'b - ||max(A'mu, 0)||^2``, or where rounding ends the ascent.

    The second derivative is A_S A_S' for the columns S of positive slope, so that a step costs the same however many
    columns there are without one; S settles after a few.
    """
    unit, length = float(np.square(A).sum()) / len(A) * np.eye(len(A)), float(np.linalg.norm(b))
    mu, slopes = np.zeros(len(b)), np.ones(A.shape[1])
    value = 0.0
    for _ in range(_STEPS):
        residual = b - A @ np.maximum(slopes, 0.0) if mu.any() else b
        check(factorisation(*A.shape))
        damping = _DAMPING + _CAUTION * float(np.linalg.norm(residual)) / length
        step = cho_solve(cho_factor(A[:, slopes > 0] @ A[:, slopes > 0].T + damping * unit), residual)
        for _ in range(_HALVINGS):
            new = A.T @ (mu + step)
            risen = float(2 * (mu + step) @ b - np.square(np.maximum(new, 0.0)).sum())
            if risen > value:
                break
            step = step / 2
        else:
            break
        settled = bool(((new > 0) == (slopes > 0)).all()) and risen - value <= _OPTIMAL**2 * abs(risen)
        mu, slopes, value = mu + step, new, risen
        if settled:
            break
    return mu
