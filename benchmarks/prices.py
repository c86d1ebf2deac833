"""The prices by which policies weigh bounds: seconds of preparation and per bound, measured on this machine.

``python -m benchmarks.prices write`` measures every member of the toolkit at each number of columns and writes the
table that the policies read, ``relaxations/policies/measured_prices.py``. ``... check`` measures again on other
problems, at other numbers of columns, too, and lists each price that is more than a factor of 3 away.

Processor time of one thread. What would take longer than ``--limit`` seconds is not measured, but extrapolated
with the fourth power of the number of columns.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import relaxations
from formulations import Instance, SignPattern
from partls.explore.branching import branching_rule
from partls.explore.explorers import SearchProblem
from partls.explore.subtree import Incumbent, Subtree, Tolerances
from relaxations import ActiveSetRelaxation, PerspectiveRelaxation, Price, Relaxation, ShorRelaxation
from relaxations.policies.prices import own_price, price_of

TABLE = Path(relaxations.__file__).parent / "policies" / "measured_prices.py"
COLUMNS = (20, 40, 80, 160)
CHECKED = (20, 30, 60, 120, 160)
FACTOR = 3.0
_GROUPS, _CORRELATIONS, _ETAS = (3, 5, 8), (0.0, 0.5, 0.9), (1.0, 1.0, 0.0)  # by seed; columns in a group
_SEEDS, _CHECKING = (0, 1, 2, 6, 7, 8), (3, 4, 5, 9, 10, 11)  # of the table, and others
_GROWTH, _LONG = 16.0, 5.0  # from one number of columns to the next; seconds from which one problem has to do
_NODES, _SEARCHED, _SEARCHES = 3, 500, 5  # nodes bounded; nodes of a compiled search, and searches


def members() -> dict[str, Relaxation]:
    """Return what is priced: every member, and those whose other options have a price of their own."""
    return {name: relaxations.named(name) for name in relaxations.MEMBERS} | {
        "perspective bj": PerspectiveRelaxation(D="bj"), "shor by cvxpy": ShorRelaxation(solver="cvxpy")
    }


def problem(columns: int, seed: int) -> Instance:
    """Return an instance without a model behind it; the seed decides groups, correlation and the L2 penalty."""
    rng, corr = np.random.default_rng([seed, columns]), _CORRELATIONS[seed % 3]
    X = np.sqrt(1 - corr) * rng.normal(size=(2 * columns, columns)) + np.sqrt(corr) * rng.normal(size=(2 * columns, 1))
    labels = np.arange(columns) // _GROUPS[seed % 3]
    instance = Instance(X, rng.normal(size=2 * columns), labels, eta=_ETAS[seed % 3])
    _ = instance.reduction  # every search computes it, whatever the relaxation
    return instance


def measured(relaxation: Relaxation, instance: Instance) -> Price:
    """Return the processor seconds of a preparation and of one bound, the median over nodes below the root.

    Of a compiled search they are the preparation and a node of the search.
    """
    bounders: list[Any] = []
    prepare = _seconds(lambda: bounders.append(relaxation.prepare(instance)))
    if isinstance(relaxation, ActiveSetRelaxation):
        return Price(prepare, _compiled_node(relaxation, instance))
    signs = [SignPattern.free(instance.n_groups)]
    for k in range(_NODES - 1):
        signs.append(signs[-1].fix(k, 1))
    first, *others = (_seconds(lambda at=at: bounders[0].bound(at)) for at in signs)
    bound = float(np.median(others))
    return Price(prepare + max(first - bound, 0.0), bound)  # the first bound compiles the problem


def _compiled_node(relaxation: Relaxation, instance: Instance) -> float:
    """Return the seconds of a node of the compiled search, which begins at zero coefficients."""
    reduction = instance.reduction
    size = float(reduction.z @ reduction.z) + reduction.rest
    rule, zero = branching_rule("strong"), Incumbent(size, np.zeros(reduction.n_columns))
    task = SearchProblem(instance, relaxation, rule, Tolerances(1e-10, size), size)
    explorer, root = task.explorers().main, Subtree(SignPattern.free(instance.n_groups))
    explorer.explore(root, zero, 1, np.zeros(1, np.uint8))
    began = time.process_time()
    nodes = [explorer.explore(root, zero, _SEARCHED, np.zeros(1, np.uint8)).counts["nodes"] for _ in range(_SEARCHES)]
    return (time.process_time() - began) / sum(nodes)


def _seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return max(time.process_time() - began, 1e-6)


def table(limit: float) -> dict[str, tuple[tuple[float, ...], tuple[float, ...]]]:
    """Measure what states no price itself at each number of columns: the mean of some problems, or one that is long."""
    found = {}
    for name, relaxation in members().items():
        if own_price(relaxation, problem(COLUMNS[0], 0)) is not None:
            continue
        prices: list[Price] = []
        for columns in COLUMNS:
            last = prices[-1] if prices else Price(0.0, 0.0)
            expected = Price(_GROWTH * last.prepare, _GROWTH * last.bound)
            if expected.of(_NODES) > limit:
                prices.append(expected)
                print(f"{name}, {columns} columns: {prices[-1]}, extrapolated", flush=True)
                continue
            seeds = _SEEDS if expected.of(_NODES) < _LONG else (1,)
            runs = [measured(relaxation, problem(columns, seed)) for seed in seeds]
            prices.append(Price(
                float(np.mean([run.prepare for run in runs])), float(np.mean([run.bound for run in runs]))
            ))
            print(f"{name}, {columns} columns: {prices[-1]}", flush=True)
        found[getattr(relaxation, "priced_as", relaxation.name)] = (
            tuple(price.prepare for price in prices), tuple(price.bound for price in prices)
        )
    return found


def check(limit: float) -> list[str]:
    """Return one line for each price that other problems contradict by more than the factor."""
    lines = []
    for name, relaxation in members().items():
        for columns in CHECKED:
            whole = price_of(relaxation, problem(columns, _CHECKING[0])).of(_NODES)
            if whole > limit:
                print(f"{name}, {columns} columns: {whole:.0f} s expected, not measured")
                continue
            ratios = []
            for seed in _CHECKING if whole < _LONG else _CHECKING[1:2]:
                instance = problem(columns, seed)
                expected, found = price_of(relaxation, instance), measured(relaxation, instance)
                ratios.append((found.bound / expected.bound, found.of(1) / expected.of(1)))
            for part, ratio in zip(("bound", "in all"), np.mean(ratios, axis=0), strict=True):
                told = f"{name}, {columns} columns, {part}: {ratio:.2f} times its price"
                print(told, flush=True)
                lines += [] if 1 / FACTOR <= ratio <= FACTOR else [told]
    return lines


def main(arguments: list[str] | None = None) -> int:
    """Write the table, or check it and return 1 if a price is wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.prices", description=__doc__.splitlines()[0])
    parser.add_argument("task", choices=("write", "check"))
    parser.add_argument("--limit", type=float, default=60.0, help="seconds; default: 60")
    options = parser.parse_args(arguments)
    for relaxation in members().values():  # what is imported and compiled once is not measured
        measured(relaxation, problem(8, 0))
    if options.task == "check":
        lines = check(options.limit)
        print(f"{len(lines)} prices are off by more than a factor of {FACTOR:g}", *lines, sep="\n  ")
        return 1 if lines else 0
    rows = "".join(
        f"    {name!r}: (\n        {_spelled(prepare)},\n        {_spelled(bound)},\n    ),\n".replace("'", '"')
        for name, (prepare, bound) in table(options.limit).items()
    )
    TABLE.write_text(
        '"""Seconds measured by ``python -m benchmarks.prices write``: (preparations, bounds) by number of columns."""'
        f"\n\nCOLUMNS = {COLUMNS}\nMEASURED = {{\n{rows}}}\n", encoding="utf-8",
    )
    print(f"written: {TABLE}")
    return 0


def _spelled(seconds: tuple[float, ...]) -> str:
    return f"({', '.join(f'{value:.2g}' for value in seconds)})"


if __name__ == "__main__":
    sys.exit(main())
