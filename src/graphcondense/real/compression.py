"""Exact compression of a dataset: one row a colour instead of one a node, with its own propagation matrices."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphcondense.colours import refine, start_colours
from graphcondense.graphs import GraphStore, pointers
from graphcondense.real.sparse import SparseMatrix

_WORTHWHILE = 0.7  # share of the rows that compression may leave and still pay for its bookkeeping


@dataclass(frozen=True, eq=False)
class ColourLevel:
    """The colours of a dataset's nodes after some rounds of refinement.

    Args:
        node: a node of each colour, ``K_l``.
        parent: the colour that each of these colours had one level below, ``K_l``.
        matrix: propagation from the colours below to these, ``K_l x K_(l-1)``; ``None`` at level 0 or without edges.
    """

    node: Tensor
    parent: Tensor
    matrix: SparseMatrix | None

    def __len__(self) -> int:
        return self.node.numel()


@dataclass(frozen=True, eq=False)
class Compression:
    """All levels of a compressed dataset, and the colour of each node at the last one."""

    levels: list[ColourLevel]
    colour: Tensor

    @cached_property
    def scratch(self) -> list[NDArray[np.int32]]:
        """A number a colour and level, for :func:`distinct`."""
        return [np.zeros(len(level), dtype=np.int32) for level in self.levels]


def distinct(keys: NDArray[np.int64], scratch: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Where the distinct keys are (each at its last occurrence), and which of them each key is.

    Takes time for the keys alone, however many there could be: no sorting, no pass over the scratch.

    Args:
        keys: whole numbers from 0.
        scratch: room for a number a possible key; afterwards it says which of the distinct ones a key is.

    >>> places, which = distinct(np.array([7, 2, 7, 5]), np.zeros(9, dtype=np.int32))
    >>> places.tolist(), which.tolist()
    ([1, 2, 3], [1, 0, 1, 2])
    """
    order = np.arange(len(keys), dtype=np.int32)
    scratch[keys] = order  # of equal keys, the last one stays
    places = np.flatnonzero(scratch[keys] == order)
    scratch[keys[places]] = order[: len(places)]
    return places, scratch[keys]


def compress(
    graphs: GraphStore, matrix: SparseMatrix | None, layers: int, by_label: bool = False
) -> Compression | None:
    """Refine the colours of all nodes ``layers`` times; ``None`` where too few nodes share one for it to pay.

    Args:
        graphs: the dataset.
        matrix: its propagation matrix; ``None`` for networks without structure, whose rows never change colour.
        layers: message-passing layers.
        by_label: whether graphs of different labels must not share rows.
    """
    colours = [start_colours(graphs, by_label)]
    nodes = colours[0].numel()
    if int(colours[0].max()) + 1 > _WORTHWHILE * nodes:
        return None
    if matrix is None:
        return Compression([_level(colours[0], colours[0], None)], colours[0])
    for _ in range(layers):
        colours.append(refine(colours[-1], matrix.ptr, matrix.col))
    # The first layer multiplies the rows of level 1, each other one those of the level below: these are what it saves.
    multiplied = [colours[1], *colours[1:-1]]
    if sum(int(colour.max()) + 1 for colour in multiplied) > _WORTHWHILE * nodes * layers:
        return None
    levels = [_level(colours[0], colours[0], None)]
    levels += [_level(here, below, matrix) for below, here in pairwise(colours)]
    return Compression(levels, colours[-1])


def _level(colour: Tensor, below: Tensor, matrix: SparseMatrix | None) -> ColourLevel:
    count = int(colour.max()) + 1
    everyone = torch.arange(colour.numel())
    node = torch.full((count,), colour.numel()).scatter_reduce_(0, colour, everyone, "amin")
    quotient = None
    if matrix is not None:
        counts, col, weight = matrix.take(node)
        quotient = SparseMatrix(pointers(counts), below.index_select(0, col), weight, int(below.max()) + 1)
    return ColourLevel(node, below[node], quotient)
