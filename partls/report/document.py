"""The figures of the page as plain data: groups, features, a sample of rows, the search, the settings."""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.data import Floats
from formulations.strengths import INTERCEPT
from partls.explain import contributions, price_of_constraint, sign_certainty
from partls.explain.contributions import UNGROUPED
from partls.explain.price import PriceOfConstraint
from partls.explain.sign_certainty import SignCertainty
from partls.explain.summary import r_squared, variance_shares
from partls.report.proof import proof
from partls.report.subject import Subject
from partls.result import Result, Status
from partls.search.trace import OPEN, trace_search
from partls.solve import solve_instance
from relaxations.clock import OutOfTime, until

# What keeps a page below 1.5 MB, however large the data.
MAX_GROUPS, MAX_FEATURES, MAX_MOVED, MAX_ROWS, MAX_CELLS, MAX_STATES, MAX_NAME = 200, 1500, 200, 1000, 36_000, 500, 100
MAX_TIES = 50
MAX_REPLAY = 4_000  # nodes times columns: a second or two
_PROVED = (Status.OPTIMAL, Status.GAP_REACHED, Status.PRECISION_LIMIT)
_CLOSED = {
    "prunes": "closed: their lower bound shows that nothing in them is better",
    "tight": "closed: their relaxation found a model that keeps the signs",
    "leaves": "single sign patterns, solved",
}
Units = tuple[Floats, Floats]  # what was taken from each column, and what it was divided by
State = tuple[int, float, float, float]  # nodes, seconds, best objective, lower bound
_LIBRARIES = ("partls", "numpy", "scipy", "numba", "scikit-learn")


