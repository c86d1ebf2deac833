"""Options of strategies: each is defined once, as a dataclass field with its default and its description."""

from __future__ import annotations

import textwrap
from dataclasses import Field, field, fields
from typing import Any, TypeVar

from formulations.errors import InvalidInput
from partls.runtime.options import chosen

T = TypeVar("T")
BACKENDS = ("kernel", "cvxpy")


def option(default: Any, description: str, *, refusal: str = "") -> Any:
    """Return a dataclass field with a description, which the docstring and the command line show.

    ``refusal`` is the message for those who give the option together with the name of another strategy. Without one
    it has no effect there.
    """
    return field(default=default, metadata={"description": description, "refusal": refusal})


def backend_option() -> Any:
    """Return the option that says who computes: the compiled kernel, or a solver on the builders' CVXPY problems."""
    return option(
        "kernel", 'What solves the convex problems: the compiled "kernel", or "cvxpy", a solver on the models of '
        "``formulations``. Both solve the same problems and prove the same bounds.",
    )


def solver_option() -> Any:
    """Return the option that names the solver of ``backend="cvxpy"``."""
    return option(None, 'Solver for ``backend="cvxpy"``, such as "CLARABEL" or "OSQP"; default: CLARABEL, then SCS.')


def checked_backend(backend: Any, solver: Any) -> None:
    """Refuse a backend that there is not, and a solver that is not installed or has nothing to solve."""
    chosen("backend", backend, BACKENDS)
    if solver is None:
        return
    if backend != "cvxpy":
        raise InvalidInput(f'solver={solver!r} needs backend="cvxpy": backend="{backend}" calls no solver')
    from relaxations.conic.solvers import installed_solver

    installed_solver(solver)


def documented(strategy: type[T]) -> type[T]:
    """Add the descriptions of the fields to the docstring of a strategy, as its parameters."""
    own: Any = strategy
    lines = [f"{one.name} : default {one.default!r}\n{textwrap.indent(_wrapped(one), '    ')}" for one in fields(own)]
    listed = textwrap.indent("Parameters\n----------\n" + "\n".join(lines), "    ")
    before, mark, after = (strategy.__doc__ or "").partition("\n    Examples\n")
    strategy.__doc__ = f"{before.rstrip()}\n\n{listed}\n{mark}{after}"
    return strategy


def _wrapped(one: Field[Any]) -> str:
    return textwrap.fill(one.metadata["description"], 110)


def option_of(strategy: Any, name: str) -> Field[Any]:
    """Return the field of an option: its default and its description, for the command line."""
    (found,) = (one for one in fields(strategy) if one.name == name)
    return found


def help_of(strategy: Any, name: str) -> str:
    """Return the description of an option as the command line shows it: plain text in one line."""
    return str(option_of(strategy, name).metadata["description"]).replace("``", "")
