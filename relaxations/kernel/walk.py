"""The compiled depth-first search over sign patterns: trials on pending pivots, prunes by safe bounds, no Python."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .compilation import compiled, integer, integers, matrix, named_tuple_of, real, signs_t, signs_table, vector
from .node import (
    DOUBTFUL,
    LEAVES,
    NODES,
    PRUNES,
    TIE,
    UNSOLVED,
    Workspace,
    at_t,
    begin,
    close_leaf,
    copy_signs,
    drop_all_pairs,
    load_pending,
    settle,
    sharpen,
    try_child,
    workspace_t,
)
from .pivoting import PRUNED, SOLVED, UNFINISHED, solve_node
from .safe_bound import disjunction
from .tableau import DIAGONAL, PAIRED, PASSIVE, POINT, KernelProblem, problem_t

MAX_VIOLATION, BOUND_SCORE = 0, 1  # how branching candidates are ranked
CLOSED, FIXED, DESCENDED, BROKEN = 0, 1, 2, 3  # what came of branching


class Rules(NamedTuple):
    """How to branch and when to prune: cutoff = upper - max(relative * upper, rounding * sqrt(upper), zero)."""

    ranking: int
    n_candidates: int
    relative: float
    rounding: float
    zero: float


rules_t = named_tuple_of([integer, integer, real, real, real], Rules)


@compiled(real, problem_t, matrix, integer)
def pair_product(problem: KernelProblem, S: Any, k: int) -> float:
    """Return w'N w of group k: by how much its multipliers keep the bound below the error of S's point."""
    total = 0.0
    first, last = problem.start[k], problem.start[k + 1]
    if problem.pairs.used and S[PAIRED, first] > 0.0:
        for a in range(first, last):
            for b in range(first, last):
                total += problem.pairs.N[a, b - first] * S[POINT, a] * S[PASSIVE, a] * S[POINT, b] * S[PASSIVE, b]
    return total


@compiled(integer, *at_t, integer, integer)
def rank_candidates(problem: KernelProblem, ws: Workspace, level: int, ranking: int, n_wanted: int) -> int:
    """Sort the violated undecided groups, most promising first; return how many there are."""
    S = ws.S[level]
    n = 0
    for k in range(ws.signs.shape[1]):
        if ws.signs[level, k] != 0:
            continue
        plus, minus, rise_plus, rise_minus = 0.0, 0.0, 0.0, 0.0
        for a in range(problem.start[k], problem.start[k + 1]):
            w = S[POINT, a] * S[PASSIVE, a]
            rise = -w * w / S[DIAGONAL, a]  # what forcing this coefficient alone to zero would cost
            if w > problem.tolerance:
                plus += w
                rise_plus = max(rise_plus, rise)
            elif w < -problem.tolerance:
                minus -= w
                rise_minus = max(rise_minus, rise)
        held = pair_product(problem, S, k)
        if (plus > 0.0 and minus > 0.0) or held > problem.slack:
            ws.candidates[n] = k
            # nu_k, the sum over pairs of max(0, -w_i w_j), is twice plus * minus
            score = plus * minus if ranking == MAX_VIOLATION else min(rise_plus, rise_minus) * (1.0 + 1e-9 * k)
            ws.score[k] = score + 1e-9 * max(held, 0.0)
            n += 1
    for first in range(min(n_wanted, n)):
        top = first
        for other in range(first + 1, n):
            if ws.score[ws.candidates[other]] > ws.score[ws.candidates[top]] * (1.0 + TIE):
                top = other
        ws.candidates[first], ws.candidates[top] = ws.candidates[top], ws.candidates[first]
    return n


@compiled(real, vector, rules_t)
def cutoff_of(bounds: Any, rules: Rules) -> float:
    """Return the value from which a node cannot improve on the incumbent by more than the tolerances."""
    upper = max(bounds[0], 0.0)
    return bounds[0] - max(max(rules.relative * upper, rules.rounding * np.sqrt(upper)), rules.zero)


@compiled(integer, problem_t, rules_t, workspace_t, integer, integer, real, vector, integers, glue=True)
def branch(problem: KernelProblem, rules: Rules, ws: Workspace, level: int, n: int, only: float, bounds: Any,
           counts: Any) -> int:
    """Try the signs of the best-ranked groups; return DESCENDED, FIXED (a sign, in place), CLOSED or BROKEN.

    A side that cannot improve fixes the other sign without branching. ``only`` (+1 or -1, else 0) is the one
    sign left to try of a group whose other sign has been explored.
    """
    cutoff = cutoff_of(bounds, rules)
    scratch, side, top = 0, 1, 2  # slots, which trade places so that no trial is run twice
    top_score, top_group, top_sign, top_n, top_value, top_other, top_unfinished = -1.0, -1, 0.0, 0, 0.0, 0.0, False
    for slot in range(3):
        load_pending(ws, level, slot)
    for c in range(min(rules.n_candidates, n)):
        k = ws.candidates[c]
        alive, sign, low, high, low_n, low_unfinished, low_value = 0, 0.0, 0.0, 0.0, 0, False, 0.0
        for s in (1.0, -1.0):
            if s == -only:
                continue
            status, pending, value = try_child(problem, ws, level, k, s, cutoff, scratch, counts)
            if status == PRUNED:
                counts[PRUNES] += 1
                bounds[1] = min(bounds[1], value)
                continue
            alive += 1
            total = value + disjunction(problem, ws.trial[scratch])
            high = total if alive == 1 or total > low else low
            if alive == 1 or total < low * (1.0 - TIE):
                low, low_value, low_n, low_unfinished, sign = total, value, pending, status == UNFINISHED, s
                scratch, side = side, scratch
        if alive == 0:
            return CLOSED
        if alive == 1:
            settle(ws, level, level, side, low_n, low_value, low_unfinished, counts)
            ws.signs[level, k] = np.int8(sign)
            return FIXED
        score = 5.0 * (low - ws.value[level]) + (high - ws.value[level])
        if score > top_score * (1.0 + TIE):
            top_score, top_group, top_sign, top_n, top_value = score, k, sign, low_n, low_value
            top_other, top_unfinished = high, low_unfinished
            side, top = top, side
    if top_group < 0:  # no candidate has a value: the tableau has broken down
        return BROKEN
    settle(ws, level, level + 1, top, top_n, top_value, top_unfinished, counts)
    ws.n_rows[level + 1] = ws.n_rows[level]
    copy_signs(ws.signs[level], ws.signs[level + 1])
    ws.signs[level + 1, top_group] = np.int8(top_sign)
    ws.later_group[level], ws.later_sign[level], ws.later_value[level] = top_group, np.int8(-top_sign), top_other
    ws.later_group[level + 1] = -1
    return DESCENDED


@compiled(integer, problem_t, rules_t, workspace_t, signs_t, vector, vector, integer, integers, signs_table, vector,
          entry=True)
def walk(problem: KernelProblem, rules: Rules, ws: Workspace, signs: Any, best: Any, bounds: Any, budget: int,
         counts: Any, open_signs: Any, open_values: Any) -> int:
    """Explore the subtree of ``signs`` depth-first; return how many open subtrees are left in ``open_signs``.

    ``bounds`` is (best objective, lowest safe bound of what was closed); ``best`` its coefficients.
    Boxes that could not be closed by a safe bound are returned as open with ``open_values`` NaN: the caller
    settles them by orthogonal factorisation.
    """
    n_open = 0
    begin(ws, signs, counts)
    level, closed = 0, False
    first = counts[NODES]
    room = open_signs.shape[0] - ws.signs.shape[0] - 2
    while level >= 0 and n_open <= room:
        if ws.n_pending[level] == UNSOLVED:
            status, ws.value[level], _ = solve_node(
                problem, ws.signs[level], cutoff_of(bounds, rules), ws.T[level], ws.T_passive[level], ws.U[0], ws.C[0],
                ws.S[level], ws.scratch,
            )
            ws.base[level] = level
            if status == SOLVED and problem.pairs.used:
                status, ws.value[level] = drop_all_pairs(
                    problem, ws, level, cutoff_of(bounds, rules), ws.value[level]
                )
            ws.base[level], ws.n_pending[level], closed = level, 0, status == PRUNED
            if closed:
                bounds[1] = min(bounds[1], ws.value[level])
                counts[PRUNES] += 1
        if problem.pairs.used and not closed:
            closed = sharpen(problem, ws, level, cutoff_of(bounds, rules), counts) == PRUNED
            if closed:
                bounds[1] = min(bounds[1], ws.value[level])
                counts[PRUNES] += 1
        only = 0.0
        if closed:  # up to the deepest level whose other sign is still open
            if ws.later_group[level] < 0:
                level -= 1
                continue
            ws.candidates[0], only, n = ws.later_group[level], float(ws.later_sign[level]), 1
            ws.later_group[level] = -1
            counts[NODES] += 1
        else:
            if counts[NODES] - first >= budget or problem.stop[0] != 0:
                break
            n = rank_candidates(problem, ws, level, rules.ranking, rules.n_candidates)
        if n > 0:
            outcome = branch(problem, rules, ws, level, n, only, bounds, counts)
            closed = outcome == CLOSED
            if outcome == DESCENDED:
                level += 1
                counts[NODES] += 1
            if outcome != BROKEN:
                continue
        safe = -np.inf
        if n == 0:
            safe = close_leaf(problem, ws, level, best, bounds)
            counts[LEAVES] += 1
        closed = True
        if safe >= cutoff_of(bounds, rules):
            bounds[1] = min(bounds[1], safe)
        else:
            copy_signs(ws.signs[level], open_signs[n_open])
            open_values[n_open] = np.nan
            n_open += 1
            counts[DOUBTFUL] += 1
    for upper in range(level + 1):
        if ws.later_group[upper] >= 0:
            copy_signs(ws.signs[upper], open_signs[n_open])
            open_signs[n_open, ws.later_group[upper]] = ws.later_sign[upper]
            open_values[n_open] = ws.later_value[upper]
            n_open += 1
    if level >= 0 and not closed:
        copy_signs(ws.signs[level], open_signs[n_open])
        open_values[n_open] = ws.value[level] + disjunction(problem, ws.S[level])
        n_open += 1
    return n_open
