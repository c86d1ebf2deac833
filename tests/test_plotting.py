"""The pictures show the model's own figures: the tests read them off the artists."""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from partls import BranchAndBound, InvalidInput, PartLSRegressor
from partls.plotting import (
    ContributionsDisplay,
    EffectsDisplay,
    SearchProgressDisplay,
    SearchTreeDisplay,
    SharesDisplay,
    SignCertaintyDisplay,
)
from partls.plotting.bars import NEGATIVE, POSITIVE, figure
from partls.search.trace import OPEN, PRUNED, SOLVED, SPLIT, trace_search
from tests.families import correlated
from tests.oracles import brute_force


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def wide():
    """Ten groups of ten features with names of every length."""
    rng = np.random.default_rng(0)
    names = [f"{'a_very_long_name_' * (j % 3)}feature_{j}" for j in range(100)]
    X = pd.DataFrame(rng.normal(size=(150, 100)), columns=names)
    y = X.to_numpy() @ rng.normal(size=100) + rng.normal(size=150)
    groups = {f"group number {k}": names[k::10] for k in range(10)}
    return PartLSRegressor(groups).fit(X, y), X


def bar_lengths(ax) -> list[float]:
    return [bar.get_width() for bar in ax.patches]


def labels(ax) -> list[str]:
    return [label.get_text() for label in ax.get_yticklabels()]


def assert_readable(display) -> None:
    """Axes are labelled, and no two of the texts overlap or leave the figure."""
    ax, figure = display.ax_, display.figure_
    assert ax.get_ylabel()
    figure.canvas.draw()
    low, high = sorted(ax.get_ylim())
    beside = [text for text in ax.get_yticklabels() if low <= text.get_position()[1] <= high]  # others are not drawn
    left, right = ax.get_xlim()
    below = [text for text in ax.get_xticklabels() if left <= text.get_position()[0] <= right]
    boxes = [text.get_window_extent() for text in [*ax.texts, *beside, *below] if text.get_text()]
    for i, box in enumerate(boxes):
        assert box.x0 >= 0 and box.y0 >= -1
        assert box.x1 <= figure.bbox.x1 + 1 and box.y1 <= figure.bbox.y1 + 1
        assert not any(box.overlaps(other) for other in boxes[:i])


def test_effects_are_the_betas_sorted_by_size(wide):
    model, _ = wide
    display = EffectsDisplay.from_estimator(model)
    order = np.argsort(-np.abs(model.beta_))
    assert labels(display.ax_) == [model.group_names_[k] for k in order]
    assert bar_lengths(display.ax_) == pytest.approx(model.beta_[order])
    for bar in display.ax_.patches:
        assert to_hex(bar.get_facecolor()) == (POSITIVE if bar.get_width() > 0 else NEGATIVE).lower()
    assert display.ax_.get_xlabel() == "effect of the group (β)"
    assert_readable(display)


def test_long_figures_and_negative_effects_keep_clear_of_the_names():
    effects = np.array([70663.595, -29333.159, 128.672, 1e-9, -1.5e9, 0.0])
    for betas in (effects[:3], effects):
        _, axes = plt.subplots(1, 3, figsize=(15, 5), layout="constrained")
        assert_readable(EffectsDisplay(tuple(f"a group of features {k}" for k in range(len(betas))), betas).plot())
        assert_readable(EffectsDisplay(tuple(f"group {k}" for k in range(len(betas))), betas).plot(ax=axes[1]))
    assert [figure(value) for value in effects] == ["70,664", "-29,333", "128.7", "1e-09", "-1.5e+09", "0"]


def test_a_display_draws_on_the_axes_it_is_given(wide):
    model, X = wide
    _, axes = plt.subplots(2, 2)
    displays = [
        EffectsDisplay.from_estimator(model, ax=axes[0, 0]), SharesDisplay.from_estimator(model, 0, ax=axes[0, 1]),
        ContributionsDisplay.from_estimator(model, X.iloc[[0]], ax=axes[1, 0]),
        SearchProgressDisplay.from_estimator(model, ax=axes[1, 1]),
    ]
    assert [display.ax_ for display in displays] == list(axes.flat)
    assert len(plt.get_fignums()) == 1


def test_shares_are_the_alphas_of_the_group(wide):
    model, _ = wide
    display = SharesDisplay.from_estimator(model, "group number 4")
    shares = np.sort(model.alpha_[model.partition_.members(4)])[::-1]
    assert bar_lengths(display.ax_) == pytest.approx(shares)
    assert sum(bar_lengths(display.ax_)) == pytest.approx(1.0)
    assert "group number 4" in display.ax_.get_title()
    assert_readable(display)


def test_a_hundred_features_stay_readable(wide):
    _, X = wide
    one = PartLSRegressor().fit(X, X.to_numpy() @ np.linspace(0.1, 2.0, 100))
    everything = SharesDisplay.from_estimator(one, "all", max_features=None)
    assert len(labels(everything.ax_)) == 100
    assert_readable(everything)
    cut = SharesDisplay.from_estimator(one, "all", max_features=8)
    assert labels(cut.ax_)[-1] == "(92 more)"
    assert sum(bar_lengths(cut.ax_)) == pytest.approx(1.0)
    assert_readable(cut)


