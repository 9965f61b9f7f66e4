"""Real graphs ready for networks: everything that does not depend on theta is done once."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from graphcondense.graphs import GraphStore, pointers, ranges
from graphcondense.real.colours import refine, start_colours
from graphcondense.real.operators import propagation_matrix
from graphcondense.real.sparse import SparseMatrix, apply

_WORTHWHILE = 0.7  # share of the rows that compression may leave and still pay for its bookkeeping


class RealGraphs:
    """A dataset prepared for one kind of network; hands out batches without touching a Python object a graph.

    Args:
        graphs: the graphs.
        propagation: ``"gcn"``, ``"mean"``, ``"sum"``, or ``"none"`` for networks that ignore edges.
        layers: message-passing layers of the network.
        compress: whether nodes that no such network can tell apart may share a row; it is done only where it pays.
    """

    def __init__(self, graphs: GraphStore, propagation: str, layers: int = 3, compress: bool = True) -> None:
        self.graphs, self.layers = graphs, layers
        self.matrix = None if propagation == "none" else propagation_matrix(graphs, propagation)
        self._propagated = [graphs.x]
        self.colours = self._refined() if compress and graphs.x.device.type == "cpu" else None

    def _refined(self) -> list[Tensor] | None:
        """The colour of each node after 0, 1, ..., ``layers`` rounds, or ``None`` where that would not pay."""
        colours = [start_colours(self.graphs)]
        rows = colours[0].numel()
        if int(colours[0].max()) + 1 > _WORTHWHILE * rows:
            return None
        if self.matrix is None:
            return colours * (self.layers + 1)
        for _ in range(self.layers):
            colours.append(refine(colours[-1], self.matrix))
        # Layer l multiplies the rows of level l - 1: those are what compression saves.
        left = sum(int(level.max()) + 1 for level in colours[:-1])
        return colours if left <= _WORTHWHILE * rows * self.layers else None

    def features(self, steps: int) -> Tensor:
        """Features after ``steps`` propagations, ``num_nodes x num_features``: computed once, kept."""
        while len(self._propagated) <= steps:
            last = self._propagated[-1]
            self._propagated.append(last if self.matrix is None else self.matrix @ last)
        return self._propagated[steps]

    def batch(self, index: Tensor | None = None, group_sizes: list[int] | None = None) -> SparseBatch:
        """The graphs at ``index`` (all of them without one) as one batch.

        Args:
            index: positions of the graphs.
            group_sizes: numbers of graphs of consecutive groups (classes) that get gradients of their own.
        """
        if index is None:
            index = torch.arange(len(self.graphs), device=self.graphs.x.device)
        return SparseBatch(self, index, group_sizes)


@dataclass(frozen=True, eq=False)
class _Level:
    """The rows after some layer: which node stands for each, and which row each node of the batch has."""

    nodes: Tensor  # node of the dataset, one a row
    places: Tensor  # the same node's place in the batch
    row_of_node: Tensor | None  # row of each node of the batch; None when rows are the batch's nodes themselves


class SparseBatch:
    """Some real graphs, as networks see them: ``G`` graphs, ``N_l`` rows at level ``l`` (after ``l`` layers).

    Without compression a row is a node, at every level. With it, a row stands for all nodes of the batch (and group)
    that no network can tell apart after ``l`` layers.

    Without ``group_sizes``, weights are ``R x in x out`` (R independent networks) and hidden rows ``R x N_l x F``. With
    ``group_sizes``, weights are ``C x in x out`` with equal slices: rows are ``N_l x F``, computed once, and slice
    ``c`` receives the gradient of the graphs of group ``c`` alone: all class gradients in one pass.

    Args:
        source: the dataset.
        index: positions of the graphs in it.
        group_sizes: graphs of each group, if there are groups.
    """

    def __init__(self, source: RealGraphs, index: Tensor, group_sizes: list[int] | None = None) -> None:
        graphs = source.graphs
        self.source, self.group_sizes, self.y = source, group_sizes, graphs.y[index]
        self._starts, self._counts = graphs.node_ptr[index], graphs.num_nodes[index]
        self.node_ptr = pointers(self._counts)
        self._nodes = ranges(self._starts, self._counts)
        self._shift = torch.repeat_interleave(self.node_ptr[:-1] - self._starts, self._counts)
        self._everyone = torch.arange(self._nodes.numel(), device=self._nodes.device)
        self._levels: dict[int, _Level] = {}
        self._matrices: dict[int, SparseMatrix] = {}
        self._pools: dict[tuple[int, str], SparseMatrix] = {}
        self._groups: dict[int, list[int]] = {}

    @property
    def largest_level(self) -> int:
        """Rows of the level that has most."""
        return self._level(self.source.layers).nodes.numel()

    def features(self, steps: int, level: int) -> Tensor:
        """Features after ``steps`` propagations, at the rows of ``level``: ``N_l x d``."""
        return self.source.features(steps)[self._level(level).nodes]

    def propagate(self, h: Tensor, level: int) -> Tensor:
        """One propagation: rows of ``level - 1`` become rows of ``level``."""
        return h if self.source.matrix is None else self._matrix(level) @ h

    def own(self, h: Tensor, level: int) -> Tensor:
        """Each row of ``level`` gets its own node's row of ``level - 1``."""
        below = self._level(level - 1).row_of_node
        return h if below is None else h.index_select(-2, below[self._level(level).places])

    def linear(self, h: Tensor, weight: Tensor, level: int) -> Tensor:
        """``h @ weight`` for the rows of ``level``; level -1 are the pooled graphs."""
        if self.group_sizes is None:
            return h @ weight
        return apply(_TiedLinear, h, weight, self._row_groups(level))

    def add_bias(self, h: Tensor, bias: Tensor, level: int) -> Tensor:
        """``h + bias`` with ``bias`` of ``R x F`` (or ``C x F``)."""
        if self.group_sizes is None:
            return h + bias.unsqueeze(1)
        return apply(_TiedBias, h, bias, self._row_groups(level))

    def pool(self, h: Tensor, how: str, level: int) -> Tensor:
        """Mean or sum of each graph's node rows: ``... x G x F``."""
        return self._pool(level, how) @ h

    def graph_moments(self, h: Tensor, level: int) -> tuple[Tensor, Tensor]:
        """Mean and variance of each graph's rows, spread back to the rows. Not for compressed batches."""
        return _moments(h, self.node_ptr)

    def batch_moments(self, h: Tensor, level: int) -> tuple[Tensor, Tensor]:
        """Mean and variance over the batch (over each group of it, if there are groups), spread back to the rows.

        Not for compressed batches.
        """
        if self.group_sizes is not None:
            return _moments(h, pointers(torch.tensor(self._row_groups(level), device=h.device)))
        mean = h.mean(-2, keepdim=True)
        return mean, (h - mean).square().mean(-2, keepdim=True)

    def _level(self, level: int) -> _Level:
        if level not in self._levels:
            colours = self.source.colours
            if colours is None:
                self._levels[level] = _Level(self._nodes, self._everyone, None)
            else:
                self._levels[level] = self._merge(colours[level])
        return self._levels[level]

    def _merge(self, colours: Tensor) -> _Level:
        """One row a colour; with groups, one a group and colour, group after group."""
        keys = colours[self._nodes]
        if self.group_sizes is not None:
            group = torch.arange(len(self.group_sizes)).repeat_interleave(torch.tensor(self._group_nodes()))
            keys = keys + group * (int(colours.max()) + 1)
        distinct, row = torch.unique(keys, return_inverse=True)
        places = torch.full_like(distinct, keys.numel()).scatter_reduce_(0, row, self._everyone, "amin")
        return _Level(self._nodes[places], places, row)

    def _matrix(self, level: int) -> SparseMatrix:
        """Propagation from the rows of ``level - 1`` to those of ``level``."""
        compressed = self.source.colours is not None
        key = level if compressed else 0
        if key not in self._matrices:
            matrix = self.source.matrix
            assert matrix is not None
            if not compressed:
                flipped = None if matrix.symmetric else self._take(matrix.T, 0)
                block = self._take(matrix, 0)
                self._matrices[key] = SparseMatrix(
                    block.ptr, block.col, block.weight, block.columns, matrix.symmetric, flipped
                )
                if flipped is not None:
                    flipped.T = self._matrices[key]
            else:
                self._matrices[key] = self._take(matrix, level)
        return self._matrices[key]

    def _take(self, matrix: SparseMatrix, level: int) -> SparseMatrix:
        """The rows of ``matrix`` that ``level`` needs, with columns as rows of the level below.

        Whole graphs are in the batch, so all columns of a row are in it too.
        """
        here, below = self._level(level), self._level(max(level - 1, 0))
        counts = matrix.ptr.diff()[here.nodes]
        entries = ranges(matrix.ptr[here.nodes], counts)
        col = matrix.col[entries] + torch.repeat_interleave(self._shift[here.places], counts)
        if below.row_of_node is not None:
            col = below.row_of_node[col]
        return SparseMatrix(pointers(counts), col, matrix.weight[entries], below.nodes.numel())

    def _pool(self, level: int, how: str) -> SparseMatrix:
        if (level, how) not in self._pools:
            here = self._level(level)
            col = self._everyone if here.row_of_node is None else here.row_of_node
            share = 1.0 / self._counts.float() if how == "mean" else torch.ones(len(self._counts), device=col.device)
            weight = torch.repeat_interleave(share, self._counts)
            self._pools[level, how] = SparseMatrix(self.node_ptr, col, weight, here.nodes.numel())
        return self._pools[level, how]

    def _group_nodes(self) -> list[int]:
        """Nodes of each group."""
        assert self.group_sizes is not None
        ends = self.node_ptr[pointers(torch.tensor(self.group_sizes)).to(self.node_ptr.device)]
        return [int(count) for count in ends.diff()]

    def _row_groups(self, level: int) -> list[int]:
        """Rows of each group at ``level``; level -1 are the graphs."""
        assert self.group_sizes is not None
        if level < 0:
            return self.group_sizes
        if level not in self._groups:
            groups = self._group_nodes()
            row_of_node = self._level(level).row_of_node
            if row_of_node is not None:
                tops = [0, *(int(part.max()) + 1 for part in row_of_node.split(groups))]
                groups = [top - bottom for bottom, top in pairwise(tops)]
            self._groups[level] = groups
        return self._groups[level]


