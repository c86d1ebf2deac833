"""The hard families and the peers' own figures: parts of the page of the study ``exact``."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from benchmarks.figures import COLOURS, NAMES, OURS, clock, drawing, picture, plain_ticks
from benchmarks.render import markdown_table, number, section, select, timing
from benchmarks.table import Row, notes

COMMAND = "python -m benchmarks --study exact --cases "
TITLES = {
    "hard-square-corr0": "M near N, uncorrelated", "hard-square-corr5": "M near N, correlation 0.5",
    "hard-square-corr9": "M near N, correlation 0.9", "hard-wide": "N < M < 2N", "hard-subset-sum": "subset sums",
    "hard-polynomial": "powers, nearly collinear", "hard-k50": "50 groups", "hard-k100": "100 groups",
}


def hard(rows: Sequence[Row]) -> str:
    """Return the section with the time of every method on every hard family."""
    keys = _keys(rows)
    if not keys:
        return section("Hard families", "Not run.")
    methods = list(dict.fromkeys(row["method"] for row in rows if row["case"] in keys))
    lines = []
    for key in keys:
        own = select(rows, case=key)
        shape = "{N} x {M}, {K}".format(**own[0])
        lines.append([TITLES.get(key, key), shape, *(_cell(select(own, method=method)) for method in methods)])
    headers = ("family", "N x M, K", *(NAMES.get(method, method) for method in methods))
    text = (
        "No sign pattern fits these data. Medians; `>` marks what the time limit cut, *no bound* a big-M program that "
        "cannot be stated because the coefficients of a solution have no bound (fewer rows than columns, or dependent "
        f"ones). {_verdict(rows, keys)}"
    )
    return section("Hard families", text, picture("exact", "hard", "Time of every method on the hard families"),
                   markdown_table(headers, lines), command=COMMAND + ",".join(keys))


def _keys(rows: Sequence[Row]) -> list[str]:
    return [key for key in dict.fromkeys(row["case"] for row in rows) if key.startswith("hard-")]


def _cell(rows: Sequence[Row]) -> str:
    if not rows:
        return "-"
    wrong = sum(bool(row["faults"]) for row in rows)
    if timing(rows).runs:
        return f"{timing(rows)}{f' ({wrong} WRONG)' if wrong else ''}"
    reason = rows[0]["reason"]
    words = {"big-M": "no bound", "patterns": "too many", "licence": "licence"}
    return next((word for key, word in words.items() if key in reason), rows[0]["status"])


def _verdict(rows: Sequence[Row], keys: Sequence[str]) -> str:
    lost = losses([row for row in rows if row["case"] in keys])
    return f"**Where a peer wins:** {'; '.join(lost)}." if lost else "No peer is faster here."


def losses(rows: Sequence[Row]) -> list[str]:
    """Say which peers, right each time, were faster than branch and bound, or at listing all patterns than our list."""
    peers = [method for method in COLOURS if method not in OURS]
    return [*_faster(rows, "bnb", peers), *_faster(rows, "enumerate", ["reference_enumeration"])]


def _faster(rows: Sequence[Row], ours: str, peers: Sequence[str]) -> list[str]:
    found: dict[str, list[str]] = {}
    for key in dict.fromkeys(row["case"] for row in rows if row["method"] == ours and not row["isolated"]):
        own = select(rows, case=key)
        mine = timing(select(own, method=ours))
        for method in peers:
            theirs = select(own, method=method)
            other = timing(theirs)
            right = not any(row["faults"] for row in theirs)
            if right and other.runs and not other.censored and other.seconds < mine.seconds:
                found.setdefault(method, []).append(f"{TITLES.get(key, key)} ({other} against {mine})")
    return [f"{NAMES[method]} is faster than {NAMES[ours]} on {', '.join(where)}" for method, where in found.items()]


def peers(rows: Sequence[Row]) -> str:
    """Return the section with the mixed-integer solvers' own figures beside the re-solved ones."""
    lines = []
    told = [row for row in rows if "raw_objective" in notes(row)]
    for key, method in dict.fromkeys((row["case"], row["method"]) for row in told):
        own = select(told, case=key, method=method)
        raw = [notes(row)["raw_objective"] for row in own]
        drift = [(value - row["objective"]) / row["objective"] for value, row in zip(raw, own, strict=True)]
        proved = [row for row in own if row["lower_bound"] is not None]
        bounds = [(row["lower_bound"] - row["objective"]) / row["objective"] for row in proved]
        lines.append([
            key, NAMES.get(method, method), len(own), f"{raw[0]:.10g}", f"{own[0]['objective']:.10g}",
            f"{max(drift, key=abs):+.1e}", f"{max(bounds):+.1e}" if bounds else "-",
            f"{max(notes(row)['raw_violation'] for row in own):.1e}",
        ])
    headers = ("case", "solver", "seeds", "its objective (first seed)", "re-solved", "worst drift", "largest bound",
               "worst sign violation")
    text = (
        "A solver's coefficients are rounded to the signs they mean, and solved for again exactly. *Drift* is that of "
        "its own objective from the re-solved one, relative; *largest bound* that of its bound: above zero it is none."
    )
    keys = ",".join(dict.fromkeys(row["case"] for row in told))
    return section("What the mixed-integer solvers said", text, markdown_table(headers, lines), command=COMMAND + keys)


