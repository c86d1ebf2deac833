"""Two backends, one mathematics: the compiled kernel and the builders through CVXPY agree, and neither is believed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import partls
from formulations import Instance, SignPattern, quadratic
from partls import Alternating, BranchAndBound, Enumeration, InvalidInput, Status
from partls.estimators.saved_strategy import strategy_document, strategy_of
from partls.strategies.conic_halves import ConicHalves
from partls.strategies.halves import NonnegativeHalves
from partls.strategies.pattern_solver import PatternSolver
from relaxations import (
    Adaptive,
    BoundStatus,
    ByDepth,
    CheapThenStrong,
    Fixed,
    PerspectiveRelaxation,
    ShorRelaxation,
    from_builder,
    named,
    through_cvxpy,
)
from relaxations.conic import backend
from relaxations.conic.attempt import Attempt
from tests.families import FAMILIES, correlated
from tests.oracles import brute_force
from tests.strategies import Tiny, instances
from tests.tolerances import QUADRATIC_PROGRAM, VANISHING, same_optimum

CASE = correlated(11, n_rows=40, n_columns=15, n_groups=5, corr=0.6)


def instance_of(case: Tiny) -> Instance:
    return Instance(case.X, case.y, case.labels, ungrouped="free", **case.options)


def solved(case: Tiny, method: Any, **options: Any) -> partls.Result:
    return partls.solve_instance(instance_of(case), method=method, **options)


def padded(instance: Instance, signs: Any) -> SignPattern:
    beyond = instance.reduction.n_groups - instance.n_groups
    return SignPattern((*(int(sign) for sign in signs), *[0] * beyond))


# Enumeration, pattern by pattern


def check_patterns(case: Tiny, solver: str | None) -> None:
    """Before anything is solved again: values above the truth, bounds below it, and both near."""
    instance = instance_of(case)
    reduction, size = instance.reduction, float(np.square(case.weighted_y).sum())
    root = SignPattern.free(reduction.n_groups)
    compiled, conic = PatternSolver(reduction, root), PatternSolver(reduction, root).through_cvxpy(instance, solver)
    truths: dict[tuple[int, ...], float] = {}
    for block in compiled.blocks(coefs=True):
        compiled.confirm(block)
        truths |= dict(zip(map(tuple, block.patterns.tolist()), (block.values * reduction.scale).tolist(), strict=True))
    for block in conic.blocks(coefs=True):
        truth = np.array([truths.pop(tuple(pattern)) for pattern in block.patterns.tolist()])
        assert (block.values * reduction.scale >= truth * (1 - 1e-9) - VANISHING * size).all()
        assert (block.certified * reduction.scale <= truth * (1 + 1e-9) + VANISHING * size).all()
        answered = np.isfinite(block.values)  # a solver may give a pattern up: it is solved again below
        near = pytest.approx(truth[answered], rel=QUADRATIC_PROGRAM, abs=1e-5 * size + 1e-6 * reduction.scale)
        assert block.values[answered] * reduction.scale == near
        conic.confirm(block)
        assert (block.values * reduction.scale).tolist() == [same_optimum(value, case.weighted_y) for value in truth]
    assert not truths


@settings(max_examples=80)
@given(instances())
def test_every_pattern_has_the_same_optimum_through_cvxpy(case: Tiny) -> None:
    check_patterns(case, None)


@pytest.mark.slow
@settings(max_examples=3000)
@given(instances())
def test_every_pattern_has_the_same_optimum_through_cvxpy_on_many_problems(case: Tiny) -> None:
    check_patterns(case, None)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_pattern_has_the_same_optimum_on_hard_families(family: str) -> None:
    check_patterns(FAMILIES[family](2), "SCS" if family == "correlated" else None)


@settings(max_examples=80)
@given(instances())
def test_enumeration_finds_and_proves_the_same_optimum(case: Tiny) -> None:
    oracle = brute_force(case.X, case.y, case.labels, **case.options)
    compiled, conic = (solved(case, Enumeration(backend=name)) for name in ("kernel", "cvxpy"))
    assert conic.status is compiled.status is Status.OPTIMAL
    assert conic.objective == same_optimum(oracle.objective, case.weighted_y)
    assert conic.n_nodes == compiled.n_nodes
    assert conic.audit().passed
    others = sorted(oracle.objectives.values())[1:2]
    if not others or others[0] > oracle.objective * (1 + 1e-6) + 1e-9 * np.square(case.weighted_y).sum():  # unique
        assert tuple(conic.signs) == tuple(compiled.signs)


def test_the_best_of_all_solutions_are_the_same() -> None:
    oracle = sorted(brute_force(CASE.X, CASE.y, CASE.labels).objectives.values())
    for keep, count in (("all", 32), (5, 5)):
        found = solved(CASE, Enumeration(keep=keep, backend="cvxpy", solver="CLARABEL"))
        assert [s.objective for s in found.solutions] == pytest.approx(oracle[:count], rel=1e-9)
    assert found.counts["patterns by CLARABEL"] == 32


# Branch and bound, node by node


@settings(max_examples=50)
@given(instances())
def test_nodes_have_the_same_bound(case: Tiny) -> None:
    instance = instance_of(case)
    compiled, conic = (member.prepare(instance) for member in (named("active-set"), through_cvxpy("active-set")))
    rng, size = np.random.default_rng(0), float(np.square(case.weighted_y).sum())
    for _ in range(4):
        node = padded(instance, rng.choice([-1, 0, 1], size=instance.n_groups))
        mine, theirs = compiled.bound(node), conic.bound(node)
        assert theirs.estimate == pytest.approx(mine.value, rel=QUADRATIC_PROGRAM, abs=1e-5 * size + 1e-6)
        assert theirs.value <= mine.estimate * (1 + 1e-9) + VANISHING * size


@settings(max_examples=50)
@given(instances())
def test_branch_and_bound_finds_and_proves_the_same_optimum(case: Tiny) -> None:
    oracle = brute_force(case.X, case.y, case.labels, **case.options).objective
    conic = solved(case, BranchAndBound(relaxation="active-set", backend="cvxpy"))
    assert conic.status is Status.OPTIMAL
    assert conic.objective == same_optimum(oracle, case.weighted_y)


@pytest.mark.parametrize("relaxation", ["active-set", "unconstrained", "perspective", "shor", "split-dnn",
                                        "strengthened"])
@pytest.mark.parametrize("solver", [None, "SCS"])
def test_branch_and_bound_composes_every_builder(relaxation: str, solver: str | None) -> None:
    case = replace(CASE, options={"eta": 0.5})
    search = BranchAndBound(relaxation=relaxation, backend="cvxpy", solver=solver)
    assert solver is None or solver_of(search.bound_by) == solver
    assert getattr(search.bound_by, "solver", None) != "native"
    result = solved(case, search)
    assert result.status is Status.OPTIMAL
    assert result.objective == same_optimum(brute_force(case.X, case.y, case.labels, eta=0.5).objective, case.y)


# Alternating, half by half


@pytest.mark.parametrize("options", [{}, {"eta": 2.0}, {"eta": 2.0, "penalty": "l1"}], ids=["plain", "l2", "l1"])
@pytest.mark.parametrize("given_signs", [(0, 0, 0, 0, 0), (1, 0, -1, 0, 0)])
def test_both_halves_are_the_same(options: dict[str, Any], given_signs: tuple[int, ...]) -> None:
    instance, root = Instance(CASE.X, CASE.y, CASE.labels, **options), SignPattern(given_signs)
    reduction = instance.reduction
    compiled = NonnegativeHalves(reduction, root)
    conic = ConicHalves(instance, root, simplex=False, solver=None)
    rng = np.random.default_rng(3)
    for _ in range(3):
        drawn = np.where(np.array(given_signs) == 0, rng.choice([-1, 1], 5), given_signs)
        v = np.abs(rng.normal(size=reduction.n_columns)) * drawn[reduction.labels]
        for half in ("beta", "alpha", "descend"):
            mine, theirs = (halves.split.value(getattr(halves, half)(v)) for halves in (compiled, conic))
            assert theirs == pytest.approx(mine, rel=QUADRATIC_PROGRAM)


@pytest.mark.parametrize("halves", [None, "nnls", "simplex"])
def test_the_alternation_through_cvxpy_ends_no_lower_than_the_optimum_and_near_it(halves: str | None) -> None:
    search = Alternating(n_starts=3, halves=halves, backend="cvxpy", solver="CLARABEL")
    result, compiled = solved(CASE, search, random_state=0), solved(CASE, Alternating(n_starts=3), random_state=0)
    assert result.status is Status.HEURISTIC
    assert result.objective == pytest.approx(compiled.objective, rel=1e-9)
    assert result.lower_bound <= brute_force(CASE.X, CASE.y, CASE.labels).objective


def test_only_cvxpy_is_asked_through_cvxpy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The halves and the patterns come from the builders: without a solver's answer there is no progress."""
    asked: list[str] = []

    chosen = backend.Backend._model

    def told(self: Any, solver: str, signs: Any) -> Any:
        model = chosen(self, solver, signs)
        asked.append(model.name)
        return model

    monkeypatch.setattr(backend.Backend, "_model", told)
    monkeypatch.setattr(backend, "attempt", lambda problem, solver, options: Attempt(BoundStatus.FAILED, "silent"))
    solved(CASE, Alternating(n_starts=1, backend="cvxpy"))
    assert {"PartLS, alpha fixed", "PartLS, beta fixed", "PartLS-b", "quadratic form"} <= set(asked)
    asked.clear()
    result = solved(CASE, Enumeration(backend="cvxpy"))
    assert asked.count("PartLS-b") == 2 * 32  # both solvers were tried
    assert result.counts["pattern failed"] == 32


