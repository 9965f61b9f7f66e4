from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import sparse
from torch_geometric.datasets import Amazon

from graphcondense.datasets import amazon as amazon_module
from graphcondense.datasets import ego_graphs, load
from graphcondense.datasets.amazon import CATEGORIES, NUM_GRAPHS, PHOTO_FILE, load_amazon_ego, read_amazon
from graphcondense.datasets.catalogue import find_known
from graphcondense.datasets.download import fetch
from graphcondense.errors import FileFormatError, InputError, MissingDataError
from graphcondense.tasks import GraphTask

NeedsData = Callable[[str], Path]


def photo_file(needs_data: NeedsData) -> Path:
    info = find_known("amazon-ego")
    assert info is not None
    return info.home(needs_data("amazon-ego")) / PHOTO_FILE


def write_photo(file: Path, **arrays: Any) -> Path:
    """A small file in the layout of the real one: 60 products, a ring of both directions, labels 0 to 7."""
    nodes = 60
    around = np.roll(np.arange(nodes), -1)
    adjacency = sparse.csr_matrix((np.ones(nodes), (np.arange(nodes), around)), shape=(nodes, nodes))
    adjacency = (adjacency + adjacency.T).tocsr()
    attributes = sparse.random(nodes, 5, 0.5, format="csr", random_state=0)
    content: dict[str, Any] = {"labels": np.arange(nodes) % 8}
    for name, matrix in (("adj", adjacency), ("attr", attributes)):
        content |= {f"{name}_{part}": getattr(matrix, part) for part in ("data", "indices", "indptr", "shape")}
    file.parent.mkdir(parents=True, exist_ok=True)
    np.savez(file, **{name: value for name, value in (content | arrays).items() if value is not None})
    return file


def same(one: GraphTask, two: GraphTask) -> bool:
    parts = ("x", "edge_index", "node_ptr", "y")
    return all(torch.equal(getattr(one.graphs, part), getattr(two.graphs, part)) for part in parts)


# --- the real file ---------------------------------------------------------------------------------------------------


def test_the_real_set_is_the_papers_in_number_and_size(needs_data: NeedsData) -> None:
    root = needs_data("amazon-ego")
    task = load("amazon-ego", data_root=root)
    info = find_known("amazon-ego")
    assert info is not None
    assert (len(task.graphs), task.num_classes, task.metric) == (1_109, 2, "accuracy")
    assert round(float(task.graphs.num_nodes.double().mean()), 2) == info.avg_nodes
    assert abs(info.avg_nodes - 33.7) < 1.5  # the paper's e-commerce set
    assert int(task.graphs.num_nodes.min()) >= 2
    assert task.class_names == ("Digital Cameras", "Lighting & Studio")
    assert task.num_features == 745 and not task.graphs.directed
    assert [len(part) for part in (task.train, task.val, task.test)] == [887, 111, 111]
    assert (task.name, task.source) == ("amazon-ego", "amazon-ego")
    assert task.notes == (
        "split made here (random permutation, seed 0): 887 training, 111 validation and 111 test graphs",
    )


def test_the_real_set_is_always_the_same_and_a_seed_moves_the_split_alone(needs_data: NeedsData) -> None:
    root = needs_data("amazon-ego")
    one, two, other = (load("amazon_ego", data_root=root, split_seed=seed) for seed in (0, 0, 3))
    assert same(one, two) and same(one, other)
    assert torch.equal(one.split.test, two.split.test) and not torch.equal(one.split.test, other.split.test)
    order = torch.randperm(1_109, generator=torch.Generator().manual_seed(3))
    assert torch.equal(other.split.test, order[:111])


def test_labels_and_features_are_those_of_the_products_in_the_centre(needs_data: NeedsData) -> None:
    photo = read_amazon(photo_file(needs_data))
    task = load_amazon_ego("ego", photo_file(needs_data).parent)
    graphs = ego_graphs(photo, num_graphs=NUM_GRAPHS, classes=[1, 6])
    assert len({int(graph.n_id[0]) for graph in graphs}) == 1_109
    for place in (0, 500, 1_108):
        ours, graph = task.graphs[place], graphs[place]
        assert torch.equal(ours.x, photo.x[graph.n_id])
        assert list(CATEGORIES)[int(ours.y)] == int(photo.y[graph.n_id[0]])
        assert ours.edge_index.shape == graph.edge_index.shape


