"""Rows folded into a triangle by blocked QR factorisation: one pass, constant memory."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.linalg import lapack

from formulations.data import Floats

BLOCK_ROWS = 1024  # a block and its reflectors stay in cache; larger blocks gain nothing
_PANEL = 12


def fold(blocks: Iterable[Floats], width: int) -> Floats:
    """Return at most ``width`` rows T with T'T = B'B, B the blocks stacked; one pass, constant memory.

    T is an upper triangle, or B itself if that has fewer rows. Blocks in column order are overwritten.
    """
    triangle: Floats | None = None
    waiting: list[Floats] = []  # too few rows so far to fill the triangle
    n_rows = 0
    for block in blocks:
        n_rows += len(block)
        if n_rows < width:
            waiting.append(block.copy())
            continue
        triangle = np.zeros((width, width), order="F") if triangle is None else triangle
        rows = np.asfortranarray(np.vstack([*waiting, block]) if waiting else block)
        waiting = []
        triangle, _, _, info = lapack.dtpqrt(0, min(_PANEL, width), triangle, rows, overwrite_a=True, overwrite_b=True)
        if info != 0:
            raise RuntimeError(f"LAPACK dtpqrt refused argument {-info}")
    if triangle is None:
        return np.vstack([np.zeros((0, width)), *waiting])
    return np.asarray(np.triu(triangle))
