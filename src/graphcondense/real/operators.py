"""How a node gathers from its neighbours, as a sparse matrix over all nodes of a dataset."""

from __future__ import annotations

from types import MappingProxyType
from typing import Protocol

import torch
from torch import Tensor

from graphcondense.graphs import GraphStore, pointers
from graphcondense.real.sparse import SparseMatrix


class _Weights(Protocol):
    def __call__(self, source: Tensor, target: Tensor, degree: Tensor) -> Tensor: ...


def _symmetric(source: Tensor, target: Tensor, degree: Tensor) -> Tensor:
    """``1 / sqrt(d_i d_j)`` where the degrees count the self loop (Kipf and Welling)."""
    scale = (degree + 1.0).rsqrt()
    return scale[source] * scale[target]


def _mean(source: Tensor, target: Tensor, degree: Tensor) -> Tensor:
    return 1.0 / degree.clamp(min=1.0)[target]


def _sum(source: Tensor, target: Tensor, degree: Tensor) -> Tensor:
    return torch.ones_like(target, dtype=degree.dtype)


# name: (weight of an edge, whether a node also gathers from itself, whether an undirected graph gives a symmetric one)
PROPAGATIONS: MappingProxyType[str, tuple[_Weights, bool, bool]] = MappingProxyType(
    {"gcn": (_symmetric, True, True), "mean": (_mean, False, False), "sum": (_sum, False, True)}
)


def propagation_matrix(graphs: GraphStore, propagation: str) -> SparseMatrix:
    """The matrix of one propagation step over all nodes of ``graphs``.

    Args:
        graphs: the graphs; an edge carries a message from its source to its target.
        propagation: ``"gcn"`` (symmetric normalisation with self loops), ``"mean"`` or ``"sum"`` of the neighbours.
    """
    weigh, with_loops, symmetric = PROPAGATIONS[propagation]
    nodes = graphs.x.shape[0]
    source, target = graphs.edge_index
    degree = torch.bincount(target, minlength=nodes).to(graphs.x.dtype)
    if with_loops:
        loops = torch.arange(nodes, device=source.device)
        source, target = torch.cat([source, loops]), torch.cat([target, loops])
    weight = weigh(source, target, degree)
    if symmetric and not graphs.directed:
        return _by_rows(target, source, weight, nodes, symmetric=True)
    return _by_rows(target, source, weight, nodes, transpose=_by_rows(source, target, weight, nodes))


def _by_rows(
    row: Tensor,
    col: Tensor,
    weight: Tensor,
    nodes: int,
    symmetric: bool = False,
    transpose: SparseMatrix | None = None,
) -> SparseMatrix:
    order = torch.argsort(row * nodes + col)  # columns sorted too: the sum's order does not depend on the file's
    ptr = pointers(torch.bincount(row, minlength=nodes))
    return SparseMatrix(ptr, col[order], weight[order], nodes, symmetric, transpose)
