"""Small made-up graphs for tests."""

from __future__ import annotations

import torch
from torch_geometric.data import Data

from graphcondense.datasets import graph_task
from graphcondense.graphs import GraphStore
from graphcondense.tasks import GraphTask


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
