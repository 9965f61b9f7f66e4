"""Node-classification datasets in the layouts of PyG and OGB, read without writing anything beside them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from graphcondense.datasets.amazon import read_amazon
from graphcondense.datasets.arrays import csr_matrix, read_npy, read_npz
from graphcondense.datasets.node_tasks import assemble, node_sizes, per_class_split
from graphcondense.datasets.planetoid import read_planetoid
from graphcondense.datasets.textfiles import read_column, read_table
from graphcondense.errors import FileFormatError
from graphcondense.files import parse_json
from graphcondense.tasks import NodeTask, Split


def load_planetoid(name: str, folder: Path) -> NodeTask:
    """Cora, Citeseer or Pubmed with the public split; features sum to one a node, as usual."""
    data = read_planetoid(folder)
    _check(folder, data.x, data.edge_index, data.y)
    split = Split(*(data[f"{part}_mask"].nonzero().flatten() for part in ("train", "val", "test")))
    return assemble(name, sum_to_one(data.x), data.edge_index, data.y, split, notes=["features sum to one a node"])


def load_amazon(name: str, file: Path, split_seed: int = 0) -> NodeTask:
    """Amazon Photo or Computers; 20 nodes a class for training and 30 for validation, by ``split_seed``."""
    data = read_amazon(file, "Amazon")
    names = data.class_names if len(data.class_names) == int(data.y.max()) + 1 else []
    split = per_class_split(data.y, split_seed)
    notes = [f"split made here (20 and 30 of each class, seed {split_seed}): {node_sizes(split)}"]
    return assemble(name, data.x, data.edge_index, data.y, split, notes=notes, class_names=names)


def load_ogbn(name: str, folder: Path) -> NodeTask:
    """An OGB node set (ogbn-arxiv) with its time split; features standardised by the training nodes."""
    raw, splits = folder / "raw", folder / "split" / "time"
    x = torch.from_numpy(np.asarray(read_table(raw / "node-feat.csv.gz", whole=False), dtype=np.float32))
    y = torch.from_numpy(read_column(raw / "node-label.csv.gz"))
    edges = torch.from_numpy(np.ascontiguousarray(read_table(raw / "edge.csv.gz", columns=2).T))
    _check(raw / "node-feat.csv.gz", x, edges, y)
    parts = [torch.from_numpy(read_column(splits / f"{part}.csv.gz")) for part in ("train", "valid", "test")]
    split = _split(splits, parts, len(y))
    notes = ["features standardised by the training nodes", "edges taken both ways"]
    return assemble(name, standardised(x, split.train), edges, y, split, notes=notes)


def load_flickr(name: str, folder: Path) -> NodeTask:
    """Flickr in GraphSAINT's files, inductive; features standardised by the training nodes."""
    try:
        matrix = csr_matrix(read_npz(folder / "adj_full.npz", ("data", "indices", "indptr", "shape")))
        x = torch.from_numpy(read_npy(folder / "feats.npy")).float()
        if x.dim() != 2 or matrix.shape != (len(x), len(x)):
            raise ValueError(f"features of shape {tuple(x.shape)} and a graph of {matrix.shape[0]} nodes")
        classes = parse_json((folder / "class_map.json").read_bytes())
        role = parse_json((folder / "role.json").read_bytes())
        y = torch.full((len(x),), -1, dtype=torch.long)
        y[torch.tensor([int(node) for node in classes])] = torch.tensor([int(label) for label in classes.values()])
        parts = [torch.tensor(role[part], dtype=torch.long) for part in ("tr", "va", "te")]
    except Exception as error:
        # As for Amazon: damaged arrays raise any of half a dozen types.
        raise FileFormatError(
            f"{folder} is not PyG's Flickr ({' '.join(str(error).split())[:80]}): fetch it anew"
        ) from None
    pairs = matrix.tocoo()
    edges = torch.from_numpy(np.stack([pairs.row, pairs.col]).astype(np.int64))
    _check(folder / "feats.npy", x, edges, y)
    split = _split(folder / "role.json", parts, len(y))
    notes = ["features standardised by the training nodes"]
    return assemble(name, standardised(x, split.train), edges, y, split, inductive=True, notes=notes)


def _check(file: Path, x: Tensor, edges: Tensor, y: Tensor) -> None:
    if len(x) != len(y):
        raise FileFormatError(f"{file} has {len(x):,} nodes, but there are {len(y):,} labels: fetch the files anew")
    if not bool(torch.isfinite(x).all()):
        raise FileFormatError(f"{file} has a number that is not finite: fetch it anew")
    if edges.numel() and (int(edges.min()) < 0 or int(edges.max()) >= len(y)):
        raise FileFormatError(f"an edge beside {file} names a node outside of 0 to {len(y) - 1}: fetch the files anew")


def _split(file: Path, parts: list[Tensor], nodes: int) -> Split:
    for part in parts:
        if not len(part) or int(part.min()) < 0 or int(part.max()) >= nodes:
            raise FileFormatError(f"{file} is empty or names a node outside of 0 to {nodes - 1}: fetch it anew")
    return Split(*parts)


def sum_to_one(x: Tensor) -> Tensor:
    """Each row over its sum; rows of zeros stay."""
    return x / x.sum(1, keepdim=True).clamp(min=1e-12).where(x.sum(1, keepdim=True) > 0, torch.ones(()))


def standardised(x: Tensor, train: Tensor) -> Tensor:
    """Each column with mean 0 and standard deviation 1 over the training nodes; constant columns only centred."""
    mean, std = x[train].mean(0), x[train].std(0, correction=0)
    return (x - mean) / std.where(std > 0, torch.ones(()))
