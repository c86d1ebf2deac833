"""The exceptions of the toolkit, and the wording that lets a message point at its own remedy."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress

PROBLEM = "\n  - "  # what stands before each of several problems in one message


class PartLSError(Exception):
    """The base class of every exception that the toolkit raises on purpose.

    Examples
    --------
    >>> import partls
    >>> try:
    ...     partls.Instance([[1.0]], [1.0, 2.0])
    ... except partls.PartLSError as error:
    ...     print(error)
    y has 2 values but X has 1 row
    """


class InvalidInput(PartLSError, ValueError):  # noqa: N818
    """Data or an option that cannot be used; the message names the row, column or option and what to do.

    Examples
    --------
    >>> import partls
    >>> try:
    ...     partls.Instance([[1.0, 2.0]], [1.0], {"size": ["area", "rooms"]}, columns=["area", "room"])
    ... except partls.InvalidInput as error:
    ...     print(error)
    cannot use these groups: 2 problems
      - group "size": unknown column "rooms"; did you mean "room"?
      - in no group: "room"; add them to one, or set ungrouped="free"
    """


class InvalidOption(InvalidInput):
    """An option with a value that it cannot have; as text it reads as an argument in Python.

    Attributes
    ----------
    option, value
        The argument's name and what was given for it.
    reason
        What is wrong with the value, in Python's words.
    plain_reason
        The same where the value was not given in Python: on the command line there is no None, and no list.
    """

    def __init__(self, option: str, value: object, reason: str, plain_reason: str | None = None) -> None:
        self.option, self.value, self.reason = option, value, reason
        self.plain_reason = reason if plain_reason is None else plain_reason
        super().__init__(option, value, reason, plain_reason)

    def __str__(self) -> str:
        """Return the message as Python spells the option and its value."""
        return f"{self.option}={self.value!r} {self.reason}"


class NotANumber(InvalidInput, TypeError):  # noqa: N818
    """A cell of a type that is no number."""


class VerificationError(PartLSError, ValueError):
    """A certificate that does not prove its claim; the message names the step that fails.

    Examples
    --------
    >>> import partls
    >>> result = partls.solve([[1.0], [2.0]], [1.0, 2.5], ["a"], certificate="proof.json")
    >>> try:
    ...     partls.verify("proof.json", [[1.0], [2.0]], [1.0, 3.0], ["a"])
    ... except partls.VerificationError as error:
    ...     print(error)
    the certificate belongs to other data, groups or weights
    """


class WorkersLost(PartLSError, RuntimeError):  # noqa: N818
    """All processes or machines that explored for a search are gone; its checkpoint, if any, is up to date.

    Examples
    --------
    >>> import partls
    >>> issubclass(partls.WorkersLost, partls.PartLSError)
    True
    """


def suggestion(name: str, allowed: Iterable[str]) -> str:
    """Return ``'; did you mean "x"?'`` for the allowed name closest to ``name`` ('' if none is close).

    Upper and lower case are not told apart, so that ``AREA`` finds ``area``.
    """
    spelled = {candidate.casefold(): candidate for candidate in allowed}
    nearest = difflib.get_close_matches(name.casefold(), spelled, n=1)
    return f'; did you mean "{spelled[nearest[0]]}"?' if nearest else ""


def no_such_file(path: str | os.PathLike[str]) -> str:
    """Return that a file is missing, with the one in its folder that is called almost so."""
    folder, name = os.path.split(os.fspath(path))
    near = ""
    with suppress(OSError, ValueError):
        near = suggestion(name, os.listdir(folder or "."))
    return f"there is no such file{near}"


def listing(names: Iterable[object], limit: int = 5) -> str:
    """Return the first few names for a message: strings in double quotes, the rest counted."""
    shown = [f'"{name}"' if isinstance(name, str) else str(name) for name in names]
    more = f" and {len(shown) - limit} more" if len(shown) > limit else ""
    return ", ".join(shown[:limit]) + more


def counted(number: int, noun: str) -> str:
    """Return ``1 row`` or ``2,000 rows``."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def refuse(problems: Sequence[str], subject: str, limit: int = 5) -> None:
    """Return quietly if there are no problems, else raise one ``InvalidInput`` that shows the first few."""
    if len(problems) == 1:
        raise InvalidInput(f"{subject}: {problems[0]}")
    if problems:
        lines = [f"{len(problems)} problems", *problems[:limit]]
        if len(problems) > limit:
            lines.append(f"and {len(problems) - limit} more")
        raise InvalidInput(f"{subject}: " + PROBLEM.join(lines))
