"""Relaxations side by side at one node: bound, gap closed and time."""

from relaxations.comparison.compare import compare
from relaxations.comparison.result import Comparison

__all__ = ["Comparison", "compare"]
