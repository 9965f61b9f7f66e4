"""The errors that a user can mend.

Each message is one line: what was given, what is wrong with it, and what to do. The command line prints that line and
leaves with exit code 2; anything that is not a :class:`GraphcondenseError` is our fault and keeps its traceback.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable


class GraphcondenseError(Exception):
    """Base of all errors that the user's input or surroundings cause."""


class InputError(GraphcondenseError, ValueError):
    """An argument, a setting or a dataset is wrong."""


class FileFormatError(GraphcondenseError, ValueError):
    """A file is not what it should be: foreign, truncated or damaged."""


class MissingDataError(GraphcondenseError, FileNotFoundError):
    """A dataset or a file is not there, and could not be fetched."""

    def __str__(self) -> str:
        return str(self.args[0])


class WouldOverwriteError(GraphcondenseError, FileExistsError):
    """The target exists and the user did not say that it may be replaced."""

    def __str__(self) -> str:
        return str(self.args[0])


def unknown_name(what: str, name: object, known: Iterable[str]) -> InputError:
    """The error for a name that is not among the known ones, with the nearest known one.

    >>> unknown_name("method", "doscont", ["doscond", "random"]).args[0]
    "unknown method 'doscont': did you mean 'doscond'? (known: doscond, random)"
    """
    return InputError(f"unknown {what} {name!r}{suggestion(name, known)}")


def suggestion(name: object, known: Iterable[str]) -> str:
    """How to go on after an unknown ``name``: the nearest known one, if one is near, and all of them."""
    names = list(known)
    lowered = {n.lower(): n for n in names}
    close = difflib.get_close_matches(str(name).lower(), list(lowered), n=1, cutoff=0.5)
    hint = f": did you mean {lowered[close[0]]!r}?" if close else ""
    return f"{hint} (known: {', '.join(names)})"


def check_choice(argument: str, value: str, known: Iterable[str]) -> str:
    """``value`` if it is one of ``known``, else the error that names the nearest one."""
    names = list(known)
    if value not in names:
        raise unknown_name(argument, value, names)
    return value


def check_at_least(argument: str, value: float, minimum: float) -> None:
    """Raise unless ``value`` is a finite number that is at least ``minimum``."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.inf > value >= minimum:
        raise InputError(f"{argument}={value!r} must be a number of at least {minimum}")


def check_count(argument: str, value: object, minimum: int = 1) -> None:
    """Raise unless ``value`` is a whole number that is at least ``minimum``."""
    if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
        raise InputError(f"{argument}={value!r} must be a whole number of at least {minimum}")
