from __future__ import annotations

from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from graphcondense.datasets import node_task
from graphcondense.datasets.node_tasks import per_class_split
from graphcondense.errors import InputError
from tests.made_up import node_data, toy_task


def pairs(edge_index: torch.Tensor) -> set[tuple[int, int]]:
    return {(int(a), int(b)) for a, b in edge_index.T}


def bare(**changes: Any) -> Data:
    """Without masks."""
    data = node_data()
    for part in ("train", "val", "test"):
        del data[f"{part}_mask"]
    for name, value in changes.items():
        data[name] = value
    return data


def test_what_is_clean_is_kept() -> None:
    data = node_data()
    task = node_task(data, name="mine")
    assert (task.name, task.num_nodes, task.num_features, task.num_classes, task.num_outputs) == ("mine", 90, 6, 3, 3)
    assert torch.equal(task.graph.x, data.x) and torch.equal(task.graph.y, data.y)
    assert pairs(task.graph.edge_index) == pairs(data.edge_index) and not task.graph.directed
    for part in ("train", "val", "test"):
        assert torch.equal(getattr(task.split, part), data[f"{part}_mask"].nonzero().flatten())
    assert task.notes == () and task.class_names == ("0", "1", "2") and not task.inductive
    assert task.metric == "accuracy"


def test_the_given_graph_is_not_changed() -> None:
    data = node_data()
    before = data.clone()
    data.edge_index = torch.cat([data.edge_index, torch.tensor([[3, 5], [3, 80]])], dim=1)
    before.edge_index = data.edge_index.clone()
    node_task(data).graph.x.add_(0)
    assert set(data.keys()) == set(before.keys())
    assert all(torch.equal(data[key], before[key]) for key in data.keys())  # noqa: SIM118


def test_one_way_edges_repeats_and_loops() -> None:
    edges = torch.tensor([[0, 0, 1, 4, 4], [1, 1, 2, 4, 3]])
    task = node_task(bare(edge_index=edges))
    assert pairs(task.graph.edge_index) == {(0, 1), (1, 0), (1, 2), (2, 1), (3, 4), (4, 3)}
    assert task.graph.edge_index.shape[1] == 6 and not task.graph.has_one_way_edges()
    assert task.notes[-1] == "1 loop dropped"
    assert int(task.graph.num_edges) == 3


def test_splits_of_two_dimensional_masks_are_chosen_by_the_seed() -> None:
    data = node_data()
    masks = {name: data[name].clone() for name in ("train_mask", "val_mask", "test_mask")}
    for name, mask in masks.items():
        data[name] = torch.stack([mask, mask.roll(1)], dim=1)
    for seed in (0, 1):
        task = node_task(data, split_seed=seed)
        assert torch.equal(task.split.train, masks["train_mask"].roll(seed).nonzero().flatten())
    with pytest.raises(InputError, match=r"split_seed=2: data\.train_mask has 2 splits, 0 to 1"):
        node_task(data, split_seed=2)


def test_without_masks_a_split_is_made_by_class_and_said() -> None:
    task = node_task(bare())
    parts = [task.split.train, task.split.val, task.split.test]
    assert sorted(torch.cat(parts).tolist()) == list(range(90))
    assert [task.graph.y[part].bincount().tolist() for part in parts[1:]] == [[5, 3, 2], [5, 3, 2]]
    assert task.notes == ("split made here (by class, seed 0): 70 training, 10 validation and 10 test nodes",)
    assert torch.equal(node_task(bare()).split.test, task.split.test)
    assert not torch.equal(node_task(bare(), split_seed=1).split.test, task.split.test)


@pytest.mark.parametrize(
    ("missing", "sizes", "made"),
    [
        (["train_mask"], [30, 30, 30], "train set made here of nodes that no mask has"),
        (["val_mask"], [30, 30, 30], "val set made here of nodes that no mask has"),
        (["val_mask", "test_mask"], [30, 6, 54], "val and test set made here of nodes that no mask has"),
        (["train_mask", "test_mask"], [54, 30, 6], "train and test set made here of nodes that no mask has"),
    ],
    ids=str,
)
def test_missing_masks_are_made_of_free_nodes_and_said(missing: list[str], sizes: list[int], made: str) -> None:
    data = node_data()
    for name in missing:
        del data[name]
    task = node_task(data)
    parts = [task.split.train, task.split.val, task.split.test]
    assert [len(part) for part in parts] == sizes
    assert sorted(torch.cat(parts).tolist()) == list(range(90))
    assert all((task.graph.y[part].bincount(minlength=3) > 0).all() for part in parts)
    assert task.notes[-1].startswith(made) and "(by class, seed 0)" in task.notes[-1]


