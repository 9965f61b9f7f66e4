from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import pytest
import torch

from graphcondense.errors import InputError
from graphcondense.tasks import GraphTask, NodeTask, Split
from tests.made_up import random_nodes, random_store

PARTS = {"train": torch.tensor([5, 0, 1, 2]), "val": torch.tensor([3]), "test": torch.tensor([4])}


def a_task(**changes: Any) -> GraphTask:
    values: dict[str, Any] = {"name": "toy", "graphs": random_store(6), "split": Split(**PARTS), "num_classes": 2}
    return GraphTask(**(values | changes))


@pytest.mark.parametrize("part", ["train", "val", "test"])
def test_an_empty_split_is_named(part: str) -> None:
    with pytest.raises(InputError, match=f"the {part} split is empty: give it at least one"):
        Split(**{**PARTS, part: torch.tensor([], dtype=torch.long)})


def test_the_parts_are_the_graphs_of_the_split_in_its_order() -> None:
    task = a_task()
    for name, index in PARTS.items():
        part = getattr(task, name)
        assert len(part) == len(index)
        for graph, position in zip(part, index.tolist(), strict=True):
            assert torch.equal(graph.x, task.graphs[position].x)
            assert torch.equal(graph.edge_index, task.graphs[position].edge_index)
    assert task.train is task.train


def test_class_counts_are_of_the_training_graphs_and_count_missing_classes() -> None:
    task = a_task(num_classes=3)
    # Classes take turns over positions 0 to 5; 5, 0, 1, 2 are for training.
    assert task.train_class_counts.tolist() == [2, 2, 0]


def test_a_network_has_one_output_for_roc_auc_and_else_one_a_class() -> None:
    assert a_task(metric="roc_auc").num_outputs == 1
    assert a_task().num_outputs == 2
    assert a_task(num_classes=5).num_outputs == 5
    assert a_task().num_features == 3


def test_metrics_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match=r"unknown metric 'acuracy': did you mean 'accuracy'\?"):
        a_task(metric="acuracy")
    with pytest.raises(InputError, match="metric='roc_auc' needs 2 classes, toy has 3: use 'accuracy'"):
        a_task(metric="roc_auc", num_classes=3)


def test_a_task_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        a_task().name = "other"  # type: ignore[misc]


# --- nodes -----------------------------------------------------------------------------------------------------------

NODES = {"train": torch.tensor([9, 2, 17, 4]), "val": torch.tensor([21, 3]), "test": torch.tensor([0, 29, 8])}


def a_node_task(**changes: Any) -> NodeTask:
    values: dict[str, Any] = {"name": "toy", "graph": random_nodes(density=0.3), "split": Split(**NODES)}
    return NodeTask(**(values | {"num_classes": 3} | changes))


def test_a_transductive_task_shows_the_whole_graph_to_all() -> None:
    task = a_node_task()
    for part, nodes in NODES.items():
        graph, places = getattr(task, part)
        assert graph is task.graph and torch.equal(places, nodes)


def test_an_inductive_task_shows_what_is_known_by_then() -> None:
    task = a_node_task(inductive=True)
    seen: list[int] = []
    dense = torch.zeros(30, 30, dtype=torch.bool)
    dense[task.graph.edge_index[0], task.graph.edge_index[1]] = True
    for part in ("train", "val"):
        seen += NODES[part].tolist()
        graph, places = getattr(task, part)
        assert torch.equal(graph.x, task.graph.x[seen])
        assert torch.equal(graph.x[places], task.graph.x[NODES[part]])
        assert torch.equal(graph.y[places], task.graph.y[NODES[part]])
        assert torch.equal(graph.edge_index.T, dense[seen][:, seen].nonzero())
        assert getattr(task, part)[0] is graph
    assert task.val[0].edge_index.shape[1] > 0
    graph, places = task.test
    assert graph is task.graph and torch.equal(places, NODES["test"])


def test_a_node_task_counts_training_nodes_and_names_itself() -> None:
    for inductive, word in ((False, "transductive"), (True, "inductive")):
        task = a_node_task(inductive=inductive, num_classes=4)
        expected = torch.bincount(task.graph.y[NODES["train"]], minlength=4)
        assert torch.equal(task.train_class_counts, expected) and int(expected.sum()) == 4
        assert (task.num_nodes, task.num_features, task.num_outputs) == (30, 5, 4)
        assert repr(task) == f"NodeTask(toy, {word}, 4/2/3 of 30 nodes, 5 features, 4 classes)"


@pytest.mark.parametrize("metric", ["roc_auc", "acuracy"])
def test_nodes_are_scored_by_accuracy(metric: str) -> None:
    with pytest.raises(InputError, match=f"unknown metric '{metric}'"):
        a_node_task(metric=metric)
