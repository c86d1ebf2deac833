"""The solvers that CVXPY finds on this machine, by name."""

from __future__ import annotations

from typing import Any

import cvxpy as cp

from formulations.errors import InvalidInput, suggestion

SOLVERS = ("CLARABEL", "SCS")  # come with CVXPY; the first solves nearly everything, the second what it gives up


def installed_solver(name: Any) -> str:
    """Return the name as CVXPY spells it; refuse one that is not installed, and list those that are."""
    installed: list[str] = cp.installed_solvers()  # type: ignore[no-untyped-call]
    known = {own.upper(): own for own in installed}
    if not isinstance(name, str) or name.upper() not in known:
        near = suggestion(str(name).upper(), installed)
        raise InvalidInput(f"solver {name!r} is not installed{near}; CVXPY has {', '.join(installed)}")
    return known[name.upper()]
