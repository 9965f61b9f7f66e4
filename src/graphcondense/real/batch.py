"""Real graphs ready for networks: everything that does not depend on theta is done once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import pairwise

import torch
from torch import Tensor

from graphcondense.graphs import GraphStore, pointers, ranges
from graphcondense.real.compression import Compression, compress
from graphcondense.real.operators import propagation_matrix
from graphcondense.real.sparse import SparseMatrix
from graphcondense.real.tied import tied_bias, tied_linear


class RealGraphs:
    """A dataset prepared for one kind of network; hands out batches without touching a Python object a graph.

    Args:
        graphs: the graphs.
        propagation: ``"gcn"``, ``"mean"``, ``"sum"``, or ``"none"`` for networks that ignore edges.
        layers: message-passing layers of the network.
        compressed: whether nodes that no such network can tell apart may share a row; done only where it pays.
    """

    def __init__(self, graphs: GraphStore, propagation: str, layers: int = 3, compressed: bool = True) -> None:
        self.graphs = graphs
        self.matrix = None if propagation == "none" else propagation_matrix(graphs, propagation)
        on_cpu = graphs.x.device.type == "cpu"
        self.compression = compress(graphs, self.matrix, layers) if compressed and on_cpu else None
        self._features: dict[tuple[int, int], Tensor] = {(0, -1): graphs.x}

    def features(self, steps: int) -> Tensor:
        """Features of all nodes after ``steps`` propagations, ``num_nodes x num_features``: computed once, kept."""
        if (steps, -1) not in self._features:
            below = self.features(steps - 1)
            self._features[steps, -1] = below if self.matrix is None else self.matrix @ below
        return self._features[steps, -1]

    def colour_features(self, steps: int, level: int) -> Tensor:
        """The same for one node of each colour of ``level``, ``K_l x num_features``."""
        assert self.compression is not None
        if (steps, level) not in self._features:
            self._features[steps, level] = self.features(steps)[self.compression.levels[level].node]
        return self._features[steps, level]

    def batch(self, index: Tensor | None = None, group_sizes: list[int] | None = None) -> SparseBatch:
        """The graphs at ``index`` (all of them without one) as one batch.

        Args:
            index: positions of the graphs.
            group_sizes: numbers of graphs of consecutive groups (classes) that get gradients of their own.
        """
        if index is None:
            index = torch.arange(len(self.graphs), device=self.graphs.x.device)
        if self.compression is not None:
            return CompressedBatch(self, self.compression, index, group_sizes)
        return PlainBatch(self, index, group_sizes)


class SparseBatch(ABC):
    """Some real graphs, as networks see them: ``G`` graphs, ``N_l`` rows at level ``l`` (after ``l`` layers).

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
        self.num_nodes = graphs.num_nodes[index]
        self.node_ptr = pointers(self.num_nodes)
        self.starts = graphs.node_ptr[index]
        self.nodes = ranges(self.starts, self.num_nodes)
        self._matrices: dict[int, SparseMatrix] = {}
        self._pools: dict[str, SparseMatrix] = {}

    @property
    @abstractmethod
    def most_rows(self) -> int:
        """Rows of the level that has most."""

    @abstractmethod
    def features(self, steps: int, level: int) -> Tensor:
        """Features after ``steps`` propagations, at the rows of ``level``: ``N_l x d``."""

    @abstractmethod
    def own(self, h: Tensor, level: int) -> Tensor:
        """Each row of ``level`` gets its own node's row of ``level - 1``."""

    @abstractmethod
    def _matrix(self, level: int) -> SparseMatrix:
        """Propagation from the rows of ``level - 1`` to those of ``level``."""

    @abstractmethod
    def _last_rows(self) -> tuple[Tensor, int]:
        """The row of each node of the batch at the last level, and the number of rows there."""

    @abstractmethod
    def _groups_of_nodes(self, level: int) -> list[int]:
        """Rows of each group at ``level``."""

    def propagate(self, h: Tensor, level: int) -> Tensor:
        """One propagation: rows of ``level - 1`` become rows of ``level``."""
        return h if self.source.matrix is None else self._matrix(level) @ h

    def linear(self, h: Tensor, weight: Tensor, level: int) -> Tensor:
        """``h @ weight`` for the rows of ``level``; level -1 are the pooled graphs."""
        return h @ weight if self.group_sizes is None else tied_linear(h, weight, self._groups(level))

    def add_bias(self, h: Tensor, bias: Tensor, level: int) -> Tensor:
        """``h + bias`` with ``bias`` of ``R x F`` (or ``C x F``)."""
        return h + bias.unsqueeze(1) if self.group_sizes is None else tied_bias(h, bias, self._groups(level))

    def pool(self, h: Tensor, how: str, level: int) -> Tensor:
        """Mean or sum of each graph's node rows at the last level: ``... x G x F``."""
        if how not in self._pools:
            rows, count = self._last_rows()
            sizes = self.num_nodes.to(h.dtype)
            share = 1 / sizes if how == "mean" else torch.ones_like(sizes)
            weight = torch.repeat_interleave(share, self.num_nodes)
            self._pools[how] = SparseMatrix(self.node_ptr, rows, weight, count)
        return self._pools[how] @ h

    def graph_moments(self, h: Tensor, level: int) -> tuple[Tensor, Tensor]:
        """Mean and variance of each graph's rows, spread back to the rows. Needs a row a node."""
        return _moments(h, self.node_ptr)

    def batch_moments(self, h: Tensor, level: int) -> tuple[Tensor, Tensor]:
        """Mean and variance over the batch (over each group, if there are groups). Needs a row a node."""
        if self.group_sizes is not None:
            return _moments(h, pointers(torch.tensor(self._groups(level), device=h.device)))
        mean = h.mean(-2, keepdim=True)
        return mean, (h - mean).square().mean(-2, keepdim=True)

    def _groups(self, level: int) -> list[int]:
        assert self.group_sizes is not None
        return self.group_sizes if level < 0 else self._groups_of_nodes(level)

    def _nodes_a_group(self) -> list[int]:
        ends = self.node_ptr[pointers(torch.tensor(self.group_sizes)).to(self.node_ptr.device)]
        return [int(count) for count in ends.diff()]


