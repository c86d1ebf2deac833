"""The global optimum in rational arithmetic, by trying every support: slow, and exact.

Some optimum has independent columns: where the columns of its support depend on each other, a coefficient can go to
zero along them at no cost. On such a support it is where the gradient vanishes, given the signs (which only an L1
penalty asks for). So the best of these points that are feasible is the optimum. Nothing of the toolkit is imported.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np


class Candidate(NamedTuple):
    """A feasible point: its objective and the sign of each group, 0 where all coefficients are zero."""

    objective: Fraction
    signs: tuple[int, ...]


class Form(NamedTuple):
    """``u'Q u - 2 c'u + bb + sum_j cost_j |u_j|`` of the unknowns u = (w, t)."""

    Q: list[list[Fraction]]
    c: list[Fraction]
    bb: Fraction
    cost: list[Fraction]


def optimum(candidates: Sequence[Candidate], box: Sequence[int]) -> Fraction:
    """Return the least objective under the signs of a box, one of +1, -1 and 0 (either) per group."""
    return min(
        found.objective for found in candidates
        if all(not known or sign in (0, known) for known, sign in zip(box, found.signs, strict=True))
    )


def every_candidate(X: Any, y: Any, labels: Sequence[int], **options: Any) -> list[Candidate]:
    """Return all feasible stationary points of the problem; the options are those of ``oracles.brute_force``."""
    form = _form(np.asarray(X).tolist(), np.asarray(y).tolist(), labels, **options)
    width, n_groups = len(form.c), max(labels) + 1
    found = []
    for size in range(width + 1):
        for support in combinations(range(width), size):
            for turn in _turns(form, support):
                u = _solved(form, support, turn)
                signs = None if u is None else _signs(u, turn, labels, n_groups)
                if u is not None and signs is not None:
                    found.append(Candidate(_value(form, u), signs))
    return found


def _form(
    X: list[list[float]], y: list[float], labels: Sequence[int], *, eta: Any = 0.0, penalty: str = "l2",
    ridge: float = 0.0, fit_intercept: bool = True, penalize_intercept: bool = False, sample_weight: Any = None,
    eta_intercept: float | None = None,
) -> Form:
    n_groups = max(labels) + 1
    etas = [Fraction(float(value)) for value in np.broadcast_to(eta, n_groups)]
    own = Fraction(float(np.max(eta) if eta_intercept is None else eta_intercept) * penalize_intercept)
    rows = [[Fraction(x) for x in row] + [Fraction(1)] * fit_intercept for row in X]
    weights = [Fraction(1) if sample_weight is None else Fraction(float(sample_weight[i])) for i in range(len(y))]
    target, width = [Fraction(value) for value in y], len(X[0]) + fit_intercept
    weighted = [[w * value for value in row] for w, row in zip(weights, rows, strict=True)]
    Q = [[_dot([r[i] for r in weighted], [r[j] for r in rows]) for j in range(width)] for i in range(width)]
    c = [_dot([r[i] for r in weighted], target) for i in range(width)]
    strength = [etas[k] if k >= 0 else Fraction(0) for k in labels] + [own] * fit_intercept
    for i, k in enumerate(labels):
        Q[i][i] += Fraction(ridge)
        for j, other in enumerate(labels):
            Q[i][j] += strength[i] if penalty == "l2" and k == other and k >= 0 else 0
    if fit_intercept and penalty == "l2":
        Q[-1][-1] += own
    cost = [value if penalty == "l1" else Fraction(0) for value in strength]
    return Form(Q, c, _dot([w * b for w, b in zip(weights, target, strict=True)], target), cost)


def _dot(left: Sequence[Fraction], right: Sequence[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(left, right, strict=True)), Fraction(0))


def _turns(form: Form, support: Sequence[int]) -> Iterator[dict[int, int]]:
    """Yield the signs that the unknowns of a support may have, where they cost anything."""
    priced = [j for j in support if form.cost[j]]
    for signs in product((1, -1), repeat=len(priced)):
        yield dict(zip(priced, signs, strict=True))


def _solved(form: Form, support: Sequence[int], turn: dict[int, int]) -> list[Fraction] | None:
    """Return the point with this support at which the gradient vanishes on it; None if columns depend on each other."""
    rows = [[form.Q[i][j] for j in support] + [form.c[i] - turn.get(i, 0) * form.cost[i] / 2] for i in support]
    for k in range(len(rows)):
        if rows[k][k] == 0:  # of a positive semidefinite matrix: the column depends on those before
            return None
        rows[k] = [value / rows[k][k] for value in rows[k]]
        for i in range(len(rows)):
            if i != k and rows[i][k]:
                factor = rows[i][k]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    u = [Fraction(0)] * len(form.c)
    for j, row in zip(support, rows, strict=True):
        u[j] = row[-1]
    return u


def _signs(u: Sequence[Fraction], turn: dict[int, int], labels: Sequence[int], n_groups: int) -> tuple[int, ...] | None:
    """Return the sign of each group, or None if one is mixed or not the one its cost was taken for."""
    if any(sign * u[j] < 0 for j, sign in turn.items()):
        return None
    found = [0] * n_groups
    for j, k in enumerate(labels):
        sign = (u[j] > 0) - (u[j] < 0)
        if k >= 0 and sign:
            if found[k] == -sign:
                return None
            found[k] = sign
    return tuple(found)


def _value(form: Form, u: Sequence[Fraction]) -> Fraction:
    total = form.bb
    for i, value in enumerate(u):
        if value:
            total += value * (sum(q * other for q, other in zip(form.Q[i], u, strict=True)) - 2 * form.c[i])
            total += form.cost[i] * abs(value)
    return total
