"""Small problems are answered by the interpreted kernel, with the answers of the compiled one."""

import subprocess
import sys

import numpy as np
import pytest

import partls
import relaxations.kernel
from partls.search.trace import trace_search
from relaxations import interpreter

METHODS = ["bnb", "enumerate", "alternating"]


class NoMachineCode:
    __all__ = relaxations.kernel.__all__

    def __getattr__(self, name):
        pytest.fail(f"the compiled {name} was used")


def compiled(call):
    """Make the call with machine code; a process that has loaded none would begin with the interpreter."""
    assert relaxations.kernel.walk and interpreter.is_compiled()
    return call()


def interpreted(call):
    """Make the call with the interpreted kernel, whatever this process has compiled, and all the time it needs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(interpreter, "is_compiled", lambda: False)
        patch.setattr(interpreter, "_spent", 0.0)
        patch.setattr(interpreter, "ALLOWANCE", 1e6)
        patch.setattr(interpreter, "machine_code", NoMachineCode())
        return call()


def problem(kind, seed):
    """Return (X, y, groups, options) of one small problem."""
    rng = np.random.default_rng([METHODS.index("bnb"), seed])
    N, M, K = (30, 12, 4) if kind != "wide" else (7, 10, 3)
    X, y = rng.standard_normal((N, M)), rng.standard_normal(N)
    groups, options = rng.permutation(np.arange(M) % K), {}
    if kind == "penalties":
        options = {"eta": {0: 0.5, 1: 0.0, 2: 3.0, 3: 1.0}, "ridge": 0.3, "sample_weight": rng.uniform(0.1, 2, N)}
    if kind == "l1":
        options = {"eta": 2.0, "penalty": "l1"}
    if kind == "signs":
        options = {"signs": {0: "+", 2: "-"}, "fit_intercept": False}
    if kind == "one-hot":
        X[:, groups == 0] = np.eye((groups == 0).sum())[rng.integers(0, (groups == 0).sum(), N)]
    if kind == "twins":  # two groups of the same columns: every solution has others as good
        X[:, groups == 1] = X[:, groups == 0]
    if kind == "collinear":
        X[:, groups == 2] = X[:, groups == 3] + 1e-5 * rng.standard_normal((N, (groups == 3).sum()))
    return X, y, groups.tolist(), options


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["plain", "wide", "penalties", "l1", "signs", "one-hot", "twins", "collinear"])
def test_either_kernel_gives_the_same_answer(kind, method):
    for seed in range(2):
        X, y, groups, options = problem(kind, seed)

        def call(X=X, y=y, groups=groups, options=options):
            return partls.solve(X, y, groups, method=method, random_state=0, **options)

        by_code, by_python = compiled(call), interpreted(call)
        assert by_python.status is by_code.status
        assert by_python.objective == pytest.approx(by_code.objective, rel=1e-10, abs=1e-12 * (y @ y))
        assert by_python.signs.tolist() == by_code.signs.tolist()
        unique = kind not in ("wide", "twins", "one-hot")
        if unique:
            np.testing.assert_allclose(by_python.coef, by_code.coef, rtol=1e-6, atol=1e-6)
        if method == "bnb" and kind in ("plain", "penalties", "l1", "signs"):
            assert by_python.n_nodes == by_code.n_nodes
        assert by_python.audit().passed


def test_all_solutions_are_kept_alike():
    X, y, groups, _ = problem("plain", 3)
    both = [way(lambda: partls.solve(X, y, groups, method="enumerate", keep="all")) for way in (compiled, interpreted)]
    assert len(both[0].solutions) == len(both[1].solutions) == 16
    for one, other in zip(both[0].solutions, both[1].solutions, strict=True):
        assert other.objective == pytest.approx(one.objective, rel=1e-10)
        np.testing.assert_allclose(other.coef, one.coef, atol=1e-8)


def test_the_recorded_tree_is_the_same():
    X, y, groups, _ = problem("plain", 4)
    instance = partls.Instance(X, y, groups)
    one, other = (way(lambda: trace_search(instance)) for way in (compiled, interpreted))
    assert [(node.group, node.sign, node.outcome) for node in one] == [
        (node.group, node.sign, node.outcome) for node in other
    ]


def test_ambiguities_are_the_same():
    X, y, groups, _ = problem("twins", 0)
    one, other = (way(lambda: partls.solve(X, y, groups).ambiguities) for way in (compiled, interpreted))
    for kind in ("either_sign", "n_loose", "repeated_columns", "proved_signs", "unique"):
        assert getattr(one, kind) == getattr(other, kind)
    assert one.either_sign and one.repeated_columns


def test_proofs_are_as_good(tmp_path):
    X, y, groups, _ = problem("plain", 5)
    interpreted(lambda: partls.solve(X, y, groups, certificate=tmp_path / "proof.json"))
    assert partls.verify(tmp_path / "proof.json", X, y, groups).tolerance <= 1e-9


def test_what_outlasts_the_interpreter_begins_anew_with_machine_code(monkeypatch):
    X, y, groups, _ = problem("plain", 6)
    expected = compiled(lambda: partls.solve(X, y, groups))
    monkeypatch.setattr(interpreter, "is_compiled", lambda: False)
    monkeypatch.setattr(interpreter, "_spent", 0.0)
    monkeypatch.setattr(interpreter, "ALLOWANCE", 1e-3)
    result = partls.solve(X, y, groups)
    assert interpreter._spent >= 1e-3
    assert result.objective == expected.objective and result.n_nodes == expected.n_nodes


@pytest.mark.parametrize("options", [
    {"n_jobs": 2}, {"progress": lambda state: False}, {"method": partls.BranchAndBound(executor="loky")},
], ids=["threads", "observer", "processes"])
def test_work_that_others_can_see_is_never_given_up(options, monkeypatch):
    monkeypatch.setattr(interpreter, "is_compiled", lambda: False)
    monkeypatch.setattr(interpreter, "_spent", 0.0)
    monkeypatch.setattr(interpreter, "import_module", lambda name: pytest.fail("interpreted"))
    X, y, groups, _ = problem("plain", 7)
    assert partls.solve(X, y, groups, **options).status.name == "OPTIMAL"


def test_a_checkpointed_search_is_never_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(interpreter, "is_compiled", lambda: False)
    monkeypatch.setattr(interpreter, "import_module", lambda name: pytest.fail("interpreted"))
    X, y, groups, _ = problem("plain", 8)
    assert partls.solve(X, y, groups, checkpoint=tmp_path / "run.ckpt").status.name == "OPTIMAL"


FIRST = """
import sys
import numpy as np, partls
rng = np.random.default_rng(0)
X, y = rng.standard_normal((60, 20)), rng.standard_normal(60)
print(partls.solve(X, y, [m % 5 for m in range(20)]).status.name, "numba" in sys.modules)
big = [m % 12 for m in range(24)]
X = rng.standard_normal((60, 24))
print(partls.solve(X, y, big).status.name, "numba" in sys.modules)
"""


def test_a_small_problem_loads_no_compiler_and_a_larger_one_does():
    done = subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["OPTIMAL False", "OPTIMAL True"]
