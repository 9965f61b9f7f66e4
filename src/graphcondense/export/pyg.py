"""PyG: one ``.pt`` of plain tensors, which ``torch.load(weights_only=True)`` reads."""

from __future__ import annotations

import io
import pickle
import zipfile
from pathlib import Path
from typing import Any

import torch
from torch_geometric.data import Data
from torch_geometric.data.separate import separate

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
    with reading(path):
        size = path.stat().st_size
        _check_archive(path, size)
        stored = _load_tensors(path)
        _check_tensors(stored, size)
        data, slices = Data.from_dict(stored["data"]), stored["slices"]
        if not slices:  # PyG collates a single graph without slices
            return joined([data], stored["facts"])
        count = len(slices["x"]) - 1
        if not 1 <= count <= size:
            raise ValueError(f"{count} graphs")
        graphs = [separate(Data, data, idx=i, slice_dict=slices, decrement=False) for i in range(count)]
        return joined(graphs, stored["facts"])


def _check_archive(path: Path, size: int) -> None:
    """See that the file is a plain zip file, as ``torch.save`` writes: nothing in it may unpack to more than it is."""
    if not zipfile.is_zipfile(path):
        raise ValueError("it is no file of tensors")
    with zipfile.ZipFile(path) as content:
        if sum(info.file_size for info in content.infolist()) > size:
            raise ValueError("it would unpack to more than its size")


def _load_tensors(path: Path) -> Any:
    try:
        return torch.load(path, weights_only=True)
    except pickle.UnpicklingError:  # its message is half a page long
        raise ValueError("it is no file of tensors") from None


def _check_tensors(stored: Any, size: int) -> None:
    """See that tensors are plain ones that hold what they show: a single number can be shown a billion times."""
    parts = [stored["data"], stored["slices"]]
    for value in [value for part in parts for value in part.values() if isinstance(value, torch.Tensor)]:
        if value.layout != torch.strided or value.device.type != "cpu" or value.is_quantized:
            raise ValueError("a tensor of a kind that is never exported")
        if value.numel() * value.element_size() > size:
            raise ValueError("a tensor that is larger than the file")
