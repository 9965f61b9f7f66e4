from __future__ import annotations

from pathlib import Path

import pytest
import torch

from graphcondense.evaluation import Protocol, evaluate_nodes
from graphcondense.methods import HerdingNodes, KCenterNodes, NodeMethod, RandomNodes, WholeNodes
from graphcondense.methods.coresets import Herding, KCenter
from graphcondense.models import NetworkConfig, NodeNetwork
from graphcondense.real import RealNodes
from graphcondense.synthetic import CondensedGraph
from graphcondense.tasks import NodeTask
from graphcondense.training import Recipe, train_nodes
from tests.made_up import toy_nodes

TASKS = {"transductive": toy_nodes(), "inductive": toy_nodes(inductive=True)}
SMALL = {"network": NetworkConfig(hidden=8, layers=2), "recipe": Recipe(epochs=5, rate=0.01)}
METHODS = {"random": (RandomNodes, {}), "herding": (HerdingNodes, SMALL), "kcenter": (KCenterNodes, SMALL)}


def method_of(name: str, **settings: object) -> NodeMethod:
    kind, own = METHODS[name]
    return kind(**({"nodes": 12} | own | settings))


def places(condensed: CondensedGraph, task: NodeTask) -> list[int]:
    """Where the condensed nodes are in the whole graph; features are all different."""
    same = (condensed.graph.x.unsqueeze(1) == task.graph.x.unsqueeze(0)).all(-1)
    assert same.sum(1).tolist() == [1] * len(condensed)
    return same.int().argmax(1).tolist()


@pytest.mark.parametrize("kind", TASKS)
@pytest.mark.parametrize("name", METHODS)
def test_the_result_is_an_induced_subgraph_of_training_nodes(name: str, kind: str) -> None:
    task = TASKS[kind]
    condensed = method_of(name, nodes=24).condense(task)
    nodes = places(condensed, task)
    assert len(set(nodes)) == 24 and set(nodes) <= set(task.split.train.tolist())
    assert condensed.labels.tolist() == task.graph.y[nodes].tolist() == [0] * 12 + [1] * 8 + [2] * 4
    dense = torch.zeros(90, 90)
    dense[task.graph.edge_index[1], task.graph.edge_index[0]] = 1
    assert torch.equal(condensed.adjacency, dense[nodes][:, nodes])
    assert bool(condensed.adjacency.any()) and condensed.weights is None
    assert condensed.history == [] and condensed.num_classes == 3


@pytest.mark.parametrize("name", METHODS)
def test_the_seed_decides(name: str, tmp_path: Path) -> None:
    made = [method_of(name, seed=seed).condense(TASKS["transductive"]) for seed in (0, 0, 1)]
    blobs = [one.save(tmp_path / f"{i}.safetensors").read_bytes() for i, one in enumerate(made)]
    assert blobs[0] == blobs[1] != blobs[2]
    assert set(places(made[0], TASKS["transductive"])) != set(places(made[2], TASKS["transductive"]))


@pytest.mark.parametrize("name", METHODS)
def test_all_training_nodes_can_be_taken(name: str) -> None:
    task = TASKS["inductive"]
    assert sorted(places(method_of(name, nodes=30).condense(task), task)) == sorted(task.split.train.tolist())


@pytest.mark.parametrize(("name", "choose"), [("herding", Herding.choose), ("kcenter", KCenter.choose)])
@pytest.mark.parametrize("kind", TASKS)
def test_coresets_choose_by_embeddings_of_a_network_trained_on_the_whole(kind: str, name: str, choose: object) -> None:
    task = TASKS[kind]
    network = NodeNetwork(NetworkConfig(hidden=8, layers=2), 6, 3)
    (graph, train), (val_graph, val) = task.train, task.val
    seen = RealNodes(graph, "gcn").batch(train, 2)
    held_out = RealNodes(val_graph, "gcn").batch(val, 2)
    trained = train_nodes(network, seen, seen.y, held_out, held_out.y, [4], SMALL["recipe"], 0.25)  # type: ignore[arg-type]
    embedded = network.embed(trained.weights, seen)[0].detach().double()
    expected = []
    for label, size in enumerate((6, 4, 2)):
        members = (seen.y == label).nonzero().flatten()
        chosen = choose(embedded[members], size)  # type: ignore[operator]
        expected += task.split.train[members[chosen]].tolist()
    assert places(method_of(name, seed=4, dropout=0.25).condense(task), task) == expected


@pytest.mark.parametrize("kind", TASKS)
def test_the_whole_is_what_training_sees(kind: str) -> None:
    task = TASKS[kind]
    whole = WholeNodes().condense(task)
    assert torch.equal(whole.graph.x, task.train[0].x)
    assert torch.equal(whole.graph.edge_index, task.train[0].edge_index)
    assert len(whole) == (30 if task.inductive else 90)
    assert whole.num_bytes == whole.info["original_bytes"]
    edges = int(task.train[0].num_edges.sum())
    assert whole.num_bytes == len(whole) * 6 * 4 + len(whole) * 4 + edges * 8


@pytest.mark.parametrize("kind", TASKS)
def test_the_whole_is_judged_by_its_training_nodes_alone(kind: str) -> None:
    task = TASKS[kind]
    protocol = Protocol(NetworkConfig(hidden=8, layers=2), Recipe(epochs=5, rate=0.01))
    one, two = (
        evaluate_nodes(graph, task, seeds=2, protocol=protocol) for graph in (WholeNodes().condense(task), None)
    )
    assert one == two
