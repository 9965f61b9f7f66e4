"""Real graphs as they are: some at random, or all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from graphcondense.errors import InputError
from graphcondense.methods.base import Made, Method
from graphcondense.methods.callbacks import Callback
from graphcondense.seeding import generator
from graphcondense.tasks import GraphTask
from graphcondense.training import Store


def choose_at_random(
    task: GraphTask, class_sizes: Sequence[int], source: torch.Generator, most_nodes: int | None = None
) -> Tensor:
    """Positions of training graphs, so many of each class, class after class, none twice.

    Where the training graphs are in several processes, places in their classes instead, among those that are not left
    out: the same in every process.

    Args:
        task: where to choose from.
        class_sizes: how many of each class.
        source: random numbers.
        most_nodes: leave out larger graphs.
    """
    counts = None if task.part is None else task.part.counts(most_nodes).sum(0)
    sizes = task.train.num_nodes
    chosen = []
    for label, count in enumerate(class_sizes):
        members = (task.train.y == label).nonzero().flatten()
        if most_nodes is not None:
            members = members[sizes[members] <= most_nodes]
        found = len(members) if counts is None else int(counts[label])
        if found < count:
            enough = enough_nodes(task, label, count)
            raise InputError(
                f"class {_class_name(task, label)} has {found} training graphs with at most {most_nodes} "
                f"nodes to start from, {count} are needed: raise the nodes of a "
                f"synthetic graph to {enough} or more (nodes={enough}, --graph-nodes {enough}), or ask for fewer"
            )
        places = torch.randperm(found, generator=source)[:count]
        chosen.append(members[places] if counts is None else places)
    return torch.cat(chosen)


def enough_nodes(task: GraphTask, label: int, count: int) -> int:
    """Nodes within which class ``label`` has ``count`` training graphs."""
    if task.part is not None:
        return task.part.smallest(label, count)
    return int(task.train.num_nodes[task.train.y == label].sort().values[count - 1])


def _class_name(task: GraphTask, label: int) -> str:
    return task.class_names[label] if task.class_names else str(label)


@dataclass(frozen=True, kw_only=True)
class RandomSelection(Method):
    """Real training graphs of each class, chosen at random: the baseline that everything must beat."""

    name: ClassVar[str] = "random"

    def check(self, task: GraphTask) -> None:
        """There must be as many graphs as asked for."""
        self._choose(task)

    def _choose(self, task: GraphTask) -> Tensor:
        return choose_at_random(task, self.class_sizes(task), generator(self.seed, "selection"))

    def _condense(self, task: GraphTask, callbacks: Sequence[Callback], store: Store) -> Made:
        return Made(task.train.subset(self._choose(task)))


@dataclass(frozen=True, kw_only=True)
class Whole(Method):
    """All training graphs: the score that condensed sets are measured against."""

    name: ClassVar[str] = "whole"

    def check(self, task: GraphTask) -> None:
        """There is nothing that could be missing."""

    def _condense(self, task: GraphTask, callbacks: Sequence[Callback], store: Store) -> Made:
        return Made(task.train)
