"""The compiled kernel: dual steps, safe bounds and walks over sign patterns, as machine code.

A module of this package is compiled when it is imported, or loaded from the cache. ``kernel.walk`` and its siblings
are therefore imported on first use: importing the toolkit loads no numba. If one has to be compiled, all are: the
user waits once per installation.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from relaxations.kernel import flips, node, one_node, pairs, patterns, pivoting, safe_bound, tableau, walk

__all__ = ["flips", "node", "one_node", "pairs", "patterns", "pivoting", "safe_bound", "tableau", "walk"]

_ENTRIES = ("flips", "one_node", "patterns", "walk")  # what Python calls

if not TYPE_CHECKING:  # a checker that saw this function would accept any name

    def __getattr__(name: str) -> Any:
        """Import a compiled module on first use."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = import_module(f"{__name__}.{name}")
        if import_module(f"{__name__}.compilation").has_compiled():
            for entry in _ENTRIES:
                import_module(f"{__name__}.{entry}")
        return module
