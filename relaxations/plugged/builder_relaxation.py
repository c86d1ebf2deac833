"""A function that builds a CVXPY problem for a node, as a relaxation that the search and every policy accept."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf, isnan, nan
from typing import Any

import cvxpy as cp

from formulations.builders.model import Model
from formulations.errors import InvalidInput
from formulations.instance import Instance
from formulations.signs import SignPattern
from relaxations.conic.cone_solve import refuse_unreadable, same_data, solve_cones, solver_data
from relaxations.conic.solvers import installed_solver
from relaxations.plugged.built import Built
from relaxations.plugged.dual_value import DualValue, SafeValue
from relaxations.price import Price, given_prices
from relaxations.protocol import Bound, BoundStatus

Build = Callable[[Instance, SignPattern], Model | cp.Problem]
Safe = Callable[[Any, SignPattern], float]
_DUAL = "dual"


def from_builder(
    build: Build, *, safe: str | Safe | None = _DUAL, name: str | None = None, solver: str = "CLARABEL",
    options: Mapping[str, Any] | None = None, coefficients: str = "w",
    bounds: Mapping[str, Any] | Callable[[Instance, SignPattern], Mapping[str, Any]] | None = None,
    price: Price | float | None = None,
) -> BuilderRelaxation:
    """Return the relaxation whose problem at each node a function builds: a convex minimisation below the objective.

    ``solve``, ``compare``, ``tree_size`` and every policy accept it.

    Parameters
    ----------
    build
        A function of an ``Instance`` and a ``SignPattern``, one of -1, 0, +1 per group. It returns a ``cvxpy.Problem``
        whose value is in the units of ``Instance.objective``, or a ``formulations.Model``. It is called at every node;
        a Model whose signs are parameters is built once.
    safe
        What proves the bound. ``"dual"``: the solver's dual vector, repaired; what it lacks is charged at its
        worst over all solutions that could still improve on the incumbent. A function of (what ``build``
        returned, solved; signs): your own lower bound, in the units of the objective. None: nothing; ``compare``
        shows the solver's value as an estimate, and a search prunes nothing by it.
    name
        The name in tables; default: the name of the function.
    solver, options
        A CVXPY solver and its options. ``"dual"`` reads semidefinite problems from CLARABEL and SCS.
    coefficients
        In a plain problem, the name of the variable that stands for the coefficients, one per column of X. The search
        branches on it and rounds it; without one it goes by the order of the groups. The intercept, if it is a
        variable, is named ``"t"``.
    bounds
        For ``"dual"``: the largest size, or (lower, upper), of variables by name, or a function of (instance, signs)
        that returns these. They must hold for some point of every solution that is no worse than the best at the
        node. Bounds on the coefficients, on a variable named ``"lift"`` that stands for ``[1 x'; x xx']``, and on what
        these and the objective imply for others, are found automatically.
    price
        What a bound costs, in seconds, or a ``Price`` with the preparation; policies that weigh bounds against one
        another use it instead of a guess.

    Returns
    -------
    BuilderRelaxation
        The relaxation.

    Raises
    ------
    InvalidInput
        If an option cannot be used.

    Examples
    --------
    >>> import partls
    >>> from formulations import quadratic, random_instance
    >>> from relaxations import from_builder
    >>> mine = from_builder(quadratic, name="mine")
    >>> partls.solve_instance(random_instance(M=6, group_size=3), relaxation=mine).status.value
    'optimal'
    """
    if not callable(build):
        raise InvalidInput(f"build={build!r} is not a function of an instance and signs")
    if not (safe is None or safe == _DUAL or callable(safe)):
        raise InvalidInput(f'safe={safe!r} is none of "dual", a function, None')
    own = getattr(build, "__name__", "")
    plain = own.replace("_", "-") if own.isidentifier() else "builder"
    return BuilderRelaxation(
        build, safe, name or plain, installed_solver(solver), options or {}, coefficients, bounds,
        None if price is None else given_prices({"price": price})["price"],
    )


@dataclass(frozen=True, eq=False)
class BuilderRelaxation:
    """Minimise the problem that a builder states for each node; made by :func:`from_builder`.

    Parameters
    ----------
    build, safe, name, solver, options, coefficients, bounds
        As in :func:`from_builder`.
    own_price : Price, optional
        What a bound costs; a guess if left out.

    Examples
    --------
    >>> from formulations import quadratic
    >>> from relaxations import from_builder
    >>> from_builder(quadratic, name="mine").name
    'mine'
    """

    build: Build
    safe: str | Safe | None
    name: str
    solver: str
    options: Mapping[str, Any]
    coefficients: str
    bounds: Any
    own_price: Price | None = None

    @property
    def price(self) -> Callable[[Instance], Price] | None:
        """What a bound costs on an instance, if its author has said so."""
        own = self.own_price
        return None if own is None else lambda instance: own

    def prepare(self, instance: Instance) -> BuilderBounder:
        """Build the root and two leaves, and refuse what cannot be a relaxation."""
        reduction = instance.reduction
        bounder = BuilderBounder(self, instance)
        root = bounder.built(SignPattern.free(reduction.n_groups))
        with _named(self.name):
            data, offset = solver_data(root.problem, self.solver)
            if self.safe == _DUAL:
                refuse_unreadable(data, offset, self.solver)
        if reduction.n_columns:
            self._refuse_deaf(bounder, reduction.n_groups)
        return bounder

    def _refuse_deaf(self, bounder: BuilderBounder, n_groups: int) -> None:
        """Refuse a builder whose problem is the same for opposite signs of every group."""
        leaves = [SignPattern((sign,) * n_groups) for sign in (1, -1)]
        one, other = (solver_data(bounder.built(signs).problem, self.solver)[0] for signs in leaves)
        if same_data(one, other):
            raise InvalidInput(
                f"{self.name}: build ignores the signs (its problem is the same for {leaves[0]} and {leaves[1]}), so "
                "its bound cannot rise below the root: constrain w_j >= 0 where the sign of its group is +1, w_j <= 0 "
                "where it is -1"
            )


@dataclass(eq=False)
class BuilderBounder:
    """Bounds of one builder on one instance. What was proved of a node holds below it. Not to be shared by threads."""

    relaxation: BuilderRelaxation
    instance: Instance
    _parametric: Built | None = None
    _proved: dict[SignPattern, float] = field(default_factory=dict)

    def built(self, signs: SignPattern) -> Built:
        """Return the builder's problem of a node, checked."""
        if self._parametric is not None:
            self._parametric.made.fix(signs)  # type: ignore[union-attr]
            return self._parametric
        own = self.relaxation
        with _named(own.name):
            try:
                made = own.build(self.instance, signs)
            except InvalidInput:
                raise
            except Exception as error:
                raise InvalidInput(f"build raised {type(error).__name__} for the signs {signs}: {error}") from error
            minimised = not callable(own.safe)
            built = Built.of(made, self.instance, own.coefficients, minimised=minimised)
        if isinstance(made, Model) and made.parameters and "signs" in made.changes:
            self._parametric = built
        return built

    def bound(self, signs: SignPattern, *, cutoff: float = inf) -> Bound:
        """Return the bound of one node, solved in full whatever the cutoff."""
        began = time.perf_counter()
        built = self.built(signs)
        solved = solve_cones(built.problem, self.relaxation.solver, dict(self.relaxation.options))
        status, reason, value = solved.status, "", -inf
        if status in (BoundStatus.OPTIMAL, BoundStatus.INACCURATE):
            value, reason = self._safe_value(built, signs, cutoff, solved)
            status = status if value > -inf else BoundStatus.UNPROVEN
        elif status is BoundStatus.FAILED or solved.words != "optimal":
            reason = f"{self.relaxation.solver}: {solved.words}"
        if status is not BoundStatus.FAILED and self.relaxation.safe is not None:
            value = max([value, *(self._proved.get(parent, -inf) for parent in signs.parents)])
            self._proved[signs] = value
        raw = built.problem.value
        estimate = nan if status is BoundStatus.FAILED or raw is None else float(raw) * built.scale
        return Bound(value, estimate, built.point(), status, time.perf_counter() - began, error=reason)

    def _safe_value(self, built: Built, signs: SignPattern, cutoff: float, solved: Any) -> SafeValue:
        """Return the safe value of a solved problem in the units of the objective."""
        safe = self.relaxation.safe
        if safe is None:
            return SafeValue(-inf)
        if callable(safe):
            value = float(safe(built.made, signs))
            return SafeValue(-inf, "safe returned no number") if isnan(value) else SafeValue(value)
        found = DualValue(built, signs, cutoff, self._bounds(built, signs)).of(solved)
        return SafeValue(found.value * built.scale, found.reason)

    def _bounds(self, built: Built, signs: SignPattern) -> Mapping[str, Any]:
        given = self.relaxation.bounds
        bounds = given(self.instance, signs) if callable(given) else given or {}
        names = [variable.name() for variable in built.problem.variables()]
        if unknown := [name for name in bounds if name not in names]:
            raise InvalidInput(f'{self.relaxation.name}: bounds names "{unknown[0]}", and the variables are {names}')
        return bounds


class _named:  # noqa: N801  (reads as a word)
    """Put the name of the relaxation before a refusal raised inside."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if isinstance(error, InvalidInput) and not str(error).startswith(f"{self.name}: "):
            raise InvalidInput(f"{self.name}: {error}") from error
