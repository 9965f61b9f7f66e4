"""What a command says: results on standard output, progress and messages on standard error."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable
from typing import ParamSpec

import typer
from rich.console import Console

from graphcondense.distributed import rank_of_environment
from graphcondense.errors import GraphcondenseError
from graphcondense.report.sheet import Sheet

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    help="Turn a large graph dataset into a few small graphs that train a GNN nearly as well.",
)


P = ParamSpec("P")


def out() -> Console:
    """Standard output."""
    return Console(highlight=False)


def tell(message: str) -> None:
    """A line of the result, on standard output."""
    out().print(message, markup=False, emoji=False, soft_wrap=True)


def say(message: str) -> None:
    """A line for the user, on standard error; of several processes, the first one speaks."""
    if rank_of_environment():
        return
    console = Console(file=sys.stderr, highlight=False)
    console.print(message, markup=False, emoji=False, soft_wrap=not console.is_terminal)


def command(function: Callable[P, None]) -> Callable[P, None]:
    """Turn errors that the user can mend into one line and exit code 2, an interrupt into 130."""

    @functools.wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            function(*args, **kwargs)
        except GraphcondenseError as error:
            if rank_of_environment():  # the others say what became of them, too
                sys.stderr.write(f"error: {error}\n")
            say(f"error: {error}")
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            say("interrupted")
            raise typer.Exit(130) from None

    return wrapped


def print_sheet(sheet: Sheet) -> None:
    """A table with its notes on standard output."""
    out().print(sheet.rich())
    for note in sheet.notes:
        out().print(note, markup=False)


def print_json(value: object) -> None:
    """One JSON object on standard output."""
    sys.stdout.write(json.dumps(value, allow_nan=False) + "\n")
