from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

import graphcondense as gc
from graphcondense.datasets import node_task
from graphcondense.errors import InputError
from graphcondense.evaluation import NODE_KINDS, NODE_PROTOCOL, Protocol, evaluate_any, evaluate_nodes
from graphcondense.methods import GCond, NodeDosCond, RandomNodes
from graphcondense.models import NetworkConfig
from graphcondense.synthetic import CondensedDataset, CondensedGraph
from graphcondense.training import Recipe
from tests.made_up import node_data, random_store, toy_nodes, toy_task

TASK, INDUCTIVE = toy_nodes(), toy_nodes(inductive=True)
QUICK = Protocol(NetworkConfig(hidden=16, layers=2), Recipe(epochs=60, rate=0.05, weight_decay=5e-4), dropout=0.5)
SMALL = RandomNodes(nodes=12).condense(TASK)


@pytest.mark.parametrize("task", [TASK, INDUCTIVE], ids=["transductive", "inductive"])
@pytest.mark.parametrize("model", NODE_KINDS)
def test_every_model_learns_from_a_small_graph_and_from_the_real_nodes(model: str, task: gc.NodeTask) -> None:
    for graph in (RandomNodes(nodes=18).condense(task), None):
        scores = evaluate_nodes(graph, task, seeds=2, protocol=QUICK, model=model)
        assert len(scores.per_seed) == len(scores.val_per_seed) == 2
        assert scores.metric == "accuracy" and scores.seconds > 0
        assert scores.mean > 0.7


@pytest.mark.parametrize("model", NODE_KINDS)
def test_edges_with_weights_can_be_trained_on(model: str) -> None:
    weighted = GCond(nodes=12, iterations=2, network=NetworkConfig(hidden=8, layers=2)).condense(TASK)
    assert weighted.weights is not None
    scores = evaluate_nodes(weighted, TASK, seeds=1, protocol=QUICK, model=model)
    assert 0 <= scores.mean <= 1


@pytest.mark.parametrize("model", ["gcn", "sgc", "appnp", "sage"])
def test_weights_of_edges_matter(model: str) -> None:
    small = RandomNodes(nodes=30).condense(TASK)
    edges = small.graph.edge_index.shape[1]
    assert edges > 4
    protocol = Protocol(NetworkConfig(hidden=16), Recipe(epochs=30, rate=0.05, validate_every=30))
    many = toy_nodes(nodes=540, seed=2)  # many test nodes: scores tell networks apart
    graphs = (small, replace(small, weights=torch.ones(edges)), replace(small, weights=torch.full((edges,), 0.05)))
    plain, ones, light = (
        evaluate_nodes(graph, many, seeds=6, protocol=protocol, model=model).per_seed for graph in graphs
    )
    assert plain == ones != light


def test_condensing_an_easy_graph_is_enough_to_learn_it() -> None:
    made = NodeDosCond(nodes=6, iterations=60, feature_rate=0.02, network=NetworkConfig(hidden=16)).condense(TASK)
    assert evaluate_nodes(made, TASK, seeds=3, protocol=QUICK).mean > 0.85


def test_a_data_object_is_judged_as_the_condensed_graph_is() -> None:
    weighted = GCond(nodes=12, iterations=2, network=NetworkConfig(hidden=8, layers=2)).condense(TASK)
    for condensed in (SMALL, weighted):
        for model in ("gcn", "appnp"):
            one, two = (
                evaluate_nodes(graph, TASK, seeds=2, protocol=QUICK, model=model)
                for graph in (condensed, condensed.to_pyg())
            )
            assert one == two


def test_seeds_decide_and_do_not_depend_on_each_other() -> None:
    for model in ("gcn", "gat"):
        one = evaluate_nodes(SMALL, TASK, seeds=[4, 9], protocol=QUICK, model=model)
        two = evaluate_nodes(SMALL, TASK, seeds=[9], protocol=QUICK, model=model)
        assert one.per_seed[1:] == two.per_seed and one.val_per_seed[1:] == two.val_per_seed
        torch.manual_seed(11)
        assert evaluate_nodes(SMALL, TASK, seeds=[4, 9], protocol=QUICK, model=model) == one


