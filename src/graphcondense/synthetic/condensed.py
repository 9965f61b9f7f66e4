"""The result of a condensation: a few plain graphs, and how they came about."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from graphcondense.errors import FileFormatError
from graphcondense.graphs import GraphStore, pointers
from graphcondense.synthetic import file
from graphcondense.synthetic.categories import Categories
from graphcondense.synthetic.pyg import CondensedInMemory


@dataclass(frozen=True, eq=False)
class CondensedDataset:
    """Small labelled graphs that stand for a large dataset.

    Args:
        graphs: the graphs, with labels (or soft labels) in ``graphs.y``.
        num_classes: number of classes.
        metric: how the dataset they stand for is scored.
        info: where they came from: dataset, method, settings, seed, versions. Plain JSON values only.
        history: what each iteration reported, one dict each. Not written into the file.
        categories: what the features are, where they were snapped to categories; the file is smaller then.

    >>> from graphcondense import load, RandomSelection
    >>> condensed = RandomSelection(graphs_per_class=1).condense(load("digits"))
    >>> len(condensed), condensed.num_classes, condensed.to_pyg()[3].y.item()
    (10, 10, 3)
    """

    graphs: GraphStore
    num_classes: int
    metric: str = "accuracy"
    info: dict[str, Any] = field(default_factory=dict)
    history: list[dict[str, float]] = field(default_factory=list, repr=False)
    categories: Categories | None = None

    def __len__(self) -> int:
        return len(self.graphs)

    @property
    def labels(self) -> Tensor:
        """Hard label of each graph (the likeliest class of a soft one)."""
        return self.graphs.y if self.graphs.y.dim() == 1 else self.graphs.y.argmax(1)

    @property
    def num_bytes(self) -> int:
        """Bytes of the file that :meth:`save` writes, all of it."""
        return len(file.serialise(self.graphs, self._header, categories=self.categories))

    @property
    def _header(self) -> dict[str, Any]:
        return {"num_classes": self.num_classes, "metric": self.metric, "info": self.info}

    def to_pyg(self) -> list[Data]:
        """The graphs as PyG objects, ready for a ``DataLoader``."""
        return self.graphs.to_pyg()

    def to_pyg_dataset(self, transform: Callable[[Data], Any] | None = None) -> CondensedInMemory:
        """The graphs as a PyG ``InMemoryDataset``; ``transform`` is called with each graph that is taken out."""
        return CondensedInMemory(self.to_pyg(), self.num_classes, self.info.get("dataset", "condensed"), transform)

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write one ``.safetensors`` file; the same graphs and info always give the same bytes."""
        return file.write(Path(path), self.graphs, self._header, categories=self.categories, force=force)

    @staticmethod
    def load(path: str | Path) -> CondensedDataset:
        """Read a file that :meth:`save` wrote; everything in it is checked."""
        loaded = load_condensed(path)
        if not isinstance(loaded, CondensedDataset):
            raise FileFormatError(f"{path} holds a condensed graph of a node task: load it with gc.CondensedGraph.load")
        return loaded

    def __repr__(self) -> str:
        name = self.info.get("dataset", "?")
        return (
            f"CondensedDataset({name}, {len(self)} graphs, {int(self.graphs.num_nodes.sum())} nodes, "
            f"{int(self.graphs.num_edges.sum())} edges, {self.num_bytes:,} bytes)"
        )


