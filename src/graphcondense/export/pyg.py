"""PyG: one ``.pt`` of plain tensors, which ``torch.load(weights_only=True)`` reads."""

from __future__ import annotations

import io
import pickle
from pathlib import Path

import torch
from torch_geometric.data import Data
from torch_geometric.data.separate import separate

from graphcondense.errors import FileFormatError
from graphcondense.export.portable import check_new_file, joined, parts_of, reading
from graphcondense.files import write_aside
from graphcondense.synthetic import CondensedDataset, CondensedGraph, CondensedInMemory


def write_pt(condensed: CondensedDataset | CondensedGraph, path: Path, *, force: bool = False) -> list[Path]:
    """Write ``{"data": ..., "slices": ..., "facts": ...}``: the first two as PyG collates a dataset."""
    check_new_file(path, ".pt", force=force)
    graphs, facts = parts_of(condensed)
    collated = CondensedInMemory(graphs, condensed.num_classes, "export")
    content = io.BytesIO()
    torch.save({"data": collated._data.to_dict(), "slices": dict(collated.slices or {}), "facts": facts}, content)
    return [write_aside(path, content.getvalue())]


def read_pt(path: Path) -> CondensedDataset | CondensedGraph:
    """Read what :func:`write_pt` wrote; nothing in the file is ever run."""
    try:
        with reading(path):
            stored = torch.load(path, weights_only=True)
    except pickle.UnpicklingError:
        raise FileFormatError(f"{path} is not what `graphcondense export` writes: it is no file of tensors") from None
    with reading(path):
        data, slices = Data.from_dict(stored["data"]), stored["slices"]
        if not slices:  # PyG collates a single graph without slices
            return joined([data], stored["facts"])
        count = len(slices["x"]) - 1
        graphs = [separate(Data, data, idx=i, slice_dict=slices, decrement=False) for i in range(count)]
        return joined(graphs, stored["facts"])
