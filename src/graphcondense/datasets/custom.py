"""The user's own graphs as a task."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from graphcondense.datasets.assembly import clean, make_task
from graphcondense.datasets.checks import GraphSequence, check_graphs
from graphcondense.datasets.splits import complete_split
from graphcondense.errors import InputError, check_choice, check_count
from graphcondense.graphs import GraphStore, pointers
from graphcondense.metrics import METRICS
from graphcondense.tasks import GraphTask

_ROUNDING = 1e-3  # of probabilities that add up to one


def graph_task(
    train: GraphSequence,
    val: GraphSequence | None = None,
    test: GraphSequence | None = None,
    *,
    name: str = "custom",
    metric: str | None = None,
    split_seed: int = 0,
) -> GraphTask:
    """A task from PyG graphs, checked and cleaned; the graphs themselves are not changed.

    A validation or test set that is not given is taken from ``train``: a tenth of each class. What was changed or
    assumed is in the task's ``notes``.

    Args:
        train: a list of PyG ``Data`` or a PyG dataset, with ``x`` (else degrees become the features), ``edge_index``
            and ``y``, one whole number a graph.
        val: validation graphs, in the same form.
        test: test graphs, in the same form.
        name: what the dataset is called.
        metric: ``"accuracy"`` (the default) or ``"roc_auc"`` (two classes).
        split_seed: for the sets that are taken from ``train``.

    >>> from torch_geometric.data import Data
    >>> pair = torch.tensor([[0, 1], [1, 0]])
    >>> graphs = [Data(x=torch.full((2, 1), float(i % 2)), edge_index=pair, y=i % 2) for i in range(40)]
    >>> task = graph_task(graphs)
    >>> task.num_classes, len(task.train), len(task.val), len(task.test)
    (2, 32, 4, 4)
    >>> task.notes
    ('validation and test set taken from train by class, seed 0: 32 training, 4 validation and 4 test graphs',)
    """
    metric = "accuracy" if metric is None else check_choice("metric", metric, METRICS)
    check_count("split_seed", split_seed, minimum=0)
    if isinstance(train, tuple) and val is None and all(isinstance(part, Sequence) for part in train):
        raise InputError("train is a tuple of lists: give the sets one by one, graph_task(train, val, test)")
    given = {"train": train, "val": val, "test": test}
    checked = check_graphs({part: graphs for part, graphs in given.items() if graphs is not None or part == "train"})
    graphs = clean(checked.loose)

    ends = pointers(torch.tensor(list(checked.sizes.values()))).tolist()
    places = {part: torch.arange(*ends[i : i + 2]) for i, part in enumerate(checked.sizes)}
    split, made = complete_split(places, graphs.store.y, split_seed)
    return make_task(name, graphs, split, metric=metric, notes=[*checked.notes, *made])


def graphs_for(task: GraphTask, graphs: GraphSequence) -> GraphStore:
    """Anybody's training graphs for a given task, checked and cleaned like the task's own.

    Args:
        task: whose classes the graphs are of.
        graphs: PyG graphs with labels 0 to ``num_classes - 1``, with the labels that the dataset came with, or with
            soft labels, a probability a class each.
    """
    soft = _soft_labels(graphs, task.num_classes)
    if soft is not None:
        hard: list[Any] = [copy.copy(graphs[place]) for place in range(len(graphs))]
        for graph, label in zip(hard, soft.argmax(1).tolist(), strict=True):
            graph.y = label
        return replace(clean(check_graphs({"graphs": hard}).loose).store, y=soft)
    loose = check_graphs({"graphs": graphs}).loose
    values = {int(value) for value in loose.y.unique()}
    numbers = {name: number for number, name in enumerate(task.class_names)}
    own_labels = {int(name): number for name, number in numbers.items() if name.lstrip("-").isdigit()}
    fits_numbers, fits_labels = values <= set(range(task.num_classes)), values <= set(own_labels)
    if fits_numbers and fits_labels and any(own_labels[value] != value for value in values):
        raise InputError(
            f"graphs have labels {sorted(values)}, which may be class numbers or the labels that {task.name} came "
            f"with ({', '.join(task.class_names)}): give graphs of all classes, or other labels"
        )
    if not fits_numbers:
        foreign = sorted(values - set(own_labels))
        if foreign:
            raise InputError(
                f"graphs have label {foreign[0]}, but {task.name} has classes 0 to {task.num_classes - 1}: give "
                "those numbers, or the dataset's own labels"
            )
        loose = replace(loose, y=torch.tensor([numbers[str(int(value))] for value in loose.y]))
    return replace(clean(loose).store, y=loose.y.long())


def _soft_labels(graphs: GraphSequence, classes: int) -> Tensor | None:
    """Probabilities, ``G x C``, if every graph has one for each of several classes."""
    if not (hasattr(graphs, "__len__") and hasattr(graphs, "__getitem__")):
        return None
    labels = [getattr(graphs[place], "y", None) for place in range(len(graphs))]
    rows = [label.reshape(-1) for label in labels if isinstance(label, Tensor) and label.numel() == classes > 1]
    if not rows or len(rows) < len(labels):
        return None
    soft = torch.stack(rows).float()
    for place, row in enumerate(soft):
        if not bool((row >= 0).all()) or abs(float(row.sum()) - 1) > _ROUNDING:
            raise InputError(
                f"graphs[{place}].y={[round(value, 4) for value in row.tolist()]} must be one class, or a probability "
                f"for each of the {classes} classes that add up to one"
            )
    return soft
