"""Real graphs ready for networks: everything that does not depend on theta is done once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np
import torch
from torch import Tensor

from graphcondense.graphs import GraphStore, pointers, ranges, repeat
from graphcondense.real.compression import Compression, compress, distinct
from graphcondense.real.operators import propagation_matrix
from graphcondense.real.sparse import SparseMatrix
from graphcondense.real.tied import tied_bias, tied_linear

CACHED_ROWS = 2**13  # hidden rows of 128 numbers that stay in a processor's cache: larger ones take twice as long


class RealGraphs:
    """A dataset prepared for one kind of network; hands out batches without touching a Python object a graph.

    Args:
        graphs: the graphs.
        propagation: ``"gcn"``, ``"mean"``, ``"sum"``, or ``"none"`` for networks that ignore edges.
        layers: message-passing layers of the network.
        compressed: whether nodes that no such network can tell apart may share a row; done only where it pays.
        together: whether the graphs of a batch see each other (batch norm), so that it must not be taken apart.
        by_label: whether batches will have groups, one a label: graphs of different labels share no rows then.
    """

    def __init__(
        self,
        graphs: GraphStore,
        propagation: str,
        layers: int = 3,
        compressed: bool = True,
        together: bool = False,
        by_label: bool = False,
    ) -> None:
        self.graphs, self.together, self.by_label = graphs, together, by_label
        self.matrix = None if propagation == "none" else propagation_matrix(graphs, propagation)
        on_cpu = graphs.x.device.type == "cpu"
        self.compression = compress(graphs, self.matrix, layers, by_label) if compressed and on_cpu else None
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
            group_sizes: numbers of graphs of consecutive groups (labels) that get gradients of their own.
        """
        if index is None:
            index = torch.arange(len(self.graphs), device=self.graphs.x.device)
        if self.compression is not None:
            if group_sizes is not None and not self.by_label:
                raise ValueError("batches with groups need graphs that were prepared with by_label=True")
            return CompressedBatch(self, self.compression, index, group_sizes)
        return PlainBatch(self, index, group_sizes)

    def batches(self, index: Tensor, group_sizes: list[int] | None = None) -> list[SparseBatch]:
        """The same as several batches, each small enough for its hidden rows to stay in the processor's cache.

        A compressed batch stays whole: its graphs share rows. Every batch has all groups, of which some are empty.
        """
        if self.together or self.compression is not None:
            return [self.batch(index, group_sizes)]
        ends = self.graphs.num_nodes.index_select(0, index).cumsum(0)
        sizes = ((ends - 1) // CACHED_ROWS).unique_consecutive(return_counts=True)[1].tolist()
        parts: list[SparseBatch] = []
        first = 0
        group_ptr = [0, *accumulate(group_sizes or [])]
        for size in sizes:
            inside = [max(0, min(b, first + size) - max(a, first)) for a, b in pairwise(group_ptr)]
            parts.append(self.batch(index[first : first + size], None if group_sizes is None else inside))
            first += size
        return parts


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
        self._group_rows: dict[int, list[int]] = {}
        self._features: dict[tuple[int, int], Tensor] = {}

    @property
    @abstractmethod
    def most_rows(self) -> int:
        """Rows of the level that has most."""

    def features(self, steps: int, level: int) -> Tensor:
        """Features after ``steps`` propagations, at the rows of ``level``: ``N_l x d``. Looked up once, kept."""
        if (steps, level) not in self._features:
            self._features[steps, level] = self._look_up(steps, level)
        return self._features[steps, level]

    @abstractmethod
    def _look_up(self, steps: int, level: int) -> Tensor:
        """Features of the rows of ``level``."""

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
    def _to_last_rows(self, values: Tensor) -> Tensor:
        """Values of the nodes, added up for each row of the last level."""

    @abstractmethod
    def _groups_of_nodes(self, level: int) -> list[int]:
        """Rows of each group at ``level``."""

    def propagate(self, h: Tensor, level: int) -> Tensor:
        """One propagation: rows of ``level - 1`` become rows of ``level``."""
        return h if self.source.matrix is None else self._matrix(level) @ h

    def linear(self, h: Tensor, weight: Tensor, level: int) -> Tensor:
        """``h @ weight`` for the rows of ``level``; level -1 are the pooled graphs."""
        return h @ weight if self.group_sizes is None else tied_linear(h, weight, self.groups(level))

    def add_bias(self, h: Tensor, bias: Tensor, level: int) -> Tensor:
        """``h + bias`` with ``bias`` of ``R x F`` (or ``C x F``)."""
        if self.group_sizes is not None:
            return tied_bias(h, bias, self.groups(level))
        return h + bias.unsqueeze(1) if torch.is_grad_enabled() else h.add_(bias.unsqueeze(1))

    def pool(self, h: Tensor, how: str, level: int) -> Tensor:
        """Mean or sum of each graph's node rows at the last level: ``... x G x F``."""
        return self._pool(how) @ h

    def spread(self, values: Tensor, how: str) -> Tensor:
        """The transpose of :meth:`pool`: each row of the last level gets its share of its graphs' ``G x O`` values."""
        if how == "mean":
            values = values / self.num_nodes.unsqueeze(1)
        return self._to_last_rows(values.index_select(0, self._graph_of_node))

    def propagate_back(self, h: Tensor, level: int) -> Tensor:
        """The transpose of :meth:`propagate`."""
        return h if self.source.matrix is None else self._matrix(level).T @ h

    def _pool(self, how: str) -> SparseMatrix:
        if how not in self._pools:
            rows, count = self._last_rows()
            sizes = self.num_nodes.to(torch.get_default_dtype())
            share = 1 / sizes if how == "mean" else torch.ones_like(sizes)
            self._pools[how] = SparseMatrix(self.node_ptr, rows, repeat(share, self.num_nodes), count)
        return self._pools[how]

    def graph_moments(self, h: Tensor, level: int) -> tuple[Tensor, Tensor]:
        """Mean and variance of each graph's rows, spread back to the rows. Needs a row a node."""
        return _moments(h, self.node_ptr)

    def batch_moments(self, h: Tensor, level: int) -> tuple[Tensor, Tensor]:
        """Mean and variance over the batch (over each group, if there are groups). Needs a row a node."""
        if self.group_sizes is not None:
            return _moments(h, pointers(torch.tensor(self.groups(level), device=h.device)))
        mean = h.mean(-2, keepdim=True)
        return mean, (h - mean).square().mean(-2, keepdim=True)

    def groups(self, level: int) -> list[int]:
        """Rows of each group at ``level`` (-1 are the pooled graphs); all of them where there are no groups."""
        if level < 0:
            return self.group_sizes or [len(self.y)]
        if level not in self._group_rows:
            self._group_rows[level] = self._groups_of_nodes(level)
        return self._group_rows[level]

    @cached_property
    def _graph_of_node(self) -> Tensor:
        return repeat(torch.arange(len(self.y), device=self.nodes.device), self.num_nodes)

    def _nodes_a_group(self) -> list[int]:
        if self.group_sizes is None:
            return [self.nodes.numel()]
        ends = self.node_ptr[pointers(torch.tensor(self.group_sizes)).to(self.node_ptr.device)]
        return [int(count) for count in ends.diff()]


class PlainBatch(SparseBatch):
    """A row is a node, at every level."""

    @property
    def most_rows(self) -> int:
        """The nodes."""
        return self.nodes.numel()

    def _look_up(self, steps: int, level: int) -> Tensor:
        return self.source.features(steps).index_select(0, self.nodes)

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
        counts, col, weight = matrix.take(self.nodes)
        shift = repeat(self.node_ptr[:-1] - self.starts, self.num_nodes)
        return SparseMatrix(
            pointers(counts), col.add_(repeat(shift, counts)), weight, self.nodes.numel(), symmetric, transpose
        )

    def _last_rows(self) -> tuple[Tensor, int]:
        return torch.arange(self.nodes.numel(), device=self.nodes.device), self.nodes.numel()

    def _to_last_rows(self, values: Tensor) -> Tensor:
        return values

    def _groups_of_nodes(self, level: int) -> list[int]:
        return self._nodes_a_group()


class CompressedBatch(SparseBatch):
    """A row stands for all nodes of the batch that no network can tell apart after ``l`` layers.

    Only the last level looks at nodes: the colours that are present below are the parents of those above. Rows keep
    the order of the graphs, so that the groups stay together.
    """

    def __init__(
        self, source: RealGraphs, compression: Compression, index: Tensor, group_sizes: list[int] | None = None
    ) -> None:
        super().__init__(source, index, group_sizes)
        keys = compression.colour.index_select(0, self.nodes).numpy()
        ends = np.cumsum(self._nodes_a_group())
        top = len(compression.levels) - 1
        self._levels: dict[int, _RowsOfLevel] = {}
        # Layers multiply rows of level 1 and above: below it, features are looked up by node.
        for number in range(top, min(top, 1) - 1, -1):
            level, scratch = compression.levels[number], compression.scratch[number]
            places, row = distinct(keys, scratch)
            if number == top:
                self._rows = torch.from_numpy(row.astype(np.int64))  # index_add_ is slow with short numbers
            else:
                above = self._levels[number + 1]
                above.parent_row = torch.from_numpy(row)
                matrix = compression.levels[number + 1].matrix
                assert matrix is not None
                counts, col, weight = matrix.take(above.colour)
                col = torch.from_numpy(scratch).index_select(0, col)
                self._matrices[number + 1] = SparseMatrix(pointers(counts), col, weight, len(places))
            ends = np.searchsorted(places, ends)
            colour = torch.from_numpy(keys[places])
            self._levels[number] = _RowsOfLevel(colour, np.diff(ends, prepend=0).tolist())
            keys = level.parent.index_select(0, colour).numpy()

    @property
    def most_rows(self) -> int:
        """Those of the last level: refinement only ever splits colours."""
        return self._levels[max(self._levels)].colour.numel()

    def _look_up(self, steps: int, level: int) -> Tensor:
        return self.source.colour_features(steps, level).index_select(0, self._levels[level].colour)

    def own(self, h: Tensor, level: int) -> Tensor:
        """The row of the colour that a node had one level below."""
        parent_row = self._levels[level].parent_row
        assert parent_row is not None
        return h.index_select(-2, parent_row)

    def _matrix(self, level: int) -> SparseMatrix:
        return self._matrices[level]

    def _last_rows(self) -> tuple[Tensor, int]:
        return self._rows, self.most_rows

    def _to_last_rows(self, values: Tensor) -> Tensor:
        return values.new_zeros(self.most_rows, values.shape[1]).index_add_(0, self._rows, values)

    def _groups_of_nodes(self, level: int) -> list[int]:
        return self._levels[level].group_rows


@dataclass
class _RowsOfLevel:
    """The rows of one level of a compressed batch.

    Args:
        colour: the colour of each row.
        group_rows: rows of each group.
        parent_row: the row of each row's colour one level below; ``None`` at the lowest level.
    """

    colour: Tensor
    group_rows: list[int]
    parent_row: Tensor | None = None


def _moments(h: Tensor, ptr: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance of consecutive runs of rows, spread back to the rows."""
    counts = ptr.diff()
    rows = torch.arange(int(ptr[-1]), device=h.device)
    run = repeat(torch.arange(counts.numel(), device=h.device), counts)
    average = SparseMatrix(ptr, rows, (1 / counts.clamp(min=1).to(h.dtype))[run], rows.numel())
    ones = torch.ones(rows.numel(), device=h.device, dtype=h.dtype)
    spread = SparseMatrix(torch.arange(rows.numel() + 1, device=h.device), run, ones, counts.numel())
    mean = spread @ (average @ h)
    return mean, spread @ (average @ (h - mean).square())
