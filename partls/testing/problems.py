"""Strategies of Hypothesis for problems small enough for the oracle and mean enough to find errors.

A third of the tables are integers, which makes ties and exact dependence likely; the others are real numbers of
moderate size. Then each may be spoiled: duplicate, opposite, zero, constant and dependent columns, rank one, more
columns than rows, y = 0, an exactly reachable y, one group, singletons.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from formulations.instance import Instance
from formulations.signs import SignPattern
from formulations.strengths import INTERCEPT

Floats = NDArray[Any]

MAX_ROWS, MAX_COLUMNS, MAX_GROUPS = 7, 5, 4


@dataclass(frozen=True, eq=False)
class Problem:
    """The arguments of one tiny problem.

    Attributes
    ----------
    X, y
        The data.
    labels
        The group of each column; -1 marks a column without a sign constraint.
    options
        Further arguments of ``Instance`` and of ``brute_force``, such as ``eta`` and ``sample_weight``.

    Examples
    --------
    >>> import numpy as np
    >>> from partls.testing import Problem
    >>> Problem(np.eye(2), np.ones(2), (0, 1), {"eta": 0.5}).options
    {'eta': 0.5}
    """

    X: Floats
    y: Floats
    labels: tuple[int, ...]
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def n_groups(self) -> int:
        """The number of groups."""
        return max(self.labels, default=-1) + 1

    @property
    def weighted_y(self) -> Floats:
        """The target as the objective counts it, which says whether an optimum is small or large."""
        weights = self.options.get("sample_weight")
        return self.y if weights is None else self.y * np.sqrt(weights)

    @property
    def size(self) -> float:
        """The squared norm of the weighted target, which rounding is measured against."""
        return float(np.square(self.weighted_y).sum())

    @property
    def instance(self) -> Instance:
        """The problem as an instance of the toolkit."""
        options = dict(self.options)
        if "eta_intercept" in options:
            own = dict(enumerate(np.broadcast_to(options["eta"], self.n_groups).tolist()))
            options["eta"] = {**own, INTERCEPT: options.pop("eta_intercept")}
        return Instance(self.X, self.y, self.labels, ungrouped="free", **options)

    def __repr__(self) -> str:
        """Spell the problem so that a failure can be pasted into a session."""
        return f"Problem(np.array({self.X.tolist()}), np.array({self.y.tolist()}), {self.labels}, {self.options})"


def integers(shape: int | tuple[int, int]) -> st.SearchStrategy[Floats]:
    """Return small whole numbers: ties and dependence are likely."""
    return arrays(np.int8, shape, elements=st.integers(-3, 3)).map(lambda a: a.astype(float))


def reals(shape: int | tuple[int, int]) -> st.SearchStrategy[Floats]:
    """Return well-scaled numbers with many digits: a seed shrinks better than a table of floats."""
    return st.integers(0, 10**6).map(lambda seed: np.random.default_rng(seed).normal(size=shape).round(6))


def entries(shape: int | tuple[int, int]) -> st.SearchStrategy[Floats]:
    """Return whole numbers or real ones."""
    return st.one_of(integers(shape), reals(shape), reals(shape))


@st.composite
def tables(draw: st.DrawFn, shape: tuple[int, int], *, spoil: bool = True) -> Floats:
    """Return a table, with ``spoil`` often a degenerate one."""
    X = draw(entries(shape))
    kinds = ["nothing", "nothing", "zero", "constant", "rank one"]
    kinds += ["duplicate", "opposite", "multiple", "sum"] if shape[1] > 1 else []
    kind = draw(st.sampled_from(kinds)) if spoil else "nothing"
    j, i = (draw(st.permutations(range(shape[1])))[:2] * 2)[:2]
    match kind:
        case "zero":
            X[:, j] = 0.0
        case "constant":
            X[:, j] = 2.0
        case "rank one":
            X = np.outer(X[:, 0], X[0])
        case "duplicate":
            X[:, j] = X[:, i]
        case "opposite":
            X[:, j] = -X[:, i]
        case "multiple":
            X[:, j] = 3.0 * X[:, i]
        case "sum":
            X[:, j] = X.sum(axis=1) - X[:, j]
    return X


@st.composite
def targets(draw: st.DrawFn, X: Floats) -> Floats:
    """Return a target: any, one that X reaches exactly, or zero."""
    kind = draw(st.sampled_from(["free", "free", "free", "reachable", "zero"]))
    if kind == "zero":
        return np.zeros(len(X))
    return X @ draw(integers(X.shape[1])) + 1.0 if kind == "reachable" else draw(entries(len(X)))


@st.composite
def partitions(draw: st.DrawFn, n_columns: int, *, free: bool = False) -> tuple[int, ...]:
    """Return a strategy of Hypothesis that draws a label for each column.

    Parameters
    ----------
    n_columns : int
        The number of columns.
    free : bool
        Whether some columns may have no group (label -1).

    Returns
    -------
    SearchStrategy
        A strategy that draws labels that use each of 0, ..., K - 1: one group, singletons or anything between.

    Examples
    --------
    >>> from hypothesis import given, settings
    >>> from partls.testing import partitions
    >>> @settings(max_examples=5, database=None)
    ... @given(labels=partitions(4))
    ... def check(labels):
    ...     assert len(labels) == 4
    >>> check()
    """
    kind = draw(st.sampled_from(["any", "any", "any", "one group", "singletons"]))
    if kind == "one group":
        return (0,) * n_columns
    if kind == "singletons" and n_columns <= MAX_GROUPS:
        return tuple(range(n_columns))
    lowest = -1 if free else 0
    drawn = draw(st.lists(st.integers(lowest, MAX_GROUPS - 1), min_size=n_columns, max_size=n_columns))
    order = {label: k for k, label in enumerate(dict.fromkeys(label for label in drawn if label >= 0))}
    return tuple(order.get(label, -1) for label in drawn) if order else (0,) * n_columns


@st.composite
def sign_patterns(draw: st.DrawFn, n_groups: int, *, complete: bool = False) -> SignPattern:
    """Return a strategy of Hypothesis that draws a node of the search: a sign or none for each group.

    Parameters
    ----------
    n_groups : int
        The number of groups.
    complete : bool
        Whether every group has a sign: a leaf.

    Returns
    -------
    SearchStrategy
        A strategy that draws a ``SignPattern``.

    Examples
    --------
    >>> from hypothesis import given, settings
    >>> from partls.testing import sign_patterns
    >>> @settings(max_examples=5, database=None)
    ... @given(node=sign_patterns(3, complete=True))
    ... def check(node):
    ...     assert node.is_complete
    >>> check()
    """
    allowed = st.sampled_from([1, -1] if complete else [0, 1, -1])
    return SignPattern(tuple(draw(st.lists(allowed, min_size=n_groups, max_size=n_groups))))


@st.composite
def penalties(draw: st.DrawFn) -> dict[str, Any]:
    """Return options of the penalty and the intercept; the defaults come first, so failures shrink to them."""
    options: dict[str, Any] = {"eta": draw(st.sampled_from([0.0, 0.0, 0.5, 3.0]))}
    if options["eta"]:
        options["penalty"] = draw(st.sampled_from(["l2", "l1"]))
    options["fit_intercept"] = draw(st.sampled_from([True, False]))
    options["penalize_intercept"] = options["fit_intercept"] and draw(st.booleans())
    return options


@st.composite
def weights(draw: st.DrawFn, n_rows: int) -> Floats | None:
    """Return no weights, or small whole ones of which some may be zero but not all."""
    if draw(st.booleans()):
        return None
    drawn = draw(arrays(np.int8, n_rows, elements=st.integers(0, 3))).astype(float)
    return drawn if drawn.any() else None


@st.composite
def instances(draw: st.DrawFn, *, free: bool = True, spoil: bool = True, plain: bool = False) -> Problem:
    """Return a strategy of Hypothesis that draws tiny problems.

    Parameters
    ----------
    free : bool
        Whether some columns may have no group.
    spoil : bool
        Whether to make columns dependent, zero or equal.
    plain : bool
        Whether to keep the default options: no penalties, no weights.

    Returns
    -------
    SearchStrategy
        A strategy that draws a ``Problem``.

    Examples
    --------
    >>> from hypothesis import given, settings
    >>> from partls.testing import Problem, instances
    >>> @settings(max_examples=5, database=None)
    ... @given(problem=instances())
    ... def check(problem):
    ...     assert isinstance(problem, Problem)
    >>> check()
    """
    n_rows, n_columns = draw(st.integers(1, MAX_ROWS)), draw(st.integers(1, MAX_COLUMNS))
    X = draw(tables((n_rows, n_columns), spoil=spoil))
    labels = draw(partitions(n_columns, free=free))
    options = {} if plain else {**draw(penalties()), "sample_weight": draw(weights(n_rows))}
    return Problem(X, draw(targets(X)), labels, options)


@st.composite
def penalised(draw: st.DrawFn) -> Problem:
    """Return a strategy of Hypothesis that draws tiny problems with ridge and one eta per group, each zero at times.

    Returns
    -------
    SearchStrategy
        A strategy that draws a ``Problem``.

    Examples
    --------
    >>> from hypothesis import given, settings
    >>> from partls.testing import penalised
    >>> @settings(max_examples=5, database=None)
    ... @given(problem=penalised())
    ... def check(problem):
    ...     assert problem.options["ridge"] >= 0
    >>> check()
    """
    case = draw(instances())
    etas = st.sampled_from([0.0, 0.0, 0.5, 3.0])
    options = {name: value for name, value in case.options.items() if name not in ("eta", "penalty")}
    options |= {"penalty": draw(st.sampled_from(["l2", "l1"])), "ridge": draw(st.sampled_from([0.0, 0.25, 2.0]))}
    options["eta"] = [draw(etas) for _ in range(case.n_groups)]
    if options["penalize_intercept"]:
        options["eta_intercept"] = draw(etas)
    return Problem(case.X, case.y, case.labels, options)
