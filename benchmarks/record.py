"""A record of seeded answers, to show that a change of the code's structure changes no answer.

Sixty small problems by each exact method and by the alternation, the relaxations inside branch and bound, and larger
trees on one thread, two threads, loky and Dask.

``python -m benchmarks.record write`` solves the instances and stores every answer. ``... check``
solves them again and lists each answer that differs. Floating-point numbers are compared bit by bit, so both runs
belong on the same machine: another processor may round differently.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

import partls

STORED = Path(__file__).resolve().parent / "results" / "record.json"


def instances() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Yield (name, arguments of ``solve``, how to run it) of each instance."""
    for seed in range(20):
        for method in ("bnb", "enumerate", "alternating"):
            yield f"{method}-{seed}", _problem(seed), {"method": method, "random_state": seed, "n_starts": 5}
    for seed in range(3):
        for relaxation in ("unconstrained", "perspective", "shor", "strengthened"):
            yield f"{relaxation}-{seed}", _problem(seed), {"method": "bnb", "relaxation": relaxation}
        yield f"best-first-{seed}", _large_tree(seed), {"method": "bnb", "search": "best-first"}
    for seed in range(3):
        for name, how in (("1-thread", {}), ("2-threads", {"n_jobs": 2}), ("loky", {"executor": "loky", "n_jobs": 2}),
                          ("dask", {"executor": "dask"})):
            yield f"{name}-{seed}", _large_tree(seed), {"method": "bnb", **how}


def _problem(seed: int) -> dict[str, Any]:
    """Return a small problem whose options depend on its seed, so that the record covers them all."""
    rng = np.random.default_rng(seed)
    X = np.sqrt(0.5) * (rng.normal(size=(40, 14)) + rng.normal(size=(40, 1)))
    y = X @ rng.normal(size=14) + rng.normal(size=40) + 1.0
    if seed % 5 == 4:
        X[:, -1] = X[:, 0]  # a repeated column
    return {
        "X": X, "y": y, "groups": [*range(7), *rng.integers(0, 7, 7).tolist()],
        "eta": (0.0, 0.0, 1.5)[seed % 3], "penalty": ("l2", "l1")[seed // 3 % 2], "fit_intercept": seed % 4 != 3,
        "sample_weight": rng.uniform(0.5, 2.0, 40) if seed % 7 == 5 else None,
        "signs": {0: "+"} if seed % 6 == 1 else None,
    }


def _large_tree(seed: int) -> dict[str, Any]:
    """Return a problem whose tree is large enough for other threads and processes to explore."""
    rng = np.random.default_rng([seed, 1])
    toeplitz = 0.9 ** np.abs(np.subtract.outer(np.arange(110), np.arange(110)))
    X = rng.normal(size=(220, 110)) @ np.linalg.cholesky(toeplitz).T
    return {"X": X, "y": rng.normal(size=220), "groups": np.repeat(np.arange(22), 5)}


def answers() -> dict[str, dict[str, Any]]:
    """Solve every instance and return its answer in a form that JSON keeps to the last bit."""
    told: dict[str, dict[str, Any]] = {}
    with ExitStack() as stack:
        for name, data, how in instances():
            if how.get("executor") == "dask":
                how = {**how, "executor": _client(stack)}
            told[name] = _answer(partls.solve(**data, **how))
    return told


def _client(stack: ExitStack) -> Any:
    from distributed import Client, LocalCluster, get_client

    try:
        return get_client()
    except ValueError:
        cluster = stack.enter_context(LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None))
        return stack.enter_context(Client(cluster, set_as_default=True))


def _answer(result: partls.Result) -> dict[str, Any]:
    return {
        "status": result.status.value,
        "signs": result.signs.tolist(),
        "coef": [value.hex() for value in result.coef.tolist()],
        "intercept": float(result.intercept).hex(),
        "objective": float(result.objective).hex(),
        "lower_bound": float(result.lower_bound).hex(),
        "n_nodes": result.n_nodes,
        "counts": {name: count for name, count in sorted(result.counts.items())},
    }


def differences(stored: dict[str, dict[str, Any]], found: dict[str, dict[str, Any]]) -> list[str]:
    """Return one line for each instance whose answer differs, naming the fields."""
    lines = [f"{name}: not in both records" for name in sorted(stored.keys() ^ found.keys())]
    for name in sorted(stored.keys() & found.keys()):
        fields = [key for key in sorted(stored[name]) if stored[name][key] != found[name].get(key)]
        lines += [f"{name}: {', '.join(fields)}"] if fields else []
    return lines


def main(arguments: list[str] | None = None) -> int:
    """Write the record, or check against it and return 1 if an answer differs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.record", description=__doc__.splitlines()[0])
    parser.add_argument("task", choices=("write", "check"))
    parser.add_argument("--file", type=Path, default=STORED, help="default: benchmarks/results/record.json")
    options = parser.parse_args(arguments)
    found = answers()
    if options.task == "write":
        options.file.write_text(json.dumps(found, indent=0, sort_keys=True) + "\n", encoding="utf-8")
        print(f"{len(found)} answers written to {options.file}")
        return 0
    lines = differences(json.loads(options.file.read_text(encoding="utf-8")), found)
    print("\n".join([*lines, f"{len(found)} answers, {len(lines)} differ"]))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
