"""Form: the facts about a formulation that its builder declares."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Form:
    """One textbook form of the problem: its formula and one line of the guide's table.

    Attributes
    ----------
    name
        What the form is called.
    builder
        The function of this package that builds it.
    formula
        The problem in LaTeX, without delimiters.
    variables, cone, size
        What is decided, the cones in it, and how it grows; M columns, K groups.
    proves
        What its optimal value says about the optimum of PartLS.
    solvers
        Solvers that CVXPY can hand it to.
    use
        When to choose it.
    strategy
        Which strategy of ``partls`` solves it, and how to ask for that.
    """

    name: str
    builder: str
    formula: str
    variables: str
    cone: str
    size: str
    proves: str
    solvers: str
    use: str
    strategy: str
