"""What some nodes of one large graph can see in a few layers, and nothing else of it."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from graphcondense.graphs import GraphStore, pointers, repeat
from graphcondense.real.operators import propagation_matrix
from graphcondense.real.sparse import SparseMatrix
from graphcondense.real.tied import tied_bias, tied_linear

_FEW = 0.1  # share of features that are not zero up to which sparse products are faster


class RealNodes:
    """A graph prepared for one kind of network.

    Args:
        graph: the graph.
        propagation: ``"gcn"``, ``"mean"``, ``"sum"``, or ``"none"`` for networks that ignore edges.
    """

    def __init__(self, graph: GraphStore, propagation: str) -> None:
        self.graph = graph
        self.matrix = None if propagation == "none" else propagation_matrix(graph, propagation)
        self._features: dict[int, Tensor] = {0: graph.x}

    def features(self, steps: int) -> Tensor:
        """Features of all nodes after ``steps`` propagations: computed once, kept. For batches that come and go."""
        if steps not in self._features:
            below = self.features(steps - 1)
            self._features[steps] = below if self.matrix is None else self.matrix @ below
            if steps > 1:
                del self._features[steps - 1]  # only the last is ever asked for again
        return self._features[steps]

    def batch(self, targets: Tensor, layers: int, group_sizes: list[int] | None = None) -> NodeBatch:
        """The targets as a batch; with ``group_sizes`` consecutive targets get gradients of their own."""
        return NodeBatch(self, targets, layers, group_sizes)

    def sample(
        self, targets: Tensor, layers: int, group_sizes: list[int], fanout: int | None, source: torch.Generator
    ) -> NodeBatch:
        """The same for a batch that is used once: each node gathers from at most ``fanout`` random neighbours.

        What is left out is made up for by weight, so that a sum over neighbours is right on average. The first
        propagation, that of the features, leaves nothing out.
        """
        return NodeBatch(self, targets, layers, group_sizes, fanout, source)


class NodeBatch:
    """Some nodes of a graph, as networks see them: rows of level ``l`` are what those of level ``l + 1`` gather from.

    Level ``layers`` has a row a target. Where there are groups (classes), the rows of a group stay together at every
    level, a node that several groups see has a row in each, and slice ``c`` of tied weights receives the gradient of
    group ``c`` alone.

    Args:
        source: the graph.
        targets: positions of the nodes that outputs are wanted for.
        layers: propagations between features and outputs.
        group_sizes: targets of each group, if there are groups.
        fanout: most neighbours that a node gathers from; ``None`` for all.
        draws: random numbers to choose them by; given for batches that are used once.
    """

    def __init__(
        self,
        source: RealNodes,
        targets: Tensor,
        layers: int,
        group_sizes: list[int] | None = None,
        fanout: int | None = None,
        draws: torch.Generator | None = None,
    ) -> None:
        self.source, self.layers, self.group_sizes = source, layers, group_sizes
        self._fanout, self._draws = fanout, draws
        self.y = source.graph.y[targets]
        sizes = group_sizes or [len(targets)]
        self._nodes: dict[int, Tensor] = {layers: targets}
        self._groups: dict[int, list[int]] = {layers: sizes, -1: sizes}
        self._own: dict[int, Tensor] = {}
        self._matrices: dict[int, SparseMatrix] = {}
        self._features: dict[tuple[int, int], Tensor] = {}
        self._products: dict[int, list[Tensor]] = {}
        self._sparse: dict[tuple[int, int], SparseMatrix | None] = {}
        for level in range(layers, 1, -1):
            self._descend(level)

    def _descend(self, level: int) -> None:
        """Find the rows of ``level - 1``, and how those of ``level`` gather from them."""
        nodes, sizes = self._nodes[level], self._groups[level]
        total = self.source.graph.x.shape[0]
        group = repeat(torch.arange(len(sizes)), torch.tensor(sizes)).to(nodes.device)
        own = group * total + nodes  # a node of a group as one number
        if self.source.matrix is None:
            self._nodes[level - 1], self._groups[level - 1] = nodes, sizes
            self._own[level] = torch.arange(len(nodes), device=nodes.device)
            return
        counts, col, weight = self.source.matrix.take(nodes)
        if self._fanout is not None and self._draws is not None:
            counts, col, weight = _thinned(counts, col, weight, self._fanout, self._draws)
        seen = repeat(group, counts) * total + col
        keys, place = torch.cat([own, seen]).unique(return_inverse=True)
        self._nodes[level - 1] = keys % total
        self._groups[level - 1] = torch.bincount(keys // total, minlength=len(sizes)).tolist()
        self._own[level] = place[: len(nodes)]
        self._matrices[level] = SparseMatrix(pointers(counts), place[len(nodes) :], weight, len(keys))

    @property
    def most_rows(self) -> int:
        """Rows of the lowest level that has any."""
        return max(len(nodes) for nodes in self._nodes.values())

    def features(self, steps: int, level: int) -> Tensor:
        """Features after ``steps`` propagations at the rows of ``level``: ``N_l x d``. Computed once, kept."""
        if (steps, level) not in self._features:
            nodes = self._nodes[max(level, min(self._nodes))]
            once = self._draws is not None
            known = self.source.features(steps).index_select(0, nodes) if once else self._propagated(nodes, steps)
            self._features[steps, level] = known
        return self._features[steps, level]

    @property
    def lasting(self) -> bool:
        """Whether the batch is used again and again, so that what is computed once pays."""
        return self._draws is None

    def mostly_zero(self, steps: int, level: int = 1) -> SparseMatrix | None:
        """What :meth:`features` gives as a sparse matrix, where that makes products faster."""
        if not self.lasting:
            return None
        if (steps, level) not in self._sparse:
            rows = self.features(steps, level)
            share = float((rows != 0).double().mean()) if rows.numel() else 1.0
            self._sparse[steps, level] = SparseMatrix.of(rows) if share < _FEW else None
        return self._sparse[steps, level]

    def products(self, steps: int) -> list[Tensor]:
        """Products of the rows of level 1 with each other, by features after ``steps`` propagations, group by group.

        Computed once, kept.
        """
        if steps not in self._products:
            rows = self.features(steps, 1).split(self.groups(1))
            self._products[steps] = [part @ part.T for part in rows]
        return self._products[steps]

    def _propagated(self, nodes: Tensor, steps: int) -> Tensor:
        """Features of ``nodes`` after ``steps`` propagations, of those nodes alone that they are made of."""
        matrix, x = self.source.matrix, self.source.graph.x
        if steps == 0 or matrix is None:
            return x.index_select(0, nodes)
        counts, col, weight = matrix.take(nodes)
        seen, place = col.long().unique(return_inverse=True)
        below = self._propagated(seen, steps - 1)
        return SparseMatrix(pointers(counts), place, weight, len(seen)) @ below

    def propagate(self, h: Tensor, level: int) -> Tensor:
        """One propagation: rows of ``level - 1`` become rows of ``level``."""
        return h if self.source.matrix is None else self._matrices[level] @ h

    def propagate_back(self, h: Tensor, level: int) -> Tensor:
        """The transpose of :meth:`propagate`."""
        return h if self.source.matrix is None else self._matrices[level].T @ h

    def own(self, h: Tensor, level: int) -> Tensor:
        """Each row of ``level`` gets its own node's row of ``level - 1``."""
        return h.index_select(-2, self._own[level])

    def linear(self, h: Tensor, weight: Tensor, level: int) -> Tensor:
        """``h @ weight`` for the rows of ``level``."""
        if self.group_sizes is not None:
            return tied_linear(h, weight, self.groups(level))
        sparse = next((self.mostly_zero(*key) for key, known in self._features.items() if known is h), None)
        return h @ weight if sparse is None else sparse @ weight

    def add_bias(self, h: Tensor, bias: Tensor, level: int) -> Tensor:
        """``h + bias`` with ``bias`` of ``R x F`` (or ``C x F``)."""
        return h + bias.unsqueeze(1) if self.group_sizes is None else tied_bias(h, bias, self.groups(level))

    def rows(self, level: int) -> int:
        """Rows of ``level``."""
        return len(self._nodes[level])

    def groups(self, level: int) -> list[int]:
        """Rows of each group at ``level``."""
        return self._groups[max(level, min(self._nodes))]

    @cached_property
    def mean_weights(self) -> Tensor:
        """What each target counts in the mean of its group."""
        sizes = torch.tensor(self._groups[self.layers])
        return repeat(1 / sizes.to(torch.get_default_dtype()), sizes).to(self.y.device)


def _thinned(
    counts: Tensor, col: Tensor, weight: Tensor, most: int, draws: torch.Generator
) -> tuple[Tensor, Tensor, Tensor]:
    """At most ``most`` random entries of each row, weighed to keep a row's sum on average."""
    row = repeat(torch.arange(len(counts)), counts)
    order = np.lexsort((torch.rand(len(row), generator=draws).numpy(), row.numpy()))
    place = torch.arange(len(row)) - repeat(pointers(counts)[:-1], counts)
    kept = torch.from_numpy(order)[place < most]
    left = counts.clamp(max=most)
    scale = repeat(counts.to(weight.dtype) / left.clamp(min=1).to(weight.dtype), left)
    return left, col[kept], weight[kept] * scale
