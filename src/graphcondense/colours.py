"""Colour refinement (Weisfeiler-Leman): nodes of equal colour after l rounds have equal rows after l layers.

That holds for every message-passing network, whatever its weights, so that a layer needs one row a colour instead of
one a node. Nothing is approximated.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphcondense.graphs import GraphStore, pointers

Words = NDArray[np.uint64]
_SALTS = (0x9E3779B97F4A7C15, 0xD1B54A32D192ED03)


def start_colours(graphs: GraphStore, by_label: bool = False) -> Tensor:
    """Colour of each node before the first round: its feature row and its degree (and its graph's label)."""
    degree = torch.bincount(graphs.edge_index[1], minlength=graphs.x.shape[0]).numpy().astype(np.uint64)
    if by_label:
        degree += graphs.y.numpy().astype(np.uint64)[graphs.graph_of_node.numpy()] << np.uint64(32)
    bits = (graphs.x + 0.0).numpy().view(np.uint32)  # + 0.0: a negative zero is a zero
    keys = []
    for salt in _SALTS:
        key = _mix(degree + np.uint64(salt))
        for column in range(bits.shape[1]):
            key += _mix(bits[:, column].astype(np.uint64) + _mix(np.array([column + 1 + salt], dtype=np.uint64)))
        keys.append(key)
    return _number(*keys)


def refine(colours: Tensor, ptr: Tensor, neighbours: Tensor) -> Tensor:
    """One round: the new colour is the old one together with the multiset of the neighbours' old ones.

    Args:
        colours: ``num_nodes``, from 0.
        ptr: where each node's neighbours start, ``num_nodes + 1``.
        neighbours: of all nodes, one after the other.
    """
    old, starts = colours.numpy().astype(np.uint64), ptr.numpy()
    keys = []
    for salt in _SALTS:
        words = _mix(old + np.uint64(salt))
        keys.append(_mix(words) + _sums(words[neighbours.numpy()], starts))
    return _number(*keys)


def refined(graphs: GraphStore, rounds: int, by_label: bool = False) -> Tensor:
    """Colour of each node after so many rounds."""
    source, target = graphs.edge_index
    ptr = pointers(torch.bincount(target, minlength=len(graphs.x)))
    neighbours = source[target.argsort(stable=True)]
    colours = start_colours(graphs, by_label)
    for _ in range(rounds):
        colours = refine(colours, ptr, neighbours)
    return colours


def looks(graphs: GraphStore, rounds: int) -> Tensor:
    """A number a graph: the same for graphs whose nodes have the same colours after so many rounds."""
    colours, starts = refined(graphs, rounds).numpy().astype(np.uint64), graphs.node_ptr.numpy()
    return _number(*(_sums(_mix(colours + np.uint64(salt)), starts) for salt in _SALTS))


def distinct_rows(graphs: GraphStore, rounds: int = 2) -> Tensor:
    """What each graph adds to the work of a pass over all: its nodes, where ``k`` nodes of a colour share one row.

    Two rounds are what the last of three layers multiplies. Deeper networks share less, so that plain node counts
    and this one agree the more, the less there is to share.
    """
    colours = refined(graphs, rounds, by_label=True)
    share = 1.0 / torch.bincount(colours)[colours].double()
    return torch.zeros(len(graphs), dtype=torch.double).index_add_(0, graphs.graph_of_node, share)


def _sums(words: Words, starts: NDArray[np.int64]) -> Words:
    """The sum of each run of ``words``; it wraps around, as it should."""
    running = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(words)])
    sums: Words = running[starts[1:]] - running[starts[:-1]]
    return sums


def _mix(words: Words) -> Words:
    """The finaliser of splitmix64: every bit of the input moves every bit of the output."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def _number(keys: Words, check: Words) -> Tensor:
    """Colours from 0, one a different key. Two nodes that agree in one hash and not in the other get apart."""
    _, first, colour = np.unique(keys, return_index=True, return_inverse=True)
    if not np.array_equal(check[first][colour], check):
        _, colour = np.unique(np.stack([keys, check]), axis=1, return_inverse=True)
    return torch.from_numpy(colour.reshape(-1).astype(np.int64))
