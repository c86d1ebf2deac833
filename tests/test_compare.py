"""The comparison of relaxations: true numbers, failures as rows, and tables and plots that show them."""

from __future__ import annotations

import builtins
import re
import subprocess
import sys
from dataclasses import dataclass, replace
from itertools import combinations, product
from math import inf, isnan, nan
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from rich.console import Console

import partls
import relaxations
from formulations import Instance, SignPattern
from formulations.errors import InvalidInput, PartLSError
from partls import tree_size
from relaxations import ActiveSetRelaxation, Bound, Bounder, BoundStatus, Fixed, UnconstrainedRelaxation, compare
from relaxations.comparison import known_solution as search
from relaxations.comparison.compared import Compared
from relaxations.comparison.known_solution import known_solution
from relaxations.comparison.reference import Reference
from relaxations.comparison.table import duration, number
from tests.families import FAMILIES, correlated
from tests.oracles import brute_force, sign_constrained
from tests.strategies import Tiny
from tests.test_plugging import Faulty
from tests.tolerances import same_optimum

mpl.use("Agg")


def instance_of(case: Tiny) -> Instance:
    return Instance(case.X, case.y, case.labels, ungrouped="free", **case.options)


@pytest.fixture(scope="module")
def case() -> Tiny:
    return correlated(7, n_rows=40, n_columns=15, n_groups=5, corr=0.9)


@pytest.fixture(scope="module")
def instance(case: Tiny) -> Instance:
    return instance_of(case)


@dataclass(frozen=True)
class Shifted:
    """A share of the gap between the cheap bound and the optimum, known from elsewhere."""

    share: float
    optimum: float
    name: str = "shifted"

    def prepare(self, instance: Instance) -> Bounder:
        honest = ActiveSetRelaxation().prepare(instance)
        share, optimum = self.share, self.optimum

        class Shift:
            def bound(self, signs: SignPattern, *, cutoff: float = inf) -> Bound:
                bound = honest.bound(signs)
                return replace(bound, value=bound.value + share * (optimum - bound.value))

        return Shift()


@dataclass(frozen=True)
class Refusing:
    name: str = "refusing"

    def prepare(self, instance: Instance) -> Bounder:
        raise InvalidInput("solver 'X' is not installed")


# The numbers


@pytest.mark.parametrize("family", FAMILIES)
def test_the_yardstick_is_the_optimum_of_brute_force_at_every_node(family: str) -> None:
    """With few groups every pattern is solved; what rounding and flips find is a solution, and says no more."""
    for seed in range(2):
        case = FAMILIES[family](seed)
        oracle = brute_force(case.X, case.y, case.labels, **case.options)
        instance = instance_of(case)
        size = float(np.square(case.weighted_y).sum())
        rng = np.random.default_rng(seed)
        patterns = [(0,) * case.n_groups, *(tuple(rng.choice([-1, 0, 1], case.n_groups).tolist()) for _ in range(4))]
        for values in patterns:
            true = min(v for p, v in oracle.objectives.items() if SignPattern(values).contains(SignPattern(p)))
            node = SignPattern((*values, *[0] * (instance.reduction.n_groups - case.n_groups)))
            with pytest.MonkeyPatch.context() as patch:
                found = known_solution(instance.reduction, node)
                patch.setattr(search, "_FEW", -1)
                descended = known_solution(instance.reduction, node)
            assert found.value == same_optimum(true, case.weighted_y)
            assert found.source in ("every pattern solved", "by rounding and descent")
            assert descended.value >= true * (1 - 1e-9) - 1e-12 * size
            assert not descended.is_optimum


