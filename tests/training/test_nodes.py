from __future__ import annotations

from typing import Any

import pytest
import torch

from graphcondense.metrics import accuracy
from graphcondense.models import KINDS, NetworkConfig, NodeNetwork, NodeRows
from graphcondense.real import RealNodes
from graphcondense.synthetic import DenseNodes
from graphcondense.training import Recipe, TrainedNodeNetworks, train_nodes
from graphcondense.training.nodes import _masks
from tests.made_up import toy_nodes

TASK = toy_nodes()
RECIPE = Recipe(epochs=12, rate=0.02, weight_decay=5e-4)


def network_of(kind: str = "gcn", layers: int = 2, hidden: int = 8) -> NodeNetwork:
    return NodeNetwork(NetworkConfig(kind, hidden=hidden, layers=layers), 6, 3)


def view(network: NodeNetwork, part: str) -> Any:
    graph, nodes = getattr(TASK, part)
    return RealNodes(graph, network.propagation).batch(nodes, network.levels)


def train(network: NodeNetwork, seeds: list[int], dropout: float = 0.0, recipe: Recipe = RECIPE) -> TrainedNodeNetworks:
    seen, val = view(network, "train"), view(network, "val")
    return train_nodes(network, seen, seen.y, val, val.y, seeds, recipe, dropout)


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("dropout", [0.0, 0.5])
@pytest.mark.parametrize("kind", KINDS)
def test_a_seeds_result_does_not_depend_on_the_seeds_beside_it(kind: str, dropout: float, layers: int) -> None:
    network = network_of(kind, layers)
    both, one = train(network, [7, 3], dropout), train(network, [3], dropout)
    for name in network.parameter_names:
        torch.testing.assert_close(both.weights[name][1:], one.weights[name], rtol=1e-4, atol=1e-5)
    assert both.val_scores[1] == one.val_scores[0] and both.best_epochs[1] == one.best_epochs[0]
    assert any(not torch.equal(both.weights[name][0], both.weights[name][1]) for name in network.parameter_names)


@pytest.mark.parametrize("kind", KINDS)
def test_training_is_torchs_own_with_adam(kind: str) -> None:
    network = network_of(kind)
    recipe = Recipe(epochs=9, rate=0.02, weight_decay=0.01, decay_at=0.5, validate_every=9)
    seen = view(network, "train")
    leaves = {name: weight.requires_grad_() for name, weight in network.draw_seeds([5]).items()}
    optimiser = torch.optim.Adam(leaves.values(), 0.02, weight_decay=0.01)
    for epoch in range(9):
        optimiser.param_groups[0]["lr"] = 0.02 if epoch < 4 else 0.002
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(network(leaves, seen)[0], seen.y).backward()
        optimiser.step()
    trained = train(network, [5], recipe=recipe)
    assert trained.best_epochs.tolist() == [9]
    for name in network.parameter_names:
        torch.testing.assert_close(trained.weights[name], leaves[name].detach(), rtol=1e-3, atol=1e-5)


def test_weights_are_those_of_the_first_best_validation_epoch() -> None:
    network, seeds = network_of(), [0, 1, 2]
    val = view(network, "val")
    trained = train(network, seeds, recipe=Recipe(epochs=8, rate=0.05, decay_at=1))
    last = [train(network, seeds, recipe=Recipe(n, rate=0.05, decay_at=1, validate_every=n)) for n in range(1, 9)]
    scores = torch.stack([one.val_scores for one in last])  # after each epoch
    assert torch.equal(trained.val_scores, scores.max(0).values)
    assert trained.best_epochs.tolist() == [scores[:, i].tolist().index(float(scores[:, i].max())) + 1 for i in seeds]
    assert len(set(scores.flatten().tolist())) > 3
    assert torch.equal(accuracy(trained.outputs(val), val.y), trained.val_scores)
    for position, epoch in enumerate(trained.best_epochs.tolist()):
        for name in network.parameter_names:
            assert torch.equal(trained.weights[name][position], last[epoch - 1].weights[name][position])


def test_dropout_changes_training_and_is_off_afterwards() -> None:
    network = network_of()
    plain, dropped = train(network, [0]), train(network, [0], 0.5)
    assert not torch.equal(plain.weights["conv1.weight"], dropped.weights["conv1.weight"])
    val = view(network, "val")
    assert torch.equal(dropped.outputs(val), dropped.outputs(val))
    linear = network_of("sgc")  # there is nothing to drop
    assert torch.equal(train(linear, [0]).weights["hidden.weight"], train(linear, [0], 0.5).weights["hidden.weight"])


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("kind", ["gcn", "mlp"])
def test_masks_drop_their_share_and_keep_the_mean(kind: str, dense: bool) -> None:
    network = network_of(kind, 3, hidden=200)
    batch: NodeRows = view(network, "train")
    if dense:
        batch = DenseNodes(torch.zeros(20, 20), torch.zeros(20, 6), network.propagation)
    masks = _masks(network, batch, [torch.Generator().manual_seed(seed) for seed in (0, 1)], 0.25)
    assert len(masks) == 2
    weights = network.draw_seeds([0, 1])
    assert network(weights, batch, masks).shape == network(weights, batch).shape
    for mask in masks:
        assert mask.unique().tolist() == [0, pytest.approx(4 / 3)]
        assert float((mask == 0).float().mean()) == pytest.approx(0.25, abs=0.03)
        assert not torch.equal(mask[0], mask[1])


def test_a_dense_graph_can_be_trained_on() -> None:
    network = network_of()
    graph, train_nodes_ = TASK.train
    adjacency = torch.zeros(90, 90)
    adjacency[graph.edge_index[1], graph.edge_index[0]] = 1
    small = DenseNodes(adjacency, graph.x, "gcn")
    everything = RealNodes(graph, "gcn").batch(torch.arange(90), 2)
    val = view(network, "val")
    found = [
        train_nodes(network, batch, graph.y, val, val.y, [0, 1], RECIPE).weights["conv1.weight"]
        for batch in (small, everything)
    ]
    torch.testing.assert_close(*found, rtol=1e-3, atol=1e-4)
    assert len(train_nodes_) == 30


def test_every_epoch_is_reported() -> None:
    network, heard = network_of(), []
    seen = view(network, "train")
    train_nodes(network, seen, seen.y, seen, seen.y, [0], Recipe(epochs=4), progress=lambda *step: heard.append(step))
    assert heard == [(1, 4), (2, 4), (3, 4), (4, 4)]
