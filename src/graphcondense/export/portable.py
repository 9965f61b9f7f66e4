"""What every exported form holds: the graphs as PyG objects, and everything else as plain JSON values."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch_geometric.data import Data

from graphcondense.errors import FileFormatError, MissingDataError, WouldOverwriteError
from graphcondense.graphs import GraphStore
from graphcondense.synthetic import Categories, CondensedDataset, CondensedGraph, load_condensed

VERSION = 1


def parts_of(condensed: CondensedDataset | CondensedGraph) -> tuple[list[Data], dict[str, Any]]:
    """The graphs (``x``, ``edge_index``, ``y``, ``edge_weight`` where there are weights), and all that is no tensor."""
    node = isinstance(condensed, CondensedGraph)
    store = condensed.graph if isinstance(condensed, CondensedGraph) else condensed.graphs
    facts = {
        "graphcondense_export": VERSION,
        "task": "node" if node else "graph",
        "directed": store.directed,
        "num_classes": condensed.num_classes,
        "metric": condensed.metric,
        "info": condensed.info,
        "categories": None if condensed.categories is None else condensed.categories.to_dict(),
    }
    if isinstance(condensed, CondensedDataset):
        return condensed.to_pyg(), facts
    graph = condensed.to_pyg()
    del graph.train_mask
    return [graph], facts


def joined(graphs: Sequence[Data], facts: dict[str, Any]) -> CondensedDataset | CondensedGraph:
    """The inverse of :func:`parts_of`; what came in is checked as a condensed file is, by going through one."""
    if facts.get("graphcondense_export") != VERSION:
        raise ValueError(f"its version is {facts.get('graphcondense_export')!r}; this program reads {VERSION}")
    sorted_graphs = [_sorted(graph) for graph in graphs]
    categories = None if facts["categories"] is None else Categories.from_dict(facts["categories"])
    condensed: CondensedDataset | CondensedGraph
    if facts["task"] == "node":
        (graph,) = sorted_graphs
        store = GraphStore(
            graph.x.float(),
            graph.edge_index.long(),
            torch.tensor([0, len(graph.x)]),
            torch.tensor([0, graph.edge_index.shape[1]]),
            graph.y,
            bool(facts["directed"]),
        )
        condensed = CondensedGraph(
            store, facts["num_classes"], graph.get("edge_weight"), facts["metric"], facts["info"]
        )
    else:
        store = GraphStore.from_data_list(sorted_graphs, bool(facts["directed"]))
        condensed = CondensedDataset(store, facts["num_classes"], facts["metric"], facts["info"])
    condensed = replace(condensed, categories=categories)
    with tempfile.TemporaryDirectory() as folder:
        return load_condensed(condensed.save(Path(folder) / "imported.safetensors"))


def _sorted(graph: Data) -> Data:
    """Edges by target and source, as a condensed file has them; each must be of nodes that are there."""
    edges, count = graph.edge_index.long(), int(graph.x.shape[0])
    if edges.numel() and not 0 <= int(edges.min()) <= int(edges.max()) < count:
        raise ValueError(f"an edge names a node outside of 0 to {count - 1}")
    order = torch.argsort(edges[1] * count + edges[0])
    graph.edge_index = edges[:, order]
    if graph.get("edge_weight") is not None:
        graph.edge_weight = graph.edge_weight[order]
    return graph


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn whatever goes wrong while ``path`` is read into one line that names it."""
    try:
        yield
    except (FileFormatError, MissingDataError) as error:
        raise FileFormatError(f"{path} is not right: {str(error).split(': ', 1)[-1]}") from None
    except Exception as error:
        # Readers of other people's raise nearly any type for a damaged file.
        text = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise FileFormatError(f"{path} is not what `graphcondense export` writes: {text}") from None


def check_new_file(path: Path, ending: str, *, force: bool) -> None:
    """Raise unless a file that ends in ``ending`` may be written at ``path``."""
    if path.suffix != ending:
        raise FileFormatError(f"--out {path} must end in {ending}, or choose another --format")
    if path.is_dir() or (path.exists() and not force):
        raise WouldOverwriteError(f"{path} exists: choose another --out, or overwrite it with --force")
