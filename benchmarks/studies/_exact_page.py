"""The page of the study ``exact``, made from its tidy table."""

from __future__ import annotations

import statistics

from benchmarks.figures import picture
from benchmarks.render import (
    duration,
    head,
    markdown_table,
    number,
    paired_ratios,
    section,
    select,
    spread,
    timing,
    verdicts,
)
from benchmarks.studies._peers_page import figures, hard, losses, nodes_line, peers
from benchmarks.table import Row, notes

__all__ = ["figures", "losses", "page"]

WHOLE = "python -m benchmarks --study exact"
COMMAND = WHOLE + " --cases "
PAPER_MUST, PAPER_AIM = 50, 200


def page(rows: list[Row]) -> str:
    """Return the page as Markdown."""
    parts = [_head(rows), _speed(rows), _paper(rows), hard(rows), peers(rows), _nodes(rows), _memory(rows)]
    return "\n\n".join([*parts, _start_up(rows), verdicts(rows, WHOLE)]) + "\n"


def _head(rows: list[Row]) -> str:
    text = (
        "One thread. Each figure is a median over seeds; a run under 0.2 s is itself the median of five. Methods "
        "alternate seed by seed in one process, so a ratio compares runs made within seconds of each other. Our times "
        "are the whole call on raw data, validation and compression included; peers' models are built outside the "
        "clock. `>` marks a median that the time limit cut, and a ratio with `>=` is then a lower bound."
    )
    return head("Exact methods", text, rows)


def _speed(rows: list[Row]) -> str:
    from benchmarks.studies.exact import GOALS

    lines = [_goal_line(goal, rows) for goal in GOALS if select(rows, case=goal.case)]
    headers = ("work", "N", "M", "K", "seeds", "ours", "peer", "ratio", "per seed", "must", "aim", "verdict")
    keys = ",".join(dict.fromkeys(goal.case for goal in GOALS))
    return section("Speed", markdown_table(headers, lines), command=COMMAND + keys)


def _goal_line(goal, rows: list[Row]) -> list[object]:
    ours, theirs = (select(rows, case=goal.case, method=name) for name in (goal.ours, goal.peer))
    shape = ours[0]["N"], ours[0]["M"], ours[0]["K"]
    mine, other = timing(ours), timing(theirs)
    per_seed = paired_ratios(ours, theirs)
    value, ratio = mine.seconds, "-"
    if goal.kind == "faster":
        value = other.seconds / mine.seconds
        said = f"{number(value)}x" if value >= 1 else f"{number(1 / value)}x slower"
        ratio = f"{'>= ' if other.censored else ''}{said}" if other.runs else "-"
    elif goal.kind == "fraction":
        value, per_seed = mine.seconds / other.seconds, [1 / r for r in per_seed]
        ratio = f"{number(value)} of its time"
    peer = str(other) if other.runs or not theirs else f"{theirs[0]['status']}: {theirs[0]['reason']}"
    solved = all(row["status"] == "optimal" for row in ours)
    verdict = _verdict(goal.kind, value, goal.must, goal.aim, solved) if shape == goal.shape else "smaller size"
    unit = {"faster": "x", "fraction": "", "seconds": " s"}[goal.kind]
    must = "solved" if goal.must is None else f"{number(goal.must)}{unit}"
    aim = f"{number(goal.aim)}{unit}"
    return [goal.title, *shape, len(ours), mine, peer, ratio, spread(per_seed), must, aim, verdict]


def _verdict(kind: str, value: float, must: float | None, aim: float, solved: bool) -> str:
    if not solved:
        return "not solved"
    if value != value:
        return "no peer"
    if must is None and kind == "faster" and value < 1:
        return "peer wins"
    reached = [goal is None or (value >= goal if kind == "faster" else value <= goal) for goal in (must, aim)]
    return "aim" if reached[1] else "must" if reached[0] else "MISSED"


