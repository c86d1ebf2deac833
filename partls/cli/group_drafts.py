"""First drafts of groups for columns that nobody has grouped yet: by correlation, by name, or each its own."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from partls.cli.training_data import TrainingData

_WIDTH = 80  # of the lines of a draft
DRAFTS = ("correlation", "prefix", "column")


@dataclass(frozen=True)
class Draft:
    """Groups to edit.

    Attributes
    ----------
    groups
        The columns of each group.
    reasons
        Why a group has the columns it has, where that is not plain from its name.
    left_out
        Columns in no group, each with the reason.
    encode
        Whether some columns are text, which the fit encodes.
    """

    groups: Mapping[str, Sequence[str]]
    reasons: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    encode: bool = False

    def as_toml(self, heading: Iterable[str]) -> str:
        """Return the draft as a groups file, with its reasons as comments."""
        lines = [f"# {line}" for line in heading]
        if self.left_out:
            lines += ["", "# Left out of the model:"]
            for name, reason in self.left_out.items():
                lines += _comment(f"{_printable(name)}: {reason}", "#   ")
            lines += _list("drop", self.left_out)
        if self.encode:
            lines += ["", "# Each value of a text column gets a 0/1 column.", 'encode = "onehot"']
        lines += ["", "[groups]"]
        for name, members in self.groups.items():
            lines += _comment(self.reasons[name]) if name in self.reasons else []
            lines += _list(_string(name), members)
        return "\n".join(lines) + "\n"


def _comment(text: str, mark: str = "# ") -> list[str]:
    """Return a comment on lines of the file's width."""
    return textwrap.wrap(text, _WIDTH, initial_indent=mark, subsequent_indent=mark + "  ", break_long_words=False,
                         break_on_hyphens=False)


def _list(key: str, members: Iterable[str]) -> list[str]:
    """Return a TOML list, on one line where it fits."""
    items = [*map(_string, members)]
    line = f"{key} = [{', '.join(items)}]"
    if len(line) <= _WIDTH:
        return [line]
    lines = [f"{key} = ["]
    for item in items:
        if len(lines) > 1 and len(lines[-1]) + len(item) + 2 <= _WIDTH:
            lines[-1] += f" {item},"
        else:
            lines.append(f"    {item},")
    return [*lines, "]"]


def _string(text: str) -> str:
    """Return a TOML string: JSON's escapes are TOML's, but for one character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _printable(name: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in name)


def by_column(columns: Iterable[str]) -> Draft:
    """Return one group per column."""
    return Draft({name: [name] for name in columns})


def by_prefix(columns: Iterable[str]) -> Draft:
    """Return groups of columns whose names begin alike: up to the first separator, else capital, else digit.

    So ``q1_a`` and ``q1_b`` begin with ``q1``, ``GarageCars`` and ``GarageArea`` with ``Garage``, ``x1`` and ``x2``
    with ``x``; ``LDL`` and ``SOx`` are words of their own.
    """
    groups: dict[str, list[str]] = {}
    for name in columns:
        groups.setdefault(_first_word(name), []).append(name)
    return Draft(groups)


def _first_word(name: str) -> str:
    begin = re.match(r"[^\W_]+(?=[\W_]+\w)", name)
    if begin:
        return begin[0]
    letters = name[: next((i for i, c in enumerate(name) if not c.isalpha()), None)]
    capital = next((i for i in range(1, len(letters)) if letters[i].isupper() and letters[i - 1].islower()), None)
    return letters[:capital] or name


def by_correlation(rows: TrainingData, threshold: float) -> Draft:
    """Return groups of columns that rise and fall together: mean correlation of at least ``threshold``.

    Columns that move against each other stay apart, for they can hardly share a sign.
    """
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    if len(rows.columns) == 1:
        return by_column(rows.columns)
    correlation = _correlation(rows)
    distance = np.clip(1.0 - correlation, 0.0, 2.0)
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform(distance, checks=False), method="average")
    labels = fcluster(tree, t=1.0 - threshold, criterion="distance")
    groups: dict[str, list[str]] = {}
    reasons: dict[str, str] = {}
    for label in dict.fromkeys(labels.tolist()):
        members = np.flatnonzero(labels == label)
        among = correlation[np.ix_(members, members)]
        columns = [rows.columns[j] for j in members]
        central = columns[int(np.argmax(among.sum(axis=1)))]
        name = _name_of(columns, central)
        name = name if name not in groups else f"like {central}"
        groups[name] = columns
        if len(members) > 1:
            mean = (among.sum() - among.trace()) / (len(members) * (len(members) - 1))
            reasons[name] = f"rise and fall together: mean correlation {mean:.2f}"
    return Draft(groups, reasons)


def _name_of(columns: Sequence[str], central: str) -> str:
    """Return the words that the names of a group's columns share, or else the most typical column."""
    if len(columns) == 1:
        return columns[0]
    first, *others = [_words(name) for name in columns]
    common = [word for word in first if all(word.casefold() in map(str.casefold, words) for words in others)]
    shared = " ".join(word for word in dict.fromkeys(common) if len(word) > 1)
    return shared if shared and shared not in columns else f"like {central}"


def _words(name: str) -> list[str]:
    """Return the words of a name: ``TotalBsmtSF`` has Total, Bsmt and SF."""
    return re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+", name) or [name]


def _correlation(rows: TrainingData) -> np.ndarray:
    """Return the correlations of standardised columns; a constant column has none with the others."""
    weights = np.ones(len(rows.y)) if rows.sample_weight is None else rows.sample_weight
    product = (rows.X * (weights / weights.sum())[:, None]).T @ rows.X
    return np.asarray((product + product.T) / 2)