def _moments(h: Tensor, ptr: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance of consecutive runs of rows, spread back to the rows."""
    counts = ptr.diff()
    rows = torch.arange(int(ptr[-1]), device=h.device)
    run = torch.repeat_interleave(torch.arange(counts.numel(), device=h.device), counts)
    average = SparseMatrix(ptr, rows, (1.0 / counts.clamp(min=1).float())[run], rows.numel())
    ones = torch.ones(rows.numel(), device=h.device)
    spread = SparseMatrix(torch.arange(rows.numel() + 1, device=h.device), run, ones, counts.numel())
    mean = spread @ (average @ h)
    return mean, spread @ (average @ (h - mean).square())


class _TiedLinear(torch.autograd.Function):
    """One product with the shared weight forwards; one weight gradient a group backwards."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, weight: Tensor, rows: list[int]) -> Tensor:
        ctx.save_for_backward(h, weight)
        ctx.rows = rows
        return h @ weight[0]

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, Tensor, None]:
        h, weight = ctx.saved_tensors
        grad = grad_outputs[0]
        grad_weight = torch.empty_like(weight)
        for group, (left, right) in enumerate(zip(h.split(ctx.rows), grad.split(ctx.rows), strict=True)):
            torch.mm(left.T, right, out=grad_weight[group])
        return grad @ weight[0].T if ctx.needs_input_grad[0] else None, grad_weight, None


class _TiedBias(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, bias: Tensor, rows: list[int]) -> Tensor:
        ctx.rows = rows
        return h + bias[0]

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, Tensor, None]:
        grad = grad_outputs[0]
        return grad, torch.stack([part.sum(0) for part in grad.split(ctx.rows)]), None
