from __future__ import annotations

import copy

import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.datasets import FakeDataset

from graphcondense.datasets import graph_task
from graphcondense.errors import InputError


def paths(number: int, classes: int = 2, offset: int = 0) -> list[Data]:
    """Paths whose length depends on the class."""
    graphs = []
    for i in range(number):
        size = 3 + i % classes
        once = torch.stack([torch.arange(size - 1), torch.arange(1, size)])
        graphs.append(
            Data(x=torch.ones(size, 2), edge_index=torch.cat([once, once.flip(0)], 1), y=i % classes + offset)
        )
    return graphs


def test_given_parts_are_kept_as_they_are() -> None:
    train, val, test = paths(10), paths(4), paths(6)
    task = graph_task(train, val, test, name="mine")
    assert task.name == "mine"
    assert task.metric == "accuracy"
    assert task.notes == ()
    for part, given in ((task.train, train), (task.val, val), (task.test, test)):
        assert len(part) == len(given)
        for ours, theirs in zip(part, given, strict=True):
            assert torch.equal(ours.x, theirs.x)
            assert ours.edge_index.t().tolist() == sorted(theirs.edge_index.t().tolist())
            assert int(ours.y) == theirs.y


def test_absent_parts_are_taken_from_train_and_said() -> None:
    task = graph_task(paths(100), split_seed=3)
    assert [len(part) for part in (task.train, task.val, task.test)] == [80, 10, 10]
    assert task.test.y.bincount().tolist() == [5, 5]
    assert task.notes[-1] == (
        "validation and test set taken from train by class, seed 3: 80 training, 10 validation and 10 test graphs"
    )
    assert not torch.equal(graph_task(paths(100)).split.test, task.split.test)


@pytest.mark.parametrize("given", ["val", "test"])
def test_one_absent_part_is_taken_from_train(given: str) -> None:
    task = graph_task(paths(100), **{given: paths(30)})
    other = "test" if given == "val" else "val"
    assert len(getattr(task, given)) == 30
    assert len(getattr(task, other)) == 10
    assert len(task.train) == 90
    assert getattr(task.split, given).min() == 100
    assert task.notes[0].startswith({"val": "validation", "test": "test"}[other] + " set taken from train by class")


def test_a_pyg_dataset_is_taken_as_it_is() -> None:
    dataset = FakeDataset(num_graphs=40, avg_num_nodes=6, num_channels=4, num_classes=3, edge_dim=2)
    task = graph_task(dataset)
    assert task.graphs.num_graphs == 40
    assert task.num_features == 4
    assert any("edge_attr is not used" in note for note in task.notes)


def test_every_change_is_noted() -> None:
    graphs = paths(40, offset=1)
    graphs[0].edge_index = torch.tensor([[0, 0, 1, 0, 2], [1, 1, 0, 0, 2]])
    graphs[1].edge_index = None
    graphs[2].edge_attr = torch.ones(4, 1)
    for graph in graphs:
        graph.num_nodes = graph.num_nodes
        graph.x = None
    before = copy.deepcopy(graphs)
    task = graph_task(graphs)
    assert task.notes[:6] == (
        "2 loops dropped",
        "1 repeated edge dropped",
        "1 of 40 graphs without an edge: kept as they are",
        "no node features: one-hot degree taken instead, 3 columns",
        "labels numbered anew: 1 -> 0, 2 -> 1",
        "edge_attr is not used (in 1 graph)",
    )
    assert task.class_names == ("1", "2")
    assert all(a.to_dict().keys() == b.to_dict().keys() for a, b in zip(graphs, before, strict=True))
    assert graphs[0].edge_index.tolist() == before[0].edge_index.tolist()


def test_one_way_edges_make_the_task_directed() -> None:
    graphs = paths(40)
    assert not graph_task(graphs).graphs.directed
    graphs[5].edge_index = graphs[5].edge_index[:, :1]
    assert graph_task(graphs).graphs.directed


def test_classes_of_the_parts_are_compared() -> None:
    with pytest.raises(InputError, match="all graphs of custom are of class 0: at least two classes"):
        graph_task(paths(10, classes=1))
    with pytest.raises(InputError, match="all training graphs of custom are of class 0"):
        graph_task(paths(10, classes=1), paths(4), paths(4))
    task = graph_task(paths(10), paths(6, classes=3), paths(6))
    assert task.notes == ("no training graph of class 2: it cannot be learned",)


def test_the_other_arguments_are_checked() -> None:
    assert graph_task(paths(40), metric="roc_auc").num_outputs == 1
    with pytest.raises(InputError, match="unknown metric 'auc': did you mean 'roc_auc'"):
        graph_task(paths(40), metric="auc")
    with pytest.raises(InputError, match="'roc_auc' needs 2 classes, custom has 3"):
        graph_task(paths(60, classes=3), metric="roc_auc")
    with pytest.raises(InputError, match="split_seed=-1 must be a whole number of at least 0"):
        graph_task(paths(40), split_seed=-1)
    with pytest.raises(InputError, match="val has no graphs"):
        graph_task(paths(40), [])
    with pytest.raises(InputError, match="train is of type NoneType"):
        graph_task(None)
    with pytest.raises(InputError, match="no graph has an edge"):
        graph_task([Data(x=torch.ones(2, 1), y=i % 2) for i in range(20)])
