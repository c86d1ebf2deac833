"""Which objective is reached when: Figure 1 of Esposito, Cerrato and Locatelli (2024), with the authors' own runs.

Alternating from 100 starts, enumeration, branch and bound. Limpet has its rows; Facebook, Superconductivity and
YearPredictionMSD have the triangular factor of theirs, which is all that the objective needs. Synthetic data of the
same shapes stand beside them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from benchmarks.runner import Case, Run
from benchmarks.studies._time_vs_objective_page import figures, losses, page

__all__ = ["cases", "figures", "losses", "page"]

ALTERNATIONS = tuple(
    Run(method, {"n_starts": 100, "max_iter": T})
    for method in ("reference_alternating", "alternating")
    for T in (20, 100)
)
POLISHED = Run("alternating", {"n_starts": 100, "max_iter": 100, "starts": "mixed", "polish": "flips"})
EXACT = (Run("reference_enumeration"), Run("reference_bnb"), Run("enumerate"), Run("bnb"))
RUNS = (*ALTERNATIONS, POLISHED, *EXACT)
LIMIT = 30.0
SHAPES = {  # of the article's data sets: N, M, K
    "like-limpet": {"N": 30, "M": 82, "K": 6},
    "like-superconductivity": {"N": 10_000, "M": 81, "K": 8, "corr": 0.5},
    "many-groups": {"N": 400, "M": 120, "K": 20, "corr": 0.5},
}
# The article's data sets: dataset, settings, and the name in the files of the authors' runs. Where the published code
# solves another problem than the article describes (docs/theory/corrections.md), there is a case for each of the two.
ARTICLE: dict[str, tuple[str, dict[str, Any], str]] = {
    "limpet": ("limpet", {}, ""),
    "limpet-as-published": ("limpet", {"as_published": True}, "limpet"),
    "superconductivity": ("triangle", {"name": "superconductivity"}, "supercond"),
    "facebook": ("triangle", {"name": "facebook"}, ""),
    "facebook-as-published": ("triangle", {"name": "facebook", "as_published": True}, "facebook"),
    "year_prediction": ("triangle", {"name": "year_prediction", "as_published": True}, "yearprediction"),
}


def cases(quick: bool = False) -> list[Case]:
    """Return a case per data set; those whose files are not here become rows that say so."""
    full = [Case("artificial", "artificial", {}, RUNS, seeds=1, time_limit=LIMIT)]
    full += [Case(key, "synthetic", shape, RUNS, seeds=1, time_limit=LIMIT) for key, shape in SHAPES.items()]
    full += [Case("ames", "ames", {}, RUNS, seeds=1, time_limit=LIMIT), *map(_of_the_article, ARTICLE)]
    if not quick:
        return full
    small = replace(full[2], settings={"N": 500, "M": 40, "K": 8, "corr": 0.5})
    return [replace(case, time_limit=1.0) for case in (full[0], small)]


def _of_the_article(key: str) -> Case:
    """Return the case of a data set in the article's figure, with the authors' runs where they are of this problem."""
    dataset, settings, curves = ARTICLE[key]
    theirs = tuple(Run("article_run", {"data": curves, "max_iter": T}) for T in (20, 100, 0)) if curves else ()
    return Case(key, dataset, settings, (*RUNS, *theirs), seeds=1, time_limit=LIMIT)
