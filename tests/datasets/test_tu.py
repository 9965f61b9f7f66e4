from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch_geometric.datasets import TUDataset
from torch_geometric.io import read_tu_data

from graphcondense.datasets.tu import load_tu
from graphcondense.errors import FileFormatError, InputError, MissingDataError

WriteTU = Callable[..., Path]


def test_a_tiny_set_is_read(write_tu: WriteTU) -> None:
    task = load_tu(write_tu())
    assert task.name == "TINY"
    assert task.graphs.num_graphs == 30
    assert task.graphs.num_nodes.tolist() == [2, 3] * 15
    assert task.graphs[1].edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert task.graphs[1].x.tolist() == [[1, 0, 0], [0, 0, 1], [1, 0, 0]]
    assert task.graphs.y.tolist() == [0, 1] * 15
    assert task.class_names == ("5", "7")
    assert not task.graphs.directed
    assert task.notes == (
        "labels numbered anew: 5 -> 0, 7 -> 1",
        "every validation graph is of class 7: scores there say little",
        "split made here (random permutation, seed 0): 24 training, 3 validation and 3 test graphs",
    )


def test_blank_lines_at_the_end_do_not_matter(write_tu: WriteTU) -> None:
    folder = write_tu()
    before = load_tu(folder).graphs
    for file in folder.iterdir():
        file.write_text(file.read_text() + "\n  \n")
    after = load_tu(folder).graphs
    assert torch.equal(after.x, before.x)
    assert torch.equal(after.edge_index, before.edge_index)


def test_the_folder_above_raw_will_do(write_tu: WriteTU, tmp_path: Path) -> None:
    write_tu(tmp_path / "SET" / "raw")
    assert load_tu(tmp_path / "SET").name == "TINY"


def test_splits_follow_the_seed_and_the_wish(write_tu: WriteTU) -> None:
    folder = write_tu()
    order = torch.randperm(30, generator=torch.Generator().manual_seed(7))
    assert torch.equal(load_tu(folder, split_seed=7).split.test, order[:3])
    by_class = load_tu(folder, reference_split=False)
    assert by_class.test.y.bincount().tolist() == [2, 2]
    assert "split made here (by class, seed 0)" in by_class.notes[-1]


def test_degrees_stand_in_for_features(write_tu: WriteTU) -> None:
    task = load_tu(write_tu(node_labels=None))
    assert task.graphs[1].x.tolist() == [[0, 1, 0], [0, 0, 1], [0, 1, 0]]
    assert any("one-hot degree" in note for note in task.notes)


def test_features_are_those_of_pyg(write_tu: WriteTU) -> None:
    labels = "".join(f"{i % 3 - 1}, {4 * (i % 2)}\n" for i in range(75))
    attributes = "".join(f"{i / 7:.4f},{-i}, 1e-3\n" for i in range(75))
    folder = write_tu(node_labels=labels, node_attributes=attributes)
    task = load_tu(folder)
    theirs, slices, _ = read_tu_data(str(folder), "TINY")
    assert task.num_features == 3 + 3 + 5
    assert torch.equal(task.graphs.x, theirs.x)
    assert torch.equal(task.graphs.y, theirs.y)
    assert torch.equal(task.graphs.node_ptr, slices["x"])
    assert torch.equal(task.graphs.edge_ptr, slices["edge_index"])


def test_mutag_is_that_of_pyg(needs_data: Callable[[str], Path], tmp_path: Path) -> None:
    raw = needs_data("MUTAG") / "TUDataset" / "MUTAG" / "raw"
    shutil.copytree(raw, tmp_path / "MUTAG" / "raw")
    theirs = TUDataset(str(tmp_path), "MUTAG", use_node_attr=True)
    ours = load_tu(raw).graphs
    assert len(ours) == len(theirs)
    for our, their in zip(ours, theirs, strict=True):
        assert torch.equal(our.x, their.x)
        assert torch.equal(our.edge_index, their.edge_index)
        assert torch.equal(our.y, their.y)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"A": "1, 2\n2, one\n"}, r"TINY_A\.txt, line 2: 'one' is not a whole number"),
        ({"A": "1, 2\n2, 1, 5\n"}, r"TINY_A\.txt, line 2: 2 whole numbers expected"),
        ({"A": "1, 2\n2, 76\n"}, r"TINY_A\.txt, line 2: edge \(2, 76\), but the nodes are 1 to 75"),
        ({"A": "0, 1\n"}, r"TINY_A\.txt, line 1: edge \(0, 1\), but the nodes are 1 to 75"),
        ({"A": "1, 2\n2, 3\n"}, r"TINY_A\.txt, line 2: edge \(2, 3\) goes from graph 1 to graph 2"),
        ({"A": "\n"}, r"TINY_A\.txt is empty"),
        ({"graph_indicator": "1\n2\n1\n"}, r"graph_indicator\.txt, line 3: graph 1 is out of order"),
        ({"graph_indicator": "0\n1\n"}, r"graph_indicator\.txt, line 1: graph 0 is out of order"),
        ({"graph_indicator": "1\n9000000000\n"}, r"line 2: no node is of graph 8999999999, .* without gaps"),
        ({"graph_indicator": "2\n2\n"}, r"line 1: no node is of graph 1, which should come before graph 2"),
        ({"graph_labels": "1\n2\n"}, r"graph_labels\.txt has 2 lines, but TINY_graph_indicator\.txt has 30 graphs"),
        ({"graph_labels": "1,0\n" * 30}, r"graph_labels\.txt, line 1: 1 whole numbers expected, got '1,0'"),
        ({"graph_labels": "0.5\n" * 30}, r"graph_labels\.txt, line 1: '0\.5' is not a whole number"),
        ({"node_labels": "1\n"}, r"node_labels\.txt has 1 lines for 75 nodes"),
        ({"node_attributes": "0.5\n"}, r"node_attributes\.txt has 1 lines for 75 nodes"),
        ({"node_attributes": "1,1\n" * 74 + "1,nan\n"}, r"line 75, column 2: nan is not finite in float32"),
        ({"node_attributes": "1,1\n" * 74 + "1,1e99\n"}, r"line 75, column 2: 1e\+99 is not finite in float32"),
    ],
)
def test_damaged_files_are_named(write_tu: WriteTU, files: dict[str, str], message: str) -> None:
    with pytest.raises(FileFormatError, match=message) as caught:
        load_tu(write_tu(**files))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("part", ["graph_indicator", "graph_labels"])
def test_missing_files_are_named(write_tu: WriteTU, part: str) -> None:
    with pytest.raises(MissingDataError, match=rf"TINY_{part}\.txt is missing: put it there"):
        load_tu(write_tu(**{part: None}))


def test_folders_that_are_no_tu_sets_are_refused(write_tu: WriteTU, tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"there is no folder .*absent"):
        load_tu(tmp_path / "absent")
    with pytest.raises(MissingDataError, match=r"has no file NAME_A\.txt, nor has a folder raw in it"):
        load_tu(tmp_path)
    folder = write_tu()
    write_tu(name="OTHER")
    with pytest.raises(FileFormatError, match=r"has several datasets \(OTHER, TINY\)"):
        load_tu(folder)


def test_only_loops_are_no_edges(write_tu: WriteTU) -> None:
    with pytest.raises(InputError, match="no graph has an edge"):
        load_tu(write_tu(A="1, 1\n"))
