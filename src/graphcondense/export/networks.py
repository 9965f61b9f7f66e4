"""NetworkX: graphs in its own classes, as its node-link JSON, and as GraphML with one file a graph."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import networkx as nx
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import from_networkx
from torch_geometric.utils import to_networkx as pyg_to_networkx

from graphcondense.export.portable import check_new_file, joined, parts_of, reading
from graphcondense.files import check_xml, parse_json, write_aside, write_json
from graphcondense.runs.folder import check_folder
from graphcondense.synthetic import CondensedDataset, CondensedGraph

FACTS = "facts.json"
_LABELS = "labels.csv"


def to_networkx(condensed: CondensedDataset | CondensedGraph) -> list[Any]:
    """One ``nx.Graph`` (``nx.DiGraph`` where edges have a direction) a graph.

    A node has ``x``, its features. A graph has ``y``, its label; in a node task each node has its own ``y``. Edges
    have a ``weight`` where the condensed graph has any.
    """
    graphs, facts = parts_of(condensed)
    node = facts["task"] == "node"
    made = []
    for graph in graphs:
        weighted = graph.get("edge_weight") is not None
        if weighted:
            graph.weight = graph.edge_weight
        network = pyg_to_networkx(
            graph,
            node_attrs=["x", "y"] if node else ["x"],
            edge_attrs=["weight"] if weighted else None,
            to_undirected=not facts["directed"],
        )
        if not node:
            soft = graph.y.is_floating_point()
            network.graph["y"] = graph.y.flatten().tolist() if soft else int(graph.y)
        made.append(network)
    return made


def write_json_graphs(condensed: CondensedDataset | CondensedGraph, path: Path, *, force: bool = False) -> list[Path]:
    """Write one ``.json``: for each graph what ``nx.node_link_graph(graph, edges="edges")`` reads."""
    check_new_file(path, ".json", force=force)
    graphs = [nx.node_link_data(graph, edges="edges") for graph in to_networkx(condensed)]
    return [write_json(path, {"facts": parts_of(condensed)[1], "graphs": graphs})]


def read_json_graphs(path: Path) -> CondensedDataset | CondensedGraph:
    """Read what :func:`write_json_graphs` wrote."""
    with reading(path):
        stored = parse_json(path.read_text(encoding="utf-8"))
        graphs = [nx.node_link_graph(graph, edges="edges") for graph in stored["graphs"]]
        return joined([_from_networkx(graph) for graph in graphs], stored["facts"])


def _from_networkx(graph: Any) -> Data:
    """One graph; GraphML lists nodes in the order of their names or of their edges, so they are put in order first."""
    ordered = graph.__class__()
    ordered.add_nodes_from(sorted(graph.nodes(data=True), key=lambda node: node[0]))
    ordered.add_edges_from(graph.edges(data=True))
    made = from_networkx(ordered)
    y = _label(graph.graph["y"]) if "y" in graph.graph else made.y
    data = Data(x=made.x.float(), edge_index=made.edge_index, y=y)
    if "weight" in made:
        data.edge_weight = made.weight.float()
    return data


def _label(value: Any) -> Tensor:
    """A whole number, or the row of a soft label."""
    return torch.tensor([value]) if isinstance(value, list) else torch.tensor([int(value)])


def write_graphml(condensed: CondensedDataset | CondensedGraph, folder: Path, *, force: bool = False) -> list[Path]:
    """Write a folder: ``graph-000.graphml`` and so on, ``labels.csv`` and ``facts.json``.

    GraphML knows no lists, so that feature ``i`` of a node is its attribute ``x{i}``.
    """
    check_folder(folder, force=force)
    for old in folder.glob("graph-*.graphml"):
        old.unlink()
    graphs = to_networkx(condensed)
    rows, files = [["file", "label"]], []
    for number, graph in enumerate(graphs):
        name = f"graph-{number:03d}.graphml"
        label = graph.graph.pop("y", None)
        for _, values in graph.nodes(data=True):
            values |= {f"x{i}": value for i, value in enumerate(values.pop("x"))}
        content = io.BytesIO()
        nx.write_graphml(graph, content)
        files.append(write_aside(folder / name, content.getvalue()))
        rows.append([name, "" if label is None else json.dumps(label)])
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    files.append(write_aside(folder / _LABELS, text.getvalue().encode()))
    return [*files, write_json(folder / FACTS, parts_of(condensed)[1])]


def _read_graphml(file: Path) -> Any:
    content = file.read_bytes()
    check_xml(content)
    return nx.read_graphml(io.BytesIO(content), node_type=int)


def read_graphml(folder: Path) -> CondensedDataset | CondensedGraph:
    """Read what :func:`write_graphml` wrote."""
    with reading(folder):
        facts = parse_json((folder / FACTS).read_text(encoding="utf-8"))
        graphs = []
        with (folder / _LABELS).open(encoding="utf-8", newline="") as stream:
            for row in csv.DictReader(stream):
                graph = _read_graphml(folder / Path(row["file"]).name)
                for _, values in graph.nodes(data=True):
                    values["x"] = [values[f"x{i}"] for i in range(sum(name[1:].isdigit() for name in values))]
                if row["label"]:
                    graph.graph["y"] = parse_json(row["label"])
                graphs.append(_from_networkx(graph))
        return joined(graphs, facts)
