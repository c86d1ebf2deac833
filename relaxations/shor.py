"""The Shor SDP as a safe bound, and the unbounded form that Esposito, Cerrato and Locatelli (2024) print."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import nan
from typing import Any

import numpy as np

from formulations.builders.shor import shor, shor_block_only_as_printed
from formulations.instance import Instance
from relaxations.conic.backend import Backend
from relaxations.conic.lift import LiftSafeBound, SolverDirections, solvers_for
from relaxations.conic.relaxation import ConicBounder
from relaxations.multiplier_bounder import MultiplierBounder, lifted_problem
from relaxations.multipliers.cost import step_seconds
from relaxations.price import Price
from relaxations.protocol import Bounder

_STEPS = 20.0  # of the interior-point method, to the default accuracy


@dataclass(frozen=True)
class ShorRelaxation:
    """Minimise ``Q . A - 2 (R'z)'a + z'z + penalty``  s.t. ``[1 a'; a A]`` psd, ``A_ij >= 0`` inside groups.

    With the signs of decided groups, and with ``cuts`` the signs of products across them. Use it near the root of
    hard trees: about 70 ms at 80 columns in groups of ten and 1 s at 300, and it closes three quarters of the gap
    and more where the cheap bound closes nothing. On fewer rows than columns "split-dnn" is far stronger.

    Parameters
    ----------
    cuts : bool
        Whether to use the products across decided groups; no effect at the root.
    accuracy : float
        The gap that the native method leaves, as a share of the rise above the cheap bound.
    solver : str or tuple of str
        "native": an interior-point method of the toolkit's own. Or CVXPY solvers in the order to be tried, and
        "cvxpy" for an order by size: 10 to 100 times slower, to compare with.
    options : mapping
        Options for each CVXPY solver, by its name; they replace the default ones of that solver.
    name : str
        The name in tables and counts.

    References
    ----------
    C. Helmberg, F. Rendl, R. J. Vanderbei, H. Wolkowicz (1996), "An interior-point method for semidefinite
    programming", SIAM Journal on Optimization 6, 342-361.

    Examples
    --------
    >>> from formulations import SignPattern, random_instance
    >>> from relaxations import ActiveSetRelaxation, ShorRelaxation
    >>> instance, root = random_instance(M=12, group_size=3), SignPattern.free(4)
    >>> cheap, strong = (kind().prepare(instance).bound(root) for kind in (ActiveSetRelaxation, ShorRelaxation))
    >>> strong.value > cheap.value
    True
    """

    cuts: bool = True
    accuracy: float = 1e-5
    solver: str | tuple[str, ...] = "native"
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    name: str = "shor"

    def price(self, instance: Instance) -> Price | None:
        """Return the seconds of a bound by the native method; None for CVXPY, whose bounds are priced by columns."""
        return Price(0.0, _STEPS * step_seconds(instance.reduction)) if self.solver == "native" else None

    def prepare(self, instance: Instance) -> Bounder:
        """Return the bounder; with CVXPY, find once in which directions the lift is bounded."""
        reduction = instance.reduction
        if self.solver == "native":
            return MultiplierBounder(reduction, self.cuts, self.accuracy)
        chosen = (self.solver,) if isinstance(self.solver, str) else self.solver
        solvers = solvers_for(reduction, reduction.n_columns + 1) if chosen == ("cvxpy",) else chosen
        backend = Backend(lambda signs: shor(instance, signs, cuts=self.cuts, parametric=False), solvers, self.options)
        directions = SolverDirections(reduction, solvers, self.options)
        none = np.zeros((reduction.n_columns, reduction.n_columns))
        safe_bound = LiftSafeBound(directions, lambda signs: lifted_problem(reduction, signs, cuts=self.cuts), none)
        return ConicBounder(reduction, backend, safe_bound)


@dataclass(frozen=True)
class BlockOnlyShorRelaxation:
    """Minimise ``Q . A - 2 (R'z)'a + z'z + penalty``  s.t. ``[1 a_k'; a_k A_k]`` psd and ``A_k >= 0`` for each group.

    The SDP as Esposito, Cerrato and Locatelli (2024), section 3.4, print it: unbounded as soon as columns of two groups
    are not orthogonal. It is kept to show that, and proves nothing. Use :class:`ShorRelaxation`.

    Parameters
    ----------
    solvers : tuple of str
        CVXPY solvers in order of preference.
    options : mapping
        Options for each solver, by its name.
    name : str
        The name in tables and counts.

    Examples
    --------
    >>> from formulations import SignPattern, random_instance
    >>> from relaxations import BlockOnlyShorRelaxation
    >>> BlockOnlyShorRelaxation().prepare(random_instance(M=4, group_size=2)).bound(SignPattern.free(2)).value
    -inf
    """

    solvers: tuple[str, ...] = ("CLARABEL", "SCS")
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    name: str = "shor-block-only"

    def prepare(self, instance: Instance) -> ConicBounder:
        """Compile nothing: the printed form knows no signs, and each call solves the root."""
        backend = Backend(lambda _: shor_block_only_as_printed(instance), self.solvers, self.options)
        return ConicBounder(instance.reduction, backend, lambda model, column_signs: nan)