# Solvers that fail or lie


@pytest.mark.parametrize("fault", ["fails", "shifted", "nan", "far"])
def test_no_fault_of_a_solver_spoils_an_enumeration(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    honest, rng = backend.attempt, np.random.default_rng(0)

    def faulty(problem: Any, solver: str, options: Any) -> Attempt:
        found = honest(problem, solver, options)
        for variable in problem.variables():
            wrong = {"shifted": variable.value * (1 + 0.3 * rng.normal(size=variable.shape)),
                     "nan": np.full(variable.shape, np.nan), "far": 1e9 * rng.normal(size=variable.shape)}
            variable.save_value(wrong.get(fault, variable.value))
        return Attempt(BoundStatus.FAILED, "broken") if fault == "fails" else found

    monkeypatch.setattr(backend, "attempt", faulty)
    oracle = sorted(brute_force(CASE.X, CASE.y, CASE.labels).objectives.values())
    for keep in ("best", 3, "all"):
        result = solved(CASE, Enumeration(keep=keep, backend="cvxpy"))
        assert result.status is Status.OPTIMAL
        assert result.objective == pytest.approx(oracle[0], rel=1e-10)
        assert [s.objective for s in result.solutions] == pytest.approx(oracle[: len(result.solutions)], rel=1e-9)


def test_no_time_leaves_an_honest_bound() -> None:
    result = solved(CASE, Enumeration(backend="cvxpy"), time_limit=0)
    optimum = brute_force(CASE.X, CASE.y, CASE.labels).objective
    assert result.lower_bound <= optimum <= result.objective * (1 + 1e-12)
    assert result.audit().passed


# What cannot be meant


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"backend": "gpu"}, r"backend='gpu' is not one of \['kernel', 'cvxpy'\]"),
    ({"backend": "cvxpy", "solver": "CLARABLE"}, r"solver 'CLARABLE' is not installed; did you mean \"CLARABEL\"\?; "
     r"CVXPY has .*CLARABEL.*SCS"),
    ({"backend": "cvxpy", "solver": "NOSUCH"}, r"solver 'NOSUCH' is not installed; CVXPY has .*CLARABEL.*SCS"),
    ({"backend": "cvxpy", "solver": 3}, r"solver 3 is not installed; CVXPY has .*CLARABEL"),
    ({"solver": "SCS"}, r"solver='SCS' needs backend=\"cvxpy\""),
]


