"""Relaxations side by side at one node: bound, gap closed and time."""

from relaxations.comparison.compare import Comparison, compare

__all__ = ["Comparison", "compare"]
