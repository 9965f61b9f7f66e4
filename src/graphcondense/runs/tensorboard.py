"""What each iteration measures, for TensorBoard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from graphcondense.errors import InputError
from graphcondense.methods import Callback, Run


class TensorBoard(Callback):
    """Writes every figure of every iteration for TensorBoard; needs ``pip install graphcondense[tensorboard]``.

    Args:
        folder: where its files go; ``tensorboard --logdir`` shows them.
    """

    def __init__(self, folder: str | Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise InputError("TensorBoard is not installed: pip install 'graphcondense[tensorboard]'") from None
        self.folder = Path(folder)
        self._make: Any = SummaryWriter
        self._writer: Any = None
        self._run: Run | None = None

    def on_run(self, run: Run) -> None:
        """Remember it."""
        self._run = run

    def on_start(self, iterations: int) -> None:
        """Open the files; what a run that is continued here had written after its checkpoint is hidden."""
        done = len(self._run.history) if self._run else 0
        try:
            self._writer = self._make(str(self.folder), purge_step=done + 1 if done else None)
        except OSError as error:
            raise InputError(f"{self.folder} cannot be written to: {error.strerror}; choose another") from None

    def on_iteration(self, iteration: int, record: dict[str, float]) -> None:
        """One point a curve."""
        for name, value in record.items():
            self._writer.add_scalar(name, value, iteration)

    def on_end(self) -> None:
        """Close the files."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
