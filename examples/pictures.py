"""Draw the pictures of the README from the bundled diabetes study: python examples/pictures.py [folder].

The picture of the report is taken by Chromium, where that is installed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd

from partls import PartLSRegressor
from partls.demo import GROUPS, diabetes
from partls.plotting import (
    SearchProgressDisplay,
    SearchTreeDisplay,
)

matplotlib.use("Agg")


def main(folder: Path) -> None:
    """Draw the model, one patient, and a search that is hard enough to watch."""
    from matplotlib import pyplot as plt

    study = diabetes()
    X = pd.DataFrame(study.X, columns=list(study.partition.columns or ()))
    model = PartLSRegressor(GROUPS).fit(X, study.y)
    figure, axes = plt.subplots(2, 2, figsize=(11, 5.4), layout="constrained")
    model.plot_effects(ax=axes[0, 0])
    model.plot_shares("body", ax=axes[0, 1])
    model.plot_contributions(X.iloc[[0]], ax=axes[1, 0])
    model.plot_sign_certainty(ax=axes[1, 1])
    for ax, title in zip(axes.flat, ("Effects", "Inside a group", "One prediction", "Sign certainty"), strict=True):
        ax.set_title(f"{title} ({ax.get_title()})" if ax.get_title() else title)
    figure.savefig(folder / "model.png", dpi=100)

    figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained", width_ratios=(1, 1.6))
    SearchProgressDisplay.from_estimator(PartLSRegressor(np.arange(160) % 40).fit(*hard_problem(170, 160)), ax=axes[0])
    SearchTreeDisplay.from_estimator(PartLSRegressor(np.arange(100) % 10).fit(*hard_problem(300, 100)), ax=axes[1])
    figure.savefig(folder / "search.png", dpi=100)
    photograph_report(model, folder / "images" / "report.png")


def photograph_report(model: PartLSRegressor, path: Path) -> None:
    """Take a picture of the top of the report."""
    chromium = shutil.which("chromium")
    if chromium is None:
        print(f"{path} is left as it is: there is no Chromium to take it")
        return
    path.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        page = model.report(f"{folder}/page.html", title="The progression of diabetes", target="progression")
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1200,1120"]
        places = [f"--user-data-dir={folder}/profile", f"--screenshot={path.resolve()}", page.as_uri()]
        subprocess.run([chromium, *flags, *places], check=True, capture_output=True, timeout=120)


def hard_problem(n_rows: int, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Return correlated columns and a target that no signs fit."""
    rng = np.random.default_rng(4)
    X = np.sqrt(0.1) * rng.normal(size=(n_rows, n_columns)) + np.sqrt(0.9) * rng.normal(size=(n_rows, 1))
    return X, X @ rng.normal(size=n_columns) + rng.normal(size=n_rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1] / "docs")
