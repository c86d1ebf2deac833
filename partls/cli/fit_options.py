"""The options of ``partls fit``: how the optimum is looked for, and what a fit leaves behind."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from formulations.errors import InvalidInput
from formulations.tolerances import OPTIMAL_GAP
from partls.cli import known_signs
from partls.cli.output import Force
from partls.runtime.options import chosen, nonnegative, thread_count
from partls.strategies.branch_and_bound import BranchAndBound
from partls.strategies.choose import METHODS, STRATEGIES
from partls.strategies.option import BACKENDS, checked_backend, help_of
from partls.strategies.strategy import Strategy


def _methods() -> list[str]:
    return list(METHODS)


def _relaxations() -> list[str]:
    from relaxations import SEARCHABLE

    return list(SEARCHABLE)


def _backends() -> list[str]:
    return list(BACKENDS)


TimeLimit = Annotated[float | None, typer.Option(metavar="SECONDS", help="Return the best model found in this time.")]
Jobs = Annotated[int, typer.Option("--n-jobs", metavar="N", help="Threads; -1 is one per core.")]


@dataclass(frozen=True, kw_only=True)
class Search:
    """How the optimum is looked for."""

    method: Annotated[
        str, typer.Option(metavar="NAME", help="auto, bnb, enumerate or alternating.", autocompletion=_methods)
    ] = "auto"
    relaxation: Annotated[
        str, typer.Option(metavar="NAME", help="Lower bound of branch and bound.", autocompletion=_relaxations)
    ] = BranchAndBound.relaxation
    backend: Annotated[
        str, typer.Option(metavar="NAME", help=help_of(BranchAndBound, "backend"), autocompletion=_backends)
    ] = BranchAndBound.backend
    solver: Annotated[str | None, typer.Option(metavar="NAME", help=help_of(BranchAndBound, "solver"))] = None
    signs: known_signs.Signs = None
    presolve: Annotated[
        bool, typer.Option(help="Simplify the problem before the search; the optimum stays the same.")
    ] = True
    time_limit: TimeLimit = None
    gap: Annotated[
        float, typer.Option(metavar="SHARE", help="Relative gap at which the search may stop.")
    ] = OPTIMAL_GAP
    n_jobs: Jobs = 1
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Save the search to this file, and resume from it.")
    ] = None
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Compress and search on a Dask cluster, e.g. tcp://host:8786.")
    ] = None

    def strategy(self) -> Strategy:
        """Return the strategy with its options."""
        if self.method in ("auto", "bnb"):
            return BranchAndBound(
                relaxation=self.relaxation, checkpoint=self.checkpoint, backend=self.backend, solver=self.solver
            )
        own: Strategy = STRATEGIES[self.method](backend=self.backend, solver=self.solver)
        return own

    def check(self) -> None:
        """Refuse invalid options before the rows are read."""
        chosen("method", self.method, _methods())
        chosen("relaxation", self.relaxation, _relaxations())
        if self.solver is not None and self.backend != "cvxpy":
            raise InvalidInput("--solver needs --backend cvxpy")
        checked_backend(self.backend, self.solver)
        nonnegative("time_limit", self.time_limit)
        nonnegative("gap", self.gap)
        thread_count(self.n_jobs)
        known_signs.parsed(self.signs)
        if self.checkpoint is not None and self.method not in ("auto", "bnb"):
            raise InvalidInput(f"--checkpoint is for branch and bound, not for --method {self.method}")


@dataclass(frozen=True, kw_only=True)
class Output:
    """What a fit leaves behind."""

    out: Annotated[Path | None, typer.Option(metavar="model.json", help="Save the model.")] = None
    report: Annotated[Path | None, typer.Option(metavar="page.html", help="Write a page to look at and share.")] = None
    certificate: Annotated[
        Path | None, typer.Option(metavar="proof.json", help="Write a proof for partls verify (slower than the fit).")
    ] = None
    force: Force = False

    def check(self, method: str) -> None:
        """Refuse a proof where there will be none."""
        if self.certificate is not None and method == "alternating":
            raise InvalidInput("--certificate: --method alternating proves nothing; use bnb or enumerate")

    @property
    def places(self) -> dict[str, Path | None]:
        """The file of each option."""
        return {"--out": self.out, "--report": self.report, "--certificate": self.certificate}

    @property
    def needs_rows(self) -> str:
        """The option that needs every row of DATA, if there is one."""
        return "--report" if self.report is not None else "--certificate" if self.certificate is not None else ""
