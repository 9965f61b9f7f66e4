from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.datasets import FakeDataset

from graphcondense.datasets import DatasetInfo, known, load, superpixels
from graphcondense.errors import InputError, MissingDataError

NAMES = [info.name for info in known() if info.task == "graph" and info.name != "CIFAR10"]


def snapshot(root: Path) -> set[tuple[Path, int]]:
    return {(path, path.stat().st_mtime_ns) for path in root.rglob("*")}


def info_of(name: str) -> DatasetInfo:
    return next(info for info in known() if info.name == name)


@pytest.mark.parametrize("name", NAMES)
def test_real_datasets_have_the_papers_statistics(needs_data: Callable[[str], Path], name: str) -> None:
    root = needs_data(name)
    info = info_of(name)
    task = load(name, data_root=root)
    assert task.name == info.name
    assert task.metric == info.metric
    assert task.graphs.num_graphs == info.graphs
    assert task.num_classes == info.classes
    assert round(task.graphs.num_nodes.double().mean().item(), 2) == info.avg_nodes
    assert round(task.graphs.num_edges.double().mean().item(), 2) == info.avg_edges
    assert not task.graphs.directed


@pytest.mark.parametrize(
    ("name", "features", "classes", "parts"),
    [
        ("MUTAG", 7, [63, 125], [150, 19, 19]),
        ("NCI1", 37, [2_053, 2_057], [3_288, 411, 411]),
        ("DD", 89, [691, 487], [942, 118, 118]),
        ("ogbg-molbace", 9, [822, 691], [1_210, 151, 152]),
        ("ogbg-molbbbp", 9, [479, 1_560], [1_631, 204, 204]),
        ("ogbg-molhiv", 9, [39_684, 1_443], [32_901, 4_113, 4_113]),
        ("amazon-ego", 745, [498, 611], [887, 111, 111]),
    ],
)
def test_real_datasets_have_the_known_classes_and_split(
    needs_data: Callable[[str], Path], name: str, features: int, classes: list[int], parts: list[int]
) -> None:
    task = load(name, data_root=needs_data(name))
    assert task.num_features == features
    assert task.graphs.y.bincount().tolist() == classes
    assert [len(part) for part in (task.split.train, task.split.val, task.split.test)] == parts


def test_raw_folders_are_only_read(needs_data: Callable[[str], Path]) -> None:
    root = needs_data("MUTAG")
    before = snapshot(root / "TUDataset" / "MUTAG")
    load("MUTAG", data_root=root)
    assert snapshot(root / "TUDataset" / "MUTAG") == before


@pytest.mark.parametrize("spelling", ["mutag", "MUTAG", "Mu-tag", "mu_tag"])
def test_a_known_name_is_found_however_it_is_spelt(
    tmp_path: Path, write_tu: Callable[..., Path], spelling: str
) -> None:
    write_tu(tmp_path / "TUDataset" / "MUTAG" / "raw", name="MUTAG")
    task = load(spelling, data_root=tmp_path)
    assert task.name == "MUTAG"
    order = torch.randperm(30, generator=torch.Generator().manual_seed(0))
    assert torch.equal(task.split.test, order[:3])


def test_the_data_root_may_come_from_the_variable(
    tmp_path: Path, write_tu: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tu(tmp_path / "TUDataset" / "MUTAG" / "raw", name="MUTAG")
    monkeypatch.setenv("GRAPHCONDENSE_DATA", str(tmp_path))
    assert load("MUTAG").graphs.num_graphs == 30


def test_other_tu_sets_in_the_data_root_load_by_name(tmp_path: Path, write_tu: Callable[..., Path]) -> None:
    write_tu(tmp_path / "TUDataset" / "PROTEINS_full" / "raw", name="PROTEINS_full")
    task = load("proteins-full", data_root=tmp_path)
    assert task.name == "PROTEINS_full"
    assert "random permutation" in task.notes[-1]


def test_folders_are_split_by_class_unless_they_are_in_the_data_root(
    tmp_path: Path, write_tu: Callable[..., Path]
) -> None:
    own = write_tu()
    inside = write_tu(tmp_path / "root" / "TUDataset" / "TINY" / "raw")
    assert "by class" in load(own, data_root=tmp_path / "root").notes[-1]
    assert "by class" in load(f"{own}/", data_root=tmp_path / "root").notes[-1]
    assert "random permutation" in load(inside, data_root=tmp_path / "root").notes[-1]
    assert "random permutation" in load(str(inside.parent), data_root=tmp_path / "root").notes[-1]


def test_a_folder_in_the_working_folder_is_found_but_a_known_name_wins(
    tmp_path: Path, write_tu: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_tu(tmp_path / "mine")
    write_tu(tmp_path / "digits")
    assert load("mine", data_root=tmp_path).name == "TINY"
    assert load("digits", data_root=tmp_path).name == "digits"
    assert load("./digits", data_root=tmp_path).name == "TINY"


def test_ogb_and_superpixels_load_by_name(
    tmp_path: Path,
    write_ogb: Callable[..., Path],
    write_superpixels: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write_ogb()
    write_superpixels()
    monkeypatch.setattr(superpixels, "VALIDATION_IMAGES", 6)
    assert load("OGBG_MolBACE", data_root=tmp_path).metric == "roc_auc"
    assert load("cifar10", data_root=tmp_path).graphs.directed
    note = "split_seed=4 is not used: ogbg-molbace has a split"
    assert load("ogbg-molbace", data_root=tmp_path, split_seed=4).notes == (note,)


def test_graphs_load_as_they_are() -> None:
    pair = torch.tensor([[0, 1], [1, 0]])
    graphs = [Data(x=torch.eye(2), edge_index=pair, y=i % 2) for i in range(20)]
    assert load(graphs).name == "custom"
    assert torch.equal(load(graphs, split_seed=5).split.test, load(graphs, split_seed=5).split.test)
    dataset = FakeDataset(num_graphs=40, avg_num_nodes=6, num_classes=2)
    dataset.name = "fake"
    assert load(dataset).name == "fake"


def test_what_cannot_be_loaded_is_said(tmp_path: Path, write_tu: Callable[..., Path]) -> None:
    write_tu(tmp_path / "TUDataset" / "PROTEINS" / "raw", name="PROTEINS")
    with pytest.raises(InputError, match="unknown dataset 'mutagg': did you mean 'MUTAG'"):
        load("mutagg", data_root=tmp_path)
    with pytest.raises(
        InputError,
        match=r"did you mean 'PROTEINS'\? \(known: digits, .*, CIFAR10, amazon-ego, Cora, .*, Computers, PROTEINS\)",
    ):
        load("proteinz", data_root=tmp_path)
    with pytest.raises(MissingDataError, match=r"there is no folder .*absent"):
        load("some/absent", data_root=tmp_path)
    with pytest.raises(MissingDataError, match="there is no folder"):
        load(Path("absent"), data_root=tmp_path)
    with pytest.raises(MissingDataError, match=r"NCI1/raw/NCI1_A\.txt"):
        load("NCI1", data_root=tmp_path)
    with pytest.raises(InputError, match="source='' is empty"):
        load("")
    with pytest.raises(InputError, match="source is of type int"):
        load(3)
    with pytest.raises(InputError, match=r"split_seed=1\.5 must be a whole number"):
        load("digits", split_seed=1.5)
