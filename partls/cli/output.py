"""What commands print and how they end: tables for people, one JSON document for programs, errors without traceback."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Annotated, Any, ParamSpec

import numpy as np
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from formulations.errors import PROBLEM, InvalidOption, PartLSError
from formulations.partition import Partition
from partls.cli.streams import answerable, print_stderr, print_stdout, speaks_unicode, telling
from partls.explain.report import name as short
from partls.result import PROVEN, Result, Status
from partls.runtime.progress import in_terminal
from partls.runtime.screen import screen_width, wrapped

BAD_INPUT, NOT_PROVEN, INTERRUPTED = 2, 3, 130
_SIGN = {1: ("+", "green"), 0: ("0", "dim"), -1: ("-", "red")}
Arguments = ParamSpec("Arguments")
Force = Annotated[bool, typer.Option("--force", help="Replace files that are there already.")]


def exit_code(status: Status, gap: float, wanted: float) -> int:
    """Return how a fit ends: 0 proved as far as asked, 3 with a usable model that is not, 130 by Ctrl-C."""
    if status is Status.INTERRUPTED:
        return INTERRUPTED
    return 0 if status in PROVEN or gap <= wanted else NOT_PROVEN


def guarded(command: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """Turn bad input into one message and exit code 2, and Ctrl-C into 130."""

    @functools.wraps(command)
    def run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
        try:
            with answerable():
                command(*args, **kwargs)
        except PartLSError as error:
            say(f"error: {message_of(error)}")
            raise typer.Exit(BAD_INPUT) from None
        except OSError as error:
            say(f"error: {error.filename or 'a file'} cannot be used ({error.strerror or error})")
            raise typer.Exit(BAD_INPUT) from None
        except MemoryError as error:
            say(f"error: this needs more memory than there is ({error}); leave columns out with --drop")
            raise typer.Exit(BAD_INPUT) from None
        except KeyboardInterrupt:
            say("interrupted")
            raise typer.Exit(INTERRUPTED) from None

    return run


def message_of(error: PartLSError) -> str:
    """Return the message of an error; an option is spelled as on the command line."""
    if isinstance(error, InvalidOption):
        return f"--{error.option.replace('_', '-')} {error.value} {error.plain_reason}"
    return str(error)


def harmless(text: str) -> str:
    """Return one line whose control characters, as a hostile column name has them, are shown and not obeyed."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def tell(text: str) -> None:
    """Print sentences on standard output, on as many lines as the screen needs."""
    print_stdout(wrapped(harmless(text)))


def say(message: str) -> None:
    """Print a message on standard error: one line, and one more for each problem that it lists."""
    print_stderr(PROBLEM.join(harmless(line) for line in message.split(PROBLEM)))


def say_to_people(message: str) -> None:
    """Print a line on standard error if that is a terminal: quiet when piped."""
    if in_terminal():
        say(message)


def print_document(document: Any) -> None:
    """Print one JSON document on standard output."""
    print_stdout(json.dumps(document, indent=2, allow_nan=False, ensure_ascii=not speaks_unicode(), default=_plain))


def finite(value: float) -> float | None:
    """Return a number as JSON has it: null for NaN and the infinities."""
    return float(value) if np.isfinite(value) else None


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is not JSON")


def group_table(result: Result, *, units: str = "") -> Table:
    """Return one row per group: its sign and effect, and the share of each of its features; ± where either will do."""
    either = result.ambiguities.either_sign
    partition, alpha, beta = result.instance.partition, result.alpha, result.beta
    columns = partition.columns or tuple(str(j) for j in range(partition.n_columns))
    table = Table(title=f"Groups and the features that carry them{units}", title_justify="left")
    table.add_column("group", style="bold", overflow="fold")
    table.add_column("sign", justify="center")
    table.add_column("beta", justify="right")
    table.add_column("alpha: share of each feature", overflow="fold")
    for k, name in enumerate(partition.names):
        members = partition.members(k)
        order = members[np.argsort(-alpha[members], kind="stable")]
        carried = [f"{short(columns[m])} {_share(alpha[m])}" for m in order if alpha[m] > 0]
        idle = len(members) - len(carried)
        shares = _first(carried) + (f" ({idle} without effect)" if idle and beta[k] else "")
        sign = Text("±", style="dim") if name in either else Text(*_SIGN[int(np.sign(beta[k]))])
        table.add_row(Text(short(name)), sign, f"{beta[k]:.4g}", Text(shares))
    if len(partition.free):
        order = partition.free[np.argsort(-np.abs(result.coef[partition.free]), kind="stable")]
        coefs = _first([f"{short(columns[m])} {result.coef[m]:.4g}" for m in order])
        table.add_row(Text("(ungrouped)", style="dim"), "", "", Text(f"coefficients: {coefs}"))
    return table


def _share(alpha: float) -> str:
    """Return a share in percent; one that rounds to nothing is shown as small."""
    return f"{alpha:.0%}" if alpha >= 0.005 else "<1%"


def _first(told: list[str], most: int = 12) -> str:
    return ", ".join(told[:most]) + (f" and {len(told) - most} more" if len(told) > most else "")


def group_document(partition: Partition, alpha: Any, beta: Any) -> dict[str, Any]:
    """Return the groups as plain data."""
    columns = partition.columns or tuple(str(j) for j in range(partition.n_columns))
    return {
        name: {
            "beta": float(beta[k]),
            "sign": int(np.sign(beta[k])),
            "alpha": {columns[m]: float(alpha[m]) for m in partition.members(k)},
        }
        for k, name in enumerate(partition.names)
    }


def show(*parts: Any, **options: Any) -> None:
    """Print what rich renders on standard output, as wide as the screen; a pipe gets plain lines."""
    with telling():
        _Screen(width=screen_width()).print(*parts, **options)


class _Screen(Console):
    def on_broken_pipe(self) -> None:
        """Let ``telling`` handle a closed pipe: rich would end the program."""
        raise
