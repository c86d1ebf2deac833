"""The exact optimum of a node by a small depth-first search: the yardstick that bounds are compared with.

The search of the toolkit is a layer above and far faster. This one needs nothing but the cheap bound, serves trees
of some thousand nodes, and gives up on larger ones rather than keep anybody waiting.
"""

from __future__ import annotations

import numpy as np

from formulations.data import Floats
from formulations.errors import InvalidInput
from formulations.instance import Instance
from formulations.signs import SignPattern
from formulations.tolerances import ZERO_COEFFICIENT
from relaxations.active_set import ActiveSetBounder
from relaxations.sign_constrained import solve_signed

_MAX_NODES = 20_000
_CLOSED = 1e-11  # relative: a node that cannot improve the optimum by more is closed


def node_optimum(instance: Instance, signs: SignPattern) -> float:
    """Return the least objective under ``signs``; refuse if that takes more than some thousand nodes."""
    reduction = instance.reduction
    bounder = ActiveSetBounder(reduction)
    zero = ZERO_COEFFICIENT * float(np.linalg.norm(reduction.z))
    best = float((reduction.z @ reduction.z + reduction.rest) * reduction.scale)  # all coefficients zero
    stack = [signs]
    for _ in range(_MAX_NODES):
        if not stack:
            return best
        node = stack.pop()
        bound = bounder.bound(node, cutoff=best * (1 - _CLOSED))
        if bound.coef is None or bound.value >= best * (1 - _CLOSED):
            continue
        sides = [_sides(bound.coef[reduction.labels == k]) for k in range(reduction.n_groups)]
        mixed = [k for k in node.undecided if min(sides[k]) > zero]
        if not mixed:  # the relaxed point is feasible, up to the kernel's digits: a factorisation gives all of them
            taken = (s or (1 if plus >= minus else -1) for s, (plus, minus) in zip(node, sides, strict=True))
            v = solve_signed(reduction, reduction.column_signs(SignPattern(tuple(taken))), bound.coef)
            best = min(best, reduction.objective(v))
            continue
        k = max(mixed, key=lambda group: min(sides[group]))
        first = 1 if sides[k][0] >= sides[k][1] else -1
        stack += [node.fix(k, -first), node.fix(k, first)]
    raise InvalidInput(
        f"optimum: not found within {_MAX_NODES} nodes; pass optimum=partls.solve_instance(instance).objective, "
        "or a function from signs to optimum when comparing at depth"
    )


def _sides(v: Floats) -> tuple[float, float]:
    """Return the sums of the positive and of the negative coefficients."""
    return float(v[v > 0].sum()), float(-v[v < 0].sum())
