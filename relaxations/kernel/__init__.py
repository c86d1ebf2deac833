"""The compiled kernel: dual steps, safe bounds and walks over sign patterns, as machine code.

A module of this package is compiled when it is imported, or loaded from the cache. ``kernel.walk`` and its siblings
are therefore imported on first use: importing the toolkit loads no numba.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from relaxations.kernel import flips, node, one_node, pairs, patterns, pivoting, safe_bound, tableau, walk

__all__ = ["flips", "node", "one_node", "pairs", "patterns", "pivoting", "safe_bound", "tableau", "walk"]

if not TYPE_CHECKING:  # a checker that saw this function would accept any name

    def __getattr__(name: str) -> Any:
        """Import a compiled module on first use."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return import_module(f"{__name__}.{name}")
