"""Groups whose sign says nothing: all values of a text column, which can rise or fall together with the intercept."""

from __future__ import annotations

from formulations.partition import Partition
from partls.cli.preparation import Preparation


def arbitrary_signs(preparation: Preparation, partition: Partition) -> dict[str, list[str]]:
    """Return the groups made of all codes of some text columns and nothing else, each with these columns.

    In every row the codes of a column add up to one. Adding a number to their coefficients and taking it from the
    intercept leaves every prediction as it is: without a penalty such a group fits equally well with either sign.
    """
    found: dict[str, list[str]] = {}
    columns = preparation.columns
    for k, name in enumerate(partition.names):
        members = {columns[j] for j in partition.members(k)}
        whole = [feature for feature in preparation.levels if members >= set(preparation.codes(feature))]
        if whole and members == {code for feature in whole for code in preparation.codes(feature)}:
            found[name] = whole
    return found
