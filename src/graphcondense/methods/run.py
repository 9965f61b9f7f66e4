"""A condensation that is under way, as callbacks see it: its history, its state, and what it would give now."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from torch import Tensor

from graphcondense.distributed import World
from graphcondense.methods.numbers import LossWatch, check_learned
from graphcondense.methods.state import State, check_like, copies, load_copies, part_of, prefixed

Record = dict[str, float]


class Steps(Protocol):
    """What is iterated: condensations of graphs and of nodes."""

    watch: LossWatch

    @property
    def learned(self) -> list[Tensor]:
        """What is being learned."""

    def step(self, iteration: int) -> Record:
        """Iteration ``iteration`` (from 0); what it measured."""

    def state(self) -> State:
        """Everything that the next iteration depends on."""

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Put back what :meth:`state` gave."""

    def result(self) -> Any:
        """What has been learned, as graphs."""


class Run:
    """A run of a matching method.

    ``history`` has what each iteration measured, ``seconds`` how long it took.

    Args:
        steps: what is iterated.
        task: the dataset.
        iterations: how many at most.
    """

    def __init__(self, steps: Steps, task: Any, iterations: int) -> None:
        self._steps, self.task, self.iterations = steps, task, iterations
        self.history: list[Record] = []
        self.seconds: list[float] = []
        self.stopped = False
        self._kept: State = {}

    @property
    def world(self) -> World:
        """The processes that condense together; the first one writes."""
        part = getattr(self.task, "part", None)
        return World() if part is None else part.world

    @property
    def done(self) -> bool:
        """Whether there is no further iteration."""
        return self.stopped or len(self.history) >= self.iterations

    def advance(self) -> Record:
        """One iteration; what it measured."""
        started = time.perf_counter()
        record = self._steps.step(len(self.history))
        self.history.append(record)
        self.seconds.append(time.perf_counter() - started)
        return record

    def current(self) -> Any:
        """The graphs as they are now, discrete: a ``GraphStore``, for node tasks a ``CondensedGraph``."""
        return self._steps.result()

    def keep(self) -> None:
        """What has been learned up to now is the result, whatever comes later, until this is called again."""
        self._kept = copies(self._steps.learned)

    def stop(self) -> None:
        """Let this iteration be the last one."""
        self.stopped = True

    def result(self) -> Any:
        """The graphs at the end: those that were kept, else the last ones."""
        if self._kept:
            load_copies(self._steps.learned, self._kept)
        check_learned(len(self.history), self._steps.learned, self._steps.watch)
        return self._steps.result()

    def state(self) -> State:
        """Everything but the history that going on needs, as tensors; none that is not finite."""
        check_learned(len(self.history), self._steps.learned, self._steps.watch)
        return prefixed("steps", self._steps.state()) | prefixed("kept", self._kept)

    def load_state(self, state: Mapping[str, Tensor], history: Sequence[Record], seconds: Sequence[float]) -> None:
        """Go on from where another process was when it took :meth:`state` and had this history."""
        self._steps.load_state(part_of(state, "steps"))
        kept = part_of(state, "kept")
        for place, tensor in enumerate(self._steps.learned if kept else ()):
            check_like(kept[str(place)], tensor)
        self._kept = kept
        self.history[:], self.seconds[:] = history, seconds
        self._steps.watch.recall(record["loss"] for record in history)