def test_missing_masks_are_taken_from_train_where_no_node_is_free() -> None:
    data = node_data()
    data.train_mask = data.train_mask | data.val_mask
    del data.val_mask
    task = node_task(data)
    assert [len(task.split.train), len(task.split.val), len(task.split.test)] == [54, 6, 30]
    assert task.notes[-1].startswith("train and val set made here of train_mask (by class, seed 0)")
    data.val_mask = data.train_mask
    del data.train_mask
    with pytest.raises(InputError, match="data has no train_mask, and its other masks have all labelled nodes"):
        node_task(data)


def test_what_is_no_class_is_refused_in_one_line() -> None:
    for y, message in [
        (torch.rand(90), "it has fractions, and regression is not supported"),
        (torch.ones(90, 4, dtype=torch.long), r"it has shape \[90, 4\], and multi-label tasks are not supported"),
        (torch.arange(90), "90 nodes have 90 different labels: that is a quantity or a name, not a class"),
    ]:
        data = node_data()
        data.y = y
        with pytest.raises(InputError, match=message):
            node_task(data)


def test_weights_and_features_of_edges_are_not_used_and_said() -> None:
    data = node_data()
    data.edge_weight = torch.ones(data.edge_index.shape[1])
    assert node_task(data).notes == ("edge_weight is not used",)


def test_nodes_without_a_label_stay_in_the_graph_and_out_of_the_split() -> None:
    data = bare()
    data.y[:12] = -1
    task = node_task(data)
    assert task.num_nodes == 90 and task.graph.y[:12].tolist() == [-1] * 12
    assert min(min(part.tolist()) for part in (task.split.train, task.split.val, task.split.test)) >= 12
    assert task.num_classes == 3
    marked = node_data()
    marked.y[0] = -1
    with pytest.raises(InputError, match=r"a node of the train split has no label \(-1\)"):
        node_task(marked)


def test_labels_are_numbered_anew_and_said() -> None:
    data = node_data()
    data.y = data.y * 10 + 5
    task = node_task(data)
    assert torch.equal(task.graph.y, node_data().y)
    assert task.class_names == ("5", "15", "25")
    assert task.notes == ("labels numbered anew: 5 -> 0, 15 -> 1, 25 -> 2",)


def test_labels_may_be_a_column() -> None:
    data = node_data()
    data.y = data.y.view(-1, 1)
    assert torch.equal(node_task(data).graph.y, node_data().y)


def test_degrees_stand_in_for_features() -> None:
    data = node_data()
    data.x = None
    task = node_task(data)
    degree = torch.bincount(task.graph.edge_index[0], minlength=90)
    assert torch.equal(task.graph.x.argmax(1), degree) and task.graph.x.sum(1).tolist() == [1] * 90
    assert task.notes == (f"no node features: one-hot degree taken instead, {task.num_features} columns",)


def test_features_become_floats() -> None:
    data = node_data()
    data.x = torch.ones(90, 2, dtype=torch.long)
    assert node_task(data).graph.x.dtype == torch.float32


