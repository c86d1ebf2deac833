"""How a text file is written: its encoding, its delimiter, its decimal point."""

from __future__ import annotations

import codecs
import re

from formulations.errors import InvalidInput

DELIMITERS = (",", ";", "\t", "|")
DECIMAL_COMMA = re.compile(r"(?<![\w,.])-?\d+,\d+(?![\w,.])")


def found_encoding(path: str, head: bytes) -> str:
    """Return UTF-8, or UTF-16 if the file begins with that mark; refuse other text."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        raise not_text(path, "utf-8") from None
    return "utf-8"


def checked_encoding(encoding: str) -> str:
    """Return the name of an encoding of text that was asked for."""
    try:
        "a".encode(encoding)  # some codecs are of other things than text
        return codecs.lookup(encoding).name
    except LookupError:
        raise InvalidInput(f'--encoding "{encoding}" is unknown; common ones are utf-8, latin-1, cp1252') from None


def not_text(path: str, encoding: str) -> InvalidInput:
    """Return the error of a file that is in another encoding."""
    return InvalidInput(f"{path} is not {encoding.upper()} text; if an older program wrote it, try --encoding latin-1")


def checked_delimiter(delimiter: str) -> str:
    """Return the delimiter that was asked for."""
    spelled = {"\\t": "\t", "tab": "\t"}.get(delimiter, delimiter)
    if len(spelled.encode()) != 1:
        raise InvalidInput(f'--delimiter "{delimiter}" must be one character (or "tab")')
    return spelled


def found_delimiter(text: str) -> str:
    """Return the delimiter that the header has most of outside quotes: a blank only where there is no other."""
    lines = re.split(r"[\r\n]+", re.sub(r'"[^"]*"', '""', text))  # a name in quotes may hold a line break
    plain = next((line for line in lines if line.strip()), "")
    visible = max(DELIMITERS, key=plain.count)
    return visible if visible in plain else " "
