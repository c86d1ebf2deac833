"""What a certificate is about: the definition of the problem, apart from the numbers in the data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from formulations.errors import counted
from partls.verification.fields import integer, items, members, number, require, text

_VERSION_2 = ("n_rows", "n_columns", "n_groups", "eta", "penalty", "fit_intercept", "penalize_intercept", "signs")


@dataclass(frozen=True)
class Problem:
    """What is minimised, apart from the numbers in the data."""

    n_rows: int
    n_columns: int
    n_groups: int
    eta: list[float]  # of each group
    eta_intercept: float  # zero where the intercept is not penalised
    ridge: float
    penalty: str
    fit_intercept: bool
    penalize_intercept: bool
    signs: str  # what was known beforehand, one of +, -, 0 per group

    @classmethod
    def read(cls, part: Any) -> Problem:
        """Return the problem that a document states, each field checked."""
        part = members(part, cls.__dataclass_fields__, "problem")
        sizes = {name: integer(part[name], name) for name in ("n_rows", "n_columns", "n_groups")}
        require(0 < sizes["n_groups"] <= sizes["n_columns"], "n_groups")
        require(part["penalty"] in ("l1", "l2"), "penalty")
        for name in ("fit_intercept", "penalize_intercept"):
            require(isinstance(part[name], bool), name)
        require(part["fit_intercept"] or not part["penalize_intercept"], "penalize_intercept")
        own = number(part["eta_intercept"], "eta_intercept", lowest=0.0)
        require(part["penalize_intercept"] or own == 0, "eta_intercept")
        return cls(
            **sizes, eta=[number(eta, "eta", lowest=0.0) for eta in items(part["eta"], "eta", sizes["n_groups"])],
            eta_intercept=own, ridge=number(part["ridge"], "ridge", lowest=0.0), penalty=part["penalty"],
            fit_intercept=part["fit_intercept"], penalize_intercept=part["penalize_intercept"],
            signs=text(part["signs"], "signs", sizes["n_groups"], "+-0"),
        )

    def identity(self) -> dict[str, Any]:
        """Return the digest that identifies this problem.

        One eta for everything that is penalised, and no ridge, are written as in version 2: a problem has one
        digest, whichever version asks for it.
        """
        stated = vars(self)
        eta = self.eta[0]
        same = set(self.eta) == {eta} and self.eta_intercept == (eta if self.penalize_intercept else 0.0)
        return {name: stated[name] for name in _VERSION_2} | {"eta": eta} if same and not self.ridge else stated

    def can_strengthen(self, signs: str) -> bool:
        """Return whether an L2 penalty is on one of the groups that a box leaves undecided."""
        return self.penalty == "l2" and any(
            eta > 0 and sign == "0" for eta, sign in zip(self.eta, signs, strict=True)
        )

    def __str__(self) -> str:
        """Say in words what is minimised."""
        known = f", signs known beforehand {self.signs}" if self.signs.strip("0") else ""
        intercept = "" if self.fit_intercept else ", no intercept"
        sizes = ", ".join((
            counted(self.n_rows, "row"), counted(self.n_columns, "column"), counted(self.n_groups, "group")
        ))
        return sizes + "".join(f", {part}" for part in self._penalties()) + intercept + known

    def _penalties(self) -> list[str]:
        """Return the penalties in words, none of them rounded."""
        parts, etas = [], set(self.eta)
        if len(etas) > 1:
            parts.append(f"eta by group {', '.join(map(_figure, self.eta))} ({self.penalty})")
        elif any(etas):
            parts.append(f"eta {_figure(self.eta[0])} ({self.penalty})")
        if self.eta_intercept:
            same = etas == {self.eta_intercept}
            own = f"eta {_figure(self.eta_intercept)} ({self.penalty}) of the intercept"
            parts.append("the intercept penalised too" if same else own)
        return [*parts, f"ridge {_figure(self.ridge)}"] if self.ridge else parts


def of_version_2(part: Any) -> Mapping[str, Any]:
    """Return the members of a problem as version 2 stated it, with one eta and no ridge, in those of today."""
    part = members(part, _VERSION_2, "problem")
    require(isinstance(part["signs"], str), "signs")
    own = part["eta"] if part["penalize_intercept"] is True else 0.0
    return {**part, "eta": [part["eta"]] * len(part["signs"]), "eta_intercept": own, "ridge": 0.0}


def _figure(value: float) -> str:
    """Return a number in few digits, but in all it has."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)
