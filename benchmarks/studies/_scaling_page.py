"""The page of the study ``scaling``, made from its tidy table."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from benchmarks.figures import COLOURS, NAMES, clock, drawing, picture, plain_ticks
from benchmarks.render import head, markdown_table, number, power_law, section, select, timing, verdicts
from benchmarks.studies import _crossing
from benchmarks.table import Row

WHOLE = "python -m benchmarks --study scaling"
# prefix of the cases -> what grows, what is fixed, and the methods
AXES = {
    "n-": ("N", "M = 60, K = 8", ("bnb", "lstsq")),
    "m-": ("M", "N = 3M, K = 10", ("bnb",)),
    "k-": ("K", "N = 360, M = 120", ("bnb", "enumerate")),
}


def page(rows: list[Row]) -> str:
    """Return the page as Markdown."""
    drawn = picture("scaling", "growth", "Time and memory against rows, columns and groups") if rows else ""
    grown = [_growth(prefix, rows) for prefix in AXES]
    parts = [_head(rows), drawn, *grown, _crossing.part(rows, WHOLE), _threads(rows), verdicts(rows, WHOLE)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(rows: list[Row]) -> str:
    text = (
        "Normal features and a target that no sign pattern fits. Where memory is shown every run is a new process, so "
        "that its memory is its own; time is that of the call, medians over seeds, and memory the growth of the "
        "resident set during it. Exponents are those of power laws fitted in logarithms, in N and M and where the "
        "medians grow with every step; time against K follows no power law."
    )
    return head("Scaling", text, rows)


def points(rows: Sequence[Row], prefix: str, method: str) -> list[tuple[float, list[Row]]]:
    """Return (size, rows) for each size that ran, in order."""
    letter = AXES[prefix][0]
    own = select(rows, case=lambda key: key.startswith(prefix), method=method, seconds=lambda value: value is not None)
    sizes = sorted({row[letter] for row in own})
    return [(size, select(own, **{letter: size})) for size in sizes]


def memory_mb(rows: Sequence[Row]) -> float:
    """Return the median growth of the process in MiB; a page that was there already is not counted."""
    return statistics.median(max(row["peak_mb"] - row["resident_mb"], 0.0) for row in rows)


def exponent(prefix: str, found: Sequence[tuple[float, list[Row]]]) -> str:
    """Return the fitted power law, empty where there is none to fit: in K, and where the medians do not increase."""
    sizes, seconds = [size for size, _ in found], [timing(own).seconds for _, own in found]
    if prefix == "k-" or len(found) < 2 or seconds != sorted(seconds):
        return ""
    return f"{AXES[prefix][0]}^{power_law(sizes, seconds):.2f}"


def _growth(prefix: str, rows: list[Row]) -> str:
    letter, fixed, methods = AXES[prefix]
    lines, said = [], []
    for method in methods:
        found = points(rows, prefix, method)
        for size, own in found:
            nodes = [row["nodes"] for row in own if row["nodes"] is not None]
            lines.append([f"{letter} = {size:,}", NAMES[method], timing(own), number(memory_mb(own)),
                          number(statistics.median(nodes)) if nodes else "-"])
        if law := exponent(prefix, found):
            said.append(f"{NAMES[method]}: seconds grow as {law}.")
    if not lines:
        return ""
    keys = ",".join(dict.fromkeys(row["case"] for row in rows if row["case"].startswith(prefix)))
    title = {"n-": "Rows", "m-": "Columns", "k-": "Groups"}[prefix]
    table = markdown_table(("size", "method", "time", "memory, MiB", "nodes"), lines)
    return section(title, f"{fixed}. {' '.join(said)}".rstrip(), table, command=f"{WHOLE} --cases {keys}")


def _threads(rows: list[Row]) -> str:
    own = select(rows, case="threads", seconds=lambda value: value is not None)
    if not own:
        return ""
    counts = sorted({row["threads"] for row in own})
    times = {n: timing(select(own, threads=n)) for n in counts}
    lines = [[n, times[n], f"{times[counts[0]].seconds / times[n].seconds:.2f}x",
              number(memory_mb(select(own, threads=n)))] for n in counts]
    shape = "N = {N}, M = {M}, K = {K}".format(**own[0])
    text = f"Branch and bound, {shape}; the machine is named above, and more threads than cores cannot help."
    table = markdown_table(("threads", "time", "speed-up", "memory, MiB"), lines)
    return section("Threads", text, table, command=f"{WHOLE} --cases threads")


def figures(rows: list[Row]) -> dict[str, Any]:
    """Draw time and memory against each size on logarithmic axes, fitted exponents in the legend; and the crossing."""
    with drawing() as plt:
        figure, axes = plt.subplots(2, 3, figsize=(13, 6.6), layout="constrained", sharex="col")
        for column, prefix in enumerate(AXES):
            for method in AXES[prefix][2]:
                found = points(rows, prefix, method)
                if not found:
                    continue
                sizes = [size for size, _ in found]
                law = exponent(prefix, found)
                label = f"{NAMES[method]}: {_raised(law)}" if law else NAMES[method]
                style = {"color": COLOURS[method], "marker": "o"}
                axes[0][column].plot(sizes, [timing(own).seconds for _, own in found], label=label, **style)
                axes[1][column].plot(sizes, [max(memory_mb(own), 0.1) for _, own in found], **style)
        for column, (letter, fixed) in enumerate((("rows N", AXES["n-"][1]), ("columns M", AXES["m-"][1]),
                                                  ("groups K", AXES["k-"][1]))):
            axes[0][column].set(xscale="log", yscale="log", title=fixed, ylabel="time" if column == 0 else "")
            axes[1][column].set(xscale="log", yscale="log", xlabel=letter, ylabel="memory, MiB" if column == 0 else "")
            if axes[0][column].lines:
                axes[0][column].set_ylim(top=8 * axes[0][column].get_ylim()[1])  # room for the legend
                axes[0][column].legend(loc="upper left")
            plain_ticks(axes[0][column].yaxis, clock)
            plain_ticks(axes[1][column].yaxis)
            plain_ticks(axes[1][column].xaxis)
    crossed = _crossing.draw(rows)
    return {"growth": figure} | ({"crossing": crossed} if crossed is not None else {})


def _raised(law: str) -> str:
    """Return a power law with its exponent set high."""
    return "${}^{{{}}}$".format(*law.split("^"))


def losses(rows: list[Row]) -> list[str]:
    """Say where one least squares fit, or a published method on few groups, is faster than ours."""
    theirs = dict(points(rows, "n-", "lstsq"))
    found = [(size, timing(own), timing(theirs[size])) for size, own in points(rows, "n-", "bnb") if size in theirs]
    where = [f"N = {size:,} ({other} against {mine})" for size, mine, other in found if other.seconds < mine.seconds]
    said = [f"{NAMES['lstsq']}, which knows no signs, is faster at {', '.join(where)}"] if where else []
    return said + _crossing.losses(rows)