class PlainBatch(SparseBatch):
    """A row is a node, at every level."""

    @property
    def most_rows(self) -> int:
        """The nodes."""
        return self.nodes.numel()

    def features(self, steps: int, level: int) -> Tensor:
        """Features of the batch's nodes."""
        return self.source.features(steps)[self.nodes]

    def own(self, h: Tensor, level: int) -> Tensor:
        """Rows stay where they are."""
        return h

    def _matrix(self, level: int) -> SparseMatrix:
        if 0 not in self._matrices:
            matrix = self.source.matrix
            assert matrix is not None
            flipped = None if matrix.symmetric else self._block(matrix.T)
            self._matrices[0] = self._block(matrix, matrix.symmetric, flipped)
            if flipped is not None:
                flipped.T = self._matrices[0]
        return self._matrices[0]

    def _block(
        self, matrix: SparseMatrix, symmetric: bool = False, transpose: SparseMatrix | None = None
    ) -> SparseMatrix:
        """The rows of the batch's nodes. Whole graphs are in the batch, so all their columns are in it too."""
        shift = torch.repeat_interleave(self.node_ptr[:-1] - self.starts, self.num_nodes)
        counts = matrix.ptr.diff()[self.nodes]
        entries = ranges(matrix.ptr[self.nodes], counts)
        col = matrix.col[entries] + torch.repeat_interleave(shift, counts)
        return SparseMatrix(pointers(counts), col, matrix.weight[entries], self.nodes.numel(), symmetric, transpose)

    def _last_rows(self) -> tuple[Tensor, int]:
        return torch.arange(self.nodes.numel(), device=self.nodes.device), self.nodes.numel()

    def _groups_of_nodes(self, level: int) -> list[int]:
        return self._nodes_a_group()


