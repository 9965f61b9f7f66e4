from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from graphcondense.errors import InputError
from graphcondense.graphs import GraphStore
from graphcondense.methods import NODE_METHODS, GCond, NodeDosCond, NodeMethod, RandomNodes, RandomSelection
from graphcondense.methods.node_base import choose_nodes
from graphcondense.seeding import generator
from graphcondense.tasks import NodeTask, Split
from tests.made_up import toy_nodes, toy_task

TASK, INDUCTIVE = toy_nodes(), toy_nodes(inductive=True)
SIZED = [method for name, method in NODE_METHODS.items() if name != "whole"]


def task_of(counts: list[int], others: int = 0, inductive: bool = False) -> NodeTask:
    """Training nodes of each class, shuffled, and ``others`` more nodes, for validation and test."""
    y = torch.tensor([label for label, count in enumerate(counts) for _ in range(count)] + [0] * max(others, 1))
    trained = sum(counts)
    order = torch.randperm(trained, generator=torch.Generator().manual_seed(0))
    rest = torch.arange(trained, len(y))
    empty = torch.zeros(2, 0, dtype=torch.long)
    graph = GraphStore(torch.zeros(len(y), 1), empty, torch.tensor([0, len(y)]), torch.tensor([0, 0]), y)
    return NodeTask("counts", graph, Split(order, rest, rest), len(counts), inductive)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_sizes_follow_the_training_nodes(data: st.DataObject) -> None:
    counts = data.draw(st.lists(st.integers(0, 40), min_size=2, max_size=8).filter(lambda c: sum(c) > 0))
    present = sum(count > 0 for count in counts)
    budget = data.draw(st.integers(present, sum(counts)))
    sizes = RandomNodes(nodes=budget).class_sizes(task_of(counts))
    assert sum(sizes) == budget
    exact = [count / sum(counts) * budget for count in counts]
    for size, count, share in zip(sizes, counts, exact, strict=True):
        assert (size >= 1) == (count > 0) and size <= count
        assert size <= max(1, share + 1)
        if min(s for s in exact if s > 0) >= 1:
            assert abs(size - share) < 1
    for size, count in zip(sizes, counts, strict=True):  # a larger class never gets less
        assert all(size >= other for other, less in zip(sizes, counts, strict=True) if less < count)


def test_sizes_by_hand() -> None:
    assert RandomNodes(nodes=10).class_sizes(task_of([50, 30, 20])) == [5, 3, 2]
    assert RandomNodes(nodes=4).class_sizes(task_of([97, 1, 1, 1])) == [1, 1, 1, 1]
    assert RandomNodes(nodes=5).class_sizes(task_of([97, 1, 1, 1])) == [2, 1, 1, 1]
    assert RandomNodes(nodes=6).class_sizes(task_of([10, 0, 20])) == [2, 0, 4]


def test_the_ratio_is_of_the_nodes_that_training_sees() -> None:
    counts = [10, 10]
    assert RandomNodes(ratio=0.1).budget(task_of(counts, others=80)) == 10
    assert RandomNodes(ratio=0.1).budget(task_of(counts, others=80, inductive=True)) == 2
    assert RandomNodes(ratio=0.001).budget(task_of(counts)) == 1
    assert RandomNodes(nodes=7).budget(task_of(counts, others=80)) == 7
    assert RandomNodes(ratio=0.2).class_sizes(task_of(counts, others=80)) == [10, 10]


