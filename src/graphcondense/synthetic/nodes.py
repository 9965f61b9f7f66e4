"""The learned graph of a node task: its nodes as networks see them, and what its structure is made of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property

import torch
from torch import Tensor

from graphcondense.synthetic.dense import normalise_dense
from graphcondense.synthetic.structure import BernoulliStructure


class DenseNodes:
    """One small graph, dense. Weights are ``R x in x out``: networks, or the classes of tied weights.

    Args:
        adjacency: weights in [0, 1] without loops, ``n x n``; ``[i, j]`` is the edge from ``j`` to ``i``.
        x: ``n x d``.
        propagation: as for real graphs; ``"none"`` ignores the adjacency.
    """

    def __init__(self, adjacency: Tensor, x: Tensor, propagation: str) -> None:
        self.x = x
        self.matrix = None if propagation == "none" else normalise_dense(adjacency, propagation)
        self._features: dict[int, Tensor] = {0: x}

    def features(self, steps: int, level: int = 0) -> Tensor:
        """Features after ``steps`` propagations, ``n x d``; computed once, kept."""
        if steps not in self._features:
            self._features[steps] = self.propagate(self.features(steps - 1))
        return self._features[steps]

    def propagate(self, h: Tensor, level: int = 0) -> Tensor:
        """One propagation of rows, ``... x n x F``."""
        return h if self.matrix is None else self.matrix @ h

    def rows(self, level: int = 0) -> int:
        """Rows of any level: the nodes."""
        return len(self.x)

    def own(self, h: Tensor, level: int = 0) -> Tensor:
        """There is one row a node throughout."""
        return h

    def linear(self, h: Tensor, weight: Tensor, level: int = 0) -> Tensor:
        """``h @ weight``, ``R x n x out``."""
        return h @ weight

    def add_bias(self, h: Tensor, bias: Tensor, level: int = 0) -> Tensor:
        """``h + bias`` with ``bias`` of ``R x F``."""
        return h + bias.unsqueeze(1)


class NodeStructure(ABC):
    """Where the adjacency of a learned graph comes from."""

    weighted: bool
    """Whether its edges have weights, or are there or not."""

    @property
    @abstractmethod
    def learned(self) -> list[Tensor]:
        """What an optimiser moves."""

    @abstractmethod
    def sample(self, x: Tensor, temperature: float, source: torch.Generator) -> Tensor:
        """An adjacency to learn with, ``n x n``, differentiable in :attr:`learned`."""

    @abstractmethod
    def result(self, x: Tensor) -> Tensor:
        """The adjacency that is handed out, ``n x n``."""

    def density(self) -> Tensor | None:
        """Mean of all edge probabilities; ``None`` where there are none."""
        return None


class Discrete(NodeStructure):
    """A Bernoulli variable a pair of nodes: DosCond's.

    Args:
        adjacency: 0/1 start, ``n x n``.
        strength: logit of a present edge at the start.
    """

    weighted = False

    def __init__(self, adjacency: Tensor, strength: float) -> None:
        self.pairs = BernoulliStructure(adjacency, strength=strength)

    @property
    def learned(self) -> list[Tensor]:
        """The logits."""
        return [self.pairs.logits]

    def sample(self, x: Tensor, temperature: float, source: torch.Generator) -> Tensor:
        """A relaxed draw."""
        return self.pairs.sample(temperature, source)

    def result(self, x: Tensor) -> Tensor:
        """An edge where its probability exceeds one half."""
        return self.pairs.discrete()

    def density(self) -> Tensor | None:
        """Mean of all edge probabilities."""
        return self.pairs.density()


class NoStructure(NodeStructure):
    """No edges at all: features alone are learned."""

    weighted = False

    @property
    def learned(self) -> list[Tensor]:
        """Nothing."""
        return []

    def sample(self, x: Tensor, temperature: float, source: torch.Generator) -> Tensor:
        """Zeros."""
        return x.new_zeros(len(x), len(x))

    def result(self, x: Tensor) -> Tensor:
        """Zeros."""
        return x.new_zeros(len(x), len(x))


class FromFeatures(NodeStructure):
    """Weights that a small network reads off the features of two nodes: GCond's.

    ``A[i, j] = sigmoid((g(x_i, x_j) + g(x_j, x_i)) / 2)`` with a three-layer perceptron ``g``. Its first product of a
    pair's features is the sum of the two nodes' own products: ``n`` rows are multiplied, not ``n^2``.

    Args:
        features: width of the features.
        source: random numbers for the perceptron's weights.
        threshold: weights below it are left out of the result.
        hidden: units of its layers.
    """

    weighted = True

    def __init__(self, features: int, source: torch.Generator, threshold: float, hidden: int = 128) -> None:
        self.threshold = threshold
        self._weights = []
        for fan_in, fan_out in ((2 * features, hidden), (hidden, hidden), (hidden, 1)):
            bound = fan_in**-0.5
            for shape in ((fan_in, fan_out), (fan_out,)):
                self._weights.append(torch.empty(shape).uniform_(-bound, bound, generator=source).requires_grad_())
        for _ in range(2):  # scale and shift of the two batch norms
            self._weights += [torch.ones(hidden).requires_grad_(), torch.zeros(hidden).requires_grad_()]

    @property
    def learned(self) -> list[Tensor]:
        """The perceptron's weights."""
        return list(self._weights)

    def sample(self, x: Tensor, temperature: float, source: torch.Generator) -> Tensor:
        """The weights themselves: nothing is drawn."""
        first, bias_1, second, bias_2, third, bias_3, *norms = self._weights
        n, d = x.shape
        h = ((x @ first[:d]).unsqueeze(1) + (x @ first[d:]).unsqueeze(0) + bias_1).view(n * n, -1)
        for number, (weight, bias) in enumerate(((second, bias_2), (third, bias_3))):
            scale, shift = norms[2 * number : 2 * number + 2]
            h = torch.nn.functional.batch_norm(h, None, None, scale, shift, training=True)
            h = torch.relu(h) @ weight + bias
        logits = h.view(n, n)
        weights = torch.sigmoid((logits + logits.T) / 2)
        return weights * (1 - torch.eye(n, dtype=x.dtype))

    @torch.no_grad()
    def result(self, x: Tensor) -> Tensor:
        """The weights that are large enough."""
        weights = self.sample(x, 0.0, torch.Generator())
        upper = (weights * (weights >= self.threshold)).triu(1)  # both directions alike to the last bit
        return upper + upper.T


class SyntheticNodes:
    """The learned graph.

    Args:
        x: features to start from, ``n x d``.
        labels: of the nodes, class after class.
        num_classes: ``C``.
        structure: where the adjacency comes from.
    """

    def __init__(self, x: Tensor, labels: Tensor, num_classes: int, structure: NodeStructure) -> None:
        self.x, self.labels, self.num_classes = x.clone().requires_grad_(), labels, num_classes
        self.structure = structure

    @cached_property
    def class_weights(self) -> Tensor:
        """What each node counts in each class's mean loss, ``C x n``."""
        member = torch.nn.functional.one_hot(self.labels, self.num_classes).T.to(self.x.dtype)
        return member / member.sum(1, keepdim=True).clamp(min=1)
