"""Policies beside their members: the whole search, preparation included."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.contract import Answer
from benchmarks.methods.ours import Bnb
from relaxations import Adaptive, ByDepth, CheapThenStrong, Fixed, PerspectiveRelaxation, Relaxation

BJ = PerspectiveRelaxation(D="bj", name="perspective bj")
SEARCHES: dict[str, str | Relaxation] = {
    "active-set": "active-set",
    "fixed active-set": Fixed("active-set"),
    "auto": "auto",
    **{name: name for name in ("shor", "perspective", "strengthened", "split-dnn", "convexified")},
    "perspective bj": BJ,
    **{
        f"{policy} {name}": make(strong)
        for name, strong in {
            "shor": "shor", "perspective": "perspective", "perspective bj": BJ, "strengthened": "strengthened",
            "split-dnn": "split-dnn", "convexified": "convexified",
        }.items()
        for policy, make in {
            "cheap then": lambda strong: CheapThenStrong("active-set", strong),
            "at the root": lambda strong: ByDepth(strong, "active-set", 1),
            "adaptive": lambda strong: Adaptive(["active-set", strong]),
        }.items()
    },
}


@dataclass
class Switching(Bnb):
    """Branch and bound with one relaxation or with a policy; the counts say what was asked."""

    name = "switching"

    relaxation: str = "active-set"

    def options(self) -> dict:
        return super().options() | {"relaxation": SEARCHES[self.relaxation]}

    def answer(self) -> Answer:
        answer = super().answer()
        told = ("bounds by", "subtrees to", "switched to")
        answer.notes.update({key: count for key, count in self._result.counts.items() if key.startswith(told)})
        return answer
