"""PartLS as it is defined: bilinear in the shares alpha and the effects beta, the shares of a group on a simplex.

    minimise over alpha, beta, t  ``||X (P o alpha) beta + t - y||^2 + penalties``  s.t. ``alpha >= 0``, ``P'alpha = 1``

Esposito, Cerrato and Locatelli (2024), the definition of the PartLS problem in their section "Model description", with
the penalty of their equation (eq:reg-objective). Not convex: a solver of nonlinear programs finds a local optimum.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from typing import Any

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from formulations.builders.form import Form
from formulations.builders.model import Model
from formulations.builders.quadratic import objective, penalty_parameters
from formulations.builders.setting import PENALTIES, SIGNS, Setting, Value
from formulations.data import Floats
from formulations.equivalence import as_simplex, per_group, to_partls
from formulations.errors import InvalidInput
from formulations.instance import Instance
from formulations.partition.given_signs import given_signs
from formulations.signs import SignPattern

FORM = Form(
    name="bilinear form",
    builder="bilinear",
    formula=r"""\begin{aligned} \min_{\alpha, \beta, t}\; & \lVert X (P \circ \alpha) \beta + t - y
        \rVert_2^2 + \textstyle\sum_k \eta_k \beta_k^2 \\ \text{s.t. } & \alpha \ge 0, \quad P^\top \alpha = 1
        \end{aligned}""",
    variables="alpha and beta",
    cone="nonlinear program, not convex",
    size="M + K variables, M + K constraints",
    proves="an upper bound: a local optimum",
    solvers="UNO, through CVXPY 1.9's nonlinear interface",
    use="to see the printed problem; as a local method beside the alternation",
    strategy='none: `bilinear(instance).solve()`',
)
_SILENT = {"logger": "SILENT"}


class BilinearModel(Model):
    """A model that CVXPY's nonlinear interface solves, from the values that its variables have."""

    def solve(self, solver: str | None = None, **options: Any) -> float:
        """Return the value of the local optimum that the solver ("UNO" if left out) reaches from the start."""
        if not hasattr(cp.Problem, "is_dnlp"):
            raise InvalidInput(f"the bilinear form needs CVXPY 1.9 or newer, this is {cp.__version__}: upgrade it")
        if solver is None and find_spec("unopy") is None:
            raise InvalidInput("the bilinear form needs the solver Uno: pip install 'partls[nlp]'")
        settings = {**_SILENT, **options} if solver in (None, "UNO") else options
        return super().solve(solver or "UNO", nlp=True, **settings)


