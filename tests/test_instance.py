"""An instance refuses what it cannot use by naming the place, cannot be changed, and states the objective once."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from formulations import Instance, InvalidInput, PartLSError
from tests.strategies import Tiny, instances
from tests.tolerances import REDUCTION

X = np.arange(12.0).reshape(4, 3) ** 1.5
Y = np.array([1.0, -2.0, 0.5, 3.0])
FRAME = pd.DataFrame(X, columns=["height", "width", "age"])


def spoiled(values: np.ndarray, position: Any, value: Any) -> np.ndarray:
    changed = values.astype(type(value) if isinstance(value, complex) else object if isinstance(value, str) else float)
    changed[position] = value
    return changed


REFUSED = {
    "NaN in X": ({"X": spoiled(X, (2, 1), np.nan)}, r"X, row 2, column 1 is nan"),
    "infinity in X": ({"X": spoiled(X, (0, 2), -np.inf)}, r"X, row 0, column 2 is -inf"),
    "opposite infinities": ({"X": [[1, np.inf], [2, -np.inf]], "y": [0, 1]}, r"row 0, column 1 is inf \(2 such values"),
    "NaN in a named column": ({"X": FRAME.assign(width=[1.0, np.nan, 2.0, 3.0])}, r"X, row 1, column 'width' is nan"),
    "text in X": ({"X": spoiled(X, (3, 0), "tall")}, r"X, row 3, column 0 is 'tall', not a number"),
    "text in a named column": ({"X": FRAME.assign(age=list("abcd"))}, r"X, row 0, column 'age' is 'a', not a number"),
    "missing in a named column": ({"X": FRAME.astype(object).assign(age=[1, None, 2, 3])}, r"row 1, column 'age'"),
    "complex X": ({"X": spoiled(X, (0, 0), 1j)}, r"X has complex values"),
    "X is one-dimensional": ({"X": X[:, 0]}, r"X must be a table.*1-dimensional"),
    "X is a number": ({"X": 3.0}, r"X must be a table.*0-dimensional"),
    "ragged rows": ({"X": [[1, 2, 3], [4, 5], [6, 7, 8], [9, 1, 2]]}, r"X, row 1 has 2 values, row 0 has 3"),
    "number too large": ({"X": [[1, 2, 3], [10**400, 5, 6], [6, 7, 8], [9, 1, 2]]}, r"X, row 1, column 0 is '1000"),
    "dates": ({"X": np.full((4, 3), "2020-01-01", "datetime64[D]")}, r"X holds dates or durations"),
    "masked entries": ({"X": np.ma.masked_less(X, X.mean())}, r"X has masked entries"),
    "penalty is an array": ({"penalty": np.array(["l2", "l1"])}, r"penalty=.* is not one of"),
    "no rows": ({"X": X[:0], "y": []}, r"X is empty: 0 rows, 3 columns"),
    "no columns": ({"X": X[:, :0], "groups": []}, r"X is empty: 4 rows, 0 columns"),
    "NaN in y": ({"y": spoiled(Y, 3, np.nan)}, r"y, row 3 is nan"),
    "infinity in y": ({"y": spoiled(Y, 1, np.inf)}, r"y, row 1 is inf"),
    "text in y": ({"y": spoiled(Y, 1, "low")}, r"y, row 1 is 'low', not a number"),
    "complex y": ({"y": Y * 1j}, r"y has complex values"),
    "y too short": ({"y": Y[:3]}, r"y has 3 values but X has 4 rows"),
    "y has two columns": ({"y": np.ones((4, 2))}, r"y must be one-dimensional, got shape \(4, 2\)"),
    "negative weight": ({"sample_weight": [1, 1, -0.5, -1]}, r"sample_weight, row 2 is -0.5: weights must be >= 0"),
    "NaN weight": ({"sample_weight": [1, np.nan, 1, 1]}, r"sample_weight, row 1 is nan"),
    "all weights zero": ({"sample_weight": np.zeros(4)}, r"sample_weight is zero in every row"),
    "weights too long": ({"sample_weight": np.ones(5)}, r"sample_weight has 5 values but X has 4 rows"),
    "negative eta": ({"eta": -0.1}, r"eta=-0.1 must be a finite number >= 0"),
    "infinite eta": ({"eta": np.inf}, r"eta=inf must be"),
    "NaN eta": ({"eta": np.nan}, r"eta=nan must be"),
    "text as eta": ({"eta": "much"}, r"eta='much' is not a number"),
    "misspelt penalty": ({"penalty": "L2"}, r"penalty='L2' is not one of \('l2', 'l1'\); did you mean \"l2\"\?"),
    "unknown penalty": ({"penalty": "elastic"}, r"penalty='elastic' is not one of \('l2', 'l1'\)$"),
    "too few labels": ({"groups": [0, 1]}, r"2 columns but the data has 3"),
    "too few column names": ({"columns": ["a", "b"]}, r"columns has 2 names but X has 3 columns"),
    "unknown column": ({"X": FRAME, "groups": {"a": ["hight", "width", "age"]}}, r"hight.*did you mean \"height\"\?"),
    "column in no group": ({"X": FRAME, "groups": {"a": ["height", "width"]}}, r"age"),
}


@pytest.mark.parametrize(("changes", "message"), REFUSED.values(), ids=REFUSED)
def test_bad_input_is_refused_by_name_and_place(changes: dict[str, Any], message: str) -> None:
    arguments = {"X": X, "y": Y, "groups": [0, 0, 1], **changes}
    with pytest.raises(InvalidInput, match=message) as caught:
        Instance(**arguments)
    assert isinstance(caught.value, PartLSError)
    assert isinstance(caught.value, ValueError)


def test_large_finite_entries_are_not_mistaken_for_infinite_ones() -> None:
    assert Instance(np.full((4, 1), 1.7e308), Y).n_columns == 1


@pytest.mark.parametrize("name", ["X", "y", "eta", "penalty", "partition", "sample_weight", "fit_intercept", "new"])
def test_an_instance_cannot_be_changed(name: str) -> None:
    instance = Instance(X, Y, [0, 0, 1], sample_weight=np.ones(4))
    with pytest.raises(AttributeError, match=f"frozen: make a new one to change '{name}'"):
        setattr(instance, name, 1)


def test_the_arrays_of_an_instance_cannot_be_written() -> None:
    instance = Instance(X, Y, [0, 0, 1], sample_weight=np.ones(4))
    for array in (instance.X, instance.y, instance.sample_weight, instance.reduction.R, instance.reduction.z):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    X[0, 0] = X[0, 0]  # the caller's own array stays writable


def by_hand(case: Tiny, coef: np.ndarray, intercept: float) -> float:
    """Return the objective term by term, with no linear algebra."""
    options = {"eta": 0.0, "penalty": "l2", "penalize_intercept": False, "sample_weight": None, **case.options}
    total = 0.0
    for n, row in enumerate(case.X):
        fitted = sum(value * weight for value, weight in zip(row, coef, strict=True)) + intercept
        total += (1.0 if options["sample_weight"] is None else options["sample_weight"][n]) * (case.y[n] - fitted) ** 2
    sums = [sum(w for w, k in zip(coef, case.labels, strict=True) if k == group) for group in range(case.n_groups)]
    sums += [intercept] if options["penalize_intercept"] else []
    return total + options["eta"] * sum(b**2 if options["penalty"] == "l2" else abs(b) for b in sums)


@given(instances(), st.data())
def test_the_objective_is_the_written_formula(case: Tiny, data: st.DataObject) -> None:
    instance = Instance(case.X, case.y, case.labels, ungrouped="free", **case.options)
    numbers = st.floats(-3, 3, allow_subnormal=False)
    coef = np.array(data.draw(st.lists(numbers, min_size=instance.n_columns, max_size=instance.n_columns)))
    intercept = data.draw(numbers) if instance.fit_intercept else 0.0
    expected = by_hand(case, coef, intercept)
    assert instance.objective(coef, intercept) == pytest.approx(expected, rel=REDUCTION, abs=REDUCTION)


def test_the_objective_has_no_half_no_mean_and_no_root() -> None:
    instance = Instance([[1.0], [2.0]], [3.0, 5.0], eta=10.0)
    assert instance.objective([1.0], 1.0) == 1.0 + 4.0 + 10.0
    assert Instance([[1.0], [2.0]], [3.0, 5.0], eta=10.0, penalty="l1").objective([-1.0], 0.0) == 16.0 + 49.0 + 10.0


@pytest.mark.parametrize("n_rows", [30, 5000])
def test_the_objective_keeps_its_digits_where_large_terms_cancel(n_rows: int) -> None:
    """Coefficients of 1e8 that nearly cancel; the oracle sums fractions."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 1)) + 1e-8 * rng.normal(size=(n_rows, 2))
    y, coef = rng.normal(size=n_rows), np.array([3.1e8, -3.1e8])
    fractions = [Fraction(a) - sum(Fraction(x) * Fraction(w) for x, w in zip(row, coef, strict=True))
                 for a, row in zip(y.tolist(), X.tolist(), strict=True)]
    instance = Instance(X, y, [0, 1])
    assert np.abs(instance.residual(coef) - np.array(fractions, dtype=float)).max() < 1e-10
    assert np.abs(y - X @ coef - np.array(fractions, dtype=float)).max() > 1e-8  # plainly, digits are lost
    assert instance.objective(coef) == pytest.approx(float(sum(r * r for r in fractions)), rel=REDUCTION)


