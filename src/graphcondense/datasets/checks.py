"""The user's own graphs: every one looked at, and what is wrong said in one line with the graph's position.

Shapes and types are checked graph by graph, which is cheap; values (NaN, edges to nodes that are not there) once, on
all graphs end to end, so that tens of thousands of graphs take a second or two. Nothing is written to the graphs.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor
from torch_geometric import EdgeIndex
from torch_geometric.data import Batch, Data, HeteroData

from graphcondense.datasets.assembly import UNUSED, LooseGraphs, counted
from graphcondense.errors import InputError
from graphcondense.graphs import pointers

_WHOLE_TYPES = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
_LARGEST_EXACT = 2.0**53


@runtime_checkable
class GraphSequence(Protocol):
    """Graphs by position: a list of PyG ``Data``, a PyG dataset, or anything else with a length and an index."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> object: ...


@dataclass(frozen=True, eq=False)
class CheckedGraphs:
    """Graphs that passed, with how many came from each argument and what the user should know."""

    loose: LooseGraphs
    sizes: dict[str, int]
    notes: tuple[str, ...]


@dataclass
class _Pieces:
    """What was read so far, one entry a graph."""

    names: list[str] = field(default_factory=list)
    x: list[Tensor | None] = field(default_factory=list)
    edge_index: list[Tensor] = field(default_factory=list)
    num_nodes: list[int] = field(default_factory=list)
    y: list[float] = field(default_factory=list)
    unused: Counter[str] = field(default_factory=Counter)


def check_graphs(arguments: Mapping[str, object]) -> CheckedGraphs:
    """Check the graphs of all arguments together, for they must agree with each other.

    Args:
        arguments: from the name that the user knows the argument by to its graphs.
    """
    pieces = _Pieces()
    sizes: dict[str, int] = {}
    with warnings.catch_warnings():
        # PyG warns for each graph whose number of nodes it has to infer from the edges; one note is enough.
        warnings.simplefilter("ignore", UserWarning)
        for argument, graphs in arguments.items():
            sequence = check_sequence(argument, graphs)
            sizes[argument] = len(sequence)
            for position, graph in enumerate(_each(sequence)):
                _read_graph(pieces, f"{argument}[{position}]", graph)
    x = _join_features(pieces)
    num_nodes = torch.tensor(pieces.num_nodes, dtype=torch.long)
    loose = LooseGraphs(x=x, edge_index=_join_edges(pieces, num_nodes), num_nodes=num_nodes, y=_join_labels(pieces))
    notes = [f"{key} is not used (in {counted(count, 'graph')})" for key, count in sorted(pieces.unused.items())]
    return CheckedGraphs(loose, sizes, tuple(notes))


def check_sequence(argument: str, graphs: object) -> GraphSequence:
    """``graphs`` if it is a non-empty sequence, as far as can be told without looking at the graphs."""
    wanted = "a list of torch_geometric Data or a PyG dataset"
    if isinstance(graphs, Batch):
        raise InputError(f"{argument} is a batch of graphs: give {argument}.to_data_list()")
    if isinstance(graphs, Data | HeteroData):
        raise InputError(f"{argument} is one graph: {wanted} is needed")
    if isinstance(graphs, str | bytes | Mapping | Tensor | np.ndarray) or not isinstance(graphs, GraphSequence):
        raise InputError(f"{argument} is of type {type(graphs).__name__}: {wanted} is needed")
    if len(graphs) == 0:
        raise InputError(f"{argument} has no graphs: give at least one")
    return graphs


def _each(graphs: GraphSequence) -> Iterator[object]:
    # By position, since a PyG dataset has a length and an index but its iterator may be anything.
    return (graphs[i] for i in range(len(graphs)))


def _read_graph(pieces: _Pieces, name: str, graph: object) -> None:
    if isinstance(graph, HeteroData):
        raise InputError(
            f"{name} is a HeteroData: only graphs with one type of node are supported, use to_homogeneous()"
        )
    if isinstance(graph, Batch):
        raise InputError(f"{name} is a batch of graphs: give the dataset itself, not its loader")
    if not isinstance(graph, Data):
        raise InputError(f"{name} is of type {type(graph).__name__}: a torch_geometric Data is needed")
    keys = set(graph.keys())
    x = _features(name, graph["x"] if "x" in keys else None)
    edge_index = _edges(name, graph["edge_index"] if "edge_index" in keys else None, has_adjacency="adj_t" in keys)
    pieces.names.append(name)
    pieces.x.append(x)
    pieces.edge_index.append(edge_index)
    pieces.num_nodes.append(_num_nodes(name, graph, x, stated="num_nodes" in keys))
    pieces.y.append(_label(name, graph["y"] if "y" in keys else None))
    pieces.unused.update(key for key in UNUSED if key in keys)


def _features(name: str, value: object) -> Tensor | None:
    """The feature matrix as float32 without a gradient, or ``None`` where there is nothing in it."""
    if value is None:
        return None
    x = torch.from_numpy(value) if isinstance(value, np.ndarray) and value.dtype.kind in "fiub" else value
    if not isinstance(x, Tensor):
        raise InputError(f"{name}.x is of type {type(value).__name__}: a tensor of numbers is needed")
    if x.is_complex():
        raise InputError(f"{name}.x is complex: give real features, for instance torch.view_as_real(x).flatten(1)")
    x = x.detach()
    if x.layout != torch.strided:
        x = x.to_dense()
    if x.dim() == 1:
        x = x.unsqueeze(1)
    if x.dim() != 2:
        raise InputError(f"{name}.x has shape {list(x.shape)}: [num_nodes, num_features] is needed")
    return x.to("cpu", torch.float32) if x.shape[1] else None


