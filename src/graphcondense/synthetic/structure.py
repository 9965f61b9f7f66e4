"""Discrete structure by a Bernoulli model: logits, relaxed samples, and the 0/1 result."""

from __future__ import annotations

import torch
from torch import Tensor


class BernoulliStructure:
    """One Bernoulli variable a pair of nodes; entry ``[i, j]`` is the edge from ``j`` to ``i``.

    Args:
        adjacency: 0/1 start, ``... x n x n``.
        node_mask: which nodes exist, ``... x n``; ``None`` when all do. No edge ever touches a node that does not.
        strength: logit of a present edge at the start; an absent one has ``-strength``.
        directed: whether ``[i, j]`` and ``[j, i]`` are variables of their own. Otherwise they are one.

    >>> path = torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> structure = BernoulliStructure(path)
    >>> torch.equal(structure.discrete(), path)
    True
    """

    def __init__(
        self, adjacency: Tensor, node_mask: Tensor | None = None, strength: float = 5.0, directed: bool = False
    ) -> None:
        self.directed = directed
        n = adjacency.shape[-1]
        allowed = ~torch.eye(n, dtype=torch.bool, device=adjacency.device).expand_as(adjacency)
        if node_mask is not None:
            allowed = allowed & node_mask.unsqueeze(-1) & node_mask.unsqueeze(-2)
        self._allowed = allowed.to(adjacency.dtype)
        self.logits = ((2 * adjacency - 1) * strength).requires_grad_()

    def symmetric_logits(self) -> Tensor:
        """The logits that count, ``... x n x n``: for undirected graphs the mean of both directions."""
        return self.logits if self.directed else (self.logits + self.logits.mT) / 2

    def probabilities(self) -> Tensor:
        """Probability of each edge, zero where none may be."""
        return torch.sigmoid(self.symmetric_logits()) * self._allowed

    def sample(self, temperature: float, generator: torch.Generator) -> Tensor:
        """A draw from the binary concrete distribution: ``sigmoid((log a - log(1 - a) + logits) / temperature)``.

        Differentiable in the logits; symmetric unless directed; 0/1 in the limit of temperature zero.
        """
        uniform = torch.rand(self.logits.shape, generator=generator, dtype=self.logits.dtype)
        tiny = torch.finfo(uniform.dtype).tiny
        uniform = uniform.clamp_(min=tiny, max=1 - torch.finfo(uniform.dtype).eps)
        noise = torch.logit(uniform).to(self.logits.device)
        if not self.directed:
            upper = noise.triu(1)
            noise = upper + upper.mT
        return torch.sigmoid((noise + self.symmetric_logits()) / temperature) * self._allowed

    def discrete(self) -> Tensor:
        """The learned structure: an edge where its probability exceeds one half."""
        return ((self.symmetric_logits().detach() > 0) * self._allowed).to(self.logits.dtype)
