"""The public twin of the paper's e-commerce set: ego networks of products in Amazon's co-purchase graph."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from torch_geometric.data import Data
from torch_geometric.io import read_npz

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
    """A co-purchase graph, read by PyG; ``name`` is for the message if it is none."""
    try:
        with np.load(file, allow_pickle=False) as arrays:
            known = {"adj_indptr", "attr_indptr", "labels"} <= set(arrays)
        if known:
            return read_npz(str(file))
    except Exception:
        # A damaged zip raises any of half a dozen types from zipfile, zlib, struct and numpy.
        known = False
    raise FileFormatError(f"{file} is not PyG's {name} file: fetch it anew")
