"""What a bound costs: seconds of preparation, and seconds for each bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from formulations.errors import InvalidInput


@dataclass(frozen=True)
class Price:
    """Seconds that a relaxation takes: ``prepare`` once per instance, ``bound`` for each node.

    Policies compare prices, and never read the clock: their decisions are the same on every machine.

    Parameters
    ----------
    prepare, bound : float
        Seconds.

    Examples
    --------
    >>> from relaxations import Price
    >>> Price(prepare=0.1, bound=0.02).bound
    0.02
    """

    prepare: float
    bound: float

    def __post_init__(self) -> None:
        """Refuse a value that is not a duration."""
        for part, seconds in (("prepare", self.prepare), ("bound", self.bound)):
            if not isinstance(seconds, int | float) or not seconds >= 0:
                raise InvalidInput(f"Price: {part}={seconds!r} must be a number of seconds >= 0")

    def of(self, bounds: float) -> float:
        """Return the seconds of a preparation and so many bounds."""
        return self.prepare + self.bound * bounds


Prices = Mapping[str, "Price | float"]


def given_prices(prices: Prices | None) -> dict[str, Price]:
    """Return the prices a user gives; a number is the price of a bound without preparation."""
    if prices is None:
        return {}
    if not isinstance(prices, Mapping):
        raise InvalidInput(f"prices={prices!r}: give a mapping such as {{'shor': Price(prepare=0.1, bound=0.5)}}")
    return {name: price if isinstance(price, Price) else Price(0.0, price) for name, price in prices.items()}
