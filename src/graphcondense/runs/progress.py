"""Progress with time left, on standard error, where somebody is looking."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from graphcondense.methods import Callback

Advance = Callable[[int, int], None]


class Bars:
    """A bar, and on request a second one below it for the step that is under way."""

    def __init__(self, bar: Progress, title: str) -> None:
        self._bar = bar
        self._main = bar.add_task(title, total=None)
        self._detail: TaskID | None = None

    def __call__(self, done: int, total: int) -> None:
        """Move the bar."""
        self._bar.update(self._main, completed=done, total=total)

    def detail(self, done: int, total: int) -> None:
        """Move the second bar."""
        if self._detail is None:
            self._detail = self._bar.add_task("  this cell", total=total)
        self._bar.update(self._detail, completed=done, total=total)


@contextmanager
def progress_bar(title: str, console: Console | None = None) -> Iterator[Bars]:
    """Bars that are moved by calling what this yields with steps done and steps in all; gone when finished.

    Nothing is drawn where standard error is not a terminal.
    """
    console = console or Console(file=sys.stderr)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        yield Bars(bar, title)


class ProgressCallback(Callback):
    """Moves a progress bar with a condensation."""

    def __init__(self, advance: Advance) -> None:
        self.advance, self.total = advance, 0

    def on_start(self, iterations: int) -> None:
        """Remember how far there is to go."""
        self.total = iterations

    def on_iteration(self, iteration: int, record: dict[str, float]) -> None:
        """One step further."""
        self.advance(iteration, self.total)