@pytest.mark.parametrize("kind", SIZED)
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "nodes=None and ratio=None: give one"),
        ({"nodes": 5, "ratio": 0.1}, "nodes=5 and ratio=0.1: give one"),
        ({"nodes": 0}, "nodes=0 must be"),
        ({"nodes": 2.5}, "nodes=2.5 must be"),
        ({"nodes": True}, "nodes=True must be"),
        ({"ratio": 0}, "ratio=0 must be"),
        ({"ratio": 0.0}, "ratio=0.0 must be"),
        ({"ratio": -0.1}, "ratio=-0.1 must be"),
        ({"ratio": 1.5}, "ratio=1.5 must be"),
        ({"ratio": float("nan")}, "ratio=nan must be"),
        ({"ratio": "half"}, "ratio='half' must be"),
        ({"nodes": 5, "seed": -1}, "seed=-1 must be"),
    ],
    ids=str,
)
def test_wrong_budgets_are_named(kind: type[NodeMethod], given: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        kind(**given)


@pytest.mark.parametrize("kind", [NodeDosCond, GCond])
@pytest.mark.parametrize(
    "given",
    [
        {"iterations": 0},
        {"annealing": 0.5},
        {"horizon": -1},
        {"feature_rate": -1},
        {"structure_rate": "fast"},
        {"sparsity_weight": float("nan")},
        {"norm_weight": -0.1},
        {"logit_strength": None},
        {"structure": "bernouli"},
        {"distance": "cosin"},
        {"network": "gcn"},
    ],
    ids=str,
)
def test_wrong_settings_are_named(kind: type[NodeDosCond], given: dict[str, Any]) -> None:
    (name,) = given
    with pytest.raises(InputError, match=name):
        kind(nodes=5, **given)


@pytest.mark.parametrize(
    "given",
    [
        {"final_temperature": 0},
        {"final_temperature": 2.0},
        {"final_temperature": "low"},
        {"restart_at": -1},
        {"restart_at": 1.5},
        {"threshold": -0.5},
        {"threshold": "half"},
    ],
    ids=str,
)
def test_wrong_temperatures_restarts_and_thresholds_are_named(given: dict[str, Any]) -> None:
    (name,) = given
    with pytest.raises(InputError, match=name):
        NodeDosCond(nodes=5, **given)


@pytest.mark.parametrize(
    "given",
    [
        {"outer": 0},
        {"outer": 1.5},
        {"inner": -1},
        {"inner_rate": 0},
        {"inner_rate": float("inf")},
        {"feature_turns": 0},
        {"structure_turns": -1},
    ],
    ids=str,
)
def test_wrong_loops_are_named(given: dict[str, Any]) -> None:
    (name,) = given
    with pytest.raises(InputError, match=name):
        GCond(nodes=5, **given)


@pytest.mark.parametrize("dropout", [-0.1, 1.0, "half"])
def test_a_wrong_dropout_is_named(dropout: Any) -> None:
    with pytest.raises(InputError, match="dropout"):
        NODE_METHODS["herding"](nodes=5, dropout=dropout)  # type: ignore[call-arg]


@pytest.mark.parametrize("name", ["herding", "kcenter"])
def test_wrong_networks_and_recipes_of_coresets_are_named(name: str) -> None:
    for wrong in ({"network": "gcn"}, {"recipe": 5}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            NODE_METHODS[name](nodes=5, **wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", SIZED)
def test_budgets_that_the_task_cannot_give_are_named(kind: type[NodeMethod]) -> None:
    with pytest.raises(InputError, match="nodes=2 are fewer than the 3 classes"):
        kind(nodes=2).condense(TASK)
    with pytest.raises(InputError, match="nodes=31 are more than the 30 training nodes"):
        kind(nodes=31).condense(TASK)
    with pytest.raises(InputError, match="task=GraphTask must be a node task"):
        kind(nodes=5).condense(toy_task(20))  # type: ignore[arg-type]


def test_a_graph_method_refuses_a_node_task() -> None:
    with pytest.raises(InputError, match="task=NodeTask must be"):
        RandomSelection().condense(TASK)  # type: ignore[arg-type]


@pytest.mark.parametrize("task", [TASK, INDUCTIVE], ids=["transductive", "inductive"])
def test_chosen_nodes_are_training_nodes_class_after_class(task: NodeTask) -> None:
    graph, train = task.train
    chosen = choose_nodes(task, [4, 2, 1], generator(0, "start"))
    assert graph.y[chosen].tolist() == [0, 0, 0, 0, 1, 1, 2]
    assert set(chosen.tolist()) <= set(train.tolist()) and len(set(chosen.tolist())) == 7
    assert torch.equal(chosen, choose_nodes(task, [4, 2, 1], generator(0, "start")))
    assert not torch.equal(chosen, choose_nodes(task, [4, 2, 1], generator(1, "start")))


def test_where_it_came_from_is_in_the_result() -> None:
    method = RandomNodes(nodes=6, seed=3)
    for task, nodes in ((TASK, 90), (INDUCTIVE, 30)):
        info = method.condense(task).info
        assert (info["dataset"], info["method"], info["inductive"]) == ("toy nodes", "random", task.inductive)
        assert info["settings"] == {"nodes": 6, "ratio": None, "seed": 3}
        assert (info["original_nodes"], info["classes"]) == (nodes, ["0", "1", "2"])
        assert info["original_edges"] == int(task.train[0].num_edges.sum()) > 0
        assert info["iterations"] == 0 and info["last"] == {}
