"""The cheap relaxation first, the strong one where much is left to do."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from formulations.errors import InvalidInput
from formulations.instance import Instance
from formulations.signs import SignPattern
from relaxations.policies.policy import Policy, PolicyMember
from relaxations.protocol import Bound, Relaxation, strongest
from relaxations.registry import as_relaxation


@dataclass(frozen=True)
class CheapThenStrong(Policy):
    """The cheap bound first; the strong one where the cheap one leaves much to do.

    Much to do means both: a gap to the cutoff of more than ``gap`` times the cutoff, and a subtree of more than
    ``break_even`` nodes. The subtree is estimated from the node alone. If every decided group has so far raised the
    cheap bound by ``rise`` on average, ``gap / rise`` more must be decided before it reaches the cutoff, and there
    are no more than the undecided ones: two to that power. Before any group is decided nothing is known of the tree,
    most trees are small, and the cheap bound stands. ``break_even`` defaults to the number of cheap bounds that one
    strong bound is taken to cost (``relaxations.policies.work``).
    """

    cheap: Relaxation | str
    strong: Relaxation | str
    gap: float = 1e-3
    break_even: float | None = None
    kind = "cheap-then-strong"

    def __post_init__(self) -> None:
        """Refuse thresholds that are no numbers."""
        super().__post_init__()
        for option, value in (("gap", self.gap), ("break_even", self.break_even)):
            if value is not None and not value >= 0:
                raise InvalidInput(f"{option}={value!r} must be a number >= 0")

    @property
    def members(self) -> tuple[Relaxation, ...]:
        """The cheap and the strong relaxation."""
        return as_relaxation(self.cheap), as_relaxation(self.strong)

    def prepare(self, instance: Instance) -> _CheapThenStrongBounder:
        """Return the bounder of this instance; bounds the root once, to measure rises from."""
        cheap, strong = (PolicyMember(member, instance) for member in self.members)
        root = cheap.ask(SignPattern.free(instance.reduction.n_groups), inf).value
        break_even = strong.work / cheap.work if self.break_even is None else self.break_even
        return _CheapThenStrongBounder(cheap, strong, self.gap, break_even, root)


@dataclass(frozen=True, eq=False)
class _CheapThenStrongBounder:
    cheap: PolicyMember
    strong: PolicyMember
    gap: float
    break_even: float
    root: float

    def bound(self, signs: SignPattern, *, cutoff: float = inf) -> Bound:
        cheap = self.cheap.ask(signs, cutoff)
        if cheap.status.trusted and not self._much_to_do(cheap.value, signs, cutoff):
            return strongest([cheap])
        return strongest([cheap, self.strong.ask(signs, cutoff)])

    def _much_to_do(self, value: float, signs: SignPattern, cutoff: float) -> bool:
        gap, undecided, decided = cutoff - value, len(signs.undecided), len(signs) - len(signs.undecided)
        if cutoff < inf and (gap <= self.gap * abs(cutoff) or not decided):
            return False
        rise = (value - self.root) / max(decided, 1)
        levels = min(float(undecided), gap / rise) if rise > 0 else float(undecided)
        return float(2.0**levels) > self.break_even
