from __future__ import annotations

import math
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from graphcondense.datasets import node_task
from graphcondense.errors import GraphcondenseError, InputError
from graphcondense.matching import NodeMatcher, relative_squared
from graphcondense.methods import Callback, GCond, NodeDosCond, NodeDosCondX
from graphcondense.methods.node_base import choose_nodes
from graphcondense.methods.node_doscond import NodeCondensation, second_node_term
from graphcondense.methods.weights import FreshWeights, TrainedWeights
from graphcondense.models import KINDS, NetworkConfig, NodeNetwork
from graphcondense.seeding import generator
from graphcondense.synthetic import CondensedGraph, DenseNodes
from graphcondense.training import graph_losses
from tests.made_up import node_data, toy_nodes

TASK = toy_nodes()
SMALL = NetworkConfig(hidden=8, layers=2)
METHODS = [NodeDosCond, NodeDosCondX, GCond]


def method_of(kind: type[NodeDosCond] = NodeDosCond, **settings: Any) -> NodeDosCond:
    return kind(**({"nodes": 9, "iterations": 6, "network": SMALL} | settings))


def condense(kind: type[NodeDosCond] = NodeDosCond, **settings: Any) -> CondensedGraph:
    return method_of(kind, **settings).condense(TASK)


def equal(one: CondensedGraph, two: CondensedGraph) -> bool:
    return torch.equal(one.graph.x, two.graph.x) and torch.equal(one.adjacency, two.adjacency)


@pytest.mark.parametrize("kind", METHODS)
def test_the_seed_decides_every_byte(kind: type[NodeDosCond], tmp_path: Path) -> None:
    blobs = []
    for position, seed in enumerate((0, 0, 1)):
        torch.manual_seed(position)  # the global generator has no say
        blobs.append(condense(kind, seed=seed).save(tmp_path / f"{position}.safetensors").read_bytes())
    assert blobs[0] == blobs[1] != blobs[2]


@pytest.mark.parametrize("kind", METHODS)
def test_the_result_has_the_budget_sorted_by_class_and_says_how_it_was_made(kind: type[NodeDosCond]) -> None:
    heard: list[Any] = []

    class Listener(Callback):
        def on_start(self, iterations: int) -> None:
            heard.append(iterations)

        def on_iteration(self, iteration: int, record: dict[str, float]) -> None:
            heard.append((iteration, record))

        def on_end(self) -> None:
            heard.append("end")

    condensed = method_of(kind).condense(TASK, [Listener()])
    assert condensed.labels.tolist() == [0] * 5 + [1] * 3 + [2]
    assert len(condensed.history) == condensed.info["iterations"] == 6
    assert condensed.info["last"] == condensed.history[-1]
    assert condensed.info["settings"] == asdict(method_of(kind))
    assert condensed.info["method"] == kind.name
    assert heard == [6, *((i + 1, record) for i, record in enumerate(condensed.history)), "end"]
    assert all({"loss", "second_term"} <= set(record) for record in condensed.history)
    assert bool(torch.isfinite(condensed.graph.x).all())


def test_features_start_at_random_training_nodes() -> None:
    run = NodeCondensation(method_of(seed=5), TASK)
    start = choose_nodes(TASK, [5, 3, 1], generator(5, "start"))
    assert torch.equal(run.synthetic.x.detach(), TASK.graph.x[start])
    assert torch.equal(run.synthetic.labels, TASK.graph.y[start])
    assert not bool(run.result().adjacency.any())