def test_the_own_yardstick_keeps_to_few_seconds(instance: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    """No time at all leaves zero coefficients, a solution of every node."""
    monkeypatch.setattr(search, "_SECONDS", -1.0)
    monkeypatch.setattr("relaxations.clock.SHORT", 0.0)
    comparison = compare(instance, relaxations=["active-set"])
    assert not comparison.reference.is_optimum
    assert comparison.reference.value == pytest.approx(np.square(instance.y - instance.y.mean()).sum())


@pytest.mark.parametrize(("given", "words"), [
    ({"optimum": "number"}, "optimum, given"), ({"incumbent": "number"}, "best known solution, given"),
    ({"optimum": "result"}, "optimum, from the search"),
    ({"incumbent": "result"}, "best known solution, from the search"),
    ({"optimum": "unproven"}, "best known solution, from the search"), ({}, "optimum, every pattern solved"),
])
def test_the_table_says_what_the_gap_is_measured_against(
    instance: Instance, given: dict[str, str], words: str
) -> None:
    result = partls.solve_instance(instance)
    values = {"number": result.objective, "result": result,
              "unproven": partls.solve_instance(instance, method="alternating", n_starts=1)}
    comparison = compare(instance, relaxations=["active-set"], **{key: values[value] for key, value in given.items()})
    assert comparison.reference.words == words
    assert words in comparison.caption.replace("\n", " ")
    assert all(row.measured_against == words for row in comparison.rows)
    assert ("may be lower" in comparison.caption) is not comparison.reference.is_optimum
    assert list(comparison.to_pandas()["measured_against"]) == [words]


def test_a_bound_that_meets_the_solution_proves_it(instance: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_FEW", -1)
    complete = (1, -1, 1, 1, -1)
    assert compare(instance, complete, ["active-set"]).reference.words == "optimum, proved by active-set"
    optimum = partls.solve_instance(instance).objective
    comparison = compare(instance, relaxations=["active-set", Shifted(1.0, optimum)])
    assert comparison.reference.words == "optimum, proved by shifted"
    assert comparison.optimum == pytest.approx(optimum, rel=1e-9)
    unproved = compare(instance, relaxations=["active-set"]).reference
    assert unproved.words == "best known solution, by rounding and descent"


def test_a_bound_above_a_solution_is_named(instance: Instance) -> None:
    optimum = partls.solve_instance(instance).objective
    honest, wrong = compare(instance, relaxations=["active-set", Shifted(1.1, optimum)]).rows
    assert honest.note == ""
    assert wrong.note == "above the optimum: no lower bound"


def test_an_estimate_without_a_proof_is_shown_as_unproven(instance: Instance) -> None:
    unproven = Faulty(lambda bound, signs: replace(bound, value=-inf), "guess")
    comparison = compare(instance, relaxations=["active-set", unproven], depths=[5])
    root, leaf = (row for row in comparison.rows if row.relaxation == "guess")
    assert (root.bound, root.gap_closed) == (-inf, 0.0)
    assert root.is_unproven and leaf.is_unproven and not root.is_floor
    assert leaf.estimate_closed == pytest.approx(1.0, abs=1e-8)
    assert "unproven 1.0000" in str(comparison) and "without a proof" in " ".join(str(comparison).split())
    texts = [text.get_text() for text in comparison.plot().texts]
    assert "guess (unproven), depth 0" in texts


def test_the_share_of_the_gap_is_measured_from_least_squares_to_the_optimum(case: Tiny, instance: Instance) -> None:
    oracle = brute_force(case.X, case.y, case.labels)
    floor = sign_constrained(case.X, case.y, [0] * 15).objective
    comparison = compare(instance, relaxations=["active-set", Shifted(0.25, oracle.objective), "unconstrained"])
    assert comparison.floor == pytest.approx(floor, rel=1e-10)
    assert comparison.optimum == pytest.approx(oracle.objective, rel=1e-10)
    cheap, shifted, conic = comparison.rows
    assert [row.relaxation for row in comparison.rows] == ["active-set", "shifted", "unconstrained"]
    assert cheap.gap_closed == pytest.approx(0, abs=1e-8)
    assert shifted.gap_closed == pytest.approx(0.25, rel=1e-6)
    assert conic.bound <= floor * (1 + 1e-12)
    assert conic.estimate == pytest.approx(floor, rel=1e-6)
    for row in comparison.rows:
        assert (row.depth, row.nodes, row.status, row.note) == (0, 1, "optimal", "")
        assert row.seconds > 0
        assert row.prepare_seconds > 0


def test_a_node_is_compared_with_its_own_optimum(case: Tiny, instance: Instance) -> None:
    oracle = brute_force(case.X, case.y, case.labels)
    complete = tuple(-s for s in oracle.signs)
    (row,) = compare(instance, complete, ["active-set"]).rows
    assert row.depth == 5
    assert row.bound == pytest.approx(oracle.objectives[complete], rel=1e-9)
    assert row.gap_closed == pytest.approx(1.0, abs=1e-8)


def test_depths_are_means_over_the_same_random_nodes(case: Tiny, instance: Instance) -> None:
    """At depth 5 every node is a leaf, where the bound is exact; a mean over many draws meets that over all."""
    first = compare(instance, relaxations=["active-set", "unconstrained"], depths=[2, 5], n_patterns=6, seed=3)
    assert [(row.depth, row.nodes) for row in first.rows] == [(0, 1)] * 2 + [(2, 6)] * 2 + [(5, 6)] * 2
    for cheap, conic in zip(first.rows[::2], first.rows[1::2], strict=True):
        assert conic.bound == pytest.approx(cheap.bound, rel=1e-5)
    assert first.rows[4].gap_closed == pytest.approx(1.0, abs=1e-8)
    again = compare(instance, relaxations=["active-set"], depths=[2, 5], n_patterns=6, seed=3)
    assert [row.bound for row in again.rows] == [row.bound for row in first.rows[::2]]
    other = compare(instance, relaxations=["active-set"], depths=[2], n_patterns=6, seed=4)
    assert other.rows[1].bound != again.rows[1].bound

    bounder = ActiveSetRelaxation().prepare(instance)
    every = [
        bounder.bound(SignPattern(tuple(dict(zip(chosen, signs, strict=True)).get(k, 0) for k in range(5)))).value
        for chosen in combinations(range(5), 2)
        for signs in product((-1, 1), repeat=2)
    ]
    many = compare(instance, relaxations=["active-set"], depths=[2], n_patterns=400, optimum=lambda signs: 1e3)
    assert many.rows[1].bound == pytest.approx(np.mean(every), abs=4 * np.std(every) / 20)


def test_depths_below_a_node_keep_its_signs(instance: Instance) -> None:
    asked: list[SignPattern] = []
    compare(instance, (0, 1, 0, -1, 0), ["active-set"], depths=[3], optimum=lambda s: (asked.append(s), 100.0)[1])
    assert all((signs[1], signs[3]) == (1, -1) for signs in asked)
    assert [len(signs.undecided) for signs in asked] == [3] + [2] * (len(asked) - 1)


def test_the_optimum_may_be_given(instance: Instance) -> None:
    given = compare(instance, relaxations=["active-set"], optimum=partls.solve_instance(instance).objective)
    found = compare(instance, relaxations=["active-set"])
    assert given.optimum == pytest.approx(found.optimum, rel=1e-10)
    by_signs = compare(
        instance, relaxations=["active-set"], depths=[2],
        optimum=lambda signs: partls.solve_instance(instance, signs=list(signs)).objective,
    )
    by_search = compare(instance, relaxations=["active-set"], depths=[2])
    assert [r.gap_closed for r in by_signs.rows] == pytest.approx([r.gap_closed for r in by_search.rows], abs=1e-8)


def test_large_trees_are_measured_against_a_solution_at_once() -> None:
    """K=30, M=150: no search of its own, and the shares are at least those told."""
    case = correlated(3, n_rows=300, n_columns=150, n_groups=30, corr=0.5)
    instance = instance_of(case)
    comparison = compare(instance, relaxations=["active-set"])
    assert comparison.reference.words == "best known solution, by rounding and descent"
    alternating = partls.solve_instance(instance, method="alternating", n_starts=3, random_state=0)
    assert comparison.reference.value <= alternating.objective * 1.05
    assert comparison.floor < comparison.reference.value


def test_no_gap_to_close_is_said_to_be_none() -> None:
    X = np.random.default_rng(0).normal(size=(20, 4))
    instance = Instance(X, X @ [1.0, 2.0, -1.0, -1.0] + 0.1 * X[:, 0] ** 2, [0, 0, 1, 1])
    (row,) = compare(instance, relaxations=["active-set"]).rows
    assert isnan(row.gap_closed)
    assert " – " in str(compare(instance, relaxations=["active-set"]))  # noqa: RUF001
    assert compare(instance).plot() is not None


def test_every_member_by_default_and_labels_tell_namesakes_apart(instance: Instance) -> None:
    assert {row.relaxation for row in compare(instance).rows} == set(relaxations.MEMBERS)
    twice = compare(instance, relaxations=[UnconstrainedRelaxation(), UnconstrainedRelaxation(("SCS",)), "active-set"])
    assert [row.relaxation for row in twice.rows] == ["unconstrained #1", "unconstrained #2", "active-set"]
    own = compare(instance, relaxations={"by SCS": UnconstrainedRelaxation(("SCS",))})
    assert [row.relaxation for row in own.rows] == ["by SCS"]


# Failures are rows


def test_failures_are_rows_that_say_what_happened(instance: Instance) -> None:
    def sometimes(bound: Bound, signs: SignPattern) -> Bound:
        return replace(bound, value=-inf, status=BoundStatus.FAILED) if signs[0] else bound

    def raises(bound: Bound, signs: SignPattern) -> Bound:
        raise ZeroDivisionError

    comparison = compare(
        instance,
        relaxations=[
            Refusing(), Faulty(raises, "raising"), Faulty(lambda b, s: replace(b, value=nan), "nan"),
            Faulty(lambda b, s: replace(b, value=-inf, status=BoundStatus.UNBOUNDED), "unbounded"),
            Faulty(sometimes, "sometimes"), "active-set",
        ],
        depths=[3],
    )
    at_root = {row.relaxation: row for row in comparison.rows if row.depth == 0}
    below = {row.relaxation: row for row in comparison.rows if row.depth == 3}
    assert at_root["refusing"].note == "InvalidInput: solver 'X' is not installed"
    assert at_root["raising"].note == "ZeroDivisionError"
    assert at_root["nan"].note == "not a number"
    for failed in ("refusing", "raising", "nan"):
        assert (at_root[failed].status, at_root[failed].bound, at_root[failed].gap_closed) == ("failed", -inf, 0.0)
    assert at_root["unbounded"].status == "unbounded"
    assert at_root["sometimes"].status == "optimal"
    assert " failed, " in below["sometimes"].status or " optimal, " in below["sometimes"].status
    assert 0 < below["sometimes"].gap_closed < below["active-set"].gap_closed
    assert "refusing" in str(comparison)
    assert comparison.plot() is not None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"signs": (1, 0)}, r"signs has 2 values but there are 5 groups"),
        ({"signs": (1, 0, 2, 0, 0)}, r"signs\[2\]=2 is not a sign"),
        ({"relaxations": ["shorr"]}, "relaxation='shorr' is not one of"),
        ({"depths": [6]}, "depths: 6 is not between 1 and 5"),
        ({"signs": (1, 1, 0, 0, 0), "depths": [2]}, "depths: 2 is not between 3 and 5"),
        ({"depths": [2], "n_patterns": 0}, "n_patterns=0 must be at least 1"),
        ({"optimum": "12 or so"}, "optimum='12 or so': give a number"),
        ({"incumbent": float("nan")}, "incumbent=nan: give a number"),
        ({"relaxations": 3}, "relaxations=3: give names"),
    ],
)
def test_bad_arguments_are_named(instance: Instance, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        compare(instance, **options)


# Tables and plots


def test_the_table_shows_itself(instance: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    comparison = compare(instance, relaxations=["active-set", "unconstrained"], depths=[2])
    text = str(comparison)
    assert all(heading in text for heading in ("relaxation", "certified", "estimate", "gap closed", "time", "status"))
    assert f"{comparison.rows[0].bound:.7g}" in text
    assert max(map(len, text.splitlines())) <= 130
    console = Console(width=120)
    with console.capture() as capture:
        console.print(comparison)
    table, caption = capture.get().split("gap from")
    assert table.count("unconstrained") == 2 and "(unconstrained)" in caption
    for width in (40, 60, 80):  # no figure is cut, and no column
        console = Console(width=width)
        with console.capture() as capture:
            console.print(comparison)
        for column in comparison.columns:
            assert {column.heading, *map(column.show, comparison.rows)} <= set(re.split(r"\s{2,}|\n", capture.get()))
    page = comparison._repr_html_()
    assert page.count("<tr>") == 1 + len(comparison.rows)
    frame = comparison.to_pandas()
    assert list(frame["bound"]) == [row.bound for row in comparison.rows]
    assert {"relaxation", "depth", "gap_closed", "seconds", "status"} <= set(frame.columns)

    real = builtins.__import__

    def without_pandas(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "pandas":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_pandas)
    with pytest.raises(PartLSError, match="needs pandas"):
        comparison.to_pandas()


def test_html_is_escaped(instance: Instance) -> None:
    assert "&lt;b&gt;" in compare(instance, relaxations={"<b>": "active-set"})._repr_html_()


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (number(nan), "–"), (number(-1e-9, ".4f"), "0.0000"), (number(-0.25, ".4f"), "-0.2500"),  # noqa: RUF001
        (duration(nan), "–"), (duration(2.5), "2.5 s"), (duration(0.0042), "4.2 ms"), (duration(3e-5), "30 µs"),  # noqa: RUF001
    ],
)
def test_numbers_are_short(shown: str, expected: str) -> None:
    assert shown == expected


