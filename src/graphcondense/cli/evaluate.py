"""``graphcondense evaluate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from graphcondense.cli.console import app, command, out, print_json, say
from graphcondense.cli.options import AsJson, DataRoot, Deterministic, Threads, parse_list, set_threads
from graphcondense.cli.tasks import keep_own_scores, load_task, origin, strange
from graphcondense.errors import check_choice, check_count
from graphcondense.evaluation import NODE_KINDS, own_protocol
from graphcondense.evaluation import evaluate_any as judge
from graphcondense.metrics import METRIC_TITLES
from graphcondense.models import KINDS
from graphcondense.report.tables import score_text, seconds_text
from graphcondense.runs.condense import find_condensed
from graphcondense.runs.progress import progress_bar
from graphcondense.synthetic import CondensedGraph, load_condensed


@app.command("evaluate")
@command
def evaluate(
    run: Annotated[Path, typer.Argument(metavar="RUN|FILE", help="Run folder or condensed file.")],
    dataset: Annotated[str | None, typer.Option(help="Dataset to judge on; else the one it was made from.")] = None,
    models: Annotated[
        str | None, typer.Option(help=f"Networks, of {', '.join(KINDS)}; for nodes of {', '.join(NODE_KINDS)}.")
    ] = None,
    seeds: Annotated[int, typer.Option(help="Trainings, each with a seed of its own.")] = 10,
    threads: Threads = None,
    deterministic: Deterministic = False,
    data_root: DataRoot = None,
    as_json: AsJson = False,
) -> None:
    """Train on condensed graphs, score on the real test graphs."""
    set_threads(threads, deterministic)
    check_count("--seeds", seeds)
    path = find_condensed(run)
    condensed = load_condensed(path)
    names = [None] if models is None else parse_list("--models", models)
    node = isinstance(condensed, CondensedGraph)
    for name in names:
        if name is not None:
            check_choice("model", name, NODE_KINDS if node else KINDS)
    task = load_task(dataset or origin(condensed), data_root)
    for line in strange(condensed, task):
        say(line)
    own = own_protocol(condensed).network.kind
    results = {}
    for name in names:
        with progress_bar(f"training {seeds} x {name or own} on {len(condensed)} graphs") as advance:
            results[name or own] = judge(condensed, task, seeds=seeds, model=name, progress=advance)
        keep_own_scores(path, condensed, task, results)  # at once: an interrupt loses no network that is finished
        if len(names) > 1:
            done = results[name or own]
            say(f"{name or own}: {score_text(done.mean, done.std, done.metric)}, {seconds_text(done.seconds)}")
    first = next(iter(results.values()))
    if as_json:
        by_model = {name: scores.to_dict() for name, scores in results.items()}
        print_json({"dataset": task.name, **first.to_dict(), "models": by_model})
        return
    title = Text(f"{task.name}: {METRIC_TITLES[task.metric]}")
    table = Table(box=None, pad_edge=False, title=title, title_justify="left")
    for name in ("network", "mean ± std", "trainings", "time"):
        table.add_column(name, justify="left" if name == "network" else "right")
    for model, scores in results.items():
        text = score_text(scores.mean, scores.std, scores.metric)
        table.add_row(model, text, str(len(scores.per_seed)), seconds_text(scores.seconds))
    out().print(table)
