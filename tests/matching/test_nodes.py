from __future__ import annotations

import pytest
import torch
from torch import Tensor

from graphcondense.matching import DISTANCES, Gradients, NodeMatcher, autograd_gradients, relative_squared, tie
from graphcondense.matching.node_factors import pays
from graphcondense.matching.node_pass import RealPass
from graphcondense.matching.nodes import formed, total
from graphcondense.models import KINDS, NetworkConfig, NodeNetwork, Parameters
from graphcondense.real import RealNodes
from graphcondense.synthetic import DenseNodes, NoStructure, SyntheticNodes
from graphcondense.training import graph_losses
from tests.made_up import random_nodes

GRAPH = random_nodes()
SHARES = torch.tensor([0.5, 0.2, 0.3], dtype=torch.float64)
NETWORKS = {
    "gcn-1": NetworkConfig("gcn", hidden=4, layers=1),
    "gcn-2": NetworkConfig("gcn", hidden=4, layers=2),
    "gcn-3": NetworkConfig("gcn", hidden=4, layers=3),
    "sgc-1": NetworkConfig("sgc", layers=1),
    "sgc-2": NetworkConfig("sgc", layers=2),
    "sgc-3": NetworkConfig("sgc", layers=3),
}
LABELS = torch.tensor([0, 0, 0, 1, 2, 2])


def network_of(name: str) -> NodeNetwork:
    return NodeNetwork(NETWORKS[name], 5, 3)


def theta_of(network: NodeNetwork) -> Parameters:
    return {n: w.double() + 0.05 for n, w in network.draw(torch.Generator().manual_seed(1)).items()}


def a_target(theta: Parameters, classes: int = 3) -> Gradients:
    source = torch.Generator().manual_seed(2)
    return Gradients.of(
        [torch.randn(classes, *w.shape[1:], generator=source, dtype=torch.float64) for w in theta.values()]
    )


