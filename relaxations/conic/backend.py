"""Solves models with the first solver that succeeds, and keeps how every attempt ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from formulations.builders.model import Model
from formulations.errors import InvalidInput
from formulations.signs import SignPattern
from relaxations.conic.attempt import OUT_OF_REACH, attempt, default_options
from relaxations.conic.solvers import installed_solver
from relaxations.protocol import BoundStatus

_ORDER = [BoundStatus.OPTIMAL, BoundStatus.UNBOUNDED, BoundStatus.INACCURATE, BoundStatus.FAILED]


@dataclass(frozen=True, eq=False)
class Solved:
    """What came of one solve: the model with the solver's values in it, and how every attempt ended.

    Attributes
    ----------
    model
        The model of the best attempt; its variables and dual values are None if no solver left any.
    status
        OPTIMAL, UNBOUNDED, INACCURATE (a point to start a safe bound from) or FAILED (none).
    solver
        The solver of the best attempt.
    attempts
        One line per solver tried, in order: its own status, or its error.
    seconds
        Wall-clock time of all attempts.
    """

    model: Model
    status: BoundStatus
    solver: str
    attempts: tuple[str, ...]
    seconds: float


@dataclass
class Backend:
    """Solves one family of models with the first of ``solvers`` that succeeds.

    ``build`` makes the model of a sign pattern. A model whose signs are parameters is compiled once per solver; any
    other is built anew for each solve. No two solvers ever share a problem: CVXPY would hand the values of one to
    the next as a warm start.
    """

    build: Callable[[SignPattern | None], Model]
    solvers: Sequence[str]
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    _compiled: dict[str, Model] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.solvers = [installed_solver(name) for name in self.solvers]

    def solve(self, signs: SignPattern | None = None) -> Solved:
        """Return the best of the attempts, stopping at the first that is optimal or proves unboundedness.

        Raises ``InvalidInput`` if no solver takes problems of this kind, such as a quadratic solver a semidefinite one.
        """
        began = time.perf_counter()
        tried: list[tuple[BoundStatus, str, Model]] = []
        attempts: list[str] = []
        for solver in self.solvers:
            model = self._model(solver, signs)
            one = attempt(model.problem, solver, default_options(solver) | dict(self.options.get(solver, {})))
            tried.append((one.status, solver, model))
            attempts.append(f"{solver}: {one.words}")
            if one.status in (BoundStatus.OPTIMAL, BoundStatus.UNBOUNDED):
                break
        if all(f": {OUT_OF_REACH}" in line for line in attempts):
            raise InvalidInput(_refusal(self.solvers[0], tried[0][2]))
        status, solver, model = min(tried, key=lambda attempt: _ORDER.index(attempt[0]))
        return Solved(model, status, solver, tuple(attempts), time.perf_counter() - began)

    def _model(self, solver: str, signs: SignPattern | None) -> Model:
        if solver in self._compiled:
            return self._compiled[solver].fix(signs)
        model = self.build(signs)
        if model.parameters:
            self._compiled[solver] = model
        return model


def _refusal(solver: str, model: Model) -> str:
    form = model.form
    kind, others = ("", "") if form is None else (f" ({form.cone})", f"; those that do: {form.solvers}")
    return f"solver {solver!r} does not solve problems of this kind, {model.name}{kind}{others}"
