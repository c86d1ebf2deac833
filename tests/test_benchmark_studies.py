"""The studies' statistics, pages and pictures are right, the exact yardstick is exact, a killed run goes on."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from benchmarks import table
from benchmarks.contract import Answer, Problem
from benchmarks.figures import clock, plain
from benchmarks.full_run import resume
from benchmarks.index import write_index
from benchmarks.rational import exact_objective, nonnegative, normal_equations, solve
from benchmarks.referee import score
from benchmarks.registry import datasets, methods, studies
from benchmarks.runner import Case, Run, run_case, runs_of
from benchmarks.studies._crossing import Crossing, crossing
from benchmarks.studies._model_quality_page import best_of, better, errors
from benchmarks.studies._published_errors import TEST, TRAINING, is_within
from tests.oracles import brute_force

ROOT = Path(__file__).resolve().parents[1]


def rows_of(*cases: Case) -> list[table.Row]:
    return [row for case in cases for seed_rows in run_case(case) for row in seed_rows]


def test_rational_arithmetic_rounds_nothing():
    third = solve([[Fraction(3)]], [Fraction(1)])
    assert third == [Fraction(1, 3)]
    Q, c, target = normal_equations(np.array([[0.1], [0.2]]), np.array([0.3, 0.4]))
    assert Q[0][0] == Fraction(0.1) ** 2 + Fraction(0.2) ** 2 and target == Fraction(0.3) ** 2 + Fraction(0.4) ** 2
    assert nonnegative(Q, c) == [c[0] / Q[0][0]] and nonnegative(Q, [-c[0]]) == [0]
    problem = Problem(np.array([[1e16], [1.0]]), np.array([1e16, 2.0]), np.array([0]), rational=True)
    assert exact_objective(problem, np.array([1.0])) == 1.0
    assert np.isnan(exact_objective(problem, np.array([np.nan])))


@pytest.mark.parametrize("seed", range(3))
def test_the_exact_yardstick_agrees_with_brute_force(seed):
    problem = datasets()["synthetic"](seed, N=14, M=7, K=3, corr=0.5)
    method = methods()["rational_enumeration"]()
    method.set_up(problem, 60.0)
    method.run()
    found, right = method.answer(), brute_force(problem.X, problem.y, problem.labels, fit_intercept=False)
    assert found.notes["optimum"] == pytest.approx(right.objective, rel=1e-13) and found.nodes == 8
    assert score(replace(problem, rational=True), found).objective == pytest.approx(right.objective, rel=1e-12)


def test_ill_conditioned_columns_have_the_condition_asked_for():
    problem = datasets()["ill_conditioned"](0, N=12, M=5, K=2, condition=1e6)
    assert np.linalg.cond(problem.X) == pytest.approx(1e6, rel=1e-6) and problem.rational and problem.well_posed
    assert not datasets()["ill_conditioned"](0, N=12, M=5, K=2, condition=1e14).well_posed


def test_powers_are_nearly_collinear():
    problem = datasets()["polynomial"](0, N=80, K=3, degree=6)
    assert problem.shape == (80, 18, 3) and np.linalg.cond(problem.X) > 1e4
    assert np.corrcoef(problem.X[:, 4], problem.X[:, 5])[0, 1] > 0.98


def test_held_out_rows_are_scored_and_take_no_part_in_the_fit():
    problem = datasets()["artificial"](0)
    coef = np.ones(37)
    expected = np.square(problem.X_test @ coef + 0.5 - problem.y_test).mean()
    assert score(problem, Answer("any", coef, 0.5)).test_error == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", ["least_squares", "ridge", "partial_least_squares", "principal_components"])
def test_linear_models_report_the_coefficients_they_predict_with(name):
    problem = datasets()["artificial"](1)
    method = methods()[name]()
    method.set_up(problem, 60.0)
    method.run()
    answer = method.answer()
    predicted = np.ravel(method._model.predict(problem.X_test))
    assert problem.X_test @ answer.coef + answer.intercept == pytest.approx(predicted, abs=1e-9)


def test_the_signs_of_least_squares_give_back_least_squares():
    case = Case("artificial", "artificial", {}, studies()["model_quality"].RUNS, seeds=1)
    rows = rows_of(case)
    found = {name: by_seed[0] for name, by_seed in errors(rows).items()}
    assert found["signs_of_least_squares training"] == pytest.approx(found["least_squares"], rel=1e-9)
    assert found["bnb"][0] >= found["least_squares"][0] and not any(row["faults"] for row in rows)


def test_a_model_is_bold_only_if_it_beats_all_that_are_not():
    rng = np.random.default_rng(0)
    base = rng.uniform(1.0, 2.0, 50)
    noise = [0.01 * rng.standard_normal(50) for _ in range(3)]
    samples = {"a": base + noise[0], "b": base + noise[1], "c": base + 1 + noise[2]}
    assert better(samples["a"], samples["c"]) and not better(samples["c"], samples["a"])
    assert best_of(samples) == {"a", "b"}
    assert best_of({"a": base, "same": base.copy(), "c": base + 1}) == {"a", "same"}
    assert not better(base, base * (1 + 1e-12)) and better(base, base + 1)
    # One that differs from neither the best nor a worse one: nobody is better than all the rest.
    middle = base + 0.01 + 0.5 * rng.standard_normal(50)
    assert best_of({"a": base, "b": base + 0.02, "m": middle}) == set()


def test_the_committed_errors_on_artificial_data_are_the_published_ones():
    rows = [row for row in table.read(ROOT / "benchmarks/results/model_quality.csv") if row["case"] == "artificial"]
    found = errors(rows)
    for name, published in TEST["artificial"].items():
        train, test = np.array(list(found[name].values())).T
        assert len(test) == 100 and is_within(np.mean(test), *published), name
        assert is_within(np.mean(train), *TRAINING["artificial"][name]), name
    assert "NO" not in studies()["model_quality"].page(rows)


def test_a_run_may_have_a_time_limit_and_seeds_of_its_own():
    slow = Run("reference_bnb", time_limit=0.0, seeds=1)
    case = Case("own", "synthetic", {"N": 60, "M": 40, "K": 10}, (Run("bnb"), slow), seeds=2)
    assert [len(runs_of(case, seed)) for seed in (0, 1)] == [2, 1]
    rows = rows_of(case)
    assert [row["status"] for row in rows] == ["optimal", "time limit", "optimal"]
    assert [row["time_limit"] for row in rows] == [60.0, 0.0, 60.0]


PUBLISHED_METHODS = ("reference_bnb", "reference_bnb_as_published", "reference_enumeration")
SMALL = {
    "time_vs_objective": [
        Case("artificial", "artificial", {},
             (Run("reference_alternating", {"n_starts": 3}), Run("alternating"), Run("bnb"))),
        Case("limpet", "limpet", {}, (Run("bnb"),)),
    ],
    "scaling": [
        *(Case(f"n-{N}", "synthetic", {"N": N, "M": 8, "K": 3}, (Run("bnb"), Run("lstsq"))) for N in (100, 400)),
        *(Case(f"cross-{K}", "synthetic", {"N": 30, "M": 8, "K": K}, studies()["scaling"].BOTH) for K in (2, 3)),
        Case("threads", "synthetic", {"N": 40, "M": 12, "K": 4}, (Run("bnb"), Run("bnb", {"threads": 2}))),
    ],
    "robustness": [
        Case(f"condition-1e{e}", "ill_conditioned", {"N": 10, "M": 5, "K": 2, "condition": 10.0**e},
             (Run("rational_enumeration"), Run("bnb"), Run("reference_enumeration"))) for e in (2, 4)
    ],
    "model_quality": [
        Case("artificial", "artificial", {}, (Run("least_squares"), Run("principal_components"), Run("bnb")))
    ],
    "exact": [
        Case("hard-wide", "synthetic", {"N": 10, "M": 14, "K": 3},
             (Run("bnb"), Run("reference_bnb"), Run("daqp_miqp"))),
        Case("paper-k10-n100-m400", "paper_table", {"N": 100, "M": 400, "K": 10},
             (Run("bnb"), *(Run(name, time_limit=0.0) for name in PUBLISHED_METHODS))),
    ],
}


def test_pages_pictures_and_the_overview_come_from_the_tables_alone(tmp_path, monkeypatch):
    from benchmarks.__main__ import main

    monkeypatch.delenv("PARTLS_DATA", raising=False)
    for name, cases in SMALL.items():
        rows = rows_of(*(replace(case, seeds=2) for case in cases))
        assert not any(row["faults"] and row["trusted"] for row in rows)
        table.write(tmp_path / f"{name}.csv", rows)
    chosen = [word for name in SMALL for word in ("--study", name)]
    assert main(["--render", "--out", str(tmp_path), *chosen]) == 0
    pages = {name: (tmp_path / f"{name}.md").read_text(encoding="utf-8") for name in SMALL}
    assert "Not here: data.csv and blocks.csv not found" in pages["time_vs_objective"]
    assert "published alternating, T = 20" in pages["time_vs_objective"] and "| 0 |" in pages["time_vs_objective"]
    assert "speed-up" in pages["scaling"] and "Branch and bound against enumeration" in pages["scaling"]
    assert "| PartLS branch and bound | 0e+00 | 0e+00 |" in pages["robustness"]
    assert "no bound" in pages["exact"] and "Wendel" in pages["exact"] and "(0.0%)" in pages["exact"]
    overview = (tmp_path / "README.md").read_text(encoding="utf-8")
    for path in tmp_path.glob("*.svg"):
        assert f"({path.name})" in overview and path.stat().st_size > 5000
        assert f"({path.name})" in pages[path.name.partition("-")[0]]
    assert {path.name.partition("-")[0] for path in tmp_path.glob("*.svg")} == set(SMALL)


def test_the_overview_says_where_a_peer_wins(tmp_path):
    def row(method: str, seconds: float, faults: str = "") -> table.Row:
        return {"case": "bnb-k15", "method": method, "seconds": seconds, "faults": faults, "status": "optimal",
                "seed": 0, "N": 9, "M": 4, "K": 2, "trusted": 1, "isolated": 0, "machine": "m", "versions": "v"}

    rows = [row("bnb", 1.0), row("daqp_miqp", 0.5), row("gurobi_miqp", 0.1, "not optimal"), row("scip_miqp", 2.0),
            row("enumerate", 4.0), row("reference_enumeration", 3.0)]
    table.write(tmp_path / "exact.csv", rows)
    write_index(tmp_path)
    overview = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "DAQP (big-M) is faster than PartLS branch and bound on bnb-k15 (500 ms against 1 s)" in overview
    assert "published enumeration is faster than PartLS enumeration on bnb-k15 (3 s against 4 s)" in overview
    assert "Gurobi (big-M) is faster" not in overview and "SCIP (big-M) is faster" not in overview


def timed(case: str, method: str, seconds: float, **more) -> table.Row:
    """Return a row of a run that took so long."""
    made = {"case": case, "method": method, "seconds": seconds, "status": "optimal", "seed": 0, "nodes": 7,
            "N": 200, "M": 60, "K": 5, "time_limit": 300.0, "faults": "", "machine": "m", "versions": "v",
            "cpu_seconds": seconds, "resident_mb": 1.0, "peak_mb": 2.0}
    return table.tidy(made | more)


def test_the_crossing_is_interpolated_between_its_neighbours():
    assert str(crossing([2, 3, 4], [1.0, 1.0, 1.0], [0.5, 0.5, 8.0])) == (
        "branch and bound is faster from K = 4 on, and the times cross at K = 3.2")  # log 2 of log 16
    assert crossing([2, 4], [1.0, 2.0], [0.1, 20.0]) == Crossing(4, 3.0, 1)
    several = crossing([2, 3, 4, 5], [1.0, 1.0, 1.0, 1.0], [2.0, 0.5, 2.0, 4.0])
    assert (several.first, several.place, several.changes) == (4, pytest.approx(3.5), 2)
    assert "changes 2 times" in str(several)
    assert "at every K measured, from K = 2" in str(crossing([2, 3], [1.0, 1.0], [2.0, 2.0]))
    assert "not faster at the largest K" in str(crossing([2, 3], [1.0, 1.0], [2.0, 0.5]))
    assert crossing([2], [1.0], [1.0]) == Crossing(None, None, 0)


def test_the_page_of_scaling_shows_the_crossing_and_no_exponent_in_the_groups():
    study = studies()["scaling"]
    rows = []
    for K, ours, listed in ((2, 0.004, 0.002), (3, 0.004, 0.008), (4, 0.004, 300.0)):
        cut = "time limit" if listed == 300.0 else "optimal"
        for seed in range(3):
            spread = 1 + 0.1 * (seed - 1)
            rows.append(timed(f"cross-{K}", "bnb", ours * spread, K=K, seed=seed))
            rows.append(timed(f"cross-{K}", "enumerate", listed * spread, K=K, seed=seed, status=cut))
    rows += [timed(f"k-{K}", "bnb", seconds, K=K) for K, seconds in ((5, 0.1), (10, 0.2), (15, 0.4))]
    rows += [timed(f"n-{N}", "bnb", seconds, N=N) for N, seconds in ((100, 0.1), (1000, 1.0))]
    rows += [timed(f"m-{M}", "bnb", seconds, M=M) for M, seconds in ((40, 0.1), (80, 0.3), (160, 0.2))]
    page = study.page(rows)
    assert "PartLS: branch and bound is faster from K = 3 on, and the times cross at K = 2.5." in page
    assert "the same 3 instances for each K, for at most 300 s" in page and "Published" not in page
    assert "| K = 4 | 4 ms | > 300 s (3 of 3 cut) | 7 |" in page
    assert "seconds grow as N^1.00" in page and "M^" not in page and "K^" not in page  # M: the medians do not increase
    assert set(study.figures(rows)) == {"growth", "crossing"}
    early = [timed(f"cross-{K}", "reference_enumeration", 0.003 * (K - 1), K=K) for K in (2, 3)]
    assert study.losses(rows) == study.losses([*rows, *early]) == []
    early = [timed(f"cross-{K}", "reference_enumeration", 0.001 * (K - 1) ** 4, K=K) for K in (2, 3)]
    assert study.losses([*rows, *early]) == [
        "published enumeration is faster than our branch and bound and our enumeration at K = 2"]


def test_the_full_study_runs_both_methods_on_every_k_with_three_seeds_and_300_seconds():
    cases = [case for case in studies()["scaling"].cases() if case.key.startswith("cross-")]
    assert [case.settings["K"] for case in cases] == list(range(2, 21))
    assert all((case.seeds, case.time_limit) == (3, 300) for case in cases)
    assert all({"bnb", "enumerate"} <= {run.method for run in case.runs} for case in cases)


def test_a_comparison_lost_is_called_so():
    from benchmarks.studies._exact_page import _verdict

    assert _verdict("faster", 0.04, None, 1, solved=True) == "peer wins"
    assert _verdict("faster", 1.2, None, 1, solved=True) == "aim"
    assert _verdict("seconds", 30.0, None, 20, solved=True) == "must"


def test_axes_are_labelled_as_one_would_write():
    assert [plain(value) for value in (0.01, 30.0, 1e3, 2e9)] == ["0.01", "30", "1,000", "2e9"]
    assert [clock(value) for value in (2e-5, 1e-3, 0.1, 10.0, 2e3)] == ["20 µs", "1 ms", "100 ms", "10 s", "2,000 s"]


KILLED = """
import os, signal, sys
from pathlib import Path
from benchmarks.figures import clock, plain
from benchmarks.full_run import resume
from benchmarks.methods.lstsq import Lstsq
from benchmarks.runner import Case, Run

