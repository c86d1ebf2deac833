"""How well the models predict: Table 4 of Esposito, Cerrato and Locatelli (2024), errors over 100 splits, and ridge.

PartLS stands there with three partitions: that of the data set, that of the signs of least squares on the training
rows, and that of the signs of least squares on all rows.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.runner import Case, Run
from benchmarks.studies._model_quality_page import figures, losses, page

__all__ = ["cases", "figures", "losses", "page"]

RUNS = (
    Run("least_squares"), Run("ridge"), Run("principal_components"), Run("partial_least_squares"),
    Run("signs_of_least_squares", {"rows": "training"}), Run("bnb"), Run("signs_of_least_squares", {"rows": "all"}),
)
PUBLISHED_RUNS = tuple(run for run in RUNS if run.method not in ("ridge", "signs_of_least_squares"))
DRAWS = range(8)  # of "Artificial", of which the table shows one
ORIGINAL = ("ames", "limpet", "facebook", "superconductivity", "year_prediction")


def cases(quick: bool = False) -> list[Case]:
    """Return a case per data set; those whose files are not here become rows that say so."""
    full = [Case("artificial", "artificial", {}, RUNS, seeds=100)]
    full += [_splits(name, name) for name in ORIGINAL]
    full.insert(3, _splits("limpet-as-published", "limpet", as_published=True))
    draws = [Case(f"draw-{draw}", "artificial", {"draw": draw}, PUBLISHED_RUNS, seeds=20) for draw in DRAWS]
    return [replace(full[0], seeds=5), full[2]] if quick else [*full, *draws]


def _splits(key: str, dataset: str, **settings: bool) -> Case:
    return Case(key, dataset, {"shuffled": True, **settings}, RUNS, seeds=100, time_limit=60)