def test_the_waterfall_leads_from_the_intercept_to_the_prediction(wide):
    model, X = wide
    display = ContributionsDisplay.from_estimator(model, X.iloc[[3]], max_groups=6)
    bars = display.ax_.patches
    assert len(bars) == 9  # intercept, six groups, the rest, prediction
    assert bars[0].get_x() == pytest.approx(model.intercept_)
    ends = [bar.get_x() + bar.get_width() for bar in bars]
    np.testing.assert_allclose([bar.get_x() for bar in bars[1:-1]], ends[:-2], rtol=1e-12)
    assert ends[-2] == pytest.approx(model.predict(X.iloc[[3]])[0])
    assert bars[-1].get_x() == pytest.approx(ends[-2])
    parts = np.sort(np.abs(model.contributions(X.iloc[[3]]).values[0, :-1]))[::-1]
    np.testing.assert_allclose(np.abs(bar_lengths(display.ax_))[1:7], parts[:6])
    assert_readable(display)
    with pytest.raises(InvalidInput, match="150 rows"):
        ContributionsDisplay.from_estimator(model, X)


def test_sign_certainty_shows_the_least_sure_group_first(wide):
    model, _ = wide
    display = SignCertaintyDisplay.from_estimator(model)
    increases = sorted(row.increase for row in model.sign_certainty(max_patterns=0).rows)
    assert bar_lengths(display.ax_) == pytest.approx(increases)
    assert all(name.endswith(("(+)", "(−)")) for name in labels(display.ax_))  # noqa: RUF001
    assert_readable(display)


def test_progress_shows_the_history_of_the_fit(wide):
    model, _ = wide
    display = SearchProgressDisplay.from_estimator(model)
    best, bound = display.ax_.lines
    assert best.get_ydata()[-1] == pytest.approx(model.objective_)
    assert bound.get_ydata()[-1] == pytest.approx(model.lower_bound_)
    assert (np.diff(best.get_ydata()) <= 0).all()
    assert (np.diff(best.get_xdata()) >= 0).all()
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == [
        "gap", "best model found", "proven lower bound"]


@pytest.mark.parametrize("options", [{}, {"method": BranchAndBound(search="best-first")}, {"eta": 1.0, "penalty": "l1"},
                                     {"method": BranchAndBound(branching="max-violation")},
                                     {"method": "enumerate"}], ids=str)
def test_the_tree_covers_every_pattern_once_and_its_bounds_hold(options):
    tiny = correlated(3, n_rows=30, n_columns=12, n_groups=5, corr=0.9)
    model = PartLSRegressor(tiny.labels, **options).fit(tiny.X, tiny.y)
    display = SearchTreeDisplay.from_estimator(model)
    nodes = display.nodes
    problem = {name: value for name, value in options.items() if name in ("eta", "penalty")}
    truth = brute_force(tiny.X, tiny.y, tiny.labels, **problem)
    covered: dict[tuple[int, ...], int] = {}
    for i, node in enumerate(nodes):
        decided, at = {}, i
        while nodes[at].parent >= 0:
            decided[nodes[at].group] = nodes[at].sign
            at = nodes[at].parent
        assert len(decided) == node.depth
        box = [signs for signs in truth.objectives if all(signs[k] == s for k, s in decided.items())]
        if node.outcome == SPLIT:
            assert node.bound <= min(truth.objectives[signs] for signs in box) * (1 + 1e-9)
        else:
            assert node.outcome in (PRUNED, SOLVED)
            for signs in box:
                covered[signs] = covered.get(signs, 0) + 1
                assert truth.objectives[signs] >= nodes[-1].objective * (1 - 1e-9)
    assert len(nodes) >= 3
    assert covered == dict.fromkeys(truth.objectives, 1)
    assert nodes[-1].objective == pytest.approx(truth.objective, rel=1e-9)
    assert nodes[-1].lower_bound == pytest.approx(truth.objective, rel=1e-8)
    drawn = sum(len(points.get_offsets()) for points in display.ax_.collections)
    assert drawn == len(nodes)
    heights = sorted(height for points in display.ax_.collections for _, height in points.get_offsets())
    assert heights == sorted(node.depth for node in nodes)


def test_the_tree_is_searched_by_the_options_of_the_strategy():
    tiny = correlated(3, n_rows=30, n_columns=12, n_groups=5, corr=0.9)
    search = BranchAndBound(search="best-first", branching="max-violation")
    model = PartLSRegressor(tiny.labels, method=search).fit(tiny.X, tiny.y)
    expected = trace_search(model.result_.instance, branching="max-violation", best_first=True)
    drawn = SearchTreeDisplay.from_estimator(model).nodes
    decisions = [(node.parent, node.group, node.sign) for node in drawn]
    assert decisions == [(node.parent, node.group, node.sign) for node in expected]
    plain = SearchTreeDisplay.from_estimator(PartLSRegressor(tiny.labels).fit(tiny.X, tiny.y)).nodes
    assert decisions != [(node.parent, node.group, node.sign) for node in plain]


def test_a_tree_cut_short_shows_what_is_open():
    tiny = correlated(3, n_rows=30, n_columns=12, n_groups=5, corr=0.9)
    model = PartLSRegressor(tiny.labels).fit(tiny.X, tiny.y)
    display = SearchTreeDisplay.from_estimator(model, node_limit=3)
    outcomes = [node.outcome for node in display.nodes]
    assert outcomes.count(OPEN) == len(outcomes) - 3 > 0
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert f"left open ({outcomes.count(OPEN)})" in legend
    assert_readable(display)


def test_data_without_effect_make_a_tree_of_one_node():
    (node,) = trace_search(PartLSRegressor().fit(np.zeros((4, 2)), [1.0, 2.0, 3.0, 4.0]).result_.instance)
    assert (node.outcome, node.objective) == (SOLVED, pytest.approx(5.0))