run = Lstsq.run
def deadly(self):
    if len(self._y) == 40:
        os.kill(os.getpid(), signal.SIGKILL)
    run(self)
Lstsq.run = deadly
cases = [Case(f"n{N}", "synthetic", {"N": N, "M": 5, "K": 2}, (Run("bnb"), Run("lstsq")), seeds=2) for N in (30, 40)]
resume(cases, Path(sys.argv[1]))
"""


def test_a_full_run_that_is_killed_goes_on_where_it_was(tmp_path):
    target, old = tmp_path / "study.csv", [{"case": "old", "seed": 0}]
    table.write(target, old)
    done = subprocess.run([sys.executable, "-c", KILLED, str(target)], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    journal = tmp_path / "unfinished" / "study.csv"
    kept = table.read(journal)
    assert [(row["case"], row["seed"]) for row in kept] == [("n30", 0)] * 2 + [("n30", 1)] * 2
    assert [row["case"] for row in table.read(target)] == ["old"]  # the table stays until the run is complete
    runs = (Run("bnb"), Run("lstsq"))
    cases = [Case(f"n{N}", "synthetic", {"N": N, "M": 5, "K": 2}, runs, seeds=2) for N in (30, 40)]
    rows = resume(cases, target)
    assert [row["case"] for row in rows] == ["n30"] * 4 + ["n40"] * 4
    assert [row["seconds"] for row in rows[:4]] == [row["seconds"] for row in kept]  # not measured again
    assert table.read(target) == rows and not journal.exists()


def test_an_unfinished_run_with_other_settings_is_not_continued(tmp_path):
    target = tmp_path / "study.csv"
    case = Case("n30", "synthetic", {"N": 30, "M": 5, "K": 2}, (Run("lstsq"),), seeds=1)
    (rows,) = run_case(case)
    table.write(tmp_path / "unfinished" / "study.csv", [row | {"objective": -1.0} for row in rows])
    assert resume([case], target)[0]["objective"] == -1.0
    table.write(tmp_path / "unfinished" / "study.csv", [row | {"objective": -1.0} for row in rows])
    changed = replace(case, settings={"N": 31, "M": 5, "K": 2})
    (row,) = resume([changed], target)
    assert row["objective"] > 0 and json.loads(row["settings"])["N"] == 31


def test_a_full_run_of_some_cases_is_refused(capsys):
    from benchmarks.__main__ import main

    with pytest.raises(SystemExit):
        main(["--full", "--study", "exact", "--cases", "bnb-k15"])
    assert "leave it out to replace the rows of some cases" in capsys.readouterr().err
