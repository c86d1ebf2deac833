"""How good and how fast the alternation is: against starts, against time, beside the exact search and the reference."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.runner import Case, Run
from benchmarks.studies._alternating_page import figures, page

__all__ = ["AIM", "MUST", "cases", "figures", "page"]

MUST, AIM = 30, 5  # 100 starts of 20 iterations on 10000 x 81, K = 8, in times of one numpy.linalg.lstsq
BNB = Run("bnb")
STARTS, POLISHED_STARTS = (1, 4, 16, 64), (1, 4, 16)
BUDGETS = (0.02, 0.1, 0.5)  # seconds
SMALL = {"small-k5": (60, 20, 5), "small-k8": (100, 40, 8), "small-k12": (200, 60, 12)}
LARGE = {"large-k20": (200, 80, 20), "large-k40": (600, 150, 40), "large-k100": (1000, 250, 100)}


def alternating(**settings) -> Run:
    return Run("alternating", settings)


def cases(quick: bool = False) -> list[Case]:
    """Return the cases of the study; the quick ones are fewer and take a few seconds."""
    full = [_speed_case(), *_quality_cases(), *_bilinear_cases(), *_strategy_cases(), *_budget_cases()]
    if not quick:
        return full
    kept = {case.key: case for case in full}
    restarts = replace(kept["restarts"], settings={"N": 1000, "M": 81, "K": 8}, time_limit=2)
    return [replace(case, seeds=2) for case in (restarts, kept["small-k5"], kept["starts-k12"], kept["large-k20"])]


def _case(key: str, shape: tuple[int, int, int], *runs: Run, **options) -> Case:
    N, M, K = shape
    return Case(key, "synthetic", {"N": N, "M": M, "K": K, **options.pop("settings", {})}, runs, **options)


def _speed_case() -> Case:
    ours = [alternating(n_starts=100, polish=polish, starts=starts)
            for polish, starts in (("none", "random"), ("flips", "mixed"))]
    reference = Run("reference_alternating", {"n_starts": 2})
    return _case("restarts", (10_000, 81, 8), *ours, Run("lstsq"), BNB, reference, time_limit=60)


def _quality_cases() -> list[Case]:
    runs = [alternating(n_starts=n) for n in STARTS]
    runs += [alternating(n_starts=n, starts="mixed", polish="flips") for n in POLISHED_STARTS]
    runs += [Run("reference_alternating", {"n_starts": 4}), BNB]
    return [_case(key, shape, *runs, seeds=20) for key, shape in SMALL.items()]


def _bilinear_cases() -> list[Case]:
    runs = [Run(method, {"n_starts": n}) for n in (1, 4, 16) for method in ("bilinear_nlp", "alternating")]
    return [_case(key.replace("small", "bilinear"), shape, *runs, BNB, seeds=20) for key, shape in SMALL.items()]


def _strategy_cases() -> list[Case]:
    runs = [alternating(n_starts=16, starts=starts) for starts in ("random", "least-squares", "relaxation", "mixed")]
    shapes = {"starts-k12": (200, 60, 12), "starts-k20": (200, 80, 20)}
    return [_case(key, shape, *runs, BNB, seeds=20, settings={"corr": 0.5}) for key, shape in shapes.items()]


def _budget_cases() -> list[Case]:
    runs = [
        alternating(budget=budget, starts="mixed", polish=polish) for budget in BUDGETS for polish in ("none", "flips")
    ]
    return [_case(key, shape, *runs, BNB, time_limit=120) for key, shape in LARGE.items()]
