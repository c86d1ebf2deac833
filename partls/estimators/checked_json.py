"""JSON from a file that anyone may have written: every member is looked up with its type."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from formulations.errors import InvalidInput, counted, listing


def parsed(path: Path) -> Any:
    """Return the contents of a JSON file with finite numbers and no duplicate keys."""

    def no_constant(word: str) -> Any:
        raise InvalidInput(f"it holds {word}, and every number must be finite")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise InvalidInput(f"a key occurs twice among {listing(key for key, _ in pairs)}")
        return found

    try:
        document = json.loads(path.read_bytes(), parse_constant=no_constant, object_pairs_hook=unique)
        json.dumps(document, ensure_ascii=False).encode()  # half a character, which JSON can spell, is none
        return document
    except InvalidInput:
        raise
    except ValueError as error:  # no JSON, no Unicode, or a number of too many digits
        raise InvalidInput(f"it is not JSON ({error})") from None
    except RecursionError:
        raise InvalidInput("it is nested too deeply") from None


@dataclass(frozen=True)
class Checked:
    """A JSON object whose members are looked up with their type."""

    value: Any
    place: str

    def get(self, key: str, *kinds: type) -> Any:
        """Return a member of one of these types."""
        if not isinstance(self.value, dict):
            raise InvalidInput(f"{self.place} should be a JSON object")
        if key not in self.value:
            raise InvalidInput(f'{self.place} has no "{key}"')
        found = self.value[key]
        if not isinstance(found, kinds) or (isinstance(found, bool) and bool not in kinds):
            wanted = " or ".join("null" if kind is type(None) else kind.__name__ for kind in kinds)
            raise InvalidInput(f'"{key}" in {self.place} should be {wanted}, not {type(found).__name__}')
        return found

    def part(self, key: str) -> Checked:
        """Return a member that is an object."""
        return Checked(self.get(key, dict), f'"{key}"')

    def number(self, key: str) -> float:
        """Return a member that is a finite number."""
        return _finite(self.get(key, int, float), f'"{key}" in {self.place}')

    def numbers(self, key: str, length: int) -> list[float]:
        """Return a member that is a list of so many finite numbers."""
        values = self.get(key, list)
        if len(values) != length:
            found = counted(len(values), "value")
            raise InvalidInput(f'"{key}" in {self.place} has {found} instead of {length}')
        return [_finite(value, f'"{key}", value {i} in {self.place}') for i, value in enumerate(values)]

    def strings(self, key: str) -> list[str]:
        """Return a member that is a list of strings."""
        values = self.get(key, list)
        if not all(isinstance(value, str) for value in values):
            raise InvalidInput(f'"{key}" in {self.place} should hold strings')
        return values  # type: ignore[no-any-return]


def _finite(value: Any, place: str) -> float:
    try:
        number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InvalidInput(f"{place} is {str(value)[:40]!r}, not a finite number")
    return number
