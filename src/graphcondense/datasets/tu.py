"""The text format of the TU collection (Morris et al., 2020), read as PyG reads it but without writing anything.

A folder holds ``NAME_A.txt`` (an edge a line, both directions, nodes counted from 1 over all graphs),
``NAME_graph_indicator.txt`` (the graph of each node), ``NAME_graph_labels.txt``, and where the set has them
``NAME_node_labels.txt`` and ``NAME_node_attributes.txt``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphcondense.datasets.assembly import LooseGraphs, check_room, clean, make_task
from graphcondense.datasets.splits import permutation_split, sizes, stratified_split
from graphcondense.datasets.textfiles import read_column, read_table
from graphcondense.errors import FileFormatError, InputError, MissingDataError
from graphcondense.tasks import GraphTask

_EDGES = "_A.txt"
_UNUSED = ("_edge_labels.txt", "_edge_attributes.txt")
_WIDEST_GAP = 1_000


def load_tu(folder: Path, *, split_seed: int = 0, reference_split: bool = True) -> GraphTask:
    """The TU set in ``folder``, or in the ``raw`` folder below it.

    Features are the node attributes, then the node labels one-hot, as in PyG; the degree where there are neither.

    Args:
        folder: with the text files of one set.
        split_seed: of the split.
        reference_split: whether to split as the authors' released code does, else class by class.
    """
    raw, name = find_tu_files(folder)
    graphs = clean(read_tu(raw, name))
    unused = [f"{name}{part}" for part in _UNUSED if (raw / f"{name}{part}").is_file()]
    dropped = [f"{' and '.join(unused)} not used: the networks here look at edges, not at kinds of edges"]
    if reference_split:
        split = permutation_split(graphs.store.num_graphs, split_seed)
        how = "random permutation"
    else:
        split = stratified_split(graphs.store.y, split_seed)
        how = "by class"
    notes = [*(dropped if unused else []), f"split made here ({how}, seed {split_seed}): {sizes(split)}"]
    return make_task(name, graphs, split, notes=notes)


def has_tu_files(folder: Path) -> bool:
    """Whether ``folder``, or the folder ``raw`` in it, has the edges of a TU set."""
    return any(True for place in (folder, folder / "raw") for _ in place.glob(f"*{_EDGES}"))


def find_tu_files(folder: Path) -> tuple[Path, str]:
    """The folder that has the text files themselves, and the set's name."""
    if not folder.is_dir():
        raise MissingDataError(f"there is no folder {folder}: name a known dataset, or a folder with NAME{_EDGES}")
    for place in (folder, folder / "raw"):
        names = sorted(file.name.removesuffix(_EDGES) for file in place.glob(f"*{_EDGES}"))
        if len(names) > 1:
            raise FileFormatError(f"{place} has several datasets ({', '.join(names)}): give each its own folder")
        if names:
            return place, names[0]
    raise MissingDataError(
        f"{folder} has no file NAME{_EDGES}, nor has a folder raw in it: a TU dataset has NAME{_EDGES}, "
        "NAME_graph_indicator.txt and NAME_graph_labels.txt; or put GraphML or GEXF files and a labels.csv there"
    )


def read_tu(raw: Path, name: str) -> LooseGraphs:
    """The graphs of the set ``name`` from its text files in the folder ``raw``."""
    labels_file = raw / f"{name}_graph_labels.txt"
    num_nodes = _read_indicator(raw / f"{name}_graph_indicator.txt")
    y = _read_labels(raw, name)
    if len(y) != len(num_nodes):
        raise FileFormatError(
            f"{labels_file} has {len(y):,} lines, but {name}_graph_indicator.txt has {len(num_nodes):,} graphs: "
            "fetch both files anew"
        )
    return LooseGraphs(
        x=_read_features(raw, name, int(num_nodes.sum())),
        edge_index=torch.from_numpy(_read_edges(raw / f"{name}{_EDGES}", num_nodes)),
        num_nodes=torch.from_numpy(num_nodes),
        y=torch.from_numpy(y),
    )


