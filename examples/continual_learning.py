"""Continual learning with a condensed replay memory, against random replay and none.

The ten digits come two at a time. One network goes through all five steps; in each it sees the new digits and a small
memory of the old ones. What counts is the accuracy on all ten at the end.

    python examples/continual_learning.py
"""

from __future__ import annotations

import argparse
import json
import statistics
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GCNConv, global_mean_pool

import graphcondense as gc
from graphcondense.tasks import GraphTask


class Net(nn.Module):
    """Three convolutions and a mean: nothing of graphcondense in it."""

    def __init__(self, features: int, classes: int, hidden: int = 64) -> None:
        super().__init__()
        widths = [features, hidden, hidden]
        self.layers = nn.ModuleList(GCNConv(width, hidden) for width in widths)
        self.head = nn.Linear(hidden, classes)

    def forward(self, batch: Batch) -> Tensor:
        """Logits of each graph."""
        x = batch.x
        for layer in self.layers:
            x = layer(x, batch.edge_index).relu()
        out: Tensor = self.head(global_mean_pool(x, batch.batch))
        return out


def memory_of(graphs: list[Data], kind: str, per_class: int, iterations: int, seed: int) -> list[Data]:
    """A few graphs of each class of ``graphs``, with the labels that those have."""
    if kind == "none":
        return []
    part = gc.graph_task(graphs, split_seed=seed)  # numbers the classes anew, from 0
    method: Any = gc.RandomSelection(graphs_per_class=per_class, seed=seed)
    if kind == "condensed":
        method = gc.DosCond(graphs_per_class=per_class, iterations=iterations, real_batch=32, seed=seed)
    kept = method.condense(part).to_pyg()
    for graph in kept:
        graph.y = torch.tensor([int(part.class_names[int(graph.y)])])
    return list(kept)


def learn(task: GraphTask, kind: str, per_class: int, epochs: int, iterations: int, seed: int) -> list[float]:
    """Accuracy on the digits seen so far, after each step."""
    torch.manual_seed(seed)
    net = Net(task.num_features, task.num_classes)
    optimiser = torch.optim.Adam(net.parameters(), 0.01)
    train, test = task.train.to_pyg(), task.test.to_pyg()
    memory: list[Data] = []
    scores = []
    for first in range(0, task.num_classes, 2):
        new = [graph for graph in train if int(graph.y) in (first, first + 1)]
        for _ in range(epochs):
            for batch in DataLoader(new, batch_size=32, shuffle=True):
                together = [batch, Batch.from_data_list(memory)] if memory else [batch]
                # Half of the loss is of the new digits, half of the memory, whatever their numbers.
                losses = [nn.functional.cross_entropy(net(part), part.y) for part in together]
                optimiser.zero_grad()
                torch.stack(losses).mean().backward()
                optimiser.step()
        memory += memory_of(new, kind, per_class, iterations, seed)
        seen = Batch.from_data_list([graph for graph in test if int(graph.y) <= first + 1])
        with torch.no_grad():
            scores.append(float((net(seen).argmax(1) == seen.y).float().mean()))
    return scores


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    """All three memories, several seeds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--per-class", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args(arguments)
    task = gc.load("digits")
    result: dict[str, Any] = {}
    for kind in ("none", "random", "condensed"):
        runs = [
            learn(task, kind, options.per_class, options.epochs, options.iterations, seed)
            for seed in range(options.seeds)
        ]
        ends = [run[-1] for run in runs]
        result[kind] = {"steps": runs, "mean": statistics.mean(ends), "std": statistics.pstdev(ends)}
    print(json.dumps(result, indent=2))
    return result


if __name__ == "__main__":
    main()
