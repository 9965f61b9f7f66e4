"""All graphs of a dataset in a few flat arrays: no Python object a graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data


def pointers(counts: Tensor) -> Tensor:
    """Where each of consecutive runs of ``counts`` items starts, and where the last one ends.

    >>> pointers(torch.tensor([3, 0, 2])).tolist()
    [0, 3, 3, 5]
    """
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)])


def ranges(starts: Tensor, counts: Tensor) -> Tensor:
    """The concatenation of ``start, start + 1, ..., start + count - 1`` over all runs.

    >>> ranges(torch.tensor([7, 2]), torch.tensor([2, 3])).tolist()
    [7, 8, 2, 3, 4]
    """
    shift = repeat(starts - counts.cumsum(0) + counts, counts)
    return torch.arange(shift.numel(), dtype=shift.dtype, device=shift.device).add_(shift)


def repeat(values: Tensor, counts: Tensor) -> Tensor:
    """Each value as often as its count says: ``torch.repeat_interleave``, five times faster on a CPU by NumPy.

    >>> repeat(torch.tensor([7, 2]), torch.tensor([2, 3])).tolist()
    [7, 7, 2, 2, 2]
    """
    if values.device.type != "cpu":
        return torch.repeat_interleave(values, counts)
    return torch.from_numpy(np.repeat(values.numpy(), counts.numpy()))


@dataclass(frozen=True, eq=False, repr=False)
class GraphStore:
    """Many graphs in flat arrays; graph ``g`` owns nodes ``node_ptr[g]:node_ptr[g + 1]`` and the edges likewise.

    Args:
        x: node features, ``num_nodes x num_features``, float32.
        edge_index: ``2 x num_edges``, source and target as positions in ``x``, grouped by graph. An undirected edge
            is there in both directions. No loops, no repeats.
        node_ptr: ``num_graphs + 1``.
        edge_ptr: ``num_graphs + 1``.
        y: labels, ``num_graphs`` whole numbers, or ``num_graphs x num_classes`` probabilities (soft labels).
        directed: whether some edge lacks its inverse.

    >>> store = GraphStore.from_data_list([Data(x=torch.eye(2), edge_index=torch.tensor([[0, 1], [1, 0]]), y=1)])
    >>> store.num_graphs, store.num_nodes.tolist(), store[0].num_edges
    (1, [2], 2)
    """

    x: Tensor
    edge_index: Tensor
    node_ptr: Tensor
    edge_ptr: Tensor
    y: Tensor
    directed: bool = False

    @staticmethod
    def from_data_list(graphs: Sequence[Data], directed: bool | None = None) -> GraphStore:
        """Lay clean PyG graphs (2-d float ``x``, ``edge_index``, ``y``) end to end.

        This is the plain conversion; :func:`graphcondense.graph_task` checks and cleans first.
        """
        counts = torch.tensor([int(g.x.shape[0]) for g in graphs], dtype=torch.long)
        node_ptr = pointers(counts)
        edge_counts = torch.tensor([int(g.edge_index.shape[1]) for g in graphs], dtype=torch.long)
        local = torch.cat([g.edge_index for g in graphs], dim=1).long()
        edge_index = local + repeat(node_ptr[:-1], edge_counts)
        store = GraphStore(
            x=torch.cat([g.x for g in graphs]).float(),
            edge_index=edge_index,
            node_ptr=node_ptr,
            edge_ptr=pointers(edge_counts),
            y=_stack_labels(graphs),
        )
        return replace(store, directed=store.has_one_way_edges() if directed is None else directed)

    @property
    def num_graphs(self) -> int:
        """How many graphs there are."""
        return self.node_ptr.numel() - 1

    @property
    def num_nodes(self) -> Tensor:
        """Nodes of each graph, ``num_graphs``."""
        return self.node_ptr.diff()

    @property
    def num_edges(self) -> Tensor:
        """Edges of each graph (an undirected edge counts once), ``num_graphs``."""
        return self.edge_ptr.diff() if self.directed else self.edge_ptr.diff() // 2

    @property
    def num_features(self) -> int:
        """Width of a feature row."""
        return int(self.x.shape[1])

    @property
    def graph_of_node(self) -> Tensor:
        """The graph that each node belongs to, ``num_nodes`` (PyG calls it ``batch``)."""
        return repeat(torch.arange(self.num_graphs, device=self.x.device), self.num_nodes)

    def __len__(self) -> int:
        return self.num_graphs

    def __repr__(self) -> str:
        nodes, edges = int(self.node_ptr[-1]), int(self.num_edges.sum())
        return f"GraphStore({len(self)} graphs, {nodes} nodes, {edges} edges, {self.num_features} features)"

    def __getitem__(self, index: int) -> Data:
        if not -len(self) <= index < len(self):
            raise IndexError(f"graph {index} of {len(self)}")
        index %= len(self)
        nodes = slice(int(self.node_ptr[index]), int(self.node_ptr[index + 1]))
        edges = slice(int(self.edge_ptr[index]), int(self.edge_ptr[index + 1]))
        return Data(
            x=self.x[nodes].clone(),
            edge_index=self.edge_index[:, edges] - nodes.start,
            y=self.y[index : index + 1].clone(),
        )

    def to_pyg(self) -> list[Data]:
        """The graphs as PyG objects, ready for a ``DataLoader``."""
        return list(self)

    def __iter__(self) -> Iterator[Data]:
        return (self[i] for i in range(len(self)))

    def subset(self, index: Tensor) -> GraphStore:
        """The graphs at ``index`` (from 0), in that order; a graph may come more than once."""
        counts, edge_counts = self.num_nodes[index], self.edge_ptr.diff()[index]
        nodes = ranges(self.node_ptr[index], counts)
        edges = ranges(self.edge_ptr[index], edge_counts)
        node_ptr = pointers(counts)
        shift = repeat(node_ptr[:-1] - self.node_ptr[index], edge_counts)
        return GraphStore(
            x=self.x[nodes],
            edge_index=self.edge_index[:, edges] + shift,
            node_ptr=node_ptr,
            edge_ptr=pointers(edge_counts),
            y=self.y[index],
            directed=self.directed,
        )

    def induced(self, nodes: Tensor) -> GraphStore:
        """The subgraph of ``nodes`` (of a store with one graph whose ``y`` has a label a node), in that order."""
        place = torch.full((self.x.shape[0],), -1, dtype=torch.long, device=self.x.device)
        place[nodes] = torch.arange(len(nodes), device=self.x.device)
        edges = place[self.edge_index]
        edges = edges[:, (edges >= 0).all(0)]
        order = torch.argsort(edges[0] * len(nodes) + edges[1])
        return GraphStore(
            x=self.x[nodes],
            edge_index=edges[:, order],
            node_ptr=torch.tensor([0, len(nodes)]),
            edge_ptr=torch.tensor([0, edges.shape[1]]),
            y=self.y[nodes],
            directed=self.directed,
        )

    def to(self, device: torch.device | str) -> GraphStore:
        """The same graphs on another device."""
        arrays = {k: getattr(self, k).to(device) for k in ("x", "edge_index", "node_ptr", "edge_ptr", "y")}
        return replace(self, **arrays)

    def has_one_way_edges(self) -> bool:
        """Whether some edge lacks its inverse."""
        total = int(self.node_ptr[-1])
        forward = (self.edge_index[0] * total + self.edge_index[1]).sort().values
        backward = (self.edge_index[1] * total + self.edge_index[0]).sort().values
        return not torch.equal(forward, backward)


def pair_counts(num_nodes: Tensor, directed: bool) -> Tensor:
    """Bits that the structure of each graph takes: all pairs when directed, else the upper triangle."""
    return num_nodes * num_nodes if directed else num_nodes * (num_nodes - 1) // 2


def payload_bytes(graphs: GraphStore, feature_bytes: int | None = None) -> int:
    """Bytes of the arrays that a condensed file would store for ``graphs``, without the header.

    Used for condensed and for real graphs alike, so that the two can be compared.

    Args:
        graphs: the graphs.
        feature_bytes: what their features take, where these are not stored as floats.
    """
    bits = int(pair_counts(graphs.num_nodes, graphs.directed).sum())
    features = graphs.x.numel() * 4 if feature_bytes is None else feature_bytes
    return (bits + 7) // 8 + features + graphs.y.numel() * 4 + len(graphs) * 4


def _stack_labels(graphs: Sequence[Data]) -> Tensor:
    """Hard labels as one row of whole numbers; soft ones, ``1 x num_classes`` a graph, as a matrix."""
    first = torch.as_tensor(graphs[0].y)
    if first.is_floating_point() and first.numel() > 1:
        return torch.stack([torch.as_tensor(g.y).reshape(-1) for g in graphs]).float()
    return torch.tensor([int(g.y) for g in graphs], dtype=torch.long)
