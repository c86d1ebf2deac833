"""What a dataset makes (Problem), what a method does (Method) and what it returns (Answer)."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np


@dataclass(frozen=True, eq=False)
class Problem:
    """minimise ``||X w + t - y||^2 + eta ||beta||^2 + ridge ||w||^2``  s.t. one sign per group.

    beta holds the groups' sums of coefficients, and t is 0 without an intercept. Rows to predict, if there are any,
    take no part in the fit.
    """

    X: np.ndarray
    y: np.ndarray
    labels: np.ndarray  # group of each column, 0 .. K-1
    fit_intercept: bool = False
    eta: float = 0.0
    ridge: float = 0.0
    X_test: np.ndarray | None = None
    y_test: np.ndarray | None = None
    rational: bool = False  # ask the referee for exact arithmetic: rounding would hide the errors that matter
    well_posed: bool = True  # otherwise faults are reported, but fail no run: doubles cannot promise an answer

    @property
    def shape(self) -> tuple[int, int, int]:
        """Rows, columns and groups."""
        return self.X.shape[0], self.X.shape[1], int(self.labels.max()) + 1


@dataclass(frozen=True, eq=False)
class Answer:
    """What a method says about a problem, in its own words; the referee recomputes what it can."""

    status: str  # "optimal" claims a proof; "time limit", "skipped", "failed", ... claim nothing
    coef: np.ndarray | None = None
    intercept: float = 0.0
    claimed: float = np.nan  # the method's own figure for the objective
    lower_bound: float = np.nan
    nodes: int | None = None
    notes: dict[str, Any] = field(default_factory=dict)
    seconds: float | None = None  # of a run that was made elsewhere; what runs here is timed by the runner


class MissingDataError(Exception):
    """Data that are not here; the message says how to get them. The runner makes rows marked "skipped" of it."""


class Method:
    """A way to fit. Subclasses are dataclasses whose fields are their settings.

    ``set_up`` is not timed, ``run`` is, ``answer`` is not. Imports of optional packages belong in ``set_up``.
    """

    name: ClassVar[str]
    exact: ClassVar[bool] = True  # claims the proven optimum
    signed: ClassVar[bool] = True  # claims coefficients that share a sign in each group
    trusted: ClassVar[bool] = True  # ours: a wrong answer fails the run; a peer's is only reported
    penalised: ClassVar[bool] = False  # can take eta > 0
    ridged: ClassVar[bool] = False  # can take ridge > 0
    requires: ClassVar[tuple[str, ...]] = ()  # modules of the bench extra
    threads: ClassVar[int] = 1  # or a field, where a method takes more

    def settings(self) -> dict:
        return asdict(self)  # type: ignore[call-overload]

    def reason_to_skip(self, problem: Problem) -> str:
        """Say why this method cannot take this problem; empty if it can."""
        missing = [module for module in self.requires if find_spec(module) is None]
        if missing:
            return f"{', '.join(missing)} not installed"
        if problem.ridge and not self.ridged:
            return "takes no ridge"
        return "takes no penalty" if problem.eta and not self.penalised else ""

    def warm_up(self, problem: Problem) -> None:
        """Do once what a program does once: compile, load, open licences."""

    def set_up(self, problem: Problem, time_limit: float) -> None:
        raise NotImplementedError

    def run(self) -> None:
        raise NotImplementedError

    def answer(self) -> Answer:
        raise NotImplementedError
