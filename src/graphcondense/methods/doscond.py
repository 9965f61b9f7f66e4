"""DosCond: discrete structure by a Bernoulli model, learned by matching gradients for one step only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from graphcondense.errors import InputError, check_choice, check_count
from graphcondense.graphs import GraphStore
from graphcondense.machine import check_fits
from graphcondense.matching import DISTANCES, Matcher, first_term, relative_squared, second_term, sparsity, total
from graphcondense.methods.base import Made, Method
from graphcondense.methods.callbacks import Callback
from graphcondense.methods.loop import Matching
from graphcondense.methods.numbers import LossWatch
from graphcondense.methods.real_side import RealSide, start_graphs
from graphcondense.methods.selection import choose_at_random, enough_nodes
from graphcondense.methods.state import State, part_of, prefixed, restore, save
from graphcondense.methods.weights import FreshWeights
from graphcondense.models import Network, NetworkConfig
from graphcondense.seeding import generator
from graphcondense.synthetic import DenseBatch, SyntheticGraphs
from graphcondense.tasks import GraphTask
from graphcondense.training import Store

_COPIES = 8  # of the structure: logits, their gradient, Adam's two, and those of the backward pass


@dataclass(frozen=True, kw_only=True)
class DosCond(Matching, Method):
    """Condense by one-step gradient matching (Jin et al., KDD 2022).

    The defaults are those of the preset ``default``; ``graphcondense.preset("paper", task)`` has the paper's.

    Args:
        network: the network whose gradients are matched, drawn afresh each iteration.
        nodes: nodes n of a synthetic graph; ``None`` for the rounded mean of the dataset, or for more where a class has
            too few graphs as small as that to start from.
        pad: whether every synthetic graph has exactly n nodes (the paper); otherwise each keeps the size of the real
            graph that it starts from, n at most.
        iterations: K1, the number of matching steps, each at a fresh network.
        samples: K2, draws of the structure an iteration.
        real_batch: real graphs of each class an iteration; ``"all"`` for all.
        match: ``"class"`` matches a gradient a class, ``"joint"`` one gradient of all classes.
        distance: ``"relative-squared"``, ``"cosine"`` or ``"layerwise-cosine"``.
        feature_rate: Adam's rate for the features.
        structure_rate: Adam's rate for the logits; 0 keeps the real structures.
        restart_at: iteration at which both optimisers restart with a tenth of their rates; ``None`` for never.
        final_temperature: where the temperature ends; it starts at 1 and falls geometrically.
        annealing: iterations until it gets there.
        sparsity_weight: beta, the weight of the sparsity regulariser.
        norm_weight: weight of the second term of Proposition 1 (for sum pooling).
        horizon: T of that term.
        logit_strength: logit of an edge at the start.

    >>> from graphcondense import load
    >>> condensed = DosCond(graphs_per_class=1, iterations=2).condense(load("digits"))
    >>> len(condensed), len(condensed.history)
    (10, 2)
    >>> DosCond().temperature(0), DosCond().temperature(100), DosCond().temperature(999)
    (1.0, 0.1, 0.01)
    """

    name: ClassVar[str] = "doscond"
    in_parts: ClassVar[bool] = True
    network: NetworkConfig = NetworkConfig()
    nodes: int | None = None
    pad: bool = False
    iterations: int = 1000
    samples: int = 1
    real_batch: int | str = 256
    match: str = "class"
    distance: str = "relative-squared"
    feature_rate: float = 0.01
    structure_rate: float = 0.1
    restart_at: int | None = 400
    final_temperature: float = 0.01
    annealing: int = 200
    sparsity_weight: float = 0.1
    norm_weight: float = 0.0
    horizon: int = 500
    logit_strength: float = 5.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_matching()
        check_count("samples", self.samples)
        for argument in ("nodes", "restart_at"):
            if getattr(self, argument) is not None:
                check_count(argument, getattr(self, argument))
        if not isinstance(self.pad, bool):
            raise InputError(f"pad={self.pad!r} must be true or false")
        check_choice("match", self.match, ("class", "joint"))

    def check(self, task: GraphTask) -> None:
        """There must be enough graphs that are small enough to start from, and memory for their structure."""
        self.start(task)
        total = task.num_classes * max(self.class_sizes(task))
        needed = _COPIES * 4 * total * self.num_nodes(task) ** 2
        check_fits(
            needed,
            f"the structures of {total} graphs of {self.num_nodes(task)} nodes",
            "lower nodes (--graph-nodes) or graphs_per_class (-n)",
        )

    def num_nodes(self, task: GraphTask) -> int:
        """Nodes that a synthetic graph has room for."""
        if self.nodes is not None:
            return self.nodes
        sizes = enumerate(self.class_sizes(task))
        return max(round(task.mean_nodes), *(enough_nodes(task, label, count) for label, count in sizes))

    def start(self, task: GraphTask) -> Tensor:
        """Positions of the training graphs that the synthetic ones start from, class after class.

        Where the training graphs are in several processes, places in their classes; see :func:`start_graphs`.
        """
        return choose_at_random(
            task, self.class_sizes(task), generator(self.seed, "start"), most_nodes=self.num_nodes(task)
        )

    def weights(self, matcher: Matcher, source: torch.Generator) -> FreshWeights:
        """At which weights gradients are matched."""
        return FreshWeights(matcher, source)

    def _condense(self, task: GraphTask, callbacks: Sequence[Callback], store: Store) -> Made:
        return Made(*self.iterate(Condensation(self, task), task, callbacks))


class Condensation:
    """A run of :class:`DosCond`, iteration by iteration.

    Args:
        settings: the method.
        task: the dataset.
        start: the graphs to start from, class after class; by default those that ``settings`` choose.
    """

    def __init__(self, settings: DosCond, task: GraphTask, start: GraphStore | None = None) -> None:
        self.settings = settings
        start = start_graphs(settings, task, settings.start(task)) if start is None else start
        self.synthetic = SyntheticGraphs(
            start, task.num_classes, settings.num_nodes(task), settings.pad, settings.logit_strength
        )
        self.objective = _Objective(settings, task, self.synthetic)
        self.optimiser = self._fresh_optimiser(1.0)
        self.watch = self.objective.watch

    def step(self, iteration: int) -> dict[str, float]:
        """Iteration ``iteration`` (from 0); what it measured."""
        settings = self.settings
        if iteration == settings.restart_at:
            self.optimiser = self._fresh_optimiser(0.1)
        self.optimiser.zero_grad()
        loss, record = self.objective.at(iteration)
        torch.autograd.backward(loss, inputs=self.synthetic.learned)
        self.optimiser.step()
        return record

    @property
    def learned(self) -> list[Tensor]:
        """Features and logits."""
        return self.synthetic.learned

    def result(self) -> GraphStore:
        """The learned graphs as they are now."""
        return self.synthetic.result()

    def state(self) -> State:
        """Everything that the next iteration depends on."""
        own = save(self.learned, [self.optimiser], self.objective.sources)
        return own | prefixed("weights", self.objective.weights.state())

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Put back what :meth:`state` gave."""
        restore(state, self.learned, [self.optimiser], self.objective.sources)
        self.objective.weights.load_state(part_of(state, "weights"))

    def _fresh_optimiser(self, factor: float) -> torch.optim.Optimizer:
        rates = (self.settings.feature_rate * factor, self.settings.structure_rate * factor)
        learned = zip(self.synthetic.learned, rates, strict=True)
        return torch.optim.Adam([{"params": [tensor], "lr": rate} for tensor, rate in learned], fused=True)


