from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch_geometric.nn import GCNConv, GINConv, InstanceNorm, SAGEConv, global_add_pool, global_mean_pool

from graphcondense.errors import InputError
from graphcondense.models import KINDS, NORMS, POOLINGS, Network, NetworkConfig
from graphcondense.models.kinds import Parameters
from graphcondense.synthetic import DenseBatch
from graphcondense.synthetic.graphs import pad_graphs
from graphcondense.training import graph_losses
from tests.made_up import random_store


def weights_of(network: Network, seed: int = 0) -> Parameters:
    """Random weights; biases too, which start at zero, so that a test sees them."""
    source = torch.Generator().manual_seed(seed)
    return {n: w + 0.1 * torch.rand(w.shape, generator=source) for n, w in network.draw(source).items()}


def loss_and_gradients(network: Network, weights: Parameters, batch: object, y: Tensor) -> tuple[Tensor, list[Tensor]]:
    leaves = {n: w.clone().requires_grad_() for n, w in weights.items()}
    outputs = network(leaves, batch)  # type: ignore[arg-type]
    loss = graph_losses(outputs, y).sum()
    return outputs, list(torch.autograd.grad(loss, list(leaves.values())))


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("kind", KINDS)
def test_dense_equals_sparse_in_values_and_gradients(kind: str, pooling: str, norm: str, directed: bool) -> None:
    store = random_store(14, seed=1, directed=directed)
    network = Network(NetworkConfig(kind, hidden=8, layers=3, pooling=pooling, norm=norm), 3, 2)
    weights = weights_of(network)
    adjacency, x, exists = pad_graphs(store, 9)
    dense = DenseBatch(adjacency.unsqueeze(0), x.unsqueeze(0), network.propagation, exists.unsqueeze(0))
    sparse = network.prepare(store).batch()
    one, one_gradient = loss_and_gradients(network, weights, dense, store.y.unsqueeze(0))
    two, two_gradient = loss_and_gradients(network, weights, sparse, store.y)
    torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-5)
    for ours, theirs in zip(one_gradient, two_gradient, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-4)


def pyg_rows(kind: str, weights: Parameters, x: Tensor, edge_index: Tensor, layers: int) -> Tensor:
    """The node rows that PyG's own layers give with the same weights."""
    h = x
    for layer in range(1, layers + 1):
        name, width, hidden = f"conv{layer}", h.shape[1], 8
        conv: torch.nn.Module
        if kind == "gcn":
            conv = GCNConv(width, hidden)
            state = {"lin.weight": weights[f"{name}.weight"][0].T, "bias": weights[f"{name}.bias"][0]}
        elif kind == "sage":
            conv = SAGEConv(width, hidden)
            state = {
                "lin_l.weight": weights[f"{name}.neighbours.weight"][0].T,
                "lin_l.bias": weights[f"{name}.neighbours.bias"][0],
                "lin_r.weight": weights[f"{name}.own.weight"][0].T,
            }
        else:
            inner = torch.nn.Sequential(
                torch.nn.Linear(width, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, hidden)
            )
            conv = GINConv(inner)
            parts = (("nn.0", "first"), ("nn.2", "second"))
            state = {f"{theirs}.weight": weights[f"{name}.{ours}.weight"][0].T for theirs, ours in parts}
            state |= {f"{theirs}.bias": weights[f"{name}.{ours}.bias"][0] for theirs, ours in parts}
            state["eps"] = torch.zeros(1)
        conv.load_state_dict(state, strict=kind != "gin")
        h = torch.relu(conv(h, edge_index))
    return h


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("kind", ["gcn", "gin", "sage"])
def test_ours_equals_pyg(kind: str, pooling: str, directed: bool) -> None:
    store = random_store(14, seed=1, directed=directed)
    network = Network(NetworkConfig(kind, hidden=8, layers=3, pooling=pooling), 3, 2)
    weights = weights_of(network)
    rows = pyg_rows(kind, weights, store.x, store.edge_index, 3)
    pool = global_mean_pool if pooling == "mean" else global_add_pool
    expected = pool(rows, store.graph_of_node) @ weights["head.weight"][0] + weights["head.bias"][0]
    torch.testing.assert_close(network(weights, network.prepare(store).batch())[0], expected, rtol=1e-4, atol=1e-5)


