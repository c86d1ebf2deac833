"""Ames house prices: 79 features in the article's ten groups, encoded and paired by name as in ``examples/ames.py``."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.contract import MissingDataError, Problem
from benchmarks.original_files import OriginalFile, Source, checked, split

SOURCE = Source(
    "ames", "https://www.kaggle.com/c/house-prices-advanced-regression-techniques (a login is needed)",
    (OriginalFile("train.csv", 1460, 81, sha256="1e18addf81e5e4d347cc17ee6075bbe4a42b7fa26b9e5b063e8f692a5f929d41"),),
)
GROUPS = {  # Table 5 of Esposito, Cerrato and Locatelli (2024)
    "LotDescription": "MSSubClass MSZoning LotFrontage LotArea Street Alley LotShape LandContour LotConfig LandSlope",
    "BuildingPlacement": "Utilities Neighborhood Condition1 Condition2",
    "BuildingAge": "YearBuilt YearRemodAdd",
    "BuildingQuality": "BldgType HouseStyle OverallQual OverallCond RoofStyle RoofMatl Exterior1st Exterior2nd "
    "MasVnrType MasVnrArea ExterQual ExterCond Foundation Functional",
    "Basement": "BsmtQual BsmtCond BsmtExposure BsmtFinType1 BsmtFinSF1 BsmtFinType2 BsmtFinSF2 BsmtUnfSF TotalBsmtSF",
    "PowerAndTemperature": "Heating HeatingQC CentralAir Electrical Fireplaces FireplaceQu",
    "Sizes": "1stFlrSF 2ndFlrSF LowQualFinSF GrLivArea",
    "Rooms": "BsmtFullBath BsmtHalfBath FullBath HalfBath BedroomAbvGr KitchenAbvGr KitchenQual TotRmsAbvGrd",
    "OutsideFacilities": "GarageType GarageYrBlt GarageFinish GarageCars GarageArea GarageQual GarageCond PavedDrive "
    "WoodDeckSF OpenPorchSF EnclosedPorch 3SsnPorch ScreenPorch PoolArea PoolQC Fence",
    "Various": "MiscFeature MiscVal MoSold YrSold SaleType SaleCondition",
}
TRAINING_SHARE = 2 / 3


def make(seed: int, *, shuffled: bool = False) -> Problem:
    """Return two thirds of the houses, shuffled by the seed, with the rest to predict; or all of them."""
    path = SOURCE.path(SOURCE.files[0])
    X, y, sizes = _encoded(path, path.stat().st_mtime_ns)
    n = int(TRAINING_SHARE * len(y)) if shuffled else len(y)
    rest = slice(n if shuffled else 0, len(y))
    return split(X, y, sizes, train=slice(0, n), test=rest, shuffle=seed if shuffled else None)


@cache
def _encoded(path: Path, changed: int) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Encode words by their natural order or one by one, all houses together: the codes are no result of a fit."""
    from examples.ames import encoder, load
    from partls import encoded_groups

    groups = {name: features.split() for name, features in GROUPS.items()}
    try:
        raw, prices = load(path, tuple(feature for features in groups.values() for feature in features))
    except KeyError as error:
        raise MissingDataError(f"{path.name} lacks columns of the original ({error}): replace the file") from error
    checked(path, SOURCE.files[0], (len(raw), len(raw.columns) + 2))  # the identifier and the price
    encode = encoder(raw)
    paired = encoded_groups(groups, encode.fit(raw))
    columns = [column for name in GROUPS for column in paired[name]]
    return encode.transform(raw)[columns].to_numpy(float), prices.to_numpy(), [len(paired[name]) for name in GROUPS]
