from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from graphcondense.datasets.ogb import load_ogb
from graphcondense.errors import FileFormatError, MissingDataError

WriteOGB = Callable[..., Path]


def test_a_tiny_set_is_read(write_ogb: WriteOGB) -> None:
    task = load_ogb("tiny", write_ogb())
    assert task.metric == "roc_auc"
    assert task.graphs.num_nodes.tolist() == [3] * 12
    assert task.graphs.num_edges.tolist() == [2] * 12
    assert not task.graphs.directed
    assert task.graphs[1].edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert task.graphs[1].x.tolist() == [[3, 0], [4, 1], [5, 2]]
    assert task.graphs.y.tolist() == [0, 1] * 6
    assert task.split.train.tolist() == list(range(8))
    assert task.split.val.tolist() == [8, 9]
    assert task.split.test.tolist() == [10, 11]
    assert task.notes == ()


def test_a_graph_without_bonds_is_kept(write_ogb: WriteOGB) -> None:
    task = load_ogb("tiny", write_ogb(num_edge_list=["0"] + ["2"] * 11, edge=["0,1", "1,2"] * 11))
    assert task.graphs.num_edges.tolist() == [0] + [2] * 11
    assert task.notes == ("1 of 12 graphs without an edge: kept as they are",)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"num_edge_list": ["2"] * 11}, r"num-edge-list\.csv\.gz has 11 lines for 12 graphs"),
        ({"graph_label": ["1"]}, r"graph-label\.csv\.gz has 1 lines for 12 graphs"),
        ({"graph_label": ["1"] * 11 + ["nan"]}, r"graph-label\.csv\.gz, line 12: 'nan' is not a whole number"),
        ({"graph_label": ["1,0"] * 12}, r"graph-label\.csv\.gz, line 1: 1 whole numbers expected"),
        ({"node_feat": ["1,2"] * 35}, r"node-feat\.csv\.gz has 35 lines for 36 nodes"),
        ({"node_feat": ["1,2"] * 35 + ["1"]}, r"node-feat\.csv\.gz, line 36: 2 whole numbers expected, got '1'"),
        ({"edge": ["0,1"]}, r"edge\.csv\.gz has 1 lines for 24 edges"),
        ({"edge": ["0,1"] * 23 + ["0,3"]}, r"edge\.csv\.gz, line 24: edge \(0, 3\), but its graph's nodes are 0 to 2"),
        ({"edge": ["0,-1"] * 24}, r"edge\.csv\.gz, line 1: edge \(0, -1\)"),
        ({"num_node_list": ["-3"] + ["3"] * 11}, r"num-node-list\.csv\.gz, line 1: -3 is negative"),
        ({"num_node_list": ["0", "6"] + ["3"] * 10}, r"num-node-list\.csv\.gz, line 1: a graph without nodes"),
        ({"test": ["12"]}, r"test\.csv\.gz, line 1: graph 12, but the graphs are 0 to 11"),
        ({"test": ["10", "9"]}, r"test\.csv\.gz has a graph that is there twice or in another part"),
        ({"valid": ["8", "8"]}, r"valid\.csv\.gz has a graph that is there twice"),
        ({"valid": []}, r"valid\.csv\.gz is empty"),
    ],
)
def test_damaged_files_are_named(write_ogb: WriteOGB, files: dict[str, Sequence[str]], message: str) -> None:
    with pytest.raises(FileFormatError, match=message):
        load_ogb("tiny", write_ogb(**files))


def test_truncated_and_missing_files_are_named(write_ogb: WriteOGB) -> None:
    folder = write_ogb()
    file = folder / "raw" / "edge.csv.gz"
    file.write_bytes(file.read_bytes()[:-6])
    with pytest.raises(FileFormatError, match=r"edge\.csv\.gz is damaged"):
        load_ogb("tiny", folder)
    file.unlink()
    with pytest.raises(MissingDataError, match=r"edge\.csv\.gz is missing"):
        load_ogb("tiny", folder)
