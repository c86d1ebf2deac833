"""The page of the study ``distributed``, made from its tidy table."""

from __future__ import annotations

import json
import statistics
from typing import Any

from benchmarks.figures import drawing, picture, plain_ticks
from benchmarks.render import duration, head, markdown_table, number, section, select
from benchmarks.schedule import LATENCY, WORKERS, Step, enlarged, speed_ups
from benchmarks.table import Row, notes

COMMAND = "python -m benchmarks --study distributed"
SPEED_UP_MUST, SERIAL_MUST = 1.7, 30.0
LARGER = 500  # times the recorded tree, for the second replay


def page(rows: list[Row]) -> str:
    """Return the page as Markdown."""
    text = (
        "Worker processes of a Dask cluster on this machine, one thread each, started and warm before the clock runs. "
        "Every method explores the same tree, node for node: tasks are dispatched and merged in an order that does not "
        "depend on who explores them."
    )
    parts = [head("Beyond one process", text, rows), _tree(rows), _replay(rows), _tall(rows)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _label(row: Row) -> str:
    settings = json.loads(row["method_settings"])
    return {
        "bnb": "one thread", "bnb_threads": f"{settings.get('n_jobs')} threads",
        "bnb_dask": f"{settings.get('workers')} Dask worker{'s' if settings.get('workers') != 1 else ''}",
        "bnb_recorded": "one thread, recorded",
    }[row["method"]]


def _which(row: Row) -> tuple[str, int]:
    return row["case"], row["seed"]


def _tree(rows: list[Row]) -> str:
    """How much faster, how efficient, what a subtree costs beyond its own work."""
    own = [row for row in rows if row["case"].startswith("tree") and row["status"] == "optimal"]
    alone = {_which(row): row for row in select(own, method="bnb")}
    own = [row for row in own if _which(row) in alone]
    if not own:
        return ""
    lines = []
    for label in dict.fromkeys(_label(row) for row in own):
        group = [row for row in own if _label(row) == label]
        gains = [alone[_which(row)]["seconds"] / row["seconds"] for row in group]
        settings = json.loads(group[0]["method_settings"])
        workers = settings.get("workers") or settings.get("n_jobs") or 1
        extra = [row["nodes"] / alone[_which(row)]["nodes"] - 1 for row in group]
        gain = statistics.median(gains)
        lines.append([
            label, duration(statistics.median(row["seconds"] for row in group)), f"{number(gain)}x",
            f"{gain / workers:.0%}", _overhead(group, workers), f"{max(extra):.1%}",
        ])
    headers = ("who explores", "median", "speed-up", "efficiency", "overhead per subtree", "nodes that one thread "
               "would not explore")
    trees = "; ".join("N = {N}, M = {M}, K = {K}: {nodes:,} nodes".format(**row) for row in alone.values())
    told = (
        f"{trees}. "
        "*Overhead* is the time of all workers that is not spent in a subtree, shared among the subtrees: messages, "
        "merging, waiting at the end."
    )
    return section("A large tree", told, markdown_table(headers, lines), _verdict(own, alone), command=COMMAND)


def _overhead(group: list[Row], workers: int) -> str:
    values = [
        (workers * row["seconds"] - notes(row)["busy"]) / notes(row)["subtrees"]
        for row in group if notes(row).get("subtrees")
    ]
    return duration(max(statistics.median(values), 0.0)) if values else "-"


def _verdict(own: list[Row], alone: dict[tuple[str, int], Row]) -> str:
    """Say what two workers gain on the trees that are large enough for the promise."""
    large = {which: row["seconds"] for which, row in alone.items() if row["seconds"] >= SERIAL_MUST}
    threads = {_which(row): row["seconds"] for row in select(own, method="bnb_threads")}
    two = [row for row in select(own, method="bnb_dask") if json.loads(row["method_settings"])["workers"] == 2]
    two = [row for row in two if _which(row) in large and _which(row) in threads]
    if not two:
        return f"No tree here takes one thread {SERIAL_MUST:.0f} s, so that nothing is promised for two workers."
    gain = min(large[_which(row)] / row["seconds"] for row in two)
    beside = min(threads[_which(row)] / row["seconds"] for row in two)
    return (
        f"Two workers, on trees of at least {SERIAL_MUST:.0f} s: {number(gain)} times as fast as one thread at least "
        f"(must: {SPEED_UP_MUST}, {'met' if gain >= SPEED_UP_MUST else 'missed'}), and {number(beside)} times as fast "
        "as two threads."
    )


def _replays(rows: list[Row]) -> list[dict[str, Any]]:
    """Return what each recorded problem tells: the gain by number of workers, of its tree and of a larger one."""
    message = _client_seconds(rows)
    found = []
    for row in select(rows, method="bnb_recorded"):
        note = notes(row)
        steps = [Step(after, seconds) for after, seconds in note.get("steps", [])]
        if steps:
            larger = enlarged(steps, row["nodes"], LARGER)
            work = sum(step.seconds for step in larger)
            found.append({
                "note": note, "message": message, "tasks": len(larger), "work": work,
                "recorded": speed_ups(steps, note["before"], row["seconds"], message),
                "larger": speed_ups(larger, note["before"], note["before"] + work, message),
            })
    return found


def _client_seconds(rows: list[Row]) -> float:
    """Return the processor time of client and scheduler for one bundle of subtrees, measured on a cluster."""
    values = [row["cpu_seconds"] / notes(row)["bundles"] for row in select(rows, method="bnb_dask")
              if notes(row).get("bundles")]
    return statistics.median(values) if values else 0.0


def _replay(rows: list[Row]) -> str:
    replays = _replays(rows)
    if not replays:
        return ""
    first = replays[0]
    lines = [[name, *(f"{number(gain)}x" for gain in first[key].values())]
             for name, key in (("the recorded tree", "recorded"), (f"{LARGER} times as large", "larger"))]
    told = (
        f"The {first['note']['subtrees']:,} subtrees of the first problem, {number(first['note']['busy'])} s in all, "
        "each with the seconds it took, replayed by the same schedule: a subtree is dispatched when the one that the "
        f"search waits for has been merged. Assumed: {duration(LATENCY)} for a message each way, "
        f"{duration(first['message'])} of client and scheduler for each message (processor time measured with Dask), "
        f"workers as fast as this machine's. The second line is a tree {LARGER} times as large "
        f"({number(first['work'] / 3600)} h of one thread in {first['tasks']:,} tasks, which grow with the nodes "
        "explored): its times are drawn from those recorded, and it is assumed that open "
        "subtrees never run out. In the recorded tree they do, and its window of dispatched subtrees, which grows with "
        "the nodes explored, is small for most of the time."
    )
    drawn = picture("distributed", "replay", "Predicted speed-up against the number of workers")
    table = markdown_table(("workers", *map(str, WORKERS)), lines)
    return section("Replayed on up to 1000 workers", told, drawn, table, command=COMMAND)


def _tall(rows: list[Row]) -> str:
    own = [row for row in rows if row["case"].startswith("tall") and row["seconds"]]
    lines = []
    for case, source in dict.fromkeys((row["case"], json.loads(row["method_settings"])["source"]) for row in own):
        there = [row for row in own if row["case"] == case and json.loads(row["method_settings"])["source"] == source]
        sums = statistics.median([row["seconds"] for row in select(there, method="tall_sum")] or [float("nan")])
        for method, name in (("tall_sum", "one sum of every column"), ("tall_fold", "folding"),
                             ("tall_tsqr", "`dask.array.linalg.tsqr`"), ("tall_fit", "whole fit, proven optimal")):
            group = select(there, method=method)
            if group:
                seconds = statistics.median(row["seconds"] for row in group)
                lines.append([
                    name, source, f"{group[0]['N']:,}", group[0]["M"], duration(seconds),
                    f"{group[0]['N'] / seconds:,.0f}", f"{number(seconds / sums)}x",
                ])
    if not lines:
        return ""
    headers = ("what", "blocks from", "rows", "columns", "median", "rows/s", "beside the sum")
    told = (
        "Two Dask workers. *Memory*: the blocks lie in the workers. *Parquet*: they are read from a file, by Dask for "
        "the sum, by pyarrow for the folding. `tsqr` factors the rows as they are; the folding also weighs, centres "
        "and looks for missing values, in one pass."
    )
    return section("Tall data", told, markdown_table(headers, lines), command=COMMAND)


def figures(rows: list[Row]) -> dict[str, Any]:
    """Draw the predicted speed-up of the replays."""
    with drawing() as plt:
        figure, ax = plt.subplots(figsize=(8.5, 4.6), layout="constrained")
        for i, replayed in enumerate(_replays(rows)):
            for key, colour, name in (("recorded", "#0072B2", "recorded trees"),
                                      ("larger", "#D55E00", f"trees {LARGER} times as large")):
                gains = replayed[key]
                ax.plot(list(gains), list(gains.values()), "o-", color=colour, label=None if i else name, markersize=4)
        limits = (1, 1000)
        ax.plot(limits, limits, ":", color="#7F7F7F", label="as many times as workers")
        ax.set(xscale="log", yscale="log", xlabel="workers", ylabel="predicted speed-up over one thread",
               title="The same schedule, replayed on many workers")
        plain_ticks(ax.xaxis)
        plain_ticks(ax.yaxis)
        ax.legend(loc="upper left")
    return {"replay": figure}