@dataclass(frozen=True, eq=False)
class CondensedGraph:
    """One small graph with labelled nodes that stands for a large one.

    Args:
        graph: the graph; ``graph.y`` has a label a node.
        num_classes: number of classes.
        weights: of the edges, in their order, where they have any; edges are 0/1 otherwise.
        metric: how the dataset it stands for is scored.
        info: where it came from: dataset, method, settings, seed, versions. Plain JSON values only.
        history: what each iteration reported, one dict each. Not written into the file.
        categories: what the features are, where they were snapped to categories; the file is smaller then.
    """

    graph: GraphStore
    num_classes: int
    weights: Tensor | None = None
    metric: str = "accuracy"
    info: dict[str, Any] = field(default_factory=dict)
    history: list[dict[str, float]] = field(default_factory=list, repr=False)
    categories: Categories | None = None

    @staticmethod
    def from_adjacency(
        adjacency: Tensor, x: Tensor, labels: Tensor, num_classes: int, weighted: bool
    ) -> CondensedGraph:
        """From a dense adjacency, ``n x n``; ``[i, j]`` is the edge from ``j`` to ``i``."""
        target, source = adjacency.nonzero(as_tuple=True)  # sorted by target and source
        edges = torch.stack([source, target])
        graph = GraphStore(x, edges, torch.tensor([0, len(x)]), pointers(torch.tensor([edges.shape[1]])), labels)
        return CondensedGraph(graph, num_classes, adjacency[target, source] if weighted else None)

    def __len__(self) -> int:
        return int(self.graph.x.shape[0])

    @property
    def labels(self) -> Tensor:
        """Label of each node."""
        return self.graph.y

    @property
    def adjacency(self) -> Tensor:
        """Dense, ``n x n``."""
        dense = self.graph.x.new_zeros(len(self), len(self))
        source, target = self.graph.edge_index
        dense[target, source] = 1.0 if self.weights is None else self.weights
        return dense

    @property
    def num_bytes(self) -> int:
        """Bytes of the file that :meth:`save` writes, all of it."""
        return len(file.serialise(self.graph, self._header, self.weights, self.categories))

    @property
    def dense_bytes(self) -> int:
        """Bytes of the same file if it had a dense adjacency of floats, 4 bytes a pair of nodes, instead of bits."""
        nodes = len(self)
        bits = (nodes * (nodes - 1) // 2 + 7) // 8
        listed = 0 if self.weights is None else 4 * self.weights.numel()
        return self.num_bytes - bits - listed + 4 * nodes**2

    @property
    def _header(self) -> dict[str, Any]:
        return {"num_classes": self.num_classes, "metric": self.metric, "info": self.info, "task": "node"}

    def to_pyg(self) -> Data:
        """The graph as a PyG object with a label a node, all of them for training."""
        data = Data(x=self.graph.x.clone(), edge_index=self.graph.edge_index.clone(), y=self.graph.y.clone())
        if self.weights is not None:
            data.edge_weight = self.weights.clone()
        data.train_mask = torch.ones(len(self), dtype=torch.bool)
        return data

    def to_pyg_dataset(self, transform: Callable[[Data], Any] | None = None) -> CondensedInMemory:
        """The graph as a PyG ``InMemoryDataset`` of one, as PyG's own node datasets are."""
        return CondensedInMemory([self.to_pyg()], self.num_classes, self.info.get("dataset", "condensed"), transform)

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write one ``.safetensors`` file; the same graph and info always give the same bytes."""
        return file.write(Path(path), self.graph, self._header, self.weights, self.categories, force=force)

    @staticmethod
    def load(path: str | Path) -> CondensedGraph:
        """Read a file that :meth:`save` wrote; everything in it is checked."""
        loaded = load_condensed(path)
        if not isinstance(loaded, CondensedGraph):
            raise FileFormatError(
                f"{path} holds condensed graphs of a graph task: load it with gc.CondensedDataset.load"
            )
        return loaded

    def __repr__(self) -> str:
        return (
            f"CondensedGraph({self.info.get('dataset', '?')}, {len(self)} nodes, {int(self.graph.num_edges.sum())} "
            f"edges, {self.num_bytes:,} bytes)"
        )


def load_condensed(path: str | Path) -> CondensedDataset | CondensedGraph:
    """Read a condensed file, whichever task it is of."""
    content = file.read(Path(path))
    header = {name: content.header[name] for name in ("num_classes", "metric", "info")}
    if content.header["task"] == "node":
        return CondensedGraph(content.graphs, weights=content.weights, categories=content.categories, **header)
    return CondensedDataset(content.graphs, categories=content.categories, **header)


def summary(condensed: CondensedDataset | CondensedGraph) -> dict[str, Any]:
    """Sizes of a condensed dataset, as the command line and the run folder print them."""
    if isinstance(condensed, CondensedGraph):
        graph = condensed.graph
        return {
            "graphs": 1,
            "nodes_per_class": torch.bincount(condensed.labels, minlength=condensed.num_classes).tolist(),
            "nodes": len(condensed),
            "edges": int(graph.num_edges.sum()),
            "weighted": condensed.weights is not None,
            "features": graph.num_features,
            "bytes": condensed.num_bytes,
            "dense_bytes": condensed.dense_bytes,
            "density": round(density(graph), 6),
        }
    graphs = condensed.graphs
    return {
        "graphs": len(condensed),
        "graphs_per_class": torch.bincount(condensed.labels, minlength=condensed.num_classes).tolist(),
        "labels": "soft: counted by the likeliest class" if graphs.y.is_floating_point() else "classes",
        "nodes": int(graphs.num_nodes.sum()),
        "edges": int(graphs.num_edges.sum()),
        "features": graphs.num_features,
        "directed": graphs.directed,
        "bytes": condensed.num_bytes,
        "density": round(density(graphs), 6),
    }


def density(graphs: GraphStore) -> float:
    """Share of node pairs that are edges: the paper's sparsity, edges (both directions) over squared nodes."""
    pairs = int(graphs.num_nodes.square().sum())
    return float(graphs.edge_index.shape[1]) / pairs if pairs else 0.0


def json_safe(value: Any) -> Any:
    """``value`` after a round trip through JSON: tuples become lists, so what is saved equals what is loaded."""
    return json.loads(json.dumps(value))
