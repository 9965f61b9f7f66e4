from __future__ import annotations

import pytest
import torch

from graphcondense.datasets.assembly import (
    CleanGraphs,
    LooseGraphs,
    clean,
    degree_features,
    make_task,
    number_labels,
    unique_edges,
)
from graphcondense.errors import InputError
from graphcondense.tasks import Split


def graphs_of(y: list[int]) -> CleanGraphs:
    """Graphs of two joined nodes with these labels."""
    first = 2 * torch.arange(len(y))
    once = torch.stack([first, first + 1])
    edges = torch.cat([once, once.flip(0)], dim=1)
    return clean(LooseGraphs(torch.ones(2 * len(y), 1), edges, torch.full((len(y),), 2), torch.tensor(y)))


def split_of(train: list[int], val: list[int], test: list[int]) -> Split:
    return Split(torch.tensor(train), torch.tensor(val), torch.tensor(test))


def test_edges_are_sorted_without_loops_and_repeats() -> None:
    edges = torch.tensor([[3, 0, 1, 1, 0, 2], [4, 1, 0, 1, 1, 2]])
    result, loops, repeats = unique_edges(edges, 5)
    assert result.tolist() == [[0, 1, 3], [1, 0, 4]]
    assert (loops, repeats) == (2, 1)


def test_edges_are_grouped_by_graph_and_direction_is_found() -> None:
    edges = torch.tensor([[3, 1, 0, 4], [4, 0, 1, 3]])
    loose = LooseGraphs(torch.eye(5), edges, torch.tensor([2, 1, 2]), torch.tensor([0, 1, 0]))
    result = clean(loose)
    assert result.store.edge_ptr.tolist() == [0, 2, 2, 4]
    assert not result.store.directed
    assert result.notes == ("1 of 3 graphs without an edge: kept as they are",)
    one_way = clean(LooseGraphs(torch.eye(5), edges[:, :3], loose.num_nodes, loose.y))
    assert one_way.store.directed
    assert "some edges go one way only: the graphs are taken as directed" in one_way.notes


def test_degrees_are_features_where_there_are_none() -> None:
    star = torch.stack([torch.zeros(150, dtype=torch.long), torch.arange(1, 151)])
    x = degree_features(torch.cat([star, star.flip(0)], dim=1), 152)
    assert x.shape == (152, 101)
    assert x.argmax(1).tolist() == [100] + [1] * 150 + [0]
    assert x.sum(1).eq(1).all()
    result = clean(LooseGraphs(None, torch.tensor([[0, 1], [1, 0]]), torch.tensor([3]), torch.tensor([0])))
    assert result.notes == ("no node features: one-hot degree taken instead, 2 columns",)


def test_labels_are_numbered_in_their_order() -> None:
    numbered, names, notes = number_labels(torch.tensor([30, -1, 30, 4]))
    assert numbered.tolist() == [2, 0, 2, 1]
    assert names == ("-1", "4", "30")
    assert notes == ["labels numbered anew: -1 -> 0, 4 -> 1, 30 -> 2"]
    assert number_labels(torch.tensor([1, 0]))[2] == []
    assert len(number_labels(torch.arange(5, 500))[2][0]) < 150


def test_graphs_without_any_edge_are_refused() -> None:
    loops = torch.tensor([[0, 1], [0, 1]])
    graphs = clean(LooseGraphs(torch.eye(2), loops, torch.tensor([1, 1]), torch.tensor([0, 1])))
    with pytest.raises(InputError, match="no graph has an edge: give edge_index"):
        make_task("toy", graphs, split_of([0, 1], [0], [1]))


def test_one_class_is_refused() -> None:
    with pytest.raises(InputError, match="all graphs of toy are of class 3: at least two"):
        make_task("toy", graphs_of([3, 3, 3]), split_of([0], [1], [2]))
    with pytest.raises(InputError, match="all training graphs of toy are of class 3: give graphs of at least two"):
        make_task("toy", graphs_of([3, 3, 4]), split_of([0, 1], [1], [2]))


def test_a_class_without_training_graphs_is_noted() -> None:
    task = make_task("toy", graphs_of([0, 1, 2]), split_of([0, 1], [2], [2]), notes=["last"])
    assert task.notes == (
        "no training graph of class 2: it cannot be learned",
        "every validation graph is of class 2: scores there say little",
        "every test graph is of class 2: scores there say little",
        "last",
    )
    assert task.num_classes == 3


def test_roc_auc_needs_both_classes_held_out() -> None:
    graphs = graphs_of([0, 1, 0, 1])
    with pytest.raises(InputError, match="needs both classes in val, but all 1 graphs of it are of class 0"):
        make_task("toy", graphs, split_of([0, 1], [2], [2, 3]), metric="roc_auc")
    assert make_task("toy", graphs, split_of([0, 1], [2, 3], [2, 3]), metric="roc_auc").num_outputs == 1
    with pytest.raises(InputError, match="'roc_auc' needs 2 classes, toy has 3"):
        make_task("toy", graphs_of([0, 1, 2]), split_of([0, 1, 2], [2], [2]), metric="roc_auc")
