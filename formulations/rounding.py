"""What rounding leaves of an objective, and when two objectives tie: all that is said of differences rests on this.

The objective is a sum of squared residuals ``y - X w - t`` (weighted, and with the rows of an L2 penalty), and each
residual is a difference of terms that cancel. Let S be the norm of the rows ``|y| + |X| |w| + |t|``: it is about the
target's norm, and the larger the worse the columns are conditioned, for then large coefficients cancel. Writing the
coefficients with 16 digits moves the residuals by 1e-16 S, and solving for them in floating point moves them by some
tens of that. The norm of the residuals is therefore known to ``u = 1e-14 S``, and an objective f with an error of

    2 u sqrt(f) + u^2 + 1e-22 T.

The last term is the search's: it tells no solutions apart whose residuals are below 1e-11 of the centred target, of
squared norm T. Two objectives tie if they differ by no more than both their errors and 1e-10 of themselves, for the
search closes boxes that near. An objective that is no larger than its own error is zero up to rounding: the data are
fitted exactly, as far as floating-point numbers can tell, and no share of such an objective means anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt, ulp

import numpy as np

from formulations.data import Floats
from formulations.instance import Instance
from formulations.tolerances import PROVED, ROUNDING, ZERO

_BLOCK = 1 << 17  # numbers worked on at once


@dataclass(frozen=True)
class Rounded:
    """An objective and its error.

    Attributes
    ----------
    value
        The objective as computed.
    residual
        The error u of the norm of its residuals.
    floor
        What counts as zero beside the target, whatever the coefficients.
    """

    value: float
    residual: float
    floor: float

    @property
    def error(self) -> float:
        """What rounding may have added to the value, or taken from it."""
        root = sqrt(max(self.value, 0.0))
        return (2 * root + self.residual) * self.residual + self.floor

    @property
    def vanishes(self) -> bool:
        """Whether this is zero up to rounding: an exact fit."""
        return self.value <= self.error

    def above(self, other: Rounded) -> float:
        """Return how much larger this is than the other; 0.0 where the two tie."""
        difference = self.value - other.value
        unknown = self.error + other.error + PROVED * max(self.value, other.value)
        return difference if abs(difference) > unknown else 0.0

    def share_above(self, other: Rounded) -> float:
        """Return ``above`` as a share of the other: 0.0 where the two tie, else infinite where the other vanishes."""
        difference = self.above(other)
        if difference == 0.0:
            return 0.0
        return inf if other.vanishes else difference / other.value


def rounded(instance: Instance, coef: Floats, intercept: float, objective: float) -> Rounded:
    """Return the objective of a model with its error."""
    reduction = instance.reduction
    target = float(reduction.z @ reduction.z + reduction.rest) * reduction.scale
    return Rounded(objective, ROUNDING * terms(instance, coef, intercept), floor(target, instance.n_rows))


def floor(target: float, n_rows: int) -> float:
    """Return what counts as zero beside the squared norm of the target; squares below the smallest float are lost."""
    return ZERO * target + n_rows * ulp(0.0)


def terms(instance: Instance, coef: Floats, intercept: float) -> float:
    """Return S: the norm of the sizes of the terms in each residual, the penalty's rows included."""
    sizes, height = np.abs(coef), max(_BLOCK // max(instance.n_columns, 1), 1)
    blocks = [np.abs(instance.X[i : i + height]) @ sizes for i in range(0, len(instance.X), height)]
    rows = np.abs(instance.y) + np.concatenate(blocks) + abs(intercept)
    if instance.sample_weight is not None:
        rows = rows * np.sqrt(instance.sample_weight)
    strengths = instance.strengths
    if strengths.kind == "l2" and strengths.any_eta:
        sums = np.append(instance.group_sums(sizes), abs(intercept))
        rows = np.append(rows, np.sqrt(np.append(strengths.groups, strengths.intercept)) * sums)
    if strengths.ridge > 0:
        rows = np.append(rows, np.sqrt(strengths.ridge) * sizes)
    largest = float(rows.max()) or 1.0  # units of 1e-160 have squares that vanish
    return largest * float(np.linalg.norm(rows / largest))
