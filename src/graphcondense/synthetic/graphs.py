"""The learned graphs: a start from real ones, structure and features to optimise, and the discrete result."""

from __future__ import annotations

import torch
from torch import Tensor

from graphcondense.errors import InputError
from graphcondense.graphs import GraphStore, pointers, ranges
from graphcondense.synthetic.dense import DenseBatch
from graphcondense.synthetic.structure import BernoulliStructure


class SyntheticGraphs:
    """``C x m`` graphs with room for ``n`` nodes each.

    Where classes have different numbers of graphs, ``m`` is the largest, and the places that are left over hold graphs
    without nodes: they count for nothing, and are not in the result.

    Args:
        start: the graphs to start from, class after class, none with more than ``nodes`` nodes.
        num_classes: ``C``.
        nodes: ``n``.
        pad: whether every graph gets exactly ``n`` nodes, the missing ones isolated with zero features (the paper's
            way). Otherwise each graph keeps the number of nodes that it started with.
        strength: logit of an edge at the start.
    """

    def __init__(self, start: GraphStore, num_classes: int, nodes: int, pad: bool = True, strength: float = 5.0):
        self.num_classes, self.labels = num_classes, start.y
        self.counts = torch.bincount(start.y, minlength=num_classes)
        self.per_class = int(self.counts.max())
        self.places = self._places()
        shape = (num_classes, self.per_class, nodes)
        adjacency, x, exists = (self._spread(part) for part in pad_graphs(start, nodes))
        if pad:
            exists = self._spread(torch.ones(len(start), nodes, dtype=torch.bool, device=start.x.device))
        self.num_nodes = torch.full_like(start.num_nodes, nodes) if pad else start.num_nodes
        self.node_mask = None if pad and self.places is None else exists.view(shape)
        self.x = x.view(*shape, -1).clone().requires_grad_()
        self.structure = BernoulliStructure(adjacency.view(*shape, nodes), self.node_mask, strength, start.directed)
        self.start_density = float(adjacency.mean())

    @property
    def learned(self) -> list[Tensor]:
        """What an optimiser moves: features and logits."""
        return [self.x, self.structure.logits]

    def batch(self, adjacency: Tensor, propagation: str, joint: bool = False) -> DenseBatch:
        """The graphs with a given adjacency, one group a class, or all in one group when ``joint``."""
        x, mask = self.x, self.node_mask
        if joint:
            adjacency, x = self._all(adjacency).unsqueeze(0), self._all(x).unsqueeze(0)
            mask = None if mask is None else self._all(mask).unsqueeze(0)
        return DenseBatch(adjacency, x, propagation, mask)

    def result(self) -> GraphStore:
        """The learned graphs, discrete, as plain graphs."""
        adjacency, x = self._all(self.structure.discrete()), self._all(self.x.detach())
        return unpad_graphs(adjacency, x, self.num_nodes, self.labels, self.structure.directed)

    def labels_and_weights(self, joint: bool = False) -> tuple[Tensor, Tensor]:
        """Label of each graph of :meth:`batch`, and its weight in the mean of its group: ``groups x graphs`` each."""
        if joint:
            return self.labels.view(1, -1), torch.full((1, len(self.labels)), 1 / len(self.labels))
        if self.places is None:
            shape = (self.num_classes, self.per_class)
            return self.labels.view(shape), torch.full(shape, 1 / self.per_class)
        labels = torch.arange(self.num_classes).unsqueeze(1).expand(-1, self.per_class)
        exists = torch.arange(self.per_class) < self.counts.unsqueeze(1)
        return labels, exists / self.counts.unsqueeze(1)

    def _places(self) -> Tensor | None:
        """Where each graph stands among ``C * m``; ``None`` where all places are taken."""
        if len(self.labels) == self.num_classes * self.per_class:
            return None
        first = pointers(self.counts)[self.labels]
        return self.labels * self.per_class + torch.arange(len(self.labels)) - first

    def _spread(self, rows: Tensor) -> Tensor:
        """One row a graph as one row a place, zero where no graph is."""
        if self.places is None:
            return rows
        spread = rows.new_zeros(self.num_classes * self.per_class, *rows.shape[1:])
        spread[self.places] = rows
        return spread

    def _all(self, grouped: Tensor) -> Tensor:
        """``C x m x ...`` as one row a graph."""
        flat = grouped.flatten(0, 1)
        return flat if self.places is None else flat[self.places]


def pad_graphs(graphs: GraphStore, nodes: int) -> tuple[Tensor, Tensor, Tensor]:
    """Dense twins with room for ``nodes`` nodes: adjacency ``G x n x n``, features ``G x n x d``, mask ``G x n``."""
    largest = int(graphs.num_nodes.max())
    if largest > nodes:
        raise InputError(f"a graph with {largest} nodes does not fit into nodes={nodes}: raise nodes to {largest}")
    total, device = len(graphs), graphs.x.device
    graph = graphs.graph_of_node
    place = torch.arange(graph.numel(), device=device) - graphs.node_ptr[graph]
    x = graphs.x.new_zeros(total, nodes, graphs.num_features)
    x[graph, place] = graphs.x
    adjacency = graphs.x.new_zeros(total, nodes, nodes)
    source, target = graphs.edge_index
    adjacency[graph[target], place[target], place[source]] = 1.0
    exists = torch.arange(nodes, device=device) < graphs.num_nodes.unsqueeze(1)
    return adjacency, x, exists


def unpad_graphs(adjacency: Tensor, x: Tensor, num_nodes: Tensor, y: Tensor, directed: bool) -> GraphStore:
    """The plain graphs behind dense ones: the inverse of :func:`pad_graphs`."""
    nodes = x.shape[1]
    node_ptr = pointers(num_nodes)
    graph, target, source = adjacency.nonzero(as_tuple=True)
    edge_counts = torch.bincount(graph, minlength=len(num_nodes))
    starts = torch.arange(len(num_nodes), device=x.device) * nodes
    return GraphStore(
        x=x.reshape(-1, x.shape[2])[ranges(starts, num_nodes)],
        edge_index=torch.stack([source, target]) + node_ptr[graph],
        node_ptr=node_ptr,
        edge_ptr=pointers(edge_counts),
        y=y,
        directed=directed,
    )
