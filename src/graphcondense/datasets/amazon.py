"""The public twin of the paper's e-commerce set: ego networks of products in Amazon's co-purchase graph."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch
from torch_geometric.data import Data
from torch_geometric.utils import remove_self_loops, to_undirected

from graphcondense.datasets.arrays import csr_matrix, dense, read_npz
from graphcondense.datasets.assembly import clean, make_task
from graphcondense.datasets.checks import check_graphs
from graphcondense.datasets.ego import ego_graphs
from graphcondense.datasets.splits import permutation_split, sizes
from graphcondense.errors import FileFormatError
from graphcondense.tasks import GraphTask

PHOTO_FILE = "amazon_electronics_photo.npz"
NUM_GRAPHS = 1_109
CATEGORIES = {1: "Digital Cameras", 6: "Lighting & Studio"}
"""The two largest of the file's eight: their products' surroundings have 33 nodes on average."""


def load_amazon_ego(name: str, folder: Path, *, split_seed: int = 0) -> GraphTask:
    """1,109 products of two categories, each with all that is often bought together with it.

    The paper samples 1,109 ego networks (33.7 nodes on average, two categories) from a private graph. These are of the
    same number and size, from PyG's ``Amazon`` Photo: features are the words of a product's reviews, the label is the
    category of the product in the centre. The graphs are always the same; ``split_seed`` decides the split alone.

    Args:
        name: what the dataset is called.
        folder: with the npz file.
        split_seed: of the split.
    """
    graphs = ego_graphs(read_amazon(folder / PHOTO_FILE), num_graphs=NUM_GRAPHS, classes=list(CATEGORIES))
    made = clean(check_graphs({"graphs": graphs}).loose)
    made = replace(made, class_names=tuple(CATEGORIES.values()), notes=())
    split = permutation_split(NUM_GRAPHS, split_seed)
    note = f"split made here (random permutation, seed {split_seed}): {sizes(split)}"
    return make_task(name, made, split, notes=[note])


def read_amazon(file: Path, name: str = "Amazon Photo") -> Data:
    """A co-purchase graph, as PyG reads it, with ``class_names``; ``name`` is for the message if it is none."""
    try:
        arrays = read_npz(file)
        x = (torch.from_numpy(dense(csr_matrix(arrays, "attr_"))) > 0).float()
        pairs = csr_matrix(arrays, "adj_").tocoo()
        y = arrays["labels"]
        if pairs.shape != (len(x), len(x)) or y.shape != (len(x),) or y.dtype.kind not in "iu" or not len(y):
            raise ValueError(f"{len(x)} rows of features, {pairs.shape} edges, {y.shape} labels")
        if not 0 <= int(y.min()) <= int(y.max()) < len(y):
            raise ValueError("labels that are not numbered from 0 on")
        edges = torch.stack([torch.from_numpy(part).long() for part in (pairs.row, pairs.col)])
        edges = to_undirected(remove_self_loops(edges)[0], num_nodes=len(x))
        names = [str(one) for one in arrays.get("class_names", ())]
        return Data(x=x, edge_index=edges, y=torch.from_numpy(y.astype("int64")), class_names=names)
    except (OSError, KeyError, ValueError) as error:
        reason = " ".join(str(error).split())[:80]
        raise FileFormatError(f"{file} is not PyG's {name} file ({reason}): fetch it anew") from None
