"""Groups of raw columns, carried through scikit-learn's transformers to the columns they produce."""

from __future__ import annotations

import copy
import re
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from formulations.errors import InvalidInput, listing
from formulations.partition import Partition

Sources = list[set[int]]  # the input columns that each output column is made of

_MARK = "\ue000{}\ue001"  # private-use characters, which no column name or category contains
_MARKED = re.compile("\ue000([0-9]+)\ue001")


def encoded_groups(groups: Any, transformer: Any, *, ungrouped: str = "error") -> dict[str, list[str]]:
    """Return ``{name: [output columns]}`` for groups of the columns that went into a fitted transformer.

    Every output column goes to the group of the input columns it is made of: one-hot codes to the group of
    their feature, a principal component to the group that all its inputs share.

    Parameters
    ----------
    groups
        Groups of the raw columns, in any form ``Partition.of`` accepts. Columns the transformer drops may be left
        out.
    transformer
        A fitted ``ColumnTransformer``, ``Pipeline``, ``FeatureUnion`` or transformer with output names.
    ungrouped : {"error", "free"}
        Whether an output column of no group is refused or left out, to be used with ``ungrouped="free"``.

    Returns
    -------
    dict
        The output columns of each group, by name.

    Raises
    ------
    InvalidInput
        If the transformer is not fitted, or an output column mixes inputs of several groups.

    Examples
    --------
    >>> import pandas as pd
    >>> from partls import encoded_groups
    >>> from sklearn.preprocessing import OneHotEncoder
    >>> table = pd.DataFrame({"street": ["paved", "gravel"], "heating": ["gas", "oil"]})
    >>> encoded_groups({"place": ["street"], "comfort": ["heating"]}, OneHotEncoder().fit(table))
    {'place': ['street_gravel', 'street_paved'], 'comfort': ['heating_gas', 'heating_oil']}
    """
    names = [str(name) for name in transformer.get_feature_names_out()]
    raw = getattr(transformer, "feature_names_in_", None)
    partition = Partition.of(groups, n_columns=transformer.n_features_in_, columns=raw, ungrouped="free")
    encoded: dict[str, list[str]] = {name: [] for name in partition.names}
    loose = []
    for name, sources in zip(names, _sources(transformer, transformer.n_features_in_), strict=True):
        found = sorted({int(partition.labels[j]) for j in sources})
        if len(found) > 1:
            owners = listing(partition.names[k] if k >= 0 else "(no group)" for k in found)
            raise InvalidInput(f'column "{name}" is made of columns of several groups: {owners}; encode them apart')
        if found and found[0] >= 0:
            encoded[partition.names[found[0]]].append(name)
        else:
            loose.append(name)
    if loose and ungrouped == "error":
        raise InvalidInput(f'in no group: {listing(loose)}; put their raw columns in one, or set ungrouped="free"')
    empty = [name for name, members in encoded.items() if not members]
    if empty:
        raise InvalidInput(f"the transformer drops every column of group {listing(empty)}; drop the group too")
    return encoded


def _sources(transformer: Any, n_inputs: int) -> Sources:
    """Return what each output column is made of, following transformers into their parts."""
    if isinstance(transformer, str):
        return [] if transformer == "drop" else [{j} for j in range(n_inputs)]
    if hasattr(transformer, "transformers_"):
        return _of_columns(transformer)
    if hasattr(transformer, "transformer_list"):
        return [sources for _, part in transformer.transformer_list for sources in _sources(part, n_inputs)]
    if not hasattr(transformer, "steps"):
        return _of_one(transformer, n_inputs)
    sources = [{j} for j in range(n_inputs)]
    for _, step in transformer.steps:
        made_of = _sources("passthrough" if step is None else step, len(sources))
        sources = [set().union(*(sources[j] for j in inner)) for inner in made_of]
    return sources


def _of_columns(transformer: Any) -> Sources:
    """Return the sources of a ColumnTransformer's outputs, in the order of its output."""
    names = list(getattr(transformer, "feature_names_in_", range(transformer.n_features_in_)))
    placed: list[tuple[int, Sources]] = []
    for label, part, columns in transformer.transformers_:
        positions = _positions(columns, names)
        made_of = _sources(part, len(positions)) if len(positions) else []
        sources = [{positions[j] for j in inner} for inner in made_of]
        placed.append((transformer.output_indices_[label].start or 0, sources))
    return [made_of for _, sources in sorted(placed, key=lambda pair: pair[0]) for made_of in sources]


def _positions(columns: Any, names: list[Any]) -> list[int]:
    """Return the positions of columns given as names, integers, a slice or a mask."""
    if isinstance(columns, str):
        columns = [columns]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # scikit-learn 1.6 will store a remainder by name: both are read
        columns = list(columns) if isinstance(columns, Iterable) else columns
    if isinstance(columns, Iterable) and any(isinstance(column, str) for column in columns):
        return [names.index(column) for column in columns]
    return [int(j) for j in np.atleast_1d(np.arange(len(names))[columns])]


def _of_one(transformer: Any, n_inputs: int) -> Sources:
    """Return the sources of a plain transformer: it names its outputs after inputs that are called by their number."""
    unnamed = copy.copy(transformer)
    vars(unnamed).pop("feature_names_in_", None)
    marks = np.array([_MARK.format(j) for j in range(n_inputs)], dtype=object)
    found = [{int(j) for j in _MARKED.findall(name)} for name in unnamed.get_feature_names_out(marks)]
    return [sources or set(range(n_inputs)) for sources in found]  # a name of its own: made of all, as far as is known
