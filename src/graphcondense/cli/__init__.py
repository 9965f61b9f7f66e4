"""The command line: a module a command."""

from __future__ import annotations

import signal
import sys
from importlib import import_module
from typing import Annotated

import typer

from graphcondense import __version__
from graphcondense.cli.console import app, say

COMMANDS = (
    "datasets",
    "check",
    "condense",
    "evaluate",
    "compare",
    "reproduce",
    "report",
    "snap",
    "inspect",
    "export",
    "shard",
    "quickstart",
)
for _name in COMMANDS:  # in the order of the help
    import_module(f"graphcondense.cli.{_name}")


def _version(value: bool) -> None:
    if value:
        sys.stdout.write(f"graphcondense {__version__}\n")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Turn a large graph dataset into a few small graphs that train a GNN nearly as well."""


def main() -> None:
    """Entry point: a wrong option, too, gets one line and exit code 2; being told to end is an interrupt."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that worker processes do not outlive this one
    try:
        code = app(standalone_mode=False)
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        if error.format_message():  # empty when there was no command and the help was printed
            say(f"error: {error.format_message()} (--help lists what there is)")
        code = 2
    sys.exit(code)
