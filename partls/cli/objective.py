"""The options of the objective: eta for all groups or by group, ridge, the kind of the penalty, the intercept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Annotated, Any

import typer

from formulations.errors import InvalidInput, listing
from formulations.partition import Partition
from formulations.strengths import Strengths
from partls.runtime.options import chosen, nonnegative


@dataclass(frozen=True, kw_only=True)
class Objective:
    """What is minimised."""

    eta: Annotated[
        list[str] | None,
        typer.Option(metavar="NUMBER|GROUP=NUMBER",
                     help="Strength of the penalty on the effects of all groups or, repeated, of each [default: 0]."),
    ] = None
    penalty: Annotated[
        str, typer.Option(metavar="l2|l1", help="Kind of this penalty.", autocompletion=lambda: ["l2", "l1"])
    ] = "l2"
    ridge: Annotated[
        float, typer.Option(metavar="NUMBER", help="Weight of the squares of all coefficients but the intercept.")
    ] = 0.0
    intercept: Annotated[
        bool, typer.Option("--intercept/--no-intercept", help="Whether the model has an intercept.")
    ] = True

    def check(self) -> None:
        """Refuse invalid options before the rows are read."""
        _ = self.strengths
        chosen("penalty", self.penalty, ["l2", "l1"])
        nonnegative("ridge", self.ridge, finite=True)

    @property
    def strengths(self) -> float | Mapping[str, float]:
        """The eta of all groups, or ``{group: eta}``."""
        given = self.eta or ["0"]
        pairs = [text.rpartition("=") for text in given]  # the name of a group may hold the sign, too
        if len(given) > 1 and (for_all := [text for text in given if "=" not in text]):
            raise InvalidInput(f"--eta {for_all[0]} is for all groups: give it alone, or --eta GROUP=NUMBER for each")
        values = {name: _number(text, value) for text, (name, _, value) in zip(given, pairs, strict=True)}
        if len(values) < len(pairs):
            raise InvalidInput(f"--eta is given twice for a group: keep one of {listing(given)}")
        return values if pairs[0][1] else values[""]

    def of(self, partition: Partition) -> Strengths:
        """Return the strengths on these groups: all of them must be named if any is, and no other."""
        try:
            return Strengths.of(
                self.strengths, self.penalty, self.ridge, partition, fit_intercept=self.intercept,
                penalize_intercept=False,
            )
        except InvalidInput as error:
            raise InvalidInput(f"--{error}") from None

    @property
    def options(self) -> dict[str, Any]:
        """The options as ``Instance`` and ``PartLSRegressor`` take them."""
        return {
            "eta": self.strengths, "penalty": self.penalty, "ridge": self.ridge, "fit_intercept": self.intercept,
        }


def _number(given: str, value: str) -> float:
    """Return the number in the value of ``--eta``."""
    try:
        number = float(value)
    except ValueError:
        raise InvalidInput(f"--eta {given}: {value!r} is not a number") from None
    if not (isfinite(number) and number >= 0):
        raise InvalidInput(f"--eta {given} must be a finite number >= 0")
    return number
