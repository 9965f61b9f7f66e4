"""The result of a condensation: a few plain graphs, and how they came about."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from graphcondense.graphs import GraphStore
from graphcondense.synthetic import file


@dataclass(frozen=True, eq=False)
class CondensedDataset:
    """Small labelled graphs that stand for a large dataset.

    Args:
        graphs: the graphs, with labels (or soft labels) in ``graphs.y``.
        num_classes: number of classes.
        metric: how the dataset they stand for is scored.
        info: where they came from: dataset, method, settings, seed, versions. Plain JSON values only.
        history: what each iteration reported, one dict each. Not written into the file.

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

    def __len__(self) -> int:
        return len(self.graphs)

    @property
    def labels(self) -> Tensor:
        """Hard label of each graph (the likeliest class of a soft one)."""
        return self.graphs.y if self.graphs.y.dim() == 1 else self.graphs.y.argmax(1)

    @property
    def num_bytes(self) -> int:
        """Bytes of the file that :meth:`save` writes, all of it."""
        return len(file.serialise(self.graphs, self._header))

    @property
    def _header(self) -> dict[str, Any]:
        return {"num_classes": self.num_classes, "metric": self.metric, "info": self.info}

    def to_pyg(self) -> list[Data]:
        """The graphs as PyG objects, ready for a ``DataLoader``."""
        return self.graphs.to_pyg()

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write one ``.safetensors`` file; the same graphs and info always give the same bytes."""
        return file.write(Path(path), self.graphs, self._header, force=force)

    @staticmethod
    def load(path: str | Path) -> CondensedDataset:
        """Read a file that :meth:`save` wrote; everything in it is checked."""
        graphs, header = file.read(Path(path))
        return CondensedDataset(graphs, header["num_classes"], header["metric"], header["info"])

    def __repr__(self) -> str:
        name = self.info.get("dataset", "?")
        return (
            f"CondensedDataset({name}, {len(self)} graphs, {int(self.graphs.num_nodes.sum())} nodes, "
            f"{int(self.graphs.num_edges.sum())} edges, {self.num_bytes:,} bytes)"
        )


def summary(condensed: CondensedDataset) -> dict[str, Any]:
    """Sizes of a condensed dataset, as the command line and the run folder print them."""
    graphs = condensed.graphs
    return {
        "graphs": len(condensed),
        "graphs_per_class": torch.bincount(condensed.labels, minlength=condensed.num_classes).tolist(),
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
