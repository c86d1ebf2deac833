"""Pictures from rows of the tidy table alone: one look for all, written as SVG that does not change by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

COLOURS = {
    "bnb": "#0072B2", "enumerate": "#56B4E9", "alternating": "#009E73", "reference_bnb": "#D55E00",
    "reference_bnb_as_published": "#A33A00", "reference_enumeration": "#E69F00", "reference_alternating": "#CC79A7",
    "gurobi_miqp": "#000000", "scip_miqp": "#7F7F7F", "cvxpy_scip": "#BBBBBB", "daqp_miqp": "#8C6D31",
    "lstsq": "#999999",
}
NAMES = {
    "bnb": "PartLS branch and bound", "enumerate": "PartLS enumeration", "alternating": "PartLS alternating",
    "reference_bnb": "published branch and bound", "reference_enumeration": "published enumeration",
    "reference_alternating": "published alternating", "gurobi_miqp": "Gurobi (big-M)", "scip_miqp": "SCIP (big-M)",
    "cvxpy_scip": "CVXPY + SCIP", "daqp_miqp": "DAQP (big-M)", "lstsq": "numpy.linalg.lstsq",
    "reference_bnb_as_published": "the same, as published",
}
OURS = ("bnb", "enumerate", "alternating")
LOOK = {
    "svg.hashsalt": "partls", "font.family": "sans-serif", "font.size": 11,
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.color": "#E5E5E5",
    "axes.axisbelow": True, "legend.frameon": False, "savefig.facecolor": "white", "figure.facecolor": "white",
}


@contextmanager
def drawing() -> Iterator[Any]:
    """Give pyplot without a screen, in the look of all pictures."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    with plt.rc_context(LOOK):
        yield plt


def plain_ticks(axis: Any, write: Callable[[float], str] | None = None) -> None:
    """Label a logarithmic axis, its data drawn, in plain numbers: at powers of ten, or at 1, 2, 5 if it has few."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1.0,) if high >= 100 * low else (1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: (write or plain)(value)))
    axis.set_minor_formatter(NullFormatter())


def plain(value: float) -> str:
    """Return a number as one would write it: 0.01, 30, 1,000, 2e9."""
    return f"{value:,.12g}" if abs(value) < 1e6 else f"{value:g}".replace("e+0", "e")


def clock(seconds: float) -> str:
    """Return a duration in the unit that fits it: 10 ms, 1 s."""
    unit, size = next((pair for pair in (("s", 1.0), ("ms", 1e-3)) if seconds >= pair[1] * 0.999), ("µs", 1e-6))
    return f"{seconds / size:,.4g} {unit}"


def save(figures: dict[str, Any], folder: Path, study: str) -> list[Path]:
    """Write the pictures of a study and close them."""
    from matplotlib import pyplot as plt

    written = []
    for name, figure in figures.items():
        path = folder / f"{study}-{name}.svg"
        with plt.rc_context(LOOK):
            figure.savefig(path, metadata={"Date": None, "Creator": None}, bbox_inches="tight")
        lines = path.read_text(encoding="utf-8").split("\n")
        path.write_text("\n".join(line.rstrip() for line in lines), encoding="utf-8")
        plt.close(figure)
        written.append(path)
    return written


def picture(study: str, name: str, title: str) -> str:
    """Return the line of a page that shows a picture."""
    return f"![{title}]({study}-{name}.svg)"
