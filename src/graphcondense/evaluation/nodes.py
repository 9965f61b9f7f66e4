"""How a small graph is judged: networks trained on its nodes, scored on the real test nodes."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import APPNP, GATConv

from graphcondense.errors import InputError, check_choice
from graphcondense.evaluation.protocol import Protocol, Scores, own_protocol, seed_list
from graphcondense.graphs import GraphStore
from graphcondense.metrics import accuracy
from graphcondense.models import NetworkConfig, NodeNetwork, NodeRows
from graphcondense.real import NodeBatch, RealNodes
from graphcondense.synthetic import CondensedGraph, DenseNodes
from graphcondense.tasks import NodeTask
from graphcondense.training import Progress, Recipe, TrainedNodeNetworks, train_nodes

NODE_PROTOCOL = Protocol(
    NetworkConfig(hidden=256, layers=2), Recipe(epochs=600, rate=0.01, weight_decay=5e-4), dropout=0.5
)
NODE_KINDS = ("gcn", "sgc", "appnp", "sage", "gat", "mlp")
NodeModule = Callable[[int, int], nn.Module]


def evaluate_nodes(
    graph: CondensedGraph | Data | None,
    task: NodeTask,
    *,
    seeds: int | Sequence[int] = 10,
    protocol: Protocol | None = None,
    model: str | NodeModule | None = None,
    progress: Progress | None = None,
) -> Scores:
    """Train networks on the nodes of ``graph`` and score them on the real test nodes of ``task``.

    Args:
        graph: a condensed graph, or any graph with the features and classes of ``task``; ``None`` for the real
            training nodes themselves.
        task: whose validation nodes choose the epoch, and whose test nodes give the score.
        seeds: how many trainings, or their seeds.
        protocol: network, recipe and dropout; by default what the graph was made for, else the paper's.
        model: another network than the protocol's: one of ``NODE_KINDS``, or a function
            ``(in_features, outputs) -> torch.nn.Module`` whose result follows PyG's
            ``forward(x, edge_index, edge_weight)``.
        progress: called with epochs done and epochs in all.
    """
    chosen = seed_list(seeds)
    if not isinstance(task, NodeTask):
        raise InputError(f"task={type(task).__name__} must be a node task: make one with gc.node_task or gc.load")
    small = _checked(graph, task)
    if protocol is None:
        protocol = own_protocol(small) if small is not None and "evaluation" in small.info else NODE_PROTOCOL
    kind = model if isinstance(model, str) else protocol.network.kind
    started = time.perf_counter()
    if callable(model) and not isinstance(model, str):
        test, val = _train_modules(model, small, task, chosen, protocol, progress)
    elif check_choice("model", kind, NODE_KINDS) in _MODULES:
        config, dropout = protocol.network, protocol.dropout
        make = _MODULES[kind]
        test, val = _train_modules(
            lambda i, o: make(i, config.hidden, o, config.layers, dropout), small, task, chosen, protocol, progress
        )
    else:
        trained, batch = train_on_nodes(kind, small, task, chosen, protocol, progress)
        test, val = accuracy(trained.outputs(batch), batch.y), trained.val_scores
    seconds = time.perf_counter() - started
    return Scores(task.metric, tuple(test.tolist()), tuple(val.tolist()), seconds=seconds)


def _checked(graph: CondensedGraph | Data | None, task: NodeTask) -> CondensedGraph | None:
    if graph is None or (isinstance(graph, CondensedGraph) and graph.info.get("method") == "whole"):
        return None
    if isinstance(graph, Data):
        edges, x, y = graph.edge_index, graph.x, graph.y
        if not all(isinstance(part, Tensor) for part in (edges, x, y)) or x.dim() != 2 or y.shape != x.shape[:1]:
            raise InputError("graph needs x (a row a node), edge_index and y (a whole number a node)")
        if edges.numel() and not 0 <= int(edges.min()) <= int(edges.max()) < len(x):
            raise InputError(f"graph.edge_index names a node outside of 0 to {len(x) - 1}")
        store = GraphStore(
            graph.x.float(), edges, torch.tensor([0, len(graph.x)]), torch.tensor([0, edges.shape[1]]), graph.y
        )
        graph = CondensedGraph(store, task.num_classes, graph.get("edge_weight"))
    if not isinstance(graph, CondensedGraph):
        raise InputError(f"graph={type(graph).__name__} must be a condensed graph, a PyG Data, or None")
    if graph.graph.num_features != task.num_features:
        raise InputError(
            f"the graph has {graph.graph.num_features} features a node, {task.name} has {task.num_features}: they do "
            "not belong together"
        )
    if int(graph.labels.max()) >= task.num_classes or int(graph.labels.min()) < 0:
        raise InputError(f"the graph has labels beyond the classes 0 to {task.num_classes - 1} of {task.name}")
    return graph


def train_on_nodes(
    kind: str,
    small: CondensedGraph | None,
    task: NodeTask,
    seeds: Sequence[int],
    protocol: Protocol,
    progress: Progress | None,
) -> tuple[TrainedNodeNetworks, NodeBatch]:
    """Built-in networks of ``kind`` trained on a small graph (``None``: on the real one), and the test nodes."""
    config = NetworkConfig(**(asdict(protocol.network) | {"kind": kind}))
    network = NodeNetwork(config, task.num_features, task.num_outputs)

    def real(view: tuple[GraphStore, Tensor]) -> NodeBatch:
        return RealNodes(view[0], network.propagation).batch(view[1], network.levels)

    val, test = real(task.val), real(task.test)
    seen = real(task.train)
    batch: NodeRows = seen if small is None else DenseNodes(small.adjacency, small.graph.x, network.propagation)
    labels = seen.y if small is None else small.labels
    trained = train_nodes(network, batch, labels, val, val.y, seeds, protocol.recipe, protocol.dropout, progress)
    return trained, test


class _Gat(nn.Module):
    """Graph attention with eight heads (Velickovic et al.)."""

    def __init__(self, inputs: int, hidden: int, outputs: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        each = max(1, hidden // 8)
        widths = [inputs, *[8 * each] * (layers - 1)]
        self.hidden = nn.ModuleList(GATConv(width, each, heads=8, dropout=dropout) for width in widths[:-1])
        self.last = GATConv(widths[-1], outputs, heads=1, concat=False, dropout=dropout)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        for layer in self.hidden:
            x = nn.functional.dropout(nn.functional.elu(layer(x, edge_index)), self.dropout, self.training)
        out: Tensor = self.last(x, edge_index)
        return out


class _Appnp(nn.Module):
    """A perceptron whose outputs are then propagated (Klicpera et al.)."""

    def __init__(self, inputs: int, hidden: int, outputs: int, layers: int, dropout: float) -> None:
        super().__init__()
        widths = [inputs, *[hidden] * (layers - 1), outputs]
        parts: list[nn.Module] = []
        for fan_in, fan_out in pairwise(widths):
            parts += [nn.Linear(fan_in, fan_out), nn.ReLU(), nn.Dropout(dropout)]
        self.perceptron = nn.Sequential(*parts[:-2])
        self.propagation = APPNP(K=10, alpha=0.1)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        out: Tensor = self.propagation(self.perceptron(x), edge_index, edge_weight)
        return out


_MODULES: dict[str, Callable[[int, int, int, int, float], nn.Module]] = {"gat": _Gat, "appnp": _Appnp}


def _train_modules(
    make: NodeModule,
    small: CondensedGraph | None,
    task: NodeTask,
    seeds: Sequence[int],
    protocol: Protocol,
    progress: Progress | None,
) -> tuple[Tensor, Tensor]:
    """Test and validation scores of one fresh module a seed."""
    recipe = protocol.recipe
    graph, train = task.train if small is None else (small.graph, torch.arange(len(small)))
    weight = None if small is None else small.weights
    tests, vals = [], []
    for position, seed in enumerate(seeds):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            module = make(task.num_features, task.num_outputs)
            optimiser = torch.optim.Adam(module.parameters(), recipe.rate, weight_decay=recipe.weight_decay)
            best, kept = -1.0, copy.deepcopy(module.state_dict())
            for epoch in range(recipe.epochs):
                recipe.set_rate(optimiser, epoch)
                module.train()
                optimiser.zero_grad()
                outputs = module(graph.x, graph.edge_index, weight)
                torch.autograd.backward(nn.functional.cross_entropy(outputs[train], graph.y[train]))
                optimiser.step()
                if recipe.validates(epoch):
                    score = _score(module, task.val)
                    if score > best:
                        best, kept = score, copy.deepcopy(module.state_dict())
                if progress is not None:
                    progress(position * recipe.epochs + epoch + 1, recipe.epochs * len(seeds))
            recipe.check_trained({name: value.unsqueeze(0) for name, value in module.named_parameters()}, [seed])
            module.load_state_dict(kept)
            vals.append(best)
            tests.append(_score(module, task.test))
    return torch.tensor(tests, dtype=torch.float64), torch.tensor(vals, dtype=torch.float64)


@torch.no_grad()
def _score(module: nn.Module, view: tuple[GraphStore, Tensor]) -> float:
    module.eval()
    graph, nodes = view
    return float(accuracy(module(graph.x, graph.edge_index)[nodes], graph.y[nodes]))
