from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

import pytest
import torch
from torch import Tensor

from graphcondense.errors import InputError
from graphcondense.matching import Matcher, autograd_gradients, relative_squared, tie
from graphcondense.methods import DCG, DosCond, DosCondBi
from graphcondense.methods.weights import FreshWeights, TrainedWeights
from graphcondense.models import KINDS, Network, NetworkConfig, Parameters
from graphcondense.synthetic import CondensedDataset, DenseBatch
from graphcondense.training import graph_losses
from tests.made_up import toy_task

TASK = toy_task()
SMALL = NetworkConfig(hidden=8, layers=2)
NETWORK = Network(SMALL, 4, 2)
Y = torch.tensor([[0, 1, 1, 0, 1, 0]])


def condense(kind: type[DosCond], **settings: Any) -> CondensedDataset:
    defaults = {"graphs_per_class": 3, "iterations": 6, "network": SMALL, "nodes": 7}
    return kind(**(defaults | settings)).condense(TASK)


def equal(one: CondensedDataset, two: CondensedDataset) -> bool:
    graphs = torch.equal(one.graphs.x, two.graphs.x) and torch.equal(one.graphs.edge_index, two.graphs.edge_index)
    return graphs and one.history == two.history


def dense_batch(propagation: str = "gcn", dtype: torch.dtype = torch.float32, groups: int = 1) -> DenseBatch:
    source, shape = torch.Generator().manual_seed(0), (groups, 6 // groups, 5)
    half = torch.rand(*shape, 5, generator=source).triu(1)
    mask = torch.rand(*shape, generator=source) < 0.7
    mask[..., 0] = True
    x = torch.randn(*shape, 4, generator=source) * mask.unsqueeze(-1)
    adjacency = (half + half.mT) * mask.unsqueeze(-1) * mask.unsqueeze(-2)
    return DenseBatch(adjacency.to(dtype), x.to(dtype), propagation, mask)


def copied(weights: Parameters) -> Parameters:
    return {name: weight.clone() for name, weight in weights.items()}


# --- the weights -----------------------------------------------------------------------------------------------------


def trained_by_autograd(network: Network, start: Parameters, batch: DenseBatch, steps: int, rate: float) -> Parameters:
    """Plain PyTorch: a leaf a weight, the mean loss, backward, Adam."""
    leaves = {name: weight.clone().requires_grad_() for name, weight in start.items()}
    optimiser = torch.optim.Adam(leaves.values(), rate)
    for _ in range(steps):
        optimiser.zero_grad()
        graph_losses(network(leaves, batch), Y).mean().backward()
        optimiser.step()
    return leaves


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("outputs", [1, 2])
def test_the_inner_training_is_plain_training_on_the_same_graphs(kind: str, outputs: int) -> None:
    network = Network(NetworkConfig(kind, hidden=8, layers=2), 4, outputs)
    batch = dense_batch(network.propagation)
    weights = TrainedWeights(Matcher(network, relative_squared), torch.Generator().manual_seed(3), 9, 4, 0.02)
    start = copied(weights.at(0, lambda: batch, Y))
    for matched in (1, 2):  # the optimiser goes on where it was
        ours = weights.at(matched, lambda: batch, Y)
        expected = trained_by_autograd(network, start, batch, 4 * matched, 0.02)
        for name in network.parameter_names:
            torch.testing.assert_close(ours[name], expected[name].detach(), rtol=1e-3, atol=1e-4)
        assert float((ours["head.weight"] - start["head.weight"]).abs().max()) > 0.02


def test_training_lowers_the_loss_on_the_synthetic_graphs() -> None:
    batch = dense_batch()
    weights = TrainedWeights(Matcher(NETWORK, relative_squared), torch.Generator().manual_seed(0), 100, 5, 0.01)
    losses = [float(graph_losses(NETWORK(weights.at(i, lambda: batch, Y), batch), Y).mean()) for i in range(8)]
    assert losses == sorted(losses, reverse=True) and losses[-1] < losses[0] - 0.05


@pytest.mark.parametrize("outer", [1, 2, 3])
def test_a_fresh_network_every_outer_iterations(outer: int) -> None:
    batch = dense_batch()
    fresh = FreshWeights(Matcher(NETWORK, relative_squared), torch.Generator().manual_seed(5))
    trained = TrainedWeights(Matcher(NETWORK, relative_squared), torch.Generator().manual_seed(5), outer, 2, 0.01)
    drawn = [fresh.at(network, lambda: batch, Y)["head.weight"] for network in range(3)]
    seen = [trained.at(i, lambda: batch, Y)["head.weight"].clone() for i in range(3 * outer)]
    for i, weight in enumerate(seen):
        assert torch.equal(weight, drawn[i // outer]) == (i % outer == 0)
    assert len({tuple(weight.flatten().tolist()) for weight in seen}) == 3 * outer


def test_graphs_are_made_only_when_they_are_trained_on() -> None:
    made: list[int] = []

    def graphs() -> DenseBatch:
        made.append(len(made))
        return dense_batch()

    weights = TrainedWeights(Matcher(NETWORK, relative_squared), torch.Generator(), 3, 2, 0.01)
    counts = []
    for iteration in range(7):
        weights.at(iteration, graphs, Y)
        counts.append(len(made))
    assert counts == [0, 1, 2, 2, 3, 4, 4]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("norm", ["none", "instance", "batch", "nodes"])
@pytest.mark.parametrize("groups", [1, 2])
def test_gradients_of_synthetic_graphs_are_those_of_autograd(kind: str, norm: str, groups: int) -> None:
    network = Network(NetworkConfig(kind, hidden=8, layers=2, norm=norm), 4, 2)
    batch = dense_batch(network.propagation, torch.float64, groups)
    source = torch.Generator().manual_seed(1)
    theta = {name: weight.double() + 0.05 for name, weight in network.draw(source).items()}
    y, shares = Y.view(groups, -1), torch.rand(groups, 6 // groups, dtype=torch.float64, generator=source) + 0.1
    ours = Matcher(network, relative_squared).of_synthetic(theta, batch, y, shares)
    expected = autograd_gradients(network, tie(theta, groups), batch, y, shares)
    torch.testing.assert_close(ours.flat, expected.flat)
    assert float(ours.flat.abs().max()) > 0 and not ours.flat.requires_grad


# --- the methods -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"seed": 4},
        {"match": "joint"},
        {"samples": 2},
        {"pad": True},
        {"structure_rate": 0.0},
        {"network": NetworkConfig("gin", hidden=8, layers=2)},
    ],
    ids=lambda settings: "-".join(settings) or "plain",
)
def test_one_matching_step_a_network_is_doscond(settings: dict[str, Any]) -> None:
    assert equal(condense(DosCondBi, outer=1, inner=3, **settings), condense(DosCond, **settings))
    assert not equal(condense(DosCondBi, outer=2, inner=3, **settings), condense(DosCond, **settings))


@pytest.mark.parametrize("settings", [{"outer": 3}, {"inner": 1}, {"inner_rate": 0.05}, {"seed": 1}], ids="".join)
def test_each_setting_changes_the_result(settings: dict[str, Any]) -> None:
    plain = {"outer": 2, "inner": 2, "inner_rate": 0.01}
    assert equal(condense(DosCondBi, **plain), condense(DosCondBi, **plain))
    assert not equal(condense(DosCondBi, **(plain | settings)), condense(DosCondBi, **plain))


def test_up_to_the_first_training_both_are_the_same() -> None:
    bi, one = condense(DosCondBi, outer=3, inner=2).history, condense(DosCond).history
    assert bi[0] == one[0]
    assert bi[1]["loss"] != one[1]["loss"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("match", ["class", "joint"])
def test_every_network_can_be_matched(kind: str, match: str) -> None:
    settings = {"network": NetworkConfig(kind, hidden=8, layers=2), "match": match, "outer": 2, "inner": 1}
    for method in (DosCondBi, DCG):
        condensed = condense(method, iterations=3, **settings)
        assert len(condensed) == 6 and bool(torch.isfinite(condensed.graphs.x).all())


def structure(edges: Tensor, nodes: int) -> tuple[Any, ...]:
    return (nodes, *sorted(map(tuple, edges.T.tolist())))


def test_dcg_learns_features_on_structures_of_real_graphs() -> None:
    condensed = condense(DCG, iterations=8, outer=4, seed=2)
    start = DosCond(graphs_per_class=3, network=SMALL, nodes=7, seed=2).start(TASK)
    for graph, real in zip(condensed.graphs, TASK.train.subset(start), strict=True):
        assert structure(graph.edge_index, graph.num_nodes) == structure(real.edge_index, real.num_nodes)
        assert int(graph.y) == int(real.y)
        assert not torch.equal(graph.x, real.x)
    assert {record["density"] for record in condensed.history} == {condensed.history[0]["density"]}


def test_dcg_is_bilevel_doscond_without_a_structure_rate() -> None:
    assert equal(condense(DCG, outer=3), condense(DosCondBi, outer=3, structure_rate=0.0))
    assert not equal(condense(DCG, outer=3), condense(DosCondBi, outer=3))


def test_dcg_takes_no_setting_that_would_change_structures() -> None:
    with pytest.raises(TypeError, match="structure_rate"):
        DCG(structure_rate=0.1)  # type: ignore[call-arg]
    assert not DCG().structure_rate
    assert "structure_rate" not in {field.name for field in fields(DCG) if field.init}


def test_padded_nodes_of_dcg_stay_without_edges() -> None:
    padded, plain = condense(DCG, pad=True), condense(DCG)
    assert padded.graphs.num_nodes.tolist() == [7] * len(padded)
    assert torch.equal(padded.graphs.num_edges, plain.graphs.num_edges)


@pytest.mark.parametrize("kind", [DosCondBi, DCG])
def test_settings_end_up_in_the_result(kind: type[DosCondBi]) -> None:
    condensed = condense(kind, outer=2, inner=1)
    method = kind(graphs_per_class=3, iterations=6, network=SMALL, nodes=7, outer=2, inner=1)
    assert condensed.info["settings"] == asdict(method)
    assert condensed.info["method"] == kind.name


@pytest.mark.parametrize("kind", [DosCondBi, DCG])
@pytest.mark.parametrize(
    "settings",
    [
        {"outer": 0},
        {"outer": 1.5},
        {"outer": True},
        {"inner": 0},
        {"inner": "five"},
        {"inner_rate": 0},
        {"inner_rate": -0.1},
        {"inner_rate": float("nan")},
        {"inner_rate": "fast"},
        {"inner_rate": float("inf")},
    ],
    ids=str,
)
def test_wrong_settings_are_named_when_the_method_is_built(kind: type[DosCondBi], settings: dict[str, Any]) -> None:
    ((name, value),) = settings.items()
    with pytest.raises(InputError, match=f"{name}={value!r} must be"):
        kind(**settings)
