"""From how many groups on branch and bound is faster than enumeration: median processor times on the same instances.

Esposito, Cerrato and Locatelli (2024), section "Runtime vs. Solution Quality", compare Algorithms 2 and 3 this way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log

from benchmarks.figures import COLOURS, NAMES, clock, drawing, picture, plain_ticks
from benchmarks.render import Timing, markdown_table, number, section, select, timing
from benchmarks.table import Row

PREFIX = "cross-"
PAIRS = (("bnb", "enumerate"), ("reference_bnb", "reference_enumeration"))


@dataclass(frozen=True)
class Crossing:
    """Where the first of two methods becomes the faster one for good.

    ``first`` is the least K from which on it is faster wherever both were measured, None if it is not at the largest;
    ``place`` is where the lines through the two neighbouring medians cross in logarithmic time, None if it is faster
    from the smallest K on. ``changes`` counts how often the faster of the two changes.
    """

    first: int | None
    place: float | None
    changes: int

    def __str__(self) -> str:
        if self.first is None:
            return "branch and bound is not faster at the largest K measured"
        if self.place is None:
            return f"branch and bound is faster at every K measured, from K = {self.first} on"
        before = f"; below, the faster of the two changes {self.changes} times" if self.changes > 1 else ""
        where = f"and the times cross at K = {self.place:.1f}{before}"
        return f"branch and bound is faster from K = {self.first} on, {where}"


def crossing(sizes: Sequence[int], searched: Sequence[float], listed: Sequence[float]) -> Crossing:
    """Return where ``searched`` falls below ``listed``, both in seconds at increasing sizes."""
    lead = [log(theirs / ours) for ours, theirs in zip(searched, listed, strict=True)]
    faster = [value > 0 for value in lead]
    changes = sum(a != b for a, b in pairwise(faster))
    if not faster or not faster[-1]:
        return Crossing(None, None, changes)
    if all(faster):
        return Crossing(sizes[0], None, changes)
    last = max(i for i, value in enumerate(faster) if not value)
    share = -lead[last] / (lead[last + 1] - lead[last])
    return Crossing(sizes[last + 1], sizes[last] + share * (sizes[last + 1] - sizes[last]), changes)


def medians(rows: Sequence[Row], method: str) -> dict[int, Timing]:
    """Return the median processor time of a method for each K at which it ran."""
    own = select(rows, case=lambda key: key.startswith(PREFIX), method=method, seconds=lambda value: value is not None)
    worked = [row | {"seconds": row["cpu_seconds"]} for row in own]
    return {size: timing(select(worked, K=size)) for size in sorted({row["K"] for row in worked})}


def found(rows: Sequence[Row], pair: tuple[str, str]) -> Crossing | None:
    """Return the crossing of a pair of methods; None where they did not run."""
    searched, listed = (medians(rows, method) for method in pair)
    sizes = sorted(searched.keys() & listed.keys())
    if not sizes:
        return None
    return crossing(sizes, [searched[size].seconds for size in sizes], [listed[size].seconds for size in sizes])


def part(rows: Sequence[Row], command: str) -> str:
    """Return the section of the page: where the times cross, the picture and the table."""
    own = select(rows, case=lambda key: key.startswith(PREFIX), seconds=lambda value: value is not None)
    if not own:
        return ""
    methods = [method for pair in PAIRS for method in pair if select(own, method=method)]
    times = {method: medians(own, method) for method in methods}
    lines = []
    for size in sorted({row["K"] for row in own}):
        nodes = [row["nodes"] for row in select(own, method="bnb", K=size) if row["nodes"] is not None]
        shown = [str(times[method].get(size, "-")) for method in methods]
        lines.append([f"K = {size}", *shown, number(sorted(nodes)[len(nodes) // 2]) if nodes else "-"])
    said = [f"{who}: {where}." for who, pair in zip(("PartLS", "Published algorithms"), PAIRS, strict=True)
            if (where := found(own, pair)) is not None]
    seeds, limit = len({row["seed"] for row in own}), max(row["time_limit"] for row in own)
    instances = f"{seeds} instances" if seeds > 1 else "instance"
    text = (
        f"N = {own[0]['N']}, M = {own[0]['M']}; every method runs on the same {instances} for each K, for at "
        f"most {limit:.0f} s. Times are medians of processor time, on one thread; one that was cut is a lower bound. "
        "The place of a crossing is interpolated between the two neighbouring K in logarithmic time. "
        f"{' '.join(said)}"
    )
    drawn = picture("scaling", "crossing", "Time of branch and bound and of enumeration against the number of groups")
    table = markdown_table(("groups", *(NAMES[method] for method in methods), "nodes, PartLS"), lines)
    keys = ",".join(dict.fromkeys(row["case"] for row in own))
    return section("Branch and bound against enumeration", text, drawn, table, command=f"{command} --cases {keys}")


def losses(rows: Sequence[Row]) -> list[str]:
    """Say for which K a published method is faster than both of ours."""
    ours = [medians(rows, method) for method in PAIRS[0]]
    said = []
    for method in PAIRS[1]:
        where = [
            f"{size}" for size, theirs in medians(rows, method).items()
            if all(size in own and theirs.seconds < own[size].seconds for own in ours)
        ]
        if where:
            sizes = ", ".join(where)
            said.append(f"{NAMES[method]} is faster than our branch and bound and our enumeration at K = {sizes}")
    return said


def draw(rows: Sequence[Row]) -> object | None:
    """Return the picture: time against K, the crossings as lines; None where nothing ran."""
    times = {method: medians(rows, method) for pair in PAIRS for method in pair}
    if not any(times.values()):
        return None
    with drawing() as plt:
        figure, ax = plt.subplots(figsize=(8, 4.6), layout="constrained")
        for method, own in times.items():
            if own:
                ax.plot(list(own), [value.seconds for value in own.values()], "o-", color=COLOURS[method], markersize=5,
                        label=NAMES[method])
            cut = [size for size, value in own.items() if value.censored]
            ax.plot(cut, [own[size].seconds for size in cut], "^", color=COLOURS[method], markersize=11)
        ax.set(xlabel="groups K", ylabel="processor time, median over seeds", yscale="log")
        plain_ticks(ax.yaxis, clock)
        for pair in PAIRS:
            where = found(rows, pair)
            if where is not None and where.place is not None:
                ax.axvline(where.place, color=COLOURS[pair[0]], linestyle=":", linewidth=1.2)
                ax.text(where.place, 1.01, f"{where.place:.1f}", transform=ax.get_xaxis_transform(), ha="center",
                        color=COLOURS[pair[0]], fontsize=10)
        sizes = sorted({size for own in times.values() for size in own})
        ax.set_xticks(sizes if len(sizes) <= 20 else sizes[::2])
        ax.legend(loc="upper left")
    return figure
