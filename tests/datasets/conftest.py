from __future__ import annotations

import gzip
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

WriteTU = Callable[..., Path]


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Each test derives into a cache of its own, and finds no network."""

    def no_network(*_: Any, **__: Any) -> NoReturn:
        raise OSError("no network in tests")

    cache = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("GRAPHCONDENSE_CACHE", str(cache))
    monkeypatch.setattr(socket, "create_connection", no_network)
    monkeypatch.setattr(socket, "getaddrinfo", no_network)
    return cache


@pytest.fixture
def write_tu(tmp_path: Path) -> WriteTU:
    """Writes a TU set of 30 paths with 2 or 3 nodes, with some of its files as given (``None``: without the file)."""

    def write(folder: Path | None = None, name: str = "TINY", **files: str | None) -> Path:
        folder = folder or tmp_path / "tiny"
        folder.mkdir(parents=True, exist_ok=True)
        content = tiny_tu()
        content.update(files)
        for part, text in content.items():
            if text is not None:
                (folder / f"{name}_{part}.txt").write_text(text)
        return folder

    return write


def tiny_tu() -> dict[str, str | None]:
    """Paths of 2 nodes (class 5) and of 3 nodes (class 7) in turns; the middle node of three has label 4."""
    edges, indicator, graph_labels, node_labels = [], [], [], []
    node = 1
    for graph in range(30):
        size = 2 + graph % 2
        for i in range(node, node + size - 1):
            edges += [f"{i}, {i + 1}", f"{i + 1}, {i}"]
        indicator += [str(graph + 1)] * size
        node_labels += ["2", "2"] if size == 2 else ["2", "4", "2"]
        graph_labels.append("5" if size == 2 else "7")
        node += size
    parts = {"A": edges, "graph_indicator": indicator, "graph_labels": graph_labels, "node_labels": node_labels}
    return {part: "\n".join(lines) + "\n" for part, lines in parts.items()}


@pytest.fixture
def write_ogb(tmp_path: Path) -> Callable[..., Path]:
    """Writes an OGB set of 12 paths of 3 nodes with 2 features, with some of its files as given."""

    def write(folder: Path | None = None, **files: Sequence[str]) -> Path:
        folder = folder or tmp_path / "ogb" / "ogbg_molbace"
        content: dict[str, Sequence[str]] = {
            "num_node_list": ["3"] * 12,
            "num_edge_list": ["2"] * 12,
            "edge": ["0,1", "1,2"] * 12,
            "node_feat": [f"{i},{i % 3}" for i in range(36)],
            "graph_label": ["0", "1"] * 6,
            "train": [str(i) for i in range(8)],
            "valid": ["8", "9"],
            "test": ["10", "11"],
        }
        content.update(files)
        for part, lines in content.items():
            place = folder / ("split/scaffold" if part in ("train", "valid", "test") else "raw")
            place.mkdir(parents=True, exist_ok=True)
            with gzip.open(place / f"{part.replace('_', '-')}.csv.gz", "wt") as file:
                file.write("".join(f"{line}\n" for line in lines))
        return folder

    return write


@pytest.fixture
def write_superpixels(tmp_path: Path) -> Callable[..., Path]:
    """Writes a superpixel set, some arrays of the training file as given: 20 training images, 6 test images."""

    def write(folder: Path | None = None, **arrays: Any) -> Path:
        folder = folder or tmp_path / "superpixels" / "CIFAR10"
        folder.mkdir(parents=True, exist_ok=True)
        random = np.random.default_rng(0)
        for part, images in (("train", 20), ("test", 6)):
            num_nodes = random.integers(5, 40, images).astype(np.int16)
            total = int(num_nodes.sum())
            content = {
                "num_nodes": num_nodes,
                "color": random.random((total, 3)).astype(np.float16),
                "pos": (31 * random.random((total, 2))).astype(np.float16),
                "label": (np.arange(images) % 3).astype(np.int8),
            }
            if part == "train":
                content.update(arrays)
            np.savez_compressed(folder / f"{part}.npz", **{k: v for k, v in content.items() if v is not None})
        return folder

    return write