def test_the_global_generator_is_left_alone() -> None:
    for model in NODE_KINDS:
        torch.manual_seed(0)
        expected = torch.rand(3)
        torch.manual_seed(0)
        evaluate_nodes(SMALL, TASK, seeds=1, protocol=replace(QUICK, recipe=Recipe(epochs=1)), model=model)
        assert torch.equal(torch.rand(3), expected)


class Recorder(nn.Module):
    """A GCN that writes down what it is trained on and asked about."""

    def __init__(self, inputs: int, outputs: int, seen: list[Any]) -> None:
        super().__init__()
        self.conv, self.seen = GCNConv(inputs, outputs), seen

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        self.seen.append((self.training, x, edge_index, edge_weight))
        return self.conv(x, edge_index, edge_weight)


@pytest.mark.parametrize("task", [TASK, INDUCTIVE], ids=["transductive", "inductive"])
def test_a_model_of_ones_own_sees_what_it_may(task: gc.NodeTask) -> None:
    seen: list[Any] = []
    protocol = Protocol(recipe=Recipe(epochs=3, rate=0.1))
    scores = evaluate_nodes(None, task, seeds=2, protocol=protocol, model=lambda i, o: Recorder(i, o, seen))
    assert len(scores.per_seed) == 2
    trained = [call for call in seen if call[0]]
    asked = [call for call in seen if not call[0]]
    assert len(trained) == 6 and len(asked) == 8  # three looks at validation a seed, and one at test
    for _, x, edges, weight in trained:
        assert torch.equal(x, task.train[0].x) and torch.equal(edges, task.train[0].edge_index) and weight is None
    assert [len(x) for _, x, _, _ in asked] == ([60, 60, 60, 90] if task.inductive else [90] * 4) * 2
    seen.clear()
    evaluate_nodes(SMALL, task, seeds=1, protocol=protocol, model=lambda i, o: Recorder(i, o, seen))
    assert all(torch.equal(x, SMALL.graph.x) for training, x, _, _ in seen if training)


def other_edges(part: str) -> Data:
    """The same nodes; each node of ``part`` has other neighbours."""
    data = node_data()
    changed = data[f"{part}_mask"]
    kept = ~changed[data.edge_index].any(0)
    nodes = changed.nonzero().flatten()
    more = torch.stack([nodes, nodes.roll(1)])
    data.edge_index = torch.cat([data.edge_index[:, kept], more, more.flip(0)], dim=1)
    return data


@pytest.mark.parametrize("model", ["gcn", "gat", "appnp", "sage"])
def test_inductive_training_does_not_see_edges_of_held_out_nodes(model: str) -> None:
    """Test scores of networks whose validation cannot choose: other edges of test nodes leave validation as it was."""
    protocol = Protocol(NetworkConfig(hidden=16, layers=2), Recipe(epochs=6, rate=0.02))
    one, two = (
        evaluate_nodes(None, node_task(data, inductive=True), seeds=3, protocol=protocol, model=model)
        for data in (node_data(), other_edges("test"))
    )
    assert one.val_per_seed == two.val_per_seed


def test_inductive_views_leave_out_what_is_hidden() -> None:
    for data in (node_data(), other_edges("test"), other_edges("val")):
        task = node_task(data, inductive=True)
        same = node_task(node_data(), inductive=True)
        assert torch.equal(task.train[0].edge_index, same.train[0].edge_index)
    assert not torch.equal(node_task(other_edges("val")).train[0].edge_index, TASK.train[0].edge_index)


def test_the_protocol_is_the_graphs_own_then_the_papers() -> None:
    own = Protocol(NetworkConfig("sgc", layers=2), Recipe(epochs=7, rate=0.02), dropout=0.1)
    marked = replace(SMALL, info={**SMALL.info, "evaluation": own.to_dict()})
    assert evaluate_nodes(marked, TASK, seeds=2) == evaluate_nodes(SMALL, TASK, seeds=2, protocol=own)
    assert (NODE_PROTOCOL.network.hidden, NODE_PROTOCOL.network.layers, NODE_PROTOCOL.network.kind) == (256, 2, "gcn")
    recipe = NODE_PROTOCOL.recipe
    assert (recipe.epochs, recipe.weight_decay, NODE_PROTOCOL.dropout) == (600, 5e-4, 0.5)