def figures(rows: Sequence[Row]) -> dict[str, Any]:
    """Draw the hard families and the article's sizes: one row of dots each, seconds on a logarithmic axis."""
    titles = {key: _title(rows, key) for key in _keys(rows)}
    found = {"hard": _dots(rows, titles, "Hard families: time to proven optimality")}
    paper = [key for key in dict.fromkeys(row["case"] for row in rows) if key.startswith("paper-")]
    titles = {key: "K = {K}, {N} x {M}".format(**select(rows, case=key)[0]) for key in paper}
    found["paper"] = _dots(rows, titles, "The article's table of computing times")
    return {name: figure for name, figure in found.items() if figure is not None}


def _title(rows: Sequence[Row], key: str) -> str:
    shape = "{N} x {M}, K = {K}".format(**select(rows, case=key)[0])
    return f"{TITLES.get(key, key)}\n{shape}"


def _dots(rows: Sequence[Row], titles: dict[str, str], title: str) -> Any:
    if not titles:
        return None
    with drawing() as plt:
        height = 1.6 + (0.55 if "\n" in next(iter(titles.values())) else 0.36) * len(titles)
        figure, ax = plt.subplots(figsize=(10, height), layout="constrained")
        shown = set()
        for place, key in enumerate(titles):
            own, cut = select(rows, case=key), 0
            for method in dict.fromkeys(row["method"] for row in own):
                chosen = timing(select(own, method=method))
                if not chosen.runs or method not in COLOURS:
                    continue
                shown.add(method)
                size = 11 if method == "bnb" else 8
                if chosen.censored:  # all at the limit: side by side
                    ax.plot([chosen.seconds * 1.25**cut], [place], ">", color=COLOURS[method], markersize=size)
                    cut += 1
                else:
                    ax.plot([chosen.seconds], [place], "o", color=COLOURS[method], markersize=size, zorder=3)
        ax.set_yticks(range(len(titles)), list(titles.values()))
        ax.invert_yaxis()
        ax.set(xscale="log", xlabel="time (median); arrows, side by side: cut by the time limit", title=title)
        plain_ticks(ax.xaxis, clock)
        for method in (method for method in COLOURS if method in shown):
            ax.plot([], [], "o", color=COLOURS[method], label=NAMES[method])
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def nodes_line(rows: Sequence[Row], key: str, method: str) -> list[object] | None:
    """Return the nodes of a method and how many it did in a second."""
    own = select(rows, case=key, method=method, nodes=bool, seconds=bool)
    if not own:
        return None
    rate = statistics.median(row["nodes"] / row["seconds"] for row in own)
    return [key, NAMES.get(method, method), number(statistics.median(row["nodes"] for row in own)), number(rate)]
