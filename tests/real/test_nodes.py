from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch_geometric.utils import k_hop_subgraph

from graphcondense.matching import tie
from graphcondense.models import KINDS, NetworkConfig, NodeNetwork
from graphcondense.real import NodeBatch, RealNodes
from graphcondense.training import graph_losses
from tests.made_up import random_nodes

GRAPH = random_nodes()
SHUFFLED = torch.randperm(30, generator=torch.Generator().manual_seed(2))


def numbered() -> RealNodes:
    """The graph with a node's number as its only feature, so that rows say whose they are."""
    return RealNodes(replace(GRAPH, x=torch.arange(30.0).view(30, 1)), "gcn")


def within(nodes: Tensor, steps: int) -> list[int]:
    return sorted(k_hop_subgraph(nodes, steps, GRAPH.edge_index, num_nodes=30)[0].tolist())


def who(batch: NodeBatch, level: int) -> Tensor:
    return batch.features(0, level).flatten().long()


@pytest.mark.parametrize("layers", [1, 2, 3, 4])
@pytest.mark.parametrize("targets", [SHUFFLED[:1], SHUFFLED[:2], SHUFFLED[:9], torch.tensor([29])], ids=len)
def test_a_level_has_the_nodes_that_the_targets_reach_and_no_other(layers: int, targets: Tensor) -> None:
    batch = numbered().batch(targets, layers)
    assert torch.equal(who(batch, layers), targets)
    for level in range(1, layers + 1):
        assert sorted(who(batch, level).tolist()) == within(targets, layers - level)
        assert batch.rows(level) == sum(batch.groups(level)) == len(within(targets, layers - level))
    assert batch.most_rows == batch.rows(1)


def test_groups_stay_together_and_have_rows_of_their_own() -> None:
    parts = [SHUFFLED[:1], SHUFFLED[1:3], SHUFFLED[3:8]]
    batch = numbered().batch(torch.cat(parts), 3, [1, 2, 5])
    for level in (1, 2, 3):
        rows = who(batch, level).split(batch.groups(level))
        for part, row in zip(parts, rows, strict=True):
            assert sorted(row.tolist()) == within(part, 3 - level)
    assert batch.rows(1) > len(within(torch.cat(parts), 2))  # some node is seen by two groups


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_out_of_reach_does_not_matter(kind: str) -> None:
    network = NodeNetwork(NetworkConfig(kind, hidden=4, layers=2), 5, 3)
    weights = {name: weight.double() for name, weight in network.draw(torch.Generator().manual_seed(0)).items()}
    targets = SHUFFLED[:1]
    x = GRAPH.x.clone()
    unseen = sorted(set(range(30)) - set(within(targets, 2)))
    assert 5 < len(unseen) < 29
    x[unseen] = torch.nan
    found = [
        network(weights, RealNodes(graph, network.propagation).batch(targets, network.levels))
        for graph in (GRAPH, replace(GRAPH, x=x))
    ]
    assert torch.equal(*found)


def dense(propagation: str) -> Tensor:
    adjacency = torch.zeros(30, 30, dtype=torch.float64)
    adjacency[GRAPH.edge_index[1], GRAPH.edge_index[0]] = 1
    if propagation == "gcn":
        adjacency += torch.eye(30, dtype=torch.float64)
        scale = adjacency.sum(1) ** -0.5
        return scale[:, None] * adjacency * scale[None]
    return adjacency / adjacency.sum(1, keepdim=True).clamp(min=1) if propagation == "mean" else adjacency


@pytest.mark.parametrize("steps", [0, 1, 2, 3])
@pytest.mark.parametrize("propagation", ["gcn", "mean", "sum"])
def test_features_are_a_power_of_the_matrix_times_x(propagation: str, steps: int) -> None:
    expected = torch.linalg.matrix_power(dense(propagation), steps) @ GRAPH.x
    batch = RealNodes(GRAPH, propagation).batch(SHUFFLED[:5], 2, [2, 3])
    rows = numbered().batch(SHUFFLED[:5], 2, [2, 3])
    for level in (1, 2):
        torch.testing.assert_close(batch.features(steps, level), expected[who(rows, level)], rtol=1e-10, atol=1e-10)
    assert batch.features(steps, 1) is batch.features(steps, 1)


def test_without_propagation_features_stay_what_they_are() -> None:
    batch = RealNodes(GRAPH, "none").batch(SHUFFLED[:5], 3)
    assert all(torch.equal(batch.features(steps, 0), GRAPH.x[SHUFFLED[:5]]) for steps in (0, 1, 2))
    assert {batch.rows(level) for level in (1, 2, 3)} == {5}


