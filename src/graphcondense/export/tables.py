"""Plain tables: ``graphs.csv``, ``nodes.csv`` and ``edges.csv`` for whatever reads CSV."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from graphcondense.export.networks import FACTS
from graphcondense.export.portable import joined, parts_of, reading
from graphcondense.files import parse_json, write_aside, write_json
from graphcondense.runs.folder import check_folder
from graphcondense.synthetic import CondensedDataset, CondensedGraph


def write_csv(condensed: CondensedDataset | CondensedGraph, folder: Path, *, force: bool = False) -> list[Path]:
    """Write a folder with a line a graph, a node and an edge, and ``facts.json`` for the rest.

    An undirected edge is there once. The label is a column of ``graphs.csv`` (soft: a column a class), in a node task
    of ``nodes.csv``. Features are ``x0``, ``x1`` and so on, with digits enough to be read back exactly.
    """
    check_folder(folder, force=force)
    graphs, facts = parts_of(condensed)
    node, soft = facts["task"] == "node", graphs[0].y.is_floating_point()
    weighted = graphs[0].get("edge_weight") is not None
    labels = [f"label{c}" for c in range(facts["num_classes"])] if soft else ["label"]
    features = [f"x{i}" for i in range(graphs[0].num_features)]
    graph_rows: list[list[Any]] = [["graph", "nodes", "edges", *([] if node else labels)]]
    node_rows: list[list[Any]] = [["graph", "node", *(labels if node else []), *features]]
    edge_rows: list[list[Any]] = [["graph", "source", "target", *(["weight"] if weighted else [])]]
    for number, graph in enumerate(graphs):
        kept = torch.ones_like(graph.edge_index[0], dtype=torch.bool)
        if not facts["directed"]:
            kept = graph.edge_index[0] < graph.edge_index[1]
        values = [_text(graph.edge_weight[kept])] if weighted else []
        edges = zip(*graph.edge_index[:, kept].tolist(), *values, strict=True)
        edge_rows += [[number, *edge] for edge in edges]
        own = _text(graph.y.reshape(len(graph.y), -1))
        node_rows += [[number, place, *(own[place] if node else []), *row] for place, row in enumerate(_text(graph.x))]
        graph_rows.append([number, graph.num_nodes, int(kept.sum()), *([] if node else own[0])])
    tables = {"graphs.csv": graph_rows, "nodes.csv": node_rows, "edges.csv": edge_rows}
    files = [write_aside(folder / name, _csv(rows).encode()) for name, rows in tables.items()]
    return [*files, write_json(folder / FACTS, facts)]


def _text(values: Tensor) -> list[Any]:
    """Numbers as text: nine digits bring every float32 back."""
    if values.dim() == 2:
        return [_text(row) for row in values]
    return [f"{value:.9g}" for value in values.tolist()] if values.is_floating_point() else values.tolist()


def _csv(rows: Iterable[Iterable[Any]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def read_csv(folder: Path) -> CondensedDataset | CondensedGraph:
    """Read what :func:`write_csv` wrote; lines of one graph may stand apart, but nodes are in their order."""
    with reading(folder):
        facts = parse_json((folder / FACTS).read_text(encoding="utf-8"))
        graphs = _rows(folder / "graphs.csv")
        nodes, edges = (_by_graph(_rows(folder / f"{name}.csv")) for name in ("nodes", "edges"))
        return joined([_graph(row, nodes[row["graph"]], edges[row["graph"]], facts) for row in graphs], facts)


def _by_graph(rows: list[dict[str, str]]) -> defaultdict[str, list[dict[str, str]]]:
    groups: defaultdict[str, list[dict[str, str]]] = defaultdict(list)
    for row in rows:
        groups[row["graph"]].append(row)
    return groups


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def _graph(row: dict[str, str], own: list[dict[str, str]], pairs: list[dict[str, str]], facts: dict[str, Any]) -> Data:
    if not own:
        raise ValueError(f"graph {row['graph']} has no node in nodes.csv")
    labelled = own if facts["task"] == "node" else [row]
    names = [name for name in labelled[0] if name.startswith("label")]
    features = [name for name in own[0] if name.startswith("x")]
    if len(own) != int(row["nodes"]) or len(pairs) != int(row["edges"]):
        raise ValueError(f"graph {row['graph']} has {len(own)} nodes and {len(pairs)} edges, graphs.csv says otherwise")
    x = torch.tensor([[float(node[name]) for name in features] for node in own])
    index = torch.tensor([[int(edge["source"]), int(edge["target"])] for edge in pairs], dtype=torch.long)
    index = index.reshape(-1, 2).t()
    if names == ["label"]:
        y = torch.tensor([int(one["label"]) for one in labelled])
    else:
        y = torch.tensor([[float(one[name]) for name in names] for one in labelled])
    weights = torch.tensor([float(edge["weight"]) for edge in pairs]) if pairs and "weight" in pairs[0] else None
    if not facts["directed"]:
        index = torch.cat([index, index.flip(0)], dim=1)
        weights = None if weights is None else weights.repeat(2)
    return Data(x=x, edge_index=index, y=y, **({} if weights is None else {"edge_weight": weights}))