def test_sgc_is_the_theorems_network() -> None:
    store = random_store(6, seed=4)
    network = Network(NetworkConfig("sgc", hidden=8, layers=2), 3, 2)
    weights = weights_of(network)
    total = store.x.shape[0]
    adjacency = torch.eye(total)
    adjacency[store.edge_index[1], store.edge_index[0]] = 1
    scale = adjacency.sum(1).rsqrt()
    normal = scale[:, None] * adjacency * scale[None]
    rows = normal @ normal @ store.x @ weights["hidden.weight"][0] + weights["hidden.bias"][0]
    pooled = global_mean_pool(rows, store.graph_of_node)
    expected = pooled @ weights["head.weight"][0] + weights["head.bias"][0]
    torch.testing.assert_close(network(weights, network.prepare(store).batch())[0], expected)


def test_instance_norm_is_pygs() -> None:
    store = random_store(8, seed=4)
    batch = Network(NetworkConfig(norm="instance"), 3, 2).prepare(store).batch()
    h = torch.rand(store.x.shape[0], 5)
    mean, var = batch.graph_moments(h, 1)
    torch.testing.assert_close((h - mean) / torch.sqrt(var + 1e-5), InstanceNorm(5)(h, store.graph_of_node))


def test_norm_over_nodes_is_pygs_instance_norm_that_is_not_told_whose_nodes_they_are() -> None:
    store = random_store(8, seed=4)
    network = Network(NetworkConfig("mlp", hidden=8, layers=1, norm="nodes"), 3, 2)
    weights, batch = weights_of(network), network.prepare(store).batch()
    rows = store.x @ weights["conv1.weight"][0] + weights["conv1.bias"][0]
    expected = global_mean_pool(torch.relu(InstanceNorm(8)(rows)), store.graph_of_node)
    for training in (True, False):
        torch.testing.assert_close(network.embed(weights, batch, {}, training)[0], expected)
    assert network.fresh_statistics(1) == {} and "norm1.scale" not in weights


def test_batch_norm_is_torchs_in_training_and_after_it() -> None:
    store = random_store(30, seed=4)
    network = Network(NetworkConfig("mlp", hidden=8, layers=1, norm="batch"), 3, 2)
    weights, statistics = weights_of(network), network.fresh_statistics(1)
    reference = torch.nn.BatchNorm1d(8)
    scale, shift = weights["norm1.scale"][0], weights["norm1.shift"][0]
    reference.load_state_dict({"weight": scale, "bias": shift}, strict=False)
    batch = network.prepare(store).batch()
    rows = store.x @ weights["conv1.weight"][0] + weights["conv1.bias"][0]
    for training in (True, True, False):
        reference.train(training)
        expected = global_mean_pool(torch.relu(reference(rows)), store.graph_of_node)
        torch.testing.assert_close(network.embed(weights, batch, statistics, training)[0], expected)


def test_starting_weights_are_as_the_paper_says() -> None:
    network = Network(NetworkConfig(hidden=64), 32, 2)
    weights = network.draw(torch.Generator().manual_seed(0))
    glorot = (6 / (32 + 64)) ** 0.5
    assert 0.98 * glorot < float(weights["conv1.weight"].abs().max()) <= glorot
    assert float(weights["conv2.bias"].abs().max()) == 0
    assert 0.8 / 8 < float(weights["head.weight"].abs().max()) <= 1 / 8


def test_a_seeds_weights_do_not_depend_on_other_seeds() -> None:
    network = Network(NetworkConfig(hidden=4), 3, 2)
    both, one = network.draw_seeds([5, 6]), network.draw_seeds([6])
    assert all(torch.equal(both[name][1:], one[name]) for name in network.parameter_names)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "gcnn"}, "unknown model 'gcnn': did you mean 'gcn'"),
        ({"pooling": "max"}, "unknown pooling 'max'"),
        ({"norm": "layer"}, "unknown norm 'layer'"),
        ({"hidden": 0}, "hidden=0 must be a whole number of at least 1"),
        ({"layers": 2.5}, "layers=2.5 must be a whole number"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        NetworkConfig(**settings)  # type: ignore[arg-type]
