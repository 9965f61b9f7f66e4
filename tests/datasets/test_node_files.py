from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import sparse
from torch_geometric.datasets import Amazon, Planetoid

from graphcondense.datasets import DatasetInfo, known, load
from graphcondense.datasets.node_files import standardised, sum_to_one
from graphcondense.errors import FileFormatError, GraphcondenseError, MissingDataError
from graphcondense.tasks import NodeTask

NAMES = [info.name for info in known() if info.task == "node"]
Write = Callable[..., Path]


def info_of(name: str) -> DatasetInfo:
    return next(info for info in known() if info.name == name)


def load_nodes(name: str, root: Path, **options: Any) -> NodeTask:
    task = load(name, data_root=root, **options)
    assert isinstance(task, NodeTask)
    return task


def pairs(edge_index: torch.Tensor) -> set[tuple[int, int]]:
    return set(zip(*edge_index.tolist(), strict=True))


# --- the real ones ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_real_datasets_are_as_the_catalogue_says(needs_data: Callable[[str], Path], name: str) -> None:
    root, info = needs_data(name), info_of(name)
    task = load_nodes(name, root)
    assert (task.name, task.source, task.metric) == (name, name, info.metric)
    assert (info.graphs, task.num_classes) == (1, info.classes)
    assert (task.num_nodes, int(task.graph.num_edges.sum())) == (info.avg_nodes, info.avg_edges)
    assert not task.graph.has_one_way_edges() and task.inductive == (name == "Flickr")
    assert bool((task.train_class_counts > 0).all())
    train, val, test = (set(part.tolist()) for part in (task.split.train, task.split.val, task.split.test))
    assert not train & val and not train & test and not val & test


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("Cora", [140, 500, 1000]),
        ("Citeseer", [120, 500, 1000]),
        ("Pubmed", [60, 500, 1000]),
        ("Photo", [160, 240, 7250]),
        ("Computers", [200, 300, 13252]),
        ("ogbn-arxiv", [90941, 29799, 48603]),
        ("Flickr", [44625, 22312, 22313]),
    ],
)
def test_real_datasets_have_the_known_split(needs_data: Callable[[str], Path], name: str, parts: list[int]) -> None:
    split = load_nodes(name, needs_data(name)).split
    assert [len(part) for part in (split.train, split.val, split.test)] == parts


@pytest.mark.parametrize(("name", "theirs"), [("Cora", "Cora"), ("Citeseer", "CiteSeer"), ("Pubmed", "PubMed")])
def test_planetoid_is_what_pyg_reads(needs_data: Callable[[str], Path], tmp_path: Path, name: str, theirs: str) -> None:
    root = needs_data(name)
    task = load_nodes(name, root)
    (tmp_path / theirs).mkdir()
    (tmp_path / theirs / "raw").symlink_to(info_of(name).home(root))
    data = Planetoid(str(tmp_path), theirs)[0]
    torch.testing.assert_close(task.graph.x, data.x / data.x.sum(1, keepdim=True).clamp(min=1e-9))
    assert torch.equal(task.graph.y, data.y)
    assert pairs(task.graph.edge_index) == {(a, b) for a, b in pairs(data.edge_index) if a != b}
    for part in ("train", "val", "test"):
        assert torch.equal(getattr(task.split, part), data[f"{part}_mask"].nonzero().flatten())
    assert "features sum to one a node" in task.notes


@pytest.mark.parametrize("name", ["Photo", "Computers"])
def test_amazon_is_what_pyg_reads(needs_data: Callable[[str], Path], tmp_path: Path, name: str) -> None:
    root = needs_data(name)
    task = load_nodes(name, root)
    (tmp_path / name).mkdir()
    (tmp_path / name / "raw").symlink_to(info_of(name).home(root))
    data = Amazon(str(tmp_path), name)[0]
    assert torch.equal(task.graph.x, data.x) and torch.equal(task.graph.y, data.y)
    assert pairs(task.graph.edge_index) == {(a, b) for a, b in pairs(data.edge_index) if a != b}
    assert task.train_class_counts.tolist() == [20] * task.num_classes
    assert task.graph.y[task.split.val].bincount().tolist() == [30] * task.num_classes
    assert len(task.class_names) == task.num_classes
    other = load_nodes(name, root, split_seed=1)
    assert not torch.equal(task.split.train, other.split.train)
    assert torch.equal(load_nodes(name, root, split_seed=1).split.train, other.split.train)


