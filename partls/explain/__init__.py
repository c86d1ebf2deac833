"""What a fitted model says and how sure that is: tables for judging a partition.

Each module makes one kind of report: a value that prints as a table and turns into a data frame.
"""

from partls.explain.contributions import Contributions, contributions
from partls.explain.given_rows import confirmed, matched, on_rows, one_target, refuse_halves
from partls.explain.partition_from_signs import partition_from_signs
from partls.explain.price import PriceOfConstraint, price_of_constraint
from partls.explain.sign_certainty import SignCertainty, sign_certainty
from partls.explain.stability import Stability, bootstrap
from partls.explain.summary import Facts, Summary, facts_of, summarise

__all__ = [
    "Contributions",
    "Facts",
    "PriceOfConstraint",
    "SignCertainty",
    "Stability",
    "Summary",
    "bootstrap",
    "confirmed",
    "contributions",
    "facts_of",
    "matched",
    "on_rows",
    "one_target",
    "partition_from_signs",
    "price_of_constraint",
    "refuse_halves",
    "sign_certainty",
    "summarise",
]
