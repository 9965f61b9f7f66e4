"""What is doubtful about a dataset: each doubt with its remedy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from graphcondense.checkup.copies import Copies
from graphcondense.checkup.features import FeatureFacts
from graphcondense.tasks import GraphTask, NodeTask

_IMBALANCE = 5
_LARGE = 100.0
_SMALL = 0.01
_FEW = 50
_USUAL_BUDGET = 10
_MANY_NODES = 2_000


@dataclass(frozen=True)
class Doubt:
    """Something that is probably wrong or will hurt, and what to do about it."""

    what: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.what}: {self.remedy}"


def graph_doubts(task: GraphTask, features: FeatureFacts, copies: Copies) -> Iterator[Doubt]:
    """What is doubtful about graphs to classify."""
    yield from _copy_doubts(task, copies)
    yield from _class_doubts(task, "graphs")
    yield from _feature_doubts(features)
    graphs = task.graphs
    if len(task.split.test) < _FEW:
        yield Doubt(
            f"only {len(task.split.test)} test graphs: one of them is {1 / len(task.split.test):.0%} of the score",
            "give more graphs, or judge on several splits (gc.resplit)",
        )
    smallest = int(task.train_class_counts.min())
    if 0 < smallest < _USUAL_BUDGET:
        yield Doubt(
            f"the smallest class has {smallest} training graph{'s' * (smallest > 1)}",
            f"ask for -n {smallest}{' or fewer' * (smallest > 1)}, or for --in-proportion",
        )
    if graphs.directed:
        keys = graphs.edge_index[0] * graphs.x.shape[0] + graphs.edge_index[1]
        back = graphs.edge_index[1] * graphs.x.shape[0] + graphs.edge_index[0]
        one_way = int((~torch.isin(keys, back)).sum())
        if one_way < 0.1 * len(keys):
            yield Doubt(
                f"{one_way:,} of {len(keys):,} edges go one way only, all others both ways",
                "if they should not, add their inverse",
            )
        elif one_way == len(keys):
            yield Doubt(
                "every edge goes one way only", "if the graphs have no direction, list each edge in both directions"
            )
    alone = int((graphs.num_edges == 0).sum())
    if alone:
        yield Doubt(
            f"{alone:,} of {len(graphs):,} graphs have no edge",
            "fine if that is so, else see that their edges were written",
        )
    if task.mean_nodes > _MANY_NODES:
        yield Doubt(
            f"graphs have {task.mean_nodes:,.0f} nodes on average: learned structure takes the square of that",
            "lower the nodes of a synthetic graph, --graph-nodes",
        )


def node_doubts(task: NodeTask, features: FeatureFacts, isolated: int) -> Iterator[Doubt]:
    """What is doubtful about one graph with labelled nodes."""
    yield from _class_doubts(task, "nodes")
    yield from _feature_doubts(features)
    if 2 * isolated > task.num_nodes:
        yield Doubt(
            f"{isolated:,} of {task.num_nodes:,} nodes have no neighbour",
            "see that all edges were written; without them features decide alone",
        )
    for part in ("val", "test"):
        both = int(torch.isin(getattr(task.split, part), task.split.train).sum())
        if both:
            yield Doubt(
                f"{both:,} nodes are both for training and for {'validation' if part == 'val' else 'test'}",
                "scores there are too good: take them out of one of the two",
            )


def _copy_doubts(task: GraphTask, copies: Copies) -> Iterator[Doubt]:
    for found, part, word in ((copies.val, task.split.val, "validation"), (copies.test, task.split.test, "test")):
        if 10 * found >= 9 * len(part) and found > 1:
            yield Doubt(
                f"{found:,} of {len(part):,} {word} graphs look like a training graph",
                "if the same graphs were given twice, give others; else the features tell too little",
            )
        elif 20 * found > len(part):
            yield Doubt(
                f"{found:,} of {len(part):,} {word} graphs look like a training graph: scores may be too good",
                "keep copies in one part of the split, or take them out",
            )
    if copies.ceiling < 0.98:
        yield Doubt(
            "graphs that look the same have different labels: no network of this kind can be right about more than "
            f"{copies.ceiling:.1%}",
            "give features that tell them apart",
        )


def _class_doubts(task: GraphTask | NodeTask, noun: str) -> Iterator[Doubt]:
    counts = task.train_class_counts
    names = task.class_names or tuple(str(number) for number in range(task.num_classes))
    most, least = int(counts.argmax()), int(counts.argmin())
    labels = task.graphs.y if isinstance(task, GraphTask) else task.graph.y
    if int(counts[least]) == 0:
        yield Doubt(f"class {names[least]} has no training {noun}", "give it some, or leave the class out")
    elif int(counts[most]) >= _IMBALANCE * int(counts[least]):
        remedy = "each class gets as many condensed graphs, or with --in-proportion its share"
        if isinstance(task, NodeTask):
            remedy = "each class gets its share of the condensed nodes, and one at least"
        yield Doubt(
            f"class {names[most]} has {int(counts[most]):,} training {noun}, class {names[least]} "
            f"{int(counts[least]):,}: accuracy says little about the small one",
            remedy,
        )
    for part, word in (("val", "validation"), ("test", "test")):
        held = torch.bincount(labels[getattr(task.split, part)], minlength=task.num_classes)
        absent = [names[number] for number in (held == 0).nonzero().flatten().tolist()]
        if len(absent) == task.num_classes - 1:
            yield Doubt(f"all {word} {noun} are of class {names[int(held.argmax())]}", "give some of every class")
        elif absent:
            shown = ", ".join(absent[:5]) + (f" and {len(absent) - 5} more" if len(absent) > 5 else "")
            yield Doubt(f"no {word} {noun} of class {shown}", "scores say nothing about it: give some")


def _feature_doubts(features: FeatureFacts) -> Iterator[Doubt]:
    largest = max(abs(features.low), abs(features.high))
    if features.columns == features.constant:
        yield Doubt("all features are the same at every node", "leave them out: the degree is taken instead")
    elif 10 * features.constant > features.columns and features.kind in ("real", "categories"):
        yield Doubt(f"{features.constant} of {features.columns} columns are the same everywhere", "leave them out")
    if features.kind in ("real", "categories") and largest > _LARGE:
        yield Doubt(
            f"features reach {largest:,.6g}: networks learn badly from numbers so large",
            "scale each column to about -1 to 1",
        )
    if 0 < largest < _SMALL:
        yield Doubt(
            f"features are {largest:.3g} at most: networks learn slowly from numbers so small",
            "scale each column to about -1 to 1",
        )
    if features.ids:
        shown = ", ".join(map(str, features.ids[:5]))
        yield Doubt(f"column {shown} has another whole number at nearly every node", "if it is an id, leave it out")