def learned(seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """Adjacency and features to be differentiated, and what each node counts in each class."""
    source = torch.Generator().manual_seed(seed)
    adjacency = torch.rand(6, 6, generator=source, dtype=torch.float64)
    x = torch.randn(6, 5, generator=source, dtype=torch.float64)
    weights = SyntheticNodes(x, LABELS, 3, NoStructure()).class_weights
    return adjacency.requires_grad_(), x.requires_grad_(), weights


def by_class(sizes: tuple[int, ...] = (3, 5, 7)) -> tuple[list[Tensor], list[int]]:
    members = [(GRAPH.y == label).nonzero().flatten()[:size] for label, size in enumerate(sizes)]
    return members, [len(part) for part in members]


# --- real nodes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NETWORKS)
def test_real_gradients_written_out_are_those_of_autograd_and_of_each_class_alone(name: str) -> None:
    network = network_of(name)
    theta, real = theta_of(network), RealNodes(GRAPH, "gcn")
    members, sizes = by_class()
    batch = real.batch(torch.cat(members), network.levels, sizes)
    alone = []
    for part in members:
        one = real.batch(part, network.levels)
        shares = torch.full((len(part),), 1 / len(part), dtype=torch.float64)
        alone.append(autograd_gradients(network, tie(theta, 1), one, one.y, shares).flat)
    for written_out in (True, False):
        matcher = NodeMatcher(network, relative_squared, SHARES, written_out)
        assert matcher.written_out == written_out
        torch.testing.assert_close(formed(matcher.real(theta, batch)).flat, torch.cat(alone), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", ["gcn-2", "sgc-2"])
def test_a_real_gradient_is_that_of_finite_differences(name: str) -> None:
    network = network_of(name)
    theta, real = theta_of(network), RealNodes(GRAPH, "gcn")
    members, sizes = by_class()
    batch = real.batch(torch.cat(members), network.levels, sizes)
    ours = formed(NodeMatcher(network, relative_squared, SHARES).real(theta, batch)).parts
    for number, parameter in enumerate(network.parameter_names):
        for place in (0, theta[parameter].numel() - 1):
            losses = []
            for sign in (1, -1):
                moved = {n: w.clone() for n, w in theta.items()}
                moved[parameter].view(-1)[place] += sign * 1e-6
                outputs = [network(moved, real.batch(part, network.levels))[0] for part in members]
                losses.append(
                    torch.stack([graph_losses(o, GRAPH.y[p]).mean() for o, p in zip(outputs, members, strict=True)])
                )
            expected = (losses[0] - losses[1]) / 2e-6
            torch.testing.assert_close(ours[number].flatten(1)[:, place], expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_real_gradients(kind: str) -> None:
    network = NodeNetwork(NetworkConfig(kind, hidden=4, layers=2), 5, 3)
    members, sizes = by_class()
    batch = RealNodes(GRAPH, network.propagation).batch(torch.cat(members), network.levels, sizes)
    matcher = NodeMatcher(network, relative_squared, SHARES)
    assert matcher.written_out == (kind in ("gcn", "sgc"))
    flat = formed(matcher.real(theta_of(network), batch)).flat
    assert flat.shape[0] == 3 and bool((flat.abs().sum(1) > 0).all())


# --- learned nodes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("name", NETWORKS)
def test_written_out_equals_autograd_on_learned_nodes(name: str, distance: str) -> None:
    network = network_of(name)
    theta = theta_of(network)
    adjacency, x, weights = learned()
    found = []
    for written_out in (True, False):
        matcher = NodeMatcher(network, DISTANCES[distance], SHARES, written_out)
        batch = DenseNodes(adjacency, x, "gcn")
        loss, _ = matcher.synthetic(theta, batch, LABELS, weights, a_target(theta))
        gradients = matcher.of_synthetic(theta, batch, LABELS, weights)
        found.append((loss.detach(), gradients.flat.detach(), *torch.autograd.grad(loss, [adjacency, x])))
    for ours, expected in zip(*found, strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-9, atol=1e-11)
    assert float(found[0][2].abs().max()) > 0 and float(found[0][3].abs().max()) > 0


@pytest.mark.parametrize("written_out", [True, False])
@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("name", ["gcn-1", "gcn-2", "gcn-3", "sgc-2"])
def test_slopes_in_structure_and_features_are_those_of_finite_differences(
    name: str, distance: str, written_out: bool
) -> None:
    network = network_of(name)
    theta = theta_of(network)
    adjacency, x, weights = learned()
    matcher = NodeMatcher(network, DISTANCES[distance], SHARES, written_out)

    def loss(adjacency: Tensor, x: Tensor) -> Tensor:
        batch = DenseNodes(adjacency, x, "gcn")
        return 3 * matcher.synthetic(theta, batch, LABELS, weights, a_target(theta))[0]

    assert torch.autograd.gradcheck(loss, (adjacency, x))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_can_be_matched(kind: str) -> None:
    network = NodeNetwork(NetworkConfig(kind, hidden=4, layers=2), 5, 3)
    theta = theta_of(network)
    adjacency, x, weights = learned()
    batch = DenseNodes(adjacency, x, network.propagation)
    loss, _ = NodeMatcher(network, relative_squared, SHARES).synthetic(theta, batch, LABELS, weights, a_target(theta))
    slopes = torch.autograd.grad(loss, [x, adjacency], allow_unused=True)
    assert float(slopes[0].abs().max()) > 0
    assert (slopes[1] is None) == (kind == "mlp")


@pytest.mark.parametrize("name", NETWORKS)
def test_of_synthetic_is_autograds_for_classes_and_for_all_nodes_together(name: str) -> None:
    network = network_of(name)
    theta = theta_of(network)
    adjacency, x, weights = learned()
    batch = DenseNodes(adjacency, x, "gcn")
    mean = torch.full((1, 6), 1 / 6, dtype=torch.float64)
    for y, counted in ((LABELS, weights), (LABELS.unsqueeze(0), mean)):
        found = [
            NodeMatcher(network, relative_squared, SHARES, written_out).of_synthetic(theta, batch, y, counted).flat
            for written_out in (True, False)
        ]
        assert len(found[0]) == len(counted) and not found[0].requires_grad
        torch.testing.assert_close(*found, rtol=1e-10, atol=1e-12)
        assert float(found[0].abs().max()) > 0


@pytest.mark.parametrize("written_out", [True, False])
@pytest.mark.parametrize("distance", DISTANCES)
def test_classes_count_by_their_shares(distance: str, written_out: bool) -> None:
    network = network_of("gcn-2")
    theta = theta_of(network)
    adjacency, x, weights = learned()
    batch = DenseNodes(adjacency, x, "gcn")
    for shares in (SHARES, torch.tensor([1.0, 0, 0], dtype=torch.float64)):
        matcher = NodeMatcher(network, DISTANCES[distance], shares, written_out)
        loss, _ = matcher.synthetic(theta, batch, LABELS, weights, a_target(theta))
        gradients = matcher.of_synthetic(theta, batch, LABELS, weights)
        expected = (DISTANCES[distance](gradients, a_target(theta)) * shares).sum()
        torch.testing.assert_close(loss, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("written_out", [True, False])
@pytest.mark.parametrize("distance", DISTANCES)
def test_a_class_without_nodes_costs_nothing(distance: str, written_out: bool) -> None:
    """Class 1 has no training node: no gradient, no share, and no slope that is not finite."""
    network = network_of("gcn-2")
    theta = theta_of(network)
    members, sizes = by_class((3, 0, 7))
    batch = RealNodes(GRAPH, "gcn").batch(torch.cat(members), 2, sizes)
    shares = torch.tensor([0.4, 0.0, 0.6], dtype=torch.float64)
    matcher = NodeMatcher(network, DISTANCES[distance], shares, written_out)
    real = matcher.real(theta, batch)
    assert not bool(formed(real).flat[1].any())
    adjacency, x, _ = learned()
    labels = torch.tensor([0, 0, 2, 2, 2, 2])
    weights = SyntheticNodes(x.detach(), labels, 3, NoStructure()).class_weights
    loss, _ = matcher.synthetic(theta, DenseNodes(adjacency, x, "gcn"), labels, weights, real)
    slopes = torch.autograd.grad(loss, [adjacency, x])
    assert bool(torch.isfinite(loss)) and all(bool(torch.isfinite(slope).all()) for slope in slopes)


@pytest.mark.parametrize("written_out", [True, False])
@pytest.mark.parametrize("name", NETWORKS)
def test_the_real_nodes_themselves_match_perfectly(name: str, written_out: bool) -> None:
    network = network_of(name)
    theta = theta_of(network)
    order = GRAPH.y.argsort(stable=True)
    sizes = torch.bincount(GRAPH.y).tolist()
    matcher = NodeMatcher(network, relative_squared, SHARES, written_out)
    real = matcher.real(theta, RealNodes(GRAPH, "gcn").batch(order, network.levels, sizes))
    adjacency = torch.zeros(30, 30, dtype=torch.float64)
    adjacency[GRAPH.edge_index[1], GRAPH.edge_index[0]] = 1
    weights = SyntheticNodes(GRAPH.x, GRAPH.y, 3, NoStructure()).class_weights
    x = GRAPH.x.clone().requires_grad_()
    batch = DenseNodes(adjacency, x, "gcn")
    loss, _ = matcher.synthetic(theta, batch, GRAPH.y, weights, real)
    gradients = matcher.of_synthetic(theta, batch, GRAPH.y, weights)
    torch.testing.assert_close(gradients.flat, formed(real).flat, rtol=1e-6, atol=1e-8)
    assert float(loss.detach()) < 1e-10


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("name", NETWORKS)
def test_gradients_that_are_never_formed_have_the_same_distance_and_slopes(
    name: str, distance: str, sparse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphcondense.real.nodes._FEW", 2 * sparse)
    network = network_of(name)
    theta, real = theta_of(network), RealNodes(GRAPH, "gcn")
    members, sizes = by_class()
    batch = real.batch(torch.cat(members), network.levels, sizes)
    adjacency, x, weights = learned()
    found = []
    for factored in (True, False):
        matcher = NodeMatcher(network, DISTANCES[distance], SHARES, chooses=lambda *_, answer=factored: answer)
        nodes = DenseNodes(adjacency, x, "gcn")
        side = matcher.real(theta, batch)
        assert isinstance(side, RealPass) and (side.mostly_zero is not None) == sparse
        loss, matched = matcher.synthetic(theta, nodes, LABELS, weights, side)
        sums = [total(one, SHARES).detach() for one in (side, matched)]
        torch.testing.assert_close(sums, [SHARES @ formed(one).flat for one in (side, matched)])
        found.append((loss.detach(), *torch.autograd.grad(loss, [adjacency, x])))
    for ours, expected in zip(*found, strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-7, atol=1e-9)
    assert float(found[0][0]) > 0.01


def test_a_class_without_nodes_has_finite_slopes_when_nothing_is_formed() -> None:
    network = network_of("gcn-2")
    theta = theta_of(network)
    members, sizes = by_class((3, 0, 7))
    batch = RealNodes(GRAPH, "gcn").batch(torch.cat(members), network.levels, sizes)
    shares = torch.tensor([0.3, 0, 0.7], dtype=torch.float64)
    adjacency, x, _ = learned()
    labels = torch.tensor([0, 0, 2, 2, 2, 2])
    weights = SyntheticNodes(x.detach(), labels, 3, NoStructure()).class_weights
    for distance in DISTANCES.values():
        matcher = NodeMatcher(network, distance, shares, chooses=lambda *_: True)
        loss, _ = matcher.synthetic(theta, DenseNodes(adjacency, x, "gcn"), labels, weights, matcher.real(theta, batch))
        slopes = torch.autograd.grad(loss, [adjacency, x])
        assert bool(torch.isfinite(loss)) and all(bool(torch.isfinite(slope).all()) for slope in slopes)


def test_nothing_is_formed_where_features_are_many() -> None:
    chosen = []
    for width in (5, 400):
        graph = random_nodes(features=width)
        network = NodeNetwork(NetworkConfig("gcn", hidden=32, layers=2), width, 3)
        theta = {n: w.double() for n, w in network.draw(torch.Generator()).items()}
        members = [(graph.y == label).nonzero().flatten()[:3] for label in range(3)]
        matcher = NodeMatcher(network, relative_squared, SHARES, chooses=lambda *ab: chosen.append(pays(*ab)) or True)
        real = matcher.real(theta, RealNodes(graph, "gcn").batch(torch.cat(members), 2, [3, 3, 3]))
        x = graph.x[:6].clone().requires_grad_()
        matcher.synthetic(theta, DenseNodes(torch.zeros(6, 6).double(), x, "gcn"), LABELS, learned()[2], real)
    assert chosen == [False, True]
