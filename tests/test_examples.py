"""The examples run; the Ames data are not ours to ship, so houses are made up."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[1]


def example(name: str):
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_ames_analysis_pairs_by_name_and_reproduces_the_mispairing(tmp_path, capsys):
    ames = example("ames")
    rng = np.random.default_rng(0)
    houses = pd.DataFrame({name: rng.choice(words, 90) for name, words in ames.ORDERED.items()})
    houses = houses.assign(**{name: rng.choice(["b", "a", "NA"], 90) for name in ames.CODED})
    houses = houses.assign(**{name: rng.choice(["12.5", "80", "NA"], 90) for name in ames.MEASURED})
    houses = houses.assign(GrLivArea=rng.integers(500, 3000, 90), MSSubClass=rng.choice([60, 20], 90))
    quality = houses["KitchenQual"].map(ames.QUALITY.index)
    features = list(rng.permutation(houses.columns))
    houses = houses[features].assign(Id=range(90), SalePrice=1e4 * quality + 50 * houses["GrLivArea"])
    houses.to_csv(tmp_path / "train.csv", index=False)
    groups = ["size" if name == "GrLivArea" else "OutsideFacilities" for name in features]
    pd.get_dummies(pd.Series(groups, index=pd.Index(features, name="Descriptor"))).astype(int).to_csv(
        tmp_path / "P.csv", sep=";")
    ames.main(str(tmp_path / "train.csv"), str(tmp_path / "P.csv"), str(tmp_path))
    plt.close("all")
    said = capsys.readouterr().out
    assert "optimal" in said and "KitchenQual" in said
    norms = [float(line.split("norm ")[1].split(",")[0]) for line in said.splitlines() if line.startswith("paired")]
    assert norms[0] < norms[1]
    assert 0 < int(said.splitlines()[-1].split(" of ")[0]) < 50
    assert (tmp_path / "ames.png").stat().st_size > 10_000


def test_the_sweep_of_the_guide_draws_its_pictures(tmp_path, capsys):
    example("sweep").main(tmp_path, {"M": [6, 12], "correlation": [0.0, 0.9], "eta": [0.0, 10.0]})
    plt.close("all")
    assert "split-dnn" in capsys.readouterr().out
    for name in ("sweep.png", "sweep-profile.png"):
        assert (tmp_path / name).stat().st_size > 10_000
