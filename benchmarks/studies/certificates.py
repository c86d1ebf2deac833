"""What a proof of optimality costs: to write, to keep, and to check without any solver."""

from __future__ import annotations

import statistics

from benchmarks.render import head, markdown_table, number, paired_ratios, section, select, spread, timing, verdicts
from benchmarks.runner import Case, Run
from benchmarks.table import Row, notes

SOLVE, WRITE = Run("bnb"), Run("write_proof")
CHECK, EXACT = Run("check_proof"), Run("check_proof", {"mode": "exact"})
MUST = 20.0  # times the solve, at K = 15 and M = 60
COMMAND = "python -m benchmarks --study certificates"


def cases(quick: bool = False) -> list[Case]:
    """Return the cases: the size with a goal, a larger one of hundreds of boxes, and one with a strong penalty."""
    small = {"N": 120, "M": 60, "K": 15}
    if quick:
        return [Case("proof-quick", "synthetic", {"N": 60, "M": 30, "K": 8}, (SOLVE, WRITE, CHECK, EXACT), seeds=2)]
    return [
        Case("proof-k15", "synthetic", small, (SOLVE, WRITE, CHECK, EXACT)),
        Case("proof-k20", "synthetic", {"N": 120, "M": 100, "K": 20}, (SOLVE, WRITE, CHECK), seeds=3),
        Case("proof-penalty", "synthetic", {"N": 60, "M": 48, "K": 16, "eta": 1e4}, (SOLVE, WRITE, CHECK, EXACT)),
    ]


def page(rows: list[Row]) -> str:
    """Return the page as Markdown."""
    lines = []
    for case in dict.fromkeys(row["case"] for row in rows):
        solve, write = select(rows, case=case, method="bnb"), select(rows, case=case, method="write_proof")
        checks = select(rows, case=case, method="check_proof")
        exact = [row for row in checks if "exact" in row["method_settings"]]
        quick = [row for row in checks if row not in exact]
        ratios = paired_ratios(solve, quick)
        lines.append([
            case, *(solve[0][name] for name in "NMK"), timing(solve),
            int(statistics.median(notes(row)["boxes"] for row in quick)),
            f"{statistics.median(notes(row)['bytes'] for row in quick) / 1e6:.3g} MB", timing(write), timing(quick),
            f"{number(statistics.median(ratios))}x", spread(ratios), timing(exact) if exact else "-",
            f"{number(statistics.median(paired_ratios(solve, exact)))}x" if exact else "-",
        ])
    headers = ("case", "N", "M", "K", "solve", "boxes", "size", "solve and write", "check", "beside the solve",
               "per seed", "check exactly", "beside the solve")
    text = (
        "*Check* reads the proof and the data again and checks every box, without any solver, in floating point in "
        f"which nothing is rounded or all rounding is bounded (must at K = 15, M = 60: {MUST:g} times the solve); "
        "*check exactly* in rational arithmetic. One thread, medians over seeds."
    )
    table = section("Proofs", markdown_table(headers, lines), command=COMMAND)
    return "\n\n".join([head("Certificates", text, rows), table, verdicts(rows, COMMAND)]) + "\n"
