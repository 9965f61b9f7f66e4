"""Condensed features made readable: each node becomes the nearest category that real nodes have."""

from __future__ import annotations

from dataclasses import replace

from graphcondense.errors import InputError
from graphcondense.graphs import payload_bytes
from graphcondense.synthetic.categories import Categories
from graphcondense.synthetic.condensed import CondensedDataset, CondensedGraph
from graphcondense.tasks import GraphTask, NodeTask


def check_categories(task: GraphTask | NodeTask) -> Categories:
    """The categories that the training features of ``task`` are; raises where they are none."""
    categories = Categories.of((task.train if isinstance(task, GraphTask) else task.train[0]).x)
    if categories is None:
        raise InputError(
            f"the features of {task.name} are not categories (neither one-hot nor whole numbers): nothing to snap to"
        )
    return categories


def snap(condensed: CondensedDataset | CondensedGraph, task: GraphTask | NodeTask) -> CondensedDataset | CondensedGraph:
    """The same graphs with every feature row snapped to the nearest category of the task's training features.

    Its file stores a few bits a node instead of floats; ``info["original_bytes"]`` counts the real graphs in the same
    way, so that the share stays honest.

    Args:
        condensed: the result of a condensation.
        task: what it was made from; its training features must be one-hot, or whole numbers.
    """
    real = task.train if isinstance(task, GraphTask) else task.train[0]
    own = condensed.graphs if isinstance(condensed, CondensedDataset) else condensed.graph
    if own.num_features != real.num_features:
        raise InputError(
            f"the graphs have {own.num_features} features a node, {task.name} has {real.num_features}: they do not "
            "belong together"
        )
    categories = check_categories(task)
    snapped = replace(own, x=categories.snap(own.x))
    info = condensed.info | {"snapped": True, "original_bytes": payload_bytes(real, categories.num_bytes(len(real.x)))}
    if isinstance(condensed, CondensedDataset):
        return replace(condensed, graphs=snapped, info=info, categories=categories)
    return replace(condensed, graph=snapped, info=info, categories=categories)
