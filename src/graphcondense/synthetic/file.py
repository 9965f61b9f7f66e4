"""The condensed file: one ``.safetensors``, structure as packed bits, every field checked on load. Never a pickle."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_safetensors
from torch import Tensor

from graphcondense.errors import FileFormatError, InputError, MissingDataError, WouldOverwriteError
from graphcondense.files import parse_json, write_aside
from graphcondense.graphs import GraphStore, pair_counts, pointers
from graphcondense.metrics import METRICS
from graphcondense.synthetic.categories import Categories

FORMAT = 1
CODED_FORMAT = 2  # features as categories, a few bits each; everything else as in format 1
_FREE_FLOATS, _MOST_FLOATS = 2**22, 2**10  # of the features that a file of categories stands for: any file, and a byte
_KEY = "graphcondense"  # one key only: safetensors does not keep the order of several
_FIELDS = {"structure", "x", "labels", "num_nodes"}
_CODED_FIELDS = _FIELDS - {"x"} | {"codes"}
_WEIGHTS = "weights"  # of the edges, in the order of unpack_structure; only where edges have weights


# What the rest of the package reads of the free-form info, and what it must look like if it is there.
_INFO: dict[str, Callable[[Any], bool]] = {
    "dataset": lambda value: isinstance(value, str),
    "source": lambda value: isinstance(value, str),
    "method": lambda value: isinstance(value, str),
    "classes": lambda value: isinstance(value, list) and all(isinstance(name, str) for name in value),
    "settings": lambda value: isinstance(value, dict),
    "evaluation": lambda value: isinstance(value, dict),
    "original_bytes": lambda value: type(value) is int and value > 0,
    "position_features": lambda value: (
        value is None or (isinstance(value, list) and len(value) == 2 and all(type(v) is int for v in value))
    ),
}


def pack_structure(graphs: GraphStore) -> Tensor:
    """The edges as bits, graph after graph, row after row; ``[i, j]`` is the edge from ``j`` to ``i``."""
    counts = pair_counts(graphs.num_nodes, graphs.directed)
    bits = np.zeros(int(counts.sum()), dtype=np.uint8)
    source, target = graphs.edge_index
    graph = graphs.graph_of_node[target]
    row, col, n = target - graphs.node_ptr[graph], source - graphs.node_ptr[graph], graphs.num_nodes[graph]
    if not graphs.directed:
        upper = row < col
        row, col, n, graph = row[upper], col[upper], n[upper], graph[upper]
    place = row * n + col if graphs.directed else _row_start(row, n) + col - row - 1
    bits[(pointers(counts)[graph] + place).numpy()] = 1
    return torch.from_numpy(np.packbits(bits))


def unpack_structure(packed: Tensor, num_nodes: Tensor, directed: bool) -> tuple[Tensor, Tensor]:
    """Edges (sorted by graph, target and source) and their number a graph: the inverse of :func:`pack_structure`."""
    counts = pair_counts(num_nodes, directed)
    starts = pointers(counts)
    ones = torch.from_numpy(np.flatnonzero(np.unpackbits(packed.numpy(), count=int(counts.sum()))))
    graph = torch.bucketize(ones, starts[1:], right=True)
    place, n = ones - starts[graph], num_nodes[graph]
    if directed:
        row, col = place // n, place % n
    else:
        row = ((2 * n - 1 - torch.sqrt(((2 * n - 1) ** 2 - 8 * place).double())) / 2).long()
        row = row + (_row_start(row + 1, n) <= place).long() - (_row_start(row, n) > place).long()  # rounding
        col = place - _row_start(row, n) + row + 1
        row, col, graph = torch.cat([row, col]), torch.cat([col, row]), graph.repeat(2)
    shift = pointers(num_nodes)[graph]
    edges = torch.stack([col + shift, row + shift])
    order = torch.argsort(edges[1] * int(num_nodes.sum()) + edges[0])
    return edges[:, order], torch.bincount(graph, minlength=len(num_nodes))


def _row_start(row: Tensor, n: Tensor) -> Tensor:
    """Position of the first pair of ``row`` in the upper triangle of an ``n x n`` matrix."""
    return row * n - row * (row + 1) // 2


def serialise(
    graphs: GraphStore, header: dict[str, Any], weights: Tensor | None = None, categories: Categories | None = None
) -> bytes:
    """The file's content; the same graphs and header always give the same bytes.

    Args:
        graphs: the graphs; for a node task one, with a label a node.
        header: everything else, as plain JSON values.
        weights: of the edges, sorted by target and source, where they have any.
        categories: what the features are, where they were snapped.
    """
    graphs = graphs.to("cpu")
    meta = {"format": FORMAT, "directed": graphs.directed, **header}
    if categories is not None:
        meta |= {"format": CODED_FORMAT, "categories": categories.to_dict()}
    features = {"x": graphs.x.contiguous()} if categories is None else {"codes": categories.pack(graphs.x)}
    tensors = {
        "structure": pack_structure(graphs),
        **features,
        "labels": graphs.y.contiguous() if graphs.y.is_floating_point() else graphs.y.int(),
        "num_nodes": graphs.num_nodes.int(),
    }
    if weights is not None:
        tensors[_WEIGHTS] = weights.float().contiguous()
    blob: bytes = to_safetensors(tensors, {_KEY: json.dumps(meta, sort_keys=True, allow_nan=False)})
    return blob


def write(
    path: Path,
    graphs: GraphStore,
    header: dict[str, Any],
    weights: Tensor | None = None,
    categories: Categories | None = None,
    *,
    force: bool = False,
) -> Path:
    """Write ``graphs`` to ``path``, all or nothing."""
    if path.suffix != ".safetensors":
        raise InputError(f"path={str(path)!r} must end in .safetensors")
    if path.exists() and not force:
        raise WouldOverwriteError(f"{path} exists: choose another name, or overwrite it with force=True (--force)")
    return write_aside(path, serialise(graphs, header, weights, categories))


@dataclass(frozen=True)
class Content:
    """What a condensed file holds: the graphs, the header that was written with them, weights of edges, categories."""

    graphs: GraphStore
    header: dict[str, Any]
    weights: Tensor | None
    categories: Categories | None


def read(path: Path) -> Content:
    """Read and check a condensed file."""
    if not path.is_file():
        raise MissingDataError(f"{path} is not there: give the path of a condensed .safetensors file")
    try:
        with safe_open(path, framework="pt") as stream:
            metadata = stream.metadata() or {}
            if _KEY not in metadata:
                raise FileFormatError(f"{path} is a safetensors file, but not one that graphcondense wrote")
            meta = _parse_header(path, metadata[_KEY])
            fields = _FIELDS if meta["format"] == FORMAT else _CODED_FIELDS
            if set(stream.keys()) - {_WEIGHTS} != fields:
                raise FileFormatError(f"{path} is damaged: it holds {sorted(stream.keys())}, not {sorted(fields)}")
            tensors = {key: stream.get_tensor(key) for key in sorted(stream.keys())}
    except (SafetensorError, OSError) as error:
        raise FileFormatError(f"{path} is not a condensed file (or is damaged): {error}") from None
    categories = _unpack_features(path, tensors, meta) if meta["format"] == CODED_FORMAT else None
    _check_tensors(path, tensors, meta)
    num_nodes = tensors["num_nodes"].long()
    edge_index, edge_counts = unpack_structure(tensors["structure"], num_nodes, meta["directed"])
    if bool((edge_index[0] == edge_index[1]).any()):
        raise FileFormatError(f"{path} is damaged: structure with an edge from a node to itself")
    labels = tensors["labels"] if tensors["labels"].is_floating_point() else tensors["labels"].long()
    graphs = GraphStore(tensors["x"], edge_index, pointers(num_nodes), pointers(edge_counts), labels, meta["directed"])
    weights = tensors.get(_WEIGHTS)
    if weights is not None and (
        weights.dtype != torch.float32
        or weights.shape != edge_index.shape[1:]
        or not bool(((weights > 0) & weights.isfinite()).all())
    ):
        raise FileFormatError(f"{path} is damaged: weights that do not fit the edges")
    return Content(graphs, {key: meta[key] for key in ("num_classes", "metric", "info", "task")}, weights, categories)


def _unpack_features(path: Path, tensors: dict[str, Tensor], meta: dict[str, Any]) -> Categories:
    """Put the features that the categories of the file stand for in their place among ``tensors``."""
    if tensors["num_nodes"].dtype != torch.int32:
        raise FileFormatError(f"{path} is damaged: no node counts")
    nodes = sum(n for n in tensors["num_nodes"].flatten().tolist() if n > 0)
    try:
        categories = Categories.from_dict(meta.get("categories"))
        if nodes * categories.width > _FREE_FLOATS + _MOST_FLOATS * path.stat().st_size:
            raise InputError(f"{nodes} nodes of {categories.width} features, more than its size explains")
        tensors["x"] = categories.unpack(tensors.pop("codes"), nodes)
    except InputError as error:
        raise FileFormatError(f"{path} is damaged: {error}") from None
    return categories


def _parse_header(path: Path, text: str) -> dict[str, Any]:
    try:
        meta = parse_json(text)
    except (ValueError, RecursionError):
        raise FileFormatError(f"{path} is damaged: its header is not JSON") from None
    if not isinstance(meta, dict):
        raise FileFormatError(f"{path} is damaged: its header is not a JSON object")
    meta.setdefault("task", "graph")
    if type(meta.get("format")) is not int or meta["format"] not in (FORMAT, CODED_FORMAT):
        raise FileFormatError(
            f"{path} has format {meta.get('format')!r}; this version reads {FORMAT} and {CODED_FORMAT}: update "
            "graphcondense"
        )
    if meta["task"] not in ("graph", "node"):
        raise FileFormatError(f"{path} is of a task {meta['task']!r} that this version does not know: update it")
    kinds = {"directed": bool, "num_classes": int, "metric": str, "info": dict}
    for key, kind in kinds.items():
        if type(meta.get(key)) is not kind:
            raise FileFormatError(f"{path} is damaged: header field {key!r} is {meta.get(key)!r}, not {kind.__name__}")
    try:
        json.dumps(meta, allow_nan=False, ensure_ascii=False).encode()
    except ValueError:
        raise FileFormatError(f"{path} is damaged: its header holds text or numbers that no file can hold") from None
    for key, fits in _INFO.items():
        if key in meta["info"] and not fits(meta["info"][key]):
            raise FileFormatError(f"{path} is damaged: info field {key!r} is {meta['info'][key]!r}")
    if meta["metric"] not in METRICS or not 1 <= meta["num_classes"] <= 1_000_000:
        raise FileFormatError(f"{path} is damaged: metric {meta['metric']!r} with {meta['num_classes']} classes")
    return meta


def _check_tensors(path: Path, tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
    structure, x, labels, num_nodes = (tensors[key] for key in ("structure", "x", "labels", "num_nodes"))

    def need(condition: bool, what: str) -> None:
        if not condition:
            raise FileFormatError(f"{path} is damaged: {what}")

    need(num_nodes.dtype == torch.int32 and num_nodes.dim() == 1 and num_nodes.numel() > 0, "no node counts")
    need(int(num_nodes.min()) >= 1, "a graph without nodes")
    need(x.dtype == torch.float32 and x.dim() == 2 and x.shape[1] > 0, "features that are not a float matrix")
    need(x.shape[0] == int(num_nodes.long().sum()), "features and node counts disagree")
    need(bool(torch.isfinite(x).all()), "features that are not finite")
    position = meta["info"].get("position_features") or []
    need(all(0 <= column < x.shape[1] for column in position), "position features that are not there")
    # In Python's integers: the count must be right even for sizes that no tensor could hold.
    bits = sum(n * n if meta["directed"] else n * (n - 1) // 2 for n in num_nodes.tolist())
    need(structure.dtype == torch.uint8 and structure.dim() == 1, "structure that is not bits")
    need(structure.numel() == math.ceil(bits / 8), "structure and node counts disagree")
    unused = structure.numel() * 8 - bits
    need(
        unused == 0 or int(structure[-1]) & ((1 << unused) - 1) == 0, "structure with bits after the last pair of nodes"
    )
    if meta["task"] == "node":
        need(num_nodes.numel() == 1, "a node task with several graphs")
    labelled = x.shape[0] if meta["task"] == "node" else num_nodes.numel()
    need(labels.shape[:1] == (labelled,), "labels and node counts disagree")
    if labels.is_floating_point():
        need(
            labels.dtype == torch.float32 and labels.shape[1:] == (meta["num_classes"],), "soft labels of a wrong shape"
        )
        need(bool(((labels >= 0) & (labels <= 1)).all()), "soft labels that are not probabilities")
    else:
        need(labels.dtype == torch.int32 and labels.dim() == 1, "labels that are not whole numbers")
        need(int(labels.min()) >= 0 and int(labels.max()) < meta["num_classes"], "a label that is not a class")