@pytest.mark.parametrize("propagation", ["gcn", "mean", "sum"])
def test_propagation_and_its_transpose_are_the_dense_ones(propagation: str) -> None:
    batch, rows = RealNodes(GRAPH, propagation).batch(SHUFFLED[:6], 2), numbered().batch(SHUFFLED[:6], 2)
    above, below = who(rows, 2), who(rows, 1)
    matrix = dense(propagation)[above][:, below]
    source = torch.Generator().manual_seed(0)
    h = torch.randn(2, len(below), 4, generator=source, dtype=torch.float64)
    back = torch.randn(len(above), 4, generator=source, dtype=torch.float64)
    torch.testing.assert_close(batch.propagate(h, 2), matrix @ h, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(batch.propagate_back(back, 2), matrix.T @ back, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(batch.own(h, 2), h[:, [below.tolist().index(node) for node in above.tolist()]])


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_tied_gradients_of_a_class_are_those_of_the_class_alone(kind: str, layers: int) -> None:
    network = NodeNetwork(NetworkConfig(kind, hidden=6, layers=layers), 5, 3)
    theta = {name: weight.double() + 0.05 for name, weight in network.draw(torch.Generator().manual_seed(0)).items()}
    real = RealNodes(GRAPH, network.propagation)
    parts = [(GRAPH.y == label).nonzero().flatten()[: 3 + 2 * label] for label in range(3)]
    sizes = [len(part) for part in parts]
    assert sizes == [3, 5, 7]
    batch, tied = real.batch(torch.cat(parts), network.levels, sizes), tie(theta, 3)
    outputs = network(tied, batch)
    together = torch.autograd.grad(graph_losses(outputs, batch.y).sum(), list(tied.values()))
    for group, (part, ours) in enumerate(zip(parts, outputs.split(sizes), strict=True)):
        alone, leaves = real.batch(part, network.levels), tie(theta, 1)
        theirs = network(leaves, alone)[0]
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)
        gradient = torch.autograd.grad(graph_losses(theirs, alone.y).sum(), list(leaves.values()))
        for both, one in zip(together, gradient, strict=True):
            torch.testing.assert_close(both[group], one[0], rtol=1e-10, atol=1e-10)


def test_targets_count_alike_within_their_group() -> None:
    batch = RealNodes(GRAPH, "gcn").batch(SHUFFLED[:7], 2, [4, 1, 2])
    assert batch.mean_weights.tolist() == [0.25] * 4 + [1] + [0.5] * 2
    assert RealNodes(GRAPH, "gcn").batch(SHUFFLED[:4], 2).mean_weights.tolist() == [0.25] * 4


# --- samples ---------------------------------------------------------------------------------------------------------


def drawn(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("fanout", [None, 30])
@pytest.mark.parametrize("kind", KINDS)
def test_a_sample_that_leaves_nothing_out_is_the_batch(kind: str, fanout: int | None) -> None:
    network = NodeNetwork(NetworkConfig(kind, hidden=4, layers=3), 5, 3)
    theta = {name: weight.double() for name, weight in network.draw(drawn(0)).items()}
    real = RealNodes(GRAPH, network.propagation)
    plain = real.batch(SHUFFLED[:9], network.levels, [4, 5])
    sample = real.sample(SHUFFLED[:9], network.levels, [4, 5], fanout, drawn(1))
    tied = tie(theta, 2)
    torch.testing.assert_close(network(tied, sample), network(tied, plain), rtol=1e-10, atol=1e-10)
    for steps in (0, 1, 2, 3):
        torch.testing.assert_close(sample.features(steps, 1), plain.features(steps, 1), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("propagation", ["gcn", "mean", "sum"])
@pytest.mark.parametrize("fanout", [1, 2, 3])
def test_a_sample_has_at_most_so_many_neighbours_and_is_right_on_average(propagation: str, fanout: int) -> None:
    graph = random_nodes(density=0.3)
    real = RealNodes(graph, propagation)
    h = torch.randn(30, 3, generator=drawn(0), dtype=torch.float64)
    found = []
    for seed in range(600):
        sample = real.sample(torch.arange(30), 2, [30], fanout, drawn(seed))
        matrix = sample.propagate(torch.eye(sample.rows(1), dtype=torch.float64), 2)
        assert int((matrix != 0).sum(1).max()) <= fanout
        below = sample.features(0, 1)
        places = (below.unsqueeze(1) == graph.x).all(-1).int().argmax(1)
        found.append(sample.propagate(h[places], 2))
    whole = RealNodes(replace(graph, x=h), propagation).batch(torch.arange(30), 1).features(1, 1)
    draws = torch.stack(found)
    error = (draws.mean(0) - whole).abs()
    assert bool((error <= 5 * draws.std(0) / 600**0.5 + 1e-9).all())
    assert float(draws.std(0).max()) > 0.1


def test_the_first_propagation_of_a_sample_leaves_nothing_out() -> None:
    graph = random_nodes(density=0.3)
    sample = RealNodes(graph, "gcn").sample(SHUFFLED[:5], 1, [5], 1, drawn(0))
    expected = RealNodes(graph, "gcn").batch(SHUFFLED[:5], 1).features(2, 1)
    torch.testing.assert_close(sample.features(2, 1), expected, rtol=1e-10, atol=1e-10)


def test_the_generator_decides_what_is_left_out() -> None:
    real = RealNodes(random_nodes(density=0.3), "gcn")
    one, same, other = (real.sample(SHUFFLED[:5], 3, [2, 3], 2, drawn(seed)).features(0, 1) for seed in (0, 0, 1))
    assert torch.equal(one, same) and not (one.shape == other.shape and torch.equal(one, other))
