"""Signs settled by a bound: every pattern left out has no solution below the cutoff, by brute force."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

import partls
from formulations import Instance, SignPattern
from partls import Status
from relaxations import Bound, Bounder, ByDepth, ShorRelaxation, SplitDNNRelaxation
from tests.families import correlated
from tests.oracles import brute_force

LIFTS = {
    "shor": ShorRelaxation(), "shor by cvxpy": ShorRelaxation(solver="cvxpy"), "split-dnn": SplitDNNRelaxation(),
}


@pytest.mark.parametrize("lift", LIFTS.values(), ids=LIFTS)
def test_no_pattern_that_is_left_out_holds_a_solution_below_the_cutoff(lift: ShorRelaxation) -> None:
    settled, rng = 0, np.random.default_rng(0)
    for seed in range(6):
        case = correlated(seed, n_rows=(30, 14)[seed % 2], n_columns=12, n_groups=4, corr=(0.0, 0.9)[seed % 3 > 0])
        objectives = brute_force(case.X, case.y, case.labels).objectives
        optimum = min(objectives.values())
        bounder = lift.prepare(Instance(case.X, case.y, case.labels))
        for cutoff in (optimum * (1 - 1e-9), optimum * 1.02, optimum * 1.3):
            signs = SignPattern(tuple(rng.choice([-1, 0, 0, 0], size=4).tolist()))
            bound = bounder.bound(signs, cutoff=cutoff)
            if bound.settled is None:
                continue
            assert signs.contains(bound.settled)
            settled += len(signs.undecided) - len(bound.settled.undecided)
            for pattern, value in objectives.items():
                inside = SignPattern(pattern)
                if signs.contains(inside) and not bound.settled.contains(inside):
                    assert value >= cutoff * (1 - 1e-12)
    assert settled > 0


def test_a_cutoff_above_the_value_at_zero_settles_nothing() -> None:
    case = correlated(1, n_rows=30, n_columns=12, n_groups=4, corr=0.5)
    bound = ShorRelaxation().prepare(Instance(case.X, case.y, case.labels)).bound(SignPattern.free(4))
    assert bound.settled in (None, SignPattern.free(4))


@dataclass(frozen=True)
class Short:
    """The split DNN bound of the root less what a solver may lack, and what its multipliers say of the signs."""

    lacks: float
    settles: bool
    name: str = "short"

    def prepare(self, instance: Instance) -> Bounder:
        lift, lacks, settles = SplitDNNRelaxation().prepare(instance), self.lacks, self.settles

        class Shortened:
            def bound(self, signs: SignPattern, *, cutoff: float = np.inf) -> Bound:
                bound = lift.bound(signs, cutoff=cutoff * (1 + lacks))
                return replace(bound, value=bound.value * (1 - lacks), settled=bound.settled if settles else None)

        return Shortened()


def test_a_bound_that_meets_the_optimum_but_for_its_solver_finishes_the_tree() -> None:
    """A root bound that is 1e-8 short of the optimum proves nothing by its value, but decides the signs."""
    rng = np.random.default_rng(0)
    X, y, groups = rng.normal(size=(40, 16)), rng.normal(size=40), np.arange(16) // 4
    nodes = {}
    for settles in (False, True):
        policy = ByDepth(Short(1e-8, settles), "active-set", 1)
        result = partls.solve(X, y, groups, relaxation=policy)
        assert result.status is Status.OPTIMAL
        assert result.objective == pytest.approx(brute_force(X, y, groups).objective, rel=1e-12)
        assert result.audit().passed
        nodes[settles] = result.n_nodes
    assert nodes[True] == 1 < nodes[False]
