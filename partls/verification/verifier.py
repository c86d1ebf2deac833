"""verify(): check a certificate of optimality against the original data, without any solver.

A certificate is a feasible model of objective F and a list of sign boxes, each with the bound claimed for it and a
vector that proves it. Checked here, from the original numbers:

- the certificate belongs to these data, groups, weights and given signs;
- the model satisfies the signs, and F is its objective, correctly rounded;
- no two boxes share a sign pattern, and their numbers of sign patterns add up to that of the root: the boxes cover it;
- each box's vector proves its bound, which reaches F minus the tolerance stated (``exact_bounds`` has the mathematics).

``mode="rounding"`` (the default) multiplies matrices of 16-bit digits in floating point, which is exact, and proves
definiteness by Cholesky; ``mode="exact"`` uses Python's integers and fractions alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.errors import InvalidInput, VerificationError
from formulations.partition.given_signs import given_signs
from partls.verification.data import Data
from partls.verification.document import Certificate, read_certificate
from partls.verification.exact_bounds import SIGNS, Checker
from partls.verification.exact_integers import as_float
from partls.verification.problem import Problem

_MOST_UNSPLIT = 4096  # boxes compared pair by pair


@dataclass(frozen=True)
class Verification:
    """What a certificate proves: no solution has an objective below ``lower_bound``.

    Attributes
    ----------
    problem
        Sizes, penalties, intercept and given signs of the problem that was proved.
    objective
        The objective of the certificate's model, recomputed from the data.
    lower_bound
        The proved lower bound.
    tolerance
        ``objective - lower_bound`` at most.
    n_boxes
        The number of sign boxes checked.
    contribution_limit
        None if the bound holds for all solutions. Otherwise it holds for those in which no column contributes more than
        this many times the target's norm (data whose columns depend on each other).
    mode
        The arithmetic: "rounding" or "exact".
    fits_exactly
        Whether the objective is zero up to rounding, so that no model can be better by more.

    Examples
    --------
    >>> import partls
    >>> X, y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 1.0]], [1.0, 2.0, 4.0, 5.0]
    >>> result = partls.solve(X, y, ["a", "b"], certificate="proof.json")
    >>> proof = partls.verify("proof.json", X, y, ["a", "b"])
    >>> proof.mode, proof.contribution_limit, proof.objective - proof.lower_bound < 1e-9
    ('rounding', None, True)
    """

    problem: Problem
    objective: float
    lower_bound: float
    tolerance: float
    n_boxes: int
    contribution_limit: float | None
    mode: str
    fits_exactly: bool = False

    def __str__(self) -> str:
        """Say in words what has been proved, its conditions included."""
        box_count = f"{self.n_boxes:,} {'box' if self.n_boxes == 1 else 'boxes'}"
        lines = [
            f"verified ({self.mode}): {self.problem}, {box_count}",
            f"the model has objective {self.objective!r}; {self._bound()}",
        ]
        if self.contribution_limit is not None:
            limit = f"{self.contribution_limit:g} times the target's norm"
            lines.append(f"among the solutions in which no column contributes more than {limit}")
        return "\n".join(lines)

    def _bound(self) -> str:
        if self.fits_exactly:
            return "it fits the data exactly (up to rounding), and no objective is below zero"
        return f"no solution is below {self.lower_bound!r}" + (", as no objective is" if not self.lower_bound else "")


def verify(
    certificate: Any,
    X: Any,
    y: Any,
    groups: Any = None,
    *,
    sample_weight: Any = None,
    ungrouped: str = "error",
    signs: Any = None,
    gap_tol: float = 1e-9,
    mode: str = "rounding",
) -> Verification:
    """Return what a certificate proves about the data, or raise ``VerificationError``.

    The check uses no solver. Penalties and intercept are those of the certificate; the answer's ``problem`` shows them.

    Parameters
    ----------
    certificate : path, the document read from it, or a ``Certificate``
        The file that ``partls.solve(..., certificate=path)`` has written.
    X, y, groups, sample_weight, ungrouped
        The original data, as given to ``solve``.
    signs
        The signs that were given to ``solve``, in any form that it takes.
    gap_tol : float
        The largest tolerance to accept, relative to the objective.
    mode : {"rounding", "exact"}
        Floating point with rigorous error bounds wherever that is fast, or rational arithmetic throughout.

    Returns
    -------
    Verification
        The proved lower bound, and the model's objective.

    Raises
    ------
    VerificationError
        If the certificate does not prove its claim for these data.
    InvalidInput
        If the file is no certificate, or the data cannot be used.

    Examples
    --------
    >>> import partls
    >>> X, y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 1.0]], [1.0, 2.0, 4.0, 5.0]
    >>> result = partls.solve(X, y, ["a", "b"], certificate="proof.json")
    >>> partls.verify("proof.json", X, y, ["a", "b"]).lower_bound <= result.objective
    True
    """
    if mode not in ("rounding", "exact"):
        raise InvalidInput(f'mode={mode!r} is neither "rounding" nor "exact"')
    if not isinstance(gap_tol, int | float) or not 0 <= gap_tol < math.inf:
        raise InvalidInput(f"gap_tol={gap_tol!r} must be a number >= 0")
    claim = read_certificate(certificate)
    data = Data.read(X, y, groups, sample_weight, ungrouped)
    given = spelled(given_signs(signs, data.partition))
    sizes = (claim.problem.n_rows, claim.problem.n_columns, claim.problem.n_groups)
    if sizes != (*data.X.shape, data.partition.n_groups):
        raise VerificationError("the certificate is for {} rows, {} columns and {} groups".format(*sizes))
    if claim.problem.signs != given:
        raise VerificationError(f"the certificate is for the given signs {claim.problem.signs}, not {given}")
    if claim.data != data.digest(claim.problem):
        raise VerificationError("the certificate belongs to other data, groups or weights")
    checker = Checker(data, claim.problem, exact=mode == "exact")
    if checker.objective(claim.coef, claim.intercept) != claim.objective:
        raise VerificationError("the model does not have the objective that is claimed")
    accepted = checker.accepted(claim.objective, gap_tol)
    if claim.tolerance > accepted:
        raise VerificationError(
            f"the certificate only proves the objective to within {claim.tolerance:.3g}, above {as_float(accepted):.3g}"
        )
    check_model_signs(claim, data.partition.labels)
    check_cover(claim.problem.signs, [box.signs for box in claim.boxes])
    if claim.limit is not None:
        check_limit(claim, claim.limit, checker)
    lower = Fraction(claim.objective) - Fraction(claim.tolerance)
    reach = checker.reach(claim.objective, claim.eigenvalue, claim.limit)
    for position, (box, proved) in enumerate(zip(claim.boxes, checker.bounds(claim.boxes, reach), strict=True)):
        if not lower <= box.bound <= proved:
            raise VerificationError(
                f"box {position} ({box.signs}) claims the bound {box.bound!r} where {as_float(proved)!r} is proved and "
                f"{as_float(lower)!r} is needed"
            )
    restricted = None if claim.limit is None else 2.0**claim.limit
    bound = max(math.nextafter(as_float(lower), -math.inf), 0.0)  # a sum of squares and penalties
    return Verification(
        claim.problem, claim.objective, bound, claim.tolerance, len(claim.boxes), restricted, mode,
        checker.rounds_to_zero(claim.objective),
    )


# The cover and the model


def check_cover(root: str, boxes: list[str]) -> None:
    """Refuse boxes that leave out a sign pattern of the root, share one, or reach outside."""
    table = np.array([[SIGNS[sign] for sign in box] for box in boxes], dtype=np.int8)
    whole = np.array([SIGNS[sign] for sign in root], dtype=np.int8)
    if ((whole != 0) & (table != whole)).any():
        raise VerificationError("a box reaches outside of the given signs")
    _refuse_overlaps(table)
    if sum(2 ** box.count("0") for box in boxes) != 2 ** root.count("0"):
        raise VerificationError("the boxes do not cover every sign pattern")


def _refuse_overlaps(table: NDArray[np.int8]) -> None:
    """Refuse two boxes without a group that is + in one and - in the other: these share a sign pattern."""
    pending = [np.arange(len(table))]
    while pending:
        some = pending.pop()
        decided = table[some]
        splitting = np.flatnonzero(decided.all(axis=0) & (decided.min(axis=0) < decided.max(axis=0)))
        if len(splitting):  # no box of one side shares anything with one of the other
            side = decided[:, splitting[0]] > 0
            pending += [some[side], some[~side]]
            continue
        if len(some) > _MOST_UNSPLIT:
            raise VerificationError(f"{len(some)} boxes that no group tells apart are too many to compare: use a tree")
        for position, row in zip(some, decided, strict=True):
            shared = some[~(decided * row == -1).any(axis=1) & (some > position)]
            if len(shared):
                raise VerificationError(f"boxes {position} and {shared[0]} overlap")


def check_limit(claim: Certificate, limit: int, checker: Checker) -> None:
    """Refuse a claim about small contributions alone that need not be one, or that is not about its own model."""
    if checker.independent:
        raise VerificationError("the claim has a limit, though the columns are independent")
    if checker.contributes_more(claim.coef, claim.intercept, limit):
        raise VerificationError("the claim has a limit that its own model exceeds")


def check_model_signs(claim: Certificate, labels: NDArray[np.intp]) -> None:
    """Refuse a model in which a group has coefficients of both signs, or of a sign excluded beforehand."""
    coef = np.array(claim.coef)
    for k, known in enumerate(claim.problem.signs):
        members = coef[labels == k]
        if ((members > 0).any() and ((members < 0).any() or known == "-")) or ((members < 0).any() and known == "+"):
            raise VerificationError(f"group {k} of the model has coefficients of the wrong sign")


def spelled(signs: Iterable[int]) -> str:
    """Return signs as a string of +, - and 0."""
    return "".join("-0+"[sign + 1] for sign in signs)