class CompressedBatch(SparseBatch):
    """A row stands for all nodes of the batch (and group) that no network can tell apart after ``l`` layers.

    Only the last level looks at nodes: the colours that are present below are the parents of those above.
    """

    def __init__(
        self, source: RealGraphs, compression: Compression, index: Tensor, group_sizes: list[int] | None = None
    ) -> None:
        super().__init__(source, index, group_sizes)
        self.levels = compression.levels
        groups = len(group_sizes) if group_sizes is not None else 1
        key = compression.colour[self.nodes]
        if group_sizes is not None:
            group = torch.arange(groups).repeat_interleave(torch.tensor(self._nodes_a_group()))
            key = key + group * len(self.levels[-1])
        # For each level: the present colours (with group), and the row of each colour (with group).
        self._present: list[tuple[Tensor, Tensor]] = []
        self._number: list[Tensor] = []
        for level in reversed(self.levels):
            present = torch.zeros(groups * len(level), dtype=torch.bool)
            present[key] = True
            chosen = present.nonzero().flatten()
            number = present.cumsum(0) - 1
            if not self._number:
                self._rows = number[key]
            colour, group = chosen % len(level), chosen // len(level)
            self._present.insert(0, (colour, group))
            self._number.insert(0, number)
            below = self.levels[max(len(self.levels) - 1 - len(self._number), 0)]
            key = level.parent[colour] + group * len(below)

    @property
    def most_rows(self) -> int:
        """Those of the last level: refinement only ever splits colours."""
        return self._present[-1][0].numel()

    def features(self, steps: int, level: int) -> Tensor:
        """Features of a node of each present colour."""
        return self.source.colour_features(steps, level)[self._present[level][0]]

    def own(self, h: Tensor, level: int) -> Tensor:
        """The row of the colour that a node had one level below."""
        colour, group = self._present[level]
        parent = self.levels[level].parent[colour] + group * len(self.levels[level - 1])
        return h.index_select(-2, self._number[level - 1][parent])

    def _matrix(self, level: int) -> SparseMatrix:
        if level not in self._matrices:
            matrix = self.levels[level].matrix
            assert matrix is not None
            colour, group = self._present[level]
            counts = matrix.ptr.diff()[colour]
            entries = ranges(matrix.ptr[colour], counts)
            col = matrix.col[entries]
            if self.group_sizes is not None:
                col = col + torch.repeat_interleave(group * len(self.levels[level - 1]), counts)
            rows_below = self._present[level - 1][0].numel()
            self._matrices[level] = SparseMatrix(
                pointers(counts), self._number[level - 1][col], matrix.weight[entries], rows_below
            )
        return self._matrices[level]

    def _last_rows(self) -> tuple[Tensor, int]:
        return self._rows, self.most_rows

    def _groups_of_nodes(self, level: int) -> list[int]:
        assert self.group_sizes is not None
        ends = self._number[level].view(len(self.group_sizes), -1)[:, -1] + 1
        return [end - start for start, end in pairwise([0, *ends.tolist()])]


def _moments(h: Tensor, ptr: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance of consecutive runs of rows, spread back to the rows."""
    counts = ptr.diff()
    rows = torch.arange(int(ptr[-1]), device=h.device)
    run = torch.repeat_interleave(torch.arange(counts.numel(), device=h.device), counts)
    average = SparseMatrix(ptr, rows, (1 / counts.clamp(min=1).to(h.dtype))[run], rows.numel())
    ones = torch.ones(rows.numel(), device=h.device, dtype=h.dtype)
    spread = SparseMatrix(torch.arange(rows.numel() + 1, device=h.device), run, ones, counts.numel())
    mean = spread @ (average @ h)
    return mean, spread @ (average @ (h - mean).square())
