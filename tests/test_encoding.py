"""Groups of raw columns reach the encoded columns: by pattern, and by following the transformers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)

from formulations import InvalidInput, Partition
from partls import PartLSRegressor, encoded_groups


def frame(n_rows: int = 60, seed: int = 0) -> pd.DataFrame:
    """Names and categories chosen to mislead whoever splits an encoded name at its underscore."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame({
        "a": rng.choice(["b_q", "y"], n_rows), "a_b": rng.choice(["c_x", "y"], n_rows),
        "a_b_c": rng.choice(["w", "z"], n_rows), "size": rng.normal(size=n_rows),
        "id": np.arange(n_rows), "ratio": rng.normal(size=n_rows),
    })


def one_hot(**options) -> OneHotEncoder:
    return OneHotEncoder(sparse_output=False, **options)


def test_one_hot_names_that_look_alike_go_to_their_own_column():
    transformer = ColumnTransformer(
        [("code", one_hot(), ["a_b", "a", "a_b_c"]), ("number", StandardScaler(), ["size"])], remainder="drop",
    ).fit(frame())
    groups = encoded_groups({"first": ["a"], "second": ["a_b", "a_b_c"], "third": ["size"]}, transformer)
    assert groups == {
        "first": ["code__a_b_q", "code__a_y"],
        "second": ["code__a_b_c_x", "code__a_b_y", "code__a_b_c_w", "code__a_b_c_z"],
        "third": ["number__size"],
    }


def test_every_encoded_column_varies_with_its_own_raw_column_only():
    """The independent proof: change one raw column and see which encoded columns change."""
    data = frame()
    transformer = ColumnTransformer(
        [
            ("filled", make_pipeline(SimpleImputer(strategy="most_frequent"), one_hot(drop="first")), ["a_b_c", "a"]),
            ("ordered", OrdinalEncoder(), make_column_selector(pattern="^a_b$")),
            ("bins", KBinsDiscretizer(3, encode="onehot-dense", quantile_method="averaged_inverted_cdf")
             if "quantile_method" in KBinsDiscretizer().get_params() else KBinsDiscretizer(3, encode="onehot-dense"),
             slice(3, 4)),
        ],
        remainder="passthrough", verbose_feature_names_out=False,
    ).set_output(transform="pandas").fit(data)
    groups = encoded_groups({name: [name] for name in data.columns}, transformer)
    before = transformer.transform(data)
    for name in data.columns:
        changed = data.assign(**{name: data[name].to_numpy()[::-1]})
        after = transformer.transform(changed)
        moved = [column for column in before if not np.array_equal(before[column], after[column])]
        assert set(moved) == set(groups[name]), name


def test_components_belong_to_the_group_that_all_their_inputs_share():
    data = frame()[["size", "ratio"]]
    both = FeatureUnion([("parts", PCA(2)), ("same", StandardScaler())]).fit(data)
    assert encoded_groups({"g": ["size", "ratio"]}, both) == {"g": list(both.get_feature_names_out())}
    with pytest.raises(InvalidInput, match='"parts__pca0" is made of columns of several groups: "g", "h"'):
        encoded_groups({"g": ["size"], "h": ["ratio"]}, both)


def test_products_across_groups_are_refused():
    products = PolynomialFeatures(2, include_bias=False).fit(frame()[["size", "ratio"]])
    with pytest.raises(InvalidInput, match='"size ratio" is made of columns of several groups'):
        encoded_groups({"g": ["size"], "h": ["ratio"]}, products)


def test_columns_of_no_group_and_groups_of_no_column():
    transformer = ColumnTransformer([("n", "passthrough", ["size", "ratio"])]).fit(frame())
    assert encoded_groups({"g": ["size"]}, transformer, ungrouped="free") == {"g": ["n__size"]}
    with pytest.raises(InvalidInput, match="in no group: \"n__ratio\""):
        encoded_groups({"g": ["size"]}, transformer)
    with pytest.raises(InvalidInput, match='drops every column of group "h"'):
        encoded_groups({"g": ["size", "ratio"], "h": ["id"]}, transformer)


def test_a_transformer_fitted_without_names_counts_its_columns():
    doubled = FunctionTransformer(feature_names_out="one-to-one").fit(np.ones((3, 2)))
    assert encoded_groups(["g", "h"], doubled) == {"g": ["x0"], "h": ["x1"]}


def test_patterns_pair_with_columns_and_say_when_they_do_not():
    columns = ["Street_Pave", "Street_Grvl", "Lot", "Lot [m2]"]
    partition = Partition.of({"place": ["Street_*"], "lot": ["Lot", "Lot [m2]"]}, n_columns=4, columns=columns)
    assert partition.to_dict() == {"place": columns[:2], "lot": columns[2:]}
    later = Partition.from_dict({"place": ["Street_*"], "lot": ["Lot*"]})
    assert later.align(columns).to_dict() == partition.to_dict()
    with pytest.raises(InvalidInput, match=r'group "x": no column matches "Stret_\*"'):
        Partition.of({"x": ["Stret_*"], "lot": ["*"]}, n_columns=4, columns=columns)
    with pytest.raises(InvalidInput, match='column "Lot" is in group "x" and in group "y"'):
        Partition.of({"x": ["*"], "y": ["Lot"]}, n_columns=4, columns=columns)


def test_patterns_survive_a_pipeline_and_agree_with_the_helper():
    data = frame()
    y = data["size"] + (data["a"] == "y") - 2.0 * (data["a_b"] == "y")
    encode = ColumnTransformer([("c", one_hot(), ["a", "a_b"]), ("n", StandardScaler(), ["size", "ratio"])])
    encode.set_output(transform="pandas").fit(data)
    patterns = {"codes": ["c__*"], "numbers": ["n__*"]}
    helper = encoded_groups({"codes": ["a", "a_b"], "numbers": ["size", "ratio"]}, encode)
    fits = [make_pipeline(encode, PartLSRegressor(groups)).fit(data, y)[-1] for groups in (patterns, helper)]
    assert fits[0].partition_ == fits[1].partition_
    assert fits[0].objective_ == fits[1].objective_
    nameless = make_pipeline(encode.set_output(transform="default"), PartLSRegressor(patterns))
    with pytest.raises(InvalidInput, match=r'set_output\(transform="pandas"\)'):
        nameless.fit(data, y)