def test_frames_pair_with_groups_by_name() -> None:
    groups = {"size": ["width", "height"], "time": ["age"]}
    coef = {"height": 1.0, "width": 2.0, "age": -3.0}
    values = []
    for order in (["height", "width", "age"], ["age", "height", "width"]):
        instance = Instance(FRAME[order], Y, groups, eta=1.0)
        assert [instance.partition.names[k] for k in instance.partition.labels] == [
            "time" if name == "age" else "size" for name in order
        ]
        values.append(instance.objective([coef[name] for name in order], 0.5))
    assert values[0] == pytest.approx(values[1], rel=REDUCTION)
    named = Instance(X, Y, groups, columns=["height", "width", "age"], eta=1.0)
    assert named.objective(list(coef.values()), 0.5) == pytest.approx(values[0], rel=REDUCTION)


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array], ids=lambda f: f.__name__)
def test_sparse_data_are_the_same_problem(form: type) -> None:
    table = np.where(X > 10, X, 0.0)
    dense, thin = Instance(table, Y, [0, 0, 1]), Instance(form(table), Y, [0, 0, 1])
    assert thin.X.tolist() == dense.X.tolist()
    assert thin.objective([1.0, 2.0, -1.0], 0.5) == dense.objective([1.0, 2.0, -1.0], 0.5)


