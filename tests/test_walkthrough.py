"""The walk-through of docs/adding-a-relaxation.md works as printed, and what it adds is a true lower bound."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import partls
from formulations import Instance, SignPattern
from relaxations import ActiveSetRelaxation, Relaxation
from tests.families import FAMILIES
from tests.oracles import brute_force
from tests.tolerances import VANISHING, same_optimum

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "adding-a-relaxation.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """Write the page's file where Python finds it, run the other blocks in order, and return their names."""
    (file,) = [block for block in BLOCKS if block.startswith("# look_ahead.py\n")]
    (tmp_path / "look_ahead.py").write_text(file, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    names: dict[str, Any] = {}
    for block in BLOCKS:
        if block is not file:
            exec(compile(block, "docs/adding-a-relaxation.md", "exec"), names)
    yield names
    sys.modules.pop("look_ahead")


def test_the_page_runs_and_its_relaxation_is_one(page: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    relaxation = page["LookAheadRelaxation"]()
    assert isinstance(relaxation, Relaxation)
    assert page["result"].counts["closed by look-ahead"] > 0
    assert "look-ahead" in str(page["comparison"])
    for family in ("correlated", "duplicates", "integers", "l2", "l1", "underdetermined"):
        for seed in range(2):
            check_every_node(relaxation, FAMILIES[family](seed))


def test_from_a_problem_on_paper_to_a_searched_tree_takes_less_than_25_lines(page: dict[str, Any]) -> None:
    lines = [line for line in BLOCKS[0].splitlines() if line]
    assert "result.n_nodes" in lines[-1]
    assert len(lines) < 25
    plain = partls.solve(page["X"], page["y"], page["groups"])
    searched = partls.solve(page["X"], page["y"], page["groups"], relaxation=page["mine"])
    assert searched.status is partls.Status.OPTIMAL
    assert searched.objective == same_optimum(plain.objective, page["y"])
    assert searched.counts["closed by big-m"] > 0
    assert {row.relaxation for row in page["table"].rows} == {"active-set", "big-m"}


def check_every_node(relaxation: Relaxation, case: Any) -> None:
    """Check at every node: at least the cheap bound, at most the optimum of brute force; and solve with it."""
    instance = Instance(case.X, case.y, case.labels, **case.options)
    oracle = brute_force(case.X, case.y, case.labels, **case.options)
    strong, cheap = relaxation.prepare(instance), ActiveSetRelaxation().prepare(instance)
    slack = VANISHING * float(case.weighted_y @ case.weighted_y)
    for values in product((-1, 0, 1), repeat=case.n_groups):
        signs = SignPattern(values)
        true = min(value for pattern, value in oracle.objectives.items() if signs.contains(SignPattern(pattern)))
        assert cheap.bound(signs).value <= strong.bound(signs).value <= true + slack
    result = partls.solve(case.X, case.y, case.labels, relaxation=relaxation, **case.options)
    assert result.objective == same_optimum(oracle.objective, case.weighted_y)