@pytest.mark.parametrize("strategy", [BranchAndBound, Enumeration, Alternating])
@pytest.mark.parametrize(("options", "told"), REFUSED, ids=str)
def test_a_wrong_backend_or_solver_is_refused_in_one_line(strategy: Any, options: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidInput, match=told) as refusal:
        strategy(**options)
    assert "\n" not in str(refusal.value)


def test_a_solver_for_another_kind_of_problem_is_refused_in_one_line() -> None:
    for method in (Enumeration(backend="cvxpy", solver="SCIPY"), Alternating(backend="cvxpy", solver="SCIPY")):
        with pytest.raises(InvalidInput, match=r"solver 'SCIPY' does not solve problems of this kind, .*quadratic"):
            solved(CASE, method)
    with pytest.raises(InvalidInput, match=r"'SCIPY' does not solve problems of this kind, Shor SDP \(semidefinite\)"):
        solved(CASE, BranchAndBound(relaxation="shor", backend="cvxpy", solver="SCIPY"))


def solver_of(relaxation: Any) -> Any:
    (solver,) = getattr(relaxation, "solvers", None) or (relaxation.solver,)
    return solver


def leaves(relaxation: Any) -> list[Any]:
    members = getattr(relaxation, "members", None)
    return [relaxation] if members is None else [leaf for member in members for leaf in leaves(member)]


