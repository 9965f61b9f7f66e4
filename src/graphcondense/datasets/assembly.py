"""From loose arrays to a task: edges cleaned, labels numbered, features made where there are none.

Every way in, a known dataset, a folder or the user's own graphs, ends here, so that all get the same treatment and
the user reads the same notes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from graphcondense.errors import InputError
from graphcondense.graphs import GraphStore, pointers
from graphcondense.machine import physical_memory
from graphcondense.tasks import GraphTask, Split

NO_FEATURES = "no node features"
"""How the note begins that says that degrees are taken instead."""

UNUSED = ("edge_attr", "edge_weight", "pos")
"""What a PyG graph may have and no network here looks at: dropped, and said."""

MOST_CLASSES = 20
"""With more labels than this, and hardly two members with the same one, labels are taken for a quantity."""

LARGEST_DEGREE = 100
"""Degree features have a column a degree up to this one; larger degrees share the last column."""


@dataclass(frozen=True, eq=False)
class LooseGraphs:
    """Graphs end to end as they came in, not yet clean.

    Args:
        x: features, ``num_nodes x num_features``, or ``None`` where the set has none.
        edge_index: ``2 x num_edges``, positions in the row of all nodes, in any order.
        num_nodes: nodes of each graph, ``num_graphs``.
        y: labels, ``num_graphs`` whole numbers, whichever.
        label_names: what the labels 0, 1, ... are called, where they were text.
        feature_names: a name a column of ``x``, where the columns have names.
    """

    x: Tensor | None
    edge_index: Tensor
    num_nodes: Tensor
    y: Tensor
    label_names: tuple[str, ...] = ()
    feature_names: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class CleanGraphs:
    """What :func:`clean` makes of loose graphs."""

    store: GraphStore
    class_names: tuple[str, ...]
    notes: tuple[str, ...]
    feature_names: tuple[str, ...] = ()


def clean(loose: LooseGraphs) -> CleanGraphs:
    """Drop loops and repeated edges, number the classes, and take degrees as features where there are none.

    >>> path = torch.tensor([[0, 1, 1, 1], [1, 0, 1, 0]])
    >>> result = clean(LooseGraphs(torch.eye(2), path, torch.tensor([2]), torch.tensor([7])))
    >>> result.store.edge_index.tolist()
    [[0, 1], [1, 0]]
    >>> result.notes
    ('1 loop dropped', '1 repeated edge dropped', 'labels numbered anew: 7 -> 0')
    """
    notes: list[str] = []
    edge_index, loops, repeats = unique_edges(loose.edge_index, int(loose.num_nodes.sum()))
    if loops:
        notes.append(f"{counted(loops, 'loop')} dropped")
    if repeats:
        notes.append(f"{counted(repeats, 'repeated edge')} dropped")

    node_ptr = pointers(loose.num_nodes)
    edge_counts = _edges_a_graph(edge_index, node_ptr)
    lonely = int((edge_counts == 0).sum())
    if lonely:
        notes.append(f"{lonely:,} of {counted(len(edge_counts), 'graph')} without an edge: kept as they are")

    x = loose.x
    if x is None:
        x = degree_features(edge_index, int(node_ptr[-1]))
        notes.append(f"{NO_FEATURES}: one-hot degree taken instead, {counted(x.shape[1], 'column')}")
    y, class_names, note = number_labels(loose.y, loose.label_names)
    check_classes(len(class_names), len(y), "graph")
    notes += note

    store = GraphStore(x=x, edge_index=edge_index, node_ptr=node_ptr, edge_ptr=pointers(edge_counts), y=y)
    if store.has_one_way_edges():
        store = GraphStore(**{**vars(store), "directed": True})
        notes.append("some edges go one way only: the graphs are taken as directed")
    return CleanGraphs(store, class_names, tuple(notes), loose.feature_names)


def make_task(
    name: str, graphs: CleanGraphs, split: Split, *, metric: str = "accuracy", notes: Sequence[str] = ()
) -> GraphTask:
    """The task of clean graphs and their split, checked for what would only fail after hours of condensing.

    Args:
        name: what the dataset is called.
        graphs: the graphs.
        split: which of them are for what.
        metric: ``"accuracy"`` or ``"roc_auc"``.
        notes: what to say beside the notes of the cleaning.
    """
    if graphs.store.edge_index.shape[1] == 0:
        raise InputError("no graph has an edge: give edge_index, or classify the nodes' features without graphs")
    y, names = graphs.store.y, graphs.class_names
    if not len(names) > 1:
        raise InputError(f"all graphs of {name} are of class {names[0]}: at least two classes are needed")
    trained = torch.bincount(y[split.train], minlength=len(names)) > 0
    if int(trained.sum()) < 2:
        only = names[int(trained.nonzero()[0])]
        raise InputError(f"all training graphs of {name} are of class {only}: give graphs of at least two classes")
    if metric == "roc_auc" and len(names) == 2:
        for part in ("val", "test"):
            held_out = y[getattr(split, part)]
            if bool((held_out == held_out[0]).all()):
                raise InputError(
                    f"metric='roc_auc' needs both classes in {part}, but all {len(held_out)} graphs of it are of class "
                    f"{names[int(held_out[0])]}: give graphs of both, or use metric='accuracy'"
                )
    unseen = [names[i] for i in (~trained).nonzero().view(-1).tolist()]
    missing = [f"no training graph of class {', '.join(unseen)}: it cannot be learned"] if unseen else []
    missing += one_class_notes(y, split, names, "graph")
    return GraphTask(
        name=name,
        graphs=graphs.store,
        split=split,
        num_classes=len(names),
        metric=metric,
        class_names=names,
        notes=(*graphs.notes, *missing, *notes),
        feature_names=graphs.feature_names,
    )


def unique_edges(edge_index: Tensor, num_nodes: int) -> tuple[Tensor, int, int]:
    """The edges sorted by source and target, without loops and repeats, and how many of each there were.

    Nodes are numbered graph after graph, so sorted edges are grouped by graph.
    """
    proper = edge_index[:, edge_index[0] != edge_index[1]]
    key = torch.unique_consecutive((proper[0] * num_nodes + proper[1]).sort().values)
    result = torch.stack([key // num_nodes, key % num_nodes])
    return result, edge_index.shape[1] - proper.shape[1], proper.shape[1] - result.shape[1]


def degree_features(edge_index: Tensor, num_nodes: int) -> Tensor:
    """One-hot degree (of the outgoing edges) of each node, ``num_nodes x (largest degree + 1)``.

    >>> degree_features(torch.tensor([[0, 1], [1, 0]]), 3).tolist()
    [[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]]
    """
    degree = torch.bincount(edge_index[0], minlength=num_nodes).clamp_(max=LARGEST_DEGREE)
    x = torch.zeros(num_nodes, int(degree.max()) + 1)
    x[torch.arange(num_nodes), degree] = 1
    return x


def number_labels(y: Tensor, known: Sequence[str] = ()) -> tuple[Tensor, tuple[str, ...], list[str]]:
    """Labels as 0 to ``num_classes - 1`` in ascending order, their old names, and a note if they changed.

    Args:
        y: whole numbers, whichever.
        known: what 0, 1, ... are called, where the labels were text.

    >>> number_labels(torch.tensor([1, -1, 1]))
    (tensor([1, 0, 1]), ('-1', '1'), ['labels numbered anew: -1 -> 0, 1 -> 1'])
    """
    values = torch.unique_consecutive(y.sort().values)
    numbered = torch.searchsorted(values, y)
    names = tuple(known[v] if known else str(v) for v in values.tolist())
    if not known and torch.equal(values, torch.arange(len(values))):
        return numbered, names, []
    shown = [f"{name} -> {number}" for number, name in enumerate(names)]
    if len(shown) > 12:
        shown = [*shown[:10], "...", shown[-1]]
    return numbered, names, [f"labels numbered anew: {', '.join(shown)}"]


def check_classes(classes: int, members: int, noun: str) -> None:
    """Refuse labels that are no classes: hardly any two graphs, or nodes, have the same one."""
    if classes > MOST_CLASSES and 2 * classes > members:
        raise InputError(
            f"{counted(members, noun)} have {classes:,} different labels: that is a quantity or a name, not a class, "
            "and regression is not supported: put the values into classes first"
        )


def one_class_notes(y: Tensor, split: Split, names: Sequence[str], noun: str) -> list[str]:
    """What is to be said of a held-out set whose members are all of one class."""
    notes = []
    for part, word in (("val", "validation"), ("test", "test")):
        labels = y[getattr(split, part)]
        if bool((labels == labels[0]).all()):
            notes.append(f"every {word} {noun} is of class {names[int(labels[0])]}: scores there say little")
    return notes


def check_room(rows: int, columns: int, what: str) -> None:
    """Refuse a feature matrix that would not fit into this machine's memory, before it is made."""
    needed, available = 4 * rows * columns, physical_memory()
    if needed > available // 2:
        raise InputError(
            f"{what}: {rows:,} nodes with {columns:,} columns need {needed / 1e9:.0f} GB, this machine has "
            f"{available / 1e9:.0f}: give fewer columns"
        )


def _edges_a_graph(edge_index: Tensor, node_ptr: Tensor) -> Tensor:
    graph = torch.searchsorted(node_ptr, edge_index[0], right=True) - 1
    return torch.bincount(graph, minlength=node_ptr.numel() - 1)


def counted(number: int, noun: str) -> str:
    """A number with its noun, for the notes.

    >>> counted(1, "edge"), counted(2000, "edge")
    ('1 edge', '2,000 edges')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
