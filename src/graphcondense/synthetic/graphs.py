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

    Args:
        start: the graphs to start from, ``C * m`` of them, class after class, none with more than ``nodes`` nodes.
        num_classes: ``C``.
        nodes: ``n``.
        pad: whether every graph gets exactly ``n`` nodes, the missing ones isolated with zero features (the paper's
            way). Otherwise each graph keeps the number of nodes that it started with.
        strength: logit of an edge at the start.
    """

    def __init__(self, start: GraphStore, num_classes: int, nodes: int, pad: bool = True, strength: float = 5.0):
        self.num_classes, self.per_class = num_classes, len(start) // num_classes
        self.labels = start.y
        shape = (num_classes, self.per_class, nodes)
        adjacency, x, exists = pad_graphs(start, nodes)
        self.num_nodes = torch.full_like(start.num_nodes, nodes) if pad else start.num_nodes
        self.node_mask = None if pad else exists.view(shape)
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
            adjacency, x = adjacency.flatten(0, 1).unsqueeze(0), x.flatten(0, 1).unsqueeze(0)
            mask = None if mask is None else mask.flatten(0, 1).unsqueeze(0)
        return DenseBatch(adjacency, x, propagation, mask)

    def result(self) -> GraphStore:
        """The learned graphs, discrete, as plain graphs."""
        adjacency = self.structure.discrete().flatten(0, 1)
        return unpad_graphs(
            adjacency, self.x.detach().flatten(0, 1), self.num_nodes, self.labels, self.structure.directed
        )


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
