"""One regression problem with sign-sharing groups: the data, the groups, the penalty, and THE objective."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from formulations.data import Floats, as_matrix, as_vector, column_names
from formulations.errors import InvalidInput, counted, suggestion
from formulations.partition import Partition
from formulations.rows.blocks import fold_blocks, in_blocks
from formulations.rows.least_squares import LeastSquares
from formulations.rows.reduction import Reduction, reduce
from formulations.rows.residual import residual
from formulations.strengths import Strengths

PENALTIES = ("l2", "l1")


class Instance:
    """Minimise ``||X w + t - y||^2 + penalty(beta) + ridge ||w||^2``  s.t. the coefficients of a group share one sign.

    ``beta_k`` is the sum of the coefficients of group k; the penalty is ``sum_k eta_k beta_k^2`` ("l2") or
    ``sum_k eta_k |beta_k|`` ("l1"). With weights, row n counts ``sample_weight[n]`` times. The intercept t is free
    and, unless ``penalize_intercept``, unpenalised; ridge never penalises it. An instance is validated once and cannot
    be changed afterwards. Esposito, Cerrato and Locatelli (2024), Definition 1 and equation (4).

    Parameters
    ----------
    X : (N, M) array, frame or sparse matrix
        Finite numbers; column names are taken from a frame or from ``columns``. A float64 array is not copied:
        leave it unchanged while the instance is in use. A Dask array or frame, or the path of a Parquet folder, is
        compressed on the workers that hold it, to a few rows with the same objective for every model; y and
        sample_weight then name columns of the folder.
    y : (N,) array
        The target.
    groups
        Any form ``Partition.of`` accepts: a label per column, ``{name: [columns]}``, lists of columns, an
        (M, K) 0/1 matrix, a file, a ``Partition``, or None for one group of all columns.
    eta, penalty
        Strength (>= 0) and kind ("l2" or "l1") of the penalty on the group sums: one number for all groups, one
        number per group in their order, or ``{group: number}`` with every group in it.
    ridge : float
        Weight (>= 0) of the squared coefficients, grouped and free; with ``penalty="l1"`` an elastic net.
    fit_intercept, penalize_intercept
        Whether t exists, and whether it is penalised like a group of its own, as in Esposito, Cerrato and Locatelli
        (2024), section 2: with eta if eta is a number, else with the number that the mapping gives ``"(intercept)"``.
    sample_weight : (N,) array, optional
        Nonnegative row weights.
    ungrouped : {"error", "free"}
        Whether a column in no group is refused or left without a sign constraint.
    columns : sequence of str, optional
        Column names when X carries none.
    folded_from : int, optional
        The number of original rows, if these rows are compressed (``formulations.rows.equivalent_rows``). Sums over
        rows (objective, R^2, shares of the variance) are then those of the original data; what needs single rows is
        refused.

    Raises
    ------
    InvalidInput
        If data, groups or an option cannot be used; the message names the row, column or option.

    Examples
    --------
    >>> from formulations import Instance
    >>> instance = Instance([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, 2.0, 4.0], {"size": [0, 1]}, eta=0.5)
    >>> instance
    Instance(3 rows, 2 columns, 1 group, eta=0.5 (l2))
    >>> instance.objective([1.0, 2.0], intercept=0.0)  # 1 squared, plus 0.5 times 3 squared
    5.5
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        groups: Any = None,
        *,
        eta: float | Mapping[Any, float] | Sequence[float] = 0.0,
        penalty: str = "l2",
        ridge: float = 0.0,
        fit_intercept: bool = True,
        penalize_intercept: bool = False,
        sample_weight: Any = None,
        ungrouped: str = "error",
        columns: Any = None,
        folded_from: int | None = None,
    ) -> None:
        if in_blocks(X):
            folded = fold_blocks(X, y, sample_weight)
            X, y, sample_weight, folded_from = folded.X, folded.y, folded.sample_weight, folded.n_rows
            columns = folded.columns if columns is None else columns
        names = _checked_columns(columns) if columns is not None else column_names(X)
        self.X = _view(as_matrix(X, names))
        n_rows, n_columns = self.X.shape
        if names is not None and len(names) != n_columns:
            raise InvalidInput(f"columns has {counted(len(names), 'name')} but X has {counted(n_columns, 'column')}")
        self.y = _view(as_vector(y, "y", n_rows))
        self.partition = Partition.of(groups, n_columns=n_columns, columns=names, ungrouped=ungrouped)
        if not isinstance(penalty, str) or penalty not in PENALTIES:
            raise InvalidInput(f"penalty={penalty!r} is not one of {PENALTIES}{suggestion(str(penalty), PENALTIES)}")
        self.penalty = penalty
        self.fit_intercept = _checked_flag("fit_intercept", fit_intercept)
        self.penalize_intercept = _checked_flag("penalize_intercept", penalize_intercept)
        self.strengths = Strengths.of(
            eta, penalty, ridge, self.partition, fit_intercept=self.fit_intercept,
            penalize_intercept=self.penalize_intercept,
        )
        self.eta, self.ridge = _kept(eta), self.strengths.ridge
        self.sample_weight = _checked_weights(sample_weight, n_rows)
        self.folded_from = folded_from
        _refuse_vanishing(self.y, self.sample_weight)
        self._frozen = True

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse changes after construction: solvers rely on cached reductions of this instance."""
        if getattr(self, "_frozen", False) and name not in {"least_squares", "reduction"}:
            raise AttributeError(f"Instance is frozen: make a new one to change {name!r}")
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        """Show the sizes and the options that change the problem."""
        eta = f"{self.eta:g}" if isinstance(self.eta, float) else "by group"
        penalty = f", eta={eta} ({self.penalty})" if self.strengths.any_eta else ""
        penalty += f", ridge={self.ridge:g}" if self.ridge else ""
        folded = "" if self.folded_from is None else f" compressed to {len(self.y):,}"
        sizes = counted(self.n_rows, "row") + folded, counted(self.n_columns, "column"), counted(self.n_groups, "group")
        return f"Instance({', '.join(sizes)}{penalty})"

    def replace(self, **changes: Any) -> Instance:
        """Return the same problem with some arguments of the constructor changed (other rows, another target)."""
        own = {
            "X": self.X, "y": self.y, "groups": self.partition, "eta": self.eta, "penalty": self.penalty,
            "ridge": self.ridge, "fit_intercept": self.fit_intercept, "penalize_intercept": self.penalize_intercept,
            "sample_weight": self.sample_weight, "columns": self.partition.columns,
            "folded_from": None if "X" in changes else self.folded_from,
        }
        return Instance(**{**own, **changes})

    @property
    def n_rows(self) -> int:
        """Number of observations N; more than the rows of X where these are folded."""
        return int(self.X.shape[0]) if self.folded_from is None else self.folded_from

    @property
    def n_columns(self) -> int:
        """Number of features M."""
        return int(self.X.shape[1])

    @property
    def n_groups(self) -> int:
        """Number of groups K."""
        return self.partition.n_groups

    def group_sums(self, coef: Any) -> Floats:
        """Return beta: the sum of the coefficients of each group."""
        labels = self.partition.labels
        grouped = labels >= 0
        sums = np.bincount(labels[grouped], np.asarray(coef, dtype=np.float64)[grouped], self.n_groups)
        return np.asarray(sums, dtype=np.float64)

    @property
    def weights(self) -> Floats:
        """The weight of each row of X; one if none was given."""
        return np.ones(len(self.y)) if self.sample_weight is None else self.sample_weight

    def require_rows(self, what: str, remedy: str) -> None:
        """Refuse what needs the rows of the data, if they have been folded, and say what to do."""
        if self.folded_from is not None:
            folded = f"the model was fitted to {self.n_rows:,} rows compressed to {len(self.y):,}"
            raise InvalidInput(f"{what} needs the rows, and {folded}: {remedy}")

    def residual(self, coef: Any, intercept: float = 0.0) -> Floats:
        """Return ``y - X coef - intercept``, accurate also where large contributions cancel."""
        self.require_rows("residual", "compute y - predict(X) from them")
        return self._residual(coef, intercept)

    def squared_error(self, coef: Any, intercept: float = 0.0) -> float:
        """Return ``||X coef + intercept - y||^2``, the rows weighted: the objective without its penalty."""
        error = self._residual(coef, intercept)
        return float(error @ (error if self.sample_weight is None else error * self.sample_weight))

    def _residual(self, coef: Any, intercept: float) -> Floats:
        return residual(self.X, self.y, np.asarray(coef, dtype=np.float64), intercept)

    def objective(self, coef: Any, intercept: float = 0.0) -> float:
        """Return ``||X coef + intercept - y||^2 + penalty(beta) + ridge ||coef||^2``: the definition of the objective.

        No 1/N, no 1/2, no square root. Sign constraints are not checked here.
        """
        return self.squared_error(coef, intercept) + self.strengths.value(
            self.group_sums(coef), np.asarray(coef, dtype=np.float64), float(intercept)
        )

    @cached_property
    def least_squares(self) -> LeastSquares:
        """The rows, groups and penalties as the reduction takes them, with the shift of the rows."""
        return LeastSquares.of(
            self.X, self.y, self.sample_weight, self.partition, self.strengths,
            fit_intercept=self.fit_intercept, penalize_intercept=self.penalize_intercept,
            n_rows=self.n_rows,
        )

    @cached_property
    def reduction(self) -> Reduction:
        """The same problem on at most M + 1 rows, computed once."""
        return reduce(self.least_squares)


def _view(array: Floats) -> Floats:
    view = array.view()
    view.setflags(write=False)
    return view


def _checked_columns(columns: Any) -> tuple[Any, ...]:
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        raise InvalidInput(f"columns={columns!r} must be a list with the name of each column")
    return tuple(columns)


def _kept(eta: Any) -> float | Mapping[Any, float] | tuple[float, ...]:
    """Return eta, already checked, in the form it was given, as floats of our own."""
    if isinstance(eta, Mapping):
        return {key: float(value) for key, value in eta.items()}
    return tuple(float(value) for value in eta) if np.ndim(eta) else float(eta)


def _checked_flag(option: str, value: Any) -> bool:
    """Return a yes or no; "no" is a string, and would count as yes."""
    if isinstance(value, bool | np.bool_) or (isinstance(value, int | np.integer) and value in (0, 1)):
        return bool(value)
    raise InvalidInput(f"{option}={value!r} must be True or False")


def _checked_weights(weights: Any, n_rows: int) -> Floats | None:
    if weights is None:
        return None
    vector = as_vector(weights, "sample_weight", n_rows)
    if (vector < 0).any():
        row = int(np.flatnonzero(vector < 0)[0])
        raise InvalidInput(f"sample_weight, row {row} is {vector[row]}: weights must be >= 0")
    if not vector.any():
        raise InvalidInput("sample_weight is zero in every row: at least one row must count")
    return _view(vector)


def _refuse_vanishing(y: Floats, weights: Floats | None) -> None:
    """Refuse a target whose squares are all below the smallest float: every model would have the objective zero."""
    counted = y if weights is None else y[weights > 0]
    with np.errstate(over="ignore"):
        squares = np.square(counted) if weights is None else np.square(counted) * weights[weights > 0]
    if counted.any() and not squares.any():
        weighted = "" if weights is None else ", times the weights,"
        raise InvalidInput(
            f"y is so small that its squares{weighted} vanish: multiply it by a constant "
            f"(its largest entry is {np.abs(counted).max():g})"
        )
