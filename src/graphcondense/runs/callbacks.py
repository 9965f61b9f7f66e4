"""What can be hooked into a condensation: progress, history, checkpoints, an early stop, TensorBoard."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from graphcondense.errors import FileFormatError, GraphcondenseError, InputError
from graphcondense.files import write_aside
from graphcondense.methods import Callback, Run
from graphcondense.runs.checkpoint import Checkpoint, checkpoint_files, read_checkpoint, write_checkpoint
from graphcondense.runs.early_stop import EarlyStop
from graphcondense.runs.folder import make_folder
from graphcondense.runs.interrupts import Interrupts
from graphcondense.runs.progress import ProgressCallback
from graphcondense.runs.tensorboard import TensorBoard

__all__ = ["Callback", "Checkpoints", "EarlyStop", "Every", "History", "ProgressCallback", "Run", "TensorBoard"]


@dataclass(frozen=True)
class Every:
    """How often: after so many iterations, or so many seconds.

    >>> Every.parse("90s"), Every.parse("100")
    (Every(iterations=None, seconds=90.0), Every(iterations=100, seconds=None))
    """

    iterations: int | None = None
    seconds: float | None = None

    @staticmethod
    def parse(text: str) -> Every:
        """A whole number is iterations; a number with an ``s`` is seconds."""
        number = text.removesuffix("s")
        try:
            every = Every(seconds=float(number)) if text != number else Every(iterations=int(number))
        except ValueError:
            every = Every()
        if not (every.iterations or every.seconds or 0) > 0:
            raise InputError(f"--checkpoint-every {text!r} must be iterations, e.g. 100, or seconds, e.g. 60s")
        return every

    def due(self, iterations: int, seconds: float) -> bool:
        """Whether it is time, so long after the last time."""
        return (self.iterations is not None and iterations >= self.iterations) or (
            self.seconds is not None and seconds >= self.seconds
        )


EVERY_MINUTE = Every(seconds=60)


class History(Callback):
    """Writes a line of JSON an iteration: its number, what was measured, and the seconds that it took.

    Args:
        path: the file, e.g. ``run/history.jsonl``. What it has is replaced.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._run: Run | None = None
        self._file: TextIO | None = None

    @property
    def text(self) -> str:
        """All lines."""
        run = self._run
        return "" if run is None else "".join(_line(run, place) for place in range(len(run.history)))

    def on_run(self, run: Run) -> None:
        """Remember it."""
        self._run = run

    def on_start(self, iterations: int) -> None:
        """Begin the file with what a continued run has done before."""
        if self._run is None:  # a network is trained, as herding does: there are no figures to keep
            return
        write_aside(self.path, self.text.encode())
        self._file = self.path.open("a", encoding="utf-8")

    def on_iteration(self, iteration: int, record: dict[str, float]) -> None:
        """One more line, there for others to read."""
        if self._run is None or self._file is None:
            return
        try:
            self._file.write(_line(self._run, iteration - 1))
            self._file.flush()
        except OSError as error:
            raise GraphcondenseError(f"cannot write {self.path}: {error.strerror or error}") from None

    def on_end(self) -> None:
        """Close the file."""
        if self._file is not None:
            with suppress(OSError):  # a full disk: what could not be written was said before
                self._file.close()
            self._file = None


def _line(run: Run, place: int) -> str:
    record = {"iteration": place + 1} | run.history[place] | {"seconds": run.seconds[place]}
    return json.dumps(record, allow_nan=False) + "\n"


class Checkpoints(Callback):
    """Saves the run's whole state now and then, and goes on from it; an interrupt saves, too.

    Give it last: it saves what the callbacks before it added to the history.

    Args:
        folder: where the files are.
        every: how often.
        resume: whether to go on from the last one that is there.
        settings: what decides the run; a checkpoint with other settings is refused.
        tell: is given lines for the user.
    """

    def __init__(
        self,
        folder: str | Path,
        every: Every = EVERY_MINUTE,
        *,
        resume: bool = True,
        settings: Mapping[str, Any] | None = None,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self.folder, self.every, self.resume = Path(folder), every, resume
        self.settings = json.loads(json.dumps(settings or {}))
        self.saved: int | None = None
        """The iteration that is safe; ``None`` before the first."""
        self.seconds_before = 0.0
        """What the run had taken before this process went on with it."""
        self._tell = tell or (lambda line: None)
        self._interrupts = Interrupts(tell)
        self._run: Run | None = None
        self._started = self._last = time.perf_counter()

    def on_run(self, run: Run) -> None:
        """Go on from the last checkpoint that is whole."""
        self._run, self._started = run, time.perf_counter()
        if run.world.first:
            make_folder(self.folder)
        checkpoint = self._newest() if self.resume and run.world.first else None
        sent = run.world.from_first(checkpoint.to_bytes() if checkpoint is not None and run.world.size > 1 else b"")
        if sent and checkpoint is None:
            checkpoint = Checkpoint.from_bytes(sent, "what the first rank sent")
        if checkpoint is not None:
            try:
                run.load_state(checkpoint.state, checkpoint.history, checkpoint.iteration_seconds)
            except (KeyError, ValueError, TypeError, IndexError, RuntimeError) as error:
                raise FileFormatError(
                    f"the checkpoint after iteration {checkpoint.iteration} in {self.folder} does not fit this run "
                    f"({' '.join(str(error).split())[:80]}): start anew with --force"
                ) from None
            self.saved, self.seconds_before = checkpoint.iteration, checkpoint.seconds
            self._tell(f"going on after iteration {checkpoint.iteration} of {run.iterations}")
        self._last = time.perf_counter()
        self._interrupts.watch()

    def on_iteration(self, iteration: int, record: dict[str, float]) -> None:
        """Save if it is time; end if that was asked for."""
        if self._run is None:
            return
        asked = self._run.world.any(self._interrupts.asked)
        since = iteration - (self.saved or 0)
        if asked or self.every.due(since, time.perf_counter() - self._last):
            self.save()
        if asked:
            raise KeyboardInterrupt

    def on_end(self) -> None:
        """Leave signals as they were."""
        self._interrupts.leave()

    def save(self) -> None:
        """Save now; with several processes, the first one does."""
        assert self._run is not None
        run, seconds = self._run, time.perf_counter() - self._started + self.seconds_before
        if run.world.first:  # all have the same state
            write_checkpoint(self.folder, Checkpoint(run.state(), run.history, run.seconds, seconds, self.settings))
        self.saved, self._last = len(run.history), time.perf_counter()

    def remove(self) -> None:
        """Remove all checkpoints, once the result is safe."""
        for file in checkpoint_files(self.folder):
            file.unlink(missing_ok=True)

    def _newest(self) -> Checkpoint | None:
        damage: FileFormatError | None = None
        for file in checkpoint_files(self.folder):
            try:
                checkpoint = read_checkpoint(file, self.settings)
            except FileFormatError as error:
                damage = error
                self._tell(str(error))
                continue
            return checkpoint
        if damage is not None:
            raise FileFormatError(f"{damage}; no other checkpoint is there: start anew with --force")
        return None
