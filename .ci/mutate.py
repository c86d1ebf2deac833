"""Mutation testing: change the search, certification and equivalence code a little, and see whether the tests notice.

    python -m pip install cosmic-ray && python .ci/mutate.py --sample 300

Works on a clone of HEAD in a temporary folder. Cosmic Ray proposes the mutants; a sample of them, fixed by the seed,
is tried one by one, each in a process forked from one that has loaded every library but ours. Prints the score and the
mutants that survive; --json writes every verdict.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import importlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator

ROOT = Path(__file__).resolve().parents[1]
LIBRARIES = ("pytest", "hypothesis.extra.numpy", "hypothesis.stateful", "numpy", "scipy.linalg", "scipy.optimize",
             "sklearn.utils.validation", "numba", "cvxpy", "pandas", "threadpoolctl", "rich.live")
Choice = tuple[str, ...]  # files of tests, the quickest first, and last an expression that chooses among them
SEARCH: Choice = (
    "tests/test_schedules.py", "tests/test_faults.py", "tests/test_plugging.py", "tests/test_limits.py",
    "tests/test_checkpoint.py", "tests/test_wide.py",
    "wide or pieces or (hangs and not program) or little_room or stays_valid or weakest or refutes or stopped or "
    "more_nodes or (no_fault and everywhere and strong) or no_time_is_enough_for_a_model or loses_no or "
    "another_relaxation",
)
PROOFS = ("tests/test_verify.py", "tests/test_forged_certificate.py", "tests/test_certificate.py")
PROOF: Choice = (
    *PROOFS,
    "every_family or every_mutation or badly or last_bit or beforehand or every_method or unfinished or outlives or "
    "looser or own_data or other_sizes or mixed_signs or wrong_types or no_certificates or truncated or bomb or cover "
    "or both_gram or both_proofs or square_roots or digit or reach or size or theory or without_a_group or strong or "
    "strengthened or far or hardly_counts or limit_is or given_up or stands_twice or given_as or refined",
)
# What the quick choice lets pass is shown to all tests of its area, but those that start programs or wait for hours.
WHOLE_SEARCH: Choice = (
    "tests/test_limits.py", "tests/test_exact.py", "tests/test_plugging.py", "tests/test_switching.py",
    "tests/test_schedules.py", "tests/test_checkpoint.py", "tests/test_wide.py", "tests/test_numerics.py",
    "not (killed or program or terminal or ctrl or delays or history or Machine)",
)
WIDER: dict[Choice, Choice] = {SEARCH: WHOLE_SEARCH, PROOF: (*PROOFS, "not command")}
CREW: Choice = ("tests/test_executors.py", "not processes and not killed and not time_is_up and not ctrl and not slow")
THREADS: Choice = ("tests/test_faults.py", "tests/test_limits.py", "(hangs and not program) or threads or stopped")
STARTS: Choice = ("tests/test_alternating.py", "test")
BACKENDS: Choice = ("tests/test_backends.py", "test")
PATTERNS: Choice = (
    "tests/test_enumeration.py", "tests/test_limits.py", "tests/test_options.py", "tests/test_exact.py",
    "oracle or best or solved_again or known or bound_is or time or patterns or enumerat or keep",
)
AREAS: dict[str, Choice] = {  # what is mutated, and the tests that have to notice
    "formulations/equivalence.py": ("tests/test_equivalence.py", "test"),
    "formulations/rows/residual.py": ("tests/test_residual.py", "tests/test_numerics.py", "test"),
    "relaxations/strengthened.py": ("tests/test_strengthened.py", "test"),
    "relaxations/protocol.py": (
        "tests/test_plugging.py", "tests/test_switching.py", "no_fault or weakest or stopped or behaves or policy",
    ),
    "relaxations/safe/least_squares.py": (
        "tests/test_every_bound.py", "tests/test_laws.py", "tests/test_numerics.py",
        "bound or optimum_is_that or nearly_repeated or no_proof or box or price",
    ),
    "relaxations/safe/lift.py": ("tests/test_lift_bounds.py", "test"),
    "relaxations/safe/perspective.py": ("tests/test_perspective_bounds.py", "test"),
    "partls/strategies/branch_and_bound.py": SEARCH,
    "partls/strategies/enumeration.py": PATTERNS,
    "partls/strategies/pattern_solver.py": PATTERNS,
    "partls/strategies/kernel_patterns.py": PATTERNS,
    "partls/strategies/factored_patterns.py": PATTERNS,
    "partls/strategies/kept_solutions.py": PATTERNS,
    "partls/strategies/conic_patterns.py": BACKENDS,
    "partls/strategies/conic_halves.py": BACKENDS,
    "partls/runtime/interrupts.py": (
        "tests/test_interrupts.py", "tests/test_limits.py", "tests/test_alternating.py",
        "press or call or program or thread or solver or waiting or interrupt or dropped or resamples",
    ),
    "partls/search/tree.py": SEARCH,
    "partls/explore/subtree.py": SEARCH,
    "partls/search/frontier.py": SEARCH,
    "partls/explore/explorers.py": SEARCH,
    "partls/explore/generic.py": SEARCH,
    "partls/explore/contradiction.py": SEARCH,
    "partls/explore/branching.py": ("tests/test_plugging.py", "tests/test_options.py", "rule or branching or no_fault"),
    "partls/search/checkpoint.py": ("tests/test_checkpoint.py", "tests/test_schedules.py", "not killed and not delays"),
    "partls/explore/incumbents.py": ("tests/test_wide.py", "tests/test_limits.py", "wide or zero or no_time"),
    "partls/parallel/pool.py": THREADS,
    "partls/parallel/processes.py": CREW,
    "partls/parallel/remote_worker.py": CREW,
    "partls/search/window.py": CREW,
    "partls/runtime/daemon_threads.py": THREADS,
    "partls/strategies/halves.py": STARTS,
    "partls/strategies/alternation.py": STARTS,
    "partls/strategies/starts.py": STARTS,
    "partls/verification/verifier.py": PROOF,
    "partls/verification/exact_bounds.py": PROOF,
    "partls/prove/certificate.py": PROOF,
    "partls/prove/leaves.py": PROOF,
    "partls/verification/document.py": PROOF,
    "partls/verification/exact_integers.py": PROOF,
    "partls/prove/dual_points.py": PROOF,
}
# Changes that only set the pace of the search (module constants) or the form of a signature or class: not what tests
# are for.
EQUIVALENT = re.compile(r"^-(_?[A-Z][A-Z_, ]+ = |\s*def |@dataclass)", re.MULTILINE)
PREFIX = "core/"
OPERATORS = (  # one replacement of each kind: a wilder one is noticed more easily
    *(f"ReplaceBinaryOperator_{pair}" for pair in (
        "Add_Sub", "Sub_Add", "Mul_Div", "Div_Mul", "Pow_Mul", "FloorDiv_Mul", "Mod_Mul", "BitAnd_BitOr")),
    *(f"ReplaceComparisonOperator_{pair}" for pair in (
        "Eq_NotEq", "NotEq_Eq", "Lt_LtE", "Lt_GtE", "LtE_Lt", "LtE_Gt", "Gt_GtE", "Gt_LtE", "GtE_Gt", "GtE_Lt",
        "Is_IsNot", "IsNot_Is")),
    "ReplaceUnaryOperator_USub_UAdd", "ReplaceUnaryOperator_Delete_Not", "ReplaceUnaryOperator_Delete_Invert",
    "AddNot", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ReplaceAndWithOr", "ReplaceOrWithAnd",
    "ReplaceBreakWithContinue", "ReplaceContinueWithBreak", "ExceptionReplacer", "NumberReplacer",
    "ZeroIterationForLoop",
)


def mutants(root: Path, module: str) -> list[tuple[str, str, int]]:
    """Return every mutant of a module: its path, the operator and the place among those it applies to."""
    tree = get_ast((root / module).read_text())
    nodes = list(ast_nodes(tree))
    found = []
    for name in OPERATORS:
        operator = get_operator(PREFIX + name)()
        places = [place for node in nodes for place in operator.mutation_positions(node)]
        found += [(module, name, i) for i in range(len(places))]
    return found


def verdict(clone: Path, tests: Choice, limit: float) -> tuple[str, float]:
    """Return whether the tests of a clone pass ("survived"), fail ("killed") or do not end ("timeout")."""
    began = time.perf_counter()
    child = os.fork()
    if child == 0:
        os.setsid()
        silent = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(silent, descriptor)
        os.chdir(clone)
        sys.path.insert(0, str(clone))
        sys.dont_write_bytecode = True
        import pytest

        options = ["-x", "-q", "-p", "no:cacheprovider", "-k", tests[-1]]
        options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # the libraries are loaded already
        os._exit(int(pytest.main([*options, *tests[:-1]])))
    while time.perf_counter() - began < limit:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return ("survived" if status == 0 else "killed"), time.perf_counter() - began
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "timeout", time.perf_counter() - began


def change(before: str, operator: str, occurrence: int) -> tuple[str, str]:
    """Return the source of a mutant and what it changes."""
    after = mutate_code(before, get_operator(PREFIX + operator)(), occurrence)
    assert after is not None
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    return after, "\n".join(line for line in lines if not line.startswith(("---", "+++")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=300, help="mutants to try, spread over the modules by their size")
    parser.add_argument("--first", type=int, default=0, help="mutants to leave out before, for a run in several parts")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="mutate only modules whose path matches this pattern")
    parser.add_argument("--minutes", type=float, default=60.0, help="stop after this time")
    parser.add_argument("--json", type=Path, default=None)
    chosen = parser.parse_args()
    for library in LIBRARIES:
        importlib.import_module(library)
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "partls"
        subprocess.run(["git", "clone", "-q", "--no-hardlinks", str(ROOT), str(clone)], check=True)
        everything = [mutant for module in AREAS if re.search(chosen.only, module) for mutant in mutants(clone, module)]
        random.Random(chosen.seed).shuffle(everything)  # so that stopping early leaves a sample too
        os.environ["NUMBA_CACHE_DIR"] = str(Path(folder) / "kernel")
        areas = {module: tests for module, tests in AREAS.items() if re.search(chosen.only, module)}
        limits = {}
        wider = [WIDER[tests] for tests in areas.values() if tests in WIDER]
        for tests in dict.fromkeys([*areas.values(), *wider]):
            outcome, seconds = verdict(clone, tests, 900.0)
            assert outcome == "survived", f"without any mutant, {tests} ends as {outcome}"
            limits[tests] = 3.0 * seconds + 10.0
            print(f"{seconds:6.1f} s  {' '.join(tests[:-1])}", flush=True)
        run(everything[chosen.first :][: chosen.sample], clone, limits, chosen.minutes, chosen.json, len(everything))


def run(sample: list[tuple[str, str, int]], clone: Path, limits: dict[Choice, float], minutes: float,
        report: Path | None, n_all: int) -> None:
    began, rows = time.perf_counter(), []
    for number, (module, operator, occurrence) in enumerate(sample):
        if time.perf_counter() - began > 60.0 * minutes:
            break
        path = clone / module
        original = path.read_text()
        try:
            source, difference = change(original, operator, occurrence)
        except AttributeError:  # Cosmic Ray does not know exceptions with a dot in their name
            continue
        if EQUIVALENT.search(difference):
            continue
        path.write_text(source)
        tests = AREAS[module]
        outcome, seconds = verdict(clone, tests, limits[tests])
        if outcome == "survived" and tests in WIDER:
            outcome, more = verdict(clone, WIDER[tests], limits[WIDER[tests]])
            seconds += more
        path.write_text(original)
        named = {"module": module, "operator": operator, "diff": difference}
        rows.append({**named, "verdict": outcome, "seconds": seconds})
        print(f"{number:4d} {outcome:9s}{seconds:6.1f} s  {module}  {operator}", flush=True)
        if outcome == "survived":
            print(difference, flush=True)
        if report is not None:
            report.write_text(json.dumps(rows, indent=1) + "\n")
    counts = Counter(row["verdict"] for row in rows)
    detected = len(rows) - counts["survived"]
    print(f"\n{detected} of {len(rows)} mutants noticed ({detected / max(len(rows), 1):.1%}), out of {n_all} in all")
    for module in sorted({row["module"] for row in rows}):
        mine = [row for row in rows if row["module"] == module]
        print(f"  {module:36s} {sum(row['verdict'] != 'survived' for row in mine):3d} of {len(mine):3d}")


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