def _read_labels(raw: Path, name: str) -> NDArray[np.int64]:
    """The class of each graph."""
    file, targets = raw / f"{name}_graph_labels.txt", raw / f"{name}_graph_attributes.txt"
    if targets.is_file() and not file.is_file():
        raise InputError(
            f"{raw} has {targets.name}, but no {file.name}: regression is not supported, put the values into classes"
        )
    try:
        return read_column(file)
    except FileFormatError as error:
        raise FileFormatError(
            f"{error}; one class a graph is needed, neither several (multi-label) nor quantities (regression)"
        ) from None


def _read_indicator(file: Path) -> NDArray[np.int64]:
    """Nodes of each graph."""
    graph = read_column(file)
    back = np.flatnonzero(np.diff(graph) < 0)
    if graph[0] < 1 or len(back):
        line = 1 if graph[0] < 1 else int(back[0]) + 2
        raise FileFormatError(
            f"{file}, line {line}: graph {graph[line - 1]} is out of order: number the graphs from 1 on, ascending"
        )
    # Checked before counting: a stray large number would otherwise ask for as much memory.
    jump = np.flatnonzero(np.diff(graph, prepend=0) > 1)
    if len(jump):
        line = int(jump[0]) + 1
        raise FileFormatError(
            f"{file}, line {line}: no node is of graph {graph[line - 1] - 1}, which should come before "
            f"graph {graph[line - 1]}: number the graphs without gaps"
        )
    return np.bincount(graph)[1:]


def _read_edges(file: Path, num_nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """``2 x num_edges``, nodes counted from 0."""
    edges = read_table(file, columns=2)
    total = int(num_nodes.sum())
    wrong = np.flatnonzero(((edges < 1) | (edges > total)).any(axis=1))
    if len(wrong):
        pair = ", ".join(map(str, edges[wrong[0]]))
        raise FileFormatError(
            f"{file}, line {wrong[0] + 1}: edge ({pair}), but the nodes are 1 to {total:,}: fetch the file anew"
        )
    graph = np.repeat(np.arange(len(num_nodes)), num_nodes)
    across = np.flatnonzero(graph[edges[:, 0] - 1] != graph[edges[:, 1] - 1])
    if len(across):
        line = int(across[0])
        pair = ", ".join(map(str, edges[line]))
        first, second = graph[edges[line] - 1] + 1
        raise FileFormatError(
            f"{file}, line {line + 1}: edge ({pair}) goes from graph {first} to graph {second}: fetch the file anew"
        )
    return np.ascontiguousarray(edges.T) - 1


def _read_features(raw: Path, name: str, total: int) -> Tensor | None:
    """Attributes and one-hot labels side by side, ``None`` if there are neither."""
    blocks: list[Tensor] = []
    attributes = raw / f"{name}_node_attributes.txt"
    if attributes.is_file():
        values = read_table(attributes, whole=False)
        _check_lines(attributes, len(values), total)
        block = torch.from_numpy(values).float()
        wrong = (~block.isfinite()).nonzero()
        if len(wrong):
            line, column = wrong[0].tolist()
            raise FileFormatError(
                f"{attributes}, line {line + 1}, column {column + 1}: {values[line, column]} is not finite in float32: "
                "mend it or take the graph out"
            )
        blocks.append(block)
    labels = raw / f"{name}_node_labels.txt"
    if labels.is_file():
        columns = torch.from_numpy(read_table(labels))
        _check_lines(labels, len(columns), total)
        codes = [_codes(column) for column in columns.unbind(1)]
        check_room(total, sum(int(code.max()) + 1 for code in codes), str(labels))
        blocks += [torch.nn.functional.one_hot(code).float() for code in codes]
    return torch.cat(blocks, dim=1) if blocks else None


def _codes(labels: Tensor) -> Tensor:
    """Node labels as columns from 0: one a label between the least and the largest, used or not, as PyG does.

    Where that would be mostly gaps, a column a label that is used: a stray large number asks for no memory.
    """
    used: Tensor
    places: Tensor
    used, places = labels.unique(return_inverse=True)
    width = int(used[-1]) - int(used[0]) + 1
    return labels - used[0] if width <= max(_WIDEST_GAP, 2 * len(used)) else places


def _check_lines(file: Path, lines: int, total: int) -> None:
    if lines != total:
        raise FileFormatError(f"{file} has {lines:,} lines for {total:,} nodes: fetch the file anew")
