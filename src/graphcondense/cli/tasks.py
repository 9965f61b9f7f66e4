"""The dataset of a command, and what is said about it."""

from __future__ import annotations

from pathlib import Path

from graphcondense import datasets
from graphcondense.cli.console import say
from graphcondense.errors import InputError
from graphcondense.report.tables import bytes_text
from graphcondense.runs.progress import progress_bar
from graphcondense.synthetic import CondensedDataset, CondensedGraph
from graphcondense.tasks import GraphTask, NodeTask


def load_task(dataset: str, data_root: Path | None) -> GraphTask | NodeTask:
    """The dataset, with what was assumed about it said on standard error."""
    with progress_bar(f"loading {dataset}") as advance:
        task = datasets.load(dataset, data_root=data_root, progress=lambda share: advance(round(share * 100), 100))
    for note in task.notes:
        say(f"{task.name}: {note}")
    return task


def origin(condensed: CondensedDataset | CondensedGraph) -> str:
    """The dataset that a condensed file says it was made from."""
    source = condensed.info.get("source")
    if not isinstance(source, str) or not source:
        raise InputError("made from graphs in Python: give --dataset NAME or FOLDER, or use gc.evaluate in Python")
    return source


def size_text(task: GraphTask | NodeTask) -> str:
    """What training sees of a task, in words."""
    if isinstance(task, GraphTask):
        return f"{len(task.train):,} training graphs"
    graph = task.train[0]
    edges = int(graph.num_edges.sum())
    return f"{len(task.split.train):,} training nodes in a graph of {len(graph.y):,} nodes and {edges:,} edges"


def ratio_facts(condensed: CondensedDataset | CondensedGraph) -> list[tuple[str, str]]:
    """What the ratio is of, and what a dense float adjacency would take; for node tasks."""
    if isinstance(condensed, CondensedDataset):
        return []
    seen = condensed.info["original_nodes"]
    kind = (
        "training nodes, which is all that training sees" if condensed.info["inductive"] else "nodes of the whole graph"
    )
    dense = condensed.num_bytes + 4 * len(condensed) ** 2 - (len(condensed) * (len(condensed) - 1) // 2 + 7) // 8
    return [
        ("ratio", f"{len(condensed) / seen:.2%}: {len(condensed)} of {seen:,} {kind}"),
        ("dense", f"{bytes_text(dense)} with a dense float adjacency of the same graph"),
    ]
