"""What switching between bounds costs and saves, beside the better of the bounds that it switches between."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.runner import Case, Run
from benchmarks.studies._policies_page import page

__all__ = ["FAMILIES", "LEAST_GAIN", "MOST", "cases", "page"]

MOST = 1.2  # times the better member: what a policy may cost on every family
LEAST_GAIN = 2.0  # times less than the better member, on one family at least
DATASETS = {"subset-sum": "subset_sums", "toeplitz": "toeplitz"}
# family -> (settings, strong members)
FAMILIES = {
    "uncorrelated": ({"N": 200, "M": 95, "K": 20}, ("perspective bj", "shor", "convexified")),
    "small": ({"N": 120, "M": 40, "K": 8, "corr": 0.9}, ("perspective bj", "shor", "split-dnn")),
    "correlated": ({"N": 200, "M": 120, "K": 20, "corr": 0.9}, ("perspective bj", "shor", "convexified")),
    "few-rows": ({"N": 60, "M": 40, "K": 13, "corr": 0.9}, ("perspective bj", "shor", "convexified")),
    "subset-sum": ({"K": 12}, ("shor", "convexified")),
    "penalised": ({"N": 60, "M": 90, "K": 30, "eta": 30.0}, ("strengthened", "convexified")),
    "penalised-more": ({"N": 60, "M": 100, "K": 33, "eta": 100.0}, ("strengthened", "convexified")),
    "strong-penalty": ({"N": 200, "M": 60, "K": 20, "eta": 1e4}, ("strengthened", "convexified")),
    "weak-penalty": ({"N": 200, "M": 95, "K": 20, "eta": 1.0}, ("strengthened", "convexified")),
    "toeplitz": (
        {"N": 400, "M": 200, "K": 20, "rho": 0.9, "target": "noise", "groups": "neighbours"}, ("shor", "convexified"),
    ),
}
POLICIES = ("cheap then", "at the root", "adaptive")


def cases(quick: bool = False) -> list[Case]:
    """Return the cases of the study; the quick ones are few and small."""
    full = []
    for family, (settings, strong) in FAMILIES.items():
        names = ["active-set", "fixed active-set", "auto", *strong]
        names += [f"{policy} {bound}" for bound in strong for policy in POLICIES]
        runs = tuple(Run("switching", {"relaxation": name}) for name in names)
        full.append(Case(family, DATASETS.get(family, "synthetic"), settings, runs, seeds=3, time_limit=10))
    if not quick:
        return full
    kept = {case.key: replace(case, seeds=1, time_limit=10) for case in full}
    return [
        replace(kept["uncorrelated"], settings={"N": 60, "M": 24, "K": 6}),
        replace(kept["strong-penalty"], settings={"N": 40, "M": 20, "K": 8, "eta": 1e4}),
    ]
