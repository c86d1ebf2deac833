"""The benchmarks' referee is strict, the reference methods are right, and a file dropped in is a member."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import benchmarks.datasets
import benchmarks.methods
from benchmarks import table
from benchmarks.big_m import big_m
from benchmarks.contract import Answer, Problem
from benchmarks.referee import AGREEMENT, Entry, faults, score
from benchmarks.registry import datasets, methods, studies
from benchmarks.render import duration, paired_ratios, power_law, timing
from benchmarks.runner import Case, Run, is_wrong, run_case
from tests.oracles import brute_force
from tests.tolerances import same_optimum

EXACT = ["bnb", "enumerate", "reference_bnb", "reference_bnb_as_published", "reference_enumeration"]
PEERS = ["gurobi_miqp", "scip_miqp", "cvxpy_scip", "daqp_miqp"]


def tiny(seed: int) -> Problem:
    return datasets()["synthetic"](seed, N=14, M=8, K=3, corr=0.5 * (seed % 2))


def optimum(problem: Problem) -> Answer:
    found = brute_force(problem.X, problem.y, problem.labels, fit_intercept=problem.fit_intercept)
    return Answer("optimal", found.coef, found.intercept, found.objective, found.objective)


def solved(name: str, problem: Problem, time_limit: float = 60.0) -> Answer:
    method = methods()[name]()
    assert method.reason_to_skip(problem) == ""
    method.set_up(problem, time_limit)
    method.run()
    return method.answer()


def judged(problem: Problem, *answers: Answer) -> list[list[str]]:
    return faults(problem, [Entry(answer, score(problem, answer), True, True) for answer in answers])


def test_referee_passes_the_optimum():
    problem = tiny(0)
    right = optimum(problem)
    assert judged(problem, right) == [[]]
    assert score(problem, replace(right, lower_bound=0.75 * right.claimed)).gap == pytest.approx(0.25)


def test_referee_catches_a_wrong_objective():
    problem = tiny(0)
    right = optimum(problem)
    (found,) = judged(problem, replace(right, claimed=right.claimed * (1 - 10 * AGREEMENT)))
    assert len(found) == 1 and found[0].startswith("claims")


def test_referee_catches_a_worse_answer_called_optimal():
    problem = tiny(0)
    right = optimum(problem)
    worse = replace(right, coef=right.coef * 1.01, claimed=np.nan)
    clean, found = judged(problem, right, worse)
    assert clean == [] and len(found) == 1 and found[0].startswith("not optimal")
    assert judged(problem, right, replace(worse, status="time limit")) == [[], []]


def test_referee_reports_sign_violations_and_repairs_nothing():
    problem = tiny(0)
    right = optimum(problem)
    mixed = np.linalg.lstsq(problem.X, problem.y, rcond=None)[0]
    answer = Answer("optimal", mixed)
    clean, found = judged(problem, right, answer)
    assert clean == [] and "sign violations" in found[0]
    groups = [mixed[problem.labels == k] for k in range(3)]
    expected = sum(min((group > 0).sum(), (group < 0).sum()) for group in groups)
    scored = score(problem, answer)
    assert scored.sign_violations == expected > 0 and scored.worst_violation > 0
    assert scored.objective == pytest.approx(np.square(problem.X @ mixed - problem.y).sum())


def test_referee_catches_a_violation_of_any_size():
    problem = tiny(0)
    right = optimum(problem)
    j = int(np.flatnonzero(right.coef)[0])
    i = next(i for i in np.flatnonzero(problem.labels == problem.labels[j]) if i != j)
    coef = right.coef.copy()
    coef[i] = -1e-14 * coef[j]
    assert score(problem, replace(right, coef=coef)).sign_violations >= 1


def test_referee_catches_an_invalid_bound():
    problem = tiny(0)
    right = optimum(problem)
    cut = Answer("time limit", lower_bound=right.claimed * (1 + 10 * AGREEMENT))
    clean, found = judged(problem, right, cut)
    assert clean == [] and len(found) == 1 and found[0].startswith("invalid bound")


def test_referee_catches_what_is_not_a_number_and_an_answer_without_coefficients():
    assert any("not finite" in fault for fault in judged(tiny(0), Answer("optimal", np.full(8, np.nan)))[0])
    assert any("not optimal" in fault for fault in judged(tiny(0), Answer("optimal"))[0])


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("seed", range(4))
def test_exact_methods_agree_with_brute_force(name, seed):
    problem = tiny(seed)
    right, answer = optimum(problem), solved(name, problem)
    assert answer.status == "optimal"
    assert judged(problem, right, answer) == [[], []]
    assert score(problem, answer).objective == same_optimum(right.claimed, problem.y)


@pytest.mark.parametrize("name", ["bnb", "enumerate", "reference_bnb", "reference_enumeration"])
def test_exact_methods_agree_with_brute_force_with_an_intercept(name):
    problem = replace(tiny(1), y=tiny(1).y + 5.0, fit_intercept=True)
    right, answer = optimum(problem), solved(name, problem)
    assert answer.intercept != 0
    assert judged(problem, right, answer) == [[], []]


@pytest.mark.parametrize("name", ["bnb", "reference_bnb"])
def test_exact_methods_agree_on_the_papers_data(name):
    problem = datasets()["paper_table"](0, N=12, M=9, K=3)
    assert judged(problem, optimum(problem), solved(name, problem)) == [[], []]


@pytest.mark.peers
@pytest.mark.parametrize("name", PEERS)
@pytest.mark.parametrize("seed", range(2))
def test_mixed_integer_solvers_find_the_signs(name, seed):
    missing = [module for module in methods()[name].requires if find_spec(module) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed: pip install 'partls[bench]'")
    problem = tiny(seed)
    right, answer = optimum(problem), solved(name, problem)
    assert answer.status == "optimal"
    assert score(problem, answer).objective == same_optimum(right.claimed, problem.y)
    assert answer.notes["raw_objective"] == pytest.approx(right.claimed, rel=1e-4)
    assert answer.notes["raw_violation"] >= 0


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["alternating", "reference_alternating"])
def test_alternations_are_feasible_and_no_better_than_the_optimum(name, seed):
    problem = tiny(seed)
    right, answer = optimum(problem), solved(name, problem)
    assert answer.status == "heuristic" and answer.notes["starts"] == 20
    assert judged(problem, right, answer) == [[], []]
    assert score(problem, answer).objective >= right.claimed * (1 - 1e-10)


def test_the_reference_alternation_revives_empty_groups():
    """Groups of one column: the wrong sign leaves nothing of a group, which gets equal shares again."""
    problem = replace(tiny(0), labels=np.arange(8))
    answer = solved("reference_alternating", problem)
    assert answer.notes["revived"] > 0 and judged(problem, optimum(problem), answer) == [[], []]
    assert answer.notes["norm"] == pytest.approx(np.sqrt(answer.claimed))
    seconds, values = zip(*answer.notes["trace"], strict=True)
    assert list(seconds) == sorted(seconds) and list(values) == sorted(values, reverse=True)


def test_the_page_of_the_alternation_compares_with_the_proven_optimum():
    runs = (Run("alternating", {"n_starts": 2}), Run("alternating", {"budget": 0.05, "polish": "flips"}), Run("bnb"))
    rows = [
        row for key in ("small-k5", "large-k20")
        for seed_rows in run_case(Case(key, "synthetic", {"N": 14, "M": 8, "K": 3}, runs, seeds=2)) for row in seed_rows
    ]
    assert [row["status"] for row in rows[:3]] == ["heuristic", "budget spent", "optimal"]
    page = studies()["alternating"].page(rows)
    assert "| small-k5 | random, polish none, 2 starts | 2 | 2 |" in page
    assert "| large-k20 | random, polish flips, 0.05 s | 2 |" in page
    assert "Not run." in page and "12 runs, 0 with a fault" in page


def test_the_page_of_the_relaxations_shows_shares_and_trees():
    bounds = tuple(Run("node_bound", {"relaxation": name}) for name in ("unconstrained", "split-dnn"))
    searches = tuple(Run("bnb_with", {"relaxation": name}) for name in ("active-set", "cheap then perspective"))
    shape = {"N": 14, "M": 6, "K": 2, "corr": 0.9}
    cases = [Case("root-m20-corr0", "synthetic", shape, (*bounds, Run("bnb")), seeds=2),
             Case("tree-small", "synthetic", shape, searches, seeds=2)]
    rows = [row for case in cases for seed_rows in run_case(case) for row in seed_rows]
    assert not any(is_wrong(row) for row in rows)
    page = studies()["relaxations"].page(rows)
    assert "| unconstrained | 0.0000 | 0.0000 |" in page and "| split-dnn | 1.0000 |" in page
    assert page.count("| 2 of 2 |") == 2 and ", 0 with a fault." in page


def test_the_page_of_the_limits_sets_what_is_late_beside_a_factorisation():
    study = studies()["limits"]
    rows = rows_of_quick(study)
    page = study.page(rows)
    assert "| 200 x 300 | bnb |" in page
    assert "of 1 medians are within 0.3 s" in page
    late = [row | {"notes": json.dumps(json.loads(row["notes"]) | {"returned": 99.0})} if "bnb" in row["notes"] else row
            for row in rows]
    assert "| NO |" in study.page(late)


def rows_of_quick(study):
    return [row for case in study.cases(quick=True) for seed_rows in run_case(case) for row in seed_rows]


def test_the_page_of_the_certificates_sets_checking_beside_solving():
    case = replace(studies()["certificates"].cases(quick=True)[0], seeds=1)
    rows = [row for seed_rows in run_case(case) for row in seed_rows]
    assert [row["status"] for row in rows] == ["optimal"] * 4 and not any(is_wrong(row) for row in rows)
    page = studies()["certificates"].page(rows)
    assert page.count("x |") == 2 and "4 runs, 0 with a fault." in page


def test_a_peer_without_a_penalty_says_so():
    assert methods()["reference_bnb"]().reason_to_skip(replace(tiny(0), eta=1.0)) == "takes no penalty"


@pytest.mark.parametrize("eta", [0.0, 2.0])
def test_the_referee_counts_the_penalty(eta):
    problem = replace(tiny(1), eta=eta)
    coef = np.linspace(0.5, 1.0, 8)
    beta = [coef[problem.labels == k].sum() for k in range(problem.shape[2])]
    expected = np.square(problem.X @ coef - problem.y).sum() + eta * np.square(beta).sum()
    assert score(problem, Answer("optimal", coef)).objective == pytest.approx(expected, rel=1e-13)


def test_big_m_leaves_the_optimum_inside():
    for seed in range(6):
        problem = tiny(seed)
        assert (np.abs(optimum(problem).coef) <= big_m(problem).size).all()


@pytest.mark.parametrize("name", PEERS)
def test_mixed_integer_solvers_say_why_they_skip(name):
    wide = datasets()["synthetic"](0, N=5, M=8, K=2)
    assert "fewer rows than columns" in methods()[name]().reason_to_skip(wide)


def test_licence_limit_is_a_reason():
    large = Problem(np.zeros((1100, 1001)), np.zeros(1100), np.zeros(1001, dtype=int))
    assert "licence" in methods()["gurobi_miqp"]().reason_to_skip(large)


def test_time_out_is_a_row_with_a_status():
    problem = datasets()["synthetic"](0, N=60, M=40, K=10)
    for name in ("reference_bnb", "reference_enumeration"):
        answer = solved(name, problem, time_limit=0.0)
        assert answer.status == "time limit" and not answer.lower_bound > -np.inf


def test_the_two_reference_searches_walk_the_same_tree():
    problem = datasets()["synthetic"](0, N=40, M=24, K=6)
    lean, published = solved("reference_bnb", problem), solved("reference_bnb_as_published", problem)
    assert lean.nodes == published.nodes > 1
    assert lean.claimed == pytest.approx(published.claimed, rel=1e-12)


def test_datasets_are_seeded_and_as_described():
    first, again, other = (datasets()["synthetic"](seed, N=4000, M=12, K=5, corr=0.9) for seed in (3, 3, 4))
    assert (first.X == again.X).all() and (first.y == again.y).all() and not (first.X == other.X).all()
    off_diagonal = np.corrcoef(first.X.T)[~np.eye(12, dtype=bool)]
    assert np.abs(off_diagonal - 0.9).max() < 0.02
    assert np.ptp(np.bincount(first.labels)) <= 1
    paper = datasets()["paper_table"](0, N=30, M=40, K=20)
    assert paper.shape == (30, 40, 20) and np.abs(paper.X).max() <= 10 and np.bincount(paper.labels).min() >= 1


LIAR = '''
from dataclasses import dataclass
import numpy as np
from benchmarks.contract import Answer, Method

@dataclass
class Liar(Method):
    name = "liar"
    shift: float = 0.0

    def set_up(self, problem, time_limit):
        self._M = problem.shape[1]

    def run(self):
        if self.shift < 0:
            raise ArithmeticError("gave up")

    def answer(self):
        return Answer("optimal", np.full(self._M, self.shift), lower_bound=np.inf)
'''
CONSTANT = '''
import numpy as np
from benchmarks.contract import Problem

def make(seed, *, value):
    return Problem(np.eye(3), np.full(3, value), np.array([0, 0, 1]))
'''


@pytest.fixture
def dropped_in(tmp_path, monkeypatch):
    for package, name, text in ((benchmarks.methods, "liar", LIAR), (benchmarks.datasets, "constant", CONSTANT)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / f"{name}.py").write_text(text)
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])
    yield
    for module in ("benchmarks.methods.liar", "benchmarks.datasets.constant"):
        sys.modules.pop(module, None)


def test_a_file_dropped_in_is_a_member(dropped_in):
    assert "liar" in methods() and "constant" in datasets()
    case = Case("lies", "constant", {"value": 2.0}, (Run("bnb"), Run("liar", {"shift": 1.0})), seeds=1)
    ((honest, liar),) = run_case(case)
    assert honest["faults"] == "" and not is_wrong(honest)
    assert "not optimal" in liar["faults"] and "invalid bound" in liar["faults"] and is_wrong(liar)
    assert json.loads(liar["method_settings"]) == {"shift": 1.0}


def test_a_failure_is_a_row(dropped_in):
    case = Case("fails", "constant", {"value": 2.0}, (Run("liar", {"shift": -1.0}),), seeds=1)
    ((row,),) = run_case(case)
    assert row["status"] == "failed" and "gave up" in row["reason"] and is_wrong(row)


def test_a_missing_peer_is_a_row_and_the_page_says_so(monkeypatch):
    monkeypatch.setattr(methods()["gurobi_miqp"], "requires", ("no_such_solver",))
    case = Case("miqp-k10", "synthetic", {"N": 14, "M": 8, "K": 3}, (Run("bnb"), Run("gurobi_miqp")), seeds=1)
    ((_, row),) = run_case(case)
    assert row["status"] == "skipped" and row["seconds"] is None and not is_wrong(row)
    page = studies()["exact"].page([row for seed_rows in run_case(case) for row in seed_rows])
    assert "skipped: no_such_solver not installed" in page


def test_the_repository_has_its_members():
    assert {"synthetic", "paper_table"} <= set(datasets())
    assert {*EXACT, *PEERS, "lstsq", "first_call", "import"} <= set(methods())
    for study in studies().values():
        for quick in (True, False):
            for case in study.cases(quick):
                assert case.dataset in datasets()
                assert {run.method for run in case.runs} <= set(methods())


def test_rows_survive_the_file(tmp_path):
    case = Case("small", "synthetic", {"N": 14, "M": 8, "K": 3}, (Run("bnb"), Run("lstsq")), seeds=2)
    rows = [row for seed_rows in run_case(case) for row in seed_rows]
    table.write(tmp_path / "small.csv", rows)
    again = table.read(tmp_path / "small.csv")
    assert [row["objective"] for row in again] == [row["objective"] for row in rows]
    assert [row["seed"] for row in again] == [0, 0, 1, 1]
    assert set(again[0]) == set(table.COLUMNS) == {*table.TEXT, *table.WHOLE, *table.NUMBERS}
    assert again[1]["lower_bound"] is None and again[1]["status"] == "unconstrained" and again[1]["faults"] == ""
    assert all(row["machine"] and "numpy" in row["versions"] and row["peak_mb"] > 0 for row in again)


def test_a_median_that_was_cut_is_marked():
    def runs(*cut):
        return [{"seconds": 60.0 if c else 1.0, "status": "time limit" if c else "optimal", "seed": i}
                for i, c in enumerate(cut)]

    assert not timing(runs(0, 0, 1)).censored and timing(runs(0, 1, 1)).censored
    assert str(timing(runs(1, 1, 1))).startswith("> 60 s")
    assert str(timing([])) == "-"
    assert paired_ratios(runs(0, 0), runs(0, 1)) == [1.0, 60.0]
    assert power_law([1, 2, 4], [3, 12, 48]) == pytest.approx(2.0)
    assert duration(0.0123) == "12.3 ms"


def test_command_runs_a_case_and_writes_table_and_page(tmp_path):
    options = ["--quick", "--study", "exact", "--cases", "bnb-k30,memory-k20", "--seeds", "1", "--out", str(tmp_path)]
    command, root = [sys.executable, "-m", "benchmarks", *options], Path(__file__).resolve().parents[1]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = table.read(tmp_path / "exact.csv")
    assert {row["case"] for row in rows} == {"bnb-k30", "memory-k20"}
    page = (tmp_path / "exact.md").read_text(encoding="utf-8")
    assert "3 runs, 0 with a fault" in page and page == studies()["exact"].page(rows)


def test_a_fit_from_a_file_is_that_of_its_rows():
    case = replace(studies()["out_of_core"].cases(quick=True)[0], isolated=False)
    case = replace(case, settings={**case.settings, "N": 2000, "M": 9, "K": 3})
    folded, kept = Run("fit_file", {"memory": 0.0}), Run("fit_file", {"memory": 99.0})
    case = replace(case, runs=(Run("read_file"), folded, kept, Run("fit_command", {"memory": 0.0})))
    (rows,) = run_case(case)
    assert [row["faults"] for row in rows] == ["", "", "", ""]
    assert [table.notes(row).get("folded") for row in rows] == [None, 1, 0, 1]
    assert rows[3]["claimed"] == rows[1]["claimed"]
    assert table.notes(rows[3])["command_mb"] > 50
    assert rows[1]["claimed"] == pytest.approx(rows[2]["claimed"], rel=1e-10)
    assert "(must: 1e-10, met)" in studies()["out_of_core"].page(rows)
