"""Which relaxations to compare, by label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from formulations.errors import InvalidInput
from relaxations.protocol import Relaxation
from relaxations.registry import MEMBERS, as_relaxation

Relaxations = Iterable[Relaxation | str] | Mapping[str, Relaxation | str] | None


def labelled(relaxations: Relaxations) -> dict[str, Relaxation]:
    """Return relaxations by label: their names, numbered where one comes twice; None is every member."""
    if isinstance(relaxations, Mapping):
        return {label: as_relaxation(relaxation) for label, relaxation in relaxations.items()}
    if relaxations is not None and not isinstance(relaxations, Iterable):
        raise InvalidInput(f"relaxations={relaxations!r}: give names, relaxations or a mapping from labels to them")
    chosen = list(MEMBERS) if relaxations is None else [relaxations] if isinstance(relaxations, str) else relaxations
    members = [as_relaxation(relaxation) for relaxation in chosen]
    totals, seen, named = Counter(member.name for member in members), Counter[str](), {}
    for member in members:
        seen[member.name] += 1
        named[member.name + (f" #{seen[member.name]}" if totals[member.name] > 1 else "")] = member
    return named
