"""The dataset of a command, and what is said about it."""

from __future__ import annotations

from pathlib import Path

from graphcondense import datasets
from graphcondense.cli.console import say
from graphcondense.datasets.assembly import counted
from graphcondense.distributed import World
from graphcondense.errors import InputError
from graphcondense.evaluation import Scores
from graphcondense.report.tables import bytes_text
from graphcondense.runs.progress import progress_bar
from graphcondense.runs.scores import keep_scores
from graphcondense.synthetic import CondensedDataset, CondensedGraph
from graphcondense.tasks import GraphTask, NodeTask

USUAL_SIZE = 10


def load_task(
    dataset: str, data_root: Path | None, world: World | None = None, same_batch: bool = True, quiet: bool = False
) -> GraphTask | NodeTask:
    """The dataset, with what was assumed about it said on standard error unless ``quiet``.

    With several processes, this one's part of it.
    """
    task: GraphTask | NodeTask
    with progress_bar(f"loading {dataset}") as advance:

        def progress(share: float) -> None:
            advance(round(share * 100), 100)

        if world is None or world.size == 1:
            task = datasets.load(dataset, data_root=data_root, progress=progress)
        else:
            task = datasets.load_part(dataset, world, same_batch=same_batch, data_root=data_root, progress=progress)
    for note in () if quiet else task.notes:
        say(f"{task.name}: {note}")
    return task


def check_proportion(dataset: str, one_graph: bool, in_proportion: bool) -> None:
    """Raise where ``--in-proportion`` says nothing."""
    if one_graph and in_proportion:
        raise InputError(f"{dataset} is one graph, whose nodes are always in proportion: leave out --in-proportion")


def usual_size(task: GraphTask, in_proportion: bool = False) -> int:
    """Graphs per class where none are asked for: ten, or as many as the smallest class has."""
    counts = task.train_class_counts
    most = int(counts.sum()) // task.num_classes if in_proportion else int(counts.min())
    if 0 < most < USUAL_SIZE:
        say(f"{task.name}: {counted(most, 'graph')} a class, for the smallest class has no more training graphs")
    return min(USUAL_SIZE, max(1, most))


def origin(condensed: CondensedDataset | CondensedGraph) -> str:
    """The dataset that a condensed file says it was made from."""
    source = condensed.info.get("source")
    if not isinstance(source, str) or not source:
        raise InputError("made from graphs in Python: give --dataset NAME or FOLDER, or use gc.evaluate in Python")
    return source


def made_from(condensed: CondensedDataset | CondensedGraph, task: GraphTask | NodeTask) -> bool:
    """Whether a condensed file says that it was made from the dataset of ``task``."""
    return bool(condensed.info.get("dataset") == task.name)


def keep_own_scores(
    file: Path, condensed: CondensedDataset | CondensedGraph, task: GraphTask | NodeTask, scores: dict[str, Scores]
) -> None:
    """Keep scores beside a file of a run folder, if they are on the dataset that it was made from."""
    if scores and made_from(condensed, task):
        keep_scores(file, task.name, scores)


def strange(condensed: CondensedDataset | CondensedGraph, task: GraphTask | NodeTask) -> list[str]:
    """What a user should know before scores on ``task`` are believed, a line each."""
    if not made_from(condensed, task):
        classes = " and ".join(
            f"{name} ({', '.join(names[:4])}{', ...' if len(names) > 4 else ''})"
            for name, names in (
                (str(condensed.info.get("dataset", "?")), list(condensed.info.get("classes") or ["?"])),
                (task.name, list(task.class_names) or ["?"]),
            )
        )
        return [f"made from another dataset than it is judged on: {classes}; the scores are not kept in the run folder"]
    then, now = condensed.info.get("train_graphs"), task.train_class_counts.sum()
    if isinstance(task, GraphTask) and isinstance(then, int) and then != int(now):
        return [f"{task.name} has changed: {then:,} training graphs when this was made, {int(now):,} now"]
    return []


def size_text(task: GraphTask | NodeTask) -> str:
    """What training sees of a task, in words."""
    if isinstance(task, GraphTask):
        return f"{int(task.train_class_counts.sum()):,} training graphs"
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
    return [
        ("ratio", f"{len(condensed) / seen:.2%}: {len(condensed)} of {seen:,} {kind}"),
        ("dense", f"{bytes_text(condensed.dense_bytes)} with a dense float adjacency of the same graph"),
    ]
