"""Relaxations: the bound of single nodes by itself, and branch and bound with any relaxation or policy."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

import partls
import relaxations
from benchmarks.contract import Answer, Method, Problem
from benchmarks.methods.ours import Bnb
from formulations import Instance, SignPattern
from relaxations import Adaptive, ByDepth, CheapThenStrong, Fixed, PerspectiveRelaxation, ShorRelaxation

BOUNDS = {
    **{name: relaxations.named(name) for name in relaxations.MEMBERS},
    **{f"perspective {D}": PerspectiveRelaxation(D=D) for D in ("lambda-min", "bj", "diagonal", "block")},
}
ROOTS = {
    **BOUNDS,
    "shor by SCS": ShorRelaxation(solver="SCS"),
    "shor by Clarabel": ShorRelaxation(solver="CLARABEL"),
}
SEARCHES = {
    **BOUNDS,
    "active-set, generic": Fixed("active-set"),
    **{
        f"{policy} {strong}": make(BOUNDS[strong])
        for strong in ("perspective", "strengthened")
        for policy, make in {
            "cheap then": lambda bound: CheapThenStrong("active-set", bound),
            "to depth 4": lambda bound: ByDepth(bound, "active-set", 4),
            "adaptive": lambda bound: Adaptive(["active-set", bound]),
        }.items()
    },
}


@dataclass
class NodeBound(Method):
    """One relaxation at the root (depth 0) or at random nodes with ``depth`` decided groups; preparing is not timed."""

    name = "node_bound"
    exact = signed = False
    penalised = ridged = True

    relaxation: str = "active-set"
    depth: int = 0
    n_nodes: int = 1

    def set_up(self, problem: Problem, time_limit: float) -> None:
        options = {"fit_intercept": problem.fit_intercept, "eta": problem.eta, "ridge": problem.ridge}
        self._instance = Instance(problem.X, problem.y, problem.labels, **options)
        rng = np.random.default_rng(problem.shape[2])
        self._nodes = [self._random_node(rng) for _ in range(self.n_nodes)]
        began = time.perf_counter()
        self._bounder = BOUNDS[self.relaxation].prepare(self._instance)
        self._bounder.bound(self._nodes[0])  # the first bound compiles the problem, if one serves all nodes
        self._preparing = time.perf_counter() - began

    def _random_node(self, rng: np.random.Generator) -> SignPattern:
        signs = np.zeros(self._instance.n_groups, int)
        signs[rng.permutation(len(signs))[: self.depth]] = rng.choice([-1, 1], self.depth)
        return SignPattern(tuple(signs.tolist()))

    def run(self) -> None:
        self._bounds = [self._bounder.bound(signs) for signs in self._nodes]

    def answer(self) -> Answer:
        """Say what share of the way from the cheap bound to the optimum is proved, and what the solver claims."""
        cheap = relaxations.named("active-set").prepare(self._instance)
        floors = np.array([cheap.bound(signs).value for signs in self._nodes])
        optima = np.array([self._optimum(signs) for signs in self._nodes])
        values, estimates = (np.array([getattr(bound, of) for bound in self._bounds]) for of in ("value", "estimate"))
        open_nodes = optima - floors > 1e-9 * optima
        closed = ((values - floors) / (optima - floors))[open_nodes]
        notes = {
            "prepare": self._preparing,
            "per_bound": float(np.mean([bound.seconds for bound in self._bounds])),
            "closed": float(closed.mean()) if closed.size else np.nan,
            "raw above": float(((estimates - optima) / optima).max()),
        }
        status = " and ".join(sorted({bound.status.value for bound in self._bounds}))
        lower_bound = self._bounds[0].value if self.depth == 0 else np.nan
        return Answer(f"bound {status}", lower_bound=lower_bound, nodes=len(self._nodes), notes=notes)

    def _optimum(self, signs: SignPattern) -> float:
        return partls.solve_instance(self._instance, signs=list(signs.values)).objective


@dataclass
class RootBound(Method):
    """One relaxation at the root from the reduced data on: preparing it is timed, too."""

    name = "root_bound"
    exact = signed = False
    penalised = ridged = True

    relaxation: str = "shor"

    def set_up(self, problem: Problem, time_limit: float) -> None:
        options = {"fit_intercept": problem.fit_intercept, "eta": problem.eta, "ridge": problem.ridge}
        self._instance = Instance(problem.X, problem.y, problem.labels, **options)
        _ = self._instance.reduction
        warm_up = Instance(np.eye(4)[:, :3], np.arange(4.0), [0, 0, 1])
        ROOTS[self.relaxation].prepare(warm_up).bound(SignPattern.free(2))  # imports, and machine code from its cache

    def run(self) -> None:
        root = SignPattern.free(self._instance.n_groups)
        self._bound = ROOTS[self.relaxation].prepare(self._instance).bound(root)

    def answer(self) -> Answer:
        bound = self._bound
        return Answer(f"bound {bound.status.value}", lower_bound=bound.value, nodes=1, notes={"raw": bound.estimate})


@dataclass
class BnbWith(Bnb):
    """Branch and bound with a relaxation or a policy."""

    name = "bnb_with"

    relaxation: str = "active-set"

    def options(self) -> dict:
        return super().options() | {"relaxation": SEARCHES[self.relaxation]}

    def answer(self) -> Answer:
        answer = super().answer()
        answer.notes.update({key: count for key, count in self._result.counts.items() if key.startswith("bounds by")})
        return answer