class _Objective:
    """The matching loss of synthetic and real graphs."""

    def __init__(self, settings: DosCond, task: GraphTask, synthetic: SyntheticGraphs) -> None:
        self.settings, self.synthetic, self.num_classes = settings, synthetic, task.num_classes
        self.network = Network(settings.network, task.num_features, task.num_outputs)
        self.joint = settings.match == "joint"
        self.groups = 1 if self.joint else task.num_classes
        self.matcher = Matcher(self.network, DISTANCES[settings.distance])
        self.real = RealSide(settings, task, self.network, self.matcher)
        self.shares = self._shares(task)
        self.weights = settings.weights(self.matcher, generator(settings.seed, "theta"))
        self.noise_source = generator(settings.seed, "structure noise")
        self.sources = {"real batch": self.real.source, "structure noise": self.noise_source}
        self.watch = LossWatch(task.class_names, settings.rates, float(task.train.x.abs().max()))
        self.labels, self.synthetic_weights = synthetic.labels_and_weights(self.joint)

    def _shares(self, task: GraphTask) -> tuple[Tensor, Tensor]:
        """Share of each group among the synthetic and among the real graphs."""
        if self.joint:
            return torch.ones(1), torch.ones(1)
        counts = task.train_class_counts.float()
        own = torch.bincount(self.synthetic.labels, minlength=self.num_classes).float()
        return own / own.sum(), counts / counts.sum()

    def at(self, iteration: int) -> tuple[Tensor, dict[str, float]]:
        """The loss to descend in ``iteration``, and what to report of it."""
        settings = self.settings
        temperature = settings.temperature(iteration)
        theta = self.weights.at(iteration, lambda: self._all_together(temperature), self.synthetic.labels.view(1, -1))
        real = self.real.gradients(theta, iteration)
        loss = torch.zeros(())
        first = second = 0.0
        for _ in range(settings.samples):
            adjacency = self._adjacency(temperature)
            batch = self.synthetic.batch(adjacency, self.network.propagation, self.joint)
            gap, matched = self.matcher.synthetic(theta, batch, self.labels, self.synthetic_weights, real)
            loss = loss + gap / settings.samples
            with torch.set_grad_enabled(settings.norm_weight > 0):  # else it is only reported
                bound = second_term(
                    batch,
                    self.num_classes,
                    self.synthetic.labels.numel(),
                    settings.horizon,
                    settings.network.layers,
                    settings.network.pooling,
                )
            if settings.norm_weight:
                loss = loss + settings.norm_weight * bound / settings.samples
            with torch.no_grad():
                first += (
                    float(first_term(total(matched, self.shares[0]), total(real, self.shares[1]))) / settings.samples
                )
                second += float(bound) / settings.samples
        density = self.synthetic.structure.density()
        if settings.sparsity_weight and settings.structure_rate:
            loss = loss + settings.sparsity_weight * sparsity(density, self.synthetic.start_density)
        record = {
            "loss": float(loss.detach()),
            "first_term": first,
            "second_term": second,
            "density": float(density.detach()),
            "temperature": temperature,
        }
        self.watch.see(
            iteration, record, lambda: relative_squared(matched, real), self.synthetic.learned, theta.values()
        )
        return loss, record

    @torch.no_grad()
    def _all_together(self, temperature: float) -> DenseBatch:
        return self.synthetic.batch(self._adjacency(temperature), self.network.propagation, joint=True)

    def _adjacency(self, temperature: float) -> Tensor:
        structure = self.synthetic.structure
        if self.settings.structure_rate == 0:
            return structure.discrete()
        return structure.sample(temperature, self.noise_source)
