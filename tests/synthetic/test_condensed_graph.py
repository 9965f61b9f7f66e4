from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save as to_safetensors
from torch import Tensor
from torch_geometric.nn import GCNConv

from graphcondense.errors import FileFormatError, WouldOverwriteError
from graphcondense.synthetic import CondensedDataset, CondensedGraph, load_condensed, summary
from graphcondense.synthetic.file import serialise
from tests.made_up import random_store

SOURCE = torch.Generator().manual_seed(0)
HALF = torch.rand(6, 6, generator=SOURCE).triu(1)
WEIGHTS = (HALF + HALF.T) * (HALF + HALF.T > 0.3)
X = torch.randn(6, 4, generator=SOURCE)
LABELS = torch.tensor([0, 0, 0, 1, 2, 2])


def a_graph(weighted: bool, **changes: Any) -> CondensedGraph:
    adjacency = WEIGHTS if weighted else (WEIGHTS > 0).float()
    made = CondensedGraph.from_adjacency(adjacency, X, LABELS, 3, weighted)
    return CondensedGraph(**({**vars(made), "info": {"dataset": "toy"}} | changes))


@pytest.mark.parametrize("weighted", [False, True])
def test_the_adjacency_comes_back(weighted: bool) -> None:
    made = a_graph(weighted)
    assert torch.equal(made.adjacency, WEIGHTS if weighted else (WEIGHTS > 0).float())
    assert (made.weights is not None) == weighted
    assert len(made) == 6 and torch.equal(made.labels, LABELS)
    assert int(made.graph.num_edges.sum()) == int((WEIGHTS > 0).sum()) // 2
    assert 0 < int((WEIGHTS > 0).sum()) < 30


def test_a_graph_without_edges_comes_back(tmp_path: Path) -> None:
    for weighted in (False, True):
        made = CondensedGraph.from_adjacency(torch.zeros(6, 6), X, LABELS, 3, weighted)
        loaded = CondensedGraph.load(made.save(tmp_path / f"{weighted}.safetensors"))
        assert loaded.graph.edge_index.shape == (2, 0) and not bool(loaded.adjacency.any())


@pytest.mark.parametrize("weighted", [False, True])
def test_what_is_loaded_is_what_was_saved(tmp_path: Path, weighted: bool) -> None:
    saved = a_graph(weighted, info={"dataset": "ünï", "settings": {"nodes": 6, "ratio": None}}, history=[{"loss": 1.0}])
    first = saved.save(tmp_path / "a.safetensors")
    assert first.stat().st_size == saved.num_bytes and b"loss" not in first.read_bytes()
    for loaded in (CondensedGraph.load(first), load_condensed(first)):
        assert isinstance(loaded, CondensedGraph)
        assert torch.equal(loaded.adjacency, saved.adjacency) and torch.equal(loaded.graph.x, X)
        assert torch.equal(loaded.labels, LABELS)
        assert (loaded.weights is None) == (saved.weights is None)
        assert (loaded.num_classes, loaded.metric, loaded.info) == (3, "accuracy", saved.info)
        again = loaded.save(tmp_path / "b.safetensors", force=True)
        assert again.read_bytes() == first.read_bytes()
    with pytest.raises(WouldOverwriteError, match="exists"):
        saved.save(first)


def test_load_condensed_gives_whatever_the_file_holds(tmp_path: Path) -> None:
    graphs = CondensedDataset(random_store(4), 2).save(tmp_path / "graphs.safetensors")
    assert isinstance(load_condensed(graphs), CondensedDataset)
    assert isinstance(load_condensed(a_graph(True).save(tmp_path / "nodes.safetensors")), CondensedGraph)


def test_files_of_the_other_task_are_refused_with_the_way_to_load_them(tmp_path: Path) -> None:
    graphs = CondensedDataset(random_store(4), 2).save(tmp_path / "graphs.safetensors")
    nodes = a_graph(False).save(tmp_path / "nodes.safetensors")
    with pytest.raises(FileFormatError, match=r"nodes\.safetensors .*node task: .*CondensedGraph\.load$"):
        CondensedDataset.load(nodes)
    with pytest.raises(FileFormatError, match=r"graphs\.safetensors .*graph task: .*CondensedDataset\.load$"):
        CondensedGraph.load(graphs)


def test_files_from_before_node_tasks_still_load(tmp_path: Path) -> None:
    graphs = random_store(4)
    header = {"num_classes": 2, "metric": "accuracy", "info": {"dataset": "old"}}
    blob = serialise(graphs, header)
    assert b"task" not in blob
    path = tmp_path / "old.safetensors"
    path.write_bytes(blob)
    for loaded in (CondensedDataset.load(path), load_condensed(path)):
        assert isinstance(loaded, CondensedDataset)
        assert torch.equal(loaded.graphs.x, graphs.x) and loaded.info == {"dataset": "old"}
    assert CondensedDataset(graphs, 2, info={"dataset": "old"}).num_bytes == len(blob)  # and are written as ever


@pytest.mark.parametrize("weighted", [False, True])
def test_pyg_sees_the_same_graph(weighted: bool) -> None:
    made = a_graph(weighted)
    data = made.to_pyg()
    assert data.num_nodes == 6 and data.is_undirected() and not data.has_self_loops()
    assert torch.equal(data.y, LABELS) and bool(data.train_mask.all())
    assert ("edge_weight" in data) == weighted
    conv = GCNConv(4, 4, bias=False)
    with torch.no_grad():
        conv.lin.weight.copy_(torch.eye(4))
        rows = conv(data.x, data.edge_index, data.edge_weight if weighted else None)
    loops = made.adjacency + torch.eye(6)
    scale = loops.sum(1).rsqrt()
    torch.testing.assert_close(rows, scale[:, None] * loops * scale[None] @ X)
    data.x += 1
    data.y += 1
    assert torch.equal(made.graph.x, X) and torch.equal(made.labels, LABELS)


