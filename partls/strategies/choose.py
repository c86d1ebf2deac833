"""From the ``method`` that a user passes, a name or an object, to a strategy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from formulations.errors import InvalidInput, suggestion
from partls.runtime.options import chosen
from partls.strategies.alternating import Alternating
from partls.strategies.branch_and_bound import BranchAndBound
from partls.strategies.enumeration import Enumeration
from partls.strategies.strategy import Strategy

STRATEGIES: dict[str, Any] = {strategy.name: strategy for strategy in (BranchAndBound, Enumeration, Alternating)}
METHODS = ("auto", *STRATEGIES)
_FIELDS = {name: {one.name: one for one in fields(strategy)} for name, strategy in STRATEGIES.items()}
_KNOWN = [option for own in _FIELDS.values() for option in own]


def as_strategy(method: Any, options: Mapping[str, Any], known: tuple[str, ...] = ()) -> Strategy:
    """Return the strategy of a name and its options, or the object itself; ``known`` are the caller's own options.

    "auto" is branch and bound, or enumeration where more than the best solution is to be kept. An option of another
    strategy than the one named is checked and has no effect, unless its refusal says otherwise.
    """
    if not isinstance(method, str):
        return _own(method, options)
    name = chosen("method", method, METHODS)
    if method == "auto":
        name = "bnb" if options.get("keep", "best") == "best" else "enumerate"
    for given in options:
        if given not in _KNOWN:
            near = [*known, *dict.fromkeys(_KNOWN)]
            raise InvalidInput(f"{given} is not an option of solve{suggestion(given, near) or f': those are {near}'}")
    for other in STRATEGIES:
        _check_elsewhere(other, name, options)
    strategy: Strategy = STRATEGIES[name](**{given: options[given] for given in options if given in _FIELDS[name]})
    return strategy


def _own(method: Any, options: Mapping[str, Any]) -> Strategy:
    """Return a strategy object, which owns its options."""
    if isinstance(method, type) or not isinstance(method, Strategy):
        wanted = "a name nor a strategy such as partls.BranchAndBound(...)"
        raise InvalidInput(f"method={method!r} is neither {wanted}: names are {list(METHODS)}")
    if options:
        given, kind = next(iter(options)), type(method).__name__
        raise InvalidInput(f"{given} is given beside method={kind}(...): set it there, {kind}({given}=...)")
    return method


def _check_elsewhere(other: str, name: str, options: Mapping[str, Any]) -> None:
    """Check the options that the chosen strategy lacks, and refuse those that it must not ignore."""
    given = {option: options[option] for option in _FIELDS[other] if option in options and option not in _FIELDS[name]}
    if given:
        STRATEGIES[other](**given)
    for option, value in given.items():
        one = _FIELDS[other][option]
        refusal = one.metadata["refusal"]
        if refusal and value != one.default:
            raise InvalidInput(refusal.format(value=value))


def with_changes(strategy: Any, changes: Mapping[str, Any]) -> Strategy:
    """Return a strategy with those of the options that it has; one that is no dataclass has none."""
    known = {one.name for one in fields(strategy)} if is_dataclass(strategy) else set()
    own = {name: value for name, value in changes.items() if name in known}
    changed: Strategy = replace(strategy, **own) if own else strategy
    return changed