def bilinear(
    instance: Instance, signs: SignPattern | Iterable[int] | None = None, *, start: Any = None
) -> BilinearModel:
    """Minimise over alpha and beta  ``||X (P o alpha) beta + t - y||^2 + penalties``  s.t. alpha >= 0, P'alpha = 1.

    The problem as Esposito, Cerrato and Locatelli (2024) define it (Definition 1). It is not convex, and a solver finds
    a local optimum. Signs, eta and ridge are parameters, for ``model.fix`` and ``model.set``; free columns and the
    intercept are optimised too. Needs CVXPY 1.9 and UNO: ``pip install 'partls[nlp]'``.

    Parameters
    ----------
    instance : Instance
        The data.
    signs : SignPattern, optional
        Signs of beta that are decided; none if left out.
    start : optional
        The starting point: one sign per group, a pair ``(alpha, beta)``, or an integer as the seed of a random
        start (alpha uniform, beta normal). By default, the signs of the groups' sums in least squares. A start from
        signs has the sizes of the least squares coefficients.

    Returns
    -------
    BilinearModel
        A nonlinear program with M + K variables.

    Notes
    -----
    The variable "alpha" is in original units, "beta" up to a power of two per group.

    Examples
    --------
    >>> from formulations import Instance, bilinear
    >>> instance = Instance([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, 2.0, 4.0], ["a", "a"], fit_intercept=False)
    >>> bilinear(instance).variables["alpha"].shape
    (2,)
    """
    reduction = instance.reduction
    grouped = np.flatnonzero(reduction.labels < instance.n_groups)
    labels, units, sizes = reduction.labels[grouped], *_units(instance, grouped)
    alpha, beta = cp.Variable(len(grouped), name="alpha"), cp.Variable(instance.n_groups, name="beta")
    variables = {"alpha": alpha, "beta": beta}
    v: cp.Expression = cp.multiply(units, cp.multiply(alpha, beta[labels]))
    # On the simplex the sizes of a group's coefficients add up to that of beta; each column is charged its part.
    magnitude: cp.Expression = cp.multiply(units / np.bincount(labels)[labels], cp.abs(beta)[labels])
    if len(grouped) < reduction.n_columns:  # an L1 intercept, the last column of R
        variables["intercept"] = cp.Variable(1, name="intercept", value=np.zeros(1))
        v, magnitude = cp.hstack([v, variables["intercept"]]), cp.hstack([magnitude, cp.abs(variables["intercept"])])
    own = {name: cp.Parameter(instance.n_groups, name=name) for name in ("group signs", "group slack")}
    constraints = {
        "alpha": alpha >= 0,
        "simplex": (labels == np.arange(instance.n_groups)[:, None]).astype(np.float64) @ alpha == 1,
        "signs": cp.multiply(own["group signs"], beta) + own["group slack"] >= 0,
    }
    penalty = penalty_parameters(reduction)
    error = objective(reduction, v, magnitude, penalty)
    shares, effects = _start(instance, start)
    alpha.value = (reduction.project(shares) / reduction.project(np.ones(instance.n_columns), 1.0))[grouped]
    beta.value = effects / sizes
    return BilinearModel(
        name=FORM.name,
        problem=cp.Problem(cp.Minimize(error), list(constraints.values())),
        coefficients=v,
        reduction=reduction,
        variables=variables,
        parameters=own | penalty,
        constraints=constraints,
        form=FORM,
        setting=Setting.of(reduction, signs),
        own_values=_VALUES,
        changes=SIGNS | PENALTIES,
    )


def _units(instance: Instance, grouped: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Return v per (alpha times the variable beta), and beta per variable: powers of two."""
    reduction = instance.reduction
    per_coefficient = reduction.project(np.ones(instance.n_columns))[grouped]
    labels, least = reduction.labels[grouped], np.full(instance.n_groups, np.inf)
    np.minimum.at(least, labels, per_coefficient)
    return per_coefficient / least[labels], 1.0 / least


def _start(instance: Instance, start: Any) -> tuple[Floats, Floats]:
    """Return (alpha, beta) in original units: as given, drawn from a seed, or least squares turned to signs."""
    partition = instance.partition
    if isinstance(start, tuple) and len(start) == 2 and np.ndim(start[0]) == 1:
        return as_simplex(start[0], partition), per_group(start[1], partition, "beta")
    if isinstance(start, int | np.integer) and not isinstance(start, bool) and start >= 0:
        rng = np.random.default_rng(int(start))
        shares = to_partls(rng.uniform(size=instance.n_columns), np.ones(instance.n_groups), partition)[0]
        return shares, rng.standard_normal(instance.n_groups)
    if start is not None and (isinstance(start, int | float | str) or not isinstance(start, Iterable)):
        raise InvalidInput(f"start={start!r} is none of: one sign per group, (alpha, beta), a whole number as a seed")
    reduction = instance.reduction
    coef, _ = reduction.restore(np.asarray(np.linalg.lstsq(reduction.R, reduction.z, rcond=None)[0]))
    signs = np.where(instance.group_sums(coef) < 0, -1, 1)
    if start is not None:
        given = np.array(given_signs(start, partition, "start"))
        signs = np.where(given == 0, signs, given)
    return to_partls(np.abs(coef), signs, partition)


def _group_signs(at: Setting) -> NDArray[np.int8]:
    """Return the sign of each group of the instance, 0 where undecided."""
    signs = np.zeros(at.reduction.n_groups, np.int8)
    signs[at.reduction.labels] = at.column_signs
    return signs[: at.reduction.n_own_groups]


_VALUES: dict[str, Value] = {"group signs": _group_signs, "group slack": lambda at: _group_signs(at) == 0}