def test_a_class_that_cannot_be_learned_is_said() -> None:
    data = node_data()
    data.train_mask &= data.y != 2
    task = node_task(data)
    assert task.notes == ("no training node of class 2: it cannot be learned",)
    assert task.train_class_counts.tolist() == [15, 10, 0]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"y": None}, "data.y must be"),
        ({"y": torch.rand(90)}, "data.y must be"),
        ({"y": torch.zeros(90, 2, dtype=torch.long)}, "data.y must be"),
        ({"y": [0, 1]}, "data.y must be"),
        ({"y": torch.zeros(90, dtype=torch.long)}, "all nodes of custom are of class 0"),
        ({"edge_index": None}, "data.edge_index must be"),
        ({"edge_index": torch.zeros(3, 4, dtype=torch.long)}, "data.edge_index must be"),
        ({"edge_index": torch.zeros(4, dtype=torch.long)}, "data.edge_index must be"),
        ({"edge_index": torch.rand(2, 4)}, "data.edge_index must be"),
        ({"edge_index": torch.zeros(2, 0, dtype=torch.long)}, "data.edge_index has no edge"),
        ({"edge_index": torch.tensor([[0, 90], [1, 2]])}, "data.edge_index names a node outside of 0 to 89"),
        ({"edge_index": torch.tensor([[0, -1], [1, 2]])}, "data.edge_index names a node outside of 0 to 89"),
        ({"x": torch.rand(90)}, "data.x is "),
        ({"x": torch.rand(89, 2)}, "data.x is "),
        ({"x": [[1.0]]}, "data.x is list"),
        ({"x": torch.full((90, 2), float("nan"))}, "data.x has a number that is not finite at node 0"),
        ({"train_mask": torch.arange(90)}, "data.train_mask must be 90 booleans"),
        ({"val_mask": torch.ones(89, dtype=torch.bool)}, "data.val_mask must be 90 booleans"),
        ({"test_mask": [True] * 90}, "data.test_mask must be 90 booleans"),
        ({"val_mask": torch.zeros(90, dtype=torch.bool)}, "the val split is empty"),
    ],
)
def test_what_is_wrong_is_named(changes: dict[str, Any], words: str) -> None:
    data = node_data()
    for name, value in changes.items():
        data[name] = value
    with pytest.raises(InputError, match=words):
        node_task(data)


@pytest.mark.parametrize("name", ["y", "train_mask"])
def test_a_single_number_is_no_column(name: str) -> None:
    data = node_data()
    data[name] = torch.tensor(1) if name == "y" else torch.tensor(True)
    with pytest.raises(InputError, match=f"data.{name} must be"):
        node_task(data)


def test_a_graph_without_labels_is_named() -> None:
    with pytest.raises(InputError, match="label"):
        node_task(bare(y=torch.full((90,), -1)))


def test_the_place_of_a_bad_number_is_named() -> None:
    data = node_data()
    data.x[17, 3] = float("inf")
    with pytest.raises(InputError, match="not finite at node 17"):
        node_task(data)


def test_other_arguments_are_checked() -> None:
    with pytest.raises(InputError, match="data=list must be one PyG Data"):
        node_task([node_data()])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="data=GraphTask must be one PyG Data"):
        node_task(toy_task(20))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="split_seed=-1 must be"):
        node_task(node_data(), split_seed=-1)


def test_so_many_of_each_class_and_the_rest_for_test() -> None:
    y = torch.tensor([0] * 70 + [1] * 55 + [2] * 30 + [-1] * 5)
    split = per_class_split(y, seed=3)
    assert y[split.train].bincount().tolist() == [20, 20, 20]
    assert y[split.val].bincount().tolist() == [30, 30, 10]
    assert y[split.test].bincount().tolist() == [20, 5]
    assert sorted(torch.cat([split.train, split.val, split.test]).tolist()) == list(range(155))
    assert torch.equal(split.train, per_class_split(y, seed=3).train)
    assert not torch.equal(split.train, per_class_split(y, seed=4).train)


def test_nodes_in_two_parts_of_the_split_are_said() -> None:
    data = node_data()
    data.test_mask = data.train_mask.clone()
    (note,) = node_task(data).notes
    assert note == f"test_mask shares {int(data.train_mask.sum())} nodes with train_mask: scores there are too good"


def test_the_split_that_was_taken_of_several_is_said() -> None:
    data = node_data()
    data.train_mask = torch.stack([data.train_mask] * 3, dim=1)
    assert node_task(data, split_seed=1).notes == ("split 1 of the 3 that data.train_mask has",)


def test_labels_that_are_too_few_are_counted() -> None:
    with pytest.raises(InputError, match=r"data.y has 10 labels, data.x is \(90, 6\): give a label and a row a node"):
        node_task(bare(y=torch.zeros(10, dtype=torch.long)))


def test_whole_numbers_may_be_floats() -> None:
    data = node_data()
    assert torch.equal(node_task(bare(y=data.y.float())).graph.y, data.y)
