"""Progress with time left, on standard error, where somebody is looking."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from graphcondense.methods import Callback

Advance = Callable[[int, int], None]


class Bars:
    """A bar, on request a second one below it for the step that is under way, and above them what there is so far."""

    def __init__(self, bar: Progress, live: Live, title: str) -> None:
        self._bar, self._live = bar, live
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

    def show(self, above: RenderableType) -> None:
        """Show something above the bars, instead of what was there."""
        self._live.update(Group(above, self._bar))


@contextmanager
def progress_bar(title: str, console: Console | None = None) -> Iterator[Bars]:
    """Bars that are moved by calling what this yields with steps done and steps in all; gone when finished.

    Nothing is drawn where standard error is not a terminal.
    """
    console = console or Console(file=sys.stderr)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=console, disable=True)  # drawn by the live display, not by itself
    live = Live(bar, console=console, transient=True, vertical_overflow="ellipsis")
    with live if console.is_terminal else nullcontext():
        yield Bars(bar, live, title)


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
