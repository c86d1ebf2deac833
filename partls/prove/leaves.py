"""The sign boxes of a proof: the tree once more, with the answer known, each leaf closed by the bound it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from formulations.data import Floats
from formulations.instance import Instance
from formulations.signs import SignPattern
from partls.explore.branching import StrongBranching
from partls.explore.subtree import violations
from partls.presolve.free_groups import beside, kept_groups, within, without_signs
from partls.prove.dual_points import Relaxed
from relaxations.active_set import ActiveSetBounder
from relaxations.protocol import Bound, Bounder
from relaxations.strengthened import StrengthenedBounder

_PAYS = 0.1  # of the first gap: a stronger bound that closes less is not worth its time


@dataclass(frozen=True, eq=False)
class Leaf:
    """A closed box and the solution u of its relaxation, in floating point."""

    signs: SignPattern
    relaxed: Relaxed


class ClosedBoxes:
    """Boxes that cover the root, each with a bound of at least ``cutoff`` or with every sign decided.

    Groups ``freed`` by presolve are no more decided in any box than in the root: the boxes close without their signs.
    """

    def __init__(self, instance: Instance, root: SignPattern, objective: float, cutoff: float,
                 freed: Sequence[int] = ()) -> None:
        self._whole, self._whole_root, self._freed = instance, root, freed
        self._instance = without_signs(instance, freed)
        self._reduction, self._root = self._instance.reduction, within(root, instance, freed)
        self._objective, self._cutoff = objective, cutoff

    def first(self) -> Leaf:
        """Return the whole, with its first bound."""
        if not len(self._reduction.R):
            return Leaf(self._whole_root, Relaxed(self._restored(np.zeros(self._reduction.n_columns))))
        return self._leaf(self._root, ActiveSetBounder(self._reduction).bound(self._padded(self._root)))

    def all(self, look_at_the_clock: Callable[[], None]) -> Iterator[Leaf]:
        """Yield closed boxes that cover the root."""
        reduction = self._reduction
        if not len(reduction.R):
            yield self.first()
            return
        bounder, strong = ActiveSetBounder(reduction), self._strong_bounder()
        open_boxes = [(self._root, bounder.bound(self._padded(self._root)))]
        while open_boxes:
            look_at_the_clock()
            signs, bound = open_boxes.pop()
            if bound.value >= self._cutoff or signs.is_complete:
                yield self._leaf(signs, bound)
                continue
            penalised = [k for k in signs.undecided if self._instance.strengths.groups[k] > 0]
            if strong is not None and penalised:
                stronger = strong.bound(self._padded(signs))
                if stronger.value >= self._cutoff:
                    yield self._leaf(signs, stronger, strengthened=penalised)
                    continue
            assert bound.coef is not None  # this relaxation always has a point
            open_boxes += self._halves(signs, bound.coef, bounder)

    def _strong_bounder(self) -> Bounder | None:
        """Return the bound that a strong L2 penalty gives, if it closes a good part of the first gap; else None."""
        if self._reduction.data_part is self._reduction:
            return None
        root, strong = self._padded(self._root), StrengthenedBounder(self._reduction)
        first = ActiveSetBounder(self._reduction).bound(root).value
        return strong if strong.bound(root).value - first > _PAYS * (self._objective - first) else None

    def _leaf(self, signs: SignPattern, bound: Bound, strengthened: Sequence[int] = ()) -> Leaf:
        assert bound.coef is not None
        own = kept_groups(self._whole, self._freed)
        box = beside(signs, self._whole_root, self._whole, self._freed)
        return Leaf(box, Relaxed(self._restored(bound.coef), tuple(own[k] for k in strengthened)))

    def _padded(self, signs: SignPattern) -> SignPattern:
        return SignPattern((*signs, *[0] * (self._reduction.n_groups - len(signs))))

    def _halves(self, signs: SignPattern, v: Floats, bounder: ActiveSetBounder) -> list[tuple[SignPattern, Bound]]:
        """Return the two boxes of the group whose signs raise the bound most, with their bounds."""
        reduction = self._reduction
        nu = violations(v, reduction.labels, reduction.n_groups)
        groups = [k for k in signs.undecided if nu[k] > 0] or list(signs.undecided)

        @cache
        def half(k: int, sign: int) -> tuple[SignPattern, Bound]:
            box = signs.fix(k, sign)
            return box, bounder.bound(self._padded(box))

        k = StrongBranching().choose(groups, v, reduction.labels, lambda k, sign: half(k, sign)[1].value)
        return [half(k, -1), half(k, 1)]

    def _restored(self, v: Floats) -> Floats:
        coef, intercept = self._reduction.restore(v)
        return np.append(coef, intercept) if self._instance.fit_intercept else coef
