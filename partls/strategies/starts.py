"""Where the alternation starts: points that share signs, drawn for a number of the start and a seed."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import qr, solve_triangular

from formulations.data import Floats
from formulations.errors import InvalidInput
from formulations.rows.reduction import Reduction
from formulations.signs import SignPattern
from formulations.tolerances import REPEATED
from partls.explore.subtree import round_to_signs
from partls.runtime.options import chosen
from relaxations.protocol import Bounder, ask

KINDS = ("least-squares", "relaxation", "random")
MIXED = "mixed"
_NOISE = 0.3  # of the target's norm: draws anew the signs that the data leave open, and few others
_DECIDED = 0.25  # share of the groups whose signs are drawn before a relaxation is solved


@dataclass(frozen=True, eq=False)
class Start:
    """A point v that shares signs, and the strategy that proposed it."""

    strategy: str
    v: Floats


def kinds_of_start(starts: Any) -> tuple[str, ...]:
    """Return the kinds of start to take in turn: a name, "mixed" for all of them, or a list of names."""
    if isinstance(starts, (list, tuple)) and starts:
        return tuple(chosen("starts", name, KINDS) for name in starts)
    if not isinstance(starts, str):
        raise InvalidInput(f"starts={starts!r} must be one of {[MIXED, *KINDS]} or a list of such names")
    return KINDS if starts == MIXED else (chosen("starts", starts, [MIXED, *KINDS]),)


class Starts:
    """Makes start number i from its own seed, independent of other starts and of the order of calls.

    "random" is that of Esposito, Cerrato and Locatelli (2024), Algorithm 1: alpha uniform (for columns of equal norm),
    beta normal. "least-squares" gives each group the sign of its sum of unconstrained coefficients; after the first,
    of a target to which noise is added.
    "relaxation" rounds the relaxed solution; after the first, of a node in which some signs, drawn at random, are
    decided.
    """

    def __init__(self, reduction: Reduction, root: SignPattern, names: tuple[str, ...], bounder: Bounder,
                 seed: np.random.SeedSequence, first: SignPattern | None = None) -> None:
        self._reduction, self._root, self._bounder, self._first = reduction, root, bounder, first
        self._names, self._seed = names, seed
        Q, self._triangle, self._pivots = qr(reduction.R, mode="economic", pivoting=True)
        self._rank = int((np.abs(np.diag(self._triangle)) > REPEATED).sum())
        self._basis = Q.T[: self._rank]
        self._one_at_a_time = threading.Lock()  # a bounder is not to be shared between threads

    def make(self, i: int) -> Start:
        """Return start number i; the first one is the warm start, if there is any."""
        # The i-th child that ``seed.spawn`` would make, without making the others.
        rng = np.random.default_rng(np.random.SeedSequence(self._seed.entropy, spawn_key=(*self._seed.spawn_key, i)))
        if i == 0 and self._first is not None:
            return self._rounded("warm start", self._least_squares(), self._first)
        strategy, first_of_its_kind = self._names[i % len(self._names)], i < len(self._names)
        if strategy == "random":
            return self._random(rng)
        if strategy == "relaxation":
            return self._relaxed(rng, first_of_its_kind)
        return self._rounded(strategy, self._least_squares(None if first_of_its_kind else rng), self._root)

    def _random(self, rng: np.random.Generator) -> Start:
        reduction = self._reduction
        alpha, beta = rng.uniform(size=reduction.n_columns), rng.standard_normal(reduction.n_groups)
        fixed = np.array(self._root.values)
        beta = np.where(fixed == 0, beta, fixed * np.abs(beta))
        return Start("random", np.asarray(alpha * beta[reduction.labels]))

    def _relaxed(self, rng: np.random.Generator, at_the_root: bool) -> Start:
        drawn = rng.choice([-1, 1], size=len(self._root))
        decided = rng.uniform(size=len(self._root)) < (0.0 if at_the_root else _DECIDED)
        fixed = np.array(self._root.values)
        node = SignPattern(tuple(np.where(fixed != 0, fixed, np.where(decided, drawn, 0)).tolist()))
        with self._one_at_a_time:
            v = ask(self._bounder, node).coef
        if v is None or np.shape(v) != self._reduction.labels.shape or not np.isfinite(v).all():
            v = self._least_squares()
        return self._rounded("relaxation", v, node)

    def _least_squares(self, rng: np.random.Generator | None = None) -> Floats:
        """Return unconstrained coefficients, with ``rng`` those of a noisy target; dependent columns stay at zero."""
        z, rank = self._reduction.z, self._rank
        if rng is not None:
            z = z + _NOISE * np.linalg.norm(z) / np.sqrt(len(z)) * rng.standard_normal(len(z))
        v = np.zeros(self._reduction.n_columns)
        v[self._pivots[:rank]] = solve_triangular(self._triangle[:rank, :rank], self._basis @ z, check_finite=False)
        return v

    def _rounded(self, strategy: str, v: Floats, node: SignPattern) -> Start:
        """Return v with one sign per group: the other sign's coefficients at zero, or turned if there are no others."""
        labels, n_groups = self._reduction.labels, self._reduction.n_groups
        signs = self._reduction.column_signs(round_to_signs(v, labels, node))
        right = np.maximum(v * signs, 0.0)
        none_right = np.bincount(labels, right, n_groups)[labels] == 0
        return Start(strategy, np.where(none_right, np.abs(v), right) * signs)
