"""``graphcondense snap``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphcondense.cli.console import app, command, out, print_json
from graphcondense.cli.options import AsJson, DataRoot, Force, Threads, set_threads
from graphcondense.cli.tasks import keep_own_scores, load_task, origin
from graphcondense.errors import WouldOverwriteError, check_count
from graphcondense.evaluation import evaluate_any, own_protocol
from graphcondense.report.tables import bytes_text, facts_table, score_text
from graphcondense.runs.condense import find_condensed
from graphcondense.runs.folder import SNAPPED
from graphcondense.runs.progress import progress_bar
from graphcondense.synthetic import load_condensed
from graphcondense.synthetic import snap as snap_features


@app.command("snap")
@command
def snap(
    file: Annotated[Path, typer.Argument(metavar="FILE|RUN", help="Condensed file or run folder.")],
    target: Annotated[
        Path | None, typer.Option("--out", help=f"File to write; else {SNAPPED} beside the condensed one.")
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="Dataset it was made from; else what the file says.")] = None,
    seeds: Annotated[int, typer.Option(help="Trainings before and after, to see what it costs; 0 for none.")] = 5,
    force: Force = False,
    threads: Threads = None,
    data_root: DataRoot = None,
    as_json: AsJson = False,
) -> None:
    """Snap features to the nearest category, e.g. an atom; the file gets smaller, the score is shown for both."""
    set_threads(threads)
    check_count("--seeds", seeds, minimum=0)
    path = find_condensed(file)
    target = target or path.with_name(SNAPPED)
    if target.exists() and not force:
        raise WouldOverwriteError(f"{target} exists: choose another --out, or overwrite it with --force")
    before = load_condensed(path)
    task = load_task(dataset or origin(before), data_root)
    after = snap_features(before, task)
    after.save(target, force=force)
    result = {"file": str(target), "bytes": after.num_bytes, "bytes_before": before.num_bytes}
    lines = [
        ("snapped", str(target)),
        ("bytes", f"{bytes_text(after.num_bytes)}, before {bytes_text(before.num_bytes)}"),
    ]
    for name, condensed, kept in (("before", before, path), ("after", after, target)) if seeds else ():
        with progress_bar(f"training {seeds} networks, {name}") as advance:
            scores = evaluate_any(condensed, task, seeds=seeds, progress=advance)
        keep_own_scores(kept, condensed, task, {own_protocol(condensed).network.kind: scores})
        result[name] = scores.to_dict()
        lines.append(
            (name, f"{score_text(scores.mean, scores.std, scores.metric)} ({scores.metric}, {seeds} trainings)")
        )
    if as_json:
        print_json(result)
        return
    out().print(facts_table(lines))