@pytest.mark.parametrize("match", ["bernoulli", "none", "features"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_network_can_be_matched_with_every_structure(kind: str, match: str) -> None:
    condensed = condense(network=NetworkConfig(kind, hidden=8, layers=2), structure=match, iterations=3)
    assert len(condensed) == 9 and bool(torch.isfinite(condensed.graph.x).all())
    assert (condensed.weights is not None) == (match == "features")
    assert ("density" in condensed.history[0]) == (match == "bernoulli")


@pytest.mark.parametrize("inductive", [False, True])
def test_the_loss_falls(inductive: bool) -> None:
    task = toy_nodes(inductive=inductive)
    for kind in (NodeDosCond, NodeDosCondX):
        history = method_of(kind, iterations=120, feature_rate=0.05).condense(task).history
        losses = [record["loss"] for record in history]
        assert sum(losses[-20:]) < 0.7 * sum(losses[:20])


def test_bernoulli_edges_are_learned_and_are_zeros_and_ones() -> None:
    condensed = condense(iterations=40, structure_rate=1.0, logit_strength=1.0, sparsity_weight=0.0)
    assert condensed.weights is None
    assert int(condensed.adjacency.sum()) > 0 and torch.equal(condensed.adjacency, condensed.adjacency.T)
    densities = [record["density"] for record in condensed.history]
    assert densities[0] == pytest.approx(72 / 81 / (1 + math.e)) and len(set(densities)) > 30
    frozen = condense(iterations=5, structure_rate=0.0)
    assert len({record["density"] for record in frozen.history}) == 1


def test_rates_of_zero_freeze_features_or_structure() -> None:
    run = NodeCondensation(method_of(feature_rate=0.0), TASK)
    x, logits = run.synthetic.x.detach().clone(), run.synthetic.structure.learned[0].detach().clone()
    run.step(0)
    assert torch.equal(run.synthetic.x, x) and not torch.equal(run.synthetic.structure.learned[0], logits)
    run = NodeCondensation(method_of(structure_rate=0.0), TASK)
    run.step(0)
    assert not torch.equal(run.synthetic.x, x) and torch.equal(run.synthetic.structure.learned[0], logits)


@pytest.mark.parametrize(
    "settings",
    [
        {"distance": "cosine"},
        {"distance": "layerwise-cosine"},
        {"feature_rate": 0.1},
        {"structure_rate": 0.5},
        {"restart_at": 2},
        {"norm_weight": 10.0},
        {"logit_strength": 1.0},
        {"annealing": 2},
        {"structure": "none"},
        {"network": NetworkConfig("sgc")},
        {"iterations": 7},
    ],
    ids=str,
)
def test_each_setting_changes_the_result(settings: dict[str, Any]) -> None:
    plain = {"logit_strength": 0.5, "structure_rate": 0.05}
    assert equal(condense(**plain), condense(**plain))
    assert not equal(condense(**(plain | settings)), condense(**plain))


def test_a_restart_makes_smaller_steps() -> None:
    for restart, factor in ((None, 1.0), (0, 0.1)):
        run = NodeCondensation(method_of(restart_at=restart, feature_rate=0.01), TASK)
        before = run.synthetic.x.detach().clone()
        run.step(0)
        assert float((run.synthetic.x.detach() - before).abs().max()) == pytest.approx(0.01 * factor, rel=1e-2)


def test_classes_count_by_their_share_of_training_nodes() -> None:
    assert NodeCondensation(method_of(), TASK).matcher.shares.tolist() == pytest.approx([1 / 2, 1 / 3, 1 / 6])


def test_a_loss_that_is_not_finite_is_an_error_with_advice() -> None:
    with pytest.raises(GraphcondenseError, match=r"at iteration \d+, worst in class \w+: lower feature_rate=1e\+38"):
        condense(feature_rate=1e38, iterations=20)


@pytest.mark.parametrize("settings", [{}, {"distance": "layerwise-cosine"}], ids=str)
def test_a_class_without_training_nodes_gets_none(settings: dict[str, Any]) -> None:
    data = node_data()
    data.train_mask &= data.y != 1
    condensed = method_of(iterations=3, **settings).condense(node_task(data))
    assert sorted(set(condensed.labels.tolist())) == [0, 2] and condensed.num_classes == 3
    assert bool(torch.isfinite(condensed.graph.x).all())


def test_inductive_condensation_sees_training_nodes_only() -> None:
    """Other features and edges of all other nodes: nothing changes; transductive: it does."""
    data = node_data()
    other = data.clone()
    hidden = ~data.train_mask
    other.x[hidden] += 1
    kept = data.train_mask[data.edge_index].all(0)
    other.edge_index = torch.cat([data.edge_index[:, kept], torch.tensor([[6, 0], [0, 6]])], dim=1)
    for kind in METHODS:
        for inductive in (True, False):
            one, two = (
                method_of(kind, iterations=3).condense(node_task(graph, inductive=inductive)) for graph in (data, other)
            )
            assert equal(one, two) == inductive


# --- the norm term ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_the_second_term_is_that_of_the_theorem(steps: int) -> None:
    source = torch.Generator().manual_seed(0)
    half = torch.rand(8, 8, generator=source, dtype=torch.float64).triu(1)
    adjacency, x = half + half.T, torch.randn(8, 5, generator=source, dtype=torch.float64)
    loops = adjacency + torch.eye(8, dtype=torch.float64)
    normal = torch.diag(loops.sum(1) ** -0.5) @ loops @ torch.diag(loops.sum(1) ** -0.5)
    norm = float((torch.linalg.matrix_power(normal, steps) @ x).square().sum().sqrt())
    classes, horizon = 4, 300
    expected = 3 / (2 * math.sqrt(horizon)) * (classes - 1) / (classes * 8) * norm
    assert float(second_node_term(DenseNodes(adjacency, x, "gcn"), classes, horizon, steps)) == pytest.approx(expected)


def test_the_second_term_is_weighed_into_the_loss() -> None:
    plain = condense(NodeDosCondX, iterations=1, horizon=50).history[0]
    heavy = condense(NodeDosCondX, iterations=1, horizon=50, norm_weight=2.0).history[0]
    start = TASK.graph.x[choose_nodes(TASK, [5, 3, 1], generator(0, "start"))]
    assert plain["second_term"] == pytest.approx(3 / (2 * math.sqrt(50)) * 2 / (3 * 9) * float(start.norm()), rel=1e-5)
    assert heavy["second_term"] == pytest.approx(plain["second_term"])
    assert heavy["loss"] == pytest.approx(plain["loss"] + 2 * plain["second_term"], rel=1e-5)


def test_a_heavy_norm_term_makes_features_smaller() -> None:
    settings = {"iterations": 30, "feature_rate": 0.02}
    light, heavy = (condense(NodeDosCondX, norm_weight=weight, **settings).graph.x.norm() for weight in (0.0, 1e4))
    assert float(heavy) < 0.8 * float(light)


# --- DosCond-X -------------------------------------------------------------------------------------------------------


def test_doscond_x_is_doscond_without_structure() -> None:
    one, two = condense(NodeDosCondX), condense(structure="none")
    assert equal(one, two) and one.history == two.history
    assert not bool(one.adjacency.any()) and one.weights is None
    with pytest.raises(TypeError, match="structure"):
        NodeDosCondX(nodes=9, structure="bernoulli")  # type: ignore[call-arg]


# --- GCond -----------------------------------------------------------------------------------------------------------


def test_gcond_moves_features_and_structure_in_turns() -> None:
    run = NodeCondensation(method_of(GCond, feature_turns=3, structure_turns=2, outer=2, inner=1), TASK)
    moved = []
    for iteration in range(11):
        before = [tensor.detach().clone() for tensor in (run.synthetic.x, *run.synthetic.structure.learned)]
        run.step(iteration)
        after = [run.synthetic.x, *run.synthetic.structure.learned]
        changed = [not torch.equal(a, b) for a, b in zip(before, after, strict=True)]
        moved.append((changed[0], any(changed[1:])))
    features, structure = (True, False), (False, True)
    assert moved == [*[features] * 3, *[structure] * 2, *[features] * 3, *[structure] * 2, features]


def test_gcond_has_edges_with_weights_above_the_threshold() -> None:
    for threshold in (0.0, 0.5):
        condensed = condense(GCond, threshold=threshold)
        assert condensed.weights is not None
        assert int((condensed.weights < threshold).sum()) == 0
        assert len(set(condensed.weights.tolist())) > 5
        assert (len(condensed.weights) == 72) == (threshold == 0.0)
    assert condensed.adjacency.diagonal().tolist() == [0] * 9


@pytest.mark.parametrize(
    "settings", [{"structure": "none"}, {"structure_rate": 0.0}, {"feature_rate": 0.0}], ids=lambda s: "".join(s)
)
def test_gcond_rests_where_what_has_its_turn_does_not_learn(settings: dict[str, Any]) -> None:
    condensed = condense(GCond, iterations=8, feature_turns=2, structure_turns=2, **settings)
    assert len(condensed.history) == 8


def test_nothing_learns_without_rates() -> None:
    start = TASK.graph.x[choose_nodes(TASK, [5, 3, 1], generator(0, "start"))]
    assert torch.equal(condense(feature_rate=0.0, structure_rate=0.0).graph.x, start)


@pytest.mark.parametrize(("outer", "networks"), [(1, 12), (3, 4), (4, 3), (20, 1)])
def test_gcond_draws_a_network_every_outer_steps(outer: int, networks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []
    draw = NodeNetwork.draw
    monkeypatch.setattr(NodeNetwork, "draw", lambda self, source: drawn.append(1) or draw(self, source))
    condense(GCond, iterations=12, outer=outer, inner=1)
    assert len(drawn) == networks
    drawn.clear()
    condense(iterations=12)
    assert len(drawn) == 12


def test_gcond_with_one_step_a_network_does_not_train() -> None:
    turns = {"feature_turns": 3, "structure_turns": 2}
    one = condense(GCond, outer=1, inner=1, **turns)
    assert equal(one, condense(GCond, outer=1, inner=7, inner_rate=0.5, **turns))
    for changed in ({"outer": 2}, {"outer": 2, "inner": 3}, {"outer": 2, "inner": 1, "inner_rate": 0.1}):
        assert not equal(one, condense(GCond, **({"inner": 1} | changed | turns)))


@pytest.mark.parametrize("kind", ["gcn", "sgc", "sage"])
def test_the_inner_training_is_plain_training_on_the_small_graph(kind: str) -> None:
    network = NodeNetwork(NetworkConfig(kind, hidden=8, layers=2), 6, 3)
    source = torch.Generator().manual_seed(0)
    half = torch.rand(9, 9, generator=source).triu(1)
    batch = DenseNodes(half + half.T, torch.randn(9, 6, generator=source), network.propagation)
    labels = torch.tensor([[0, 0, 0, 0, 0, 1, 1, 1, 2]])
    matcher = NodeMatcher(network, relative_squared, torch.ones(3) / 3)
    weights = TrainedWeights(matcher, torch.Generator().manual_seed(3), 9, 4, 0.02)
    start = {name: weight.clone() for name, weight in weights.at(0, lambda: batch, labels).items()}
    fresh = FreshWeights(matcher, torch.Generator().manual_seed(3)).at(0, lambda: batch, labels)
    assert all(torch.equal(start[name], fresh[name]) for name in start)
    leaves = {name: weight.clone().requires_grad_() for name, weight in start.items()}
    optimiser = torch.optim.Adam(leaves.values(), 0.02)
    for matched in (1, 2):
        ours = weights.at(matched, lambda: batch, labels)
        for _ in range(4):
            optimiser.zero_grad()
            graph_losses(network(leaves, batch), labels).mean().backward()
            optimiser.step()
        for name in network.parameter_names:
            torch.testing.assert_close(ours[name], leaves[name].detach(), rtol=1e-3, atol=1e-4)
    assert any(float((ours[name] - start[name]).abs().max()) > 0.02 for name in start)


def test_settings_of_one_method_do_not_leak_into_another() -> None:
    assert NodeDosCond(nodes=3).structure == "bernoulli" and GCond(nodes=3).structure == "features"
    assert replace(GCond(nodes=3), structure="bernoulli").distance == "layerwise-cosine"


# --- samples of the real nodes ---------------------------------------------------------------------------------------


def test_a_batch_that_has_room_for_all_is_all() -> None:
    one, two = condense(real_batch="all"), condense(real_batch=15)
    assert equal(one, two) and one.history == two.history
    assert not equal(one, condense(real_batch=14))
    assert not equal(one, condense(fanout=2))


@pytest.mark.parametrize("kind", KINDS)
def test_so_many_nodes_of_each_class_are_drawn_anew_each_iteration(kind: str) -> None:
    network = NetworkConfig(kind, hidden=8, layers=2)
    run = NodeCondensation(method_of(real_batch=6, fanout=3, network=network), TASK)
    batches = [run._batch() for _ in range(3)]
    for batch in batches:
        assert batch.y.tolist() == [0] * 6 + [1] * 6 + [2] * 5  # there are but five of the last class
        assert batch.mean_weights.tolist() == pytest.approx([1 / 6] * 12 + [1 / 5] * 5)
    features = [batch.features(0, run.network.levels) for batch in batches]
    assert not torch.equal(features[0], features[1]) and not torch.equal(features[1], features[2])
    assert bool(torch.isfinite(torch.tensor(run.step(0)["loss"])))


def test_samples_are_those_of_the_seed(tmp_path: Path) -> None:
    blobs = [
        condense(real_batch=4, fanout=2, seed=seed).save(tmp_path / f"{i}.safetensors").read_bytes()
        for i, seed in enumerate((0, 0, 1))
    ]
    assert blobs[0] == blobs[1] != blobs[2]


@pytest.mark.parametrize("given", [{"real_batch": 0}, {"real_batch": "some"}, {"fanout": 0}, {"fanout": 1.5}], ids=str)
def test_wrong_samples_are_named(given: dict[str, Any]) -> None:
    ((name, value),) = given.items()
    with pytest.raises(InputError, match=f"{name}={value!r} must be"):
        method_of(**given)
