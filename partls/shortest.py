"""Among models that fit equally well, the one with the shortest coefficients: one answer where many are optimal.

Dependent columns (one-hot codes, more columns than rows) leave the coefficients open. The fitted values A u of an
optimal u >= 0 (columns turned by their signs) are all that the objective sees, so the shortest equivalent solves

    minimise ||u||^2    s.t.  A u = A u_0,  u >= 0,

whose solution is unique. The answer then does not depend on the order, the repetition or the weights of rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import qr
from scipy.optimize import nnls

from formulations.data import Floats
from formulations.reduction import DEPENDENT, Reduction
from formulations.signs import SignPattern
from partls.result import ABSOLUTE_TOLERANCE, Result, target_size
from partls.search.incumbents import leaf
from partls.search.subtree import round_to_signs

_PRICES = (1e-4, 1e-3, 1e-5)  # of length beside error, tried in turn to find the support
_ROUNDING = 1e-13  # of the largest coefficient
_OPTIMAL = 1e-9  # relative: what the equations and the length of an accepted solution may miss


def shortest(result: Result, fixed: SignPattern) -> Result:
    """Return the result with the shortest coefficients of the same objective, for its signs or with one flipped.

    ``fixed`` holds the a-priori signs, which are not flipped. Independent columns leave nothing to choose.
    """
    reduction = result.instance.reduction
    if not _dependent(reduction):
        return result
    best = _shortest_for(result, reduction.project(result.coef, result.intercept), fixed)
    flippable = [k for k in range(result.instance.n_groups) if fixed[k] == 0]
    for k in flippable if result.objective <= ABSOLUTE_TOLERANCE * target_size(result.instance) else ():
        # An exact fit: other signs may fit exactly too, with shorter coefficients.
        v = reduction.project(best.coef, best.intercept)
        signs = round_to_signs(v, reduction.labels, fixed)
        flipped = SignPattern((*signs.values[:k], -signs[k], *signs.values[k + 1 :]))
        trial = _shortest_for(result, leaf(reduction, flipped).v, flipped)
        if trial.objective <= ABSOLUTE_TOLERANCE * target_size(result.instance) and _length(trial) < _length(best):
            best = trial
    return best


def _length(result: Result) -> float:
    return float(np.linalg.norm(result.coef))


def _dependent(reduction: Reduction) -> bool:
    if not reduction.R.any():
        return False
    rows, columns = reduction.R.shape
    if rows < columns:
        return True
    norms = np.linalg.norm(reduction.R, axis=0)
    diagonal = np.abs(np.diag(qr(reduction.R / np.where(norms > 0, norms, 1.0), mode="r", pivoting=True)[0]))
    return bool((diagonal <= DEPENDENT).any())


def _shortest_for(result: Result, v: Floats, root: SignPattern) -> Result:
    """Return the shortest model with the fitted values of v and the signs of v, if it is as good."""
    reduction, instance = result.instance.reduction, result.instance
    signs = reduction.column_signs(round_to_signs(v, reduction.labels, root)).astype(np.float64)
    # Lengths are measured in the data's own units: those of the reduced columns would depend on the weights.
    units = signs * reduction.project(np.ones(instance.n_columns), 1.0)
    A = np.vstack([reduction.R, reduction.l1[None, :]] if reduction.l1.any() else [reduction.R]) * units
    u = shortest_nonnegative(A, A @ (v / units))
    if u is None:
        return result
    coef, intercept = reduction.restore(u * units)
    objective = instance.objective(coef, intercept)
    slack = ABSOLUTE_TOLERANCE * (result.objective + target_size(instance))
    return replace(result, coef=coef, intercept=intercept, objective=objective) if (
        objective <= result.objective + slack) else result


def shortest_nonnegative(A: Floats, b: Floats) -> Floats | None:
    """Return argmin ||u||^2 s.t. A u = b, u >= 0, or None if no support passes the test of optimality.

    Nonnegative least squares with a small price p on length proposes a support, on which the equations are solved,
    and multipliers mu = (b - A u_p) / p^2. By duality no solution is shorter than
    ``||u||^2 >= 2 mu'b - ||max(A'mu, 0)||^2``, whatever mu is.
    """
    size = float(np.linalg.norm(A, 2))
    if size == 0 or not b.any():
        return np.zeros(A.shape[1])
    for price in _PRICES:
        stacked = np.vstack([A, price * size * np.eye(A.shape[1])])
        try:
            priced = nnls(stacked, np.append(b, np.zeros(A.shape[1])))[0]
        except RuntimeError:  # too many iterations
            continue
        u = np.zeros(A.shape[1])
        u[priced > 0] = np.linalg.lstsq(A[:, priced > 0], b, rcond=DEPENDENT)[0]
        u[np.abs(u) <= _ROUNDING * np.abs(u).max()] = 0.0
        multipliers = (b - A @ priced) / (price * size) ** 2
        bound = 2 * multipliers @ b - np.square(np.maximum(A.T @ multipliers, 0.0)).sum()
        solves = u.min() >= 0 and np.linalg.norm(A @ u - b) <= _OPTIMAL * np.linalg.norm(b)
        if solves and u @ u - bound <= _OPTIMAL * (u @ u):
            return u
    return None