def test_summary_and_repr_by_hand() -> None:
    path = torch.zeros(6, 6)
    path[[0, 1, 1, 2], [1, 0, 2, 1]] = 1
    made = CondensedGraph.from_adjacency(path, X, LABELS, 4, weighted=False)
    facts = summary(made)
    assert facts.pop("bytes") == made.num_bytes
    assert facts.pop("dense_bytes") == made.dense_bytes == made.num_bytes - 2 + 4 * 36  # 15 bits become 36 floats
    assert facts == {
        "graphs": 1,
        "nodes_per_class": [3, 1, 2, 0],
        "nodes": 6,
        "edges": 2,
        "weighted": False,
        "features": 4,
        "density": round(4 / 36, 6),
    }
    assert repr(made) == f"CondensedGraph(?, 6 nodes, 2 edges, {made.num_bytes:,} bytes)"
    assert summary(a_graph(True))["weighted"] is True


def test_a_dense_adjacency_takes_the_place_of_bits_and_weights() -> None:
    made = a_graph(True)
    assert made.weights is not None
    stored = 2 + 4 * made.weights.numel()
    assert made.dense_bytes == made.num_bytes - stored + 4 * 36


# --- damage ----------------------------------------------------------------------------------------------------------


def parts(**changes: Any) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and header of a good file: a path of 3 nodes with weights 0.5 and 0.25."""
    tensors = {
        "structure": torch.tensor([0b1010_0000], dtype=torch.uint8),
        "x": torch.arange(6, dtype=torch.float32).view(3, 2),
        "labels": torch.tensor([0, 1, 1], dtype=torch.int32),
        "num_nodes": torch.tensor([3], dtype=torch.int32),
        "weights": torch.tensor([0.5, 0.5, 0.25, 0.25]),
    }
    header = {"format": 1, "directed": False, "num_classes": 2, "metric": "accuracy", "info": {}, "task": "node"}
    for key, value in changes.items():
        part = tensors if key in tensors else header
        part[key] = value
    return tensors, header


def write_file(path: Path, tensors: dict[str, Tensor], header: object) -> Path:
    path.write_bytes(to_safetensors(tensors, {"graphcondense": json.dumps(header)}))
    return path


def test_the_file_that_the_damage_starts_from_is_good(tmp_path: Path) -> None:
    loaded = CondensedGraph.load(write_file(tmp_path / "a.safetensors", *parts()))
    assert loaded.adjacency.tolist() == [[0, 0.5, 0], [0.5, 0, 0.25], [0, 0.25, 0]]


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"weights": torch.tensor([0.5, 0.5, 0.25])}, "weights"),
        ({"weights": torch.full((4, 1), 0.5)}, "weights"),
        ({"weights": torch.tensor([0.5, 0.5, 0.25, 0.0])}, "weights"),
        ({"weights": torch.tensor([0.5, 0.5, 0.25, -0.25])}, "weights"),
        ({"weights": torch.tensor([0.5, 0.5, 0.25, float("nan")])}, "weights"),
        pytest.param(
            {"weights": torch.tensor([0.5, 0.5, float("inf"), float("inf")])},
            "weights",
        ),
        ({"weights": torch.full((4,), 0.5, dtype=torch.float64)}, "weights"),
        ({"weights": torch.ones(4, dtype=torch.int32)}, "weights"),
        ({"labels": torch.tensor([0, 1], dtype=torch.int32)}, "labels"),
        ({"labels": torch.tensor([0], dtype=torch.int32)}, "labels"),
        ({"labels": torch.tensor([0, 1, 2], dtype=torch.int32)}, "a label that is not a class"),
        ({"labels": torch.tensor([0, 1, -1], dtype=torch.int32)}, "a label that is not a class"),
        ({"labels": torch.tensor([0, 1, 1])}, "labels"),
        ({"num_nodes": torch.tensor([2], dtype=torch.int32)}, "features and node counts disagree"),
        ({"task": "edge"}, "'edge'"),
        ({"task": None}, "None"),
        ({"task": ["node"]}, "task"),
        ({"task": "graph"}, "labels"),
    ],
)
def test_damage_is_named(tmp_path: Path, changes: dict[str, Any], word: str) -> None:
    path = write_file(tmp_path / "a.safetensors", *parts(**changes))
    for load in (CondensedGraph.load, load_condensed):
        with pytest.raises(FileFormatError) as caught:
            load(path)
        assert word in str(caught.value) and str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_a_node_file_has_one_graph(tmp_path: Path) -> None:
    # 2 and 3 nodes: 1 + 3 pairs.
    tensors, header = parts(
        x=torch.zeros(5, 2),
        labels=torch.zeros(5, dtype=torch.int32),
        num_nodes=torch.tensor([2, 3], dtype=torch.int32),
    )
    del tensors["weights"]
    with pytest.raises(FileFormatError, match="several graphs"):
        CondensedGraph.load(write_file(tmp_path / "a.safetensors", tensors, header))


def test_other_tensors_are_refused(tmp_path: Path) -> None:
    tensors, header = parts()
    with pytest.raises(FileFormatError, match="'more'"):
        CondensedGraph.load(write_file(tmp_path / "a.safetensors", {**tensors, "more": torch.zeros(1)}, header))
    del tensors["labels"]
    with pytest.raises(FileFormatError, match="'labels'"):
        CondensedGraph.load(write_file(tmp_path / "a.safetensors", tensors, header))
