"""The record of a search: a row per node, the same for every number of workers, and its picture."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import partls
from partls import BranchAndBound, InvalidInput, NodeTrace, PartLSRegressor, SearchTrace
from partls.plotting import SearchTreeDisplay
from relaxations import Adaptive, ByDepth, CheapThenStrong, Fixed, Price
from tests.test_plotting import assert_readable
from tests.test_switching import Exact, large_tree, tree

SEARCHES: dict[str, Any] = {
    "active-set": lambda: "active-set",
    "auto": lambda: "auto",
    "unconstrained": lambda: "unconstrained",
    "exact": lambda: Exact(share=0.97),
    "by depth": lambda: ByDepth(Exact(share=0.97), "active-set", 2),
    "cheap then strong": lambda: CheapThenStrong("active-set", Exact(share=0.97), gap=0.0, break_even=1),
    "adaptive": lambda: Adaptive(["active-set", Exact(share=0.97)], explore=0.5),
    "fixed": lambda: Fixed(Exact(share=0.97)),
}


def traced(relaxation: Any, **options: Any) -> tuple[partls.Result, SearchTrace]:
    case, _ = tree(0)
    result = partls.solve(case.X, case.y, case.labels, method=BranchAndBound(relaxation, trace=True, **options))
    assert isinstance(result.trace, SearchTrace)
    return result, result.trace


def without_time(row: NodeTrace) -> tuple[Any, ...]:
    bounds = tuple((bound.relaxation, bound.value, bound.status) for bound in row.bounds)
    return (row.parent, row.depth, row.signs, row.decision, row.by, row.group, row.bound, row.nodes, row.left, bounds)


@pytest.mark.parametrize("name", SEARCHES)
def test_the_trace_accounts_for_every_node_and_every_bound(name: str) -> None:
    result, trace = traced(SEARCHES[name]())
    counts, rows = result.counts, trace.rows
    assert sum(row.nodes for row in rows) == result.n_nodes
    asked = Counter(bound.relaxation for row in rows for bound in row.bounds)
    assert asked == {key.removeprefix("bounds by "): n for key, n in counts.items() if key.startswith("bounds by ")}
    given = Counter(row.by for row in rows if row.decision == "given")
    assert given == {key.removeprefix("subtrees to "): n for key, n in counts.items() if key.startswith("subtrees to ")}
    assert {row.by for row in rows if row.decision == "pruned"} <= {
        key.removeprefix("closed by ") for key in counts if key.startswith("closed by ")
    }
    assert rows[0].parent == -1
    assert min(row.bound for row in rows if row.decision not in ("split", "given")) == pytest.approx(result.objective)


@pytest.mark.parametrize("name", SEARCHES)
def test_children_hang_below_their_parents(name: str) -> None:
    """A child repeats every sign of its parent, and both children of a split are there."""
    rows = traced(SEARCHES[name]())[1].rows
    children = Counter(row.parent for row in rows)
    for row in rows[1:]:
        above = rows[row.parent]
        assert row.parent >= 0
        assert all(sign == "0" or sign == own for sign, own in zip(above.signs, row.signs, strict=True))
        assert row.depth >= above.depth
    for i, row in enumerate(rows):
        assert children[i] == 2 if row.decision == "split" else row.decision == "given" or children[i] == row.left


@pytest.mark.parametrize("executor", [None, "loky"])
def test_the_trace_is_the_same_whoever_explores(executor: Any) -> None:
    X, y, groups = large_tree()
    policy = ByDepth("unconstrained", "active-set", 2)
    first = partls.solve(X, y, groups, method=BranchAndBound(policy, trace=True)).trace
    again = partls.solve(X, y, groups, method=BranchAndBound(policy, trace=True, executor=executor), n_jobs=2).trace
    assert isinstance(first, SearchTrace)
    assert isinstance(again, SearchTrace)
    assert list(map(without_time, first.rows)) == list(map(without_time, again.rows))


def test_a_trace_changes_nothing_and_is_kept_on_request_only() -> None:
    case, _ = tree(0)
    plain = partls.solve(case.X, case.y, case.labels, method="bnb")
    assert plain.trace == ()
    result, _ = traced("auto")
    assert result.counts == plain.counts
    with pytest.raises(InvalidInput, match=r"solve with BranchAndBound\(trace=True\)"):
        SearchTreeDisplay.from_result(plain)
    with pytest.raises(InvalidInput, match="trace"):
        BranchAndBound(trace="yes")  # type: ignore[arg-type]


def test_a_trace_is_a_table_and_two_data_frames() -> None:
    result, trace = traced(ByDepth(Exact(share=0.97), "active-set", 2))
    nodes, bounds = trace.to_pandas(), trace.bounds_to_pandas()
    assert len(nodes) == len(trace.rows)
    assert nodes["nodes"].sum() == result.n_nodes
    assert len(bounds) == result.counts["bounds by exact"]
    assert (nodes.loc[bounds["node"], "signs"].to_numpy() == bounds["signs"].to_numpy()).all()
    told = str(trace)
    assert "given to active-set" in told
    assert "split on" in told
    assert f"{result.n_nodes} nodes" in told


def test_a_failed_bound_is_in_the_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relaxations.policies.node._LEAST", 1)
    policy = CheapThenStrong("active-set", Broken(), break_even=1, prices={"broken": Price(0.0, 1e-9)})
    _, trace = traced(policy)
    failed = [bound for row in trace.rows for bound in row.bounds if bound.relaxation == "broken"]
    assert {bound.status for bound in failed} == {"failed"}


class Broken:
    name = "broken"

    def prepare(self, instance: Any) -> Any:
        raise NotImplementedError


def test_the_picture_of_the_tree_is_coloured_by_who_closed_a_node() -> None:
    case, _ = tree(0)
    search = BranchAndBound(ByDepth(Exact(share=0.97), "active-set", 3), trace=True)
    model = PartLSRegressor(case.labels, method=search).fit(case.X, case.y)
    display = SearchTreeDisplay.from_estimator(model)
    told = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert any(text.startswith("searched by active-set") for text in told)
    assert display.ax_.get_title() == f"{model.result_.n_nodes} nodes"
    assert_readable(display)
