"""The mixed-integer quadratic program: one binary per group chooses the orthant, big-M constraints impose it.

    minimise  ``||X w + t - y||^2 + penalties``   s.t.  ``-m_j (1 - b_k) <= w_j <= m_j b_k``,  b_k in {0, 1}

with k the group of column j. The program that most modellers would write first for PartLS-b of Esposito, Cerrato and
Locatelli (2024), section "Reformulation as a set of convex subproblems", whose b in {-1, +1} is here ``2 b - 1``. It is
exact because every m_j is proved valid: see ``formulations.builders.coefficient_bounds``.
"""

from __future__ import annotations

from collections.abc import Iterable

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from formulations.builders.coefficient_bounds import proved_bounds, refuse_unbounded
from formulations.builders.form import Form
from formulations.builders.model import Model
from formulations.builders.quadratic import objective, penalty_parameters
from formulations.builders.setting import PENALTIES, SIGNS, Setting, Value
from formulations.data import Floats
from formulations.instance import Instance
from formulations.signs import SignPattern

FORM = Form(
    name="MIQP",
    builder="miqp",
    formula=r"""\begin{aligned} \min_{w, t, b}\; & \lVert Xw + t - y \rVert_2^2 + \textstyle\sum_k \eta_k \beta_k^2
        \\ \text{s.t. } & -m_j (1 - b_{k(j)}) \le w_j \le m_j b_{k(j)}, \quad b \in \{0, 1\}^K \end{aligned}""",
    variables="w and one binary per group",
    cone="mixed-integer quadratic program",
    size="M + K variables, 2M + 2K constraints",
    proves="the optimum, to the solver's tolerances",
    solvers="SCIP, Gurobi; not HiGHS, which solves no mixed-integer quadratic programs",
    use="to compare with other solvers of mixed-integer programs",
    strategy='none: `miqp(instance).solve("SCIP")`',
)


def miqp(instance: Instance, signs: SignPattern | Iterable[int] | None = None) -> Model:
    """Minimise the objective over coefficients and one binary per group: exact, to the solver's tolerances.

    Signs, eta and ridge are parameters, for ``model.fix`` and ``model.set``; the bounds m_j move with them.
    ``model.solve("SCIP")`` needs pyscipopt, ``model.solve("GUROBI")`` gurobipy; HiGHS solves no mixed-integer
    quadratic programs. A solver may return coefficients that violate a sign by its tolerance; ``partls.solve`` does
    not.

    Parameters
    ----------
    instance : Instance
        The data.
    signs : SignPattern, optional
        Signs that are decided; none if left out.

    Returns
    -------
    Model
        A mixed-integer quadratic program.

    Raises
    ------
    InvalidInput
        If no bound on a coefficient can be proved, as with dependent columns.

    Examples
    --------
    >>> from formulations import Instance, miqp
    >>> instance = Instance([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, -1.0, 0.5], ["a", "a"], fit_intercept=False)
    >>> miqp(instance).problem.is_mixed_integer()
    True
    """
    reduction = instance.reduction
    n, K = reduction.n_columns, reduction.n_groups
    v, b = cp.Variable(n, name="v"), cp.Variable(K, boolean=True, name="b")
    own = {"bounds": cp.Parameter(n, name="bounds", nonneg=True)}
    own |= {name: cp.Parameter(K, name=name) for name in ("least", "most")}
    side = (reduction.labels[:, None] == np.arange(K)).astype(np.float64) @ b
    constraints = {
        "positive": v <= cp.multiply(own["bounds"], side),
        "negative": v >= cp.multiply(own["bounds"], side - 1),
        "least": b >= own["least"],
        "most": b <= own["most"],
    }
    penalty = penalty_parameters(reduction)
    error = objective(reduction, v, cp.abs(v), penalty)
    return Model(
        name=FORM.name,
        problem=cp.Problem(cp.Minimize(error), list(constraints.values())),
        coefficients=v,
        reduction=reduction,
        variables={"v": v, "b": b},
        parameters=own | penalty,
        constraints=constraints,
        form=FORM,
        setting=Setting.of(reduction, signs),
        own_values=_VALUES,
        changes=SIGNS | PENALTIES,
    )


def _group_signs(at: Setting) -> NDArray[np.int8]:
    """Return the sign of each group, 0 where undecided."""
    signs = np.zeros(at.reduction.n_groups, np.int8)
    signs[at.reduction.labels] = at.column_signs
    return signs


def _finite_bounds(at: Setting) -> Floats:
    bounds = proved_bounds(at)
    refuse_unbounded(bounds, at.reduction.column_names)
    return bounds


_VALUES: dict[str, Value] = {
    "bounds": _finite_bounds,
    "least": lambda at: _group_signs(at) > 0,
    "most": lambda at: _group_signs(at) >= 0,
}
