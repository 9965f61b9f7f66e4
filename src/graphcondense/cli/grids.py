"""Grids of runs with their progress shown."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from joblib.externals.loky.process_executor import TerminatedWorkerError

from graphcondense.cli.console import say
from graphcondense.errors import GraphcondenseError
from graphcondense.presets import Preset
from graphcondense.report.comparison import comparison_sheet
from graphcondense.runs.condense import trained_networks
from graphcondense.runs.grid import Cell, run_grid, table_rows
from graphcondense.runs.progress import progress_bar
from graphcondense.tasks import GraphTask, NodeTask

GO_ON = "--resume goes on from there"


@contextmanager
def kept_cells(folder: Path, done: list[dict[str, Any]], go_on: str = GO_ON) -> Iterator[None]:
    """Say what is kept if the work within is interrupted, or if the system ends one of its processes.

    Args:
        folder: where the cells are.
        done: those that are finished.
        go_on: how the user goes on from there.
    """
    try:
        yield
    except KeyboardInterrupt:
        say(f"{len(done)} finished cells are kept in {folder}: {go_on}")
        raise
    except TerminatedWorkerError:
        raise GraphcondenseError(
            f"the system ended one of the worker processes, perhaps for want of memory; {len(done)} finished cells are "
            f"kept in {folder}: {go_on}, perhaps with fewer --jobs"
        ) from None


def run_with_bars(
    cells: list[Cell],
    task: GraphTask | NodeTask,
    preset: Preset,
    folder: Path,
    resume: bool,
    force: bool,
    jobs: int,
    where: str = "local",
    scheduler: str | None = None,
    go_on: str = GO_ON,
) -> list[dict[str, Any]]:
    """Run a grid with its progress shown; the rows of its table. ``go_on`` is told when it is interrupted."""
    done: list[dict[str, Any]] = []

    def show(rows: list[dict[str, Any]]) -> None:
        done[:] = rows
        if rows and sys.stderr.isatty():
            advance.show(comparison_sheet(table_rows(rows)).rich())
        else:
            say(f"{task.name}: {len(rows)} of {len(cells)} cells")

    with progress_bar(f"comparing on {task.name}") as advance, kept_cells(folder, done, go_on):
        rows = run_grid(
            cells,
            task,
            preset,
            folder=folder,
            resume=resume,
            force=force,
            jobs=jobs,
            where=where,
            scheduler=scheduler,
            store=trained_networks(),
            advance=advance,
            advance_cell=advance.detail,
            show=show,
        )
    return table_rows(rows)
