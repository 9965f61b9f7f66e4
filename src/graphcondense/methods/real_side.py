"""The real side of matching: which graphs an iteration sees, and their class gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from graphcondense.errors import InputError
from graphcondense.graphs import GraphStore
from graphcondense.matching import Gradients, Matcher
from graphcondense.models import Network, Parameters
from graphcondense.real import ClassSampler, SparseBatch
from graphcondense.seeding import generator
from graphcondense.synthetic import pad_graphs, unpad_graphs
from graphcondense.tasks import GraphTask

if TYPE_CHECKING:
    from graphcondense.methods.doscond import DosCond


class RealSide:
    """Class gradients of the real graphs at any weights.

    Where the graphs are in several processes, each sums over its own, weighed by what a graph counts in its class's
    mean over all, and the sums are added up: one sum an iteration, of all class gradients.

    Args:
        settings: the method.
        task: the dataset.
        network: the network.
        matcher: computes gradients.
    """

    def __init__(self, settings: DosCond, task: GraphTask, network: Network, matcher: Matcher) -> None:
        self.settings, self.part, self.matcher = settings, task.part, matcher
        self.joint = settings.match == "joint"
        batch = None if settings.real_batch == "all" else int(settings.real_batch)
        self.sampler = ClassSampler(task.train.y, task.num_classes, batch, task.part)
        self.source = generator(settings.seed, "real batch")
        if task.part is not None and network.together:
            raise InputError(
                f"norm={network.config.norm!r} looks at all graphs of a batch at once: condense in one process, or use "
                "'none'"
            )
        self.real = network.prepare(task.train, by_label=not self.joint)
        groups = 1 if self.joint else task.num_classes
        self._nothing = Gradients.of([torch.zeros(groups, *shape) for shape in network.shapes.values()])
        self._batches: list[SparseBatch] = []
        self._weights = torch.zeros(0)

    def gradients(self, theta: Parameters, iteration: int) -> Gradients:
        """Class gradients in ``iteration`` (from 0)."""
        if not self.sampler.fixed or not len(self._weights):
            self._draw(iteration)
        if self._batches:
            sizes = [len(batch.y) for batch in self._batches]
            found = self.matcher.real(theta, self._batches, self._weights.split(sizes))
        else:  # a batch of all processes can have no graph of this one
            found = self._nothing.like(torch.zeros_like(self._nothing.flat))
        if self.part is not None:
            self.part.world.add(found.flat)
        return found

    def _draw(self, iteration: int) -> None:
        source, part = self.source, self.part
        if part is not None and not part.same_batch:  # a stream an iteration: nothing to be saved at a checkpoint
            source = generator(self.settings.seed, f"real batch of {part.world.rank} in {iteration}")
        index, sizes = self.sampler.draw(source)
        self._batches = self.real.batches(index, None if self.joint else sizes) if len(index) else []
        weights = self.sampler.weights
        if self.joint:
            weights = weights * self.sampler.shares
        self._weights = weights.repeat_interleave(torch.tensor(sizes))


def start_graphs(settings: DosCond, task: GraphTask, chosen: Tensor) -> GraphStore:
    """The real graphs that the synthetic ones start from.

    Args:
        settings: the method.
        task: the dataset.
        chosen: what :meth:`DosCond.start` chose: positions of training graphs; where these are in several processes,
            places in their classes, and every process gets all of the graphs.
    """
    part = task.part
    if part is None:
        return task.train.subset(chosen)
    nodes, sizes = settings.num_nodes(task), settings.class_sizes(task)
    total = len(chosen)
    adjacency = torch.zeros(total, nodes, nodes)
    x = torch.zeros(total, nodes, task.num_features)
    num_nodes = torch.zeros(total, dtype=torch.long)
    labels = torch.arange(task.num_classes).repeat_interleave(torch.tensor(sizes))
    first = 0
    for label, (size, own_places) in enumerate(zip(sizes, chosen.split(sizes), strict=True)):
        where, places = part.mine(own_places, label, nodes)
        if len(where):
            members = ((task.train.y == label) & (task.train.num_nodes <= nodes)).nonzero().flatten()
            own, rows = task.train.subset(members[places]), where + first
            adjacency[rows], x[rows], _ = pad_graphs(own, nodes)
            num_nodes[rows] = own.num_nodes
        first += size
    for tensor in (adjacency, x, num_nodes):
        part.world.add(tensor)
    return unpad_graphs(adjacency, x, num_nodes, labels, task.graphs.directed)