def test_raw_folders_are_only_read(needs_data: Callable[[str], Path]) -> None:
    home = info_of("Cora").home(needs_data("Cora"))
    before = {(path, path.stat().st_mtime_ns) for path in home.parent.rglob("*")}
    load("cora", data_root=needs_data("Cora"))
    assert {(path, path.stat().st_mtime_ns) for path in home.parent.rglob("*")} == before


def test_a_seed_that_a_published_split_has_no_use_for_is_said(needs_data: Callable[[str], Path]) -> None:
    root = needs_data("Cora")
    plain, seeded = load_nodes("Cora", root), load_nodes("Cora", root, split_seed=4)
    assert seeded.notes[-1] == "split_seed=4 is not used: Cora has a split"
    assert torch.equal(plain.split.train, seeded.split.train)


# --- planetoid and amazon files, damaged -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "damage"),
    [
        *((part, damage) for part in ("graph", "allx", "ty") for damage in ("empty", "text", "truncated", "noise")),
        ("test.index", "text"),
        ("test.index", "noise"),
        pytest.param("test.index", "empty", marks=()),
        pytest.param("test.index", "truncated", marks=()),
    ],
)
def test_damaged_planetoid_files_are_refused(
    needs_data: Callable[[str], Path], tmp_path: Path, part: str, damage: str
) -> None:
    real = info_of("Cora").home(needs_data("Cora"))
    home = tmp_path / info_of("Cora").folder
    home.mkdir(parents=True)
    for file in real.iterdir():
        content = file.read_bytes()
        if file.name == f"ind.cora.{part}":
            noise = bytes(np.random.default_rng(0).integers(0, 256, 500, dtype=np.uint8))
            content = {"empty": b"", "text": b"hello\n", "truncated": content[: len(content) // 2], "noise": noise}[
                damage
            ]
        (home / file.name).write_bytes(content)
    with pytest.raises(FileFormatError) as caught:
        load("Cora", data_root=tmp_path)
    assert "fetch" in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04 hello"], ids=["empty", "text", "zip"])
def test_damaged_amazon_files_are_refused(tmp_path: Path, content: bytes) -> None:
    info = info_of("Computers")
    (tmp_path / info.folder).mkdir(parents=True)
    (tmp_path / info.folder / info.files[0]).write_bytes(content)
    with pytest.raises(FileFormatError, match=r"is not PyG's Amazon file .*: fetch it anew"):
        load("Computers", data_root=tmp_path)


# --- ogbn-arxiv ------------------------------------------------------------------------------------------------------


@pytest.fixture
def write_arxiv(tmp_path: Path) -> Write:
    """Writes 12 nodes of 3 classes on a one-way path, with some of the files as given; returns the data root."""

    def write(**files: Sequence[str] | bytes | None) -> Path:
        content: dict[str, Any] = {
            "node_feat": [f"{i},{i % 2},7" for i in range(12)],
            "node_label": [str(i % 3) for i in range(12)],
            "edge": [f"{i + 1},{i}" for i in range(11)],
            "train": ["4", "0", "1", "2", "3", "5"],
            "valid": ["6", "7", "8"],
            "test": ["9", "10", "11"],
        }
        content.update(files)
        for part, lines in content.items():
            place = tmp_path / "ogb" / "ogbn_arxiv" / ("split/time" if part in ("train", "valid", "test") else "raw")
            place.mkdir(parents=True, exist_ok=True)
            path = place / f"{part.replace('_', '-')}.csv.gz"
            if isinstance(lines, bytes):
                path.write_bytes(lines)
            elif lines is not None:
                path.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))
        return tmp_path

    return write


def test_arxiv_files_become_a_task(write_arxiv: Write) -> None:
    task = load_nodes("OGBN_arxiv", write_arxiv())
    assert (task.name, task.source, task.num_classes, task.inductive) == ("ogbn-arxiv", "ogbn-arxiv", 3, False)
    assert task.graph.y.tolist() == [0, 1, 2] * 4
    assert pairs(task.graph.edge_index) == {(i, i + 1) for i in range(11)} | {(i + 1, i) for i in range(11)}
    assert task.split.train.tolist() == [4, 0, 1, 2, 3, 5]
    assert (task.split.val.tolist(), task.split.test.tolist()) == ([6, 7, 8], [9, 10, 11])
    raw = torch.tensor([[i, i % 2, 7.0] for i in range(12)])
    seen = raw[:6]
    assert torch.allclose(task.graph.x[:, :2], ((raw - seen.mean(0)) / seen.std(0, correction=0))[:, :2])
    assert task.graph.x[:, 2].tolist() == [0] * 12
    assert {"features standardised by the training nodes", "edges taken both ways"} <= set(task.notes)


