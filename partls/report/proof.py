"""What was proved, in words: for a reader who has never heard of a gap."""

from __future__ import annotations

from typing import Any

from formulations.errors import counted
from formulations.tolerances import OPTIMAL_GAP
from partls.explain.report import EXACT_FIT
from partls.result import Result, Status, target_size

_STOPPED = {
    Status.TIME_LIMIT: "The search was stopped by its time limit.",
    Status.NODE_LIMIT: "The search was stopped by its limit on nodes.",
    Status.INTERRUPTED: "The search was interrupted.",
    Status.HEURISTIC: "The model comes from a quick method that attempts no proof.",
}


def proof(result: Result, signs: Any) -> dict[str, Any]:
    """Return the verdict, what it means and what an audit of the original data finds."""
    return {
        "proved": result.status is Status.OPTIMAL,
        "exact_fit": result.rounded.vanishes,
        "verdict": _verdict(result),
        "meaning": _meaning(result, _under(signs)),
        "audit": _audit(result),
        "open": list(result.ambiguities.lines),
    }


def _verdict(result: Result) -> str:
    if result.status is Status.OPTIMAL:
        return "Proven optimal"
    if result.status in (Status.GAP_REACHED, Status.PRECISION_LIMIT):
        return f"Proven to within {_share(result.gap)}"
    return "Not proven optimal"


def _meaning(result: Result, under: str) -> str:
    objective = _figure(result.objective)
    patterns = _patterns(result.instance.n_groups)
    nodes = f"{result.n_nodes:,} node{'s' * (result.n_nodes != 1)}"
    work = f"{nodes} in {result.seconds:.3g}\N{NO-BREAK SPACE}s"
    if result.rounded.vanishes:
        return f"{EXACT_FIT[0].upper()}{EXACT_FIT[1:]}: no model can be better. The search took {work}."
    if result.status is Status.OPTIMAL:
        return (
            f"Of the {patterns} ways to give each group one sign, none{under} fits better than this model: the "
            f"certified lower bound {_meets(result)} its objective, {objective}. The search took {work}."
        )
    most = (
        f"no model with one sign per group{under} can have an objective more than {_share(result.gap)} lower than "
        f"this one's, {objective}"
    )
    if result.status is Status.GAP_REACHED:
        return f"As good as was asked for: {most}. The search took {work}."
    if result.status is Status.PRECISION_LIMIT:
        return f"All {patterns} sign patterns were covered, but the data are ill-conditioned and rounding leaves a "\
               f"margin: {most}. The search took {work}."
    found = f"{_STOPPED[result.status]} This is the best model found in {work}"
    return f"{found}; {most}." if result.gap < 1 else f"{found}; how far it is from the optimum is not known."


def _meets(result: Result) -> str:
    """Return how the bound of a proven optimum stands to its objective."""
    missing = result.objective - result.lower_bound
    if missing <= OPTIMAL_GAP * result.objective:
        return "meets"
    return f"is within {missing / target_size(result.instance):.0e} of the target's squared size of"


def _audit(result: Result) -> str:
    audit = result.audit()
    outcome = "Audit passed" if audit.passed else "Audit FAILED"
    wrong = counted(audit.sign_violations, "coefficient")
    broken = f"{wrong} of the wrong sign" if audit.sign_violations else "every sign holds"
    return (
        f"{outcome}: recomputed from the data, the objective agrees to {max(audit.objective_error, 1e-16):.0e}, the "
        f"conditions of optimality hold to {max(audit.kkt_residual, 1e-16):.0e}, and {broken}."
    )


def _under(signs: Any) -> str:
    return "" if signs is None else " that keeps the signs given beforehand"


def _figure(value: float) -> str:
    return f"{value:,.6g}" if not 1e6 <= abs(value) < 1e12 else f"{value:,.0f}"


def _patterns(n_groups: int) -> str:
    """Return the number of sign patterns: in full while it can be read."""
    return f"{2**n_groups:,}" if n_groups <= 40 else f"2^{n_groups}"


def _share(gap: float) -> str:
    return f"{100 * gap:.2g}%" if gap >= 1e-4 else f"{gap:.1e} of its value"
