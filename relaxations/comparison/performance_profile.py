"""Performance profiles of Dolan and Moré (2002): who is fastest, and who solves most, over many instances.

The time t of a relaxation on an instance counts if it closes a share of the gap; otherwise it is infinite. With the
ratio of t to the shortest time on the same instance, the profile of a relaxation at tau is the share of the instances
on which its ratio is at most tau: at 1 how often it is the fastest, far right how often it gets there at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from formulations.data import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BEYOND = 1.25  # the curves extend to this multiple of the last ratio


@dataclass(frozen=True, eq=False)
class PerformanceProfile:
    """The profiles of several relaxations.

    Attributes
    ----------
    target
        Share of the gap that had to be closed.
    ratios
        By relaxation, the ratio of each instance to the shortest time on it; infinite where the target was missed.
    n_instances
        Instances, those on which nobody reached the target included.
    """

    target: float
    ratios: Mapping[str, Floats]
    n_instances: int

    def at(self, relaxation: str, tau: float) -> float:
        """Return the share of the instances on which the relaxation took at most ``tau`` times the shortest time."""
        ratios = self.ratios[relaxation]
        return float(((ratios <= tau) & np.isfinite(ratios)).sum()) / self.n_instances if self.n_instances else 0.0

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw one staircase for each relaxation; return the axes."""
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots(figsize=(7.0, 4.0), layout="constrained")[1]
        finite = np.concatenate([r[np.isfinite(r)] for r in self.ratios.values()] or [np.ones(1)])
        last = max(float(finite.max(initial=1.0)) * _BEYOND, 2.0)
        for number, (label, ratios) in enumerate(self.ratios.items()):
            taus = np.unique(np.append(ratios[np.isfinite(ratios)], [1.0, last]))
            style = ("-", "--", "-.", ":")[number % 4]
            ax.step(taus, [self.at(label, tau) for tau in taus], where="post", label=label, linestyle=style)
        ax.set_xscale("log")
        ticks = [base * 10**power for power in range(9) for base in (1, 2, 5) if base * 10**power <= last]
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks], minor=False)
        ax.minorticks_off()
        ax.set(xlim=(1.0, last), ylim=(-0.02, 1.04), xlabel="time, as a multiple of the fastest",
               ylabel=f"share of the {self.n_instances} instances")
        ax.set_title(f"Performance profile: closing {self.target:.0%} of the gap")
        ax.grid(True, color="0.92")
        ax.legend(loc="lower right")
        return ax


def performance_profile(times: Mapping[str, Sequence[float]], target: float) -> PerformanceProfile:
    """Return the profile of times, one per instance and relaxation, infinite where the target was missed."""
    table = np.array(list(times.values()), dtype=np.float64)
    if not table.size:
        return PerformanceProfile(target, {label: np.empty(0) for label in times}, 0)
    fastest = table.min(axis=0)
    with np.errstate(invalid="ignore"):  # nobody reached it
        ratios = np.where(np.isfinite(table), table / fastest, np.inf)
    return PerformanceProfile(target, dict(zip(times, ratios, strict=True)), table.shape[1])
