"""The Shor SDP as a safe bound, and the form that the paper prints, which has no minimum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.builders.shor import product_signs, shor, shor_block_only_as_printed
from formulations.instance import Instance
from relaxations.conic.backend import Backend
from relaxations.conic.lift import InteriorSearch, LiftSafeBound, solvers_for
from relaxations.conic.relaxation import ConicBounder
from relaxations.safe.lift import LiftedProblem


@dataclass(frozen=True)
class ShorRelaxation:
    """minimise ``Q . A - 2 (R'z)'a + z'z + penalty``  s.t. ``[1 a'; a A]`` psd, ``A_ij >= 0`` inside groups.

    With the signs of decided groups, and with ``cuts`` the signs of products across them. One semidefinite block of
    order M + 1: 30 to 300 ms at M = 20, 0.1 to 1.5 s at M = 40, longer where it is not exact. Use it near the root of
    hard trees with more rows than columns, where it closes nearly all of the gap; on fewer rows than columns
    "split-dnn" is far stronger.

    Parameters
    ----------
    cuts : bool
        Whether to use the products across decided groups; no effect at the root.
    solvers : tuple of str, optional
        CVXPY solvers in the order to be tried; chosen by size if left out.
    options : mapping
        Options for each solver, by its name; they replace the default ones of that solver.
    """

    cuts: bool = True
    solvers: tuple[str, ...] | None = None
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    name: str = "shor"

    def prepare(self, instance: Instance) -> ConicBounder:
        """Find, once, in which directions the lift is bounded; each node builds its own SDP."""
        reduction = instance.reduction
        M = reduction.n_columns

        def problem(column_signs: NDArray[np.int8]) -> LiftedProblem:
            products = product_signs(reduction, column_signs, cuts=self.cuts)
            return LiftedProblem(
                reduction.R, reduction.z, reduction.rest, reduction.l1, column_signs, products,
                np.zeros((M, M), bool), np.arange(M),
            )

        solvers, options = self.solvers or solvers_for(reduction, M + 1), self.options
        backend = Backend(lambda signs: shor(instance, signs, cuts=self.cuts, parametric=False), solvers, options)
        safe_bound = LiftSafeBound(InteriorSearch(reduction, solvers, options), problem, np.zeros((M, M)))
        return ConicBounder(reduction, backend, safe_bound)


@dataclass(frozen=True)
class BlockOnlyShorRelaxation:
    """minimise ``Q . A - 2 (R'z)'a + z'z + penalty``  s.t. ``[1 a_k'; a_k A_k]`` psd and ``A_k >= 0`` for each group.

    The SDP as the paper prints it: unbounded as soon as columns of two groups are not orthogonal. Here to show that;
    it proves nothing. Use :class:`ShorRelaxation`.
    """

    solvers: tuple[str, ...] = ("CLARABEL", "SCS")
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    name: str = "shor-block-only"

    def prepare(self, instance: Instance) -> ConicBounder:
        """Compile nothing: the printed form knows no signs, and each call solves the root."""
        backend = Backend(lambda _: shor_block_only_as_printed(instance), self.solvers, self.options)
        return ConicBounder(instance.reduction, backend, lambda model, column_signs: nan)
