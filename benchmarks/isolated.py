"""One run in a process of its own: a request on standard input, the row and the answer on standard output."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Any

import numpy as np

from benchmarks.contract import Answer
from benchmarks.table import Row

TINY = {"N": 24, "M": 12, "K": 4}


def request(case: Any, run: Any, seed: int) -> str:
    return json.dumps({"case": asdict(case) | {"runs": []}, "run": asdict(run), "seed": seed})


def response(text: str) -> tuple[Row, Answer]:
    row, answer = json.loads(text.splitlines()[-1])
    coef = None if answer["coef"] is None else np.array(answer["coef"])
    return row, Answer(**answer | {"coef": coef})


def main() -> None:
    from threadpoolctl import threadpool_limits

    from benchmarks.registry import datasets
    from benchmarks.runner import Case, Run, measure

    asked = json.loads(sys.stdin.read())
    case, run = Case(**asked["case"]), Run(**asked["run"])
    problem = datasets()[case.dataset](asked["seed"], **case.settings)
    tiny = datasets()["synthetic"](0, **TINY)
    with threadpool_limits(1):
        if not run.make().reason_to_skip(tiny):
            run.make().warm_up(tiny)  # not on the problem itself, whose memory would stay with the process
        row, answer = measure(case, run, problem, asked["seed"], warm_up=False)
    coef = None if answer.coef is None else answer.coef.tolist()
    print(json.dumps([row, vars(answer) | {"coef": coef}]))


if __name__ == "__main__":
    main()
