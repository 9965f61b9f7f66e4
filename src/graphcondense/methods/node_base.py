"""What every method for node tasks is: a budget of nodes, and ``condense``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from graphcondense.errors import InputError, check_at_least, check_count
from graphcondense.machine import keep_freed_memory
from graphcondense.methods.base import versions
from graphcondense.methods.budget import in_proportion
from graphcondense.methods.callbacks import Callback
from graphcondense.synthetic import CondensedGraph, json_safe
from graphcondense.tasks import NodeTask
from graphcondense.training import Store


@dataclass(frozen=True, kw_only=True)
class NodeMethod(ABC):
    """A way to make a small graph stand for a large one.

    Args:
        nodes: nodes of the small graph; or give ``ratio``.
        ratio: nodes of the small graph over those of the graph that training sees.
        seed: decides everything that is drawn.
    """

    name: ClassVar[str]
    size_name: ClassVar[str] = "nodes"
    nodes: int | None = None
    ratio: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_count("seed", self.seed, minimum=0)
        if (self.nodes is None) == (self.ratio is None):
            raise InputError(f"nodes={self.nodes!r} and ratio={self.ratio!r}: give one of the two")
        if self.nodes is not None:
            check_count("nodes", self.nodes)
        if self.ratio is not None:
            check_at_least("ratio", self.ratio, 0)
            if not 0 < self.ratio <= 1:
                raise InputError(f"ratio={self.ratio!r} must be above 0 and at most 1")

    @property
    def size(self) -> int | None:
        """Nodes of the small graph, where they were given."""
        return self.nodes

    def budget(self, task: NodeTask) -> int:
        """Nodes of the small graph."""
        if self.nodes is not None:
            return self.nodes
        assert self.ratio is not None
        return max(1, round(self.ratio * task.train[0].x.shape[0]))

    def class_sizes(self, task: NodeTask) -> list[int]:
        """Nodes of each class: in the proportion of the training nodes, at least one of each class that has any."""
        counts, budget = task.train_class_counts, self.budget(task)
        present = counts > 0
        if budget < int(present.sum()):
            raise InputError(f"nodes={budget} are fewer than the {int(present.sum())} classes: give each one at least")
        if budget > int(counts.sum()):
            most = int(counts.sum())
            asked = f"nodes={budget} are" if self.ratio is None else f"ratio={self.ratio} is {budget} nodes,"
            share = "" if self.ratio is None else f" (ratio {most / task.train[0].x.shape[0]:.3g})"
            raise InputError(f"{asked} more than the {most} training nodes{share}: use fewer")
        return in_proportion(counts, budget)

    def check(self, task: NodeTask) -> None:
        """Raise if ``task`` cannot give what the settings ask for."""
        self.class_sizes(task)

    def condense(
        self, task: NodeTask, callbacks: Sequence[Callback] = (), store: Store | None = None
    ) -> CondensedGraph:
        """The condensed graph, with all settings and what it came from in ``info``.

        Args:
            task: what to condense.
            callbacks: told of every iteration.
            store: not used: networks for nodes are trained in seconds.
        """
        if not isinstance(task, NodeTask):
            raise InputError(f"task={type(task).__name__} must be a node task: make one with gc.node_task(data)")
        self.check(task)
        keep_freed_memory()
        made, history = self._condense(task, callbacks)
        seen = task.train[0]
        info = {
            "dataset": task.name,
            "method": self.name,
            "settings": asdict(self),
            "classes": list(task.class_names),
            "source": task.source,
            "inductive": task.inductive,
            "original_nodes": int(seen.x.shape[0]),
            "original_edges": int(seen.num_edges.sum()),
            "original_bytes": 4 * seen.x.numel() + 4 * len(seen.y) + 8 * int(seen.num_edges.sum()),
            "iterations": len(history),
            "last": history[-1] if history else {},
            "versions": versions(),
        }
        return replace(made, info=json_safe(info), history=history)

    @abstractmethod
    def _condense(self, task: NodeTask, callbacks: Sequence[Callback]) -> tuple[CondensedGraph, list[dict[str, float]]]:
        """The graph, and what each iteration measured."""


def choose_nodes(task: NodeTask, sizes: Sequence[int], source: torch.Generator) -> Tensor:
    """Places of random training nodes in the graph that training sees, class after class."""
    graph, train = task.train
    labels = graph.y[train]
    chosen = []
    for label, size in enumerate(sizes):
        members = train[labels == label]
        chosen.append(members[torch.randperm(len(members), generator=source)[:size]])
    return torch.cat(chosen)
