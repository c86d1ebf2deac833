"""What a bound costs: the relaxation's own price, or one measured on the toolkit's members."""

from __future__ import annotations

from math import exp, log

from formulations.instance import Instance
from relaxations.policies.measured_prices import COLUMNS, MEASURED
from relaxations.price import Price
from relaxations.protocol import Relaxation

_UNKNOWN = (0.01, 2.0)  # seconds at 40 columns and the power of their number, of a relaxation that nobody has measured


def price_of(relaxation: Relaxation, instance: Instance) -> Price:
    """Return the seconds that a relaxation takes to prepare and to bound a node: its own ``price``, or those measured.

    Measured prices are interpolated between the numbers of columns measured, and extrapolated beyond them, in
    logarithms. The price of an "active-set" bound is that of a node of the compiled search.
    """
    own = own_price(relaxation, instance)
    if own is not None:
        return own
    columns = max(instance.reduction.n_columns, 1)
    measured = MEASURED.get(getattr(relaxation, "priced_as", relaxation.name))
    if measured is None:
        members = getattr(relaxation, "members", None)
        if members:
            parts = [price_of(member, instance) for member in members]
            return Price(sum(part.prepare for part in parts), sum(part.bound for part in parts))
        return Price(0.0, _UNKNOWN[0] * (columns / 40) ** _UNKNOWN[1])
    prepare, bound = (_interpolated(columns, seconds) for seconds in measured)
    return Price(prepare, bound)


def own_price(relaxation: Relaxation, instance: Instance) -> Price | None:
    """Return what a relaxation says of its own price, or None."""
    own = getattr(relaxation, "price", None)
    price: Price | None = None if own is None else own(instance)
    return price


def _interpolated(columns: int, seconds: tuple[float, ...]) -> float:
    """Return the seconds at a number of columns, on straight lines through the logarithms of those measured."""
    place = sum(columns > known for known in COLUMNS[1:-1])
    (left, right), (low, high) = COLUMNS[place : place + 2], seconds[place : place + 2]
    share = log(columns / left) / log(right / left)
    return exp((1 - share) * log(low) + share * log(high))
