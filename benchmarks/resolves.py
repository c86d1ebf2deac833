"""What parameters save: solving one model at 100 settings, against building a model for each of them.

``python -m benchmarks.resolves [--columns M] [--settings 100]`` prints milliseconds per solve of each form, both ways.
Each setting is a sign pattern, an eta and a ridge of its own, drawn with a seed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from formulations import Instance, alpha_fixed, beta_fixed, partls_b, perspective, quadratic, shor, shor_dual, split_dnn

Setting = tuple[list[int], float, float]


def forms(n_columns: int, n_groups: int) -> dict[str, tuple[Callable[..., Any], bool]]:
    """Return (how to build it, whether it takes signs) of each form; D is small enough for every setting."""
    alpha = np.bincount(np.arange(n_columns) % n_groups)[np.arange(n_columns) % n_groups] ** -1.0
    return {
        "alpha fixed": (lambda instance, signs: alpha_fixed(instance, alpha), False),
        "beta fixed": (lambda instance, signs: beta_fixed(instance, np.ones(n_groups)), False),
        "PartLS-b": (partls_b, True),
        "quadratic": (quadratic, True),
        "perspective": (lambda instance, signs: perspective(instance, 1e-6 * np.eye(n_columns), signs), True),
        "Shor": (shor, True),
        "Shor dual": (shor_dual, True),
        "split DNN": (split_dnn, True),
    }


def settings(count: int, n_groups: int) -> Iterator[Setting]:
    rng = np.random.default_rng(1)
    for _ in range(count):
        yield rng.choice([-1, 1], size=n_groups).tolist(), float(rng.uniform(0.1, 2.0)), float(rng.uniform(0.1, 2.0))


def compare(build: Callable[..., Any], signed: bool, X: Any, y: Any, labels: Any, tried: list[Setting]
            ) -> tuple[float, float, float]:
    """Return processor seconds (building anew, moving one model) and the largest relative difference of the values."""
    began = time.process_time()
    fresh = [
        build(Instance(X, y, labels, eta=eta, ridge=ridge), signs).solve("CLARABEL") for signs, eta, ridge in tried
    ]
    built = time.process_time() - began
    began = time.process_time()
    model, moved = build(Instance(X, y, labels), tried[0][0]), []
    for signs, eta, ridge in tried:
        moved.append((model.fix(signs) if signed else model).set(eta=eta, ridge=ridge).solve("CLARABEL"))
    return built, time.process_time() - began, float(np.max(np.abs(np.array(moved) / np.array(fresh) - 1.0)))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.resolves", description=__doc__.splitlines()[0])
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--settings", type=int, default=100)
    options = parser.parse_args(arguments)
    M, K = options.columns, max(options.columns // 4, 2)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4 * M, M)) + rng.normal(size=(4 * M, 1))
    y, labels = X @ rng.normal(size=M) + rng.normal(size=4 * M), np.arange(M) % K
    print(f"M = {M}, K = {K}, {options.settings} settings; milliseconds of processor time per setting, Clarabel")
    print(f"{'form':12} {'built anew':>11} {'moved':>8} {'ratio':>6} {'largest difference':>19}")
    for name, (build, signed) in forms(M, K).items():
        built, moved, off = compare(build, signed, X, y, labels, list(settings(options.settings, K)))
        each = 1000.0 / options.settings
        print(f"{name:12} {built * each:11.1f} {moved * each:8.1f} {built / moved:6.1f} {off:19.0e}", flush=True)


if __name__ == "__main__":
    main()
