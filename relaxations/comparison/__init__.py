"""Relaxations side by side, on one instance or on many: bound, gap closed and time."""

from relaxations.comparison.compare import compare
from relaxations.comparison.result import Comparison
from relaxations.comparison.sweep import sweep
from relaxations.comparison.sweep_result import Sweep

__all__ = ["Comparison", "Sweep", "compare", "sweep"]
