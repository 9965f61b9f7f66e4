"""At which weights gradients are matched: the one thing in which one-step and bi-level matching differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

import torch
from torch import Tensor

from graphcondense.matching import Gradients
from graphcondense.methods.state import State, check_like, restore, save
from graphcondense.models import Parameters

Graphs = Callable[[], Any]


class Draws(Protocol):
    """A network as the schedule needs it."""

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the weights, in order."""

    def draw(self, source: torch.Generator) -> Parameters:
        """Fresh weights, each ``1 x ...``."""


class Matches(Protocol):
    """A matcher as the schedule needs it: for graphs or for nodes."""

    @property
    def network(self) -> Draws:
        """Whose weights are drawn."""

    def of_synthetic(self, theta: Parameters, batch: Any, y: Tensor, graph_weights: Tensor, /) -> Gradients:
        """Gradients of learned graphs or nodes."""


class FreshWeights:
    """One-step matching: each iteration has a network of its own, as it was drawn.

    Args:
        matcher: whose network the weights are for.
        source: random numbers.
    """

    def __init__(self, matcher: Matches, source: torch.Generator) -> None:
        self.matcher, self.source = matcher, source

    def at(self, iteration: int, graphs: Graphs, labels: Tensor) -> Parameters:
        """Weights of ``iteration`` (from 0), ``1 x ...`` each.

        Args:
            iteration: which one.
            graphs: makes the synthetic graphs as they are now, all in one group.
            labels: of these graphs, ``1 x G``.
        """
        return self.matcher.network.draw(self.source)

    def state(self) -> State:
        """What the weights of later iterations depend on."""
        return save((), (), {"source": self.source})

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Put back what :meth:`state` gave."""
        restore(state, (), (), {"source": self.source})


class TrainedWeights(FreshWeights):
    """Bi-level matching: a network is matched ``outer`` times, and trained on the synthetic graphs in between.

    Args:
        matcher: whose network the weights are for.
        source: random numbers.
        outer: matching steps before the next network is drawn.
        inner: training steps between two matching steps.
        rate: Adam's rate for them.
    """

    def __init__(self, matcher: Matches, source: torch.Generator, outer: int, inner: int, rate: float) -> None:
        super().__init__(matcher, source)
        self.outer, self.inner, self.rate = outer, inner, rate
        self._weights: Parameters = {}
        self._optimiser: torch.optim.Optimizer | None = None

    def at(self, iteration: int, graphs: Graphs, labels: Tensor) -> Parameters:
        """A fresh network every ``outer`` iterations, else the last one after ``inner`` more steps of training."""
        if self._optimiser is None or iteration % self.outer == 0:
            self._take(self.matcher.network.draw(self.source))
        else:
            self._train(self._optimiser, graphs(), labels)
        return self._weights

    def state(self) -> State:
        """The source, the network that is being trained, and its optimiser."""
        return save(self._weights.values(), [self._optimiser], {"source": self.source})

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Put back what :meth:`state` gave."""
        weights = {
            name: state[f"learned.{place}"].clone()
            for place, name in enumerate(self.matcher.network.parameter_names)
            if f"learned.{place}" in state  # nothing was drawn before the first iteration
        }
        for value, drawn in zip(weights.values(), self._shapes if weights else (), strict=True):
            check_like(value, drawn)
        self._take(weights)
        restore(state, (), [self._optimiser], {"source": self.source})

    @property
    def _shapes(self) -> Iterable[Tensor]:
        return self.matcher.network.draw(torch.Generator()).values()

    def _take(self, weights: Parameters) -> None:
        """Match at these weights from now on, with a fresh optimiser."""
        self._weights = weights
        self._optimiser = torch.optim.Adam(list(weights.values()), self.rate, fused=True) if weights else None

    def _train(self, optimiser: torch.optim.Optimizer, batch: Any, labels: Tensor) -> None:
        mean = torch.full(labels.shape, 1 / labels.numel())
        for _ in range(self.inner):
            gradients = self.matcher.of_synthetic(self._weights, batch, labels, mean)
            for name, part in zip(self.matcher.network.parameter_names, gradients.parts, strict=True):
                self._weights[name].grad = part
            optimiser.step()
