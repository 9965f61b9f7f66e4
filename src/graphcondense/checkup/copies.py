"""Graphs that a network cannot tell apart: copies across the split, and copies with different labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from graphcondense.colours import refine, start_colours
from graphcondense.real.operators import propagation_matrix
from graphcondense.tasks import GraphTask

ROUNDS = 3
"""Rounds of colour refinement, as many as the usual network has layers."""
_SALTS = (0x9E3779B97F4A7C15, 0xD1B54A32D192ED03)


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
    looks = torch.from_numpy(looks_of(task))
    train = looks[task.split.train]
    val, test = (int(torch.isin(looks[part], train).sum()) for part in (task.split.val, task.split.test))
    pairs = looks * task.num_classes + task.graphs.y
    kinds, counts = pairs.unique(return_counts=True)
    best: Tensor = torch.zeros(int(looks.max()) + 1, dtype=torch.long)
    best.scatter_reduce_(0, kinds // task.num_classes, counts, "amax")
    return Copies(val, test, int(best.sum()) / len(looks))


def looks_of(task: GraphTask) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """A number a graph: the same for graphs whose refined colours are the same."""
    graphs = task.graphs
    colours = start_colours(graphs)
    matrix = propagation_matrix(graphs, "sum")
    for _ in range(ROUNDS):
        colours = refine(colours, matrix.ptr, matrix.col)
    keys = [graphs.num_nodes.numpy().astype(np.uint64)]
    for salt in _SALTS:
        words = np.random.default_rng(salt).integers(2**63, size=int(colours.max()) + 1, dtype=np.uint64)
        running = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(words[colours.numpy()])])
        keys.append(running[graphs.node_ptr[1:].numpy()] - running[graphs.node_ptr[:-1].numpy()])
    _, looks = np.unique(np.stack(keys), axis=1, return_inverse=True)
    return looks.reshape(-1).astype(np.int64)
