"""``graphcondense report``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from graphcondense.cli.console import app, command, out, print_json, say
from graphcondense.cli.options import AsJson, DataRoot, Force, Threads, set_threads
from graphcondense.cli.tasks import keep_own_scores, load_task
from graphcondense.errors import InputError, MissingDataError, WouldOverwriteError, check_count
from graphcondense.files import write_aside
from graphcondense.report.page import comparison_page, run_page
from graphcondense.report.page.comparison import TABLE, known_rows
from graphcondense.report.page.folder import RunFolder
from graphcondense.report.tables import bytes_text, facts_table, seconds_text
from graphcondense.runs.folder import CONDENSED
from graphcondense.runs.progress import progress_bar
from graphcondense.tasks import GraphTask, NodeTask

REPORT = "report.html"


@app.command("report")
@command
def report(
    run: Annotated[Path, typer.Argument(metavar="RUN|FILE", help="Run folder, condensed file, or comparison.")],
    dataset: Annotated[str | None, typer.Option(help="Dataset it was made from; else what the file says.")] = None,
    seeds: Annotated[int, typer.Option(help="Trainings for scores that were not measured before.")] = 2,
    compare: Annotated[
        Path | None, typer.Option(help="Comparison with the scores of random and of the whole set.")
    ] = None,
    random: Annotated[
        bool, typer.Option("--random", help="Also judge one random selection of the same budget, if none is known.")
    ] = False,
    target: Annotated[Path | None, typer.Option("--out", help=f"File to write; else {REPORT} in the folder.")] = None,
    force: Force = False,
    threads: Threads = None,
    data_root: DataRoot = None,
    as_json: AsJson = False,
) -> None:
    """One page that opens offline: how small, how good, the graphs drawn, the way there, and how to make it again."""
    set_threads(threads)
    check_count("--seeds", seeds)
    started = time.perf_counter()
    target = target or (run if run.is_dir() else run.parent) / REPORT
    if target.exists() and not force:
        raise WouldOverwriteError(f"{target} exists: choose another --out, or overwrite it with --force")
    left_out: list[str] = []
    if run.is_dir() and ((run / TABLE).is_file() or not (run / CONDENSED).is_file()):
        html = comparison_page(run)
    else:
        folder = RunFolder.read(run)
        task = _task(folder, dataset, data_root)
        known = known_rows(compare or folder.file.parent)
        if compare is not None and not known:
            raise MissingDataError(f"--compare {compare} holds no comparison: give a folder that `compare` wrote")
        own, other = folder.condensed.info.get("dataset"), {row["dataset"] for row in known}
        if compare is not None and other != {own}:
            raise InputError(
                f"--compare {compare} is of {', '.join(sorted(other))}, {run} of {own}: give a comparison on the same "
                "dataset"
            )
        with progress_bar("training for the report") as advance:
            page = run_page(folder, task, seeds=seeds, random=random, known=known, progress=advance)
        html, left_out = page.html, page.left_out
        if task is not None:
            keep_own_scores(folder.file, folder.condensed, task, page.scores)
        if task is not None and folder.snapped is not None:
            keep_own_scores(*folder.snapped, task, page.snapped_scores)
    size = write_aside(target, html.encode()).stat().st_size
    seconds = time.perf_counter() - started
    if as_json:
        print_json({"file": str(target), "bytes": size, "seconds": seconds, "left_out": left_out})
        return
    for line in left_out:
        say(f"left out: {line}")
    out().print(facts_table([("report", f"{target}, {bytes_text(size)}"), ("time", seconds_text(seconds))]))


def _task(folder: RunFolder, dataset: str | None, data_root: Path | None) -> GraphTask | NodeTask | None:
    """The real data; ``None`` where the file names none, or where it is not at hand and was not asked for by name."""
    if dataset is not None:
        return load_task(dataset, data_root)
    source = folder.condensed.info.get("source")
    if not source:
        return None
    try:
        return load_task(str(source), data_root)
    except MissingDataError as error:
        say(f"without the real data: {error}")
        return None
