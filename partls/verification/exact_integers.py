"""Exact arithmetic on data in floating point: Gram matrices, products, definiteness and square roots for ``verify``.

A floating-point number is an integer times a power of two, so sums and products of data are integers of some length.
Python's integers hold them; where there are many, they are cut into 16-bit digits, whose products and sums floating
point does not round. Everything else here is a proof by comparison of integers, or rounds to the safe side.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.object_]  # Python's integers, which have no largest one

_DIGIT = 16  # bits; the sum of 2^21 products of two such numbers is exact in a float
_ROWS, _TERMS = 2**16, 2**13  # of that many products, so many sums fit into 62 bits together
_BLOCK = 1024  # rows that are multiplied at once


def exact_gram(table: Floats, weights: Floats | None) -> tuple[Integers, int]:
    """Return (G, unit) with ``table' diag(weights) table = G / 2^unit``, in integers throughout."""
    left, shift = as_integers(table)
    if weights is None:
        return left.T @ left, 2 * shift
    scale, finer = as_integers(weights)
    return left.T @ (scale[:, None] * left), 2 * shift + finer


def as_integers(values: Floats) -> tuple[Integers, int]:
    """Return (A, shift) with ``values = A / 2^shift`` exactly."""
    ratios = [float(value).as_integer_ratio() for value in values.flat]
    shift = max(denominator.bit_length() - 1 for _, denominator in ratios)
    whole = [numerator << (shift + 1 - denominator.bit_length()) for numerator, denominator in ratios]
    return np.array(whole, dtype=object).reshape(values.shape), shift


