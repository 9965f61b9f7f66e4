"""DGL: one binary file of its own, where DGL is installed."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import torch
from torch_geometric.data import Data

from graphcondense.errors import MissingDataError
from graphcondense.export.portable import check_new_file, parts_of
from graphcondense.synthetic import CondensedDataset, CondensedGraph


def _dgl() -> Any:
    try:
        return importlib.import_module("dgl")
    except ImportError as error:
        raise MissingDataError(
            f"DGL is not installed ({error}): pip install 'graphcondense[dgl]' where DGL has a build for this PyTorch, "
            "or choose another --format"
        ) from None


def to_dgl(condensed: CondensedDataset | CondensedGraph) -> tuple[list[Any], torch.Tensor]:
    """Graphs of DGL with ``ndata["feat"]`` (node tasks: and ``ndata["label"]``), and the labels of the graphs."""
    dgl = _dgl()
    graphs, facts = parts_of(condensed)
    made = [_graph(dgl, graph, facts["task"] == "node") for graph in graphs]
    return made, torch.cat([graph.y for graph in graphs])


def _graph(dgl: Any, graph: Data, node: bool) -> Any:
    made = dgl.graph((graph.edge_index[0], graph.edge_index[1]), num_nodes=graph.num_nodes)
    made.ndata["feat"] = graph.x
    if node:
        made.ndata["label"] = graph.y
    if graph.get("edge_weight") is not None:
        made.edata["weight"] = graph.edge_weight
    return made


def write_dgl(condensed: CondensedDataset | CondensedGraph, path: Path, *, force: bool = False) -> list[Path]:
    """Write what ``dgl.load_graphs`` reads: the graphs, and ``{"label": ...}``."""
    dgl = _dgl()
    check_new_file(path, ".bin", force=force)
    graphs, labels = to_dgl(condensed)
    path.parent.mkdir(parents=True, exist_ok=True)
    dgl.save_graphs(str(path), graphs, {"label": labels})
    return [path]
