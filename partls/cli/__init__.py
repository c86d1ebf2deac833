"""The command line: ``partls fit``, ``predict``, ``explain``, ``compare``, ``groups``, ``demo`` and ``verify``.

One file per command; ``data_options`` reads DATA for all of them, ``output`` says what they print and how they end.
"""

from __future__ import annotations

import signal
import sys
from importlib.metadata import version
from typing import Annotated, Any

import typer

from partls.cli import groups
from partls.cli.compare import compare
from partls.cli.demo import demo
from partls.cli.explain import explain
from partls.cli.fit import fit
from partls.cli.output import BAD_INPUT, INTERRUPTED, say
from partls.cli.predict import predict
from partls.cli.streams import make_usable
from partls.cli.verify import verify

HELP = """Partitioned Least Squares: regression in which the features of a group share one sign.

Start with "partls demo". With data of your own:

    partls groups init houses.csv --target price --out groups.toml

    partls fit houses.csv --target price --groups groups.toml --out model.json

    partls fit houses.csv --target price --groups groups.toml --report page.html

    partls predict model.json new_houses.csv --out predictions.csv

Exit codes: 0 proven optimal or within the gap asked for, 2 bad input, 3 a limit ended the search (the model is
usable), 130 Ctrl-C or SIGTERM (the best model so far is saved if --out was given).
"""

app = typer.Typer(help=HELP, rich_markup_mode=None, pretty_exceptions_enable=False)
for command, told in {
    fit: "Fit a model to proven optimality.",
    predict: "Predict the target for every row.",
    explain: "Explain a model: its groups, signs, and constraint.",
    compare: "Compare lower bounds: strength and time.",
    demo: "Fit the embedded example.",
    verify: "Check a certificate of optimality without any solver.",
}.items():
    app.command(short_help=told)(command)
app.add_typer(groups.app, name="groups")


def _print_version(asked: bool) -> None:
    if asked:
        print(f"partls {version('partls')}")
        raise typer.Exit


@app.callback(help=HELP, invoke_without_command=True)
def options(
    context: typer.Context,
    asked: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version and exit.")
    ] = False,
) -> None:
    """Take what belongs to no command."""
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit(BAD_INPUT)


def _refused(error: Any) -> int:
    """Print what is wrong with the arguments in one line, as for all errors, and return the exit code."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "partls"
    message = error.format_message().rstrip(".?")
    say(f"error: {message[:1].lower()}{message[1:]}; see {command} --help")
    return BAD_INPUT


def main() -> None:
    """Run the command line."""
    make_usable()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as scripts start what they leave in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))  # a batch system's Ctrl-C
    try:
        sys.exit(typer.main.get_command(app).main(standalone_mode=False))
    except typer.Abort:
        say("interrupted")
        sys.exit(INTERRUPTED)
    except Exception as error:  # typer has no public name for the errors of its parser
        if not hasattr(error, "format_message"):
            raise
        sys.exit(_refused(error))
    except KeyboardInterrupt:  # before or after the command itself, which handles it
        say("interrupted")
        sys.exit(INTERRUPTED)