def digit_gram(table: Floats, weights: Floats | None) -> tuple[Integers, int]:
    """Return what ``exact_gram`` returns, from products of 16-bit digits that floating point does not round."""
    gram, lowest = np.zeros((table.shape[1], table.shape[1]), dtype=object), 0
    for start in range(0, len(table), _BLOCK):
        rows = slice(start, start + _BLOCK)
        right = left = digits(table[rows])
        if weights is not None:
            products = [(p + q, a * s) for p, a in right for q, s in digits(weights[rows, None])]
            left = [(p + q, digit) for p, product in products for q, digit in digits(product)]
        if len(left) > _TERMS:  # numbers of wildly different sizes
            return exact_gram(table, weights)
        if not left:
            continue
        first = min(p for p, _ in left) + min(q for q, _ in right)
        last = max(p for p, _ in left) + max(q for q, _ in right)
        sums = np.zeros(((last - first) // _DIGIT + 1, *gram.shape), dtype=np.int64)
        for p, a in left:
            for q, b in right:
                sums[(p + q - first) // _DIGIT] += (a.T @ b).astype(np.int64)
        if first < lowest:
            gram, lowest = gram * 2 ** (lowest - first), first
        gram = gram + from_digits(sums) * 2 ** (first - lowest)
    return gram, -lowest


def digits(values: Floats) -> list[tuple[int, Floats]]:
    """Return [(p, A)] with ``values = sum of 2^p A`` exactly, the A integers of 16 bits and the p multiples of 16."""
    parts, rest = [], values
    exponent = _DIGIT * (math.frexp(float(np.abs(values).max(initial=0.0)))[1] // _DIGIT)
    while rest.any():
        digit = np.trunc(np.ldexp(rest, -exponent))
        if digit.any():
            parts.append((exponent, digit))
            rest = rest - np.ldexp(digit, exponent)  # leading bits taken away: nothing is rounded
        exponent -= _DIGIT
    return parts


def digit_product(A: Integers, B: Integers) -> Integers:
    """Return the product of two matrices of integers from products of 16-bit digits, which are not rounded."""
    left, right = integer_digits(A), integer_digits(B)
    if len(B) > _ROWS or min(len(left), len(right)) > _TERMS:
        return np.asarray(A @ B)
    sums = np.zeros((len(left) + len(right) - 1, len(A), B.shape[1]), dtype=np.int64)
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            sums[i + j] += (a @ b).astype(np.int64)
    return from_digits(sums)


def integer_digits(values: Integers) -> Floats:
    """Return A with ``values = sum of 2^(16 i) A_i``, the A_i integers of at most 16 bits."""
    entries = [int(value) for value in values.flat]
    length = max((value.bit_length() for value in entries), default=0) // _DIGIT + 1
    sizes = b"".join(abs(value).to_bytes(2 * length, "little") for value in entries)
    parts = np.frombuffer(sizes, dtype="<u2").reshape(*values.shape, length).astype(np.float64)
    signs = np.where(values < 0, -1.0, 1.0)
    return np.ascontiguousarray(np.moveaxis(signs[..., None] * parts, -1, 0))


def from_digits(sums: NDArray[np.int64]) -> Integers:
    """Return ``sum of 2^(16 i) sums_i`` as Python's integers."""
    low = np.empty(sums.shape, dtype="<u2")
    carry = np.zeros(sums.shape[1:], dtype=np.int64)
    for i, part in enumerate(sums):
        carry = carry + part
        low[i] = carry & (2**_DIGIT - 1)
        carry >>= _DIGIT  # rounds down, also below zero
    content, step = np.ascontiguousarray(np.moveaxis(low, 0, -1)).tobytes(), 2 * len(sums)
    whole = [
        int.from_bytes(content[step * k : step * (k + 1)], "little") + (int(top) << (8 * step))
        for k, top in enumerate(carry.flat)
    ]
    return np.array(whole, dtype=object).reshape(sums.shape[1:])


def proved_by_cholesky(block: Integers, eigenvalue: int) -> bool:
    """Return whether a Cholesky factorisation proves ``block - 2^-eigenvalue diag(block)`` positive definite.

    The block is scaled to a unit diagonal, with entries off by less than 4 eps, a matrix of norm at most 4 n eps. A
    factorisation that succeeds is exact for a matrix that differs by at most (n + 2) eps times the trace n in norm.
    Twice the sum of both is subtracted from the diagonal beforehand.
    """
    n = len(block)
    scaled = unit_diagonal(block)
    slack = 2 * n * (n + 6) * np.finfo(float).eps
    try:
        np.linalg.cholesky(scaled - (2.0**-eigenvalue + slack) * np.eye(n))
    except np.linalg.LinAlgError:
        return False
    return True


def proved_exactly(block: Integers, eigenvalue: int) -> bool:
    """Return whether elimination in integers proves ``block - 2^-eigenvalue diag(block)`` positive definite.

    The block, scaled by powers of two to a diagonal below 2, is rounded to whole multiples of 2^-(eigenvalue + 40).
    That changes it by a matrix of norm below n of these, which is subtracted beforehand.
    """
    rounded = block * 2 ** (eigenvalue + 40) // powers_of_two(block)
    return eliminate(rounded - np.eye(len(block), dtype=int).astype(object) * (2**41 + len(block)))


def powers_of_two(block: Integers) -> Integers:
    """Return the outer product of powers of two that scales the positive diagonal of a block to between 1/2 and 2."""
    halves = [entry.bit_length() // 2 for entry in np.diag(block)]
    return np.array([[2 ** (a + b) for b in halves] for a in halves], dtype=object).reshape(block.shape)


def unit_diagonal(block: Integers) -> Floats:
    """Return a symmetric matrix of integers with positive diagonal scaled to a unit diagonal, nearly."""
    near = (block / powers_of_two(block)).astype(np.float64)  # Python divides integers correctly rounded
    roots = np.sqrt(np.diag(near))
    return np.asarray(near / np.outer(roots, roots))


def eliminate(matrix: Integers) -> bool:
    """Return whether an integer matrix is positive definite: every pivot of fraction-free elimination is positive."""
    previous = 1
    while len(matrix):
        pivot = matrix[0, 0]
        if pivot <= 0:
            return False
        matrix = (matrix[1:, 1:] * pivot - np.outer(matrix[1:, 0], matrix[0, 1:])) // previous  # divides exactly
        previous = pivot
    return True


def sqrt_up(value: Fraction) -> Fraction:
    """Return a number a little above the square root: at most one part in 2^60, never below."""
    bits = max(0, 120 - value.numerator.bit_length() + value.denominator.bit_length())
    bits += bits % 2
    whole = -(-(value.numerator << bits) // value.denominator)
    return Fraction(math.isqrt(whole) + (value != 0), 2 ** (bits // 2))


def as_float(value: Fraction | float) -> float:
    """Return the nearest floating-point number, infinite if there is none that large."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
