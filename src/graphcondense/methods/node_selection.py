"""Real nodes as they are: some of them, chosen at random or by their embeddings, or all."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from graphcondense.errors import InputError, check_at_least
from graphcondense.methods.callbacks import Callback
from graphcondense.methods.coresets import Herding, KCenter
from graphcondense.methods.node_base import NodeMethod, choose_nodes
from graphcondense.models import NetworkConfig, NodeNetwork
from graphcondense.real import RealNodes
from graphcondense.seeding import generator
from graphcondense.synthetic import CondensedGraph
from graphcondense.tasks import NodeTask
from graphcondense.training import Recipe, train_nodes


@dataclass(frozen=True, kw_only=True)
class RandomNodes(NodeMethod):
    """Random training nodes of each class, with the edges among them."""

    name: ClassVar[str] = "random"

    def _condense(self, task: NodeTask, callbacks: Sequence[Callback]) -> tuple[CondensedGraph, list[dict[str, float]]]:
        chosen = choose_nodes(task, self.class_sizes(task), generator(self.seed, "selection"))
        return CondensedGraph(task.train[0].induced(chosen), task.num_classes), []


@dataclass(frozen=True, kw_only=True)
class NodeCoreset(NodeMethod):
    """Training nodes of each class, chosen one after the other by their embeddings, with the edges among them.

    The embeddings are what the last layer of a network sees that was trained on the whole graph.

    Args:
        network: the network.
        recipe: how it is trained.
        dropout: share of hidden units that an epoch leaves out.
    """

    network: NetworkConfig = NetworkConfig(hidden=256, layers=2)
    recipe: Recipe = Recipe(epochs=600, rate=0.01, weight_decay=5e-4)
    dropout: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.network, NetworkConfig):
            raise InputError(f"network={self.network!r} must be a NetworkConfig, e.g. NetworkConfig('sgc')")
        if not isinstance(self.recipe, Recipe):
            raise InputError(f"recipe={self.recipe!r} must be a Recipe, e.g. Recipe(epochs=100)")
        check_at_least("dropout", self.dropout, 0)
        if not self.dropout < 1:
            raise InputError(f"dropout={self.dropout!r} must be below 1")

    def _condense(self, task: NodeTask, callbacks: Sequence[Callback]) -> tuple[CondensedGraph, list[dict[str, float]]]:
        network = NodeNetwork(self.network, task.num_features, task.num_outputs)
        graph, train = task.train
        seen = RealNodes(graph, network.propagation).batch(train, network.levels)
        val_graph, val_nodes = task.val
        val = RealNodes(val_graph, network.propagation).batch(val_nodes, network.levels)
        trained = train_nodes(network, seen, seen.y, val, val.y, [self.seed], self.recipe, self.dropout)
        with torch.no_grad():
            embedded = network.embed(trained.weights, seen)[0].double()
        chosen = []
        for label, size in enumerate(self.class_sizes(task)):
            members = (seen.y == label).nonzero().flatten()
            if size:
                chosen.append(train[members[self.choose(embedded[members], size)]])
        return CondensedGraph(graph.induced(torch.cat(chosen)), task.num_classes), []

    @staticmethod
    @abstractmethod
    def choose(embedded: Tensor, count: int) -> Tensor:
        """Positions of ``count`` rows of ``embedded``, in the order in which they were chosen."""


@dataclass(frozen=True, kw_only=True)
class HerdingNodes(NodeCoreset):
    """Nodes whose mean embedding is close to the class's (Welling, ICML 2009)."""

    name: ClassVar[str] = "herding"

    choose = staticmethod(Herding.choose)


@dataclass(frozen=True, kw_only=True)
class KCenterNodes(NodeCoreset):
    """Nodes such that every other one has a chosen one near it (Sener and Savarese, ICLR 2018)."""

    name: ClassVar[str] = "kcenter"

    choose = staticmethod(KCenter.choose)


class WholeGraph(CondensedGraph):
    """The graph that training sees, as it is: to be trained on, not to be stored."""

    @property
    def num_bytes(self) -> int:
        """Bytes of the original."""
        return int(self.info["original_bytes"])


@dataclass(frozen=True, kw_only=True)
class WholeNodes(NodeMethod):
    """The whole graph: the score that condensed ones are measured against."""

    name: ClassVar[str] = "whole"
    nodes: int | None = None
    ratio: float | None = 1.0

    def check(self, task: NodeTask) -> None:
        """There is nothing that could be missing."""

    def _condense(self, task: NodeTask, callbacks: Sequence[Callback]) -> tuple[CondensedGraph, list[dict[str, float]]]:
        return WholeGraph(task.train[0], task.num_classes), []
