from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch_geometric.nn import GCNConv, GINConv, SAGEConv, SGConv

from graphcondense.errors import InputError
from graphcondense.models import KINDS, NetworkConfig, NodeNetwork, Parameters
from graphcondense.real import RealNodes
from graphcondense.synthetic import DenseNodes
from graphcondense.training import graph_losses
from tests.made_up import random_nodes

GRAPH = random_nodes()
ALL = torch.arange(30)
SHUFFLED = torch.randperm(30, generator=torch.Generator().manual_seed(2))
TARGETS = {
    "all": ALL,
    "shuffled": SHUFFLED,
    "some": SHUFFLED[:4],
    "lonely": torch.tensor([29]),
    "twice": torch.tensor([7, 3, 7, 29, 3]),
}


def network_of(kind: str, layers: int, hidden: int = 8) -> NodeNetwork:
    return NodeNetwork(NetworkConfig(kind, hidden=hidden, layers=layers), 5, 3)


def weights_of(network: NodeNetwork, seed: int = 0) -> Parameters:
    """Random weights in double precision; biases too, which may start at zero, so that a test sees them."""
    source = torch.Generator().manual_seed(seed)
    return {n: (w + 0.1 * torch.rand(w.shape, generator=source)).double() for n, w in network.draw(source).items()}


def pyg_layer(kind: str, weights: Parameters, layer: int) -> torch.nn.Module:
    """PyG's own layer with our weights."""
    own = {name: weight[0] for name, weight in weights.items() if name.startswith((f"conv{layer}.", "hidden."))}
    shapes = [tuple(weight.shape) for weight in own.values()]
    if kind == "gcn":
        conv: torch.nn.Module = GCNConv(*shapes[0])
        state = {"lin.weight": own[f"conv{layer}.weight"].T, "bias": own[f"conv{layer}.bias"]}
    elif kind == "sage":
        conv = SAGEConv(*shapes[0])
        state = {
            "lin_l.weight": own[f"conv{layer}.neighbours.weight"].T,
            "lin_l.bias": own[f"conv{layer}.neighbours.bias"],
            "lin_r.weight": own[f"conv{layer}.own.weight"].T,
        }
    elif kind == "gin":
        (width, hidden), (_, outputs) = shapes[0], shapes[2]
        conv = GINConv(
            torch.nn.Sequential(torch.nn.Linear(width, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, outputs))
        )
        parts = (("nn.0", "first"), ("nn.2", "second"))
        state = {f"{theirs}.weight": own[f"conv{layer}.{ours}.weight"].T for theirs, ours in parts}
        state |= {f"{theirs}.bias": own[f"conv{layer}.{ours}.bias"] for theirs, ours in parts}
    else:
        conv = torch.nn.Linear(*shapes[0])
        state = {"weight": own[f"conv{layer}.weight"].T, "bias": own[f"conv{layer}.bias"]}
    conv = conv.double()
    conv.load_state_dict(state, strict=kind != "gin")
    return conv


@torch.no_grad()
def pyg_outputs(kind: str, weights: Parameters, layers: int) -> Tensor:
    """Outputs of all nodes, by PyG's layers on the whole graph."""
    if kind == "sgc":
        conv = SGConv(5, 3, K=layers).double()
        conv.load_state_dict({"lin.weight": weights["hidden.weight"][0].T, "lin.bias": weights["hidden.bias"][0]})
        return conv(GRAPH.x, GRAPH.edge_index)
    h = GRAPH.x
    for layer in range(1, layers + 1):
        module = pyg_layer(kind, weights, layer)
        h = module(h) if kind == "mlp" else module(h, GRAPH.edge_index)
        h = torch.relu(h) if layer < layers else h
    return h


@pytest.mark.parametrize("targets", TARGETS)
@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_outputs_at_the_targets_are_those_of_pyg_on_the_whole_graph(kind: str, layers: int, targets: str) -> None:
    network, nodes = network_of(kind, layers), TARGETS[targets]
    weights = weights_of(network)
    batch = RealNodes(GRAPH, network.propagation).batch(nodes, network.levels)
    expected = pyg_outputs(kind, weights, layers)[nodes]
    for _ in range(2):  # what the batch keeps must not change
        torch.testing.assert_close(network(weights, batch)[0], expected, rtol=1e-10, atol=1e-10)
    assert torch.equal(batch.y, GRAPH.y[nodes])


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_a_dense_graph_gives_what_the_sparse_one_gives(kind: str, layers: int) -> None:
    network = network_of(kind, layers)
    weights = {n: torch.cat([weights_of(network, seed)[n] for seed in (0, 1)]) for n in network.parameter_names}
    adjacency = torch.zeros(30, 30, dtype=torch.float64)
    adjacency[GRAPH.edge_index[1], GRAPH.edge_index[0]] = 1
    found = []
    for batch in (
        DenseNodes(adjacency, GRAPH.x, network.propagation),
        RealNodes(GRAPH, network.propagation).batch(ALL, network.levels),
    ):
        leaves = {name: weight.clone().requires_grad_() for name, weight in weights.items()}
        outputs = network(leaves, batch)
        gradients = torch.autograd.grad(graph_losses(outputs, GRAPH.y).sum(), list(leaves.values()))
        found.append([outputs, *gradients])
    assert found[0][0].shape == (2, 30, 3)
    for dense, sparse in zip(*found, strict=True):
        torch.testing.assert_close(dense, sparse, rtol=1e-10, atol=1e-10)