@pytest.mark.parametrize(
    ("data", "target"),
    [
        (X.tolist(), Y.tolist()),
        (FRAME, pd.Series(Y)),
        (np.asfortranarray(X), Y[:, None]),
        (X, pd.DataFrame({"target": Y})),
    ],
    ids=["lists", "frame and series", "column-major and single column", "single-column frame"],
)
def test_equal_data_in_other_containers_are_the_same_problem(data: Any, target: Any) -> None:
    expected = Instance(X, Y, [0, 0, 1]).objective([1.0, 2.0, -1.0], 0.5)
    assert Instance(data, target, [0, 0, 1]).objective([1.0, 2.0, -1.0], 0.5) == expected


def test_whole_numbers_and_booleans_are_numbers() -> None:
    table = np.array([[1, 0], [0, 1], [1, 1], [0, 0]])
    expected = Instance(table.astype(float), Y, [0, 1]).objective([1.0, 2.0])
    for kind in (int, bool, np.float32, np.uint8):
        assert Instance(table.astype(kind), Y, [0, 1]).objective([1.0, 2.0]) == expected


def test_an_instance_describes_itself() -> None:
    assert repr(Instance(X, Y, [0, 0, 1])) == "Instance(4 rows, 3 columns, 2 groups)"
    assert repr(Instance(X, Y, eta=0.5, penalty="l1")) == "Instance(4 rows, 3 columns, 1 group, eta=0.5 (l1))"


def test_without_a_penalty_huge_coefficients_have_a_finite_objective():
    instance = Instance([[1e-200], [2e-200]], [1.0, 2.0], ["a"], fit_intercept=False)
    assert instance.objective([1e200]) == pytest.approx(0.0, abs=1e-20)


def test_a_target_whose_squares_vanish_is_refused() -> None:
    told = r"y is so small that its squares vanish: multiply it by a constant \(its largest entry is 1e-200\)"
    with pytest.raises(InvalidInput, match=told):
        Instance([[1.0], [2.0]], [1e-200, -1e-201])
    with pytest.raises(InvalidInput, match="its squares, times the weights, vanish"):
        Instance([[1.0], [2.0], [3.0]], [1e-100, -1e-101, 1.0], sample_weight=[1e-200, 1e-200, 0.0])
    for target in ([1e-160, 0.0], [0.0, 0.0], [1e200, 1e-200]):
        Instance([[1.0], [2.0]], target)
    Instance([[1.0], [2.0]], [1e-200, 0.0], sample_weight=[0.0, 1.0])
