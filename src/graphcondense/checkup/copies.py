"""Graphs that a network cannot tell apart: copies across the split, and copies with different labels."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from graphcondense.colours import looks
from graphcondense.tasks import GraphTask

ROUNDS = 3
"""Rounds of colour refinement, as many as the usual network has layers."""


@dataclass(frozen=True)
class Copies:
    """How many graphs look the same as others to a network of three layers.

    Args:
        val: validation graphs that look like a training graph.
        test: test graphs that do.
        ceiling: the largest share of all graphs that any such network can be right about: of graphs that look the
            same and have different labels, only those of the most frequent label.
    """

    val: int
    test: int
    ceiling: float


def find_copies(task: GraphTask) -> Copies:
    """Compare all graphs of a task with each other by colour refinement, in about linear time."""
    seen = looks(task.graphs, ROUNDS)
    train = seen[task.split.train]
    val, test = (int(torch.isin(seen[part], train).sum()) for part in (task.split.val, task.split.test))
    pairs = seen * task.num_classes + task.graphs.y
    kinds, counts = pairs.unique(return_counts=True)
    best: Tensor = torch.zeros(int(seen.max()) + 1, dtype=torch.long)
    best.scatter_reduce_(0, kinds // task.num_classes, counts, "amax")
    return Copies(val, test, int(best.sum()) / len(seen))
