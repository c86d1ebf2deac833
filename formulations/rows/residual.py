"""Residuals that keep their digits where large contributions cancel: offsets, nearly equal columns, huge coefficients.

``y - X w - t`` in plain arithmetic is wrong by about 1e-16 of the largest contribution to it, which can be more than
the residual itself. Where that shows, products and sums are taken with their rounding errors, as if in twice the
working precision, so that the objective of a model is right whatever its conditioning.
"""

from __future__ import annotations

import numpy as np

from formulations.data import Floats

_LARGE = 5e4  # contributions beside the residual: from here on the plain objective has less than 11 digits
_ZERO = 1e-12  # of the target: a residual that is rounding alone, with no digits to keep
_MODEST = 1e3  # contributions beside the target: up to here their rounding is no more than that
_SAMPLE = 256  # rows that tell the size of the contributions
_BLOCK = 1 << 17  # numbers worked on at once
_SPLITTER = 2.0**27 + 1.0


def residual(X: Floats, y: Floats, coef: Floats, intercept: float) -> Floats:
    """Return ``y - X coef - intercept``, by plain arithmetic where that is accurate."""
    plain = np.asarray(y - X @ coef - intercept)
    sample = slice(None, None, max(len(X) // _SAMPLE, 1))
    largest = np.abs(X[sample]) @ np.abs(coef) + np.abs(y[sample]) + abs(intercept)
    size, left = largest.max(initial=0.0), np.abs(plain).max(initial=0.0)
    target = np.abs(y).max(initial=0.0)
    vanishing = left <= _ZERO * target and size <= _MODEST * target
    if size <= _LARGE * left or vanishing or not np.isfinite(size):
        return plain
    height = max(_BLOCK // (X.shape[1] + 2), 1)
    blocks = range(0, len(X), height)
    return np.concatenate([_compensated(X[i : i + height], y[i : i + height], coef, intercept) for i in blocks])


def _compensated(X: Floats, y: Floats, coef: Floats, intercept: float) -> Floats:
    """Return the residual as the sum of all rounded terms and of all that was rounded off on the way."""
    products, errors = _product(X, coef)
    terms = np.column_stack([y, -products, np.full(len(y), -intercept)])
    lost = -errors.sum(axis=1)
    while terms.shape[1] > 1:
        half = terms.shape[1] // 2
        a, b, odd = terms[:, :half], terms[:, half : 2 * half], terms[:, 2 * half :]
        total = a + b
        part = total - a
        lost += ((a - (total - part)) + (b - part)).sum(axis=1)  # exactly what a + b has rounded off (Knuth)
        terms = np.hstack([total, odd])
    return np.asarray(terms[:, 0] + lost)


def _product(X: Floats, coef: Floats) -> tuple[Floats, Floats]:
    """Return ``X * coef`` rounded, and exactly what was rounded off (Dekker); scaled so that nothing overflows."""
    exponents = np.frexp(np.abs(X).max(axis=0, initial=0.0))[1]
    a, b = np.ldexp(X, -exponents), np.ldexp(coef, exponents)
    product = a * b
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    return product, a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


def _halves(a: Floats) -> tuple[Floats, Floats]:
    """Return two numbers of half the digits each whose sum is a (Veltkamp)."""
    mantissa, exponent = np.frexp(a)
    large = _SPLITTER * mantissa
    high = large - (large - mantissa)
    return np.ldexp(high, exponent), np.ldexp(mantissa - high, exponent)
