"""The page of the study ``policies``, made from its tidy table."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence

from benchmarks.render import duration, head, markdown_table, number, section, select, verdicts
from benchmarks.table import Row, notes

WHOLE = "python -m benchmarks --study policies"
NAMES = {
    "uncorrelated": "N = 200, M = 95, K = 20, uncorrelated", "small": "Few groups, correlation 0.9",
    "correlated": "Correlation 0.9", "few-rows": "M = 40 on 60 rows, correlation 0.9", "subset-sum": "Subset sums",
    "penalised": "Fewer rows than columns, eta = 30", "penalised-more": "Fewer rows than columns, eta = 100",
    "strong-penalty": "eta = 10000", "weak-penalty": "N = 200, M = 95, K = 20, eta = 1",
    "toeplitz": "N = 400, M = 200, K = 20, neighbouring columns alike",
}


def page(rows: list[Row]) -> str:
    """Return the page as Markdown."""
    keys = list(dict.fromkeys(row["case"] for row in rows))
    text = (
        "Processor time of one thread, medians over seeds, preparation included. *Beside the better* is the median "
        "over the seeds of the time of a policy divided by that of its faster member; a search that ends at its limit "
        "of clock time counts with the processor time it had. "
        "A policy named \"cheap then shor\" may ask either of active-set and Shor's bound. "
        "Searches of a few milliseconds scatter on a busy machine: active-set and fixed active-set are the same search."
    )
    return "\n\n".join([
        head("Policies", text, rows), _summary(rows, keys), *(_family(key, select(rows, case=key)) for key in keys),
        verdicts(rows, WHOLE),
    ]) + "\n"


def _summary(rows: list[Row], keys: Sequence[str]) -> str:
    """Return what the policy that decides by prices costs on each family, and whether that is what it may cost."""
    from benchmarks.studies.policies import LEAST_GAIN, MOST

    lines, best = [], 1.0
    for key in keys:
        own = _by_name(select(rows, case=key))
        for name in own:
            if name.startswith("cheap then"):
                ratio = beside_the_better(own, name)
                lines.append([NAMES.get(key, key), name, f"{ratio:.2f}", "yes" if ratio <= MOST else "NO"])
            if _strong(name):
                best = min(best, beside_the_better(own, name))
    told = (
        f"On its best family a policy takes {best:.2f} of the time of its better member "
        f"(goal: at most {1 / LEAST_GAIN:.2f}: {'reached' if best <= 1 / LEAST_GAIN else 'MISSED'}). "
        f"`Fixed(\"active-set\")` {_as_plain(rows)}."
    )
    headers = ("family", "policy", "beside the better", f"at most {MOST}")
    return section("What switching costs", told, markdown_table(headers, lines), command=WHOLE)


def _as_plain(rows: list[Row]) -> str:
    """Compare the runs that both have finished: a limit of clock time falls anywhere."""
    plain, fixed = (
        {(row["case"], row["seed"]): row for row in _all(rows, name) if row["status"] == "optimal"}
        for name in ("active-set", "fixed active-set")
    )
    both = [(plain[key], fixed[key]) for key in plain.keys() & fixed.keys()]
    same = all(one["nodes"] == other["nodes"] for one, other in both)
    ratio = statistics.median(other["cpu_seconds"] / one["cpu_seconds"] for one, other in both)
    nodes = "the same nodes" if same else "OTHER nodes"
    return f"visits {nodes} as `\"active-set\"`, in {ratio:.2f} of its time (median)"


def _family(key: str, rows: list[Row]) -> str:
    own, lines = _by_name(rows), []
    for name, runs in own.items():
        nodes = [row["nodes"] for row in runs if row["nodes"] is not None]
        asked = [sum(n for what, n in notes(row).items() if what.startswith("bounds by")) for row in runs]
        ratio = f"{beside_the_better(own, name):.2f}" if _strong(name) else "-"
        proved = sum(row["status"] == "optimal" for row in runs)
        lines.append([name, duration(statistics.median(_seconds(runs))), ratio,
                      number(statistics.median(nodes)) if nodes else "-", number(statistics.median(asked)),
                      f"{proved} of {len(runs)}"])
    row = rows[0]
    shape = f"N = {row['N']}, M = {row['M']}, K = {row['K']}; {len({row['seed'] for row in rows})} seeds."
    headers = ("search", "time", "beside the better", "nodes", "bounds asked", "proved")
    return section(NAMES.get(key, key), shape, markdown_table(headers, lines), command=f"{WHOLE} --cases {key}")


def beside_the_better(own: dict[str, list[Row]], policy: str) -> float:
    """Return the median over seeds of the time of a policy beside the faster of its members."""
    cheap, strong = _seconds(own["active-set"]), _seconds(own[_strong(policy)])
    return statistics.median(
        mine / min(pair) for mine, *pair in zip(_seconds(own[policy]), cheap, strong, strict=True)
    )


def _strong(name: str) -> str:
    """Return the strong member of a policy, "" for what is none."""
    from benchmarks.studies.policies import POLICIES

    return next((name.removeprefix(policy + " ") for policy in POLICIES if name.startswith(policy + " ")), "")


def _all(rows: Sequence[Row], name: str) -> list[Row]:
    return [row for row in rows if json.loads(row["method_settings"])["relaxation"] == name]


def _by_name(rows: Sequence[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: row["seed"]):
        found.setdefault(json.loads(row["method_settings"])["relaxation"], []).append(row)
    return found


def _seconds(rows: Sequence[Row]) -> list[float]:
    """Return the processor time of each run; a run that has none has taken all of its time."""
    return [row["cpu_seconds"] if row["cpu_seconds"] is not None else row["time_limit"] for row in rows]
