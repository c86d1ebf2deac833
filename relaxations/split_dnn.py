"""The doubly nonnegative relaxation of the split coefficients as a safe bound: the strongest and most expensive one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.builders.split_dnn import opposed_parts, split_dnn, split_parts
from formulations.data import Floats
from formulations.instance import Instance
from relaxations.conic.backend import Backend
from relaxations.conic.lift import LiftSafeBound, SolverDirections, solvers_for
from relaxations.conic.relaxation import ConicBounder
from relaxations.safe.lift import LiftedProblem


@dataclass(frozen=True)
class SplitDNNRelaxation:
    """Minimise ``H . [1 x'; x Y] + l1'x``  s.t. ``[1 x'; x Y]`` psd and >= 0, ``Y = 0`` between opposite parts.

    x holds the positive and the negative part of each coefficient, of decided groups only the allowed one: a
    semidefinite block of order 2M + 1 at the root. It takes 0.1 s and sometimes seconds at M = 20, 2 to 10 s at M = 40,
    and more on fewer rows than columns. Use it where all other bounds leave a gap: it was exact at nearly every root
    that was tried.

    Parameters
    ----------
    solvers : tuple of str, optional
        CVXPY solvers in the order to be tried; chosen by size if left out.
    options : mapping
        Options for each solver, by its name; they replace the default ones of that solver.
    name : str
        The name in tables and counts.

    Examples
    --------
    >>> import partls
    >>> from formulations import SignPattern, random_instance
    >>> from relaxations import SplitDNNRelaxation
    >>> instance = random_instance(M=4, group_size=2)
    >>> bound = SplitDNNRelaxation().prepare(instance).bound(SignPattern.free(2))
    >>> bound.value / partls.solve_instance(instance).objective > 0.9999
    True
    """

    solvers: tuple[str, ...] | None = None
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    name: str = "split-dnn"

    def prepare(self, instance: Instance) -> ConicBounder:
        """Find, once, in which directions the lift is bounded; each node builds its own SDP."""
        reduction = instance.reduction
        M = reduction.n_columns

        def problem(column_signs: NDArray[np.int8]) -> LiftedProblem:
            E = split_parts(column_signs)
            n = E.shape[1]
            return LiftedProblem(
                reduction.R @ E, reduction.z, reduction.rest, reduction.l1 @ np.abs(E), np.ones(n, np.int8),
                np.ones((n, n), np.int8), opposed_parts(reduction, E),
                np.append(np.flatnonzero(column_signs >= 0), M + np.flatnonzero(column_signs <= 0)),
            )

        solvers, options = self.solvers or solvers_for(reduction, 2 * M + 1), self.options
        backend = Backend(lambda signs: split_dnn(instance, signs, parametric=False), solvers, options)
        safe_bound = LiftSafeBound(SolverDirections(reduction, solvers, options), problem, _complementary(reduction.R))
        return ConicBounder(reduction, backend, safe_bound)


def _complementary(R: Floats) -> Floats:
    """Return the multiples of ``x+_j x-_j = 0`` that make the singular Gram matrix of the parts definite if R'R is."""
    M = R.shape[1]
    least = float(np.linalg.eigvalsh(R.T @ R)[0]) if M else 0.0
    N = np.zeros((2 * M, 2 * M))
    N[np.arange(M), M + np.arange(M)] = N[M + np.arange(M), np.arange(M)] = -least
    return N