def test_the_categories_are_the_two_largest(needs_data: NeedsData) -> None:
    counts = read_amazon(photo_file(needs_data)).y.bincount()
    assert set(counts.topk(2).indices.tolist()) == set(CATEGORIES)


def test_the_file_is_only_read(needs_data: NeedsData) -> None:
    folder = photo_file(needs_data).parent
    before = {path: path.stat().st_mtime_ns for path in folder.parent.rglob("*")}
    load_amazon_ego("ego", folder)
    assert {path: path.stat().st_mtime_ns for path in folder.parent.rglob("*")} == before


# --- a small file of the same layout ---------------------------------------------------------------------------------


def test_a_small_file_is_read_as_pyg_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_photo(tmp_path / PHOTO_FILE)
    monkeypatch.setattr(amazon_module, "NUM_GRAPHS", 10)
    task = load_amazon_ego("mine", tmp_path)
    assert (task.name, len(task.graphs), task.num_classes, task.num_features) == ("mine", 10, 2, 5)
    assert set(task.graphs.num_nodes.tolist()) == {3}  # a product on the ring and its two neighbours
    assert task.class_names == tuple(CATEGORIES.values())


def test_too_small_a_file_is_refused(tmp_path: Path) -> None:
    write_photo(tmp_path / PHOTO_FILE)
    with pytest.raises(InputError, match="num_graphs=1109 is more than the 15 nodes"):
        load_amazon_ego("mine", tmp_path)


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: b"<html>",
        lambda content: content[: len(content) // 2],
        lambda content: content[:-30],
        lambda content: content[:200] + bytes(200) + content[400:],
    ],
    ids=["empty", "page", "half", "end", "middle"],
)
def test_a_damaged_file_is_named(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    file = write_photo(tmp_path / PHOTO_FILE)
    assert read_amazon(file).num_nodes == 60
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(FileFormatError, match=rf"{PHOTO_FILE} is not PyG's Amazon Photo file .*: fetch it anew"):
        load_amazon_ego("mine", tmp_path)


@pytest.mark.parametrize(
    "arrays",
    [
        {"labels": None},
        {"adj_indptr": None},
        {"attr_shape": None},
        {"adj_indptr": np.arange(3)},
        {"labels": np.array(["a"] * 60)},
        {"labels": np.array([{}] * 60)},
    ],
    ids=lambda arrays: "-".join(arrays),
)
def test_a_foreign_file_is_named(tmp_path: Path, arrays: dict[str, Any]) -> None:
    write_photo(tmp_path / PHOTO_FILE, **arrays)
    with pytest.raises(FileFormatError, match="is not PyG's Amazon Photo file"):
        load_amazon_ego("mine", tmp_path)


def test_a_file_that_is_not_there_is_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=rf"Amazon/Photo/raw/{PHOTO_FILE} is missing, and downloading it failed"):
        load("amazon-ego", data_root=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_download_comes_by_pyg_and_only_its_raw_file_stays(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_photo(tmp_path / "web" / PHOTO_FILE)
    monkeypatch.setattr(Amazon, "url", f"{(tmp_path / 'web').as_uri()}/")
    info = find_known("amazon-ego")
    assert info is not None
    assert fetch(info, tmp_path / "root") == own_cache / "Amazon" / "Photo" / "raw"
    assert [path.name for path in own_cache.iterdir()] == ["Amazon"]
    assert [path.name for path in (own_cache / "Amazon" / "Photo" / "raw").iterdir()] == [PHOTO_FILE]
    monkeypatch.setattr(amazon_module, "NUM_GRAPHS", 10)
    assert len(load("amazon-ego", data_root=tmp_path / "root").graphs) == 10
