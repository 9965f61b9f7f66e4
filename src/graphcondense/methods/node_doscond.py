"""Condensers of one large graph whose nodes are classified."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor

from graphcondense.errors import check_at_least, check_choice, check_count
from graphcondense.machine import check_fits
from graphcondense.matching import DISTANCES, NodeMatcher, first_term, formed, relative_squared, sparsity, total
from graphcondense.methods.callbacks import Callback
from graphcondense.methods.loop import BiLevel, Matching
from graphcondense.methods.node_base import NodeMethod, choose_nodes
from graphcondense.methods.numbers import LossWatch
from graphcondense.methods.state import State, part_of, prefixed, restore, save
from graphcondense.methods.weights import FreshWeights
from graphcondense.models import NetworkConfig, NodeNetwork
from graphcondense.real import NodeBatch, RealNodes
from graphcondense.seeding import generator
from graphcondense.synthetic import (
    CondensedGraph,
    DenseNodes,
    Discrete,
    FromFeatures,
    NodeStructure,
    NoStructure,
    SyntheticNodes,
)
from graphcondense.tasks import NodeTask

_COPIES = 8  # of a row a class, node and unit: measured
STRUCTURES = ("bernoulli", "none", "features")


@dataclass(frozen=True, kw_only=True)
class NodeDosCond(Matching, NodeMethod):
    """Condense by one-step gradient matching.

    The defaults are those of the preset ``default``; ``graphcondense.preset("paper", task)`` has the paper's.

    Args:
        network: the network whose gradients are matched, drawn afresh each iteration.
        structure: ``"bernoulli"`` (0/1 edges), ``"none"`` (features alone), or ``"features"`` (weights read off the
            features, as GCond's).
        iterations: matching steps.
        real_batch: training nodes of each class an iteration; ``"all"`` for all.
        fanout: most neighbours that a real node gathers from in an iteration; ``None`` for all.
        distance: ``"relative-squared"``, ``"cosine"`` or ``"layerwise-cosine"``.
        feature_rate: Adam's rate for the features.
        structure_rate: Adam's rate for the structure.
        restart_at: iteration at which the optimisers restart with a tenth of their rates; ``None`` for never.
        final_temperature: where the temperature ends; it starts at 1 and falls geometrically.
        annealing: iterations until it gets there.
        sparsity_weight: weight of the sparsity regulariser.
        norm_weight: weight of the norm term of Theorem 2.
        horizon: T of that term.
        logit_strength: logit of an absent edge at the start is minus this.
        threshold: weights below it are left out of a weighted result.
    """

    name: ClassVar[str] = "doscond"
    network: NetworkConfig = NetworkConfig(hidden=256, layers=2)
    structure: str = "bernoulli"
    iterations: int = 1000
    real_batch: int | str = 256
    fanout: int | None = None
    distance: str = "relative-squared"
    feature_rate: float = 1e-3
    structure_rate: float = 5e-2
    restart_at: int | None = 200
    final_temperature: float = 0.01
    annealing: int = 200
    sparsity_weight: float = 0.1
    norm_weight: float = 0.0
    horizon: int = 500
    logit_strength: float = 5.0
    threshold: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_matching()
        if self.fanout is not None:
            check_count("fanout", self.fanout)
        if self.restart_at is not None:
            check_count("restart_at", self.restart_at, minimum=0)
        check_at_least("threshold", self.threshold, 0)
        check_choice("structure", self.structure, STRUCTURES)

    def check(self, task: NodeTask) -> None:
        """There must be memory for a row a class and node in every layer."""
        super().check(task)
        classes, nodes, network = task.num_classes, self.budget(task), self.network
        check_fits(
            _COPIES * 4 * classes * nodes * (classes + (network.layers - 1) * network.hidden),
            f"the gradients of {classes:,} classes in {nodes:,} nodes",
            "lower nodes or the network's hidden, or choose real nodes (--method herding)",
        )

    def weights(self, matcher: NodeMatcher, source: torch.Generator) -> FreshWeights:
        """At which weights gradients are matched."""
        return FreshWeights(matcher, source)

    def turns(self, iteration: int) -> tuple[bool, bool]:
        """Whether features and structure move in ``iteration``."""
        return True, True

    def _condense(self, task: NodeTask, callbacks: Sequence[Callback]) -> tuple[CondensedGraph, list[dict[str, float]]]:
        return self.iterate(NodeCondensation(self, task), task, callbacks)


class NodeCondensation:
    """A run of :class:`NodeDosCond`, iteration by iteration."""

    def __init__(self, settings: NodeDosCond, task: NodeTask) -> None:
        self.settings = settings
        graph, train = task.train
        labels = graph.y[train]
        start = choose_nodes(task, settings.class_sizes(task), generator(settings.seed, "start"))
        x = graph.x[start]
        self.synthetic = SyntheticNodes(x, graph.y[start], task.num_classes, self._structure(x))
        density = self.synthetic.structure.density()
        self.start_density = 0.0 if density is None else float(density.detach())
        self.network = NodeNetwork(settings.network, task.num_features, task.num_outputs)
        counts = task.train_class_counts.float()
        self.matcher = NodeMatcher(self.network, DISTANCES[settings.distance], counts / counts.sum())
        sizes = torch.bincount(self.synthetic.labels, minlength=task.num_classes).float()
        self.synthetic_shares = sizes / sizes.sum()
        self.members = [train[labels == label] for label in range(task.num_classes)]
        most = max(len(part) for part in self.members)
        self.most = most if settings.real_batch == "all" else int(settings.real_batch)
        self.nodes = RealNodes(graph, self.network.propagation)
        self.draws = generator(settings.seed, "real batch")
        fixed = most <= self.most and settings.fanout is None
        self.whole = self.nodes.batch(torch.cat(self.members), self.network.levels, self._sizes) if fixed else None
        self.weights = settings.weights(self.matcher, generator(settings.seed, "theta"))
        self.noise = generator(settings.seed, "structure noise")
        self.optimisers = self._fresh_optimisers(1.0)
        self.watch = LossWatch(task.class_names, settings.rates, float(graph.x.abs().max()))

    @property
    def _sizes(self) -> list[int]:
        return [min(self.most, len(part)) for part in self.members]

    def _batch(self) -> NodeBatch:
        """Real nodes of this iteration, class after class."""
        if self.whole is not None:
            return self.whole
        chosen = [
            part[torch.randperm(len(part), generator=self.draws)[:size]]
            for part, size in zip(self.members, self._sizes, strict=True)
        ]
        levels, fanout = self.network.levels, self.settings.fanout
        return self.nodes.sample(torch.cat(chosen), levels, self._sizes, fanout, self.draws)

    def _structure(self, x: Tensor) -> NodeStructure:
        settings = self.settings
        if settings.structure == "none":
            return NoStructure()
        if settings.structure == "features":
            return FromFeatures(x.shape[1], generator(settings.seed, "structure"), settings.threshold)
        return Discrete(x.new_zeros(len(x), len(x)), settings.logit_strength)

    def _fresh_optimisers(self, factor: float) -> list[torch.optim.Optimizer | None]:
        learned = ([self.synthetic.x], self.synthetic.structure.learned)
        rates = (self.settings.feature_rate, self.settings.structure_rate)
        return [
            torch.optim.Adam(tensors, rate * factor, fused=True) if tensors and rate else None
            for tensors, rate in zip(learned, rates, strict=True)
        ]

    def _adjacency(self, iteration: int) -> Tensor:
        return self.synthetic.structure.sample(self.synthetic.x, self.settings.temperature(iteration), self.noise)

    def _dense(self, iteration: int) -> DenseNodes:
        return DenseNodes(self._adjacency(iteration), self.synthetic.x, self.network.propagation)

    @torch.no_grad()
    def _for_training(self, iteration: int) -> DenseNodes:
        return self._dense(iteration)

    def step(self, iteration: int) -> dict[str, float]:
        """Iteration ``iteration`` (from 0); what it measured."""
        settings, synthetic = self.settings, self.synthetic
        if iteration == settings.restart_at:
            self.optimisers = self._fresh_optimisers(0.1)
        theta = self.weights.at(iteration, lambda: self._for_training(iteration), synthetic.labels.unsqueeze(0))
        real = self.matcher.real(theta, self._batch())
        batch = self._dense(iteration)
        loss, matched = self.matcher.synthetic(theta, batch, synthetic.labels, synthetic.class_weights, real)
        density = synthetic.structure.density()
        if density is not None and settings.sparsity_weight and settings.structure_rate:
            loss = loss + settings.sparsity_weight * sparsity(density, self.start_density)
        with torch.set_grad_enabled(settings.norm_weight > 0):
            bound = second_node_term(batch, synthetic.num_classes, settings.horizon, settings.network.layers)
        if settings.norm_weight:
            loss = loss + settings.norm_weight * bound
        with torch.no_grad():
            first = float(first_term(total(matched, self.synthetic_shares), total(real, self.matcher.shares)))
        record = {"loss": float(loss.detach()), "first_term": first, "second_term": float(bound.detach())}
        if density is not None:
            record |= {"density": float(density.detach()), "temperature": settings.temperature(iteration)}
        self.watch.see(
            iteration, record, lambda: relative_squared(formed(matched), formed(real)), self.learned, theta.values()
        )
        moving = [opt for opt, on in zip(self.optimisers, settings.turns(iteration), strict=True) if opt and on]
        inputs = [tensor for opt in moving for group in opt.param_groups for tensor in group["params"]]
        for opt in moving:
            opt.zero_grad()
        if inputs:
            torch.autograd.backward(loss, inputs=inputs)
        for opt in moving:
            opt.step()
        return record

    @property
    def learned(self) -> list[Tensor]:
        """Features and structure."""
        return [self.synthetic.x, *self.synthetic.structure.learned]

    @property
    def _sources(self) -> dict[str, torch.Generator]:
        return {"real batch": self.draws, "structure noise": self.noise}

    def state(self) -> State:
        """Everything that the next iteration depends on."""
        own = save(self.learned, self.optimisers, self._sources)
        return own | prefixed("weights", self.weights.state())

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Put back what :meth:`state` gave."""
        restore(state, self.learned, self.optimisers, self._sources)
        self.weights.load_state(part_of(state, "weights"))

    def result(self) -> CondensedGraph:
        """The learned graph as it is now."""
        synthetic = self.synthetic
        x = synthetic.x.detach().clone()
        made = synthetic.structure.result(x)
        return CondensedGraph.from_adjacency(
            made, x, synthetic.labels, synthetic.num_classes, synthetic.structure.weighted
        )


def second_node_term(batch: DenseNodes, num_classes: int, horizon: int, steps: int) -> Tensor:
    """The second term of Theorem 2 without M: ``3 / (2 sqrt T) * (C - 1) / (C N') * |A'^K X'|``."""
    factor = 3 / (2 * math.sqrt(horizon)) * (num_classes - 1) / (num_classes * len(batch.x))
    norm: Tensor = torch.linalg.vector_norm(batch.features(steps))
    return factor * norm


@dataclass(frozen=True, kw_only=True)
class NodeDosCondX(NodeDosCond):
    """DosCond without structure: what the features alone can do."""

    name: ClassVar[str] = "doscond-x"
    structure: str = field(default="none", init=False)


@dataclass(frozen=True, kw_only=True)
class GCond(BiLevel, NodeDosCond):
    """GCond (Jin et al., ICLR 2022): bi-level, layer-wise cosine distance, weighted edges from features.

    ``iterations`` counts matching steps: there are ``iterations / outer`` networks.

    Args:
        outer: matching steps at one network.
        inner: steps of training on the small graph before each but the first.
        inner_rate: Adam's rate for them.
        feature_turns: consecutive steps in which features move.
        structure_turns: consecutive steps after these in which the structure moves.
    """

    name: ClassVar[str] = "gcond"
    network: NetworkConfig = NetworkConfig("sgc", hidden=256, layers=2)
    structure: str = "features"
    iterations: int = 2000
    distance: str = "layerwise-cosine"
    feature_rate: float = 1e-4
    structure_rate: float = 1e-3
    restart_at: int | None = None
    threshold: float = 0.1
    outer: int = 20
    inner: int = 15
    inner_rate: float = 0.01
    feature_turns: int = 10
    structure_turns: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_loops()
        for argument in ("feature_turns", "structure_turns"):
            check_count(argument, getattr(self, argument))

    def turns(self, iteration: int) -> tuple[bool, bool]:
        """Features for some steps, then the structure."""
        features = iteration % (self.feature_turns + self.structure_turns) < self.feature_turns
        return features, not features
