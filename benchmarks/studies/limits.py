"""How long after its time limit each method, explanation and proof returns, on tall, wide and square data."""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks.methods.limited import CALLS, LEFT_BEHIND, SOLVES
from benchmarks.render import head, markdown_table, section, select
from benchmarks.runner import Case, Run
from benchmarks.table import Row, notes

COMMAND = "python -m benchmarks --study limits"
LIMIT, MUST = 0.5, 0.3
SHAPES = ((4_000, 600), (600, 600), (1_000, 1_500))
FACTORISATION = "one factorisation"
K = 20


def cases(quick: bool = False) -> list[Case]:
    """Return two cases per shape: what leaves threads behind runs in processes of its own."""
    if quick:
        runs = [Run("limited", {"what": what}) for what in (FACTORISATION, "bnb")]
        return [_case(200, 300, runs, seeds=1)]
    together = [Run("limited", {"what": what}) for what in (*CALLS, *SOLVES) if what not in LEFT_BEHIND]
    alone = [Run("limited", {"what": what}) for what in LEFT_BEHIND]
    return [
        *(_case(N, M, together, seeds=3) for N, M in SHAPES),
        *(_case(N, M, alone, seeds=3, isolated=True) for N, M in SHAPES),
    ]


def _case(N: int, M: int, runs: list[Run], seeds: int, isolated: bool = False) -> Case:
    settings = {"N": N, "M": M, "K": K}
    key = f"{N}x{M}" + (" alone" if isolated else "")
    return Case(key, "synthetic", settings, tuple(runs), seeds=seeds, time_limit=LIMIT, isolated=isolated)


def page(rows: list[Row]) -> str:
    """Return the page as Markdown."""
    lines = []
    for N, M in dict.fromkeys((row["N"], row["M"]) for row in rows):
        told = [notes(row) for row in select(rows, N=N, M=M) if row["notes"]]
        one = statistics.median(each["returned"] for each in told if each["what"] == FACTORISATION)
        for what in dict.fromkeys(each["what"] for each in told):
            if what != FACTORISATION:
                lines.append(_line(f"{N:,} x {M:,}", [each for each in told if each["what"] == what], one))
    met = sum(line[-1] == "yes" for line in lines)
    text = (
        f"A time limit of {LIMIT:g} s on problems that take far longer. *Factorisation* is one QR factorisation of the "
        "data: of their rows where there are more rows than columns, otherwise of the reduced data, with column "
        "pivoting. Data are read and factored once, however short the limit. *Excess* is the time after the limit; at "
        f"most {MUST:g} s and one factorisation are allowed. Medians of three seeds; other programs run on this "
        "machine, and slow both down. What is explained is a model that a limit has cut short; the certificate and "
        "the comparison of relaxations have a limit of their own."
    )
    table = markdown_table(("data", "what", "returned after", "factorisation", "excess", "allowed", "met"), lines)
    verdict = f"{met} of {len(lines)} medians are within {MUST:g} s and one factorisation of the limit."
    times = section("When calls return", table, verdict, command=COMMAND)
    return head("Time limits", text, rows) + "\n\n" + times + "\n"


def _line(shape: str, told: list[dict[str, Any]], one: float) -> list[str]:
    returned = statistics.median(each["returned"] for each in told)
    excess, allowed = max(returned - LIMIT, 0.0), MUST + one
    times = (f"{seconds:.2f} s" for seconds in (returned, one, excess, allowed))
    return [shape, told[0]["what"], *times, "yes" if excess <= allowed else "NO"]
