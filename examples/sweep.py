"""Draw how strong relaxations are by M, correlation and eta, and their profile: python examples/sweep.py [folder]."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

import partls
import relaxations
from formulations import random_instance

matplotlib.use("Agg")

GRID = {"M": [10, 20, 30], "correlation": [0.0, 0.5, 0.9], "eta": [0.0, 10.0], "rows_per_column": [1.1]}
MEMBERS = ["active-set", "strengthened", "perspective", "shor", "split-dnn"]


def main(folder: Path, grid: dict[str, list[float]] | None = None) -> None:
    """Sweep the grid once, print the medians and draw both pictures."""
    sweep = relaxations.sweep(
        random_instance, MEMBERS, grid=grid or GRID, optimum=partls.solve_instance, progress=sys.stderr.isatty()
    )
    print(sweep.table("eta"))
    sweep.plot(x="M", columns="correlation", rows="eta").savefig(folder / "sweep.png", dpi=100)
    sweep.profile(target=0.95).plot().figure.savefig(folder / "sweep-profile.png", dpi=100)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1] / "docs" / "images")
