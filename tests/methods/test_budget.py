from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import graphcondense as gc
from graphcondense.methods import METHODS
from graphcondense.methods.budget import in_proportion
from graphcondense.models import Network, NetworkConfig
from graphcondense.synthetic import SyntheticGraphs
from graphcondense.tasks import GraphTask
from graphcondense.training import Recipe
from tests.made_up import random_graph

SMALL = NetworkConfig(hidden=8, layers=2)


def unbalanced(directed: bool = False) -> GraphTask:
    """Three classes: 60, 24 and 6 graphs."""
    source = torch.Generator().manual_seed(0)
    labels = [0] * 60 + [1] * 24 + [2] * 6
    return gc.graph_task([random_graph(source, 4 + i % 4, label=y, directed=directed) for i, y in enumerate(labels)])


@given(st.lists(st.integers(0, 40), min_size=1, max_size=8).filter(any), st.floats(0, 1))
def test_a_budget_is_spread_whole_and_nobody_is_left_out(counts: list[int], share: float) -> None:
    least = sum(count > 0 for count in counts)
    budget = least + int(share * (sum(counts) - least))
    sizes = in_proportion(torch.tensor(counts), budget)
    assert sum(sizes) == budget
    assert all(min(count, 1) <= size <= count for size, count in zip(sizes, counts, strict=True))


@pytest.mark.parametrize("name", [name for name in METHODS if name != "whole"])
def test_every_method_can_keep_the_proportion(name: str) -> None:
    task = unbalanced()
    own = {"iterations": 3} if "iterations" in METHODS[name].__dataclass_fields__ else {}
    own |= {"recipe": Recipe(epochs=3)} if "recipe" in METHODS[name].__dataclass_fields__ else {}
    own |= {"network": SMALL} if "network" in METHODS[name].__dataclass_fields__ else {}
    made = METHODS[name](graphs_per_class=4, in_proportion=True, **own).condense(task)
    assert len(made) == 12
    if made.graphs.y.dim() == 1:  # a soft label need not be that of the class that a graph was taken from
        assert torch.bincount(made.graphs.y).tolist() == [8, 3, 1]
    assert made.info["settings"]["in_proportion"] is True
    assert made.graphs.num_nodes.min() > 0


@pytest.mark.parametrize("pad", [False, True])
@pytest.mark.parametrize("joint", [False, True])
def test_unequal_classes_give_what_each_class_gives_alone(pad: bool, joint: bool) -> None:
    """The places that are left over change no output, no weight and no result."""
    start = unbalanced().train.subset(torch.tensor([0, 1, 2, 50, 51, 70]))
    assert torch.bincount(start.y).tolist() == [3, 2, 1]
    synthetic = SyntheticGraphs(start, 3, 9, pad=pad)
    labels, weights = synthetic.labels_and_weights(joint)
    assert torch.allclose(weights.sum(1), torch.ones(len(weights)))
    network = Network(SMALL, start.num_features, 3)
    theta = network.draw(torch.Generator().manual_seed(0))
    tied = {name: value.expand(len(labels), *value.shape[1:]) for name, value in theta.items()}
    outputs = network(tied, synthetic.batch(synthetic.structure.discrete(), network.propagation, joint))
    result = synthetic.result()
    assert torch.equal(result.y, start.y)
    expected = network(theta, network.prepare(result).batch())[0]
    found = outputs.reshape(-1, 3)[weights.reshape(-1) > 0]
    torch.testing.assert_close(found, expected)
    if not pad:
        assert torch.equal(result.x, start.x)
        assert sorted(result.edge_index.T.tolist()) == start.edge_index.T.tolist()


def test_what_cannot_be_given_is_said() -> None:
    task = unbalanced()
    with pytest.raises(
        gc.InputError, match=r"more than the 4 training graphs of class 2: use 4 or fewer, or spread them"
    ):
        gc.RandomSelection(graphs_per_class=9).condense(task)
    with pytest.raises(
        gc.InputError, match=r"graphs_per_class=40 of 3 classes is more than all 72 training graphs: use 24"
    ):
        gc.RandomSelection(graphs_per_class=40, in_proportion=True).condense(task)
    with pytest.raises(gc.InputError, match="in_proportion='yes' must be true or false"):
        gc.DosCond(in_proportion="yes")


def test_room_is_made_for_a_class_of_larger_graphs() -> None:
    source = torch.Generator().manual_seed(0)
    task = gc.graph_task([random_graph(source, 4 if i % 10 else 30, label=int(i % 10 == 0)) for i in range(100)])
    method = gc.DosCond(graphs_per_class=3, iterations=1, network=SMALL)
    assert round(task.mean_nodes) == 7 and method.num_nodes(task) == 30
    assert method.condense(task).graphs.num_nodes.tolist() == [4, 4, 4, 30, 30, 30]
