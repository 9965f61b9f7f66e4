"""Training many networks at once, on real or on condensed graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from graphcondense.errors import GraphcondenseError, InputError, check_at_least, check_count
from graphcondense.graphs import GraphStore
from graphcondense.machine import keep_freed_memory
from graphcondense.metrics import METRICS
from graphcondense.models import Network, Parameters
from graphcondense.real import CACHED_ROWS, RealGraphs, SparseBatch
from graphcondense.seeding import generator
from graphcondense.training.losses import graph_losses, probabilities

Progress = Callable[[int, int], None]
# Hidden layers of a few megabytes stay in the cache; much larger ones take three times as long.
_CACHED_FLOATS = 2**20
_MOST_NODES = 2**16
_SCORED_TOGETHER = 1024


@dataclass(frozen=True)
class Recipe:
    """How a network is trained; the defaults are the paper's.

    Args:
        epochs: passes over the training graphs.
        batch_size: graphs a step.
        rate: Adam's learning rate.
        decay_at: share of the epochs after which the rate falls to a tenth; 1 keeps it.
        weight_decay: Adam's L2 penalty.
        validate_every: epochs from one look at the validation graphs to the next; the last epoch is always looked at.
    """

    epochs: int = 500
    batch_size: int = 128
    rate: float = 1e-3
    decay_at: float = 0.5
    weight_decay: float = 0.0
    validate_every: int = 1

    def __post_init__(self) -> None:
        check_count("epochs", self.epochs)
        check_count("batch_size", self.batch_size)
        check_count("validate_every", self.validate_every)
        check_at_least("weight_decay", self.weight_decay, 0)
        if not self.rate > 0:
            raise InputError(f"rate={self.rate!r} must be above zero")
        if not 0 < self.decay_at <= 1:
            raise InputError(f"decay_at={self.decay_at!r} must be in (0, 1]: the share of epochs at the full rate")

    def validates(self, epoch: int) -> bool:
        """Whether the validation graphs are looked at after ``epoch`` (from 0)."""
        return (epoch + 1) % self.validate_every == 0 or epoch + 1 == self.epochs

    def check_trained(self, weights: Parameters, seeds: Sequence[int]) -> None:
        """Raise if weights (``S x ...`` each) are not finite at the end: scores of such networks mean nothing."""
        fine = torch.ones(len(seeds), dtype=torch.bool)
        for weight in weights.values():
            fine &= weight.detach().reshape(len(seeds), -1).isfinite().all(1).cpu()
        if not bool(fine.all()):
            seed = seeds[int((~fine).nonzero()[0])]
            raise GraphcondenseError(
                f"training diverged: with seed {seed} the weights are not finite after {self.epochs} epochs: lower the "
                f"recipe's rate={self.rate}, or scale the features"
            )

    def set_rate(self, optimiser: torch.optim.Optimizer, epoch: int) -> None:
        """Give ``optimiser`` the rate of ``epoch`` (from 0)."""
        late = epoch >= int(self.epochs * self.decay_at)
        for group in optimiser.param_groups:
            group["lr"] = self.rate / 10 if late else self.rate


@dataclass(frozen=True)
class TrainedNetworks:
    """Weights of each network at its best validation epoch.

    Args:
        network: what the weights belong to.
        weights: ``S x ...`` each.
        statistics: running statistics of batch norm, ``S x F`` each.
        val_scores: best validation score, ``S``.
        best_epochs: the epoch (from 1) that reached it first, ``S``.
    """

    network: Network
    weights: Parameters
    statistics: Parameters
    val_scores: Tensor
    best_epochs: Tensor

    def outputs(self, graphs: GraphStore) -> Tensor:
        """Outputs of every network for every graph, ``S x G x O``."""
        return predict(self.network, self.weights, self.statistics, prediction_batches(self.network, graphs))

    def probabilities(self, graphs: GraphStore) -> Tensor:
        """Class probabilities of graphs, mean over the networks, ``G x C``."""
        return probabilities(self.outputs(graphs).double()).mean(0).float()

    @torch.no_grad()
    def embeddings(self, graphs: GraphStore) -> Tensor:
        """Pooled rows of every network for every graph, ``S x G x hidden``: what the last layer sees."""
        batches = prediction_batches(self.network, graphs)
        return torch.cat([self.network.embed(self.weights, batch, self.statistics, False) for batch in batches], dim=1)

    def __len__(self) -> int:
        return self.val_scores.numel()


def train(
    network: Network,
    graphs: GraphStore,
    val: GraphStore,
    seeds: Sequence[int],
    recipe: Recipe,
    metric: str,
    progress: Progress | None = None,
) -> TrainedNetworks:
    """Train one network a seed, all together: stacked weights, one pass.

    The result for a seed does not depend on which other seeds are trained beside it: a seed decides a network's
    starting weights, and the order of the batches is the same for all.

    Args:
        network: what to train.
        graphs: the training graphs.
        val: the validation graphs, which choose the epoch whose weights are kept (the first of equals).
        seeds: one a network.
        recipe: epochs, rates, batches.
        metric: what validation measures.
        progress: called with epochs done and epochs in all.
    """
    keep_freed_memory()
    weights = {name: weight.to(graphs.x.device) for name, weight in network.draw_seeds(seeds).items()}
    for weight in weights.values():
        weight.requires_grad_()
    statistics = {name: value.to(graphs.x.device) for name, value in network.fresh_statistics(len(seeds)).items()}
    optimiser = torch.optim.Adam(list(weights.values()), recipe.rate, weight_decay=recipe.weight_decay, fused=True)
    batches = _TrainingBatches(network.prepare(graphs), recipe.batch_size)
    val_batches = prediction_batches(network, val)
    best = _Best(weights, statistics, len(seeds))
    for epoch in range(recipe.epochs):
        recipe.set_rate(optimiser, epoch)
        for parts in batches.epoch(epoch):
            optimiser.zero_grad()
            count = sum(batch.y.shape[0] for batch in parts)
            for batch in parts:
                losses = graph_losses(network(weights, batch, statistics), batch.y)
                torch.autograd.backward(losses.sum(-1).div(count).sum())
            optimiser.step()
        if recipe.validates(epoch):
            scores = METRICS[metric](predict(network, weights, statistics, val_batches), val.y)
            best.update(scores, epoch + 1, weights, statistics)
        if progress is not None:
            progress(epoch + 1, recipe.epochs)
    recipe.check_trained(weights, seeds)
    return TrainedNetworks(network, best.weights, best.statistics, best.scores, best.epochs)


def prediction_batches(network: Network, graphs: GraphStore) -> list[SparseBatch]:
    """Batches whose hidden layers fit into the cache; larger ones where graphs share rows.

    Where graphs that are scored beside each other see each other: 1,024 in order, as in the authors' program.
    """
    real = network.prepare(graphs)
    if network.config.norm == "nodes":
        return [
            real.batch(index) for index in torch.arange(len(graphs), device=graphs.x.device).split(_SCORED_TOGETHER)
        ]
    most = CACHED_ROWS if real.compression is None else _MOST_NODES
    sizes = ((graphs.node_ptr[1:] - 1) // most).unique(return_counts=True)[1].tolist()
    return [real.batch(index) for index in torch.arange(len(graphs), device=graphs.x.device).split(sizes)]


@torch.no_grad()
def predict(network: Network, weights: Parameters, statistics: Parameters, batches: list[SparseBatch]) -> Tensor:
    """Outputs, ``R x G x O``."""
    replicas = len(weights["head.weight"])
    columns = []
    for batch in batches:
        together = max(1, _CACHED_FLOATS // (batch.most_rows * network.config.hidden))
        parts = [slice(start, start + together) for start in range(0, replicas, together)]
        columns.append(torch.cat([network(_part(weights, p), batch, _part(statistics, p), False) for p in parts]))
    return torch.cat(columns, dim=1)


def _part(values: Parameters, replicas: slice) -> Parameters:
    return {name: value[replicas] for name, value in values.items()}


class _TrainingBatches:
    """The batches of each epoch, in an order that depends on the epoch alone.

    A batch is a list of parts whose hidden rows stay in the processor's cache; their gradients add up to the batch's.
    """

    def __init__(self, real: RealGraphs, batch_size: int) -> None:
        self.real, self.batch_size = real, batch_size
        every = torch.arange(len(real.graphs), device=real.graphs.x.device)
        self.whole = real.batches(every) if len(every) <= batch_size else None

    def epoch(self, epoch: int) -> Iterator[list[SparseBatch]]:
        if self.whole is not None:
            yield self.whole
            return
        order = torch.randperm(len(self.real.graphs), generator=generator(epoch, "order of training"))
        for part in order.to(self.real.graphs.x.device).split(self.batch_size):
            yield self.real.batches(part)


class _Best:
    """Weights of each network at its best validation epoch so far."""

    def __init__(self, weights: Parameters, statistics: Parameters, replicas: int) -> None:
        self.weights = {name: weight.detach().clone() for name, weight in weights.items()}
        self.statistics = {name: value.clone() for name, value in statistics.items()}
        self.scores = torch.full((replicas,), -1.0, dtype=torch.float64)
        self.epochs = torch.zeros(replicas, dtype=torch.long)

    def update(self, scores: Tensor, epoch: int, weights: Parameters, statistics: Parameters) -> None:
        better = scores.cpu() > self.scores
        if not bool(better.any()):
            return
        self.scores[better], self.epochs[better] = scores.cpu()[better], epoch
        for kept, current in ((self.weights, weights), (self.statistics, statistics)):
            for name, value in current.items():
                kept[name][better] = value.detach()[better]
