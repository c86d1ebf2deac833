"""Columns and target in units of powers of two, which are exact, so that their norms are about one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from formulations.data import Floats
from formulations.errors import InvalidInput

Exponents = NDArray[np.intp]

_LARGEST = 510  # power of two, of a number whose square is one too
SMALLEST_SQUARE = 1e-250  # of columns whose squares lose nothing to the ends of the range of floats
_REACH = 1000  # power of two: a column so small beside y has coefficients that are no floating-point numbers


def norm_exponents(rows: Floats) -> Exponents:
    """Return e with ``2^-e`` times each column's norm in [1, 2); zero for a zero column."""
    with np.errstate(over="ignore", under="ignore"):
        squares = np.einsum("ij,ij->j", rows, rows)
    if squares.size and squares.min() > SMALLEST_SQUARE and squares.max() < 1.0 / SMALLEST_SQUARE:
        return np.asarray(np.frexp(np.sqrt(squares))[1] - 1, dtype=np.intp)
    largest = np.frexp(np.abs(rows).max(axis=0, initial=0.0))[1]  # squares of the rows as they are may be zero
    norms = np.linalg.norm(scaled(rows, -largest), axis=0)
    return np.where(norms > 0, largest + np.frexp(norms)[1] - 1, 0).astype(np.intp)


def scaled(rows: Floats, exponents: Exponents) -> Floats:
    """Return the columns times ``2^exponents``, exactly."""
    if np.abs(exponents).max(initial=0) <= _REACH:
        return np.asarray(rows * np.ldexp(1.0, exponents))
    return np.asarray(np.ldexp(rows, exponents))  # slow, but it takes every exponent


def target_exponent(own: int) -> int:
    """Return the exponent that the target is divided by, from that of its norm."""
    if own > _LARGEST:
        raise InvalidInput("y is too large: the sum of its squares is beyond floating point. Divide it by a constant")
    return max(own, -_LARGEST)


def within_reach(exponents: Exponents, e_y: int) -> NDArray[np.bool_]:
    """Return which columns are not so small beside the target that no float could be their coefficient."""
    return np.asarray(e_y - exponents <= _REACH)


def exponent_of(scale: float) -> int:
    """Return e where ``scale`` is ``4^e``."""
    return (int(np.frexp(scale)[1]) - 1) // 2


def scaled_costs(weights: Floats, exponents: Exponents, scale: float) -> Floats:
    """Return the costs of reduced coefficients from those of coefficients.

    Columns and target have norms below two: a cost of eight leaves nothing of a column, and 2^510 no more.
    """
    wanted = exponents - (np.frexp(scale)[1] - 1)
    return np.asarray(np.ldexp(weights, np.minimum(wanted, _LARGEST - np.frexp(weights)[1])))
