"""``check``: everything that a user should know of a dataset before hours are spent on it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import torch

from graphcondense.checkup.copies import ROUNDS, find_copies
from graphcondense.checkup.doubts import Doubt, graph_doubts, node_doubts
from graphcondense.checkup.features import FeatureFacts, feature_facts
from graphcondense.datasets import load
from graphcondense.datasets.assembly import NO_FEATURES, counted
from graphcondense.graphs import GraphStore
from graphcondense.tasks import GraphTask, NodeTask

_MOST_CLASSES = 8


@dataclass(frozen=True)
class Checkup:
    """What was understood of a dataset, and what is doubtful.

    Args:
        facts: the figures by name, ready for JSON.
        lines: the same for people: a word and a text each.
        changes: what was changed or assumed on the way in.
        doubts: what is doubtful, each with the remedy.
    """

    facts: dict[str, Any]
    lines: tuple[tuple[str, str], ...]
    changes: tuple[str, ...] = ()
    doubts: tuple[Doubt, ...] = field(default=())

    def __str__(self) -> str:
        rows = [f"{name:<11}{text}" for name, text in self.lines]
        rows += [f"{'changed':<11}{change}" for change in self.changes]
        return "\n".join([*rows, *(f"{'doubtful':<11}{doubt}" for doubt in self.doubts)])

    def to_dict(self) -> dict[str, Any]:
        """Everything as one JSON object."""
        doubts = [asdict(doubt) for doubt in self.doubts]
        return {**self.facts, "changes": list(self.changes), "doubts": doubts}


def check(source: Any, **options: Any) -> Checkup:
    """What was understood of a dataset, and what is doubtful about it.

    Args:
        source: a task, or anything that :func:`graphcondense.load` takes.
        options: as for :func:`graphcondense.load`.

    >>> facts = check("digits").facts
    >>> features = facts["features"]
    >>> facts["graphs"], features["kind"], facts["directed"]
    (1797, 'real', False)
    """
    task = source if isinstance(source, GraphTask | NodeTask) else load(source, **options)
    return _check_nodes(task) if isinstance(task, NodeTask) else _check_graphs(task)


def _check_graphs(task: GraphTask) -> Checkup:
    graphs, features = task.graphs, feature_facts(task.graphs.x)
    copies = find_copies(task)
    isolated, alone = _isolated(graphs), int((graphs.num_edges == 0).sum())
    classes = _classes(task, graphs)
    facts: dict[str, Any] = {
        "dataset": task.name,
        "source": task.source,
        "task": "graph",
        "metric": task.metric,
        "graphs": len(graphs),
        "split": _split_sizes(task),
        "classes": classes,
        "features": {**asdict(features), "from_degree": _from_degree(task)},
        "nodes": _spread(graphs.num_nodes),
        "edges": _spread(graphs.num_edges),
        "directed": graphs.directed,
        "isolated_nodes": isolated,
        "graphs_without_edge": alone,
        "copies": asdict(copies),
    }
    lines = [
        ("dataset", f"{task.name}: {len(graphs):,} graphs to classify, judged by {_metric(task)}"),
        ("split", _split_text(task, "graphs")),
        ("classes", _class_text(classes)),
        ("features", _feature_text(features, _from_degree(task))),
        ("sizes", f"{_spread_text(graphs.num_nodes)} nodes and {_spread_text(graphs.num_edges)} edges a graph"),
        ("edges", _edge_text(graphs.directed, isolated, int(graphs.x.shape[0]), alone)),
        (
            "copies",
            f"{copies.test:,} test and {copies.val:,} validation graphs look like a training graph to {ROUNDS} layers",
        ),
    ]
    return Checkup(facts, tuple(lines), task.notes, tuple(graph_doubts(task, features, copies)))


def _check_nodes(task: NodeTask) -> Checkup:
    graph, features = task.graph, feature_facts(task.graph.x)
    isolated = _isolated(graph)
    classes = _classes(task, graph)
    source, target = graph.y[graph.edge_index]
    both = (source >= 0) & (target >= 0)
    alike = float((source == target)[both].double().mean()) if bool(both.any()) else None
    unlabelled = int((graph.y < 0).sum())
    facts: dict[str, Any] = {
        "dataset": task.name,
        "source": task.source,
        "task": "node",
        "metric": task.metric,
        "nodes": task.num_nodes,
        "edges": int(graph.num_edges.sum()),
        "split": _split_sizes(task),
        "inductive": task.inductive,
        "unlabelled": unlabelled,
        "classes": classes,
        "features": {**asdict(features), "from_degree": _from_degree(task)},
        "directed": False,
        "isolated_nodes": isolated,
        "edges_within_a_class": alike,
    }
    within = "" if alike is None else f", {alike:.0%} of them within a class"
    hidden = f"; {unlabelled:,} nodes have no label" if unlabelled else ""
    lines = [
        ("dataset", f"{task.name}: one graph of {task.num_nodes:,} nodes to classify, judged by {_metric(task)}"),
        ("split", _split_text(task, "nodes") + hidden),
        ("seen", "training sees training nodes only" if task.inductive else "training sees all nodes, some labels"),
        ("classes", _class_text(classes)),
        ("features", _feature_text(features, _from_degree(task))),
        ("edges", f"{facts['edges']:,}, both ways{within}; {counted(isolated, 'isolated node')}"),
    ]
    return Checkup(facts, tuple(lines), task.notes, tuple(node_doubts(task, features, isolated)))


def _isolated(graphs: GraphStore) -> int:
    touched = torch.zeros(graphs.x.shape[0], dtype=torch.bool)
    touched[graphs.edge_index.reshape(-1)] = True
    return int((~touched).sum())


def _from_degree(task: GraphTask | NodeTask) -> bool:
    return any(note.startswith(NO_FEATURES) for note in task.notes)


def _split_sizes(task: GraphTask | NodeTask) -> dict[str, int]:
    return {part: len(getattr(task.split, part)) for part in ("train", "val", "test")}


def _classes(task: GraphTask | NodeTask, graphs: GraphStore) -> list[dict[str, Any]]:
    """Name and members in each part of the split, a class each."""
    parts = ("train", "val", "test")
    counts = [torch.bincount(graphs.y[getattr(task.split, part)], minlength=task.num_classes) for part in parts]
    names = task.class_names or tuple(str(number) for number in range(task.num_classes))
    return [
        {"name": name} | {part: int(count[number]) for part, count in zip(parts, counts, strict=True)}
        for number, name in enumerate(names)
    ]


def _spread(values: torch.Tensor) -> dict[str, float]:
    return {
        "least": int(values.min()),
        "median": int(values.median()),
        "most": int(values.max()),
        "mean": float(values.double().mean()),
    }


def _spread_text(values: torch.Tensor) -> str:
    spread = _spread(values)
    if spread["least"] == spread["most"]:
        return f"{spread['least']:,}"
    return f"{spread['least']:,} to {spread['most']:,} (mean {spread['mean']:,.1f})"


def _metric(task: GraphTask | NodeTask) -> str:
    return "ROC-AUC" if task.metric == "roc_auc" else task.metric


def _split_text(task: GraphTask | NodeTask, noun: str) -> str:
    sizes = _split_sizes(task)
    return f"{sizes['train']:,} training, {sizes['val']:,} validation and {sizes['test']:,} test {noun}"


def _class_text(classes: list[dict[str, Any]]) -> str:
    counts = [one["train"] for one in classes]
    total = max(1, sum(counts))
    if len(classes) > _MOST_CLASSES:
        return f"{len(classes):,}, with {min(counts):,} to {max(counts):,} for training each"
    shown = [f"{one['name']} {one['train']:,} ({one['train'] / total:.0%})" for one in classes]
    return f"{len(classes)}, for training: {', '.join(shown)}"


def _feature_text(features: FeatureFacts, from_degree: bool) -> str:
    columns = counted(features.columns, "column")
    if from_degree:
        return f"none: the degree is taken, one-hot, {columns}"
    what = {
        "one-hot": "one-hot: each node is of one kind",
        "0/1": "0 or 1",
        "categories": f"whole numbers from {features.low:g} to {features.high:g}, few different ones a column",
        "real": f"real numbers from {features.low:.4g} to {features.high:.4g}",
    }[features.kind]
    return f"{columns}, {what}"


def _edge_text(directed: bool, isolated: int, nodes: int, alone: int) -> str:
    way = "with a direction" if directed else "without a direction"
    without = f", {counted(alone, 'graph')} without an edge" if alone else ""
    return f"{way}; {isolated:,} of {nodes:,} nodes are isolated{without}"
