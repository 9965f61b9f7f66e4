"""The csv layout of the Open Graph Benchmark's molecules (Hu et al., 2020), read without the ``ogb`` package."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from graphcondense.datasets.assembly import LooseGraphs, clean, make_task
from graphcondense.datasets.textfiles import read_column, read_table
from graphcondense.errors import FileFormatError
from graphcondense.graphs import pointers
from graphcondense.tasks import GraphTask, Split

_REMEDY = "fetch the files anew"


def load_ogb(name: str, folder: Path, *, metric: str = "roc_auc") -> GraphTask:
    """The OGB set in ``folder``, with its scaffold split; bond features are not used.

    Args:
        name: what the dataset is called.
        folder: with ``raw`` and ``split/scaffold`` in it.
        metric: what it is judged by.
    """
    graphs = clean(read_ogb(folder / "raw"))
    split = read_split(folder / "split" / "scaffold", graphs.store.num_graphs)
    return make_task(name, graphs, split, metric=metric)


def read_ogb(raw: Path) -> LooseGraphs:
    """The graphs from the csv files in ``raw``. They list each bond once; its inverse is added."""
    num_nodes, num_edges = (_read_counts(raw / f"num-{what}-list.csv.gz") for what in ("node", "edge"))
    y = read_column(raw / "graph-label.csv.gz")
    x = read_table(raw / "node-feat.csv.gz")
    edges = read_table(raw / "edge.csv.gz", columns=2)
    _check_rows(raw / "num-edge-list.csv.gz", len(num_edges), len(num_nodes), "graphs")
    _check_rows(raw / "graph-label.csv.gz", len(y), len(num_nodes), "graphs")
    _check_rows(raw / "node-feat.csv.gz", len(x), int(num_nodes.sum()), "nodes")
    _check_rows(raw / "edge.csv.gz", len(edges), int(num_edges.sum()), "edges")
    empty = np.flatnonzero(num_nodes == 0)
    if len(empty):
        raise FileFormatError(f"{raw / 'num-node-list.csv.gz'}, line {empty[0] + 1}: a graph without nodes: {_REMEDY}")

    limit = np.repeat(num_nodes, num_edges)
    wrong = np.flatnonzero(((edges < 0) | (edges >= limit[:, None])).any(axis=1))
    if len(wrong):
        line = int(wrong[0])
        pair = ", ".join(map(str, edges[line]))
        raise FileFormatError(
            f"{raw / 'edge.csv.gz'}, line {line + 1}: edge ({pair}), but its graph's nodes are 0 to {limit[line] - 1}: "
            f"{_REMEDY}"
        )
    nodes = torch.from_numpy(num_nodes)
    once = torch.from_numpy(np.ascontiguousarray(edges.T))
    once = once + torch.repeat_interleave(pointers(nodes)[:-1], torch.from_numpy(num_edges))
    return LooseGraphs(
        x=torch.from_numpy(x).float(),
        edge_index=torch.cat([once, once.flip(0)], dim=1),
        num_nodes=nodes,
        y=torch.from_numpy(y),
    )


def read_split(folder: Path, num_graphs: int) -> Split:
    """The published split from ``train``, ``valid`` and ``test.csv.gz``: every graph once at most."""
    parts: dict[str, NDArray[np.int64]] = {}
    taken = np.zeros(num_graphs, dtype=bool)
    for part, stem in (("train", "train"), ("val", "valid"), ("test", "test")):
        file = folder / f"{stem}.csv.gz"
        index = read_column(file)
        outside = np.flatnonzero((index < 0) | (index >= num_graphs))
        if len(outside):
            line = int(outside[0])
            raise FileFormatError(
                f"{file}, line {line + 1}: graph {index[line]}, but the graphs are 0 to {num_graphs - 1}: {_REMEDY}"
            )
        if taken[index].any() or len(np.unique(index)) < len(index):
            raise FileFormatError(f"{file} has a graph that is there twice or in another part of the split: {_REMEDY}")
        taken[index] = True
        parts[part] = index
    return Split(**{part: torch.from_numpy(index) for part, index in parts.items()})


def _read_counts(file: Path) -> NDArray[np.int64]:
    counts = read_column(file)
    negative = np.flatnonzero(counts < 0)
    if len(negative):
        raise FileFormatError(f"{file}, line {negative[0] + 1}: {counts[negative[0]]} is negative: {_REMEDY}")
    return counts


def _check_rows(file: Path, rows: int, expected: int, what: str) -> None:
    if rows != expected:
        raise FileFormatError(f"{file} has {rows:,} lines for {expected:,} {what}: {_REMEDY}")