def test_a_policy_has_all_its_members_through_cvxpy() -> None:
    for policy in (Fixed("active-set"), ByDepth("shor", "active-set", 1), CheapThenStrong("active-set", "perspective"),
                   Adaptive(["active-set", ShorRelaxation(cuts=False)]), Fixed(ByDepth("shor", "auto", 1))):
        search = BranchAndBound(relaxation=policy, backend="cvxpy", solver="SCS")
        assert {solver_of(leaf) for leaf in leaves(search.bound_by)} == {"SCS"}
        assert type(search.bound_by) is type(policy)
        assert solved(CASE, search).objective == pytest.approx(solved(CASE, Enumeration()).objective, rel=1e-9)


def test_relaxations_without_solvers_say_so() -> None:
    class Own:
        name = "own"

        def prepare(self, instance: Instance) -> Any:
            raise NotImplementedError

    assert isinstance(BranchAndBound(relaxation=Own(), backend="cvxpy").bound_by, Own)
    with pytest.raises(InvalidInput, match="solver='SCS' does not apply to the relaxation \"own\""):
        BranchAndBound(relaxation=Own(), backend="cvxpy", solver="SCS")
    mine = through_cvxpy(from_builder(lambda instance, signs: quadratic(instance, signs)), "scs")
    assert mine.solver == "SCS"  # type: ignore[attr-defined]
    own = PerspectiveRelaxation("bj")
    assert through_cvxpy(own, "scs").D == "bj"  # type: ignore[attr-defined]
    assert through_cvxpy(own, "scs").solvers == ("SCS",)  # type: ignore[attr-defined]


@pytest.mark.parametrize("strategy", [
    Enumeration(backend="cvxpy", solver="CLARABEL"), BranchAndBound(backend="cvxpy", solver="SCS"),
    Alternating(backend="cvxpy", halves="nnls"),
])
def test_saved_models_keep_the_backend(strategy: Any) -> None:
    assert strategy_of(strategy_document(strategy)) == strategy
    assert strategy_document(strategy)["backend"] == "cvxpy"
