"""Stop when the validation score no longer rises, and keep the graphs that scored best."""

from __future__ import annotations

from typing import Any

from graphcondense.errors import InputError, check_count
from graphcondense.evaluation import Protocol, evaluate_any
from graphcondense.methods import Callback, Run

VAL_SCORE = "val_score"


class EarlyStop(Callback):
    """Judges the graphs on the validation split now and then; what is kept is the best.

    The score goes into the history as ``val_score``. The last iteration is judged, too.

    Args:
        every: iterations between two looks.
        patience: looks without a better score after which the run stops.
        seeds: networks that are trained for a look.
        protocol: how they are trained; by default the paper's.
    """

    def __init__(self, every: int = 50, patience: int = 5, seeds: int = 3, protocol: Protocol | None = None) -> None:
        for name, value in (("every", every), ("patience", patience), ("seeds", seeds)):
            check_count(name, value)
        self.every, self.patience, self.seeds, self.protocol = every, patience, seeds, protocol
        self.best, self.best_iteration = -1.0, 0
        self._looks = 0
        self._run: Run | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """What decides when it stops."""
        return {"every": self.every, "patience": self.patience, "seeds": self.seeds}

    def on_run(self, run: Run) -> None:
        """Remember it."""
        self._run = run
        self.best, self.best_iteration, self._looks = -1.0, 0, 0
        if not len(run.task.split.val):
            raise InputError(f"{run.task.name} has no validation graphs to stop early by")

    def on_start(self, iterations: int) -> None:
        """Take up what a continued run found before."""
        for place, record in enumerate(self._run.history if self._run else (), start=1):
            if VAL_SCORE in record:
                self._count(place, record[VAL_SCORE])

    def on_iteration(self, iteration: int, record: dict[str, float]) -> None:
        """Look if it is time: keep what is best, stop when nothing got better for long."""
        if self._run is None or (iteration % self.every and iteration != self._run.iterations):
            return
        record[VAL_SCORE] = self._score(self._run)
        if self._count(iteration, record[VAL_SCORE]):
            self._run.keep()

    def _score(self, run: Run) -> float:
        """The mean over the networks; with several processes, the first one judges for all."""
        if not run.world.first:
            return float(run.world.from_first(b""))
        scores = evaluate_any(run.current(), run.task, seeds=self.seeds, protocol=self.protocol)
        return float(run.world.from_first(repr(sum(scores.val_per_seed) / len(scores.val_per_seed)).encode()))

    def _count(self, iteration: int, score: float) -> bool:
        """Take note of a score; whether it is the best up to now."""
        assert self._run is not None
        better = score > self.best
        self._looks = 0 if better else self._looks + 1
        if better:
            self.best, self.best_iteration = score, iteration
        if self._looks >= self.patience:
            self._run.stop()
        return better
