"""Small made-up graphs for tests."""

from __future__ import annotations

import torch
from torch_geometric.data import Data

from graphcondense.datasets import graph_task, node_task
from graphcondense.graphs import GraphStore
from graphcondense.tasks import GraphTask, NodeTask


def random_graph(
    source: torch.Generator, nodes: int, kinds: int = 3, density: float = 0.3, label: int = 0, directed: bool = False
) -> Data:
    """A random graph with one-hot features of ``kinds`` kinds."""
    edges = torch.rand(nodes, nodes, generator=source) < density
    edges = edges & ~torch.eye(nodes, dtype=torch.bool)
    if not directed:
        edges = edges.triu(1)
        edges = edges | edges.T
    x = torch.eye(kinds)[torch.randint(kinds, (nodes,), generator=source)]
    return Data(x=x, edge_index=edges.nonzero().T.contiguous(), y=torch.tensor([label]))


def random_store(graphs: int = 12, seed: int = 0, classes: int = 2, directed: bool = False) -> GraphStore:
    """Random graphs of 1 to 8 nodes, classes taking turns."""
    source = torch.Generator().manual_seed(seed)
    sizes = [1, *(int(torch.randint(2, 9, (1,), generator=source)) for _ in range(graphs - 1))]
    data = [random_graph(source, n, label=i % classes, directed=directed) for i, n in enumerate(sizes)]
    return GraphStore.from_data_list(data, directed=directed)


def toy_task(graphs: int = 120, seed: int = 0, metric: str = "accuracy") -> GraphTask:
    """Two classes that differ in density and in the nodes' kinds: easy to learn."""
    source = torch.Generator().manual_seed(seed)
    data = []
    for position in range(graphs):
        label = position % 2
        nodes = int(torch.randint(4, 9, (1,), generator=source))
        graph = random_graph(source, nodes, kinds=4, density=0.2 + 0.5 * label, label=label)
        flip = torch.rand(nodes, generator=source) < 0.7
        graph.x[flip] = torch.eye(4)[label]
        data.append(graph)
    return graph_task(data, name="toy", metric=metric)


def random_nodes(
    nodes: int = 30, seed: int = 0, classes: int = 3, features: int = 5, density: float = 0.1
) -> GraphStore:
    """One random undirected graph in double precision, a label a node; its last node has no neighbour."""
    source = torch.Generator().manual_seed(seed)
    edges = (torch.rand(nodes, nodes, generator=source) < density).triu(1)
    edges[:, -1] = False
    pairs = (edges | edges.T).nonzero().T.contiguous()
    x = torch.randn(nodes, features, generator=source, dtype=torch.float64)
    y = torch.randint(classes, (nodes,), generator=source)
    return GraphStore(x, pairs, torch.tensor([0, nodes]), torch.tensor([0, pairs.shape[1]]), y)


def node_data(nodes: int = 90, seed: int = 0) -> Data:
    """Three classes of unequal size that differ in their features and keep to themselves: easy to learn.

    No two nodes have the same features, so a node can be told by them. A third of the nodes is for training.
    """
    source = torch.Generator().manual_seed(seed)
    y = torch.tensor([0, 1, 0, 2, 1, 0]).repeat(nodes // 6)
    alike = y.unsqueeze(0) == y.unsqueeze(1)
    edges = (torch.rand(nodes, nodes, generator=source) < alike * 0.12 + 0.01).triu(1)
    x = 0.3 * torch.randn(nodes, 6, generator=source)
    x[torch.arange(nodes), y] += 1
    data = Data(x=x, edge_index=(edges | edges.T).nonzero().T.contiguous(), y=y)
    part = torch.arange(nodes) // 6 % 3
    data.train_mask, data.val_mask, data.test_mask = part == 0, part == 1, part == 2
    return data


def toy_nodes(nodes: int = 90, seed: int = 0, inductive: bool = False) -> NodeTask:
    """The task of :func:`node_data`."""
    return node_task(node_data(nodes, seed), name="toy nodes", inductive=inductive)