def test_evaluate_takes_either_task() -> None:
    assert gc.evaluate is evaluate_any
    assert evaluate_any(SMALL, TASK, seeds=2, protocol=QUICK) == evaluate_nodes(SMALL, TASK, seeds=2, protocol=QUICK)
    graphs = gc.RandomSelection(graphs_per_class=2).condense(toy_task(40))
    scores = evaluate_any(graphs, toy_task(40), seeds=1, protocol=Protocol(recipe=Recipe(epochs=1)))
    assert len(scores.per_seed) == 1


@pytest.mark.parametrize(("model", "epochs"), [("gcn", 3), ("gat", 6)])
def test_epochs_are_reported(model: str, epochs: int) -> None:
    heard: list[tuple[int, int]] = []
    protocol = Protocol(NetworkConfig(hidden=8), Recipe(epochs=3))
    evaluate_nodes(SMALL, TASK, seeds=2, protocol=protocol, model=model, progress=lambda *step: heard.append(step))
    assert heard == [(done + 1, epochs) for done in range(epochs)]


def test_what_does_not_fit_is_said() -> None:
    quick = {"seeds": 1, "protocol": QUICK}
    with pytest.raises(InputError, match=r"unknown model 'gcnn': did you mean 'gcn'\?"):
        evaluate_nodes(SMALL, TASK, model="gcnn", **quick)
    with pytest.raises(InputError, match="task=GraphTask must be a node task"):
        evaluate_nodes(SMALL, toy_task(20), **quick)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="seeds=0 must be"):
        evaluate_nodes(SMALL, TASK, seeds=0)
    with pytest.raises(InputError, match=r"seeds=\[\] is empty"):
        evaluate_nodes(SMALL, TASK, seeds=[])
    narrow = SMALL.to_pyg()
    narrow.x = narrow.x[:, :4]
    with pytest.raises(InputError, match="the graph has 4 features a node, toy nodes has 6"):
        evaluate_nodes(narrow, TASK, **quick)
    for label in (3, -1):
        wrong = SMALL.to_pyg()
        wrong.y[0] = label
        with pytest.raises(InputError, match="labels beyond the classes 0 to 2 of toy nodes"):
            evaluate_nodes(wrong, TASK, **quick)


@pytest.mark.parametrize("dropout", [-0.1, 1.0, 2, "half", float("nan")])
def test_a_dropout_that_drops_all_or_less_than_nothing_is_named(dropout: Any) -> None:
    with pytest.raises(InputError, match="dropout="):
        Protocol(dropout=dropout)


def test_dropout_is_kept_in_files() -> None:
    assert Protocol.from_dict(QUICK.to_dict()) == QUICK
    old = QUICK.to_dict()
    del old["dropout"]
    assert Protocol.from_dict(old).dropout == 0


@pytest.mark.parametrize(
    "graph",
    [
        Data(x=torch.ones(3, 6), y=torch.tensor([0, 1, 2])),
        Data(edge_index=torch.tensor([[0, 1], [1, 0]]), y=torch.tensor([0, 1])),
        Data(x=torch.ones(3, 6), edge_index=torch.tensor([[0, 1], [1, 0]])),
        Data(x=torch.ones(3, 6), edge_index=torch.tensor([[0, 1], [1, 0]]), y=torch.tensor([0, 1])),
        Data(x=torch.ones(3, 6), edge_index=torch.tensor([[0, 7], [7, 0]]), y=torch.tensor([0, 1, 2])),
        CondensedDataset(random_store(4), 2),
        "condensed.safetensors",
    ],
    ids=["no edges", "no x", "no y", "short y", "far edge", "dataset", "text"],
)
def test_graphs_that_are_none_are_refused(graph: Any) -> None:
    with pytest.raises(InputError):
        evaluate_nodes(graph, TASK, seeds=1, protocol=QUICK)


def test_a_condensed_graph_of_other_classes_is_refused() -> None:
    other = CondensedGraph(replace(SMALL.graph, y=SMALL.labels + 2), 5)
    with pytest.raises(InputError, match="classes"):
        evaluate_nodes(other, TASK, seeds=1, protocol=QUICK)
