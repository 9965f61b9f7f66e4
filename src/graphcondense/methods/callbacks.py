"""Hooks into a running condensation: progress, history, checkpoints stay outside of the loop."""

from __future__ import annotations

from collections.abc import Sequence

from graphcondense.methods.run import Run


class Callback:
    """Does nothing; override what you need.

    Callbacks are told in the order in which they were given. ``record`` is what the history keeps: a callback may add
    to it, and those after it see that.
    """

    def on_run(self, run: Run) -> None:
        """Before the first iteration of a run of matching: it may be put to where another one was.

        Methods that choose real graphs have no such run; those that train a network for it tell of its epochs only.
        """

    def on_start(self, iterations: int) -> None:
        """Before the first iteration."""

    def on_iteration(self, iteration: int, record: dict[str, float]) -> None:
        """After iteration ``iteration`` (from 1), with what it measured."""

    def on_end(self) -> None:
        """After the last iteration, also when an error or an interrupt made it the last."""


class Callbacks(Callback):
    """Several callbacks as one."""

    def __init__(self, callbacks: Sequence[Callback]) -> None:
        self.callbacks = tuple(callbacks)

    def on_run(self, run: Run) -> None:
        """Tell all."""
        for callback in self.callbacks:
            callback.on_run(run)

    def on_start(self, iterations: int) -> None:
        """Tell all."""
        for callback in self.callbacks:
            callback.on_start(iterations)

    def on_iteration(self, iteration: int, record: dict[str, float]) -> None:
        """Tell all."""
        for callback in self.callbacks:
            callback.on_iteration(iteration, record)

    def on_end(self) -> None:
        """Tell all."""
        for callback in self.callbacks:
            callback.on_end()
