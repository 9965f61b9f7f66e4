"""Coresets: real graphs chosen by where a network that was trained on the whole set puts them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from graphcondense.errors import InputError
from graphcondense.methods.base import Made, Method
from graphcondense.methods.callbacks import Callback
from graphcondense.models import Network, NetworkConfig
from graphcondense.tasks import GraphTask
from graphcondense.training import Recipe, Store, TrainedNetworks


@dataclass(frozen=True, kw_only=True)
class Coreset(Method):
    """Graphs of each class, chosen one after the other by their embeddings.

    The embeddings are the pooled rows of a network that was trained on the whole training set: with the same seed,
    the very network that the whole set's score comes from.

    Args:
        network: the network.
        recipe: how it is trained.
    """

    network: NetworkConfig = NetworkConfig()
    recipe: Recipe = Recipe()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.network, NetworkConfig):
            raise InputError(f"network={self.network!r} must be a NetworkConfig, e.g. NetworkConfig('gin')")
        if not isinstance(self.recipe, Recipe):
            raise InputError(f"recipe={self.recipe!r} must be a Recipe, e.g. Recipe(epochs=100)")

    def check(self, task: GraphTask) -> None:
        """There must be as many graphs as asked for."""
        self.class_sizes(task)

    def _trained(self, task: GraphTask, store: Store, callbacks: Sequence[Callback]) -> TrainedNetworks:
        network = Network(self.network, task.num_features, task.num_outputs)

        def progress(done: int, total: int) -> None:
            for callback in callbacks:
                if done == 1:
                    callback.on_start(total)
                callback.on_iteration(done, {})
                if done == total:
                    callback.on_end()

        return store.train(network, task.train, task.val, [self.seed], self.recipe, task.metric, progress)

    def _condense(self, task: GraphTask, callbacks: Sequence[Callback], store: Store) -> Made:
        embedded = self._trained(task, store, callbacks).embeddings(task.train)[0].double()
        chosen = []
        for label, size in enumerate(self.class_sizes(task)):
            members = (task.train.y == label).nonzero().flatten()
            chosen.append(members[self.choose(embedded[members], size)])
        return Made(task.train.subset(torch.cat(chosen)))

    @staticmethod
    @abstractmethod
    def choose(embedded: Tensor, count: int) -> Tensor:
        """Positions of ``count`` rows of ``embedded``, in the order in which they were chosen."""


@dataclass(frozen=True, kw_only=True)
class Herding(Coreset):
    """Graphs whose mean embedding is close to the class's (Welling, ICML 2009)."""

    name: ClassVar[str] = "herding"

    @staticmethod
    def choose(embedded: Tensor, count: int) -> Tensor:
        """Each next row brings the mean of the chosen ones closest to the mean of all.

        >>> Herding.choose(torch.tensor([[0.0], [2.0], [9.0], [5.0]]), 3).tolist()
        [3, 1, 2]
        """
        mean, total = embedded.mean(0), torch.zeros_like(embedded[0])
        free = torch.ones(len(embedded), dtype=torch.bool, device=embedded.device)
        chosen: list[int] = []
        for step in range(1, count + 1):
            gaps = ((total + embedded) / step - mean).square().sum(1)
            chosen.append(int(gaps.masked_fill(~free, torch.inf).argmin()))
            total, free[chosen[-1]] = total + embedded[chosen[-1]], False
        return torch.tensor(chosen, device=embedded.device)


@dataclass(frozen=True, kw_only=True)
class KCenter(Coreset):
    """Graphs such that every other one has a chosen one near it (Sener and Savarese, ICLR 2018)."""

    name: ClassVar[str] = "kcenter"

    @staticmethod
    def choose(embedded: Tensor, count: int) -> Tensor:
        """First the row nearest to the mean of all, then always the one farthest from those chosen.

        >>> KCenter.choose(torch.tensor([[0.0], [2.0], [9.0], [5.0]]), 3).tolist()
        [3, 0, 2]
        """
        chosen = [int((embedded - embedded.mean(0)).square().sum(1).argmin())]
        nearest = torch.full((len(embedded),), torch.inf, dtype=embedded.dtype, device=embedded.device)
        while len(chosen) < count:
            nearest = torch.minimum(nearest, (embedded - embedded[chosen[-1]]).square().sum(1))
            nearest[chosen[-1]] = -1  # never twice, even among equals
            chosen.append(int(nearest.argmax()))
        return torch.tensor(chosen, device=embedded.device)