def test_edge_weights_are_those_of_pygs_normalisation() -> None:
    source = torch.Generator().manual_seed(1)
    half = torch.rand(9, 9, generator=source, dtype=torch.float64).triu(1)
    adjacency = (half + half.T) * (half + half.T > 0.3)
    x = torch.randn(9, 5, generator=source, dtype=torch.float64)
    edges = adjacency.nonzero().T
    network = network_of("gcn", 2)
    weights = weights_of(network)
    h = torch.relu(pyg_layer("gcn", weights, 1)(x, edges, adjacency[edges[0], edges[1]]))
    expected = pyg_layer("gcn", weights, 2)(h, edges, adjacency[edges[0], edges[1]])
    ours = network(weights, DenseNodes(adjacency, x, "gcn"))[0]
    torch.testing.assert_close(ours, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("kind", ["gcn", "sgc", "mlp"])
def test_the_last_layer_multiplies_the_embedding(kind: str, layers: int) -> None:
    network = network_of(kind, layers)
    weights = weights_of(network)
    batch = RealNodes(GRAPH, network.propagation).batch(SHUFFLED[:9], network.levels)
    last = "hidden" if kind == "sgc" else f"conv{layers}"
    outputs = network.embed(weights, batch) @ weights[f"{last}.weight"] + weights[f"{last}.bias"]
    torch.testing.assert_close(outputs, network(weights, batch), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("layers", [1, 2])
def test_the_embedding_of_a_gin_has_the_node_itself_in_it(layers: int) -> None:
    network = network_of("gin", layers)
    weights = weights_of(network)
    batch = RealNodes(GRAPH, "sum").batch(SHUFFLED[:9], layers)
    name = f"conv{layers}"
    hidden = torch.relu(network.embed(weights, batch) @ weights[f"{name}.first.weight"] + weights[f"{name}.first.bias"])
    outputs = hidden @ weights[f"{name}.second.weight"] + weights[f"{name}.second.bias"]
    torch.testing.assert_close(outputs, network(weights, batch), rtol=1e-10, atol=1e-10)


def test_masks_are_multiplied_with_the_hidden_rows_of_each_network() -> None:
    network = network_of("gcn", 3)
    weights = {n: torch.cat([weights_of(network, seed)[n] for seed in (0, 1)]) for n in network.parameter_names}
    batch = RealNodes(GRAPH, "gcn").batch(SHUFFLED[:3], 3)
    source = torch.Generator().manual_seed(0)
    masks = [torch.rand(2, batch.rows(layer), 8, generator=source, dtype=torch.float64) for layer in (1, 2)]
    h = batch.features(1, 1) @ weights["conv1.weight"] + weights["conv1.bias"].unsqueeze(1)
    for layer in (2, 3):
        h = batch.propagate(torch.relu(h) * masks[layer - 2], layer)
        h = h @ weights[f"conv{layer}.weight"] + weights[f"conv{layer}.bias"].unsqueeze(1)
    torch.testing.assert_close(network(weights, batch, masks), h, rtol=1e-10, atol=1e-10)
    ones = [torch.ones_like(mask) for mask in masks]
    assert torch.equal(network(weights, batch, ones), network(weights, batch))
    nothing = network(weights, batch, [torch.zeros_like(mask) for mask in masks])
    assert torch.equal(nothing, weights["conv3.bias"].unsqueeze(1).expand_as(nothing))


def test_widths_are_hidden_between_features_and_outputs() -> None:
    shapes = network_of("gcn", 3).shapes
    assert [shapes[f"conv{layer}.weight"] for layer in (1, 2, 3)] == [(5, 8), (8, 8), (8, 3)]
    assert network_of("gcn", 1).shapes == {"conv1.weight": (5, 3), "conv1.bias": (3,)}
    assert network_of("sgc", 3).shapes == {"hidden.weight": (5, 3), "hidden.bias": (3,)}


@pytest.mark.parametrize("kind", KINDS)
def test_a_seeds_weights_do_not_depend_on_other_seeds(kind: str) -> None:
    network = network_of(kind, 2)
    both, one = network.draw_seeds([5, 6]), network.draw_seeds([6])
    assert all(torch.equal(both[name][1:], one[name]) for name in network.parameter_names)
    assert any(not torch.equal(both[name][0], both[name][1]) for name in network.parameter_names)


@pytest.mark.parametrize("norm", ["instance", "batch"])
def test_norms_are_refused(norm: str) -> None:
    with pytest.raises(InputError, match=f"norm='{norm}'.*use norm='none'"):
        NodeNetwork(NetworkConfig(norm=norm), 5, 3)
