"""Training node classifiers: many seeds at once, on a small graph, watched on a large one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from graphcondense.metrics import METRICS
from graphcondense.models import NodeNetwork, NodeRows, Parameters, Rows
from graphcondense.seeding import generator
from graphcondense.training.losses import graph_losses
from graphcondense.training.trainer import Progress, Recipe


@dataclass(frozen=True)
class TrainedNodeNetworks:
    """Weights of each network at its best validation epoch, ``S x ...`` each, and what validation gave."""

    network: NodeNetwork
    weights: Parameters
    val_scores: Tensor
    best_epochs: Tensor

    @torch.no_grad()
    def outputs(self, batch: Rows) -> Tensor:
        """Outputs of every network, ``S x N x O``."""
        return _predict(self.network, self.weights, batch)


def _predict(network: NodeNetwork, weights: Parameters, batch: Rows) -> Tensor:
    """One network after the other: a network's hidden rows of a large graph are enough for the memory."""
    count = len(next(iter(weights.values())))
    parts = [{name: value[i : i + 1] for name, value in weights.items()} for i in range(count)]
    return torch.cat([network(part, batch) for part in parts])


def train_nodes(
    network: NodeNetwork,
    batch: NodeRows,
    y: Tensor,
    val: Rows,
    val_y: Tensor,
    seeds: Sequence[int],
    recipe: Recipe,
    dropout: float = 0.0,
    progress: Progress | None = None,
) -> TrainedNodeNetworks:
    """Train one network a seed on all targets of ``batch`` at once.

    Args:
        network: what to train.
        batch: the training nodes.
        y: their labels.
        val: the validation nodes, which choose the epoch whose weights are kept (the first of equals).
        val_y: their labels.
        seeds: one a network; decides its weights and what dropout drops.
        recipe: epochs and rates; there are no batches.
        dropout: share of hidden units that each epoch leaves out.
        progress: called with epochs done and epochs in all.
    """
    weights = {name: weight.requires_grad_() for name, weight in network.draw_seeds(seeds).items()}
    leaves = list(weights.values())
    optimiser = torch.optim.Adam(leaves, recipe.rate, weight_decay=recipe.weight_decay, fused=True)
    sources = [generator(seed, "dropout") for seed in seeds]
    best = {name: weight.detach().clone() for name, weight in weights.items()}
    scores = torch.full((len(seeds),), -1.0, dtype=torch.float64)
    epochs = torch.zeros(len(seeds), dtype=torch.long)
    for epoch in range(recipe.epochs):
        recipe.set_rate(optimiser, epoch)
        masks = _masks(network, batch, sources, dropout) if dropout else []
        optimiser.zero_grad()
        torch.autograd.backward(graph_losses(network(weights, batch, masks), y).mean(-1).sum(), inputs=leaves)
        optimiser.step()
        if recipe.validates(epoch):
            with torch.no_grad():
                now = METRICS["accuracy"](_predict(network, weights, val), val_y)
            better = now > scores
            scores[better], epochs[better] = now[better], epoch + 1
            for name, weight in weights.items():
                best[name][better] = weight.detach()[better]
        if progress is not None:
            progress(epoch + 1, recipe.epochs)
    recipe.check_trained(weights, seeds)
    return TrainedNodeNetworks(network, best, scores, epochs)


def _masks(network: NodeNetwork, batch: NodeRows, sources: Sequence[torch.Generator], dropout: float) -> list[Tensor]:
    """What dropout leaves of each hidden layer, scaled to keep the mean, ``S x rows x hidden``."""
    masks = []
    for layer in range(1, 1 if network.linear_layers else network.config.layers):
        shape = (batch.rows(network.kind.level(layer) or network.config.layers), network.config.hidden)
        kept = [torch.rand(shape, generator=source) >= dropout for source in sources]  # each seed draws its own
        masks.append(torch.stack(kept).float() / (1 - dropout))
    return masks