def _paper(rows: list[Row]) -> str:
    from benchmarks.studies.exact import PAPER_SIZES

    lines, ratios = [], []
    for K, N, M in PAPER_SIZES:
        ours = select(rows, dataset="paper_table", K=K, N=N, M=M, method="bnb")
        if not ours:
            continue
        theirs, published = (
            select(rows, dataset="paper_table", K=K, N=N, M=M, method=name)
            for name in ("reference_bnb", "reference_bnb_as_published")
        )
        mine, other = timing(ours), timing(theirs)
        ratios.append(other.seconds / mine.seconds)
        verdict = _verdict("faster", ratios[-1], PAPER_MUST, PAPER_AIM, all(r["status"] == "optimal" for r in ours))
        zero = sum(row["objective"] < 1e-6 for row in ours)
        ratio = f"{'>= ' if other.censored else ''}{number(ratios[-1])}x"
        listed = [
            _listed(select(rows, dataset="paper_table", K=K, N=N, M=M, method=name), K)
            for name in ("enumerate", "reference_enumeration")
        ]
        lines.append([
            K, N, M, len(ours), mine, other, ratio, timing(published), *listed, f"{zero} of {len(ours)}", verdict,
        ])
    if not lines:
        return section("The article's table of computing times", "Not run.")
    headers = ("K", "N", "M", "seeds", "bnb", "published bnb", "ratio", "as published", "our enumeration",
               "published enumeration", "zero residual", "verdict")
    text = (
        "X uniform in [-10, 10], noise uniform in [-50, 50]. **Why nearly every row has residual zero:** under a sign "
        "pattern, y is fitted exactly when it lies in the cone of M signed columns in N dimensions. By Wendel's "
        "theorem M random columns lie in one half-space with probability 2^(1-M) sum_{i<N} C(M-1, i), which is below "
        "one half as soon as M > 2N and vanishes quickly; if they do not, their cone is everything. So for M > 2N "
        "almost every one of the 2^K patterns is optimal, and a search may stop at the first. Only the sizes with "
        "M = 2N leave something to search; the hard families below do so by design. Must: 50x, aim: 200x, against "
        "the published branch and bound; *as published* it also carries the excluded half of each decided column as "
        "zeros. Enumerations: one seed, cut after 5 s, with the share of the 2^K patterns done by then. The "
        "mixed-integer peers cannot state these problems: with fewer rows than columns no bound on the coefficients "
        "is valid. "
        f"Median over the sizes: {number(statistics.median(ratios))}x, smallest {number(min(ratios))}x."
    )
    keys = ",".join(f"paper-k{K}-n{N}-m{M}" for K, N, M in PAPER_SIZES)
    drawn = picture("exact", "paper", "The article's table of computing times")
    table = markdown_table(headers, lines)
    return section("The article's table of computing times", text, drawn, table, command=COMMAND + keys)


def _listed(rows: list[Row], K: int) -> str:
    """Return the time of an enumeration, with the share of the patterns it got through where it was cut."""
    chosen = timing(rows)
    if not chosen.runs:
        return rows[0]["reason"] if rows else "-"
    done = (rows[0]["nodes"] or 0) / 2**K
    return f"> {duration(chosen.seconds)} ({done:.1%})" if chosen.timed_out else str(chosen)


def _nodes(rows: list[Row]) -> str:
    lines = []
    kept = [row for row in rows if row["nodes"] and not row["isolated"] and not row["case"].startswith("paper-")]
    for key, method in dict.fromkeys((row["case"], row["method"]) for row in kept if row["method"] != "first_call"):
        lines.append(nodes_line(rows, key, method))
    table = markdown_table(("case", "method", "nodes", "nodes per second"), [line for line in lines if line])
    return section("Nodes", "Medians. For the enumerations a node is a sign pattern.", table, command=WHOLE)


def _memory(rows: list[Row]) -> str:
    lines = [
        [row["case"], row["N"], row["M"], row["K"], row["method"], number(row["resident_mb"]), number(row["peak_mb"]),
         number(_growth_mb(row))]
        for row in rows if row["isolated"]
    ]
    headers = ("case", "N", "M", "K", "method", "before, MiB", "peak, MiB", "difference")
    text = "Resident memory of a process that does one run: imports, compiled code and data stand under *before*."
    keys = ",".join(dict.fromkeys(row["case"] for row in rows if row["isolated"]))
    return section("Memory", text, markdown_table(headers, lines), command=COMMAND + keys)


def _growth_mb(row: Row) -> float | None:
    return None if row["peak_mb"] is None else row["peak_mb"] - row["resident_mb"]


def _start_up(rows: list[Row]) -> str:
    lines = []
    for case, goals in (("start-up", {"cold": "20 s, announced", "warm": "1.5 s"}), ("import", {})):
        own = select(rows, case=case)
        for settings in dict.fromkeys(row["method_settings"] for row in own):
            chosen = select(own, method_settings=settings)
            word = settings.split('"')[3]
            inside = [notes(row).get("import_seconds", float("nan")) for row in chosen]
            announced = sum(notes(row).get("announced", 0) for row in chosen)
            told = f"{announced} of {len(chosen)}" if case == "start-up" else "-"
            imports = duration(statistics.median(inside))
            busy = duration(statistics.median(notes(row).get("cpu_seconds", float("nan")) for row in chosen))
            lines.append([f"{case}: {word}", timing(chosen), busy, imports, told, goals.get(word, "-")])
    headers = ("new process", "seconds", "processor time", "of which imports", "announced", "must be under")
    text = "The whole life of a new Python process: `import partls` and one fit (N=200, M=90, K=15), or one import."
    return section("First call and imports", text, markdown_table(headers, lines), command=COMMAND + "start-up,import")
