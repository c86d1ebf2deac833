"""Convex problems below the objective, as authors from outside write them: linear, quadratic, conic, semidefinite."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
from scipy.optimize import lsq_linear

from formulations import Instance, SignPattern, coefficient_bounds


def _penalty(instance: Instance, w: Any) -> Any:
    labels, eta = instance.partition.labels, instance.strengths.groups
    sums = [cp.sum(w[labels == k]) for k in range(instance.n_groups)]
    if instance.penalty == "l1":
        return sum(eta[k] * cp.norm1(w[labels == k]) for k in range(instance.n_groups))
    return sum(eta[k] * cp.square(sums[k]) for k in range(instance.n_groups))


def _signed(instance: Instance, signs: SignPattern, w: Any) -> list[Any]:
    s = signs.per_column(instance.partition.labels)
    return [cp.multiply(s[s != 0], w[np.flatnonzero(s)]) >= 0] if s.any() else []


def tangents(instance: Instance, signs: SignPattern) -> cp.Problem:
    """LP: tangents of the objective, one at its minimum under the signs, over the box of the coefficients."""
    U = coefficient_bounds(instance, signs)
    A = np.column_stack([instance.X, np.ones(instance.n_rows)])
    w, t = cp.Variable(instance.n_columns, name="w"), cp.Variable(name="t")
    value = cp.Variable(name="value")
    rng = np.random.default_rng(0)
    s = np.append(signs.per_column(instance.partition.labels), 0)
    least = lsq_linear(A, instance.y, (np.where(s > 0, 0, -np.inf), np.where(s < 0, 0, np.inf)), method="bvls").x
    constraints = [cp.abs(w) <= U, *_signed(instance, signs, w)]
    for scale in np.append(0.0, np.full(3 * instance.n_columns, 0.2)):
        at = least + scale * rng.normal(size=len(least)) * np.abs(least)
        error = A @ at - instance.y
        constraints.append(value >= error @ error + 2 * (error @ A) @ (cp.hstack([w, t]) - at))
    return cp.Problem(cp.Minimize(value), constraints)


def big_m(instance: Instance, signs: SignPattern) -> cp.Problem:
    """QP: one relaxed binary per group."""
    U, group = coefficient_bounds(instance, signs), instance.partition.labels
    M, K = instance.n_columns, instance.n_groups
    w, t, z = cp.Variable(M, name="w"), cp.Variable(name="t"), cp.Variable(K)
    plus, minus = cp.Variable(M, nonneg=True), cp.Variable(M, nonneg=True)
    constraints = [w == plus - minus, plus <= cp.multiply(U, z[group]), minus <= cp.multiply(U, 1 - z[group])]
    constraints += [z >= np.array([s > 0 for s in signs]), z <= np.array([s >= 0 for s in signs])]
    return cp.Problem(cp.Minimize(cp.sum_squares(instance.X @ w + t - instance.y) + _penalty(instance, w)), constraints)


def gram_form(instance: Instance, signs: SignPattern) -> cp.Problem:
    """QP: the quadratic form in one matrix, the intercept included."""
    A = np.column_stack([instance.X, np.ones(instance.n_rows)])
    v, w = cp.Variable(instance.n_columns + 1, name="v"), cp.Variable(instance.n_columns, name="w")
    square = cp.quad_form(v, cp.psd_wrap(A.T @ A)) - 2 * (instance.y @ A) @ v + instance.y @ instance.y
    return cp.Problem(cp.Minimize(square + _penalty(instance, w)), [w == v[:-1], *_signed(instance, signs, w)])


def perspective_cones(instance: Instance, signs: SignPattern) -> cp.Problem:
    """SOCP: the least curvature, made convex over the two orthants of each group, and the residual as a norm."""
    X, labels, M = instance.X - instance.X.mean(axis=0), instance.partition.labels, instance.n_columns
    y = instance.y - instance.y.mean()
    values, vectors = np.linalg.eigh(X.T @ X)
    least = max(values[0], 0.0) * (1 - 1e-9)
    rest = np.sqrt(np.maximum(values - least, 0.0))[:, None] * vectors.T
    target = vectors.T @ (X.T @ y) / np.where(rest.any(axis=1), np.sqrt(np.maximum(values - least, 1e-300)), 1.0)
    target = np.where(values - least > 1e-9 * values[-1], target, 0.0)
    linear = -2 * (y @ X) + 2 * target @ rest
    w, length, z = cp.Variable(M, name="w"), cp.Variable(name="length"), cp.Variable(instance.n_groups)
    plus, minus = cp.Variable(M, nonneg=True), cp.Variable(M, nonneg=True)
    constraints = [w == plus - minus, cp.norm(rest @ w - target) <= length]
    constraints += [z >= np.array([s > 0 for s in signs]), z <= np.array([s >= 0 for s in signs])]
    parts = cp.Variable((2, instance.n_groups), name="parts")
    for k in range(instance.n_groups):
        own = labels == k
        constraints += [cp.quad_over_lin(plus[own], z[k]) <= parts[0, k]]
        constraints += [cp.quad_over_lin(minus[own], 1 - z[k]) <= parts[1, k]]
    total = cp.square(length) - target @ target + y @ y + linear @ w + least * cp.sum(parts)
    return cp.Problem(cp.Minimize(total), constraints)


def lifted(instance: Instance, signs: SignPattern) -> cp.Problem:
    """SDP: the Shor relaxation on the centred data."""
    labels = instance.partition.labels
    A = np.column_stack([-(instance.y - instance.y.mean()), instance.X - instance.X.mean(axis=0)])
    lift = cp.Variable((A.shape[1], A.shape[1]), symmetric=True, name="lift")
    w = cp.Variable(instance.n_columns, name="w")
    constraints = [lift >> 0, lift[0, 0] == 1, w == lift[0, 1:], *_signed(instance, signs, w)]
    constraints += [lift[1 + i, 1 + j] >= 0 for i, j in np.argwhere(np.triu(labels[:, None] == labels, 1))]
    return cp.Problem(cp.Minimize(cp.sum(cp.multiply(A.T @ A, lift)) + _penalty(instance, w)), constraints)