def test_arxiv_features_may_be_any_numbers(write_arxiv: Write) -> None:
    task = load_nodes("ogbn-arxiv", write_arxiv(node_feat=[f"{i / 4},{-i / 2:.6f},1e-3" for i in range(12)]))
    assert task.num_features == 3
    assert float(task.graph.x[0, 1]) == pytest.approx(-float(task.graph.x[0, 0]), rel=1e-5)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"node_feat": ["1,2"] * 11}, "11 nodes, but there are 12 labels"),
        ({"node_label": ["0", "1"] * 5}, "12 nodes, but there are 10 labels"),
        ({"node_feat": ["1,2"] * 11 + ["1"]}, "line 12"),
        ({"node_feat": ["1,2"] * 11 + ["1,x"]}, "line 12"),
        ({"edge": ["0,1", "1,12"]}, "an edge .* names a node outside of 0 to 11"),
        ({"edge": ["0,1", "-1,2"]}, "an edge .* names a node outside of 0 to 11"),
        ({"edge": ["0,1", "3"]}, "line 2"),
        ({"edge": []}, "empty"),
        ({"train": ["0", "12"]}, "names a node outside of 0 to 11"),
        ({"test": ["-1"]}, "names a node outside of 0 to 11"),
        ({"valid": []}, "empty"),
        ({"node_label": [str(i % 3) for i in range(11)] + ["0.5"]}, "line 12"),
        ({"edge": b"not gzip"}, "damaged"),
        ({"node_feat": gzip.compress(b"1,2\n" * 12)[:-9]}, "damaged"),
    ],
)
def test_damaged_arxiv_files_are_refused(write_arxiv: Write, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(FileFormatError, match=words) as caught:
        load("ogbn-arxiv", data_root=write_arxiv(**changes))
    assert "\n" not in str(caught.value)


def test_a_missing_arxiv_file_is_named(write_arxiv: Write) -> None:
    with pytest.raises(MissingDataError, match=r"ogbn_arxiv/split/time/valid\.csv\.gz"):
        load("ogbn-arxiv", data_root=write_arxiv(valid=None))


# --- Flickr ----------------------------------------------------------------------------------------------------------


def path_matrix(nodes: int = 12) -> dict[str, Any]:
    row = np.arange(nodes - 1)
    upper = sparse.csr_matrix((np.ones(nodes - 1), (row, row + 1)), shape=(nodes, nodes))
    matrix = (upper + upper.T).tocsr()
    return {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "shape": np.array(matrix.shape)}


@pytest.fixture
def write_flickr(tmp_path: Path) -> Write:
    """Writes a path of 12 nodes of 3 classes in GraphSAINT's files, some as given; returns the data root."""

    def write(
        adj_full: dict[str, Any] | bytes | None = None,
        feats: Any = None,
        class_map: Any = None,
        role: Any = None,
    ) -> Path:
        home = tmp_path / "Flickr" / "raw"
        home.mkdir(parents=True, exist_ok=True)
        values = np.random.default_rng(0).random((12, 2)) if feats is None else feats
        labels = {str(i): i % 3 for i in reversed(range(12))} if class_map is None else class_map
        parts = {"tr": [0, 1, 2, 6, 7], "va": [3, 4], "te": [5, 8, 9, 10, 11]} if role is None else role
        if isinstance(adj_full, bytes):
            (home / "adj_full.npz").write_bytes(adj_full)
        else:
            np.savez(home / "adj_full.npz", **(adj_full or path_matrix()))
        if isinstance(values, bytes):
            (home / "feats.npy").write_bytes(values)
        else:
            np.save(home / "feats.npy", values)
        for name, value in (("class_map", labels), ("role", parts)):
            (home / f"{name}.json").write_text(value if isinstance(value, str) else json.dumps(value))
        return tmp_path

    return write


def test_flickr_files_become_an_inductive_task(write_flickr: Write) -> None:
    task = load_nodes("flickr", write_flickr())
    assert (task.name, task.source, task.num_classes, task.inductive) == ("Flickr", "Flickr", 3, True)
    assert task.graph.y.tolist() == [0, 1, 2] * 4
    assert pairs(task.graph.edge_index) == {(i, i + 1) for i in range(11)} | {(i + 1, i) for i in range(11)}
    x = torch.from_numpy(np.random.default_rng(0).random((12, 2))).float()
    seen = x[[0, 1, 2, 6, 7]]
    torch.testing.assert_close(task.graph.x, (x - seen.mean(0)) / seen.std(0, correction=0))
    assert task.notes == ("features standardised by the training nodes",)


def test_views_of_flickr_hide_what_is_held_out(write_flickr: Write) -> None:
    task = load_nodes("Flickr", write_flickr())
    graph, nodes = task.train
    assert torch.equal(graph.x, task.graph.x[[0, 1, 2, 6, 7]]) and nodes.tolist() == [0, 1, 2, 3, 4]
    assert pairs(graph.edge_index) == {(0, 1), (1, 0), (1, 2), (2, 1), (3, 4), (4, 3)}
    graph, nodes = task.val
    assert torch.equal(graph.x, task.graph.x[[0, 1, 2, 6, 7, 3, 4]]) and nodes.tolist() == [5, 6]
    assert pairs(graph.edge_index) == {
        (0, 1), (1, 0), (1, 2), (2, 1), (3, 4), (4, 3), (2, 5), (5, 2), (5, 6), (6, 5),
    }  # fmt: skip
    graph, nodes = task.test
    assert graph is task.graph and nodes.tolist() == [5, 8, 9, 10, 11]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"feats": np.zeros((11, 2))}, "outside|nodes|Flickr"),
        ({"adj_full": path_matrix(13)}, "features of shape .* and a graph of 13 nodes"),
        ({"adj_full": {"data": np.ones(2)}}, "is not PyG's Flickr"),
        ({"adj_full": {**path_matrix(), "indptr": np.zeros(3, dtype=int)}}, "is not PyG's Flickr"),
        ({"adj_full": b"hello"}, "is not PyG's Flickr"),
        ({"feats": b"hello"}, "is not PyG's Flickr"),
        ({"feats": np.array([["a", "b"]] * 12)}, "is not PyG's Flickr"),
        ({"class_map": "{"}, "is not PyG's Flickr"),
        ({"class_map": {"x": 1}}, "is not PyG's Flickr"),
        ({"class_map": {"12": 1}}, "is not PyG's Flickr"),
        ({"role": "nothing"}, "is not PyG's Flickr"),
        ({"role": {"tr": [0], "va": [1]}}, "is not PyG's Flickr"),
        ({"role": [1, 2]}, "is not PyG's Flickr"),
    ],
)
def test_damaged_flickr_files_are_refused(write_flickr: Write, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(FileFormatError, match=words) as caught:
        load("Flickr", data_root=write_flickr(**changes))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"adj_full": b""},
        {"adj_full": b"PK\x03\x04 hello"},
        {"feats": b""},
        {"class_map": [0, 1]},
        {"role": {"tr": [0, 1, 12], "va": [3], "te": [5]}},
        {"role": {"tr": [0, 1, -1], "va": [3], "te": [5]}},
    ],
    ids=["empty npz", "broken zip", "empty npy", "list of classes", "far node", "negative node"],
)
def test_more_damaged_flickr_files_are_refused(write_flickr: Write, changes: dict[str, Any]) -> None:
    with pytest.raises(FileFormatError):
        load("Flickr", data_root=write_flickr(**changes))


def test_features_that_are_not_finite_are_refused(write_flickr: Write) -> None:
    feats = np.ones((12, 2))
    feats[3, 1] = np.nan
    with pytest.raises(GraphcondenseError):
        load("Flickr", data_root=write_flickr(feats=feats))


# --- features --------------------------------------------------------------------------------------------------------


def test_rows_sum_to_one_and_rows_of_zeros_stay() -> None:
    x = torch.tensor([[1.0, 3.0], [0.0, 0.0], [0.0, 2.0], [0.25, 0.25]])
    assert sum_to_one(x).tolist() == [[0.25, 0.75], [0, 0], [0, 1], [0.5, 0.5]]


def test_columns_are_standardised_by_the_training_nodes() -> None:
    x = torch.tensor([[1.0, 5.0], [3.0, 5.0], [7.0, 9.0]])
    assert standardised(x, torch.tensor([0, 1])).tolist() == [[-1, 0], [1, 0], [5, 4]]
