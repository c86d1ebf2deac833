"""The cheap relaxation first, the strong one where much is left to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import inf, log2

from formulations.errors import InvalidInput
from relaxations.active_set import ActiveSetRelaxation
from relaxations.policies.node import SPLIT, BoundBy, Decision, PolicyNode, SearchBy, TryBy, growing_trial, trial_nodes
from relaxations.policies.policy import Policy, constant
from relaxations.price import Price
from relaxations.protocol import Relaxation
from relaxations.registry import as_relaxation

_PAYS = 1.0  # a subtree below a strong bound that helps must be estimated at so many times its price
_PAYS_AT_ALL = 10.0  # the same before the first one, and below one that helps little: a tenth at most is lost
_HELPS = 0.3  # share of the gap that a strong bound must close


@dataclass(frozen=True)
class CheapThenStrong(Policy):
    """The cheap search first; a strong bound where the cheap search would cost more than the bound.

    The cheap member searches each subtree for a tenth of what one strong bound costs, preparation included. Most
    subtrees, and most trees, end there. If this one does not, its size is estimated from what is open: at each open
    node the gap to the cutoff, divided by the mean rise per decided group, is the number of levels below. Below a
    strong bound that has closed a fair share of the gap, the strong member bounds the node if the estimate, or what
    the cheap member has searched, exceeds ``break_even`` nodes. Elsewhere, the root included, it must be ten times as
    many: then a tenth at most is lost. If the bound closes little, the cheap member keeps the subtree.

    A strong member that is itself a compiled search ("convexified") takes the whole subtree. It does so where two
    estimates in a row exceed three times its price, or less when the cheap search has cost as much as the price.

    A cheap member without a compiled search bounds one node at a time, and the size of the subtree is estimated from
    the node.

    Parameters
    ----------
    cheap, strong
        Two relaxations, or policies as the strong one.
    gap
        Relative gap to the cutoff below which the cheap member keeps the subtree.
    break_even
        Nodes of the cheap search that one strong bound is worth. Default: from the prices.
    prices
        Prices of the members by name, in seconds: ``{"shor": Price(prepare=0.1, bound=0.5)}``, or a number for a bound
        that needs no preparation. Default: those measured (:class:`Price`).

    Examples
    --------
    >>> import partls
    >>> from formulations import random_instance
    >>> from relaxations import CheapThenStrong
    >>> policy = CheapThenStrong("active-set", "perspective")
    >>> partls.solve_instance(random_instance(M=12, group_size=3), relaxation=policy).status.value
    'optimal'
    """

    cheap: Relaxation | str
    strong: Relaxation | str
    gap: float = 1e-3
    break_even: float | None = None
    prices: Mapping[str, Price | float] | None = None
    kind = "cheap-then-strong"

    def __post_init__(self) -> None:
        """Refuse thresholds that are no numbers."""
        super().__post_init__()
        for option, value in (("gap", self.gap), ("break_even", self.break_even)):
            if value is not None and not value >= 0:
                raise InvalidInput(f"{option}={value!r} must be a number >= 0")

    @cached_property
    def members(self) -> tuple[Relaxation, ...]:
        """The cheap and the strong relaxation."""
        return constant(as_relaxation(self.cheap)), constant(as_relaxation(self.strong))

    def decide(self, node: PolicyNode) -> Decision:
        """Try the cheap search, then the strong bound where the rest is worth it."""
        cheap, strong = self.members
        strongly = None if isinstance(strong, Policy) else node.bound_by(strong)
        if not isinstance(cheap, ActiveSetRelaxation):
            bound = node.bound_by(cheap)
            if bound is None:
                return BoundBy(cheap)
            much = not bound.status.trusted or self._levels_left(node) > log2(max(self._worth(node), 1e-300))
            return BoundBy(strong) if strongly is None and much else SPLIT
        worth = self._worth(node)
        compiled = isinstance(strong, ActiveSetRelaxation)
        if node.trial is None:
            return TryBy(cheap, growing_trial(node, worth) if compiled else trial_nodes(worth, again=strong in node))
        if strong not in node and node.cutoff < inf and node.cutoff - node.value <= self.gap * abs(node.cutoff):
            return SearchBy(cheap)
        if compiled:
            return SearchBy(strong) if node.outweighs(worth) else TryBy(cheap, growing_trial(node, worth))
        helps = strong in node and node.gap_closed > _HELPS
        pays = (_PAYS if helps else _PAYS_AT_ALL) * worth
        if node.estimate <= pays and node.trial.nodes < pays:  # an estimate may be far too low: look again
            return TryBy(cheap, trial_nodes(pays, again=True))
        if node.estimate <= pays and strongly is not None and not helps:
            return SearchBy(cheap)
        return BoundBy(strong) if strongly is None else SPLIT

    def _worth(self, node: PolicyNode) -> float:
        """Return how many nodes of the cheap search cost as much as one strong bound."""
        if self.break_even is not None:
            return self.break_even
        cheap, strong = (node.price(member) for member in self.members)
        return strong.of(1) / max(cheap.bound, 1e-9)

    def _levels_left(self, node: PolicyNode) -> float:
        """Return how many more groups have to be decided below a node, from what the last one has brought."""
        gap, rise = node.cutoff - node.value, node.value - node.inherited
        if node.cutoff < inf and gap <= self.gap * abs(node.cutoff):
            return 0.0
        return min(float(node.undecided), gap / rise) if 0 < rise < inf else float(node.undecided)