def test_labels_of_the_plot_cover_neither_each_other_nor_a_point() -> None:
    """Six relaxations of the same strength and nearly the same cost, and one apart."""
    seconds = [1e-3, 1.1e-3, 1.2e-3, 1.3e-3, 1.31e-3, 1.5e-3, 2.0]
    rows = [Compared(f"relaxation {i}", 0, 1, 1.0, 1.0, i // 6, s, 0.0, "optimal") for i, s in enumerate(seconds)]
    ax = relaxations.Comparison(tuple(rows), 0.0, Reference(1.0, True, "given")).plot()
    figure = ax.get_figure()
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert [text.get_text() for text in ax.texts] == [row.relaxation for row in rows]
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
    points = [ax.transData.transform((row.seconds, row.gap_closed)) for row in rows]
    assert not any(box.contains(x, y) for box in boxes for x, y in points)
    assert ax.get_xscale() == "log"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("seconds per bound", "share of the gap closed, certified")
    mpl.pyplot.close(figure)


def test_a_plot_is_drawn_where_it_is_asked_for(instance: Instance) -> None:
    figure, ax = mpl.pyplot.subplots()
    assert compare(instance, relaxations=["active-set"], depths=[1, 3]).plot(ax) is ax
    assert [text.get_text() for text in ax.texts] == ["active-set, depth 0", "1", "3"]
    mpl.pyplot.close(figure)


# Trees


def test_tree_sizes_are_those_of_the_search(instance: Instance) -> None:
    trees = tree_size(instance, ["active-set", "unconstrained", Refusing()], branching="max-violation")
    result = partls.solve_instance(instance, relaxation="unconstrained", branching="max-violation", time_limit=60.0)
    native, generic, refused = trees.rows
    assert generic.nodes == result.n_nodes
    assert generic.counts == result.counts
    assert (native.status, generic.status) == ("optimal", "optimal")
    assert native.objective == pytest.approx(generic.objective, rel=1e-10)
    assert refused.status == "failed (InvalidInput: solver 'X' is not installed)"
    assert "unconstrained" in generic.closed
    assert "nodes closed by" in str(trees)
    assert list(trees.to_pandas()["nodes"]) == [row.nodes for row in trees.rows]


@pytest.mark.parametrize("seed", range(8))
def test_a_node_is_a_node_whoever_bounds_it(seed: int) -> None:
    """One bound, one branching rule, one tree: the compiled search and the one through CVXPY count it alike."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 24)) + rng.normal(size=(60, 1))
    case = Instance(X, X @ rng.normal(size=24) + rng.normal(size=60), np.arange(24) % 8)
    members = ["active-set", Fixed("active-set"), "unconstrained", ActiveSetRelaxation()]
    assert len({row.nodes for row in tree_size(case, members, branching="max-violation").rows}) == 1


def test_a_search_under_a_limit_is_a_row_that_says_so() -> None:
    case = correlated(7, n_rows=30, n_columns=24, n_groups=8, corr=0.9)
    (row,) = tree_size(instance_of(case), [Fixed("active-set")], node_limit=3).rows
    assert row.status == "node limit"
    assert row.gap > 0
    assert row.lower_bound < row.objective


def test_bad_options_of_the_search_are_refused_at_once(instance: Instance) -> None:
    with pytest.raises(InvalidInput, match="branching="):
        tree_size(instance, ["active-set"], branching="strongest")


def test_importing_the_packages_stays_light() -> None:
    code = (
        "import sys, partls, relaxations\n"
        "heavy = {'cvxpy', 'numba', 'sklearn', 'matplotlib', 'pandas', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_bound_that_closes_nothing_is_explained():
    rng = np.random.default_rng(3)
    instance = Instance(rng.normal(size=(30, 6)), rng.normal(size=30), [0, 0, 0, 1, 1, 1])
    caption = compare(instance, relaxations=["active-set", "shor"]).caption
    assert "the bound of active-set equals the unconstrained optimum" in caption
    assert "0 (zero line)" in str(compare(instance, relaxations=["active-set", "shor"]))
    assert "Gap closed 0" not in compare(instance, relaxations=["shor"]).caption


def test_a_relaxation_that_fails_is_not_said_to_equal_the_unconstrained_optimum():
    class Failing:
        name = "failing"

        def prepare(self, instance):
            raise RuntimeError("no solver")

    rng = np.random.default_rng(3)
    instance = Instance(rng.normal(size=(30, 6)), rng.normal(size=30), [0, 0, 0, 1, 1, 1])
    assert "failing" not in compare(instance, relaxations=[Failing()]).caption


def test_signs_are_given_by_name_as_to_a_fit() -> None:
    rng = np.random.default_rng(2)
    instance = Instance(rng.normal(size=(20, 6)), rng.normal(size=20), list("aabbcc"))
    expected = compare(instance, (0, -1, 1), relaxations=["active-set"]).rows[0]
    for signs in ({"c": "+", "b": "-"}, {2: 1, 1: -1}, ["", "-", "+"]):
        assert compare(instance, signs, relaxations=["active-set"]).rows[0].bound == expected.bound