def _edges(name: str, value: object, has_adjacency: bool) -> Tensor:
    if value is None:
        if has_adjacency:
            raise InputError(
                f"{name} has adj_t but no edge_index: give edge_index (leave out the ToSparseTensor transform)"
            )
        return torch.empty(2, 0, dtype=torch.long)
    if isinstance(value, EdgeIndex):
        value = value.as_tensor()
    elif isinstance(value, np.ndarray) and value.dtype.kind in "fiu":
        value = torch.from_numpy(value)
    if not isinstance(value, Tensor) or value.layout != torch.strided:
        raise InputError(f"{name}.edge_index is of type {type(value).__name__}: a dense 2 x num_edges tensor is needed")
    if value.numel() == 0:
        # torch.tensor([]) and torch.empty(2, 0) are floats of odd shapes, and what people write for "no edges".
        return torch.empty(2, 0, dtype=torch.long)
    if value.dim() != 2 or value.shape[0] != 2:
        hint = ": transpose it" if value.dim() == 2 and value.shape[1] == 2 else ""
        raise InputError(f"{name}.edge_index has shape {list(value.shape)}, but [2, num_edges] is needed{hint}")
    if value.dtype not in _WHOLE_TYPES:
        raise InputError(f"{name}.edge_index is of type {value.dtype}: whole numbers are needed, use edge_index.long()")
    return value.to("cpu", torch.long)


def _num_nodes(name: str, graph: Data, x: Tensor | None, stated: bool) -> int:
    known = graph.num_nodes if stated or x is None else None
    number = int(known) if known is not None else 0 if x is None else x.shape[0]
    if x is not None and number != x.shape[0]:
        raise InputError(f"{name}.num_nodes={number}, but x has {x.shape[0]} rows: make them agree")
    if number < 1:
        raise InputError(f"{name} has no nodes: leave it out")
    return number


def _label(name: str, value: object) -> float:
    if value is None:
        raise InputError(f"{name}.y is missing: give the graph's class as a whole number")
    if isinstance(value, Tensor):
        if value.numel() != 1:
            raise InputError(
                f"{name}.y has {value.numel()} values (shape {list(value.shape)}): one class a graph is needed, "
                "multi-label tasks are not supported"
            )
        value = value.item()
    elif isinstance(value, np.ndarray | np.generic | Sequence) and not isinstance(value, str):
        flat = np.asarray(value).reshape(-1)
        if flat.size != 1:
            raise InputError(f"{name}.y has {flat.size} values: one class a graph is needed")
        value = flat[0].item()
    if not isinstance(value, int | float):
        raise InputError(f"{name}.y={value!r} is not a number: give the graph's class as a whole number")
    return float(value)


def _join_features(pieces: _Pieces) -> Tensor | None:
    """All features end to end, ``None`` if no graph has any."""
    given = [(name, x) for name, x in zip(pieces.names, pieces.x, strict=True) if x is not None]
    if not given:
        return None
    if len(given) < len(pieces.x):
        bare = pieces.names[next(i for i, x in enumerate(pieces.x) if x is None)]
        raise InputError(f"{given[0][0]} has features, but {bare} has none: give all graphs x, or none")
    first, width = given[0][0], given[0][1].shape[1]
    for name, x in given:
        if x.shape[1] != width:
            raise InputError(
                f"{first}.x has {width} columns, but {name}.x has {x.shape[1]}: all graphs need the same features"
            )
    joined = torch.cat([x for _, x in given])
    finite = joined.isfinite()
    if not finite.all():
        row, column = (int(i) for i in (~finite).nonzero()[0])
        graph, node = _locate(row, pieces.num_nodes)
        value = joined[row, column].item()
        raise InputError(
            f"{pieces.names[graph]}.x is {value} at node {node}, column {column}: "
            "features must be finite in float32, mend it or leave the graph out"
        )
    return joined


def _join_edges(pieces: _Pieces, num_nodes: Tensor) -> Tensor:
    """All edges end to end, as positions in the row of all nodes."""
    counts = torch.tensor([e.shape[1] for e in pieces.edge_index], dtype=torch.long)
    local = torch.cat(pieces.edge_index, dim=1)
    limit = torch.repeat_interleave(num_nodes, counts)
    wrong = (local < 0) | (local >= limit)
    if wrong.any():
        end, edge = (int(i) for i in wrong.t().nonzero()[0].flip(0))
        graph, position = _locate(edge, counts.tolist())
        last = pieces.num_nodes[graph] - 1
        raise InputError(
            f"{pieces.names[graph]}.edge_index has node {int(local[end, edge])} at edge {position}, "
            f"but the graph's nodes are 0 to {last}: mend the edge, or give the right x or num_nodes"
        )
    return local + torch.repeat_interleave(pointers(num_nodes)[:-1], counts)


def _join_labels(pieces: _Pieces) -> Tensor:
    y = torch.tensor(pieces.y, dtype=torch.float64)
    missing = y.isnan()
    if missing.any():
        raise InputError(f"{pieces.names[int(missing.nonzero()[0])]}.y is NaN: leave out graphs without a class")
    broken = (y != y.round()) | (y.abs() > _LARGEST_EXACT)
    if broken.any():
        graph = int(broken.nonzero()[0])
        raise InputError(
            f"{pieces.names[graph]}.y={pieces.y[graph]!r} is not a whole number: y must be the graph's class, "
            "regression is not supported"
        )
    return y.long()


def _locate(position: int, counts: Sequence[int]) -> tuple[int, int]:
    """Which run of ``counts`` items a position falls into, and where in it."""
    for run, count in enumerate(counts):
        if position < count:
            return run, position
        position -= count
    raise IndexError(position)