@dataclass(frozen=True)
class Shown:
    """What of a model is on the page: groups by their part in the variance, features by their influence, rows drawn.

    ``moved`` counts the first features, whose values are embedded row by row so that they can be moved.
    """

    groups: NDArray[np.intp]
    features: NDArray[np.intp]
    moved: int
    rows: NDArray[np.intp]
    shares: Floats

    @classmethod
    def of(cls, result: Result) -> Shown:
        """Choose: everything that fits, else what matters most; the rows are a random sample, the same each time."""
        instance, shares = result.instance, variance_shares(result)
        has_free = len(instance.partition.free) > 0  # columns without a group come last, as one more
        order = np.argsort(-np.abs(shares[: instance.n_groups + has_free]), kind="stable")[:MAX_GROUPS]
        influence = np.abs(result.coef) * instance.X.std(axis=0)
        listed = np.isin(np.where(instance.partition.labels < 0, instance.n_groups, instance.partition.labels), order)
        features = np.lexsort((np.arange(len(influence)), -influence, ~listed))[: min(MAX_FEATURES, listed.sum())]
        moved = min(len(features), MAX_MOVED)
        n_rows = min(MAX_ROWS, MAX_CELLS // (moved + len(order) + 3))
        rows = np.arange(instance.n_rows)
        if instance.n_rows > n_rows:
            rows = np.sort(np.random.default_rng(0).choice(instance.n_rows, n_rows, replace=False))
        return cls(order, features, moved, rows, shares)


def document(
    subject: Subject, *, title: str, target: str, within: float, time_limit: float, units: Units | None = None
) -> dict[str, Any]:
    """Return everything the page shows; numbers that are not finite become None."""
    result = subject.result
    own = units or (np.zeros(result.instance.n_columns), np.ones(result.instance.n_columns))
    end = time.perf_counter() + time_limit
    certainty = _sign_certainty(subject, within, time_limit)
    price = _price(subject, certainty, end)
    shown = Shown.of(result)
    plain: dict[str, Any] = _plain({
        "title": _short(title),
        "target": _short(target),
        "proof": proof(result, subject.signs),
        "fit": _fit(result),
        "groups": _groups(result, shown, certainty, price),
        "features": _features(result, shown, own),
        "moved": shown.moved,
        "standardised": units is not None,
        "certainty": _certainty(certainty, shown),
        "price": None if price is None else {"price": price.price, "unconstrained": price.unconstrained},
        "rows": _rows(result, shown, own),
        "residuals": _histogram(result.instance.residual(result.coef, result.intercept)),
        "search": _search(subject, end),
        "settings": _settings(subject, shown),
        "versions": [[name, version(name)] for name in _LIBRARIES] + [["Python", platform.python_version()]],
    })
    return plain


def _fit(result: Result) -> dict[str, Any]:
    instance = result.instance
    residual = instance.residual(result.coef, result.intercept)
    weights = instance.weights
    return {
        "r_squared": r_squared(result), "rmse": np.sqrt(weights @ np.square(residual) / weights.sum()),
        "largest": np.abs(residual).max(), "n_rows": instance.n_rows, "n_columns": instance.n_columns,
        "n_groups": instance.n_groups, "n_free": len(instance.partition.free), "objective": result.objective,
        "lower_bound": result.lower_bound, "gap": result.gap, "intercept": result.intercept,
        "nonzero": np.count_nonzero(result.coef), "nodes": result.n_nodes, "starts": result.counts.get("starts", 0),
        "seconds": result.seconds,
    }


def _sign_certainty(subject: Subject, within: float, time_limit: float) -> SignCertainty | None:
    """Return the certainty of the signs, unless not even searches that are stopped at once could be done in time."""
    result, began = subject.result, time.perf_counter()
    if time_limit > 0:
        solve_instance(result.instance, warm_start=result, signs=subject.signs, time_limit=0.0)
    at_least = 2 * result.instance.n_groups * (time.perf_counter() - began)  # flips, then near ties
    if at_least >= time_limit:
        return None
    return sign_certainty(
        result, within=within, max_patterns=MAX_TIES, signs=subject.signs, time_limit=time_limit, n_jobs=subject.n_jobs
    )


def _price(subject: Subject, certainty: SignCertainty | None, end: float) -> PriceOfConstraint | None:
    """Return the price where it and the certainty of every sign, which takes the same searches, are settled in time."""
    exact = certainty is not None and all(row.exact for row in certainty.rows)
    settled = exact and subject.result.status in _PROVED
    try:
        left = max(end - time.perf_counter(), 0.0)
        return price_of_constraint(subject.result, time_limit=left, n_jobs=subject.n_jobs) if settled else None
    except TimeoutError:
        return None


def _groups(
    result: Result, shown: Shown, certainty: SignCertainty | None, price: PriceOfConstraint | None
) -> list[Any]:
    partition = result.instance.partition
    groups = []
    for k in shown.groups:
        members = partition.members(int(k)) if k < partition.n_groups else partition.free
        group = {
            "name": UNGROUPED, "sign": None, "beta": None, "share": shown.shares[k], "size": len(members),
            "flip": None, "either": False,
        }
        if k < partition.n_groups:
            group |= {"name": _short(partition.names[k]), "sign": result.signs[k], "beta": result.beta[k]}
            group["either"] = partition.names[k] in result.ambiguities.either_sign
        if k < partition.n_groups and certainty is not None:
            flip = certainty.rows[k]
            group["flip"] = {"increase": flip.increase, "beta": flip.flipped_beta, "exact": flip.exact}
            group["either"] |= bool(flip.sign and flip.increase == 0)
        if k < partition.n_groups and price is not None:
            freed = price.rows[k]
            group |= {
                "gain": freed.gain_share, "n_against": len(freed.against),
                "against": [[_short(name), coef] for name, coef in freed.against[:4]],
            }
        groups.append(group)
    return groups


def _features(result: Result, shown: Shown, units: Units) -> list[Any]:
    instance, partition = result.instance, result.instance.partition
    names = partition.columns or tuple(f"x{j}" for j in range(partition.n_columns))
    place = {int(k): i for i, k in enumerate(shown.groups)}
    centre, scale = (part[shown.features] for part in units)
    columns = centre + scale * instance.X[:, shown.features]
    slopes = result.coef[shown.features] / scale
    return [
        {
            "name": _short(names[j]), "group": place[partition.labels[j] if partition.labels[j] >= 0
                                                     else partition.n_groups],
            "alpha": result.alpha[j], "coef": result.coef[j], "slope": slope, "low": low, "high": high,
        }
        for j, slope, low, high in zip(shown.features, slopes, columns.min(axis=0), columns.max(axis=0), strict=True)
    ]


def _rows(result: Result, shown: Shown, units: Units) -> dict[str, Any]:
    """Return the sampled rows and, before them, the average of all: values, group contributions, prediction."""
    instance = result.instance
    mean, size = instance.X.mean(axis=0), np.abs(instance.X).max(axis=0)
    mean[np.abs(mean) <= 1e-12 * size] = 0.0  # centred columns, but for rounding
    X = np.vstack([mean, instance.X[shown.rows]])
    parts = contributions(X, result.coef, result.intercept, instance.partition)
    movable = shown.features[: shown.moved]
    centre, scale = (part[movable] for part in units)
    return {
        "number": [0, *(shown.rows + 1).tolist()],
        "actual": [instance.y.mean(), *instance.y[shown.rows].tolist()],
        "predicted": parts.predictions.tolist(),
        "parts": parts.values[:, shown.groups].tolist(),
        "x": (centre + scale * X[:, movable]).tolist(),
    }


def _certainty(certainty: SignCertainty | None, shown: Shown) -> dict[str, Any] | None:
    if certainty is None:
        return None
    kept = [k for k in shown.groups if k < len(certainty.rows)]
    ties = [{"increase": tie.increase, "signs": [tie.signs[k] for k in kept]} for tie in certainty.near_ties]
    return {"within": certainty.within, "complete": certainty.complete, "ties": ties}


def _histogram(residual: Floats) -> dict[str, Any]:
    """Return the distribution of all residuals, not only of the rows shown."""
    bins = int(np.clip(np.sqrt(len(residual)), 5, 40))
    largest = float(np.abs(residual).max()) or 1.0
    counts, edges = np.histogram(residual, bins=bins | 1, range=(-largest, largest))  # one bin in the middle
    return {"counts": counts.tolist(), "edges": edges.tolist()}


def _search(subject: Subject, end: float) -> dict[str, Any]:
    """Return the course of the search, thinned to what a chart can show, and how the nodes were closed."""
    result = subject.result
    states = [(state.nodes, state.seconds, state.objective, state.lower_bound) for state in subject.history]
    replayed = 0
    rounding = result.rounded.error
    if not _moves(states, rounding) and result.method == "bnb":
        with suppress(OutOfTime), until(end):
            states, replayed = _replay(subject)
    if len(states) > MAX_STATES:
        states = [states[i] for i in np.linspace(0, len(states) - 1, MAX_STATES).round().astype(int)]
    by_bound = [[name, n] for name, n in result.counts.items() if name.startswith(("bounds by", "closed by"))]
    counts = by_bound if len(by_bound) > 1 else []
    closing = _closing(result)
    return {"states": states if _moves(states, rounding) else [], "replayed": replayed, "counts": counts,
            "closing": closing}


def _closing(result: Result) -> list[list[Any]]:
    """Return how many nodes came to which end, and their number: each split has two halves."""
    ended: list[list[Any]] = [[words, result.counts.get(name, 0)] for name, words in _CLOSED.items()]
    n_closed = sum(n for _, n in ended)
    if not n_closed:
        return []
    n_trees = max(len(result.presolve.parts), 1) if result.presolve else 1
    n_split = max(result.n_nodes - n_closed, n_closed - n_trees if result.method == "bnb" else 0)
    told = [row for row in [["split into two halves", n_split], *ended] if row[1]]
    return [*told, ["in all", n_split + n_closed]]


def _replay(subject: Subject) -> tuple[list[State], int]:
    """Tell a search that was over in one round again, node by node: its first nodes, then where it really ended."""
    result = subject.result
    limit = min(MAX_REPLAY // result.instance.n_columns, MAX_STATES - 1)
    if limit < 10:
        return [], 0
    nodes = trace_search(result.instance, signs=subject.signs, best_first=True, node_limit=limit)
    seen = [node for node in nodes if node.outcome != OPEN]
    states = [(i + 1, node.seconds, node.objective, node.lower_bound) for i, node in enumerate(seen)]
    if len(seen) < len(nodes):
        states.append((max(result.n_nodes, len(seen) + 1), result.seconds, result.objective, result.lower_bound))
    return states, len(seen)


def _moves(states: list[State], rounding: float) -> bool:
    """Return whether best objective or bound change by more than rounding from state to state."""
    values = [value for state in states for value in state[2:]]
    return len(states) > 1 and bool(max(values) - min(values) > max(1e-6 * max(values), rounding))


def _settings(subject: Subject, shown: Shown) -> list[list[str]]:
    """Return the options of the fit; where eta differs by group, that of each group shown follows it."""
    instance = subject.result.instance
    rows = []
    for name, value in subject.settings.items():
        rows.append([name, _setting(value)])
        if name == "eta" and not isinstance(instance.eta, float):
            groups = [k for k in sorted(shown.groups.tolist()) if k < instance.n_groups]
            etas = [(instance.partition.names[k], instance.strengths.groups[k]) for k in groups]
            etas += [(INTERCEPT, instance.strengths.intercept)] if instance.strengths.intercept > 0 else []
            rows += [[f"eta of {_short(group)}", f"{eta:g}"] for group, eta in etas]
    return rows


def _setting(value: Any) -> str:
    return _short(value if isinstance(value, str) else "none" if value is None else repr(value))


def _short(name: str) -> str:
    """Return a name that a page can hold: no half characters, and not the longest ones in full."""
    whole = name.encode("utf-8", "replace").decode("utf-8")
    return whole if len(whole) <= MAX_NAME else whole[: MAX_NAME - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _plain(value: Any) -> Any:
    """Return nested data as JSON can write it."""
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not isfinite(value) else value
